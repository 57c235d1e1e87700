"""Estimated times of a warp from word to word, in an SM full of warps that run the same code.

1. A word occupies its unit, or the bus, for some cycles; the same word of every other warp does so before its next one.
2. A word waits for the operands that it reads, those from memory for the round trip.
3. A load waits for stores, a store for loads, a barrier or fence for both.

So a stretch that a unit or the bus limits takes the cycles of that resource. A stretch of dependent words takes the sum
of their latencies. Caches do not miss, accesses are coalesced, and the lanes of an atomic change the same word.
"""

from __future__ import annotations

from caesura.hw.arch.geometry import WORD_BYTES, Geometry
from caesura.hw.arch.isa.opcodes import Opcode, Space, Unit

from ..ir.kernel import Block, Call, Kernel, Op, Reg
from ..ir.spec import is_atomic, is_memory, machine_opcode, writes_memory

__all__ = ["resident_warps", "word_times"]

_SAME_WORD = 3
"""Cycles of a lane of an atomic behind the one that has changed the same word."""
_UNIT_STAGES = 14
"""Cycles from the last lane of an f64 or special function to the first result."""


def resident_warps(kernel: Kernel, g: Geometry) -> int:
    """Return how many warps of a kernel (stage ``machine``) fit the slots and registers of the SM."""
    return max(1, min(g.warps, g.registers // max(kernel.allocated(), 1)))


def word_times(block: Block, g: Geometry, warps: int) -> list[int]:
    """Return the estimated cycles that each operation of a block adds, and last, those of its terminator.

    Parameters
    ----------
    block : Block
        Block of stage ``machine``.
    g : Geometry
    warps : int
        Number of warps that share the SM, at least 1.

    Returns
    -------
    list of int
        Estimated cycles, each at least 1. Waits for operands from other blocks are not counted.
    """
    ready: dict[Reg, int] = {}
    times, now, loaded, stored = [], 0, 0, 0
    for op in block.ops:
        row = None if isinstance(op, Call) else machine_opcode(op)
        bus = row is not None and row.space in (Space.GLOBAL, Space.LOCAL)
        writes, reads = bus and writes_memory(op), bus and bool(op.defs)
        orders = op.name.startswith("bar.") or op.name == "membar"
        taken, latency = _taken(op, row, bus, g), _latency(row, bus, g)
        begun = max(now, loaded * (writes or orders), stored * (reads or orders),
                    *(ready.get(reg, 0) for reg in op.read()))
        after, back = begun + warps * taken, begun + taken + latency
        ready |= dict.fromkeys(op.written(), back)
        loaded, stored = max(loaded, back * reads), max(stored, back * writes)
        times.append(max(1, after - now))
        now = after
    condition = block.end.condition
    waited = 0 if condition is None or condition.reg is None else ready.get(condition.reg, 0)
    return [*times, max(now, waited) + warps - now]


def _taken(op: Op, row: Opcode | None, bus: bool, g: Geometry) -> int:
    """Return for how many cycles `op` occupies its unit, or the bus."""
    beats = g.warp_size // g.lanes
    if isinstance(op, Call):
        return beats * (1 + op.summary.most)
    if row is None:
        return beats
    if is_memory(op) and is_atomic(op):
        return _SAME_WORD * g.warp_size
    if bus:
        return -(-g.warp_size * WORD_BYTES * row.data_registers // max(1, int(g.bytes_per_cycle)))
    lanes = {Unit.F64: g.f64_lanes, Unit.SFU: g.sfu_lanes, Unit.EXCHANGE: g.exchange_lanes}.get(row.unit, g.lanes)
    return 1 if row.unit is Unit.UNIFORM else g.warp_size // lanes


def _latency(row: Opcode | None, bus: bool, g: Geometry) -> int:
    """Return the cycles from the end of a word in its unit to its result."""
    if bus or row is not None and row.unit is Unit.GLOBAL:
        return g.memory_latency
    return _UNIT_STAGES if row is not None and row.unit in (Unit.F64, Unit.SFU) else g.alu_latency
