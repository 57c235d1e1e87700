"""Independent judges of the buses: memories and masters of cocotbext-axi with random pauses, and a monitor of bursts.

cocotbext-axi drives and checks the handshakes by its author's reading of the standard, and answers in its own order.
"""

from __future__ import annotations

import logging
import random
from collections.abc import Iterator
from typing import Any

import cocotb
from cocotb.triggers import RisingEdge
from cocotbext.axi import AxiBus, AxiLiteBus, AxiLiteMaster, AxiRam

from .bench import Bench

__all__ = ["BurstMonitor", "FailingRam", "axi_lite_master", "axi_memory", "pauses"]

SEGMENT = 128
"""Bytes of a segment; no burst leaves its segment."""


def pauses(rng: random.Random, stall: float) -> Iterator[bool]:
    """Yield, for each cycle, whether an agent pauses."""
    while True:
        yield rng.random() < stall


class FailingRam(AxiRam):
    """A memory with some segments that answer with an error.

    Attributes
    ----------
    bad_reads, bad_writes : set of int
        Numbers of the 128-byte segments whose reads, or whose writes, get SLVERR. Such a write has no effect.
    """

    write_if: Any
    read_if: Any

    def __init__(self, *args: Any, **options: Any):
        super().__init__(*args, **options)
        self.bad_reads: set[int] = set()
        self.bad_writes: set[int] = set()
        read, write = self.read_if._read, self.write_if._write  # cocotbext-axi calls these for each beat

        async def checked_read(address: int, length: int) -> bytes:
            if address // SEGMENT in self.bad_reads:
                raise OSError("a bad segment is read")
            return await read(address, length)

        async def checked_write(address: int, data: bytes) -> None:
            if address // SEGMENT in self.bad_writes:
                raise OSError("a bad segment is written")
            await write(address, data)

        self.read_if._read, self.write_if._write = checked_read, checked_write

    def words(self, address: int, length: int) -> bytes:
        """Return the content of memory, including bad segments."""
        found: Any = self.read(address, length)
        return bytes(found)


def _quiet(bench: Bench, prefix: str) -> None:
    """Let cocotbext-axi log errors only, since it logs a line for each burst."""
    logging.getLogger(f"cocotb.{bench.dut._name}.{prefix}").setLevel(logging.ERROR)


def _pause(bench: Bench, stall: float, *channels: Any) -> None:
    """Let channels pause at random, independently of each other."""
    for channel in channels:
        channel.set_pause_generator(pauses(bench.generator(), stall))


def _master(bus: AxiLiteBus, bench: Bench) -> Any:
    """Return a master without a type, since the package has no types."""
    return AxiLiteMaster(bus, bench.clock, bench.dut.rst)


def axi_memory(bench: Bench, prefix: str = "m_axi", size: int = 1 << 18, stall: float = 0.0) -> FailingRam:
    """Return a memory at an AXI4 master of the block.

    Parameters
    ----------
    bench : Bench
    prefix : str
        Prefix of the names of the bus's ports.
    size : int
        Number of bytes.
    stall : float
        Share of cycles in which each of the five channels pauses, in [0, 1).
    """
    _quiet(bench, prefix)
    ram = FailingRam(AxiBus.from_prefix(bench.dut, prefix), bench.clock, bench.dut.rst, size=size)
    if stall:
        _pause(bench, stall, ram.write_if.aw_channel, ram.write_if.w_channel, ram.write_if.b_channel,
               ram.read_if.ar_channel, ram.read_if.r_channel)
    return ram


def axi_lite_master(bench: Bench, prefix: str = "s_axi", stall: float = 0.0) -> Any:
    """Return an `AxiLiteMaster` at an AXI4-Lite slave of the block; its channels pause with probability `stall`."""
    _quiet(bench, prefix)
    master = _master(AxiLiteBus.from_prefix(bench.dut, prefix), bench)
    if stall:
        _pause(bench, stall, master.write_if.aw_channel, master.write_if.w_channel, master.write_if.b_channel,
               master.read_if.ar_channel, master.read_if.r_channel)
    return master


class BurstMonitor:
    """Checks rules of AXI4 that a memory does not check.

    An offer stays until it is taken. Bursts have the right length and stay in their segment. The number of outstanding
    read bursts is bounded.

    Parameters
    ----------
    bench : Bench
    prefix : str

    Attributes
    ----------
    reads, writes : list of tuple of int
        Address and number of bytes of the bursts so far.
    """

    def __init__(self, bench: Bench, prefix: str = "m_axi"):
        self._ports, self._clock = getattr(bench.ports, prefix), bench.clock
        self.reads: list[tuple[int, int]] = []
        self.writes: list[tuple[int, int]] = []
        self._lengths: list[int] = []  # lengths of write bursts whose data has not passed yet
        self._beats: list[int] = []  # beats of write bursts whose data has passed before their address
        self._beat = 0
        cocotb.start_soon(self._run())

    async def _run(self) -> None:
        edge, held = RisingEdge(self._clock), {}
        while True:
            await edge
            for channel in ("aw", "ar", "w"):
                held[channel] = self._look(channel, held.get(channel))

    def _look(self, channel: str, held: Any) -> Any:
        """Look at a channel in this cycle; return the offer that is not taken yet."""
        ports = self._ports
        names = ("data", "strb", "last") if channel == "w" else ("id", "addr", "len", "size", "burst")
        valid, ready = (getattr(ports, channel + name).bits for name in ("valid", "ready"))
        offered = tuple(getattr(ports, channel + name).bits for name in names) if valid else None
        assert held is None or offered == held, f"{channel} offered {held}, then {offered}"
        if offered is None or not ready:
            return offered
        if channel == "w":
            self._data(bool(offered[2]))
        else:
            self._request(channel, *offered)
        return None

    def _request(self, channel: str, _id: int, address: int, length: int, size: int, burst: int) -> None:
        """Check a request that is taken."""
        count = (length + 1) << size
        assert burst == 1 and address % (1 << size) == 0, f"{channel} {address:#x}, burst type {burst}"
        assert address // SEGMENT == (address + count - 1) // SEGMENT, f"{address:#x}+{count} leaves its segment"
        (self.reads if channel == "ar" else self.writes).append((address, count))
        if channel == "aw":
            self._lengths.append(length + 1)
            self._match()

    def _data(self, last: bool) -> None:
        """Check a beat that is taken."""
        self._beat += 1
        if last:
            self._beats.append(self._beat)
            self._beat = 0
            self._match()

    def _match(self) -> None:
        """Compare the bursts whose address and data have both passed."""
        while self._lengths and self._beats:
            asked, came = self._lengths.pop(0), self._beats.pop(0)
            assert asked == came, f"a write burst of {asked} beats has {came}"


