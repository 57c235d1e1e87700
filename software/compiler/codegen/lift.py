"""From machine code back to the IR of stage ``machine``, so that every analysis runs on images as well."""

from __future__ import annotations

from dataclasses import dataclass

from caesura.hw.arch.encoding import Instruction, decode
from caesura.hw.arch.geometry import PC_NONE
from caesura.hw.arch.isa import PT

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

    Notes
    -----
    A ``call`` stands among the operations of its block, the address of its routine in `Op.imm`; the routine starts a
    block. A ``bru`` is the last operation of a block that goes nowhere.
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
        elif instruction.op.name == "bru":
            block.ops.append(_operation(instruction, line))
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
        ends = instruction.op.name in ("bra", "bru") or instruction.op.name == "exit" and instruction.guard is None
        for kind in ("target", "reconv"):
            point = instruction.get(kind)
            if kind not in instruction.op.operands or kind == "reconv" and point == PC_NONE:
                continue
            if point >= count:
                raise ImageError(f"kernel {name}, pc {pc}: branch to {point}, beyond the code of {count} words")
            found.add(point)
        if ends and pc + 1 < count:
            found.add(pc + 1)
    last = instructions[-1]
    if last.op.name not in ("exit", "bra", "bru") or last.guard is not None:
        raise ImageError(f"kernel {name}: the code runs over its end")
    return sorted(found)


def _guard(instruction: Instruction) -> Pred | None:
    guard = instruction.guard
    return None if guard is None else _pred(*guard)


def _pred(number: int, negated: bool) -> Pred:
    return Pred(None if number == PT else Reg("P", number), negated)


def _operation(instruction: Instruction, line: int) -> Op:
    op = instruction.op
    defs: list[Reg | None] = []
    uses: list[Reg | Imm | Pred] = []
    imm = 0
    for operand in op.operands:
        if operand == "d":
            defs += [Reg("R", r) for r in instruction.writes]
        elif operand == "ud":
            defs.append(Reg("U", instruction.get("d")))
        elif operand == "pd":
            defs.append(None if instruction.get("pd") == PT else Reg("P", instruction.get("pd")))
        elif operand in ("ua", "ub", "uc") or operand == "b" and instruction.get("b_uniform"):
            uses.append(Reg("U", instruction.get(operand[-1])))
        elif operand in ("a", "b", "c"):
            words = 2 if operand in op.pairs else 1
            uses += [Reg("R", instruction.get(operand) + k) for k in range(words)]
        elif operand in ("pa", "pb"):
            uses.append(_pred(instruction.get(operand), bool(instruction.get(f"{operand}_not"))))
        elif operand == "imm":
            uses.append(Imm(instruction.get("imm")))
        elif operand == "mem":
            absolute = instruction.get("no_base")
            kind = "U" if instruction.get("base_uniform") or "ud" in op.operands else "R"
            uses.append(Imm(instruction.get("imm") & 0xFFFF_FFFF) if absolute else Reg(kind, instruction.get("a")))
            imm = 0 if absolute else instruction.get("imm")
        elif operand == "data":
            uses += [Reg("R", instruction.get("d") + k) for k in range(op.data_registers)]
        elif operand in ("live", "target"):
            imm = instruction.get(operand)
        else:
            imm = instruction.get("imm")
    guard = _guard(instruction)
    return Op(op.name.removesuffix(".i"), tuple(defs), tuple(uses), guard, imm, line)
