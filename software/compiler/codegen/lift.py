"""From machine code back to the IR of stage ``machine``, so that every analysis runs on images as well."""

from __future__ import annotations

from dataclasses import dataclass

from caesura.hw.arch.encoding import Instruction, decode
from caesura.hw.arch.geometry import PC_NONE
from caesura.hw.arch.isa import PT, Format

from ..errors import ImageError
from ..ir.kernel import Block, Imm, Kernel, Op, Pred, Reg, Terminator
from .image import KernelImage

__all__ = ["Lifted", "lift"]


@dataclass(frozen=True)
class Lifted:
    """A kernel image as IR.

    Attributes
    ----------
    kernel : Kernel
        Blocks in the order of the code; an operation is one instruction word.
    start : dict of str to int
        Address of each block.
    meet : dict of str to str or None
        Reconvergence point of each branch, as encoded.
    """

    kernel: Kernel
    start: dict[str, int]
    meet: dict[str, str | None]


def lift(image: KernelImage) -> Lifted:
    """Decode `image` into blocks.

    Raises
    ------
    ImageError
        If a word is no instruction, a branch leaves the code, or the code runs over its end.
    """
    instructions = []
    for pc, word in enumerate(image.code):
        try:
            instructions.append(decode(word))
        except ValueError as error:
            raise ImageError(f"kernel {image.name}, pc {pc}: {error}") from None
    leaders = _leaders(image.name, instructions)
    labels = {pc: f"L{pc}" for pc in leaders}
    kernel = Kernel(image.name, parameters=image.parameters, shared_bytes=image.shared_bytes,
                    local_bytes=image.local_bytes, constants=image.constants, symbols=image.symbols,
                    max_threads=image.max_threads, required_block=image.required_block, source=image.source)
    meet: dict[str, str | None] = {}
    for pc, instruction in enumerate(instructions):
        if pc in labels:
            kernel.blocks.append(Block(labels[pc]))
        block = kernel.blocks[-1]
        line = image.lines[pc] if pc < len(image.lines) else 0
        following = labels.get(pc + 1)
        if instruction.op.name == "bra":
            target = labels[instruction.get("target")]
            if instruction.guard is None:
                block.end = Terminator((target,), None, line)
            else:
                assert following is not None  # `_leaders` starts a block after every branch
                block.end = Terminator((target, following), _guard(instruction), line)
                meet[block.label] = labels.get(instruction.get("reconv"))
        elif instruction.op.name == "exit" and instruction.guard is None:
            block.end = Terminator(line=line)
        else:
            block.ops.append(_operation(instruction, line))
            if following is not None:
                block.end = Terminator((following,), None, line)
    return Lifted(kernel, {label: pc for pc, label in labels.items()}, meet)


def _leaders(name: str, instructions: list[Instruction]) -> list[int]:
    count = len(instructions)
    if not count:
        raise ImageError(f"kernel {name} has no code")
    found = {0}
    for pc, instruction in enumerate(instructions):
        ends = instruction.op.name == "exit" and instruction.guard is None
        if instruction.op.name == "bra":
            ends = True
            points = [instruction.get("target")]
            if instruction.get("reconv") != PC_NONE:
                points.append(instruction.get("reconv"))
            for point in points:
                if point >= count:
                    raise ImageError(f"kernel {name}, pc {pc}: branch to {point}, beyond the code of {count} words")
            found.update(points)
        if ends and pc + 1 < count:
            found.add(pc + 1)
    last = instructions[-1]
    if last.op.name not in ("exit", "bra") or last.guard is not None:
        raise ImageError(f"kernel {name}: the code runs over its end")
    return sorted(found)


def _guard(instruction: Instruction) -> Pred | None:
    if instruction.op.format is Format.L:
        return None
    number, negated = instruction.fields["guard"], instruction.fields["guard_not"]
    return None if number == PT and not negated else _pred(number, bool(negated))


def _pred(number: int, negated: bool) -> Pred:
    return Pred(None if number == PT else Reg("P", number), negated)


def _operation(instruction: Instruction, line: int) -> Op:
    op, fields = instruction.op, instruction.fields
    defs: list[Reg | None] = []
    uses: list[Reg | Imm | Pred] = []
    imm = 0
    for operand in op.operands:
        if operand == "d":
            defs += _vectors(fields["d"], op.data_registers)
        elif operand == "ud":
            defs.append(Reg("U", fields["d"]))
        elif operand == "pd":
            defs.append(None if fields["pd"] == PT else Reg("P", fields["pd"]))
        elif operand in ("ua", "ub", "uc") or operand == "b" and fields.get("b_uniform"):
            uses.append(Reg("U", fields[operand[-1]]))
        elif operand in ("a", "b", "c"):
            uses += _vectors(fields[operand], 2 if operand in op.pairs else 1)
        elif operand in ("pa", "pb"):
            uses.append(_pred(fields[operand], bool(fields[f"{operand}_not"])))
        elif operand == "imm":
            uses.append(Imm(fields["imm"]))
        elif operand == "mem":
            absolute = fields["no_base"]
            kind = "U" if fields.get("base_uniform") or "ud" in op.operands else "R"
            uses.append(Imm(fields["imm"] & 0xFFFF_FFFF) if absolute else Reg(kind, fields["a"]))
            imm = 0 if absolute else fields["imm"]
        elif operand == "data":
            uses += _vectors(fields["d"], op.data_registers)
        elif operand == "live":
            imm = fields["live"]
        else:
            imm = fields["imm"]
    return Op(op.name.removesuffix(".i"), tuple(defs), tuple(uses), _guard(instruction), imm, line)


def _vectors(first: int, count: int) -> list[Reg]:
    return [Reg("R", first)] if count == 1 else [Reg("R", first + k) for k in range(count)]
