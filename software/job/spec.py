"""A job as objects: launch, arguments, what is expected, when to preempt; and how it goes with a compiled kernel."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from caesura.hw.arch.geometry import Geometry, preset
from caesura.hw.arch.way import Way
from caesura.software.compiler import KernelImage, Parameter
from caesura.software.kernels import Job
from caesura.software.names import alternatives

from .table import JobError, Table

__all__ = ["Expected", "JobArgument", "PreemptionSpec", "JobFile", "DEFAULT_CYCLES"]

DEFAULT_CYCLES = 50_000_000


@dataclass(frozen=True)
class Expected:
    """The expected contents of an array at the end.

    Attributes
    ----------
    values : ndarray
    atol, rtol : float or None
        See `compare`.
    """

    values: np.ndarray
    atol: float | None = None
    rtol: float | None = None


@dataclass(frozen=True)
class JobArgument:
    """One argument.

    Attributes
    ----------
    name : str
        Empty if the file gives none.
    value : int, float, bytes or ndarray
    expected : Expected or None
    output : bool
        Write the array to a file at the end, if asked.
    """

    name: str
    value: int | float | bytes | np.ndarray
    expected: Expected | None = None
    output: bool = False


@dataclass(frozen=True)
class PreemptionSpec:
    """When and how to preempt; times are cycles the kernel has run, without those it was being saved, away or restored.

    Attributes
    ----------
    at : int
        Cycle of the (first) request.
    every : int
        Cycles to the next one, 0 for none.
    times : int
        Most requests, 0 for no limit.
    way : hw.arch.way.Way
        How. A request that follows a base saves only what was written since.
    other, size, seed : str, str, int
        The shipped kernel that runs meanwhile, or ``hostile``, with the size and seed of its job.
    job : JobFile or None
        Job of the user's own kernel that runs meanwhile; `other` is the path of its PTX.
    gang : bool
        See `Device.resume`.
    newcomer : bool
        The other kernel is launched first and the request names it: in place, and room is made for it.
    checkpoint : int or None
        A base is saved (`Device.checkpoint`) when the kernel has so many cycles to run to each request.
    announced : int or None
        Each request is announced so many cycles before (`Device.anticipate`); not with `checkpoint`.
    nested : tuple of PreemptionSpec
        Preemptions of the other kernel.
    """

    at: int
    every: int = 0
    times: int = 1
    way: Way = Way()
    other: str = "hostile"
    size: str = "small"
    seed: int = 1
    gang: bool = False
    nested: tuple[PreemptionSpec, ...] = ()
    job: JobFile | None = None
    newcomer: bool = False
    checkpoint: int | None = None
    announced: int | None = None

    @property
    def lead(self) -> int | None:
        """Cycles of the kernel between what is done for a request beforehand and the request; None without."""
        return self.announced if self.checkpoint is None else self.checkpoint

    @property
    def asked(self) -> Way:
        """The way, with what a newcomer and bases come to."""
        return self.way.but(in_place=self.way.in_place or self.newcomer,
                            incremental=self.way.incremental or self.lead is not None)

    @property
    def base(self) -> Way:
        """How bases are saved."""
        return Way(self.way.mechanism, self.way.patience, checkpoint=True, scramble=self.way.scramble)

    def refusal(self, g: Geometry, names: Mapping[str, str] | None = None) -> str:
        """Return why an SM cannot preempt so, in one line; empty if it can.

        Parameters
        ----------
        g : Geometry
        names : mapping of str to str, optional
            The names that the user gave options, where they differ from the job file's keys.
        """
        return self.asked.refusal(g, self._called(names))

    def clash(self, names: Mapping[str, str] | None = None) -> str:
        """Return which options no SM takes together, in one line; empty if some SM does. `names` is as of `refusal`."""
        return self.asked.clash(self._called(names))

    def _called(self, names: Mapping[str, str] | None) -> dict[str, str]:
        """Return the names that the user gave the options of `asked`."""
        called = dict(names or {})
        if self.newcomer and not self.way.in_place:
            called["in_place"] = called.get("newcomer", "newcomer")
        if self.lead is not None:
            key = "checkpoint" if self.announced is None else "announced"
            called["incremental"] = called.get(key, key)
        return called


@dataclass(frozen=True)
class JobFile:
    """A job file.

    Attributes
    ----------
    path : Path
    entry : str
        Empty if the PTX has only one.
    grid, block : tuple of int
        One to three sizes.
    shared_bytes : int
        Dynamic shared memory.
    arguments : tuple of JobArgument
    preemptions : tuple of PreemptionSpec
    preset, backend : str
    geometry : Geometry or None
        Instead of a preset.
    max_cycles : int
        Cycle limit for everything: the kernel, saving, restoring, and the kernel that runs meanwhile.
    """

    path: Path
    grid: tuple[int, ...]
    block: tuple[int, ...]
    entry: str = ""
    shared_bytes: int = 0
    arguments: tuple[JobArgument, ...] = ()
    preemptions: tuple[PreemptionSpec, ...] = ()
    preset: str = "gtx480"
    backend: str = "rtl"
    max_cycles: int = DEFAULT_CYCLES
    geometry: Geometry | None = None

    @property
    def machine(self) -> Geometry:
        """The geometry of the SM the job is for."""
        return self.geometry or preset(self.preset)

    def choose(self, names: Collection[str]) -> str:
        """Return the name of the kernel the job is for, of those the PTX has.

        Raises
        ------
        JobError
            If the entry is missing, or not named where there are several.
        """
        top = Table(self.path, "", {})
        if not names:
            raise JobError(f"{self.path}: the PTX has no kernel (.entry)")
        if self.entry and self.entry not in names:
            raise top.error(f"the PTX has no kernel {self.entry!r}; {alternatives(self.entry, names)}", "entry")
        if not self.entry and len(names) > 1:
            raise top.error(f"missing; the PTX has several kernels: {', '.join(names)}", "entry")
        return self.entry or next(iter(names))

    def bind(self, image: KernelImage) -> dict[str, JobArgument]:
        """Return the arguments by name; those without a name have their PTX parameter's.

        Raises
        ------
        JobError
            If there are more or fewer than parameters, an array stands where a value is wanted or the other way
            round, or two have one name.
        """
        top, parameters = Table(self.path, "", {}), image.parameters
        if textures := [binding.name for binding in image.bindings if binding.kind == "texture"]:
            raise top.error(f"kernel {image.name!r} reads texture {textures[0]!r}, and a job file binds none; run it "
                            "from Python, with Module.bind_texture (docs/ptx.md)")
        if len(self.arguments) != len(parameters):
            names = ", ".join(f"{p.type} {p.name}" for p in parameters) or "none"
            raise top.error(f"kernel {image.name!r} takes {len(parameters)} ({names}), {len(self.arguments)} given",
                            "argument")
        bound: dict[str, JobArgument] = {}
        for number, (p, argument) in enumerate(zip(parameters, self.arguments, strict=True), 1):
            table = Table(self.path, f"argument {number}{argument.name and f' ({argument.name!r})'}", {})
            name = argument.name or p.name
            _check(table, p, argument.value)
            if name in bound:
                raise table.error(f"there is another argument {name!r}", "name")
            bound[name] = argument
        return bound

    def job(self, image: KernelImage) -> Job:
        """Return the launch of a kernel."""
        bound = self.bind(image)
        grid, block = ((*sizes, 1, 1)[:3] for sizes in (self.grid, self.block))
        return Job((grid[0], grid[1], grid[2]), (block[0], block[1], block[2]), {n: a.value for n, a in bound.items()},
                   {n: a.expected.values for n, a in bound.items() if a.expected}, self.shared_bytes,
                   tolerance={n: (a.expected.atol, a.expected.rtol) for n, a in bound.items() if a.expected})


def _check(table: Table, p: Parameter, value: int | float | bytes | np.ndarray) -> None:
    """Refuse what a parameter cannot take."""
    where = f"parameter {p.name} is"
    if p.texture:
        raise table.error(f"{where} a texture object, and a job file makes none; run the kernel from Python, with "
                          "caesura.software.driver.Texture (docs/ptx.md)")
    if isinstance(value, np.ndarray):
        if p.type == "f64" or p.size != 8 and not p.pointer:
            raise table.error(f"an array is given, but {where} a value of type {p.type}")
    elif p.pointer:
        if not isinstance(value, int) or value != 0:
            raise table.error(f"a value is given, but {where} an address; give it an array, or 0 for none")
    elif isinstance(value, bytes):
        if len(value) != p.size:
            raise table.error(f"{len(value)} bytes are given, but {where} of {p.size}", "bytes")
    elif p.type in ("f32", "f64"):
        if np.isfinite(value) and abs(value) > float(np.finfo("f4" if p.type == "f32" else "f8").max):
            raise table.error(f"{value} does not fit; {where} of type {p.type}", "value")
    elif isinstance(value, float):
        raise table.error(f"an integer is wanted, not {value}; {where} of type {p.type}", "value")
    elif p.size > 8:
        raise table.error(f"{where} a structure of {p.size} bytes; give them as 'bytes', in hexadecimal", "value")
    elif (bounds := p.bounds) and not bounds[0] <= value <= bounds[1]:
        raise table.error(f"{value} does not fit; {where} of type {p.type}, an integer from {bounds[0]} to {bounds[1]}",
                          "value")
