"""The driver of the package on a simulated SM; a bench awaits each blocking call of it.

The driver blocks while it waits, but a simulation must not block. cocotb runs blocking code in a thread that stops
while simulated time passes (``cocotb.task.bridge`` and ``resume``).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from cocotb.task import bridge, resume
from cocotb.triggers import RisingEdge
from cocotb.utils import get_sim_time

from caesura.hw.arch.geometry import Geometry

from .axi import axi_lite_master, axi_memory
from .bench import Bench

__all__ = ["CocotbTransport", "blocking"]

Result = TypeVar("Result")


async def blocking(function: Callable[[], Result]) -> Result:
    """Run code that uses a `CocotbTransport`, and return its result."""
    return await bridge(function)()


class CocotbTransport:
    """An SM behind AXI4-Lite and AXI4 in a cocotb bench: a `software.driver.machine.transport.Transport`.

    Registers are accessed by the master of cocotbext-axi, memory is its memory; both pause at random.

    Parameters
    ----------
    bench : Bench
        Bench of a block with buses `s_axi` and `m_axi` and an `interrupt`.
    geometry : Geometry
    memory_bytes : int
    stall : float
        Share of cycles in which each channel pauses, in [0, 1).

    Attributes
    ----------
    geometry, memory_bytes, name, cycle
        Attributes of every transport.
    memory : axi.FailingRam
    """

    name = "cocotb"

    def __init__(self, bench: Bench, geometry: Geometry, memory_bytes: int = 1 << 20, stall: float = 0.0):
        self.geometry, self.memory_bytes, self._bench = geometry, memory_bytes, bench
        self.memory = axi_memory(bench, size=memory_bytes, stall=stall)
        self._host: Any = axi_lite_master(bench, stall=stall)
        self._began = get_sim_time("ns")
        self._read, self._write = resume(self._read_register), resume(self._write_register)
        self._wait = resume(self._pass)

    @property
    def cycle(self) -> int:
        """Cycles since the start."""
        return round((get_sim_time("ns") - self._began) / Bench.PERIOD)

    async def _read_register(self, address: int) -> int:
        return await self._host.read_dword(address)

    async def _write_register(self, address: int, value: int) -> None:
        await self._host.write_dword(address, value)

    async def _pass(self, cycles: int, until_interrupt: bool) -> int:
        """Let cycles pass; if wanted, stop when the interrupt line is high."""
        edge, interrupt = RisingEdge(self._bench.clock), self._bench.interrupt
        for passed in range(cycles):
            if until_interrupt and interrupt.bits:
                return passed
            await edge
        return cycles

    def read_register(self, address: int) -> int:
        """Return the 32-bit register at a byte address."""
        return self._read(address)

    def write_register(self, address: int, value: int) -> None:
        """Write a 32-bit register."""
        self._write(address, value)

    def peek_register(self, address: int) -> int | None:
        """Return None, since each access of the bus takes time."""
        return None

    def read_memory(self, address: int, size: int) -> bytes:
        """Return `size` bytes of memory."""
        return self.memory.words(address, size)

    def write_memory(self, address: int, data: bytes) -> None:
        """Write memory."""
        self.memory.write(address, bytes(data))

    def advance(self, cycles: int) -> int:
        """Let exactly `cycles` cycles pass and return them."""
        return self._wait(cycles, False)

    def wait(self, cycles: int) -> int:
        """Let time pass until the interrupt line is high, for at most `cycles` cycles; return the passed cycles."""
        return self._wait(cycles, True)
