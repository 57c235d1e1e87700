"""Which blocks have faults planted in them, how many, and which bench has to notice."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from amaranth.lib import wiring

from caesura.hw.arch.geometry import Geometry, preset
from caesura.hw.device.grid_walker import GridWalker
from caesura.hw.dispatch.footprint import Footprint
from caesura.hw.dispatch.launcher import Launcher
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
        What has to notice them; it says which block.
    count : int
        Faults.
    contract : Contract or None
        None of a block that is too large: it is only proved what never shows within a cycle (`one_step`).
    seed : int
        Of the bench, and of the choice of faults.
    """

    name: str
    bench: CocotbBench | BlockTests
    count: int
    contract: Contract | None = ANYTHING
    seed: int = 1


def _tested(file: str, block: Callable[..., wiring.Component], geometry: Geometry | None,
            arguments: tuple[Any, ...] = (), count: int = 20) -> Target:
    """Return a block with faults that its tests have to notice, named as its module."""
    bench = BlockTests(file, block, geometry, arguments)
    name = block.__module__.rpartition(".")[2]
    return Target(name, bench, count, Contract(lambda ports: within(ports, bench.component())))


TINY = preset("tiny")
SIX = TINY.replace(warps=12, tb_slots=6, kernel_slots=3)
KERNELS = TINY.replace(kernel_slots=3)
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
    _tested("preempt/sequence/test_saved_entries.py", SavedEntries, SIX, count=30),
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
    _tested("device/test_grid_walker.py", GridWalker, KERNELS),
    _tested("dispatch/test_footprint.py", Footprint, TINY),
    _tested("dispatch/test_launcher.py", Launcher, TINY),
)
"""All of them, the small ones first."""
