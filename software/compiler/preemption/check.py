"""The verifier of finished code: it checks all that a preemption relies on, from the instruction words alone."""

from __future__ import annotations

from ..analysis.dominance import reconvergence
from ..analysis.simt_stack import stack_depth
from ..errors import ImageError
from ..image.kernel_image import KernelImage
from ..image.lift import lift
from ..ir.kernel import Kernel
from .extended_liveness import body_liveness
from .intervals import InvalidCode, longest_interval
from .placement import saving

__all__ = ["check_code", "check_image"]

_POINTS = ("pp", "pp.div")


def check_code(image: KernelImage, where: str) -> None:
    """Check foreign code: all cases of `check_image` but case 1, since code need not be preemptible everywhere.

    Raises
    ------
    ImageError
        If it is wrong; `where` begins the message.
    """
    try:
        _check_words(image)
    except ImageError as error:
        raise ImageError(f"{where}: {error}") from None
    except InvalidCode as error:
        raise ImageError(f"{where}: {error}; `check=False` (--no-check) takes the code as it is") from None


def check_image(image: KernelImage) -> int:
    """Check a kernel's preemption points, liveness vectors, reconvergence addresses and stack depth.

    1. Every cycle passes a preemption point, and every ``pp`` is followed by its ``pp.div`` (`preemption.intervals`).
    2. The vector of a ``pp`` or barrier holds every vector register, predicate and uniform register live after it. The
       vector of a ``pp.div`` also holds the registers that lanes waiting elsewhere need
       (`preemption.extended_liveness`).
    3. Every branch names its immediate post-dominator.
    4. The SIMT stack never needs more entries than the image says.
    5. Every register is among those that the image allocates.
    6. Each preemption routine restores the values that its instruction needs (`routine_check`).
    7. The target of a call is a routine (`image.lift`). It has no points; a call counts the reads, writes, stack
       entries and instructions of its routine.

    Returns
    -------
    int
        Most instructions on a path between two preemption points.

    Raises
    ------
    InvalidCode
        If one of them does not hold.
    ImageError
        If the code is not well formed.
    """
    return longest_interval(_check_words(image))


def _check_words(image: KernelImage) -> Kernel:
    """Check cases 2 to 7; return the code as IR."""
    lifted = lift(image)
    bodies = body_liveness(lifted)
    kernel, whole = lifted.kernel, bodies[0]
    used = kernel.allocated()
    if used > image.registers:
        raise InvalidCode(f"{image.name}: the code uses register R{used - 1}, the image allocates {image.registers}")
    for body in bodies:
        for label, point in reconvergence(body.flow).items():
            if label in lifted.meet and lifted.meet[label] != point:
                raise InvalidCode(f"{image.name}: the branch at the end of {label} names {lifted.meet[label]} as its "
                                  f"reconvergence point, not {point}")
    for block in kernel.blocks:
        if not any(op.name in _POINTS or op.name.startswith("bar.") for op in block.ops):
            continue
        for index, op, live in whole.live.backward(block):
            if op.name == "pp.div":
                live = live | whole.waiting[block.label]
            elif op.name not in _POINTS and not op.name.startswith("bar."):
                continue
            if saving(live, image.registers) & ~op.imm:
                missing = [f"{reg.kind}{reg.index}" for reg in sorted(live) if saving([reg], image.registers) & ~op.imm]
                raise InvalidCode(f"{image.name}, pc {lifted.start[block.label] + index}: {op.name} does not save "
                                  f"{', '.join(missing)}")
    if image.traps:
        from .routine_check import check_routines  # most images have none

        check_routines(image, lifted, bodies)
    depth = stack_depth(kernel, whole.flow, lifted.meet)
    if depth > image.stack_depth:
        raise InvalidCode(f"{image.name}: the SIMT stack may need {depth} entries, the image says {image.stack_depth}")
    return kernel
