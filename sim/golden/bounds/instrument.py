"""Operations that check their accesses and move tags, made of decoded ones."""

from __future__ import annotations

import numpy as np

from caesura.hw.arch.isa.opcodes import AluOp, ExchangeOp, Space, Unit
from caesura.hw.arch.isa.words import Instruction
from caesura.hw.core.units.exchange import ExchangeUnit

from ..semantics.load_store import address_of, local_address
from ..semantics.operands import Run, operand, predicate
from ..semantics.operation import Kind, Operation
from ..state.kernel import Kernel
from ..state.lanes import lanes_of
from ..state.sm import Sm
from ..state.tags import TAG
from .atomic import CheckedAtomic
from .checker import BoundsChecker
from .operand_tags import address_tags, operand_tags, sources
from .rules import result_tags

__all__ = ["instrument"]


def instrument(checker: BoundsChecker, operation: Operation, sm: Sm, kernel: Kernel) -> None:
    """Make a decoded operation of a kernel check its accesses and move tags."""
    instruction = operation.instruction
    if instruction is None or operation.kind not in (Kind.RUN, Kind.CALL, Kind.ATOMIC):
        return
    if operation.atomic is not None:
        operation.atomic = CheckedAtomic(checker, instruction, sm, kernel)
        return
    op = instruction.op
    if op.space is Space.PARAMETER:
        operation.run = _parameter(checker, instruction, kernel.index, operation.run)
    elif op.space is not None and "ud" not in op.operands:
        make = _store if op.store else _load
        operation.run = make(checker, instruction, sm, operation.run)
    elif op.unit is Unit.UNIFORM or "ud" in op.operands:
        operation.run = _uniform(instruction, operation.run)
    elif op.alu is AluOp.SEL:
        operation.run = _select(instruction, sm, operation.run)
    elif op.unit is Unit.EXCHANGE and op.function is not ExchangeOp.MATCH:
        operation.run = _shuffle(instruction, sm, operation.run)
    elif op.data_registers:
        operation.run = _value(instruction, sm, operation.run)


# Registers


def _value(instruction: Instruction, sm: Sm, run: Run) -> Run:
    """A result in vector registers, of values alone."""
    op, size = instruction.op, sm.g.warp_size
    d, end = instruction.get("d"), instruction.get("d") + op.data_registers
    vector, uniform = sources(instruction, "abc")
    read = [operand(instruction, name, size) for name in "abc"]
    written = (1 << end) - (1 << d)

    def checked(warp, mask):
        tags = warp.bounds_tags()
        if not (tags.tagged & vector or tags.uniform_tagged & uniform):
            run(warp, mask)
            if tags.tagged & written:
                for register in range(d, end):
                    tags.clear(register, mask)
            return
        values = [value(warp).copy() for value in read]
        own = [operand_tags(instruction, tags, name, size).copy() for name in "abc"]
        run(warp, mask)
        for register in range(d, end):
            found = result_tags(op.alu, tuple(zip(values, own, strict=True)), warp.registers[register])
            tags.set(register, mask, found)
    return checked


def _select(instruction: Instruction, sm: Sm, run: Run) -> Run:
    """Each lane has the tag of the operand that it takes."""
    size, d = sm.g.warp_size, instruction.get("d")
    vector, uniform = sources(instruction, "ab")
    number, invert = instruction.get("pa"), instruction.get("pa_not") * ((1 << size) - 1)

    def checked(warp, mask):
        tags = warp.bounds_tags()
        run(warp, mask)
        if tags.tagged & vector or tags.uniform_tagged & uniform:
            choose = lanes_of(predicate(warp, number, invert), size)
            tags.set(d, mask, np.where(choose, operand_tags(instruction, tags, "a", size),
                                       operand_tags(instruction, tags, "b", size)))
        else:
            tags.clear(d, mask)
    return checked


def _shuffle(instruction: Instruction, sm: Sm, run: Run) -> Run:
    """Tags go the way of the values."""
    size, get = sm.g.warp_size, instruction.get
    function, a, d = ExchangeOp(instruction.op.function or 0), get("a"), get("d")
    b, c = operand(instruction, "b", size), operand(instruction, "c", size)

    def checked(warp, mask):
        tags = warp.bounds_tags()
        if not tags.tagged >> a & 1:
            run(warp, mask)
            tags.clear(d, mask)
            return
        own = tags.vector(a).astype(np.int32).view(np.uint32)
        moved, _ = ExchangeUnit.compute(function, own, b(warp), c(warp), lanes_of(mask, size))
        run(warp, mask)
        tags.set(d, mask, moved.astype(np.uint32).view(np.int32).astype(TAG))
    return checked


def _parameter(checker: BoundsChecker, instruction: Instruction, slot: int, run: Run) -> Run:
    """Where tags start."""
    d, offset, uniform = instruction.get("d"), instruction.get("imm"), "ud" in instruction.op.operands

    def checked(warp, mask):
        run(warp, mask)
        tags, tag = warp.bounds_tags(), checker.parameter(slot, offset)
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
        tags = warp.bounds_tags()
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


def _load(checker: BoundsChecker, instruction: Instruction, sm: Sm, run: Run) -> Run:
    op, size = instruction.op, sm.g.warp_size
    assert op.size is not None
    access, space = op.size, op.space or Space.GLOBAL
    d, whole = instruction.get("d"), access.bytes >= 4
    address_in, tags_in = address_of(instruction, size), address_tags(instruction)

    def checked(warp, mask):
        tags = warp.bounds_tags()
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
            address = local_address(sm, warp, address, slice(None))
        lanes = lanes_of(mask, size)
        words = np.where(lanes, address >> np.uint32(2), np.uint32(0))
        for k in range(op.data_registers):
            tags.set(d + k, mask, shadow.load(np.where(lanes, words + np.uint32(k), np.uint32(0))))
    return checked


def _store(checker: BoundsChecker, instruction: Instruction, sm: Sm, run: Run) -> Run:
    op, size = instruction.op, sm.g.warp_size
    assert op.size is not None
    access, space = op.size, op.space or Space.GLOBAL
    d = instruction.get("d")
    address_in, tags_in = address_of(instruction, size), address_tags(instruction)
    data = ((1 << op.data_registers) - 1) << d

    def checked(warp, mask):
        tags = warp.bounds_tags()
        address = address_in(warp)
        if space is Space.GLOBAL:
            checker.check(warp, mask, address, tags_in(tags), access.bytes, "store")
        run(warp, mask)
        shadow = checker.shadow(warp, space)
        if not (shadow.used or tags.tagged & data):
            return
        if space is Space.LOCAL:
            address = local_address(sm, warp, address, slice(None))
        lanes = lanes_of(mask, size)
        words = (address >> np.uint32(2))[lanes]
        if access.bytes < 4:
            shadow.store_parts(words, tags.vector(d)[lanes])
            return
        for k in range(op.data_registers):
            shadow.store(words + np.uint32(k), tags.vector(d + k)[lanes])
    return checked
