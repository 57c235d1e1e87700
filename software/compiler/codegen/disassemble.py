"""Machine code to assembly text (the language of `assemble`)."""

from __future__ import annotations

from collections.abc import Mapping

from caesura.hw.arch.geometry import MAX_REGISTERS, PC_NONE
from caesura.hw.arch.isa.opcodes import VECTOR_WORDS
from caesura.hw.arch.isa.words import Instruction, decode, encode

from ..image.kernel_image import KernelImage
from ..image.origin_table import origin_rows
from .directives import show_directives, show_point
from .syntax import show_guard, show_operand, shown_fields

__all__ = ["disassemble", "disassemble_word", "instruction_text", "code_labels"]


def instruction_text(instruction: Instruction, labels: Mapping[int, str] | None = None,
                     registers: int = MAX_REGISTERS) -> str:
    """Return one instruction; branch targets by label where `labels` has one.

    `registers` is the number of vector registers of the kernel. Without it, every bit of a liveness vector may be a
    vector register's.
    """
    text = "" if instruction.guard is None else show_guard(*instruction.guard) + " "
    operands = [show_operand(kind, instruction, labels or {}, registers) for kind in instruction.op.operands]
    return (text + instruction.op.name + " " + ", ".join(operands)).rstrip()


def code_labels(image: KernelImage) -> dict[int, str]:
    """Return a label for each address that a branch of the kernel names."""
    found = set()
    for word in image.code:
        instruction = _canonical(word)
        if instruction is not None:
            found.update(instruction.get(kind) for kind in ("target", "reconv") if kind in instruction.op.operands)
    return {pc: f"L{pc}" for pc in sorted(found) if pc != PC_NONE and pc < len(image.code)}


def _canonical(word: int) -> Instruction | None:
    """Return the instruction of a word; None if its text could not give the word back."""
    try:
        instruction = decode(word)
        # Bits outside the fields that the text shows must be as the assembler leaves them.
        shown = shown_fields(instruction.op)
        fields = {name: value for name, value in instruction.fields.items() if name in shown}
        if instruction.get("no_base"):
            fields["a"] = 0
            fields.pop("base_uniform", None)
        return instruction if encode(Instruction(instruction.op, fields)) == word else None
    except ValueError:
        return None


def disassemble_word(word: int, registers: int = MAX_REGISTERS, labels: Mapping[int, str] | None = None) -> str:
    """Return one instruction word as assembly text; ``.word ...`` if it is no instruction.

    `registers` and `labels` are the arguments of `instruction_text`.
    """
    instruction = _canonical(word)
    return f".word {word:#018x}" if instruction is None else instruction_text(instruction, labels, registers)


def disassemble(image: KernelImage) -> str:
    """Return a kernel as assembly text; ``assemble`` makes the same image of it.

    Words that are no instruction, or that have unused bits set, appear as ``.word``.
    """
    origins, origin_numbers = origin_rows(image)
    lines = [f".kernel {image.name}", *show_directives(image, origins)]
    points = {point.pc: point for point in image.points}
    labels = code_labels(image)
    source_line = origin = 0
    for pc, word in enumerate(image.code):
        if image.lines and image.lines[pc] != source_line:
            source_line = image.lines[pc]
            lines.append(f".line {source_line}")
        if origins and origin_numbers[pc] != origin:
            origin = origin_numbers[pc]
            lines.append(f".loc {origin}")
        if pc in labels:
            lines.append(f"{labels[pc]}:")
        if pc in points:
            lines.append(show_point(points[pc]))
        lines.append(f"    {disassemble_word(word, image.registers, labels)}")
    return "\n".join(lines + _routines(image)) + "\n"


def _routines(image: KernelImage) -> list[str]:
    """Return the preemption routines as lines, branch targets as numbers."""
    lines = [".routines"] if image.traps else []
    for number, word in enumerate(image.traps):
        pc, place = divmod(number, VECTOR_WORDS)
        if not place and pc <= len(image.code):
            lines.append(f"// {'vector of ' + str(pc) if pc < len(image.code) else 'the rest of them'}")
        lines.append(f"    {disassemble_word(word, image.registers)}")
    return lines
