"""Static context size with context flashback, under both objectives (CTXBack Fig. 7).

The kernels are the shipped ones on Caesura's instruction set, or the OpenCL kernels after CTXBack Table I on AMD's
gfx906.

Each instruction of a kernel counts once. Bytes are those of one warp: vector registers, predicates and uniform
registers, with backups. On gfx906 a warp's share of shared memory counts too. The rest of a warp's record is equal in
all columns, and left out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from caesura.errors import InputError
from caesura.hw.arch.geometry import Geometry
from caesura.software.compiler import amdgpu
from caesura.software.compiler.flashback.costs import Objective
from caesura.software.compiler.flashback.kernel import KernelFlashback, flashback
from caesura.software.compiler.flashback.machine_code import program
from caesura.software.compiler.flashback.program import Program
from caesura.software.compiler.flashback.search import WINDOW
from caesura.software.kernels import KERNELS, opencl

from ..report.ctxback import COLUMNS, OURS, PAPER, markdown, marks, picture, print_report, update_markdown

__all__ = ["GFX906", "OURS", "PAPER", "marks", "programs", "measure", "run", "print_report", "markdown", "picture",
           "update_markdown"]

GFX906 = "gfx906"
"""The instruction set of AMD's Radeon VII, the machine of the paper."""
_FIELDS = dict(zip(COLUMNS, ("live_bytes", "strict_bytes", "relaxed_bytes", "reverting_bytes", "bytes",
                              "deferred_bytes", "combined_bytes", "checkpoint_bytes"), strict=True))


def programs(isa: str, geometry: Geometry) -> dict[str, Callable[[], Program]]:
    """Return the function that makes each kernel of an instruction set, by the kernel's name."""
    if isa == GFX906:
        return {one.name: lambda one=one: amdgpu.program(amdgpu.read(one.assembly).kernel(one.name))
                for one in opencl.KERNELS}
    return {name: lambda name=name: program(KERNELS[name].image(), geometry) for name in KERNELS}


def measure(kernel: Program, objective: Objective, window: int = WINDOW) -> dict:
    """Return the row of a kernel, with the mean bytes of each technique and of the doubled window."""
    found, again = flashback(kernel, objective, window), flashback(kernel, objective, 2 * window)
    return {"kernel": kernel.name, "objective": objective.value, "instructions": len(found.instructions),
            "occupied": kernel.occupied_bytes, "copies": len(found.copies), "doubled_window": again.mean("bytes"),
            "latency": found.mean("latency"), "live_latency": _live_latency(found),
            **{column: found.mean(field) for column, field in _FIELDS.items()},
            "in_loops": {column: found.mean(field, weighted=True) for column, field in _FIELDS.items()}}


def _live_latency(found: KernelFlashback) -> float:
    costs = found.program.costs
    return costs.round_trip + found.mean("live_bytes") / costs.bytes_per_cycle


def run(geometry: Geometry, kernels: Sequence[str] = (), progress: Callable[[str], None] | None = None,
        isa: str = OURS) -> dict:
    """Measure kernels of an instruction set, all by default, under both objectives.

    Raises
    ------
    InputError
        If a kernel has no version for the instruction set.

    Returns
    -------
    dict
        ``rows`` are the rows of all kernels. ``saved`` is the mean share of the occupied bytes that is not saved, by
        objective. ``saved_in_loops`` is the same with each loop around an instruction counted ten times. ``over_least``
        is the ratio of flashback to CKPT's points, from the means of sizes as shares of the occupied bytes (CTXBack
        V-A). ``over_least_bytes`` is the ratio of the sums of bytes. ``window`` is the window, and ``doubled`` the
        relative change of the mean size with twice the window.
    """
    known = programs(isa, geometry)
    if missing := [name for name in kernels if name not in known]:
        raise InputError(f"there is no {isa} version of {', '.join(missing)}; there is of {', '.join(known)}")
    rows, names = [], kernels or list(known)
    for number, name in enumerate(names, 1):
        if progress is not None:
            progress(f"kernel {number} of {len(names)}: {name}")
        kernel = known[name]()
        rows += [measure(kernel, objective) for objective in Objective]
    chosen = {objective.value: [row for row in rows if row["objective"] == objective.value] for objective in Objective}
    saved = {name: {column: _mean([1 - row[column] / row["occupied"] for row in those]) for column in COLUMNS}
             for name, those in chosen.items()}
    in_loops = {name: {column: _mean([1 - row["in_loops"][column] / row["occupied"] for row in those])
                       for column in COLUMNS} for name, those in chosen.items()}
    normalised, in_bytes = ({name: _over_least(those, share) for name, those in chosen.items()}
                            for share in (True, False))
    doubled = sum(row["doubled_window"] for row in rows) / sum(row["flashback"] for row in rows) - 1
    return {"isa": isa, "preset": geometry.name if isa == OURS else None, "window": WINDOW, "rows": rows,
            "saved": saved, "saved_in_loops": in_loops, "over_least": normalised, "over_least_bytes": in_bytes,
            "paper": PAPER, "doubled": doubled}


def _over_least(rows: Sequence[dict], normalised: bool) -> float | None:
    """Return the ratio of flashback to CKPT's points, None where nothing is live at these points.

    Sizes of a kernel are shares of its occupied bytes if `normalised`, else bytes.
    """
    mine, least = (sum(row[column] / (row["occupied"] if normalised else 1) for row in rows)
                   for column in ("flashback", "checkpoint"))
    return mine / least if least else None


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
