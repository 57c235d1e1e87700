"""A host bridge with a memory and registers under Amaranth's simulator, behind a line such as pyserial's."""

from __future__ import annotations

from collections import deque
from typing import Any

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from caesura.hw.arch.board_protocol import Identity
from caesura.hw.arch.geometry import Geometry
from caesura.hw.board.block_memory import BlockMemory
from caesura.hw.board.bridge import HostBridge
from caesura.hw.control.axi_lite import AxiLiteHost
from caesura.hw.lib.resets import ResetInserter
from caesura.hw.memory.axi import ID_BITS
from caesura.sim.events import Simulator

__all__ = ["BUS_PATIENCE", "PATIENCE", "WRITES", "BridgedMemory", "NoisyLine", "SteppedLine"]

PATIENCE = 500
"""Cycles after which the bridge gives a frame up."""
BUS_PATIENCE = 300
"""Cycles that it gives the bus."""
REGISTERS = 64
WRITES = 4 * (REGISTERS - 1)
"""Address of the register that counts writes of registers."""


class BridgedMemory(wiring.Component):
    """A bridge with `size` bytes of memory, and `REGISTERS` registers that are plain words; the last one says how often
    any was written.

    Parameters
    ----------
    g : Geometry
    size : int
    identity : bytes, optional
        What it says of itself, if that is not the truth.

    Attributes
    ----------
    received, sent : stream of 8
    deaf : Signal, in
        Neither bus is answered any more.
    interrupt : Signal, in
    """

    received: stream.Interface
    sent: stream.Interface
    deaf: Signal
    interrupt: Signal

    def __init__(self, g: Geometry, size: int, identity: bytes | None = None):
        self.geometry, self.size = g, size
        self.identity = Identity("bench", g, size, 1_000_000).packed() if identity is None else identity
        super().__init__({"received": In(stream.Signature(8)), "sent": Out(stream.Signature(8)), "deaf": In(1),
                          "interrupt": In(1)})

    def elaborate(self, platform):
        m = Module()
        m.submodules.bridge = bridge = HostBridge(
            self.geometry, self.identity, PATIENCE, bus_patience=BUS_PATIENCE)
        m.submodules.memory = memory = ResetInserter(bridge.reset)(BlockMemory(self.geometry, self.size, ID_BITS))
        m.submodules.host = host = ResetInserter(bridge.reset)(AxiLiteHost())
        m.submodules.words = words = Memory(shape=32, depth=REGISTERS, init=[])
        store, load = words.write_port(), words.read_port()
        writes, counted = Signal(32), Signal()
        m.d.sync += [writes.eq(writes + host.host.write), counted.eq(host.host.address == WRITES)]
        m.d.comb += [
            store.addr.eq(host.host.address[2:]), load.addr.eq(host.host.address[2:]), store.en.eq(host.host.write),
            store.data.eq(host.host.write_data), host.host.read_data.eq(
                Mux(counted, writes, load.data)), bridge.interrupt.eq(self.interrupt)]
        wiring.connect(m, wiring.flipped(self.received), bridge.received)
        wiring.connect(m, bridge.sent, wiring.flipped(self.sent))
        for master, slave in ((bridge.axi, memory.axi), (bridge.registers, host.axi)):
            for name, member in wiring.flipped(slave).signature.members.items():
                asked, given = getattr(master, name), getattr(slave, name)
                quiet = self.deaf if name.endswith(("valid", "ready")) else 0
                m.d.comb += given.eq(asked & ~quiet) if member.flow is Out else asked.eq(given & ~quiet)
        return m


class SteppedLine:
    """The line to a block with streams `received` and `sent`: a `software.driver.machine.board.line.Line`.

    Parameters
    ----------
    dut : Component
    clock_hz : int
        Cycles of a second of `timeout`.

    Attributes
    ----------
    cycle : int
    """

    def __init__(self, dut: Any, clock_hz: int = 1_000_000):
        self.dut, self.timeout, self.cycle = dut, None, 0
        self._clock_hz = clock_hz
        self._to, self._from, self._settings = deque(), deque(), {}
        self._simulator = Simulator(dut)
        self._simulator.add_clock(1e-6)
        self._simulator.add_testbench(self._cycles)
        self._simulator.advance()

    async def _cycles(self, ctx) -> None:
        dut = self.dut
        ctx.set(dut.sent.ready, 1)
        while True:
            for signal, value in self._settings.items():
                ctx.set(getattr(dut, signal), value)
            ctx.set(dut.received.valid, bool(self._to))
            ctx.set(dut.received.payload, self._to[0] if self._to else 0)
            _, _, valid, byte, ready = await ctx.tick().sample(dut.sent.valid, dut.sent.payload, dut.received.ready)
            if valid:
                self._from.append(byte)
            if self._to and ready:
                self._to.popleft()
            self.cycle += 1

    def run(self, cycles: int, enough: int = 1 << 30) -> None:
        """Let cycles pass, no more once so many bytes have come."""
        end = self.cycle + cycles
        while self.cycle < end and len(self._from) < enough:
            self._simulator.advance()

    def set(self, **signals: int) -> None:
        """Set inputs of the block from the next cycle on."""
        self._settings |= signals

    @property
    def in_waiting(self) -> int:
        """Bytes that have come."""
        return len(self._from)

    def read(self, size: int = 1) -> bytes:
        """Return `size` bytes, fewer if the time is over."""
        assert self.timeout is not None
        self.run(int(self.timeout * self._clock_hz), size)
        return bytes(self._from.popleft() for _ in range(min(size, len(self._from))))

    def write(self, data: bytes) -> None:
        """Send bytes, one a cycle, from the next cycle on."""
        self._to.extend(data)

    def reset_input_buffer(self) -> None:
        """Forget what has come."""
        self._from.clear()

    def close(self) -> None:
        """Nothing is left of it."""


class NoisyLine:
    """A line that changes, loses and adds bytes.

    Parameters
    ----------
    line : Line
    rng : random.Random
    rate : float
        Share of bytes that something happens to, in both directions.
    """

    def __init__(self, line: Any, rng, rate: float):
        self.line, self.rng, self.rate, self.events = line, rng, rate, 0

    @property
    def timeout(self) -> float | None:
        """As of the line."""
        return self.line.timeout

    @timeout.setter
    def timeout(self, seconds: float | None) -> None:
        self.line.timeout = seconds

    @property
    def in_waiting(self) -> int:
        """As of the line."""
        return self.line.in_waiting

    def _spoilt(self, data: bytes) -> bytes:
        out = bytearray()
        for byte in data:
            if self.rng.random() >= self.rate:
                out.append(byte)
                continue
            self.events += 1
            changed, added = byte ^ 1 << self.rng.randrange(8), self.rng.randrange(256)
            out += self.rng.choice([b"", bytes([changed]), bytes([added, byte]), b"\xC0"])
        return bytes(out)

    def read(self, size: int = 1) -> bytes:
        """Return what has come, or is made of it."""
        return self._spoilt(self.line.read(size))

    def write(self, data: bytes) -> None:
        """Send what is made of some bytes."""
        self.line.write(self._spoilt(bytes(data)))

    def reset_input_buffer(self) -> None:
        """As of the line."""
        self.line.reset_input_buffer()

    def close(self) -> None:
        """As of the line."""
        self.line.close()
