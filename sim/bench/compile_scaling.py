"""Compile time and memory of large kernels: how they grow with the number of instructions.

``caesura bench compile`` compiles kernels of `sim.testing.ptx.large`, each in a process of its own, so that the peak of
its resident memory is that of this compilation. Time is processor time from PTX text to verified image, without
reading the grammar, which happens once a process. Beside each time stands its ratio to n log n, and that ratio over the
one of the smallest kernel: it stays near 1 if time grows no faster than n log n.
"""

from __future__ import annotations

import json
import math
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Column, Table

from caesura.sim.testing.ptx.large import LargeKernel
from caesura.software.compiler import CompileOptions, compile_ptx

from ..report.marks import replace_markdown

__all__ = ["BEGIN", "END", "SIZES", "SECONDS", "PEAK_BYTES", "GROWTH", "measure", "judge", "run", "print_report",
           "markdown", "update_markdown"]

BEGIN = "<!-- begin: caesura bench compile -->"
END = "<!-- end: caesura bench compile -->"
"""Marks in a Markdown file: what is between them is replaced."""
SIZES = 1_000, 3_000, 10_000, 30_000
"""Instructions aimed at."""
JUDGED = 10_500
"""Kernels of up to so many instructions must keep `SECONDS` and `PEAK_BYTES`."""
SECONDS = 20.0
PEAK_BYTES = 1 << 30
GROWTH = 1.25
"""Most that time / (n log n) may grow from the smallest kernel to any other; what is above 1 allows for noise."""
COLUMNS = ("instructions", "registers", "local bytes", "seconds", "limit", "MB", "limit", "µs / n ln n",
           "to smallest", "exponent")


def measure(size: int, seed: int = 0, registers: int | None = None) -> dict:
    """Compile one kernel in this process; keys are those of a row of `run`, without its judgement."""
    ptx = LargeKernel(size, seed).ptx
    options = CompileOptions() if registers is None else CompileOptions(max_registers=registers)
    compile_ptx(LargeKernel(100, seed).ptx)  # reads the grammar and the library
    started = time.process_time()
    image = compile_ptx(ptx, "large.ptx", options)[LargeKernel.name]
    seconds = time.process_time() - started
    return {"size": size, "instructions": len(image.code), "registers": image.registers,
            "local_bytes": image.local_bytes, "seconds": seconds,
            "peak_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024}


def _in_child(size: int, seed: int, registers: int | None) -> dict:
    arguments = [str(size), str(seed), *([] if registers is None else [str(registers)])]
    made = subprocess.run([sys.executable, "-m", __name__, *arguments], check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(made.stdout)


def judge(rows: Sequence[dict]) -> dict:
    """Return `rows`, the smallest first, with what they are compared with, and the verdict."""
    judged: list[dict] = []
    for row in sorted(rows, key=lambda row: row["instructions"]):
        count = row["instructions"]
        ratio = row["seconds"] / (count * math.log(count))
        first, last = (judged[0], judged[-1]) if judged else (None, None)
        growth = ratio / first["ratio"] if first else 1.0
        exponent = None
        if last is not None and count > last["instructions"]:
            exponent = math.log(row["seconds"] / last["seconds"]) / math.log(count / last["instructions"])
        limited = count <= JUDGED
        met = growth <= GROWTH and not (limited and (row["seconds"] > SECONDS or row["peak_bytes"] > PEAK_BYTES))
        judged.append(row | {"ratio": ratio, "growth": growth, "exponent": exponent, "met": met})
    return {"seconds_limit": SECONDS, "peak_limit": PEAK_BYTES, "judged_up_to": JUDGED, "growth_limit": GROWTH,
            "met": all(row["met"] for row in judged), "runs": judged}


def run(sizes: Sequence[int] = SIZES, seed: int = 0, registers: int | None = None,
        progress: Callable[[str], None] = lambda text: None) -> dict:
    """Measure kernels of about the given sizes; keys are documented in `docs/code.md`.

    Parameters
    ----------
    sizes : sequence of int
    seed : int
        Of the kernels.
    registers : int, optional
        Budget of vector registers.
    progress : callable
        Told what goes on.
    """
    rows = []
    for size in sorted(sizes or SIZES):
        progress(f"compiling about {size:,} instructions")
        rows.append(_in_child(size, seed, registers))
    return judge(rows)


def _cells(row: dict, result: dict) -> list[str]:
    limited = row["instructions"] <= result["judged_up_to"]
    return [f"{row['instructions']:,}", str(row["registers"]), str(row["local_bytes"]), f"{row['seconds']:.2f}",
            f"{result['seconds_limit']:g}" if limited else "-", f"{row['peak_bytes'] / 1e6:.0f}",
            f"{result['peak_limit'] / 1e6:.0f}" if limited else "-", f"{1e6 * row['ratio']:.1f}",
            f"{row['growth']:.2f}", "-" if row["exponent"] is None else f"{row['exponent']:.2f}"]


def _verdict(result: dict) -> str:
    worst = max(row["growth"] for row in result["runs"])
    return (f"time / (n ln n) grows to {worst:.2f} of the smallest kernel's (limit {result['growth_limit']:g}): "
            f"{'met' if result['met'] else 'MISSED'}")


def print_report(result: dict) -> None:
    """Print what `run` returned."""
    table = Table(*(Column(name, justify="right") for name in COLUMNS), box=None)
    for row in result["runs"]:
        table.add_row(*_cells(row, result))
    console = Console(width=120, highlight=False)
    console.print(table)
    console.print(_verdict(result))


def markdown(result: dict) -> str:
    """Return the table and the verdict as Markdown."""
    lines = [COLUMNS, ["---:"] * len(COLUMNS), *(_cells(row, result) for row in result["runs"])]
    text = _verdict(result)
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + f"\n\n{text[0].upper()}{text[1:]}.\n"


def update_markdown(path: Path, result: dict) -> None:
    """Replace what stands in a file between the marks; raises as `sim.report.marks.split_markdown`."""
    replace_markdown(path, BEGIN, END, lambda: markdown(result))


if __name__ == "__main__":
    print(json.dumps(measure(*map(int, sys.argv[1:]))))
