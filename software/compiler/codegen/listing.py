"""Native code, with the live registers beside each instruction."""

from __future__ import annotations

from dataclasses import dataclass

from caesura.hw.arch.isa.words import decode

from ..image.kernel_image import KernelImage
from ..image.lift import lift
from ..preemption.extended_liveness import body_liveness
from ..preemption.intervals import InvalidCode
from ..preemption.routine_check import routine_words
from .disassemble import code_labels, instruction_text
from .syntax import show_registers

__all__ = ["Row", "rows", "listing"]


@dataclass(frozen=True)
class Row:
    """One instruction of a listing.

    Attributes
    ----------
    pc : int
        Address in instruction words.
    word : int
    text : str
        Assembly of the instruction.
    live : tuple of int
        Vector registers live before it.
    waiting : tuple of int
        Further registers that lanes waiting elsewhere may need if the warp has diverged.
    predicates : tuple of int
        Predicates live before it.
    line : int
        Source line, 0 if unknown.
    label : str
        Label of the address, empty if none.
    """

    pc: int
    word: int
    text: str
    live: tuple[int, ...]
    waiting: tuple[int, ...]
    predicates: tuple[int, ...]
    line: int
    label: str


def rows(image: KernelImage) -> list[Row]:
    """Return the listing of a kernel as data; the liveness is computed from the code.

    Raises
    ------
    ImageError
        If the code is not well formed.
    """
    lifted = lift(image)
    labels = code_labels(image)
    result: list[Row] = []
    for body in body_liveness(lifted):
        for block in body.kernel.blocks:
            first = lifted.start[block.label]
            addresses = range(first, first + lifted.words[block.label])
            for pc, live in zip(addresses, body.live.gaps(block), strict=False):
                mine = {reg.index for reg in live if reg.kind == "R"}
                others = {reg.index for reg in body.waiting[block.label] if reg.kind == "R"} - mine
                word = image.code[pc]
                text = instruction_text(decode(word), labels, image.registers)
                result.append(Row(pc, word, text, tuple(sorted(mine)), tuple(sorted(others)),
                                  tuple(sorted(r.index for r in live if r.kind == "P")),
                                  image.lines[pc] if image.lines else 0, labels.get(pc, "")))
    return sorted(result, key=lambda row: row.pc)


def listing(image: KernelImage) -> str:
    """Return a kernel's native code; beside each instruction stand its source line and the live registers.

    Where the origin of the source line is known, it stands on a line of its own in front of the instructions. Registers
    after ``+`` are those that only waiting lanes of a diverged warp may need. Preemption routines follow at the end,
    each with the instruction before which it stops a warp.
    """
    spilled = f" ({image.spill_bytes} of them for spilled registers)" if image.spill_bytes else ""
    head = (f"kernel {image.name}: {len(image.code)} instructions, {image.registers} registers, "
            f"{image.predicates} predicates, {image.shared_bytes} bytes shared, "
            f"{image.local_bytes} bytes local a thread{spilled}, {len(image.constants)} bytes of constants, "
            f"stack depth {image.stack_depth}")
    table = rows(image)
    width = max(len(row.text) for row in table)
    lines = [head]
    origin = None
    for row in table:
        if (found := image.origin(row.pc)) != origin:
            origin = found
            lines.append(f"      # {origin or 'not known'}")
        if row.label:
            lines.append(f"{row.label}:")
        live = show_registers(row.live)
        if row.predicates:
            live += " " + show_registers(row.predicates, "P")
        if row.waiting:
            live += " + " + show_registers(row.waiting)
        source = f"{row.line:5d}" if row.line else "     "
        lines.append(f"{row.pc:5d} {source}  {row.text:<{width}}  ; {live}")
    return "\n".join(lines + _routines(image)) + "\n"


def _routines(image: KernelImage) -> list[str]:
    """Return a line for the preemption routine of each instruction that has one."""
    lines = [f"preemption routines, {len(image.traps)} words:"] if image.traps else []
    for pc in range(len(image.code) if image.traps else 0):
        try:
            found = [instruction_text(instruction, registers=image.registers)
                     for _, instruction in routine_words(image, pc) if instruction.op.name != "nop"]
        except InvalidCode as error:
            found = [str(error)]
        if found:
            lines.append(f"{pc:5d}        {'; '.join(found)}")
    return lines
