"""Static context size with context flashback, of the shipped kernels, under both objectives (CTXBack Fig. 7).

Each instruction of a kernel counts once. Bytes are those of one warp: vector registers, predicates and uniform
registers, backups included; what else a warp's record holds is the same for all columns and left out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from caesura.hw.arch.geometry import Geometry
from caesura.software.compiler.flashback.costs import Objective
from caesura.software.compiler.flashback.kernel import KernelFlashback, flashback
from caesura.software.compiler.flashback.machine_code import program
from caesura.software.compiler.flashback.search import WINDOW
from caesura.software.kernels import KERNELS
from caesura.software.report.console import report_console

from ..report.markdown import markdown_table, replace_markdown

__all__ = ["BEGIN", "END", "PAPER", "measure", "run", "print_report", "markdown", "update_markdown"]

BEGIN = "<!-- begin: caesura bench ctxback -->"
END = "<!-- end: caesura bench ctxback -->"
PAPER = {"live": 0.378, "flashback": 0.610, "combined": 0.621}
"""What CTXBack reports for its own kernels on an AMD Radeon VII (V-A, Fig. 7): share of the baseline that is not saved.
Its objective is latency."""
LEAST = 1.09
"""What it reports of flashback over the least size there is, CKPT's point (I, V-A)."""
_COLUMNS = ("live", "strict", "relaxed", "reverting", "flashback", "defer", "combined", "checkpoint")
_FIELDS = dict(zip(_COLUMNS, ("live_bytes", "strict_bytes", "relaxed_bytes", "reverting_bytes", "bytes",
                              "deferred_bytes", "combined_bytes", "checkpoint_bytes"), strict=True))


def measure(name: str, geometry: Geometry, objective: Objective, window: int = WINDOW) -> dict:
    """Return the row of a kernel: mean bytes of each technique, and of the doubled window."""
    kernel = program(KERNELS[name].image(), geometry)
    found, again = flashback(kernel, objective, window), flashback(kernel, objective, 2 * window)
    return {"kernel": name, "objective": objective.value, "instructions": len(found.instructions),
            "occupied": kernel.occupied_bytes, "copies": len(found.copies), "doubled_window": again.mean("bytes"),
            "latency": found.mean("latency"), "live_latency": _live_latency(found, geometry),
            **{column: found.mean(field) for column, field in _FIELDS.items()},
            "in_loops": {column: found.mean(field, weighted=True) for column, field in _FIELDS.items()}}


def _live_latency(found: KernelFlashback, geometry: Geometry) -> float:
    return geometry.memory_latency + found.mean("live_bytes") / geometry.bytes_per_cycle


def run(geometry: Geometry, kernels: Sequence[str] = (), progress: Callable[[str], None] | None = None) -> dict:
    """Measure kernels, all that ship by default, under both objectives.

    Returns
    -------
    dict
        ``rows``; ``saved``: the mean over the kernels of the share of what is occupied that is not saved, by objective;
        ``saved_in_loops``: the same with each loop around an instruction counted ten times; ``over_least``: the mean of
        flashback over that of CKPT's points; ``window``, and ``doubled``: by how much twice of it changes the mean of
        all sizes.
    """
    rows = []
    for number, name in enumerate(kernels or KERNELS, 1):
        if progress is not None:
            progress(f"kernel {number} of {len(kernels or KERNELS)}: {name}")
        rows += [measure(name, geometry, objective) for objective in Objective]
    chosen = {objective.value: [row for row in rows if row["objective"] == objective.value] for objective in Objective}
    saved = {name: {column: _mean([1 - row[column] / row["occupied"] for row in those]) for column in _COLUMNS}
             for name, those in chosen.items()}
    in_loops = {name: {column: _mean([1 - row["in_loops"][column] / row["occupied"] for row in those])
                       for column in _COLUMNS} for name, those in chosen.items()}
    least = {name: sum(row["flashback"] for row in those) / sum(row["checkpoint"] for row in those)
             for name, those in chosen.items()}
    doubled = sum(row["doubled_window"] for row in rows) / sum(row["flashback"] for row in rows) - 1
    return {"preset": geometry.name, "window": WINDOW, "rows": rows, "saved": saved, "saved_in_loops": in_loops,
            "over_least": least, "paper": PAPER, "doubled": doubled}


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _cells(row: dict) -> list[str]:
    return [row["kernel"], *(f"{row[column]:,.0f}" for column in ("occupied", *_COLUMNS)), str(row["copies"]),
            f"{row['live_latency']:,.0f}", f"{row['latency']:,.0f}", f"{1 - row['flashback'] / row['occupied']:.1%}"]


def _table(result: dict, objective: Objective) -> str:
    rows = [_cells(row) for row in result["rows"] if row["objective"] == objective.value]
    for title, key in (("*not saved, mean*", "saved"), ("*by loops*", "saved_in_loops")):
        shares = result[key][objective.value]
        rows.append([title, "", *(f"{shares[column]:.1%}" for column in _COLUMNS), *[""] * 4])
    title = f"Mean context of a warp in bytes, by instruction; objective: {objective.value}"
    return markdown_table(title, ("kernel", "occupied", *_COLUMNS, "copies", "cycles, live", "cycles",
                                  "not saved"), rows, 1)


def _notes(result: dict) -> list[str]:
    paper = ", ".join(f"{name} {share:.1%}" for name, share in PAPER.items())
    least = ", ".join(f"{name} {ratio:.2f}" for name, ratio in result["over_least"].items())
    return [f"Flashback over the least there is in a block, ratio of means: by {least}; CTXBack {LEAST} by latency.",
            f"CTXBack reports of its own kernels, on another machine, by latency: {paper} not saved.",
            f"Window {result['window']}; twice of it changes the mean size by {result['doubled']:+.2%}."]


def markdown(result: dict) -> str:
    """Return the tables."""
    return "\n\n".join([f"Preset `{result['preset']}`.", *(_table(result, objective) for objective in Objective),
                        *_notes(result)])


def print_report(result: dict) -> None:
    """Print the tables."""
    console = report_console(140)
    for line in (markdown(result)).split("\n"):
        console.print(line, highlight=False, markup=False, soft_wrap=True)


def update_markdown(path: Path, result: dict) -> None:
    """Replace what stands in a file between the marks; raises as `sim.report.markdown.split_markdown`."""
    replace_markdown(path, BEGIN, END, lambda: markdown(result))
