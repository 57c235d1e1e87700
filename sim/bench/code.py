"""Code quality: registers, instructions and compile time of kernels, next to ptxas on the same PTX.

There are two sets of kernels. The mean of the shipped kernels has a limit, and each of the f64-heavy kernels
(`software.kernels.doubles`) has one.

``caesura bench code`` compiles each kernel here and, where it is installed, with ptxas for sm_75 as the outside judge.
The instruction set of ptxas differs: it has three-input additions and logic and constant operands, but 64-bit addresses
instead of 32-bit ones. So the ratio only says whether the code has the right size. The second comparison forbids ptxas
to unroll loops, since this compiler does not unroll. Instructions are those in the image. ``pp`` and ``pp.div`` words,
which ptxas does not have, are counted separately. Time is processor time of the whole compilation of the module.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from rich.table import Column, Table

from caesura.software.compiler import KernelImage, compile_ptx
from caesura.software.compiler.image.lift import lift
from caesura.software.compiler.preemption.extended_liveness import body_liveness
from caesura.software.kernels import KERNELS
from caesura.software.kernels.doubles import DOUBLES
from caesura.software.report.console import report_console

from ..report.markdown import replace_markdown
from .ptxas import ARCHITECTURE, Assembler, assembler_of, without_unrolling

__all__ = ["LIMIT", "BEGIN", "END", "measure", "judged", "run", "print_report", "markdown", "update_markdown"]

BEGIN = "<!-- begin: caesura bench code -->"
END = "<!-- end: caesura bench code -->"
"""Marks in a Markdown file; the text between them is replaced."""
LIMIT = 1.4
"""Limits of the instructions over those of ptxas: geometric mean of shipped kernels, and each f64-heavy kernel."""
COLUMNS = ("kernel", "registers", "live", "ptxas", "instructions", "pp words", "ptxas", "ratio", "ptxas rolled",
           "ratio", "ms", "ptxas")
_POINTS = ("pp", "pp.div")


def most_live(image: KernelImage) -> int:
    """Return the most vector registers that are live at one place of the emitted code."""
    return max(sum(reg.kind == "R" for reg in live) for body in body_liveness(lift(image))
               for block in body.kernel.blocks for live in body.live.gaps(block))


def measure(name: str, text: str, assembler: Assembler | None) -> dict:
    """Return the row of kernel `name` of PTX module `text`; keys are documented in `docs/keys.md`."""
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
    """Measure the kernels named (all of both sets if none is); keys are documented in `docs/keys.md`.

    Parameters
    ----------
    kernels : sequence of str
    ptxas : Path, optional
        See `Assembler`.
    progress : callable
        Called with each step.
    """
    assembler, missing = assembler_of(ptxas)
    rows = []
    compile_ptx(KERNELS["vecadd"].ptx_path.read_text())  # reads the grammar and the library, once per process
    for name in kernels or (*KERNELS, *DOUBLES):
        progress(f"compiling {name}")
        path = KERNELS[name].ptx_path if name in KERNELS else DOUBLES[name]
        rows.append(measure(name, path.read_text(), assembler) | {"doubles": name not in KERNELS})
    return {"architecture": ARCHITECTURE, "limit": LIMIT, "missing": missing, "kernels": rows} | judged(rows)


def judged(rows: Sequence[dict]) -> dict:
    """Return the means over the shipped kernels, the worst ratio of either set, and whether the limits are kept."""
    compared = [row for row in rows if row["ptxas"] is not None]
    shipped = [row for row in compared if not row["doubles"]]
    mean = {key: _mean([row["ptxas"][key] for row in shipped]) if shipped else None
            for key in ("ratio", "rolled_ratio", "register_ratio")}
    worst = {}
    for key, members in (("shipped", shipped), ("doubles", [row for row in compared if row["doubles"]])):
        row = max(members, key=lambda row: row["ptxas"]["ratio"], default=None)
        worst[key] = None if row is None else {"kernel": row["kernel"], "ratio": row["ptxas"]["ratio"]}
    met = (mean["ratio"] is None or mean["ratio"] <= LIMIT) and (
        worst["doubles"] is None or worst["doubles"]["ratio"] <= LIMIT)
    return {"mean": mean, "worst": worst, "met": met}


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


def _verdict(result: dict) -> list[str]:
    """Return a sentence for each set of kernels that was measured."""
    mean, worst, limit = result["mean"], result["worst"], result["limit"]
    found = []
    if worst["shipped"] is not None:
        found.append(
            f"geometric means of what ships: instructions {mean['ratio']:.2f} of those of ptxas "
            f"({result['architecture']}; limit {limit:g}: {_met(mean['ratio'], limit)}), {mean['rolled_ratio']:.2f} "
            f"where it may not unroll; registers {mean['register_ratio']:.2f}; the worst is "
            f"{worst['shipped']['kernel']} with {worst['shipped']['ratio']:.2f} of the instructions")
    if worst["doubles"] is not None:
        found.append(f"of the f64-heavy kernels, the worst is {worst['doubles']['kernel']} with "
                     f"{worst['doubles']['ratio']:.2f} of the instructions of ptxas (limit {limit:g}: "
                     f"{_met(worst['doubles']['ratio'], limit)})")
    return found or [f"{result['missing']}: nothing to compare with"]


def _met(ratio: float, limit: float) -> str:
    return "met" if ratio <= limit else "MISSED"


def print_report(result: dict) -> None:
    """Print the result of `run`."""
    table = Table(COLUMNS[0], *(Column(name, justify="right") for name in COLUMNS[1:]), box=None)
    for row in result["kernels"]:
        table.add_row(*_cells(row))
    console = report_console(130, markup=False, soft_wrap=True)
    console.print(table)
    for sentence in _verdict(result):
        console.print(sentence)


def markdown(result: dict) -> str:
    """Return the table and the means as Markdown."""
    lines = [COLUMNS, ("---", *("---:" for _ in COLUMNS[1:])), *map(_cells, result["kernels"])]
    sentences = [f"{text[0].upper()}{text[1:]}." for text in _verdict(result)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n\n" + "\n\n".join(sentences) + "\n"


def update_markdown(path: Path, result: dict) -> None:
    """Replace the text between the marks of a file; errors as in `sim.report.markdown.split_markdown`."""
    replace_markdown(path, BEGIN, END, lambda: markdown(result))
