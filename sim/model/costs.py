"""The costs of thread blocks (TBs) and switches of kernels on a machine, in a file of `caesura bench calibrate`.

Times are in cycles. They hold for one geometry, and for the arguments of the measurement. In the model, the cost of a
TB depends on its kernel, on the other TBs on its SM, and on chance.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from caesura.cache import write_atomically
from caesura.errors import InputError
from caesura.hw.arch.geometry import PRESETS, Geometry

__all__ = ["VERSION", "CostError", "SwitchCosts", "KernelCosts", "Costs", "Line", "fit_line", "geometry_digest",
           "check_geometry", "kernel_data", "kernel_of", "read_costs", "write_costs"]

VERSION = 1
"""Version of the file's form and of the set of measurements."""


class CostError(InputError):
    """A cost file cannot be used, or lacks a cost that a model needs."""


@dataclass(frozen=True)
class Line:
    """A cost that grows with the number of TBs.

    Attributes
    ----------
    base, per_tb : float
        Constant part, and part per TB, in cycles.
    """

    base: float
    per_tb: float

    def at(self, tbs: int) -> float:
        """Return the cost of so many TBs."""
        return self.base + self.per_tb * tbs


def fit_line(tbs: Sequence[int], cycles: Sequence[float]) -> Line:
    """Return the line of least squares through measurements.

    The slope is at least 0. Measurements with only one number of TBs give a constant.
    """
    if not tbs:
        raise CostError("no measurement to put a line through")
    if len({*tbs}) == 1:
        return Line(float(np.mean(cycles)), 0.0)
    slope, base = np.polyfit(tbs, cycles, 1)
    if slope < 0 or base < 0:
        slope = max(0.0, float(np.dot(tbs, cycles) / np.dot(tbs, tbs))) if base < 0 else 0.0
        base = 0.0 if slope else float(np.mean(cycles))
    return Line(float(base), float(slope))


@dataclass(frozen=True)
class SwitchCosts:
    """The costs of one way to preempt a kernel.

    Attributes
    ----------
    save : Line
        Time from the command until the scheduler learns that the SM's resources are free. A checkpoint ends when the
        scheduler learns that all TBs run on.
    spread : tuple of float
        Measured saves over the line, as factors; 1.0 is on the line.
    resume : Line or None
        Time from the command until the scheduler learns that all TBs run; None for a checkpoint.
    samples : tuple of (int, int, int)
        TBs, save cycles and resume cycles of each measurement.
    """

    save: Line
    spread: tuple[float, ...]
    resume: Line | None
    samples: tuple[tuple[int, int, int], ...] = ()


@dataclass(frozen=True)
class KernelCosts:
    """The costs of a kernel.

    Attributes
    ----------
    name : str
    code : str
        Hash of its code and its block.
    threads, registers, warps, shared_bytes : int
        Resources of a TB; registers per thread.
    tb_cycles : tuple of (int, float)
        Number of TBs of the kernel on the SM, and mean cycles of one TB in the steady state. The gap to the next TB is
        included.
    spread : tuple of float
        Times of single TBs over their mean.
    bytes_per_tb : float
        Bytes that a TB moves on the bus.
    start_cycles, kill_cycles : float
        Cycles of a start command, and of a kill.
    cold_cycles : float
        Cycles of a launch besides its start and its TBs; the first TBs find caches cold.
    switches : dict of str to SwitchCosts
        Costs of each way to preempt, by its name.
    beside : dict of str to float
        Slow-down of a TB by each TB of another kernel on the SM, as a share, by the name of the other kernel.
    """

    name: str
    code: str
    threads: int
    registers: int
    warps: int
    shared_bytes: int
    tb_cycles: tuple[tuple[int, float], ...]
    spread: tuple[float, ...]
    bytes_per_tb: float
    start_cycles: float
    kill_cycles: float
    cold_cycles: float
    switches: dict[str, SwitchCosts] = field(default_factory=dict)
    beside: dict[str, float] = field(default_factory=dict)

    def cycles_with(self, residents: float) -> float:
        """Return the mean cycles of a TB with a number of TBs of its kernel on the SM, itself included.

        Straight lines join the measurements and go beyond them.
        """
        most, cycles = self.tb_cycles[-1]
        if len(self.tb_cycles) == 1:
            return cycles * max(1.0, residents / most)
        if residents <= most:
            return float(np.interp(residents, [at for at, _ in self.tb_cycles], [each for _, each in self.tb_cycles]))
        before, fewer = self.tb_cycles[-2]
        return cycles + max(0.0, (cycles - fewer) / (most - before)) * (residents - most)

    @property
    def share(self) -> float:
        """Share of an SM's limiting resource that a single TB uses while it is alone.

        It is the time that a TB adds to a full SM, over the time of a TB alone.
        """
        most, cycles = self.tb_cycles[-1]
        return min(1.0, max(1e-3, cycles / most / self.tb_cycles[0][1]))


@dataclass(frozen=True)
class Costs:
    """All costs of a machine.

    Attributes
    ----------
    geometry : Geometry
    kernels : dict of str to KernelCosts
    settings : dict
        Settings of the measurement.
    """

    geometry: Geometry
    kernels: dict[str, KernelCosts]
    settings: dict = field(default_factory=dict)

    def of(self, name: str, threads: int, code: str | None = None) -> KernelCosts:
        """Return the costs of a kernel.

        Raises
        ------
        CostError
            If they were not measured, or were measured with other code or other TBs.
        """
        found = self.kernels.get(name)
        if found is None:
            raise CostError(f"there are no costs of kernel {name!r}; there are {', '.join(self.kernels) or 'none'}: "
                            "calibrate with it")
        if found.threads != threads:
            raise CostError(f"the costs of kernel {name!r} are of TBs of {found.threads} threads, not of {threads}")
        if code is not None and code != found.code:
            raise CostError(f"the costs of kernel {name!r} are of other code; calibrate anew")
        return found


def geometry_digest(g: Geometry) -> str:
    """Return a hash of all sizes and latencies of a geometry."""
    return hashlib.sha256(repr(sorted(dataclasses.asdict(g).items())).encode()).hexdigest()[:16]


def write_costs(costs: Costs, path: Path) -> None:
    """Replace a cost file in one step."""
    g = costs.geometry
    stored = {"version": VERSION, "geometry": dataclasses.asdict(g), "digest": geometry_digest(g),
              "settings": costs.settings,
              "kernels": {name: kernel_data(kernel) for name, kernel in costs.kernels.items()}}
    write_atomically(path, json.dumps(stored, indent=1) + "\n")


def read_costs(path: Path) -> Costs:
    """Return what `write_costs` wrote.

    Raises
    ------
    CostError
        If the file is something else, has another version, or was changed.
    """
    try:
        stored = json.loads(path.read_text())
        version = stored["version"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise CostError(f"{path} is no cost file that `caesura bench calibrate` writes: {error}") from None
    if version != VERSION:
        raise CostError(f"{path} is of version {version}, {VERSION} is wanted; calibrate anew")
    try:
        g = Geometry(**stored["geometry"])
        if geometry_digest(g) != stored["digest"]:
            raise CostError(f"{path}: the digest is not of its geometry; calibrate anew")
        kernels = {name: kernel_of(value) for name, value in stored["kernels"].items()}
        return Costs(g, kernels, stored["settings"])
    except (KeyError, TypeError, AttributeError) as error:
        raise CostError(f"{path} is damaged ({error!r}); calibrate anew") from None


def check_geometry(costs: Costs, g: Geometry) -> None:
    """Refuse costs of another geometry.

    Raises
    ------
    CostError
        If the geometries differ.
    """
    if geometry_digest(costs.geometry) != geometry_digest(g):
        known = "" if costs.geometry == PRESETS.get(costs.geometry.name) else ", a variant of it"
        raise CostError(f"the costs are of {costs.geometry.name}{known}, not of {g.name} as asked for; calibrate it")


def kernel_data(kernel: KernelCosts) -> dict:
    """Return the costs of a kernel as plain data."""
    return dataclasses.asdict(kernel)


def kernel_of(value: dict) -> KernelCosts:
    """Return the costs of a kernel from the result of `kernel_data`.

    Raises
    ------
    KeyError, TypeError, AttributeError
        If the data has another form.
    """
    switches = {name: SwitchCosts(Line(**each["save"]), tuple(each["spread"]),
                                  None if each["resume"] is None else Line(**each["resume"]),
                                  tuple(tuple(sample) for sample in each["samples"]))
                for name, each in value["switches"].items()}
    return KernelCosts(**{**value, "tb_cycles": tuple((int(n), float(c)) for n, c in value["tb_cycles"]),
                          "spread": tuple(value["spread"]), "switches": switches})
