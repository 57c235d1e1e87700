"""Runs the PTX of every shipped kernel on a real GPU, to judge the suite's references and the golden model.

Where PTX defines every bit, all three arrays must be equal to the bit. Where PTX allows an error (approximate
functions), they must agree within the tolerance of the kernel's job. The job's order-free judge checks arrays that
depend on the order of atomics. Random kernels must agree with their interpreter to the bit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path

import numpy as np
from rich.table import Column, Table

from caesura.sim import open_device
from caesura.sim.oracle import Gpu, GpuError, open_gpu, run_job
from caesura.sim.oracle.random_kernels import random_kernels, wrong_words
from caesura.sim.scenario import start_job
from caesura.software.job import Verdict, compare
from caesura.software.kernels import KERNELS, Job, ShippedKernel, kernel
from caesura.software.report.console import report_console

from ..report.markdown import replace_markdown

__all__ = ["BEGIN", "END", "GOLDEN_CYCLES", "judge", "run", "print_report", "markdown", "update_markdown"]

BEGIN = "<!-- begin: caesura bench gpu -->"
END = "<!-- end: caesura bench gpu -->"
"""Marks in a Markdown file; the text between them is replaced."""
GOLDEN_CYCLES = 1 << 31
"""Cycle limit of a kernel on the golden model."""
NAMED = 5
"""Most wrong random kernels that the text names."""
COLUMNS = "kernel", "elements", "tolerance", "wrong by reference", "wrong by golden model", "largest error"


def _golden(shipped: ShippedKernel, job: Job) -> dict[str, np.ndarray]:
    """Return the final arrays of the golden model."""
    with open_device("golden", "gtx480", 256 << 20) as device:
        launch, arrays = start_job(device, device.load([shipped.image()])[shipped.name], job)
        device.wait(launch, GOLDEN_CYCLES)
        return {name: array.get() for name, array in arrays.items()}


def _compared(job: Job, got: dict[str, np.ndarray], right: dict[str, np.ndarray]) -> list[Verdict]:
    return [compare(name, got[name], right[name], *job.bounds(name)) for name in job.expected]


def judge(gpu: Gpu, shipped: ShippedKernel, size: str, seed: int) -> dict:
    """Run a kernel on a GPU and return a row of `run`'s result.

    Raises
    ------
    sim.oracle.GpuError
        If the GPU refuses the kernel, or it faults there.
    """
    job = shipped.job(size, seed)
    got = run_job(gpu, shipped.ptx_path.read_text(), shipped.name, shipped.image().parameters, job)
    golden = _golden(shipped, job)
    by_reference, by_golden = _compared(job, got, job.expected), _compared(job, got, golden)
    judged = job.judge(got) if job.judge else {}
    errors = [verdict.max_error for verdict in by_golden]
    wrong = sum(v.wrong for v in by_reference) + sum(judged.values())
    return {"kernel": shipped.name, "elements": sum(got[name].size for name in {*job.expected, *judged}),
            "tolerance": max((t for name in job.tolerance for t in job.bounds(name) if t is not None), default=None),
            "wrong_by_reference": wrong,
            "wrong_by_golden": sum(v.wrong for v in by_golden),
            "max_error": None if None in errors else max((e for e in errors if e is not None), default=0),
            "refused": None}


def _rows(opened: Callable[[], Gpu], kernels: Iterable[ShippedKernel], size: str, seed: int,
          progress: Callable[[str], None]) -> list[dict]:
    rows = []
    for shipped in kernels:
        progress(f"{shipped.name}: on the GPU and on the golden model")
        gpu = opened()  # a new one per kernel: no call works after a fault
        try:
            rows.append(judge(gpu, shipped, size, seed))
        except GpuError as error:
            rows.append({"kernel": shipped.name, "refused": str(error)})
        finally:
            with suppress(GpuError):
                gpu.close()
    return rows


def _random(opened: Callable[[], Gpu], count: int, seed: int, progress: Callable[[str], None]) -> list[dict]:
    """Return the random kernels that the GPU refused or that differ from the interpreter, optimised there or not."""
    wrong = []
    gpu = opened()
    for number, (style, program) in enumerate(random_kernels(count, seed), 1):
        if number % 50 == 1:
            progress(f"random kernel {number} of {count}")
        row = {"seed": program.seed, "style": style, "wrong_words": None, "wrong_unoptimised": None, "refused": None}
        try:
            row["wrong_words"] = wrong_words(gpu, program)
            row["wrong_unoptimised"] = row["wrong_words"] and wrong_words(gpu, program, optimise=False)
        except GpuError as error:
            row["refused"] = str(error)
            with suppress(GpuError):
                gpu.close()
            gpu = opened()
        if row["wrong_words"] != 0:
            wrong.append(row)
    with suppress(GpuError):
        gpu.close()
    return wrong


def run(names: Sequence[str] = (), size: str = "small", seed: int = 1, random: int = 0,
        progress: Callable[[str], None] = lambda text: None, opened: Callable[[], Gpu] = open_gpu) -> dict:
    """Judge kernels; keys are documented in `docs/keys.md`.

    Parameters
    ----------
    names : sequence of str
        Shipped kernels; all unless given.
    size : str
    seed : int
        Seed of the inputs and of the first random kernel.
    random : int
        Number of random kernels.
    progress : callable
    opened : callable
        Returns a GPU.
    """
    result = {"gpu": None, "skipped": None, "size": size, "seed": seed, "met": True, "runs": [],
              "random": {"kernels": 0, "wrong": []}}
    try:
        gpu = opened()
    except GpuError as error:
        return result | {"skipped": str(error)}
    result["gpu"] = {"name": gpu.name, "capability": list(gpu.capability), "driver": gpu.driver}
    gpu.close()
    rows = _rows(opened, [kernel(name) for name in names] or list(KERNELS.values()), size, seed, progress)
    met = all(row["refused"] is None and row["wrong_by_reference"] == row["wrong_by_golden"] == 0 for row in rows)
    wrong = _random(opened, random, seed, progress)
    right = all(row["wrong_unoptimised"] == 0 for row in wrong)
    return result | {"runs": rows, "random": {"kernels": random, "wrong": wrong}, "met": met and right}


def _cells(row: dict) -> list[str]:
    if row["refused"] is not None:
        return [row["kernel"], row["refused"], *[""] * (len(COLUMNS) - 2)]
    tolerance = "to the bit" if row["tolerance"] is None else f"{row['tolerance']:g}"
    error = "-" if row["max_error"] is None else f"{row['max_error']:g}"
    return [row["kernel"], f"{row['elements']:,}", tolerance, f"{row['wrong_by_reference']:,}",
            f"{row['wrong_by_golden']:,}", error]


def _verdict(result: dict) -> str:
    if result["skipped"] is not None:
        return f"not run: {result['skipped']}"
    gpu, rows = result["gpu"], result["runs"]
    right = sum(row["refused"] is None and row["wrong_by_reference"] == row["wrong_by_golden"] == 0 for row in rows)
    return (f"{gpu['name']} (compute capability {'.'.join(map(str, gpu['capability']))}, CUDA {gpu['driver']}), size "
            f"{result['size']}, seed {result['seed']}: {right} of {len(rows)} kernels right{_random_verdict(result)}")


def _random_verdict(result: dict) -> str:
    count, found = result["random"]["kernels"], result["random"]["wrong"]
    if not count:
        return ""
    wrong = [row for row in found if row["wrong_unoptimised"] != 0]
    named = [f"seed {row['seed']} ({row['style']}): {row['refused'] or str(row['wrong_words']) + ' words'}"
             for row in wrong[:NAMED]]
    more = ["..."] if len(wrong) > NAMED else []
    only = f", {len(found) - len(wrong)} of them only without its compiler's optimisations" if found != wrong else ""
    return (f"; {count - len(wrong)} of {count} random kernels right{only}"
            + (f" (wrong: {', '.join([*named, *more])})" if wrong else ""))


def print_report(result: dict) -> None:
    """Print the result of `run`."""
    console = report_console(120)
    if result["runs"]:
        table = Table(*(Column(name, justify="left" if name == "kernel" else "right") for name in COLUMNS), box=None)
        for row in result["runs"]:
            table.add_row(*_cells(row))
        console.print(table)
    console.print(_verdict(result), markup=False, highlight=False)


def markdown(result: dict) -> str:
    """Return the verdict and the table as Markdown."""
    text = _verdict(result)
    lines = [COLUMNS, [":---", *["---:"] * (len(COLUMNS) - 1)], *map(_cells, result["runs"])] if result["runs"] else []
    return "\n".join([f"{text[0].upper()}{text[1:]}.", "", *("| " + " | ".join(line) + " |" for line in lines)]) + "\n"


def update_markdown(path: Path, result: dict) -> None:
    """Replace the text between the marks of a file; errors as in `sim.report.markdown.split_markdown`."""
    replace_markdown(path, BEGIN, END, lambda: markdown(result))
