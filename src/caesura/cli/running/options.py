"""The options that ``caesura run`` and ``caesura preempt`` share, and the record of those given."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from caesura.hw.arch.geometry import Geometry
from caesura.hw.arch.image.context import Mechanism
from caesura.hw.arch.way import FLAGS
from caesura.software.compiler.flashback.kinds import ROUTINES
from caesura.software.job import BACKENDS, DEFAULT_CYCLES, load_job
from caesura.software.kernels import SIZES

from ..board import baud_option
from ..common import Choice, JsonTarget, eviction_option, grace_option, json_option, patience_option
from ..machine import geometry_option
from ..outputs import FOLDER, NAME_OR_FILE, OUTPUT

if TYPE_CHECKING:
    from caesura.software.driver.machine.board import SerialTransport

__all__ = ["RunOptions", "run_options"]

_IN = click.Path(exists=True, dir_okay=False, path_type=Path)


@dataclass(frozen=True)
class RunOptions:
    """The options; None, an empty tuple or False where one is not given.

    Attributes
    ----------
    what : str
        Name of a shipped kernel, or path of PTX or of a kernel image.
    job_path, kernel : Path, str
        Job file, and which kernel of the file it is for.
    at : tuple of int
    other, other_job : str, Path
        Kernel that runs meanwhile: a shipped one, or a file and its job.
    mechanism : str
    patience, grace : int or str
    restart, incremental, in_place, newcomer, trap, select, scramble, gang : bool
    routines : str
        Which preemption routines the kernel is given.
    eviction_check : bool
    checkpoint, announced : int
    size, seed : str, int
        Size and seed for jobs of shipped kernels.
    geometry : Geometry
    backend : str
    board, baud : str, int
        The serial port of a board, and its speed.
    check_bounds : bool
    max_cycles : int
    timeline, vcd, output : Path
    statistics : bool
    as_json : JsonTarget
    transport : SerialTransport
        The board, once it is open.
    """

    what: str
    job_path: Path | None
    kernel: str | None
    at: tuple[int, ...]
    other: str | None
    other_job: Path | None
    mechanism: str | None
    patience: int | str | None
    grace: int | str | None
    restart: bool
    incremental: bool
    in_place: bool
    newcomer: bool
    trap: bool
    select: bool
    routines: str | None
    eviction_check: bool
    checkpoint: int | None
    announced: int | None
    scramble: bool
    gang: bool
    size: str | None
    seed: int | None
    geometry: Geometry | None
    backend: str | None
    board: str | None
    baud: int
    check_bounds: bool
    max_cycles: int | None
    timeline: Path | None
    vcd: Path | None
    statistics: bool
    output: Path | None
    as_json: JsonTarget
    transport: SerialTransport | None = None

    @property
    def way_options(self) -> dict[str, Any]:
        """The options given for how to preempt, as fields of a `Way`."""
        given: dict[str, Any] = {"mechanism": Mechanism.of(self.mechanism)} if self.mechanism else {}
        given |= {name: getattr(self, name) for name in ("patience", "grace") if getattr(self, name) is not None}
        given |= {name: True for name in FLAGS if name != "checkpoint" and getattr(self, name)}
        return given | ({"trap": True} if self.routines else {})

    @property
    def plan_options(self) -> dict[str, Any]:
        """The options given for when to preempt, and for which kernel, as fields of a `PreemptionSpec`."""
        if self.checkpoint is not None and self.announced is not None:
            raise click.UsageError("give one of --checkpoint and --announced; the latter chooses when bases are saved")
        given: dict[str, Any] = {name: True for name in ("newcomer", "gang") if getattr(self, name)}
        if self.checkpoint is not None or self.announced is not None:
            given |= {"checkpoint": self.checkpoint, "announced": self.announced}
        return given

    def neighbour(self) -> dict[str, Any]:
        """Return the options given for the kernel that runs meanwhile as fields of a `PreemptionSpec` with its job."""
        if not self.other:
            return {}
        job = load_job(self.other_job) if self.other_job else None
        given = {"other": self.other, "size": self.inputs[0], "seed": self.inputs[1] + 1, "job": job}
        return given | ({"nested": job.preemptions} if job else {})

    @property
    def names(self) -> dict[str, str]:
        """The options given, as messages name them, by the names of fields."""
        names = {name: f"--{name.replace('_', '-')}" for name in (*self.way_options, *self.plan_options)}
        return names | ({"trap": "--routines"} if self.routines else {})

    @property
    def inputs(self) -> tuple[str, int]:
        """Size and seed of the job of a shipped kernel; the one that runs meanwhile has the next seed."""
        return self.size or "small", 1 if self.seed is None else self.seed


_OPTIONS: tuple[Callable, ...] = (
    click.argument("what", type=NAME_OR_FILE, metavar="KERNEL|FILE"),
    click.option("--job", "job_path", type=_IN, help="Job file of a kernel of your own (TOML; docs/jobs.md)."),
    click.option("--kernel", help="Which kernel of the file  [default: the job file's entry, else the only one]"),
    click.option("--at", multiple=True, type=click.IntRange(0),
                 help="Take the SM away when the kernel has run for so many cycles; may be given more than once."),
    click.option("--with", "other", type=NAME_OR_FILE, help="Kernel that runs meanwhile. It is a shipped "
                 "one, one of a file, or `hostile`, which overwrites all registers and shared memory  "
                 "[default: hostile]"),
    click.option("--with-job", "other_job", type=_IN, help="Job file of the file of --with."),
    click.option("--mechanism", type=Choice([m.label for m in Mechanism]), help="[default: live]"),
    patience_option,
    grace_option,
    click.option("--restart", is_flag=True, help="Save nothing of thread blocks: they stop at once and begin anew "
                 "later. Only for idempotent kernels."),
    click.option("--incremental", is_flag=True, help="Save only what thread blocks have written since they were last "
                 "saved."),
    click.option("--in-place", is_flag=True, help="Registers and shared memory stay on the SM as long as their room "
                 "is not needed. Only for geometries with in_place."),
    click.option("--newcomer", is_flag=True, help="In place, and room is made for the kernel of --with, which is "
                 "launched before the SM is taken away."),
    click.option("--routines", type=Choice(list(ROUTINES)),
                 help="Give the kernel preemption routines, and preempt it by them (docs/ctxback.md). Of geometries "
                 "with traps only."),
    eviction_option,
    click.option("--trap", is_flag=True, help="Preempt by the routines that the image of the kernel has."),
    click.option("--select", is_flag=True, help="Thread blocks that end sooner than they could be saved get the grace, "
                 "the others are saved at once. Only for geometries with proactive."),
    click.option("--checkpoint", type=click.IntRange(0), help="Save a base so many cycles before the SM is taken away, "
                 "then only what was written since."),
    click.option("--announced", type=click.IntRange(0), help="The SM is known so many cycles before to be taken away: "
                 "bases are saved of thread blocks that will not have ended by then."),
    click.option("--scramble", is_flag=True, help="Registers that are not saved come back as random bits, and lanes "
                 "that have exited changed."),
    click.option("--gang", is_flag=True, help="TBs start together when all are back, rather than each when it is."),
    click.option("--size", type=Choice(SIZES), help="Size of jobs of shipped kernels  [default: small]"),
    click.option("--seed", type=click.IntRange(0), help="Seed of jobs of shipped kernels  [default: 1]"),
    geometry_option(None, "the job file's, else gtx480"),
    click.option("--backend", type=Choice(BACKENDS), help="Where it runs  [default: the job file's, else rtl]"),
    click.option("--board", metavar="PORT", help="Run on the board on this serial port (docs/board.md); `simulated`: "
                 "on one under Verilator."),
    baud_option,
    click.option("--check-bounds", is_flag=True, help="Run on the golden model, and check each access to global memory "
                 "against the array that its address comes from (docs/bounds.md)."),
    click.option("--max-cycles", type=click.IntRange(1, 2**31 - 1),
                 help=f"Limit for everything together  [default: the job file's, else {DEFAULT_CYCLES:,}]"),
    click.option("--timeline", type=OUTPUT, help="Write the run as a timeline for ui.perfetto.dev."),
    click.option("--vcd", type=OUTPUT, help="Write waveforms of the preemption engine, from the first request to the "
                 "end of the first resume."),
    click.option("--statistics", is_flag=True, help="Count how full SMs are, what they issue, what warps wait for, "
                 "what caches and the bus do."),
    click.option("--output", type=FOLDER,
                 help="Directory for the arrays the job file marks with `output`; of a shipped kernel, its results."),
    json_option,
)


def run_options(command: Callable[[RunOptions], None]) -> Callable[..., None]:
    """Give a command the options of a run, as one `RunOptions`."""
    def with_options(**options):
        command(RunOptions(**options))

    with_options.__doc__ = command.__doc__
    wrapped: Callable[..., None] = with_options
    for option in reversed(_OPTIONS):
        wrapped = option(wrapped)
    return wrapped
