"""Instruction semantics of the golden model: each word is decoded once into an `Operation`."""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from caesura.hw.arch.encoding import Instruction, decode
from caesura.hw.arch.faults import Fault
from caesura.hw.arch.geometry import SEGMENT_BYTES
from caesura.hw.arch.isa import PT, AluOp, Format, Size, Space, Special

from .alu import TEST, VALUE, add_with_carry, lanes_of, mask_of, subtract_with_carry
from .warp import Warp, WarpFault

if TYPE_CHECKING:
    from .kernel import Kernel
    from .machine import Machine

__all__ = ["Kind", "Operation", "compile_word", "special", "load", "store"]

Run = Callable[[Warp, int], None]


class Kind(enum.IntEnum):
    """What the machine does with an operation."""

    RUN = 0
    BRANCH = 1
    EXIT = 2
    NOP = 3
    BARRIER = 4
    PP = 5
    PP_DIV = 6
    TRAP = 7
    FAULT = 8


def _nothing(warp: Warp, mask: int) -> None:
    """Have no effect."""


class Operation:
    """One decoded instruction.

    Attributes
    ----------
    kind : Kind
    guard, invert : int
        Guard predicate number, and all ones if it is negated.
    run : callable
        Of kind `RUN`: effect on (warp, mask); raises `WarpFault`.
    target, reconv, live, barrier : int
        Of control instructions.
    fault : Fault
        Of kind `FAULT`: raised at issue.
    recorded : bool
        Appears in the retire trace.
    """

    __slots__ = ("kind", "guard", "invert", "run", "target", "reconv", "live", "barrier", "fault", "recorded")

    def __init__(self, kind: Kind, fault: Fault = Fault.NONE):
        self.kind = kind
        self.guard = PT
        self.invert = 0
        self.run: Run = _nothing
        self.target = self.reconv = self.live = self.barrier = 0
        self.fault = fault
        self.recorded = True


def compile_word(word: int, machine: Machine, kernel: Kernel) -> Operation:
    """Decode one instruction word of `kernel`.

    Static faults (illegal opcode, misaligned group, register bound) become operations of kind `FAULT`.
    """
    try:
        instruction = decode(word)
    except ValueError:
        return Operation(Kind.FAULT, Fault.ILLEGAL_OPCODE)
    op = instruction.op
    if op.data_registers > 1 and instruction.get("d") % op.data_registers:
        return Operation(Kind.FAULT, Fault.ILLEGAL_OPCODE)
    if max((*instruction.reads, *instruction.writes), default=-1) >= kernel.registers:
        return Operation(Kind.FAULT, Fault.REGISTER_BOUND)
    operation = _control(instruction)
    if operation is None:
        operation = Operation(Kind.RUN)
        make = _memory if op.size is not None else _alu
        operation.run = make(instruction, machine, kernel)
    if op.format is not Format.L:
        operation.guard = instruction.get("guard")
        operation.invert = (1 << machine.g.warp_size) - 1 if instruction.get("guard_not") else 0
    return operation


_CONTROL = {"bra": Kind.BRANCH, "exit": Kind.EXIT, "nop": Kind.NOP, "membar": Kind.NOP,
            "pp": Kind.PP, "pp.div": Kind.PP_DIV, "trap": Kind.TRAP}


def _control(instruction: Instruction) -> Operation | None:
    op = instruction.op
    if op.barrier is not None:
        operation = Operation(Kind.BARRIER)
        operation.barrier = op.barrier
    elif op.name in _CONTROL:
        operation = Operation(_CONTROL[op.name])
    else:
        return None
    operation.target, operation.reconv = instruction.get("target"), instruction.get("reconv")
    operation.live = instruction.get("live")
    operation.recorded = op.name not in ("nop", "pp", "pp.div")
    return operation


def _predicate(warp: Warp, number: int, invert: int) -> int:
    full = (1 << warp.g.warp_size) - 1
    return (full if number == PT else warp.predicates[number]) ^ invert


def _alu(instruction: Instruction, machine: Machine, kernel: Kernel) -> Run:
    """Build the effect of an ALU instruction."""
    op, size = instruction.op, machine.g.warp_size
    get = instruction.get
    full = (1 << size) - 1
    a, b, c, d, pd = (get(x) for x in ("a", "b", "c", "d", "pd"))
    pa, pa_not, pb, pb_not = get("pa"), get("pa_not") * full, get("pb"), get("pb_not") * full
    imm = np.full(size, get("imm") & 0xFFFF_FFFF, np.uint32) if op.format is Format.I else None
    write, write_predicate = machine.write_register, machine.write_predicate
    alu = op.alu
    assert alu is not None
    if alu in VALUE:
        value = VALUE[alu]

        def run(warp, mask):
            r = warp.registers
            write(warp, mask, d, value(r[a], r[b] if imm is None else imm, r[c]))
    elif alu in TEST:
        test = TEST[alu]

        def run(warp, mask):
            r = warp.registers
            write_predicate(warp, mask, pd, mask_of(test(r[a], r[b] if imm is None else imm)))
    elif alu in (AluOp.IADDC, AluOp.ISUBC):
        chain = add_with_carry if alu is AluOp.IADDC else subtract_with_carry

        def run(warp, mask):
            r = warp.registers
            total, carry = chain(r[a], r[b], lanes_of(_predicate(warp, pa, pa_not), size))
            write(warp, mask, d, total)
            write_predicate(warp, mask, pd, mask_of(carry))
    elif alu is AluOp.SEL:
        def run(warp, mask):
            r = warp.registers
            choose = lanes_of(_predicate(warp, pa, pa_not), size)
            write(warp, mask, d, np.where(choose, r[a], r[b] if imm is None else imm))
    elif alu in (AluOp.PAND, AluOp.POR, AluOp.PXOR):
        combine = {AluOp.PAND: int.__and__, AluOp.POR: int.__or__, AluOp.PXOR: int.__xor__}[alu]

        def run(warp, mask):
            value = combine(_predicate(warp, pa, pa_not), _predicate(warp, pb, pb_not))
            write_predicate(warp, mask, pd, value)
    elif alu is AluOp.LDP:
        def run(warp, mask):
            offset = get("imm")
            if offset % 4 or offset // 4 >= machine.g.param_words:
                raise WarpFault(Fault.PARAM_BOUND)
            write(warp, mask, d, np.full(size, kernel.params[offset // 4], np.uint32))
    else:
        number = get("imm")

        def run(warp, mask):
            write(warp, mask, d, special(warp, number, machine))
    return run


def special(warp: Warp, number: int, machine: Machine) -> np.ndarray:
    """Return special register `number` of all lanes; unknown ones read 0."""
    kernel, size = warp.tb.kernel, machine.g.warp_size
    lane = np.arange(size, dtype=np.uint32)
    if number == Special.LANEID:
        return lane
    if Special.TID_X <= number <= Special.TID_Z:
        x, y, _ = kernel.block
        linear = lane + np.uint32(warp.index * size)
        return (linear % x, linear // x % y, linear // (x * y))[number - Special.TID_X].astype(np.uint32)
    values = {Special.WARPID: warp.index, Special.SMID: 0, Special.CLOCK: machine.cycle & 0xFFFF_FFFF}
    for first, triple in ((Special.NTID_X, kernel.block), (Special.CTAID_X, warp.tb.ctaid),
                          (Special.NCTAID_X, kernel.grid)):
        values |= {first + axis: value for axis, value in enumerate(triple)}
    return np.full(size, values.get(number, 0), np.uint32)


def _memory(instruction: Instruction, machine: Machine, kernel: Kernel) -> Run:
    """Build the effect of a load or store."""
    op, size = instruction.op, machine.g.warp_size
    assert op.size is not None
    base, d, no_base = instruction.get("a"), instruction.get("d"), instruction.get("no_base")
    imm = np.full(size, instruction.get("imm") & 0xFFFF_FFFF, np.uint32)
    full = (1 << size) - 1
    access, end = op.size, d + op.data_registers
    misaligned = np.uint32(access.bytes - 1)

    def run(warp, mask):
        address = imm if no_base else warp.registers[base] + imm
        lanes = slice(None) if mask == full else lanes_of(mask, size)
        address = address[lanes]
        odd = address & misaligned
        if odd.any():
            raise WarpFault(Fault.MISALIGNED, int(address[(odd != 0).argmax()]))
        if op.space is Space.SHARED:
            views = _shared(warp, address, access, op.store)
        else:
            views = machine.views
            fault = machine.check(kernel, address)
            if fault is not None:
                if op.store:
                    started = _started(address, fault.address)
                    store(views, address[started], warp.registers[d:end, lanes][:, started], access)
                raise fault
        if op.store:
            return store(views, address, warp.registers[d:end, lanes], access)
        for register, values in enumerate(load(views, address, access), d):
            if mask != full:
                whole = np.zeros(size, np.uint32)
                whole[lanes] = values
                values = whole
            machine.write_register(warp, mask, register, values)
    return run


def _shared(warp: Warp, address: np.ndarray, access: Size, writes: bool):
    """Check a shared access and return the views of shared memory it goes to."""
    tb = warp.tb
    beyond = address.astype(np.int64) + access.bytes > tb.kernel.shared_bytes
    if beyond.any():
        raise WarpFault(Fault.SHARED_BOUND, int(address[beyond.argmax()]))
    if writes:
        tb.mark_written(address)
    return tb.views


def _started(address: np.ndarray, faulting: int) -> np.ndarray:
    """Return which lanes lie in segments whose store was done before the segment of lane `faulting` was reached."""
    segment = address // SEGMENT_BYTES
    before = segment[:int((address == faulting).argmax())]
    return np.isin(segment, before)


def load(views, address: np.ndarray, access: Size):
    """Yield the registers a load of `access` reads at aligned addresses; `views` are of 8, 16 and 32 bits."""
    if access in (Size.U8, Size.S8):
        value = views[0][address]
        yield value.view(np.int8).astype(np.int32).view(np.uint32) if access is Size.S8 else value.astype(np.uint32)
    elif access in (Size.U16, Size.S16):
        value = views[1][address >> 1]
        yield value.view(np.int16).astype(np.int32).view(np.uint32) if access is Size.S16 \
            else value.astype(np.uint32)
    else:
        for k in range(access.registers):
            yield views[2][(address >> 2) + k]


def store(views, address: np.ndarray, data: np.ndarray, access: Size) -> None:
    """Store `data`, shape (registers, lanes), at aligned addresses; where lanes collide the highest wins."""
    unit = {1: 0, 2: 1}.get(access.bytes, 2)
    view, place = views[unit], address >> unit
    for k, values in enumerate(data):
        values = values.astype(view.dtype)
        view[place + k] = values
        if (view[place + k] != values).any():  # collisions: numpy promises no order
            for position, value in zip((place + k).tolist(), values, strict=True):
                view[position] = value
