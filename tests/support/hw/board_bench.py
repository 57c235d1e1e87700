"""A host bridge with a memory and registers under Amaranth's simulator, behind a line such as pyserial's."""

from __future__ import annotations

from collections import deque
from typing import Any

from amaranth.hdl import Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from caesura.hw.arch.board_protocol import Identity
from caesura.hw.arch.geometry import Geometry
from caesura.hw.board.block_memory import BlockMemory
from caesura.hw.board.bridge import HostBridge
from caesura.hw.device.axi_lite import AxiLiteHost
from caesura.hw.lib.resets import ResetInserter
from caesura.hw.memory.axi import ID_BITS
from caesura.sim.events import Simulator

__all__ = ["PATIENCE", "BridgedMemory", "SteppedLine"]

PATIENCE = 500
"""Cycles after which the bridge gives a frame up."""
REGISTERS = 64


class BridgedMemory(wiring.Component):
    """A bridge with `size` bytes of memory, and `REGISTERS` registers that are plain words.

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

    def __init__(self, g: Geometry, size: int):
        self.geometry, self.size = g, size
        self.identity = Identity("bench", g, size, 1_000_000)
        super().__init__({"received": In(stream.Signature(8)), "sent": Out(stream.Signature(8)), "deaf": In(1),
                          "interrupt": In(1)})

    def elaborate(self, platform):
        m = Module()
        m.submodules.bridge = bridge = HostBridge(self.geometry, self.identity.packed(), PATIENCE)
        m.submodules.memory = memory = ResetInserter(bridge.reset)(BlockMemory(self.geometry, self.size, ID_BITS))
        m.submodules.host = host = ResetInserter(bridge.reset)(AxiLiteHost())
        m.submodules.words = words = Memory(shape=32, depth=REGISTERS, init=[])
        store, load = words.write_port(), words.read_port()
        m.d.comb += [
            store.addr.eq(host.host.address[2:]), load.addr.eq(host.host.address[2:]), store.en.eq(host.host.write),
            store.data.eq(host.host.write_data), host.host.read_data.eq(load.data), bridge.interrupt.eq(self.interrupt)]
        wiring.connect(m, wiring.flipped(self.received), bridge.received)
        wiring.connect(m, bridge.sent, wiring.flipped(self.sent))
        for master, slave in ((bridge.axi, memory.axi), (bridge.registers, host.axi)):
            for name, member in wiring.flipped(slave).signature.members.items():
                asked, given = getattr(master, name), getattr(slave, name)
                quiet = self.deaf if name.endswith(("valid", "ready")) else 0
                m.d.comb += given.eq(asked & ~quiet) if member.flow is Out else asked.eq(given & ~quiet)
        return m


class SteppedLine:
    """The line to a block with streams `received` and `sent`: a `software.driver.board.line.Line`.

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
