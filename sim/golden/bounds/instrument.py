"""Operations that check their accesses and move tags, made of decoded ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from caesura.hw.arch.encoding import Instruction, decode
from caesura.hw.arch.isa import AluOp, ExchangeOp, Format, Space, Unit
from caesura.hw.core.exchange import ExchangeUnit

from ..access import address_of, local_address
from ..alu import lanes_of
from ..execute import Kind, Operation
from ..vector import operand_b, predicate
from ..warp import Warp
from .atomic import CheckedAtomic
from .rules import TAG, result_tags
from .tags import WarpTags

if TYPE_CHECKING:
    from ..machine import Machine
    from .checker import BoundsChecker

__all__ = ["instrument"]

Run = Callable[[Warp, int], None]


def instrument(checker: BoundsChecker, operation: Operation, word: int, machine: Machine, slot: int) -> None:
    """Make a decoded operation of the kernel in a slot check its accesses and move tags."""
    if operation.atomic is not None:
        operation.atomic = CheckedAtomic(checker, decode(word), machine, machine.kernels[slot])
        return
    if operation.kind not in (Kind.RUN, Kind.CALL):
        return
    instruction = decode(word)
    op = instruction.op
    if op.space is not None and "ud" not in op.operands:
        make = _store if op.store else _load
        operation.run = make(checker, instruction, machine, operation.run)
    elif op.alu is AluOp.LDP:
        operation.run = _parameter(checker, instruction, slot, operation.run)
    elif op.unit is Unit.UNIFORM or "ud" in op.operands:
        operation.run = _uniform(instruction, operation.run)
    elif op.alu is AluOp.SEL:
        operation.run = _select(instruction, machine, operation.run)
    elif op.unit is Unit.EXCHANGE and op.function is not ExchangeOp.MATCH:
        operation.run = _shuffle(instruction, machine, operation.run)
    elif op.data_registers:
        operation.run = _value(instruction, machine, operation.run)


# Registers


def _sources(instruction: Instruction, names: str) -> tuple[int, int]:
    """Return the vector registers and the uniform ones that operands are, as bits."""
    vector = uniform = 0
    for name in names:
        if name not in instruction.op.operands or name == "b" and instruction.op.format is Format.I:
            continue
        first = instruction.get(name)
        if name == "b" and instruction.get("b_uniform"):
            uniform |= 1 << first
        else:
            vector |= (3 if name in instruction.op.pairs else 1) << first
    return vector, uniform


def _operand_tags(instruction: Instruction, tags: WarpTags, name: str, size: int) -> np.ndarray:
    """Return the tags of an operand of all lanes; zeros if the instruction does not read it, or it is immediate."""
    if name not in instruction.op.operands or name == "b" and instruction.op.format is Format.I:
        return np.zeros(size, TAG)
    if name == "b" and instruction.get("b_uniform"):
        return np.full(size, tags.uniform(instruction.get("b")), TAG)
    return tags.vector(instruction.get(name))


def _value(instruction: Instruction, machine: Machine, run: Run) -> Run:
    """A result in vector registers, of values alone."""
    op, size = instruction.op, machine.g.warp_size
    d, end = instruction.get("d"), instruction.get("d") + op.data_registers
    vector, uniform = _sources(instruction, "abc")
    a, c = instruction.get("a"), instruction.get("c")
    b = operand_b(instruction, size)
    written = (1 << end) - (1 << d)

    def checked(warp, mask):
        tags = WarpTags.of(warp)
        if not (tags.tagged & vector or tags.uniform_tagged & uniform):
            run(warp, mask)
            if tags.tagged & written:
                for register in range(d, end):
                    tags.clear(register, mask)
            return
        r = warp.registers
        values = r[a].copy(), b(warp).copy(), r[c].copy()
        own = [_operand_tags(instruction, tags, name, size).copy() for name in "abc"]
        run(warp, mask)
        for register in range(d, end):
            found = result_tags(op.alu, tuple(zip(values, own, strict=True)), r[register])
            tags.set(register, mask, found)
    return checked


def _select(instruction: Instruction, machine: Machine, run: Run) -> Run:
    """Each lane has the tag of the operand that it takes."""
    size, d = machine.g.warp_size, instruction.get("d")
    vector, uniform = _sources(instruction, "ab")
    number, invert = instruction.get("pa"), instruction.get("pa_not") * ((1 << size) - 1)

    def checked(warp, mask):
        tags = WarpTags.of(warp)
        run(warp, mask)
        if tags.tagged & vector or tags.uniform_tagged & uniform:
            choose = lanes_of(predicate(warp, number, invert), size)
            tags.set(d, mask, np.where(choose, _operand_tags(instruction, tags, "a", size),
                                       _operand_tags(instruction, tags, "b", size)))
        else:
            tags.clear(d, mask)
    return checked


def _shuffle(instruction: Instruction, machine: Machine, run: Run) -> Run:
    """Tags go the way of the values."""
    size, get = machine.g.warp_size, instruction.get
    function, a, c, d = ExchangeOp(instruction.op.function or 0), get("a"), get("c"), get("d")
    b = operand_b(instruction, size)

    def checked(warp, mask):
        tags = WarpTags.of(warp)
        if not tags.tagged >> a & 1:
            run(warp, mask)
            tags.clear(d, mask)
            return
        own = tags.vector(a).astype(np.int32).view(np.uint32)
        moved, _ = ExchangeUnit.compute(function, own, b(warp), warp.registers[c], lanes_of(mask, size))
        run(warp, mask)
        tags.set(d, mask, moved.astype(np.uint32).view(np.int32).astype(TAG))
    return checked


def _parameter(checker: BoundsChecker, instruction: Instruction, slot: int, run: Run) -> Run:
    """Where tags start."""
    d, offset, uniform = instruction.get("d"), instruction.get("imm"), "ud" in instruction.op.operands

    def checked(warp, mask):
        run(warp, mask)
        tags, tag = WarpTags.of(warp), checker.parameter(slot, offset)
        if uniform:
            tags.set_uniform(d, tag)
        elif tag:
            tags.set(d, mask, tag)
        else:
            tags.clear(d, mask)
    return checked


def _uniform(instruction: Instruction, run: Run) -> Run:
    """A result in a uniform register, or a comparison."""
    op, get = instruction.op, instruction.get
    if "ud" not in op.operands:
        return run
    read = [(name, get(name)) for name in "abc" if "u" + name in op.operands]
    d, alu = get("d"), op.alu
    immediate = np.array([get("imm") & 0xFFFF_FFFF], np.uint32)
    sources = sum(1 << register for _, register in read)

    def checked(warp, mask):
        tags = WarpTags.of(warp)
        if not tags.uniform_tagged & sources:
            run(warp, mask)
            tags.set_uniform(d, 0)
            return
        operands = {name: (warp.uniforms[register:register + 1].copy(), np.array([tags.uniform(register)], TAG))
                    for name, register in read}
        plain = immediate, np.zeros(1, TAG)
        run(warp, mask)
        found = result_tags(alu, tuple(operands.get(name, plain) for name in "abc"), warp.uniforms[d:d + 1])
        tags.set_uniform(d, int(found[0]))
    return checked


# Memory


def _address_tags(instruction: Instruction) -> Callable[[WarpTags], np.ndarray | int]:
    """Return what gives the tags of the addresses of a memory instruction."""
    base = instruction.get("a")
    if instruction.get("no_base"):
        return lambda tags: 0
    if instruction.get("base_uniform"):
        return lambda tags: tags.uniform(base)
    return lambda tags: tags.vector(base) if tags.tagged >> base & 1 else 0


def _load(checker: BoundsChecker, instruction: Instruction, machine: Machine, run: Run) -> Run:
    op, size = instruction.op, machine.g.warp_size
    assert op.size is not None
    access, space = op.size, op.space or Space.GLOBAL
    d, whole = instruction.get("d"), access.bytes >= 4
    address_in, tags_in = address_of(instruction, size), _address_tags(instruction)

    def checked(warp, mask):
        tags = WarpTags.of(warp)
        address = address_in(warp).copy()
        if space is Space.GLOBAL:
            checker.check(warp, mask, address, tags_in(tags), access.bytes, "load")
        run(warp, mask)
        shadow = None if space is Space.CONSTANT else checker.shadow(warp, space)
        if not (whole and shadow and shadow.used):
            for k in range(op.data_registers):
                tags.clear(d + k, mask)
            return
        if space is Space.LOCAL:
            address = local_address(machine, warp, address, slice(None))
        lanes = lanes_of(mask, size)
        words = np.where(lanes, address >> np.uint32(2), np.uint32(0))
        for k in range(op.data_registers):
            tags.set(d + k, mask, shadow.load(np.where(lanes, words + np.uint32(k), np.uint32(0))))
    return checked


def _store(checker: BoundsChecker, instruction: Instruction, machine: Machine, run: Run) -> Run:
    op, size = instruction.op, machine.g.warp_size
    assert op.size is not None
    access, space = op.size, op.space or Space.GLOBAL
    d = instruction.get("d")
    address_in, tags_in = address_of(instruction, size), _address_tags(instruction)
    data = ((1 << op.data_registers) - 1) << d

    def checked(warp, mask):
        tags = WarpTags.of(warp)
        address = address_in(warp)
        if space is Space.GLOBAL:
            checker.check(warp, mask, address, tags_in(tags), access.bytes, "store")
        run(warp, mask)
        shadow = checker.shadow(warp, space)
        if not (shadow.used or tags.tagged & data):
            return
        if space is Space.LOCAL:
            address = local_address(machine, warp, address, slice(None))
        lanes = lanes_of(mask, size)
        words = (address >> np.uint32(2))[lanes]
        if access.bytes < 4:
            shadow.store_parts(words, tags.vector(d)[lanes])
            return
        for k in range(op.data_registers):
            shadow.store(words + np.uint32(k), tags.vector(d + k)[lanes])
    return checked
