"""Loads and stores: global, shared, local and constant memory, and loads of parameters."""

from __future__ import annotations

import numpy as np

from caesura.hw.arch.faults import Fault
from caesura.hw.arch.geometry import SEGMENT_BYTES, WORD_BYTES
from caesura.hw.arch.isa.opcodes import Size, Space
from caesura.hw.arch.isa.words import Instruction

from ..state.faults import WarpFault
from ..state.kernel import Kernel
from ..state.lanes import lanes_of
from ..state.sm import Sm
from ..state.thread_block import Warp
from .operands import Read, Run

__all__ = ["load_store", "constant_to_uniform", "address_of", "check_alignment", "shared_views", "local_address",
           "load", "store"]

_ADDRESS = (1 << 32) - 1


def address_of(instruction: Instruction, size: int) -> Read:
    """Return what computes the address of all lanes: a vector or uniform register plus the immediate, or that alone."""
    base = instruction.get("a")
    imm = np.full(size, instruction.get("imm") & _ADDRESS, np.uint32)
    if _is_absolute(instruction):
        return lambda warp: imm
    if instruction.get("base_uniform"):
        return lambda warp: imm + warp.uniforms[base]
    return lambda warp: warp.registers[base] + imm


def _is_absolute(instruction: Instruction) -> bool:
    """Whether the address is the immediate."""
    return bool(instruction.get("no_base")) or instruction.op.space is Space.PARAMETER


def check_alignment(address: np.ndarray, size: int) -> None:
    """Raise a `WarpFault` at the lowest lane whose address is not a multiple of `size` bytes."""
    odd = address & np.uint32(size - 1)
    if odd.any():
        raise WarpFault(Fault.MISALIGNED, int(address[(odd != 0).argmax()]))


def _check_bound(address: np.ndarray, size: int, bound: int, fault: Fault) -> None:
    """Raise a `WarpFault` at the lowest lane whose access ends beyond `bound`."""
    beyond = address.astype(np.int64) + size > bound
    if beyond.any():
        raise WarpFault(fault, int(address[beyond.argmax()]))


def _check_present(sm: Sm, address: np.ndarray) -> None:
    absent = address >= len(sm.memory)
    if absent.any():
        raise WarpFault(Fault.BUS_ERROR, int(address[absent.argmax()]))


def shared_views(warp: Warp, address: np.ndarray, access: Size, writes: bool):
    """Check a shared access and return the views of shared memory it goes to."""
    tb = warp.tb
    _check_bound(address, access.bytes, tb.kernel.shared_bytes, Fault.SHARED_BOUND)
    if writes:
        tb.mark_written(address)
    return tb.views


def load_store(instruction: Instruction, sm: Sm, kernel: Kernel) -> Run:
    """Build the effect of a load or store."""
    op, size = instruction.op, sm.g.warp_size
    assert op.size is not None
    d, full = instruction.get("d"), (1 << size) - 1
    access, end = op.size, d + op.data_registers
    address_in = address_of(instruction, size)
    place = _PLACES[op.space or Space.GLOBAL]

    def run(warp, mask):
        lanes = slice(None) if mask == full else lanes_of(mask, size)
        address = address_in(warp)[lanes]
        check_alignment(address, access.bytes)
        data = warp.registers[d:end, lanes] if op.store else None
        views, address = place(sm, warp, address, lanes, access, data)
        if data is not None:
            store(views, address, data, access)
            if views is sm.views:
                sm.wrote(address)
            return
        if op.yields:
            sm.watch(warp.tb, int(address[0]))
        for register, values in enumerate(load(views, address, access), d):
            if mask != full:
                whole = np.zeros(size, np.uint32)
                whole[lanes] = values
                values = whole
            sm.write_register(warp, mask, register, values)
    return run


def _global(sm, warp, address, lanes, access, data):
    """Check a global access; a store that faults has done the segments before."""
    fault = sm.access_fault(warp.tb.kernel, address)
    if fault is None:
        return sm.views, address
    if data is not None:
        started = _started(address, fault.address)
        store(sm.views, address[started], data[:, started], access)
        sm.wrote(address[started])
    raise fault


def _shared(sm, warp, address, lanes, access, data):
    return shared_views(warp, address, access, data is not None), address


def _local(sm, warp, address, lanes, access, data):
    """Translate offsets in the thread's local memory: words of the lanes of a warp interleave."""
    _check_bound(address, access.bytes, warp.tb.kernel.descriptor.local_bytes, Fault.LOCAL_BOUND)
    address = local_address(sm, warp, address, lanes)
    _check_present(sm, address)
    return sm.views, address


def local_address(sm: Sm, warp: Warp, offset: np.ndarray, lanes) -> np.ndarray:
    """Return where offsets in local memory lie: those of `lanes`, an index or mask of all lanes."""
    size, count = sm.g.warp_size, warp.tb.kernel.descriptor.local_bytes
    lane = np.arange(size, dtype=np.uint32)[lanes]
    base = np.uint32(warp.tb.local_base + warp.index * count * size & _ADDRESS)
    low = offset & np.uint32(WORD_BYTES - 1)
    return base + (offset - low) * np.uint32(size) + lane * np.uint32(WORD_BYTES) + low


def _constant(sm, warp, address, lanes, access, data):
    descriptor = warp.tb.kernel.descriptor
    return _bank(sm, address, access, descriptor.const_base, descriptor.const_bytes, Fault.CONSTANT_BOUND)


def _parameter(sm, warp, address, lanes, access, data):
    descriptor = warp.tb.kernel.descriptor
    return _bank(sm, address, access, descriptor.param_base, descriptor.param_bytes, Fault.PARAM_BOUND)


def _bank(sm, offset, access, base, size, fault):
    """Return the memory, and where offsets in what the constant unit reads lie in it."""
    _check_bound(offset, access.bytes, size, fault)
    address = offset + np.uint32(base)
    _check_present(sm, address)
    return sm.views, address


_PLACES = {Space.GLOBAL: _global, Space.SHARED: _shared, Space.LOCAL: _local, Space.CONSTANT: _constant,
           Space.PARAMETER: _parameter}


def constant_to_uniform(instruction: Instruction, sm: Sm, kernel: Kernel) -> Run:
    """Build the effect of a load of a constant or a parameter into a uniform register."""
    op, get = instruction.op, instruction.get
    assert op.size is not None
    base, imm, d, access = get("a"), get("imm"), get("d"), op.size
    absolute, place = _is_absolute(instruction), _PLACES[op.space or Space.CONSTANT]

    def run(warp, mask):
        offset = imm if absolute else imm + int(warp.uniforms[base])
        address = np.array([offset & _ADDRESS], np.uint32)
        check_alignment(address, access.bytes)
        views, address = place(sm, warp, address, None, access, None)
        (value,) = load(views, address, access)
        sm.write_uniform(warp, d, int(value[0]))
    return run


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
