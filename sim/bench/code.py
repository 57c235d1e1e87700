"""Code quality: registers, instructions and compile time of every shipped kernel, next to ptxas on the same PTX.

``caesura bench code`` compiles each kernel here and, where it is installed, with ptxas for sm_75, which is the outside
judge: its instruction set differs (three-input additions and logic, constants as operands; but 64-bit addresses where
here are 32-bit ones), so the ratio says whether the code is of the right size, no more. The second comparison forbids
ptxas to unroll loops, which nobody does here. Instructions are those in the image; ``pp`` and ``pp.div`` words, which
ptxas does not have, are counted by themselves. Time is processor time of the whole compilation of the module.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Column, Table

from caesura.software.compiler import compile_ptx
from caesura.software.compiler.codegen.image import KernelImage
from caesura.software.compiler.codegen.lift import lift
from caesura.software.kernels import KERNELS

from ..report.marks import replace_markdown
from .ptxas import ARCHITECTURE, Assembler, MissingAssembler, without_unrolling

__all__ = ["LIMIT", "BEGIN", "END", "measure", "run", "print_report", "markdown", "update_markdown"]

BEGIN = "<!-- begin: caesura bench code -->"
END = "<!-- end: caesura bench code -->"
"""Marks in a Markdown file: what is between them is replaced."""
LIMIT = 1.4
"""Most instructions of ours to one of ptxas, geometric mean over the kernels."""
COLUMNS = ("kernel", "registers", "live", "ptxas", "instructions", "pp words", "ptxas", "ratio", "ptxas rolled",
           "ratio", "ms", "ptxas")
_POINTS = ("pp", "pp.div")


def most_live(image: KernelImage) -> int:
    """Return the most vector registers that are live at one place of the emitted code."""
    return max(sum(reg.kind == "R" for reg in live) for part in lift(image).parts() for block in part.kernel.blocks
               for live in part.live.gaps(block))


def measure(name: str, text: str, assembler: Assembler | None) -> dict:
    """Return the row of kernel `name` of PTX module `text`; keys are documented in `docs/code.md`."""
    started = time.process_time()
    image = compile_ptx(text)[name]
    seconds = time.process_time() - started
    points = sum(op.name in _POINTS for op in lift(image).kernel.ops())
    row: dict = {"kernel": name, "registers": image.registers, "live": most_live(image), "seconds": seconds,
                 "instructions": len(image.code) - points, "points": points, "ptxas": None}
    if assembler is not None:
        theirs, rolled = assembler.assemble(text)[name], assembler.assemble(without_unrolling(text))[name]
        row["ptxas"] = {
            "registers": theirs.registers, "instructions": theirs.instructions, "seconds": theirs.seconds,
            "ratio": row["instructions"] / theirs.instructions, "rolled_instructions": rolled.instructions,
            "rolled_ratio": row["instructions"] / rolled.instructions,
            "register_ratio": image.registers / theirs.registers}
    return row


def run(kernels: Sequence[str] = (), ptxas: Path | None = None,
        progress: Callable[[str], None] = lambda text: None) -> dict:
    """Measure the kernels named (all if none is); keys are documented in `docs/code.md`.

    Parameters
    ----------
    kernels : sequence of str
    ptxas : Path, optional
        See `Assembler`.
    progress : callable
        Told what goes on.
    """
    missing, assembler = "", None
    try:
        assembler = Assembler(ptxas)
    except MissingAssembler as error:
        if ptxas is not None:
            raise
        missing = str(error)
    rows = []
    compile_ptx(KERNELS["vecadd"].ptx_path.read_text())  # reads the grammar and the library, once a process
    for name in kernels or KERNELS:
        progress(f"compiling {name}")
        rows.append(measure(name, KERNELS[name].ptx_path.read_text(), assembler))
    mean = {key: _mean([row["ptxas"][key] for row in rows]) if assembler is not None else None
            for key in ("ratio", "rolled_ratio", "register_ratio")}
    return {"architecture": ARCHITECTURE, "limit": LIMIT, "mean": mean, "missing": missing,
            "met": mean["ratio"] is None or mean["ratio"] <= LIMIT, "kernels": rows}


def _mean(values: Sequence[float]) -> float:
    return math.exp(sum(map(math.log, values)) / len(values))


def _cells(row: dict) -> list[str]:
    theirs = row["ptxas"]
    ours = [row["kernel"], str(row["registers"]), str(row["live"])]
    if theirs is None:
        return [*ours, "-", f"{row['instructions']:,}", str(row["points"]), *["-"] * 4, f"{1000 * row['seconds']:.0f}",
                "-"]
    return [*ours, str(theirs["registers"]), f"{row['instructions']:,}", str(row["points"]),
            f"{theirs['instructions']:,}", f"{theirs['ratio']:.2f}", f"{theirs['rolled_instructions']:,}",
            f"{theirs['rolled_ratio']:.2f}", f"{1000 * row['seconds']:.0f}", f"{1000 * theirs['seconds']:.0f}"]


def _verdict(result: dict) -> str:
    mean = result["mean"]
    if mean["ratio"] is None:
        return f"{result['missing']}: nothing to compare with"
    return (f"geometric means: instructions {mean['ratio']:.2f} of those of ptxas ({result['architecture']}; limit "
            f"{result['limit']:g}: {'met' if result['met'] else 'MISSED'}), {mean['rolled_ratio']:.2f} where it may "
            f"not unroll; registers {mean['register_ratio']:.2f}")


def print_report(result: dict) -> None:
    """Print what `run` returned."""
    table = Table(COLUMNS[0], *(Column(name, justify="right") for name in COLUMNS[1:]), box=None)
    for row in result["kernels"]:
        table.add_row(*_cells(row))
    console = Console(width=130, highlight=False, markup=False, soft_wrap=True)
    console.print(table)
    console.print(_verdict(result))


def markdown(result: dict) -> str:
    """Return the table and the means as Markdown."""
    lines = [COLUMNS, ("---", *("---:" for _ in COLUMNS[1:])), *map(_cells, result["kernels"])]
    text = _verdict(result)
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + f"\n\n{text[0].upper()}{text[1:]}.\n"


def update_markdown(path: Path, result: dict) -> None:
    """Replace what stands in a file between the marks; raises as `sim.report.marks.split_markdown`."""
    replace_markdown(path, BEGIN, END, lambda: markdown(result))
