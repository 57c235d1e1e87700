"""Settings of one compilation."""

from __future__ import annotations

from dataclasses import dataclass

from caesura.errors import InputError
from caesura.hw.arch.geometry import MAX_REGISTERS, Geometry

__all__ = ["CompileOptions"]


@dataclass(frozen=True)
class CompileOptions:
    """How to compile.

    Attributes
    ----------
    interval : int
        Most instructions between preemption points (K of Lin et al. IV-A); loops usually have shorter intervals.
    interval_on : Geometry, optional
        `interval` counts estimated cycles of this machine, not instructions (`preemption.word_times`).
    preemption_points : bool
        Place ``pp`` words. Without them only barriers are preemption points; this measures their cost.
    max_registers : int
        Vector registers a thread may use (``regs_per_thread`` of the target geometry).
    uniform : bool
        Keep warp-uniform values in uniform registers. False only to measure the gain.
    check_addresses : bool
        Global accesses fault if the upper word of their 64-bit address is not zero; else that word is dropped.
    calls : str
        Whether functions that only compute, and computations of the library, are called or inlined (`routines`):
        ``"auto"``, ``"always"`` or ``"never"``.
    eviction_check : bool
        Thread blocks load a flag when they begin, and leave if it is set (`preemption.eviction_check`).
    verify : bool
        Check the intermediate representation between passes.
    """

    interval: int = 500
    interval_on: Geometry | None = None
    preemption_points: bool = True
    max_registers: int = MAX_REGISTERS
    uniform: bool = True
    check_addresses: bool = False
    calls: str = "auto"
    eviction_check: bool = False
    verify: bool = True

    def __post_init__(self):
        if self.interval < 4:
            raise InputError(f"interval must be 4 or more, not {self.interval}")
        if self.calls not in ("auto", "always", "never"):
            raise InputError(f"calls must be auto, always or never, not {self.calls!r}")
        if not 1 <= self.max_registers <= MAX_REGISTERS:
            raise InputError(f"max_registers must be 1 to {MAX_REGISTERS}, not {self.max_registers}")
