"""Growth of compile time and memory of large kernels with the number of instructions.

A part of ``caesura bench compile`` (`compile_time`) compiles kernels of `sim.workloads.large`. Each has its own
process, so the peak of its resident memory belongs to this compilation. Time is processor time from PTX text to
verified image, without reading the grammar, which happens once per process. Beside each time stands its ratio to n log
n, and that ratio over the ratio of the smallest kernel. The latter stays near 1 if time grows no faster than n log n.

The f64-heavy kernels (`software.kernels.doubles`) are measured as well. Their time has its own limit, and does not
count in the growth.
"""

from __future__ import annotations

import json
import math
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from caesura.sim.workloads.large import LargeKernel
from caesura.software.compiler import CompileOptions, compile_ptx
from caesura.software.kernels.doubles import DOUBLES

__all__ = ["SIZES", "SECONDS", "DOUBLES_SECONDS", "PEAK_BYTES", "GROWTH", "measure", "judge", "run", "table", "verdict"]

SIZES = 1_000, 3_000, 10_000, 30_000
"""Aims for the number of instructions."""
JUDGED = 10_500
"""Kernels of at most this number of instructions must keep `SECONDS` and `PEAK_BYTES`."""
SECONDS = 20.0
PEAK_BYTES = 1 << 30
GROWTH = 1.25
"""Limit of the growth of time / (n log n) from the smallest kernel to any other; the part above 1 is for noise."""
DOUBLES_SECONDS = 30.0
"""Limit for an f64-heavy kernel."""
RANDOM = "random"
COLUMNS = ("kernel", "instructions", "registers", "local bytes", "seconds", "limit", "MB", "limit", "µs / n ln n",
           "to smallest", "exponent")


def measure(size: int, seed: int = 0, registers: int | None = None, name: str = RANDOM) -> dict:
    """Compile one kernel in this process; the keys are those of a row of `run`, without the judgement.

    Parameters
    ----------
    size, seed : int
        Size and seed of a random kernel.
    registers : int, optional
        Budget of vector registers.
    name : str
        ``"random"``, or one of `DOUBLES`.
    """
    ptx = LargeKernel(size, seed).ptx if name == RANDOM else DOUBLES[name].read_text()
    options = CompileOptions() if registers is None else CompileOptions(max_registers=registers)
    compile_ptx(LargeKernel(100, seed).ptx)  # reads the grammar and the library
    started = time.process_time()
    image = compile_ptx(ptx, "large.ptx", options)[LargeKernel.name if name == RANDOM else name]
    seconds = time.process_time() - started
    return {"kernel": name, "size": size, "instructions": len(image.code), "registers": image.registers,
            "local_bytes": image.local_bytes, "seconds": seconds,
            "peak_bytes": _peak_bytes()}


def _peak_bytes() -> int:
    """Return the peak of resident memory of this process.

    `resource.getrusage` would include the memory of the parent process.
    """
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM:"))
    return int(line.split()[1]) * 1024


def _in_child(size: int, seed: int, registers: int | None, name: str = RANDOM) -> dict:
    arguments = [name, str(size), str(seed), *([] if registers is None else [str(registers)])]
    made = subprocess.run([sys.executable, "-m", __name__, *arguments], check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(made.stdout)


def judge(rows: Sequence[dict]) -> dict:
    """Return `rows`, the smallest first, with their limits and the verdict."""
    judged: list[dict] = []
    doubles = [row | {"ratio": row["seconds"] / (row["instructions"] * math.log(row["instructions"])), "growth": None,
                      "exponent": None, "met": row["seconds"] <= DOUBLES_SECONDS}
               for row in rows if row["kernel"] != RANDOM]
    for row in sorted((row for row in rows if row["kernel"] == RANDOM), key=lambda row: row["instructions"]):
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
    runs = [*judged, *doubles]
    return {"seconds_limit": SECONDS, "doubles_limit": DOUBLES_SECONDS, "peak_limit": PEAK_BYTES,
            "judged_up_to": JUDGED, "growth_limit": GROWTH, "met": all(row["met"] for row in runs), "runs": runs}


def run(sizes: Sequence[int] = (), seed: int = 0, registers: int | None = None, kernels: Sequence[str] = (),
        progress: Callable[[str], None] = lambda text: None) -> dict:
    """Measure random kernels of about the given sizes, and f64-heavy ones; keys are documented in `docs/keys.md`.

    Parameters
    ----------
    sizes : sequence of int
        With no sizes and no kernels given, `SIZES` and all of `DOUBLES` are measured.
    seed : int
        Seed of the kernels.
    registers : int, optional
        Budget of vector registers.
    kernels : sequence of str
        Names of `DOUBLES`.
    progress : callable
        Called with each step.
    """
    if not sizes and not kernels:
        sizes, kernels = SIZES, tuple(DOUBLES)
    rows = []
    for size in sorted(sizes):
        progress(f"compiling about {size:,} instructions")
        rows.append(_in_child(size, seed, registers))
    for name in kernels:
        progress(f"compiling {name}")
        rows.append(_in_child(0, seed, registers, name))
    return judge(rows)


def _cells(row: dict, result: dict) -> list[str]:
    random = row["kernel"] == RANDOM
    limited = random and row["instructions"] <= result["judged_up_to"]
    limit = result["seconds_limit" if random else "doubles_limit"]
    return [row["kernel"], f"{row['instructions']:,}", str(row["registers"]), str(row["local_bytes"]),
            f"{row['seconds']:.2f}",
            f"{limit:g}" if limited or not random else "-", f"{row['peak_bytes'] / 1e6:.0f}",
            f"{result['peak_limit'] / 1e6:.0f}" if limited else "-", f"{1e6 * row['ratio']:.1f}",
            *("-" if row[key] is None else f"{row[key]:.2f}" for key in ("growth", "exponent"))]


def table(result: dict) -> list[Sequence[str]]:
    """Return the columns and the rows of the result of `run`."""
    return [COLUMNS, *(_cells(row, result) for row in result["runs"])]


def verdict(result: dict) -> str:
    """Return in words how the result of `run` compares with its limits."""
    growth = [row["growth"] for row in result["runs"] if row["growth"] is not None]
    doubles = [row for row in result["runs"] if row["growth"] is None]
    slowest = max(doubles, key=lambda row: row["seconds"], default=None)
    parts = []
    if growth:
        parts.append(f"time / (n ln n) grows to {max(growth):.2f} of the smallest kernel's (limit "
                     f"{result['growth_limit']:g})")
    if slowest is not None:
        parts.append(f"{slowest['kernel']} takes longest of the f64-heavy kernels, {slowest['seconds']:.1f} s (limit "
                     f"{result['doubles_limit']:g})")
    return f"{'; '.join(parts)}: {'met' if all(row['met'] for row in result['runs']) else 'MISSED'}"


if __name__ == "__main__":
    print(json.dumps(measure(int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]) if sys.argv[4:] else None,
                             sys.argv[1])))
