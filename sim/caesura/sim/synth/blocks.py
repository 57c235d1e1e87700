"""The blocks that are synthesised, by name: those that are exported, and what else an SM consists of."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module

from amaranth.lib import wiring

from caesura.hw.arch.errors import InputError
from caesura.hw.arch.geometry import Geometry
from caesura.hw.blocks import catalogue
from caesura.software.names import alternatives

from .harness import Reduced

__all__ = ["MECHANISMS", "MINIMAL", "SM_PARTS", "SYNTHESISED", "TRACE", "block", "names", "part", "priced",
           "unpreempted"]

Make = Callable[[Geometry], wiring.Component]

SYNTHESISED = {
    "control_unit": "control_unit.ControlUnit", "front_end": "core.front_end.front.FrontEnd",
    "execute": "core.execute.pipeline.ExecutePipeline", "load_store": "core.memory.load_store.LoadStore",
    "shared_memory": "core.memory.shared_memory.SharedMemory", "constants": "core.memory.constant_unit.ConstantUnit",
    "integer": "core.units.integer.IntegerUnit", "f32": "core.units.floating.FloatUnit",
    "f64": "core.units.f64.F64Unit", "special_functions": "core.units.sfu.SpecialFunctionUnit",
    "exchange": "core.units.exchange.ExchangeUnit", "uniform": "core.front_end.uniform.UniformUnit",
    "row_writer": "preempt.restore.row_writer.RowWriter",
    "save_pipeline": "preempt.save.pipeline.SavePipeline",
    "restore_pipeline": "preempt.restore.pipeline.RestorePipeline",
    "preempt_sequencer": "preempt.sequence.preempt_sequencer.PreemptSequencer",
    "resume_sequencer": "preempt.sequence.resume_sequencer.ResumeSequencer",
    "sequencer": "preempt.sequence.sequencer.Sequencer", "read_ahead": "preempt.sequence.read_ahead.ReadAhead",
    "saved_entries": "preempt.sequence.saved_entries.SavedEntries",
    "preempt_counters": "preempt.sequence.counters.PreemptCounters",
    "committer": "preempt.save.committer.Committer", "sealer": "preempt.save.sealer.Sealer",
    "record_writer": "preempt.save.kernel_record.KernelRecordWriter",
    "record_reader": "preempt.restore.record_reader.RecordReader",
    "stream_checker": "preempt.restore.stream_checker.StreamChecker",
    "entry_buffer": "preempt.restore.entry_buffer.EntryBuffer",
    "staying_table": "preempt.in_place.staying_table.StayingTable",
    "staying_masks": "preempt.in_place.staying_masks.StayingMasks",
    "preemption_engine": "preempt.engine.PreemptEngine",
    "room_planner": "dispatch.room_planner.RoomPlanner", "tb_profile": "dispatch.tb_profile.TbProfile",
    "command_processor": "device.command_processor.CommandProcessor", "kernel_slot": "device.kernel_slot.KernelSlot",
    "guaranteed_share": "memory.guaranteed_share.GuaranteedShare",
}
"""Blocks that are synthesised and not exported (`caesura.hw.blocks`), by their class in `caesura.hw`; each is made from
a geometry alone."""

SM_PARTS = ("control_unit", "front_end", "execute", "load_store", "shared_memory", "constants", "bus")
"""What an SM consists of: together they are the machine, and what they take is what it takes."""

MINIMAL = {"tb_compressor": False, "grace": False, "restart": False, "profile": False, "checkpoints": False,
           "in_place": False, "traps": False}
"""Fields of a geometry without any mechanism that is optional: occupied, live and live+cp, with checksums, patience,
abort and kill."""


MECHANISMS = {"live+tb": {"tb_compressor": True}, "checkpoints": {"checkpoints": True},
              "checkpoints and in place": {"checkpoints": True, "in_place": True}, "traps": {"traps": True},
              "grace": {"grace": True}, "restart": {"restart": True}, "profile": {"profile": True}}
"""What each optional mechanism changes of that."""

TRACE = ("trace", "occupancy", "trace_write", "trace_predicate", "trace_uniform", "trace_atomic", "activity", "states",
         "tb_count")
"""Ports that are for simulations only, of an SM and of its parts."""

_SERVES = {"control_unit": ("core",), "execute": ("state",), "shared_memory": ("state",),
           "front_end": ("state", "stop_pending", "stop_stop_now", "stop_trap", "stop_stopped")}
"""Ports that serve the preemption unit alone, by part of an SM."""


def _plain(path: str) -> Make:
    module, _, name = path.rpartition(".")
    return lambda g: getattr(import_module(f"caesura.hw.{module}"), name)(g)


def _bus(g: Geometry) -> wiring.Component:
    """The AXI master of an SM, with the readers and writers that it has there."""
    from caesura.hw.memory.axi import AxiMaster

    return AxiMaster(g, 5, 3)


def _tb_compressor(g: Geometry) -> wiring.Component:
    from caesura.hw.preempt.compress.tb_compressor import TbCompressor
    from caesura.hw.preempt.save.register_fetch import register_tag

    return TbCompressor(g, register_tag(g))


def _tb_decompressor(g: Geometry) -> wiring.Component:
    from caesura.hw.preempt.compress.tb_compressor import TbDecompressor
    from caesura.hw.preempt.restore.expander import expanded_tag

    return TbDecompressor(g, expanded_tag(g))


def _sm(g: Geometry) -> wiring.Component:
    """An SM without its trace ports, which are for simulations."""
    from caesura.hw.sm import Sm

    return Reduced(Sm(g), TRACE)


def _blocks() -> dict[str, Make]:
    exported = {name: partial(found.make, given={}) for name, found in catalogue.blocks().items()}
    return exported | {name: _plain(path) for name, path in SYNTHESISED.items()} | {
        "bus": _bus, "tb_compressor": _tb_compressor, "tb_decompressor": _tb_decompressor, "sm": _sm}


def names() -> list[str]:
    """Return the names of all blocks."""
    return list(_blocks())


def block(name: str, g: Geometry) -> wiring.Component:
    """Return a block.

    Parameters
    ----------
    name : str
        One of `names`; hyphens and spaces may stand for underscores.

    Raises
    ------
    InputError
        If there is none of this name; the message says which was probably meant.
    """
    known = _blocks()
    plain = name.replace("-", "_").replace(" ", "_")
    if plain not in known:
        raise InputError(f"there is no block {name[:60]!r}; {alternatives(plain, list(known))}")
    return known[plain](g)


def unpreempted(name: str, g: Geometry) -> wiring.Component:
    """Return a part of an SM (`SM_PARTS`) as it would be if nothing could be preempted: what serves the preemption unit
    alone is not there."""
    return Reduced(block(name, g), _SERVES.get(name, ()) + TRACE, ("engine",) if name == "control_unit" else ())


def part(name: str, g: Geometry) -> wiring.Component:
    """Return a part of an SM, without its ports for simulations."""
    return Reduced(block(name, g), TRACE)


def priced(g: Geometry) -> dict[str, tuple[str, Geometry]]:
    """Return what the price of each optional mechanism is taken from: the block and the geometry that has it, `MINIMAL`
    but for that; under the name ``none`` those without any."""
    least = g.replace(**MINIMAL)
    return {"none": ("preemption_engine", least)} | {
        name: ("preemption_engine", least.replace(**fields)) for name, fields in MECHANISMS.items()}
