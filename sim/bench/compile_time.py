"""Compile time of the shipped kernels next to ptxas, of a process's start, and of large kernels.

``caesura bench compile`` measures the processor time from PTX text to verified image for each shipped kernel, in a
process that has compiled before. It measures ptxas on the same PTX, in turns, and takes the shortest of a few times of
each. The start of ptxas, which is its time for an empty kernel, is not counted. The start of this compiler is given
separately, as the time of ``caesura compile`` beyond compiling. Large kernels are those of `compile_scaling`.
"""

from __future__ import annotations

import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from rich.table import Column, Table

from caesura.software.compiler import compile_ptx
from caesura.software.kernels import KERNELS
from caesura.software.kernels.doubles import DOUBLES
from caesura.software.report.console import report_console

from ..report.markdown import replace_markdown
from . import compile_scaling
from .ptxas import ARCHITECTURE, assembler_of, children_seconds

__all__ = ["BEGIN", "END", "LIMIT", "judge", "run", "print_report", "markdown", "update_markdown"]

BEGIN = "<!-- begin: caesura bench compile -->"
END = "<!-- end: caesura bench compile -->"
"""Marks in a Markdown file; the text between them is replaced."""
LIMIT = 2.5
"""Limit of the compile time over that of ptxas, geometric mean of all kernels."""
LARGEST, LARGEST_LIMIT = 3, 3.5
"""Number of largest kernels that have a limit each."""
START_LIMIT = 3.0
"""Limit of the start of ``caesura compile`` over the time of ``import numpy``, each in its own process."""
REPEATS = 5
COLUMNS = ("kernel", "instructions", "ms", "ptxas", "ratio")
_LEAST = 1e-3
"""Least seconds of ptxas for a kernel; below this, the time cannot be separated from the start."""
_NOTHING = ".version 8.0\n.target sm_75\n.address_size 64\n.visible .entry nothing()\n{\n\tret;\n}\n"
_STARTED = "vecadd"
"""Kernel with which the start of a process is measured."""


def judge(rows: Sequence[dict], start: float | None, missing: str = "") -> dict:
    """Return the times of kernels with their limits, and the verdict.

    Parameters
    ----------
    rows : sequence of dict
        ``kernel``, ``instructions``, ``seconds``, and ``ptxas``, the seconds of its process or None.
    start : float or None
        Seconds of the start of ptxas.
    missing : str
        Reason why there is no ptxas.
    """
    result: dict = {"architecture": ARCHITECTURE, "limit": LIMIT, "largest_limit": LARGEST_LIMIT, "missing": missing,
                    "mean": None, "ratio": None, "worst": None, "largest": [], "start": start,
                    "seconds": sum(row["seconds"] for row in rows), "ptxas": None, "met": True,
                    "kernels": [row | {"ratio": None} for row in rows]}
    if start is None:
        return result
    for row in result["kernels"]:
        row["ptxas"] = max(row["ptxas"] - start, _LEAST)
        row["ratio"] = row["seconds"] / row["ptxas"]
    theirs = sum(row["ptxas"] for row in result["kernels"])
    mean = math.exp(sum(math.log(row["ratio"]) for row in result["kernels"]) / len(rows))
    largest = sorted(result["kernels"], key=lambda row: -row["instructions"])[:LARGEST]
    worst, *largest = ({"kernel": row["kernel"], "ratio": row["ratio"]} for row in (
        max(result["kernels"], key=lambda row: row["ratio"]), *largest))
    return result | {"ptxas": theirs, "mean": mean, "ratio": result["seconds"] / theirs, "worst": worst,
                     "largest": largest,
                     "met": mean <= LIMIT and all(row["ratio"] <= LARGEST_LIMIT for row in largest)}


def _suite(kernels: Sequence[str], ptxas: Path | None, progress: Callable[[str], None]) -> dict:
    """Measure shipped kernels."""
    assembler, missing = assembler_of(ptxas, lists=False)
    compile_ptx(KERNELS[_STARTED].ptx_path.read_text())  # reads the grammar, once per process
    texts = {name: KERNELS[name].ptx_path.read_text() for name in kernels}
    ours, theirs, sizes, starts = {name: [] for name in texts}, {name: [] for name in texts}, {}, []
    for turn in range(REPEATS):
        for name, text in texts.items():
            progress(f"compiling {name}, {turn + 1} of {REPEATS}")
            started = time.process_time()
            image = compile_ptx(text)[name]
            ours[name].append(time.process_time() - started)
            sizes[name] = len(image.code)
            if assembler is not None:
                theirs[name].append(assembler.seconds(text))
                starts.append(assembler.seconds(_NOTHING))
    rows = [{"kernel": name, "instructions": sizes[name], "seconds": min(ours[name]),
             "ptxas": min(theirs[name], default=None)} for name in texts]
    return judge(rows, min(starts, default=None), missing)


def _start_up() -> dict:
    """Measure ``caesura compile`` without a cache, in processes of its own.

    The result gives the share of the start, and the time of a process that imports numpy.
    """
    path = KERNELS[_STARTED].ptx_path
    whole, compiling, numpy = [], [], []
    for _ in range(REPEATS):
        with tempfile.TemporaryDirectory() as folder:
            whole.append(_process_seconds("-m", "caesura.cli", "compile", path, "-o", Path(folder) / "k.elf",
                                          cache=folder))
            numpy.append(_process_seconds("-c", "import numpy", cache=folder))
        started = time.process_time()
        compile_ptx(path.read_text())
        compiling.append(time.process_time() - started)
    seconds, numpy = min(whole), min(numpy)
    return {"kernel": _STARTED, "seconds": seconds, "start": seconds - min(compiling), "numpy": numpy,
            "ratio": seconds / numpy, "limit": START_LIMIT, "met": seconds <= START_LIMIT * numpy}


def _process_seconds(*arguments: str | Path, cache: str) -> float:
    """Return the processor time of a Python process with its own cache."""
    before = children_seconds()
    subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL,
                   env={**os.environ, "CAESURA_CACHE": cache})
    return children_seconds() - before


def run(kernels: Sequence[str] = (), ptxas: Path | None = None, sizes: Sequence[int] = (),
        seed: int = 0, registers: int | None = None, progress: Callable[[str], None] = lambda text: None) -> dict:
    """Measure; keys are documented in `docs/keys.md`.

    Parameters
    ----------
    kernels : sequence of str
        Shipped and f64-heavy kernels. Without kernels and sizes, all of them are measured, and large kernels of the
        usual sizes.
    ptxas : Path, optional
        See `Assembler`.
    sizes, seed, registers
        Parameters of large kernels; see `compile_scaling.run`.
    progress : callable
        Called with each step.
    """
    if not kernels and not sizes:
        kernels, sizes = (*KERNELS, *DOUBLES), compile_scaling.SIZES
    shipped = [name for name in kernels if name in KERNELS]
    heavy = [name for name in kernels if name in DOUBLES]
    suite = start = None
    if shipped:
        suite = _suite(shipped, ptxas, progress)
        progress("starting processes")
        start = _start_up()
    large = compile_scaling.judge([])
    if sizes or heavy:
        large = compile_scaling.run(sizes, seed, registers, heavy, progress)
    met = large["met"] and (suite is None or suite["met"]) and (start is None or start["met"])
    return large | {"suite": suite, "start_up": start, "met": met}


def _cells(row: dict) -> list[str]:
    ours = [row["kernel"], f"{row['instructions']:,}", f"{1000 * row['seconds']:.1f}"]
    if row["ratio"] is None:
        return [*ours, "-", "-"]
    return [*ours, f"{1000 * row['ptxas']:.1f}", f"{row['ratio']:.1f}"]


def _verdicts(suite: dict, start: dict) -> list[str]:
    kernels = f"{len(suite['kernels'])} kernels in {suite['seconds']:.2f} s"
    compared = f"{suite['missing']}: nothing to compare with"
    if suite["ratio"] is not None:
        compared = (f"ptxas ({suite['architecture']}) {suite['ptxas']:.2f} s, without its start of "
                    f"{1000 * suite['start']:.0f} ms a kernel; geometric mean of the ratios "
                    f"{_judged(suite['mean'], suite['limit'])}, of the sums {suite['ratio']:.1f}, at worst "
                    f"{suite['worst']['ratio']:.1f} ({suite['worst']['kernel']}); the largest kernels "
                    + ", ".join(f"{row['kernel']} {_judged(row['ratio'], suite['largest_limit'])}"
                                for row in suite["largest"]))
    share = start["start"] / start["seconds"]
    return [f"{kernels}; {compared}",
            f"`caesura compile` of {start['kernel']} takes {start['seconds']:.2f} s, {start['start']:.2f} s of it "
            f"({share:.0%}) the start of the process: {_judged(start['ratio'], start['limit'])} times "
            f"`import numpy` ({start['numpy']:.2f} s)"]


def _judged(value: float, limit: float) -> str:
    return f"{value:.2f} (limit {limit:g}: {'met' if value <= limit else 'MISSED'})"


def _parts(result: dict) -> Iterator[tuple[list[Sequence[str]], list[str]]]:
    """Yield the columns and rows of each table, and the text below it."""
    if result["suite"] is not None:
        yield [COLUMNS, *map(_cells, result["suite"]["kernels"])], _verdicts(result["suite"], result["start_up"])
    if result["runs"]:
        yield compile_scaling.table(result), [compile_scaling.verdict(result)]


def print_report(result: dict) -> None:
    """Print the result of `run`."""
    console = report_console(130, markup=False, soft_wrap=True)
    for (columns, *rows), texts in _parts(result):
        table = Table(*(Column(name, justify="right" if k else "left") for k, name in enumerate(columns)), box=None)
        for row in rows:
            table.add_row(*row)
        console.print(table)
        for text in texts:
            console.print(text)


def markdown(result: dict) -> str:
    """Return the tables and the verdicts as Markdown."""
    found = []
    for (columns, *rows), texts in _parts(result):
        lines = [columns, ["---", *["---:"] * (len(columns) - 1)], *rows]
        found.append("\n".join("| " + " | ".join(line) + " |" for line in lines))
        found += [f"{text[0].upper()}{text[1:]}." for text in texts]
    return "\n\n".join(found) + "\n"


def update_markdown(path: Path, result: dict) -> None:
    """Replace the text between the marks of a file; errors as in `sim.report.markdown.split_markdown`."""
    replace_markdown(path, BEGIN, END, lambda: markdown(result))
