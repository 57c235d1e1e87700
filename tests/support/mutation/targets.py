"""Which blocks have faults planted in them, how many, and which bench has to notice."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from amaranth.lib import wiring

from caesura.hw.arch.geometry import Geometry, preset
from caesura.hw.control import memory_refusals
from caesura.hw.control.announcement import Announcement
from caesura.hw.control.command_processor import CommandProcessor
from caesura.hw.control.engine_queue import EngineQueue
from caesura.hw.control.grid_walker import GridWalker
from caesura.hw.control.kernel_table import KernelTable
from caesura.hw.control.register_block import RegisterBlock
from caesura.hw.control.switch_counters import SwitchCounters
from caesura.hw.device.combine import Combiner
from caesura.hw.device.command_fan_out import CommandFanOut
from caesura.hw.device.device_events import DeviceEvents
from caesura.hw.device.point_of_order import PointOfOrder
from caesura.hw.device.queues.in_flight import InFlight
from caesura.hw.device.queues.kernel_describer import KernelDescriber
from caesura.hw.device.queues.packet_completion import PacketCompletion
from caesura.hw.device.queues.queue_preemption import QueuePreemption
from caesura.hw.device.queues.queue_registers import QueueRegisters
from caesura.hw.device.queues.queue_states import QueueStates
from caesura.hw.device.register_fan_out import RegisterFanOut
from caesura.hw.device.tb_dispatcher import TbDispatcher
from caesura.hw.device.uncore import Uncore
from caesura.hw.dispatch.admission import Admission
from caesura.hw.dispatch.allocator import AllocationTable
from caesura.hw.dispatch.cheapest_fit import CheapestFit
from caesura.hw.dispatch.completion import Completion
from caesura.hw.dispatch.entry_allocator import EntryAllocator
from caesura.hw.dispatch.faults import FaultUnit
from caesura.hw.dispatch.footprint import Footprint
from caesura.hw.dispatch.launcher import Launcher
from caesura.hw.dispatch.room_planner import RangePlanner, RoomPlanner
from caesura.hw.dispatch.tb_profile import TbProfile
from caesura.hw.dispatch.tb_selection import TbSelection
from caesura.hw.dispatch.tb_supply import TbSupply
from caesura.hw.dispatch.tb_table import TbTable
from caesura.hw.dispatch.warp_slots import WarpSlots
from caesura.hw.dispatch.watch_table import WatchTable
from caesura.hw.dispatch.yield_unit import YieldUnit
from caesura.hw.preempt.in_place.evict_sequencer import EvictSequencer
from caesura.hw.preempt.in_place.staying_table import StayingTable
from caesura.hw.preempt.restore.encoding_table import EncodingTable
from caesura.hw.preempt.restore.entry_buffer import EntryBuffer
from caesura.hw.preempt.restore.expander import Expander
from caesura.hw.preempt.restore.record_reader import RecordReader
from caesura.hw.preempt.restore.row_writer import RowWriter
from caesura.hw.preempt.save.closer import Closer
from caesura.hw.preempt.save.collector import Collector
from caesura.hw.preempt.save.committer import Committer
from caesura.hw.preempt.save.line_fetch import LineFetch
from caesura.hw.preempt.save.merge import Merge
from caesura.hw.preempt.save.records import RecordWriter
from caesura.hw.preempt.save.register_fetch import RegisterFetch
from caesura.hw.preempt.save.sealer import Sealer
from caesura.hw.preempt.sequence.adopt_sequencer import AdoptSequencer
from caesura.hw.preempt.sequence.counters import PreemptCounters
from caesura.hw.preempt.sequence.preempt_sequencer import PreemptSequencer
from caesura.hw.preempt.sequence.read_ahead import ReadAhead
from caesura.hw.preempt.sequence.resume_sequencer import ResumeSequencer
from caesura.hw.preempt.sequence.saved_entries import SavedEntries
from caesura.hw.preempt.sequence.sequencer import Sequencer

from .block_tests import BlockTests
from .cocotb_bench import CocotbBench
from .contracts import COMPRESSOR, DECOMPRESSOR, ENCODER, GROUP_DECODER, PACKER, TB_COMPRESSOR, within
from .equivalence import ANYTHING, Contract

__all__ = ["TARGETS", "Target"]


@dataclass(frozen=True)
class Target:
    """A block with faults.

    Attributes
    ----------
    name : str
    bench : CocotbBench or BlockTests
        Bench or tests that have to notice the faults; they name the block.
    count : int
        Number of faults.
    contract : Contract or None
        Contract of the block. None if the block is too large: then only faults that never show within a cycle are
        proved (`one_step`).
    seed : int
        Seed of the bench, and of the choice of faults.
    without : tuple of str
        Parts of the block, by the names of their instances, that have faults in another target: here they have none.
    """

    name: str
    bench: CocotbBench | BlockTests
    count: int
    contract: Contract | None = ANYTHING
    seed: int = 1
    without: tuple[str, ...] = ()


_NAMES: dict[Any, str] = {RangePlanner: "range_planner"}
"""Names of blocks that do not have a module to themselves."""


def _tested(file: str, block: Callable[..., wiring.Component], geometry: Geometry | None,
            arguments: tuple[Any, ...] = (), count: int = 20, more: tuple[str, ...] = (),
            inside: tuple[str, ...] = (), constants: tuple[tuple[ModuleType, str, int], ...] = (),
            without: tuple[str, ...] = ()) -> Target:
    """Return a block with faults that its tests have to notice, named as its module; `more`, `inside` and `constants`
    are as of `BlockTests`."""
    bench = BlockTests(file, block, geometry, arguments, more, inside, constants)
    name = _NAMES.get(block) or block.__module__.rpartition(".")[2]
    return Target(name, bench, count, Contract(lambda ports: within(ports, bench.component())), without=without)


TINY = preset("tiny")
SIX = TINY.replace(warps=12, tb_slots=6, kernel_slots=3)
KERNELS = TINY.replace(kernel_slots=3)
LAUNCHED = TINY.replace(warps=6, tb_slots=3, kernel_slots=3)
SMS = TINY.replace(sms=3)
WATCHED = KERNELS.replace(watches=3, entries=6)
SIZE = {"warp": 16, "lanes": 4}
TARGETS: Sequence[Target] = (
    Target("packer", CocotbBench("packer", {"count": 400}), 40, PACKER),
    Target("compressor", CocotbBench("compressor", {**SIZE, "count": 60}), 40, COMPRESSOR),
    Target("encoder", CocotbBench("encoder", {**SIZE, "count": 400}), 50, ENCODER),
    Target("tb_compressor", CocotbBench("tb_compressor", {**SIZE, "count": 1000}), 35, TB_COMPRESSOR),
    Target("decompressor", CocotbBench("decoder", {**SIZE, "count": 60, "name": "decompressor"}), 35, DECOMPRESSOR),
    Target("group_decoder", CocotbBench("decoder", {**SIZE, "count": 60, "name": "group_decoder"}), 35, GROUP_DECODER),
    Target("registers", CocotbBench("registers", {"count": 500}), 30),
    Target("save", CocotbBench("save", {"shape": "many", "rounds": 2}), 50, None),
    Target("restore", CocotbBench("restore", {"shape": "many", "count": 100}), 50, None),
    Target("unit", CocotbBench("unit", {"shape": "plain", "rounds": 2}), 35, None),
    _tested("preempt/in_place/test_staying_table.py", StayingTable,
            TINY.replace(warps=12, tb_slots=5, kernel_slots=3), count=30),
    _tested("preempt/in_place/test_evict_sequencer.py", EvictSequencer, TINY, count=30),
    _tested("preempt/sequence/test_adopt_sequencer.py", AdoptSequencer, TINY.replace(warps=6, tb_slots=3), count=30),
    _tested("preempt/sequence/test_counters.py", PreemptCounters, TINY, count=30),
    _tested("preempt/sequence/test_preempt_sequencer.py", PreemptSequencer, SIX, count=30),
    _tested("preempt/sequence/test_read_ahead.py", ReadAhead, SIX.replace(bus_bytes=16), count=30),
    _tested("preempt/sequence/test_resume_sequencer.py", ResumeSequencer, SIX.replace(bus_bytes=16), count=30),
    _tested("preempt/sequence/test_saved_entries.py", SavedEntries, SIX, count=30,
            more=("preempt/sequence/test_saved_entries_model.py",)),
    _tested("preempt/sequence/test_sequencer.py", Sequencer, TINY, count=30),
    _tested("preempt/save/test_closer.py", Closer, TINY),
    _tested("preempt/save/test_collector.py", Collector, TINY),
    _tested("preempt/save/test_committer.py", Committer, TINY),
    _tested("preempt/save/test_line_fetch.py", LineFetch, TINY),
    _tested("preempt/save/test_merge.py", Merge, TINY),
    _tested("preempt/save/test_records.py", RecordWriter, TINY.replace(shared_bytes=1536)),
    _tested("preempt/save/test_register_fetch.py", RegisterFetch, TINY),
    _tested("preempt/save/test_sealer.py", Sealer, TINY),
    _tested("preempt/restore/test_encoding_table.py", EncodingTable, TINY),
    _tested("preempt/restore/test_entry_buffer.py", EntryBuffer, TINY.replace(warps=6, tb_slots=5)),
    _tested("preempt/restore/test_expander.py", Expander, TINY.replace(warp_size=32, lanes=16)),
    _tested("preempt/restore/test_record_reader.py", RecordReader, TINY.replace(warps=8, tb_slots=5)),
    _tested("preempt/restore/test_row_writer.py", RowWriter, TINY),
    _tested("control/test_command_processor.py", CommandProcessor, KERNELS, count=60,
            more=("control/test_command_answers.py", "control/test_command_ends.py",
                  "control/test_command_withdrawal.py", "control/test_grace.py", "control/test_refusals.py",
                  "control/test_switches.py"),
            without=("queue", "check__footprint")),
    _tested("control/test_engine_queue.py", EngineQueue, KERNELS.replace(watches=3, entries=5, tb_slots=3), count=40,
            constants=tuple((memory_refusals, *each) for each in (
                ("AGAIN_CYCLES", 6), ("TRIES", 3), ("REST_CYCLES", 20)))),
    _tested("control/test_announcement.py", Announcement, TINY.replace(proactive=True)),
    _tested("control/test_grid_walker.py", GridWalker, KERNELS),
    _tested("control/test_kernel_table.py", KernelTable, KERNELS.replace(windows=3)),
    _tested("control/test_register_block.py", RegisterBlock, KERNELS),
    _tested("control/test_switches.py", SwitchCounters, KERNELS),
    _tested("dispatch/test_admission.py", Admission,
            TINY.replace(warps=11, tb_slots=5, kernel_slots=3, registers=128), count=40,
            more=("dispatch/test_admission_blocked.py", "dispatch/test_admission_model.py"),
            without=("places__*", "room_maker__registers", "room_maker__lines")),
    _tested("dispatch/test_allocator.py", AllocationTable, None, (13, 5, 10)),
    _tested("dispatch/test_cheapest_fit.py", CheapestFit, None, (37, 6)),
    _tested("dispatch/test_launch_parts.py", Completion, LAUNCHED, more=("dispatch/test_launch_models.py",)),
    _tested("dispatch/test_entry_allocator.py", EntryAllocator, TINY.replace(warps=8, tb_slots=3, kernel_slots=3)),
    _tested("dispatch/test_fault_unit.py", FaultUnit, TINY.replace(warps=12, tb_slots=6, kernel_slots=3)),
    _tested("dispatch/test_footprint.py", Footprint, TINY),
    _tested("dispatch/test_launcher.py", Launcher, TINY),
    _tested("dispatch/test_cheapest_fit.py", RangePlanner, None, (20, 4, 4, 4)),
    _tested("dispatch/test_room_planner.py", RoomPlanner, TINY.replace(tb_slots=3, warps=6, registers=128),
            without=("footprint", "registers*", "lines*")),
    _tested("dispatch/test_tb_profile.py", TbProfile, TINY.replace(tb_slots=4, warps=8),
            inside=("test_sums_that_do_not_fit_are_halved", "test_a_tb_that_runs_for_ever_stays_at_the_most")),
    _tested("dispatch/test_tb_selection.py", TbSelection,
            TINY.replace(tb_slots=5, warps=8, proactive=True, kernel_slots=3), count=40, without=("divider",)),
    _tested("dispatch/test_tb_supply.py", TbSupply, SMS),
    _tested("dispatch/test_launch_parts.py", TbTable, LAUNCHED, more=("dispatch/test_launch_models.py",)),
    _tested("dispatch/test_launch_parts.py", WarpSlots, TINY, more=("dispatch/test_launch_models.py",)),
    _tested("dispatch/test_watch_table.py", WatchTable, WATCHED),
    _tested("dispatch/test_yield_unit.py", YieldUnit,
            TINY.replace(kernel_slots=3, tb_slots=5, warps=6, watches=2, entries=7), count=30),
    _tested("device/test_register_fan_out.py", Combiner, SMS),
    _tested("device/test_command_fan_out.py", CommandFanOut, SMS, more=("device/test_fan_out_models.py",)),
    _tested("device/test_device_events.py", DeviceEvents, SMS, more=("device/test_fan_out_models.py",)),
    _tested("device/test_point_of_order.py", PointOfOrder, SMS),
    _tested("device/test_register_fan_out.py", RegisterFanOut, SMS, count=30, more=("device/test_fan_out_models.py",),
            without=("commands", "events", "combiner", "switches")),
    _tested("device/test_tb_dispatcher.py", TbDispatcher, SMS, count=30, without=("walker",)),
    _tested("device/test_uncore.py", Uncore, SMS.replace(queues=1, watches=3),
            without=("registers", "dispatcher", "order", "queue_registers", "queue_processor", "regular", "contexts",
                     "bus", "queue_bus", "writers")),
    _tested("device/queues/test_in_flight.py", InFlight, TINY.replace(sms=2, queues=3, queue_capacity=2)),
    _tested("device/queues/test_kernel_describer.py", KernelDescriber, preset("gtx480").replace(sms=2, queues=1),
            count=30),
    _tested("device/queues/test_packet_completion.py", PacketCompletion,
            TINY.replace(sms=2, queues=1, watches=3, bus_bytes=4, bytes_per_cycle=4)),
    _tested("device/queues/test_queue_preemption.py", QueuePreemption, TINY.replace(sms=2, queues=4, queue_capacity=2),
            count=30),
    _tested("device/queues/test_queue_registers.py", QueueRegisters,
            SMS.replace(queues=3, queue_capacity=2, kernel_slots=3)),
    _tested("device/queues/test_queue_states.py", QueueStates,
            TINY.replace(queues=2, queue_capacity=2, kernel_slots=2, sms=1), count=30,
            without=("in_flight", "preemption")),
)
"""All of them, the small ones first."""
