"""The passes by name, and the order in which a kernel goes through them.

A pass takes IR of certain stages. They are the stages of `ir.spec`, divided further by the passes already done:

1. ``wide``, as PTX is lowered;
2. ``narrow``, without 64-bit operations;
3. ``selected``: constants stand only where an encoding has them;
4. ``uniform``: warp-uniform values are in uniform registers;
5. ``machine``, with physical registers;
6. ``linear``: every branch falls through to the next block when it is not taken;
7. ``barriers``: these save what is live; and
8. ``preemptible``: there are preemption points besides.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from caesura.errors import InputError
from caesura.software.names import alternatives

from .analysis.pointers import mark_pointers
from .codegen.block_layout import lay_out
from .codegen.emit import emit
from .errors import CompileError
from .image.kernel_image import KernelImage
from .ir.kernel import Kernel
from .ir.spec import IRError, verify
from .lower.legalize import legalize
from .optimize.condition_chains import chain_conditions
from .optimize.fixpoint import CLEANING, REDUNDANCY, optimize
from .optimize.if_conversion import convert_ifs
from .optimize.select_immediates import select_immediates
from .optimize.simplify_cfg import simplify_cfg
from .optimize.sink import sink
from .optimize.unify_loop_exits import unify_loop_exits
from .options import CompileOptions
from .origins import Origin
from .preemption.check import check_image
from .preemption.eviction_check import check_eviction
from .preemption.placement import PlacedPoint, place_points, set_barrier_liveness
from .registers.allocate import allocate
from .uniform.scalarize import use_uniform_registers

__all__ = ["ALL", "DEFAULT", "ORDER", "PASSES", "STAGES", "UNOBSERVED", "Compilation", "Observer", "Pass",
           "check_names", "check_order"]

ALL = "all"
"""Stands for every pass, where a user names the pass whose IR is shown."""
STAGES = {"wide": "wide", "narrow": "narrow", "selected": "narrow", "uniform": "narrow", "machine": "machine",
          "linear": "machine", "barriers": "machine", "preemptible": "machine"}
"""Stages that IR can have, each with the stage it is verified as."""


@dataclass(frozen=True)
class Observer:
    """Callbacks for a kernel's way through the passes.

    Attributes
    ----------
    ran : callable
        Called with the name of a pass and the kernel, each time the pass has run. Passes in ``optimize`` call it only
        when they have changed something.
    restarted : callable
        Called with the kernel and the error when it was refused, before it is compiled once more with its routines
        inlined. Earlier calls of `ran` for this kernel then belong to the failed attempt.
    """

    ran: Callable[[str, Kernel], None] = lambda name, kernel: None
    restarted: Callable[[Kernel, CompileError], None] = lambda kernel, reason: None


UNOBSERVED = Observer()
"""Observer that does nothing."""


@dataclass
class Compilation:
    """A kernel on its way through the passes.

    Attributes
    ----------
    kernel : Kernel
    options : CompileOptions
    origin : callable
        Function that returns the origin of a line of the PTX.
    observer : Observer
    placed : list of PlacedPoint or None
        The preemption points, once they are placed.
    image : KernelImage or None
        Result of ``emit``.
    """

    kernel: Kernel
    options: CompileOptions
    origin: Callable[[int], Origin | None]
    observer: Observer = UNOBSERVED
    placed: list[PlacedPoint] | None = None
    image: KernelImage | None = None

    def run(self) -> KernelImage:
        """Run the passes in their order, and return the image."""
        self._verify("wide")
        for name in ORDER:
            step = PASSES[name]
            if step.wanted(self.options):
                if self._step(step) and step.then:
                    self._step(PASSES[step.then])
                if step.verified:
                    self._verify(step.gives)
        assert self.image is not None
        return self.image

    def run_only(self, names: Sequence[str]) -> KernelImage | Kernel:
        """Run these passes alone, verify after each, and return the image, or the IR if there is none.

        Raises
        ------
        InputError
            If there is no such pass, or one takes IR of another stage.
        CompileError
            If what a pass leaves is not legal.
        """
        for name, stage in zip(names, check_order(names), strict=True):
            try:
                self._step(PASSES[name])
                verify(self.kernel, STAGES[stage])
            except IRError as error:
                raise CompileError(f"not legal after pass {name}: {error}", self.kernel.source) from None
        return self.kernel if self.image is None else self.image

    def _step(self, step: Pass) -> bool:
        changed = bool(step.run(self))
        self.observer.ran(step.name, self.kernel)
        return changed

    def _verify(self, stage: str) -> None:
        if self.options.verify:
            verify(self.kernel, STAGES[stage])


class Pass(NamedTuple):
    """A pass.

    Attributes
    ----------
    name : str
    takes : tuple of str
        Stages that IR may have (`STAGES`).
    gives : str
        Stage of the IR afterwards; empty: it does not change.
    run : callable
        Changes a `Compilation`; may return whether it found anything to change.
    then : str
        The pass that comes next in the usual order, if `run` found anything.
    verified : bool
        Whether the IR is verified after it in the usual order.
    wanted : callable
        Whether it is part of the usual order under given options.
    """

    name: str
    takes: tuple[str, ...]
    gives: str
    run: Callable[[Compilation], object]
    then: str = ""
    verified: bool = False
    wanted: Callable[[CompileOptions], bool] = lambda options: True


def _place_points(on: Compilation) -> None:
    on.placed = place_points(on.kernel, on.options.interval, on.options.interval_on)


def _emit(on: Compilation) -> None:
    on.image = emit(on.kernel, on.placed or ()).with_origins(on.origin)
    if on.options.verify and on.placed is not None:
        check_image(on.image)


def _on_kernel(change: Callable[[Kernel], object]) -> Callable[[Compilation], object]:
    return lambda on: change(on.kernel)


_ROWS = (
    Pass("eviction-check", ("wide",), "wide", _on_kernel(check_eviction), verified=True,
         wanted=lambda options: options.eviction_check),
    Pass("mark-pointers", ("wide",), "wide", _on_kernel(mark_pointers)),
    Pass("legalize", ("wide",), "narrow", _on_kernel(legalize), verified=True),
    Pass("optimize", ("narrow",), "narrow",
         lambda on: optimize(on.kernel, lambda name: on.observer.ran(name, on.kernel))),
    *(Pass(name, ("narrow",), "narrow", _on_kernel(change)) for name, change in (CLEANING | REDUNDANCY).items()
      if change is not simplify_cfg),
    Pass("if-conversion", ("narrow",), "narrow", _on_kernel(convert_ifs), then="optimize", verified=True),
    Pass("unify-loop-exits", ("narrow",), "narrow", _on_kernel(unify_loop_exits), then="simplify-cfg", verified=True),
    Pass("condition-chains", ("narrow",), "narrow", _on_kernel(chain_conditions)),
    Pass("select-immediates", ("narrow",), "selected", _on_kernel(select_immediates)),
    Pass("sink", ("narrow", "selected"), "", _on_kernel(sink)),
    Pass("uniform-registers", ("selected",), "uniform", _on_kernel(use_uniform_registers), verified=True,
         wanted=lambda options: options.uniform),
    Pass("allocate", ("selected", "uniform"), "machine",
         lambda on: allocate(on.kernel, on.options.max_registers)),
    Pass("simplify-cfg", ("wide", "narrow", "selected", "uniform", "machine"), "", _on_kernel(simplify_cfg)),
    Pass("block-layout", ("machine",), "linear", _on_kernel(lay_out), verified=True),
    Pass("barrier-liveness", ("linear",), "barriers", _on_kernel(set_barrier_liveness)),
    Pass("place-points", ("barriers",), "preemptible", _place_points, verified=True,
         wanted=lambda options: options.preemption_points),
    Pass("emit", ("barriers", "preemptible"), "", _emit),
)
PASSES: dict[str, Pass] = {row.name: row for row in _ROWS}
"""All passes, by name."""
DEFAULT = ("mark-pointers", "legalize", "optimize", "if-conversion", "unify-loop-exits", "condition-chains",
           "select-immediates", "sink", "uniform-registers", "allocate", "simplify-cfg", "block-layout",
           "barrier-liveness", "place-points", "emit")
"""The usual order."""
ORDER = ("eviction-check", *DEFAULT)
"""The usual order, with passes that only run where the options ask for them."""


def check_names(names: Sequence[str], *more: str) -> None:
    """Check that passes of these names exist; `more` names are accepted as well.

    Raises
    ------
    InputError
        If a name is unknown.
    """
    known = (*PASSES, *more)
    for name in names:
        if name not in known:
            raise InputError(f"there is no pass {name[:60]!r}; {alternatives(name, known)}")


def check_order(names: Sequence[str]) -> list[str]:
    """Return the stage of the IR after each of these passes; the first one takes the output of lowering.

    Raises
    ------
    InputError
        If there is no such pass, or one takes IR of another stage.
    """
    check_names(names)
    stage, found = "wide", []
    for k, name in enumerate(names):
        step = PASSES[name]
        if stage not in step.takes:
            before = [next((row.name for row in _ROWS if row.gives == taken and taken not in row.takes), "lowering")
                      for taken in step.takes]
            raise InputError(f"pass {name} takes IR of stage {' or '.join(step.takes)}, as {' or '.join(before)} "
                             f"leaves it; here it is {stage}")
        if name == "emit" and k + 1 < len(names):
            raise InputError(f"emit is the last pass: {names[k + 1]} cannot follow it")
        stage = step.gives or stage
        found.append(stage)
    return found
