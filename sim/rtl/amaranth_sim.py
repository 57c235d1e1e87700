"""`AmaranthTransport`: the SM on Amaranth's own simulator, for small geometries and without a C++ compiler."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from amaranth.hdl import Value
from amaranth.lib import wiring

from caesura.errors import InputError
from caesura.hw.arch.geometry import Geometry
from caesura.hw.arch.isa.opcodes import BY_NAME
from caesura.hw.sm import ATOMICS, Sm
from caesura.sim.events import Simulator
from caesura.sim.memory import AxiMemory, ErrorRange, MemoryTiming
from caesura.sim.rtl.transport import AXI_IDS, DEFAULT_MEMORY, REGULAR_READERS, REGULAR_WRITERS, Traffic
from caesura.sim.trace.retired import ATOMIC, PREDICATE, RETIRE, TRACE, UNIFORM, WRITE

__all__ = ["AmaranthTransport"]

_UNRECORDED = {BY_NAME[name].code for name in ("nop", "pp", "pp.div")}
_PERIOD = 1e-6


class AmaranthTransport:
    """One SM on Amaranth's simulator: a `software.driver.machine.transport.Transport`, some 700 cycles/s of `tiny`.

    Behaves as `RtlTransport` cycle for cycle, without snapshots.

    Parameters
    ----------
    geometry : Geometry
    memory_bytes : int
        Size of the memory.
    trace : bool
        Record a retire trace.
    design : callable
        Makes the top; another one with the ports of `hw.sm.Sm` can be run instead.
    simulator : callable
        Makes the simulator of the top, `amaranth.sim.Simulator` with an engine; by default the event-driven one.
    """

    name = "amaranth"

    def __init__(self, geometry: Geometry, memory_bytes: int = DEFAULT_MEMORY, trace: bool = False, *,
                 design: Callable[[Geometry], wiring.Component] = Sm,
                 simulator: Callable[[wiring.Component], Any] = Simulator):
        self.geometry = geometry
        self.memory_bytes = memory_bytes
        self.tracing = trace
        self.cycle = 0
        self._memory = AxiMemory(MemoryTiming.of(geometry), memory_bytes)
        self._top: Any = design(geometry)
        self._ports = {name: getattr(self._top.axi, name) for name in self._top.axi.signature.members}
        self._ports |= {name: getattr(self._top, name) for name in ("address", "write", "write_data")}
        self._driven: dict[str, int] = {}
        self._from_master = [name for name, member in self._top.axi.signature.members.items()
                             if member.flow is wiring.Out]
        self._records: list[np.ndarray] = []
        self._slots: dict[int, tuple[int, int, int]] = {}
        self._partial: dict[tuple[int, int, int], np.ndarray] = {}
        self._inputs = {"address": 0, "write": 0, "write_data": 0}
        self._outputs = {"read_data": 0, "interrupt": 0}
        self._draining = getattr(getattr(self._top, "trace", None), "engine", None)
        self._draining = None if self._draining is None else self._draining.draining
        self._drain_bytes = 0
        self._failure: Exception | None = None
        self._simulator = simulator(self._top)
        self._simulator.add_clock(_PERIOD)
        self._simulator.add_testbench(self._cycles)
        self._simulator.advance()

    async def _cycles(self, ctx) -> None:
        """Drive, sample and clock, one cycle after the other; `advance` lets as many pass as it wants."""
        try:
            while True:
                await ctx.delay(_PERIOD / 4)
                regular = self._regular_bytes()
                for name, value in (self._memory.drive() | self._inputs).items():
                    if self._driven.get(name) != value:  # every change makes the design settle anew
                        self._driven[name] = value
                        ctx.set(self._ports[name], value)
                if self.tracing:
                    self._sample_trace(ctx)
                self._memory.sample({name: ctx.get(self._ports[name]) for name in self._from_master})
                if self._draining is not None and ctx.get(self._draining):
                    self._drain_bytes += self._regular_bytes() - regular
                await ctx.tick()
                self._outputs = {name: ctx.get(getattr(self._top, name)) for name in self._outputs}
                self.cycle += 1
        except RuntimeError as error:
            self._failure = error

    def _step(self) -> None:
        target = self.cycle + 1
        while self.cycle != target and self._failure is None:
            self._simulator.advance()
        if self._failure is not None:
            raise self._failure

    def _get(self, ctx, ports, *names: str) -> list[int]:
        return [ctx.get(Value.cast(getattr(ports, name))) for name in names]

    def _sample_trace(self, ctx) -> None:
        retire, write, predicate = self._top.trace.retire, self._top.trace.write, self._top.trace.predicate
        if ctx.get(retire.valid):
            slot, kernel, launch, warp, pc, mask, op = self._get(
                ctx, retire, "slot", "kernel", "launch", "block_warp", "pc", "mask", "op")
            self._slots[slot] = kernel, launch, warp
            if op not in _UNRECORDED:
                record = self._record(RETIRE, slot)
                record["pc"], record["mask"], record["last"] = pc, mask, 1
                self._records.append(record)
        for kind, port, number, value in ((WRITE, write, "register", "data"),
                                          (PREDICATE, predicate, "predicate", "value")):
            if ctx.get(port.valid):
                self._sample_beat(kind, *self._get(ctx, port, "slot", number, "beat", "last", "mask", value))
        self._sample_once(ctx)

    def _sample_once(self, ctx) -> None:
        """Record what takes one cycle: a write of a uniform register, a lane of an atomic."""
        uniform = self._top.trace.uniform
        if ctx.get(uniform.valid):
            slot, number, value = self._get(ctx, uniform, "slot", "register", "value")
            record = self._record(UNIFORM, slot)
            record["register"], record["mask"], record["last"], record["data"][0] = number, 1, 1, value
            self._records.append(record)
        for shared, name in enumerate(ATOMICS):
            port = getattr(self._top.trace, name)
            if ctx.get(port.valid):
                slot, pc, lane, old = self._get(ctx, port, "slot", "pc", "lane", "old")
                record = self._record(ATOMIC, slot)
                record["register"], record["pc"], record["mask"], record["last"] = shared, pc, 1 << lane, 1
                record["data"][:2] = old & 0xFFFF_FFFF, old >> 32
                self._records.append(record)

    def _sample_beat(self, kind: int, slot: int, number: int, beat: int, last: int, mask: int, value: int) -> None:
        lanes = self.geometry.lanes
        record = self._partial.setdefault((kind, slot, number), self._record(kind, slot))
        record["mask"] |= np.uint32(mask << lanes * beat)
        if kind == PREDICATE:
            record["data"][0] |= np.uint32((value & mask) << lanes * beat)
        else:
            for lane in range(lanes):
                if mask >> lane & 1:
                    record["data"][lanes * beat + lane] = value >> 32 * lane & 0xFFFF_FFFF
        if beat + 1 == self.geometry.beats:
            del self._partial[kind, slot, number]
            if record["mask"]:
                record["cycle"], record["register"], record["last"] = self.cycle, number, last
                self._records.append(record)

    def _record(self, kind: int, slot: int) -> np.ndarray:
        record = np.zeros((), TRACE)
        record["cycle"], record["kind"] = self.cycle, kind
        record["kernel"], record["launch"], record["warp"] = self._slots.get(slot, (0, 0, 0))
        return record

    def read_register(self, address: int) -> int:
        """Return the 32-bit register at a byte address; takes one cycle."""
        self._inputs["address"] = address
        self._step()
        return self._outputs["read_data"]

    def write_register(self, address: int, value: int) -> None:
        """Write a 32-bit register; takes one cycle."""
        self._inputs.update(address=address, write_data=value, write=1)
        self._step()
        self._inputs["write"] = 0

    def peek_register(self, address: int) -> None:
        """Registers cannot be read here without time passing."""

    def _check_range(self, address: int, size: int) -> None:
        if address < 0 or size < 0 or address + size > self.memory_bytes:
            raise InputError(f"{size} bytes at {address:#x} are not within the memory of {self.memory_bytes} bytes")

    def read_memory(self, address: int, size: int) -> bytes:
        """Return `size` bytes of global memory; takes no simulated time."""
        self._check_range(address, size)
        return bytes(self._memory.data[address:address + size])

    def write_memory(self, address: int, data: bytes) -> None:
        """Write global memory; takes no simulated time."""
        self._check_range(address, len(data))
        self._memory.data[address:address + len(data)] = data

    def advance(self, cycles: int) -> int:
        """Let exactly `cycles` cycles pass and return them."""
        for _ in range(cycles):
            self._step()
        return cycles

    def wait(self, cycles: int) -> int:
        """Let time pass until the interrupt line is high, at most `cycles` cycles; return the cycles passed."""
        start = self.cycle
        while self.cycle - start < cycles and not self._outputs["interrupt"]:
            self._step()
        return self.cycle - start

    def take_trace(self) -> np.ndarray:
        """Return the records since the last call and forget them: shape ``(n,)``, dtype `sim.trace.retired.TRACE`."""
        records = np.array(self._records, TRACE) if self._records else np.empty(0, TRACE)
        self._records = []
        return records

    def add_error_range(self, errors: ErrorRange) -> None:
        """Let a range of addresses answer SLVERR."""
        self._memory.errors.append(errors)

    def clear_error_ranges(self) -> None:
        """Let all of memory answer normally again."""
        self._memory.errors.clear()

    @property
    def traffic(self) -> Traffic:
        """Bus traffic so far."""
        read, written = (tuple(counts.get(k, 0) for k in range(AXI_IDS))
                         for counts in (self._memory.read_bytes, self._memory.written_bytes))
        return Traffic(read, written, self._drain_bytes)

    def _regular_bytes(self) -> int:
        read, written = self._memory.read_bytes, self._memory.written_bytes
        return sum(read.get(k, 0) for k in range(REGULAR_READERS)) + sum(
            written.get(k, 0) for k in range(REGULAR_WRITERS))
