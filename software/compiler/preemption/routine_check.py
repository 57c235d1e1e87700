"""The verifier of preemption routines (`flashback.traps`), from the instruction words alone.

A routine is straight: a vector, jumps, at most a ``pp`` and a ``pp.div`` behind it, and ``rejoin`` or the jump to its
instruction. It only computes, and stores to the local memory of routines. It restores the values that its instruction
needs (`stopped_blocks`).
"""

from __future__ import annotations

from collections.abc import Iterator

from caesura.hw.arch.geometry import WORD_BYTES
from caesura.hw.arch.isa.opcodes import VECTOR_WORDS
from caesura.hw.arch.isa.words import Instruction, decode

from ..image.kernel_image import KernelImage
from ..image.lift import Lifted, operation
from ..ir.kernel import Imm, Op
from ..ir.spec import BY_NAME, is_memory, is_pure, writes_memory
from .extended_liveness import BodyLiveness
from .intervals import InvalidCode
from .stopped_blocks import POINTS, Lost, stopped_blocks

__all__ = ["check_routines", "routine_words"]


def check_routines(image: KernelImage, lifted: Lifted, bodies: list[BodyLiveness]) -> None:
    """Check the preemption routine of each instruction.

    Parameters
    ----------
    image : KernelImage
        Image with `traps`.
    lifted : Lifted
        Code of the image.
    bodies : list of BodyLiveness

    Raises
    ------
    InvalidCode
        The message has the instruction whose routine is wrong.
    """
    for block in stopped_blocks(image, lifted, bodies):
        for pc in range(block.start, block.start + block.words):
            if block.is_trapped(pc):
                try:
                    block.stop(pc, _judged(image, pc))
                except Lost as lost:
                    raise _wrong(image, pc, str(lost)) from None
            block.execute(pc)


def routine_words(image: KernelImage, pc: int) -> Iterator[tuple[int, Instruction]]:
    """Yield the words of a routine without its jumps, and their addresses.

    Raises
    ------
    InvalidCode
        If it does not end at its instruction.
    """
    base, traps = image.trap_base, image.traps
    at = base + VECTOR_WORDS * pc
    for _ in range(len(traps)):
        if not 0 <= at - base < len(traps):
            raise _wrong(image, pc, f"leaves the routines at word {at}")
        try:
            instruction = decode(traps[at - base])
        except ValueError as error:
            raise _wrong(image, pc, f"has no instruction at word {at}: {error}") from None
        if instruction.op.name == "rejoin":
            return
        if instruction.op.name != "bra" or instruction.guard is not None:
            yield at, instruction
            at += 1
        elif instruction.get("target") == pc:
            return
        else:
            at = instruction.get("target")
    raise _wrong(image, pc, "never ends")


def _judged(image: KernelImage, pc: int) -> list[Op]:
    """Return the instructions of a routine, and refuse illegal ones."""
    words = [(at, operation(instruction)) for at, instruction in routine_words(image, pc)]
    points = [op.name for _, op in words if op.name in POINTS]
    if points not in ([], ["pp"], ["pp.div"], ["pp", "pp.div"]):
        raise _wrong(image, pc, f"stops at more than one point ({', '.join(points)})")
    for at, op in words:
        if BY_NAME[op.name].all_lanes:
            _check_place(image, pc, at, op)
        elif op.name not in (*POINTS, "nop") and not _computes(op):
            raise _wrong(image, pc, f"may only compute, without {op.name} (word {at})")
        used = max((reg.index for reg in (*op.written(), *op.read()) if reg.kind == "R"), default=-1)
        if used >= image.registers:
            raise _wrong(image, pc, f"uses register R{used} at word {at}, the image allocates {image.registers}")
    return [op for _, op in words]


def _check_place(image: KernelImage, pc: int, at: int, op: Op) -> None:
    """Check that an access by all lanes goes to the local memory of the routines."""
    place = op.uses[0]
    offset = place.value if isinstance(place, Imm) else -1
    if not image.local_bytes <= offset < image.all_local_bytes or offset % WORD_BYTES:
        raise _wrong(image, pc, f"accesses at word {at} what is not a word of the {image.routine_bytes} bytes of "
                     f"local memory from {image.local_bytes} on that routines have")


def _computes(op: Op) -> bool:
    return not writes_memory(op) and not BY_NAME[op.name].yields if is_memory(op) else is_pure(op)


def _wrong(image: KernelImage, pc: int, what: str) -> InvalidCode:
    return InvalidCode(f"{image.name}, pc {pc}: its preemption routine {what}")
