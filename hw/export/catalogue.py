"""The blocks that can be exported, as a table: their places and their default parameters."""

from __future__ import annotations

import importlib
import inspect
import re
import textwrap
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from amaranth.hdl import ShapeLike, unsigned
from amaranth.lib import wiring

from caesura.errors import InputError, UserError

from ..arch.geometry import Geometry

__all__ = ["Block", "block", "blocks"]

_MOST = 4096
"""Greatest value of any parameter; a larger one gives no circuit."""
_MOST_WORDS = 64
"""Most words in a cycle."""
_FROM_NOTHING = "first_reader", "first_writer"
"""Numbers that may be 0; others count things of which there is at least one."""


def _none(g: Geometry) -> dict[str, Any]:
    return {}


@dataclass(frozen=True)
class Block:
    """A block that can be exported.

    Attributes
    ----------
    name : str
        Name that users give; also the name of its module unless they ask for another.
    module, kind : str
        Its module, below `caesura.hw`, and its class.
    defaults : callable
        Function of a geometry that returns the parameters besides the geometry.
    """

    name: str
    module: str
    kind: str
    defaults: Callable[[Geometry], dict[str, Any]] = _none

    @property
    def component(self) -> type[wiring.Component]:
        """Its class."""
        return getattr(importlib.import_module(f"caesura.hw.{self.module}"), self.kind)

    @property
    def summary(self) -> str:
        """The first sentence of its documentation, as far as it fits a line."""
        text = (inspect.getdoc(self.component) or "").partition("\n\n")[0]
        sentence = re.split(r"[.;] ", " ".join(text.split()))[0].rstrip(".:")
        return textwrap.shorten(sentence, 100, placeholder=" ...")

    @property
    def _kinds(self) -> dict[str, Any]:
        """The kind of each parameter that can be written as a number."""
        found = inspect.signature(self.component.__init__).parameters
        return {name: each.annotation for name, each in found.items()
                if each.annotation in (int, bool, ShapeLike) and name not in ("observed", "shape")}

    @property
    def parameters(self) -> list[str]:
        """Names of the parameters that a user may set: whole numbers, or 0 or 1 for switches."""
        return [*self._kinds]

    def values(self, g: Geometry, given: Mapping[str, int]) -> dict[str, Any]:
        """Return all parameters but the geometry: the user's, and the defaults of the others."""
        parameters = inspect.signature(self.component.__init__).parameters
        plain = {name: parameters[name].default for name in self.parameters
                 if isinstance(parameters[name].default, int)}
        own = {name: bool(value) if self._kinds.get(name) is bool else value
               for name, value in given.items()}
        return plain | self.defaults(g) | own

    def _check(self, given: Mapping[str, int]) -> None:
        """Refuse unknown parameters, and values that no parameter can have."""
        for name, value in given.items():
            kind = self._kinds.get(name)
            if kind is None:
                raise InputError(f"{self.name} has no parameter {name!r}; it has "
                                 f"{', '.join(self.parameters) or 'none'}")
            least = int(kind is int and name not in _FROM_NOTHING)
            most = 1 if kind is bool else _MOST_WORDS if name.startswith("words_") else _MOST
            if not least <= value <= most:
                raise InputError(f"{self.name}: {name} must be {least} to {most}, not {value}")

    @contextmanager
    def told(self, given: Mapping[str, int]) -> Iterator[None]:
        """Convert any error in the block to an `InputError` if the user gave it parameters."""
        try:
            yield
        except UserError:
            raise
        except Exception as error:
            if not given:
                raise
            values = ", ".join(f"{name}={value}" for name, value in given.items())
            text = " ".join(f"{error}".split()) or type(error).__name__
            raise InputError(f"{self.name}: it cannot be made with {values} ({text}); use other "
                             "values, or leave them out") from error

    def make(self, g: Geometry, given: Mapping[str, int]) -> wiring.Component:
        """Return the block.

        Parameters
        ----------
        g : Geometry
        given : dict
            Parameters by name; a `tag` is a number of bits.

        Raises
        ------
        InputError
            If the block has no such parameter, or does not take its value.
        """
        self._check(given)
        values = self.values(g, given)
        if isinstance(values.get("tag"), int):
            values["tag"] = unsigned(values["tag"])
        whole = "g" in inspect.signature(self.component.__init__).parameters
        with self.told(given):
            try:
                return self.component(*([g] if whole else []), **values)
            except ValueError as error:
                raise InputError(f"{self.name}: {error}") from error


def _tag_of_registers(g: Geometry) -> dict[str, Any]:
    return {"tag": _from("preempt.save.register_fetch", "register_tag")(g)}


def _tag_of_words(g: Geometry) -> dict[str, Any]:
    return {"tag": _from("preempt.restore.expander", "expanded_tag")(g)}


def _from(module: str, name: str) -> Any:
    return getattr(importlib.import_module(f"caesura.hw.{module}"), name)


def _registers(g: Geometry) -> dict[str, Any]:
    return {"capacity": g.register_rows, "owners": g.tb_slots << g.in_place,
            "entries": 2 * g.tb_slots}


def _ranges(g: Geometry) -> dict[str, Any]:
    return {"capacity": g.register_rows, "ranges": 2 * g.tb_slots}


def _planned(g: Geometry) -> dict[str, Any]:
    return {"capacity": g.register_rows, "owners": 2 * g.tb_slots, "entries": 2 * g.tb_slots,
            "most": g.tb_slots}


_TABLE: tuple[tuple[Any, ...], ...] = (
    ("compressor", "preempt.compress.compressor", "Compressor"),
    ("decompressor", "preempt.compress.decompressor", "Decompressor"),
    ("register_encoder", "preempt.compress.register_encoder", "RegisterEncoder"),
    ("group_decoder", "preempt.compress.group_decoder", "GroupDecoder"),
    ("tb_compressor", "preempt.compress.tb_compressor", "TbCompressor", _tag_of_registers),
    ("tb_decompressor", "preempt.compress.tb_compressor", "TbDecompressor", _tag_of_words),
    ("register_history", "preempt.compress.tb_history", "RegisterHistory"),
    ("packer", "preempt.formats.packer", "Packer", lambda g: {"words_out": g.bus_words}),
    ("unpacker", "preempt.formats.unpacker", "Unpacker", lambda g: {"words_in": g.bus_words}),
    ("checksum", "preempt.formats.checksum", "Checksum", lambda g: {"words": g.bus_words}),
    ("kept_uniforms", "preempt.formats.kept_uniforms", "KeptUniforms"),
    ("register_fetch", "preempt.save.register_fetch", "RegisterFetch"),
    ("line_fetch", "preempt.save.line_fetch", "LineFetch"),
    ("record_writer", "preempt.save.records", "RecordWriter"),
    ("merge", "preempt.save.merge", "Merge"),
    ("collector", "preempt.save.collector", "Collector"),
    ("closer", "preempt.save.closer", "Closer"),
    ("sealer", "preempt.save.sealer", "Sealer"),
    ("segment_writer", "preempt.save.segment_writer", "SegmentWriter"),
    ("committer", "preempt.save.committer", "Committer"),
    ("kernel_record_writer", "preempt.save.kernel_record", "KernelRecordWriter"),
    ("save_pipeline", "preempt.save.pipeline", "SavePipeline"),
    ("segment_reader", "preempt.restore.segment_reader", "SegmentReader",
     lambda g: {"jobs": 2 * g.tb_slots}),
    ("record_reader", "preempt.restore.record_reader", "RecordReader"),
    ("entry_buffer", "preempt.restore.entry_buffer", "EntryBuffer"),
    ("encoding_table", "preempt.restore.encoding_table", "EncodingTable"),
    ("stream_parser", "preempt.restore.parser", "StreamParser"),
    ("stream_checker", "preempt.restore.stream_checker", "StreamChecker"),
    ("expander", "preempt.restore.expander", "Expander"),
    ("row_writer", "preempt.restore.row_writer", "RowWriter"),
    ("state_writer", "preempt.restore.state_writer", "StateWriter"),
    ("tbs_under_way", "preempt.restore.tbs_under_way", "TbsUnderWay",
     lambda g: {"jobs": g.tb_slots}),
    ("restore_completion", "preempt.restore.completion", "Completion"),
    ("restore_pipeline", "preempt.restore.pipeline", "RestorePipeline"),
    ("sequencer", "preempt.sequence.sequencer", "Sequencer"),
    ("preempt_sequencer", "preempt.sequence.preempt_sequencer", "PreemptSequencer"),
    ("resume_sequencer", "preempt.sequence.resume_sequencer", "ResumeSequencer"),
    ("adopt_sequencer", "preempt.sequence.adopt_sequencer", "AdoptSequencer"),
    ("read_ahead", "preempt.sequence.read_ahead", "ReadAhead"),
    ("saved_entries", "preempt.sequence.saved_entries", "SavedEntries"),
    ("generations_checksum", "preempt.sequence.generations_checksum", "GenerationsChecksum"),
    ("preempt_counters", "preempt.sequence.counters", "PreemptCounters"),
    ("staying_table", "preempt.in_place.staying_table", "StayingTable"),
    ("staying_masks", "preempt.in_place.staying_masks", "StayingMasks"),
    ("evict_sequencer", "preempt.in_place.evict_sequencer", "EvictSequencer"),
    ("save_side", "preempt.save_side", "SaveSide"),
    ("restore_side", "preempt.restore_side", "RestoreSide"),
    ("context_book", "preempt.context_book", "ContextBook"),
    ("engine_counters", "preempt.engine_counters", "EngineCounters"),
    ("preempt_engine", "preempt.engine", "PreemptEngine"),
    ("allocation_table", "dispatch.allocator", "AllocationTable", _registers),
    ("cheapest_fit", "dispatch.cheapest_fit", "CheapestFit", _ranges),
    ("range_planner", "dispatch.room_planner", "RangePlanner", _planned),
    ("room_planner", "dispatch.room_planner", "RoomPlanner"),
    ("entry_allocator", "dispatch.entry_allocator", "EntryAllocator"),
    ("footprint", "dispatch.footprint", "Footprint"),
    ("warp_slots", "dispatch.warp_slots", "WarpSlots"),
    ("admission", "dispatch.admission", "Admission"),
    ("launcher", "dispatch.launcher", "Launcher"),
    ("tb_table", "dispatch.tb_table", "TbTable"),
    ("tb_completion", "dispatch.completion", "Completion"),
    ("tb_profile", "dispatch.tb_profile", "TbProfile"),
    ("fault_unit", "dispatch.faults", "FaultUnit"),
    ("guaranteed_share", "memory.guaranteed_share", "GuaranteedShare"),
    ("axi_master", "memory.axi", "AxiMaster", lambda g: {"readers": 2, "writers": 2}),
    ("axi_lite_host", "control.axi_lite", "AxiLiteHost"),
    ("register_block", "control.register_block", "RegisterBlock"),
    ("kernel_table", "control.kernel_table", "KernelTable"),
    ("command_processor", "control.command_processor", "CommandProcessor"),
    ("preemption_unit", "export.tops", "PreemptionUnit"),
    ("axi_registers", "export.tops", "AxiRegisters"),
    ("control_unit", "export.tops", "AxiControlUnit"),
    ("sm", "export.tops", "AxiSm"),
    ("device", "export.tops", "AxiDevice"),
)


def blocks() -> dict[str, Block]:
    """Return all blocks by name, the parts of the preemption engine first, the SM last."""
    return {row[0]: Block(*row) for row in _TABLE}


def block(name: str) -> Block:
    """Return a block.

    Raises
    ------
    InputError
        If there is none of this name.
    """
    known = blocks()
    if name not in known:
        raise InputError(f"there is no block {name!r}; there are {', '.join(known)}")
    return known[name]
