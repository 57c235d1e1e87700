"""Reads and writes of a device for the packets of its queues: kernel objects, signals."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from amaranth.lib import data

from caesura.hw.arch.commands import KernelState
from caesura.hw.arch.faults import CommandError
from caesura.hw.arch.geometry import SEGMENT_BYTES, Geometry
from caesura.hw.arch.packets import (
    KERNARG_ALIGNMENT,
    SIGNAL_END,
    SIGNAL_START,
    SIGNAL_VALUE,
    QueueError,
)
from caesura.hw.arch.registers import register_map
from caesura.hw.arch.tb_footprint import local_region_bytes

__all__ = ["PacketError", "QueueHost", "count_down", "fetch", "met", "slot_words"]


class QueueHost(Protocol):
    """The interface of a device to its queues.

    Attributes
    ----------
    geometry : Geometry
    """

    geometry: Geometry

    @property
    def cycle(self) -> int:
        """Cycles since the start."""
        ...

    def states(self, kernel: int) -> list[KernelState]:
        """Return the states of a kernel slot, by SM."""
        ...

    def errors(self, kernel: int) -> list[CommandError]:
        """Return how its last command has ended, by SM."""
        ...

    def give(self, **fields: int) -> bool:
        """Give a command to all SMs; return whether one takes it."""
        ...

    def describe(self, sm: int, path: str, value: int) -> None:
        """Write a register of an SM."""
        ...

    def read_memory(self, address: int, size: int) -> bytes:
        """Return bytes of memory; a `ValueError` if they are not all there."""
        ...

    def write_signal(self, address: int, data: bytes) -> None:
        """Write memory and wake thread blocks that wait for it; a `ValueError` if it is not all there."""
        ...


class PacketError(Exception):
    """The packet cannot be carried out."""

    def __init__(self, error: QueueError):
        super().__init__(error)
        self.error = error


def count_down(host: QueueHost, signal: int, times: tuple[int, int] | None = None) -> bool:
    """Write times into a signal, if there is one, and take 1 from its value; return False if memory refuses. A barrier
    has no times."""
    if not signal:
        return True
    try:
        for offset, cycle in zip((SIGNAL_START, SIGNAL_END), times or (), strict=False):
            host.write_signal(signal + offset, cycle.to_bytes(8, "little"))
        value = int.from_bytes(host.read_memory(signal + SIGNAL_VALUE, 8), "little")
        host.write_signal(signal + SIGNAL_VALUE, (value - 1 & (1 << 64) - 1).to_bytes(8, "little"))
    except ValueError:
        return False
    return True


def fetch(host: QueueHost, address: int, size: int) -> bytes:
    """Return bytes of memory; a `PacketError` if they are not all there."""
    try:
        return host.read_memory(address, size)
    except ValueError:
        raise PacketError(QueueError.BUS_ERROR) from None


def met(host: QueueHost, signals: Sequence[int], one_suffices: bool, none: Callable[[int], bool]) -> bool:
    """Return whether a barrier's signals are 0, or one of them is. They are looked at in their order, up to the one
    that decides; `none` says where no signal can lie."""
    unmet = False
    for address in filter(None, signals):
        if none(address):
            raise PacketError(QueueError.BAD_PACKET)
        value = int.from_bytes(fetch(host, address + SIGNAL_VALUE, 8), "little")
        if bool(value) != one_suffices:
            return one_suffices
        unmet = one_suffices
    return not unmet


def slot_words(host: QueueHost, register: Callable[[str], int], packet: data.Const,
               found: data.Const) -> dict[str, int]:
    """Return the registers of a kernel slot that are alike on all SMs; `register` reads those of its queue."""
    g = host.geometry
    block = [packet[f"block_{name}"] for name in "xyz"]
    size = [packet[f"threads_{name}"] for name in "xyz"]
    threads = block[0] * block[1] * block[2]
    if not all(block) or not all(size) or max(block) > 1024 or threads > g.max_block_threads:
        raise PacketError(QueueError.BAD_PACKET)
    warps = -(-threads // g.warp_size)
    places = {name: register_map()[f"kernel[0].{name}"].fields for name in ("block", "sizes")}
    if (block[2] >> places["block"]["z"].width or packet.group_bytes % 4 or packet.private_bytes % 4
            or packet.kernarg_address % KERNARG_ALIGNMENT
            or g.tb_slots * local_region_bytes(g, warps, packet.private_bytes) > register("local_stride")):
        raise PacketError(QueueError.BAD_PACKET)
    words = {
        "code_base": found.code_base, "code_words": found.code_words,
        **{f"grid_{name}": -(-count // width) for name, count, width in zip("xyz", size, block, strict=True)},
        "block": register_map()["kernel[0].block"].pack(x=block[0], y=block[1], z=block[2]),
        "reciprocal_x": -(-(1 << 20) // block[0]), "reciprocal_y": -(-(1 << 20) // block[1]),
        "sizes": (threads << places["sizes"]["threads"].low | warps << places["sizes"]["warps"].low
                  | found.registers << places["sizes"]["registers"].low),
        "shared_bytes": packet.group_bytes, "local_bytes": packet.private_bytes, "area_bytes": register("area_bytes"),
        "const_base": found.const_base, "const_bytes": found.const_bytes,
        "param_base": packet.kernarg_address, "param_bytes": 4 * found.kernarg_words,
        "window_base[0]": register("window_base"), "window_end[0]": register("window_end"),
    }
    for window in range(1, g.windows):
        words |= {f"window_base[{window}]": 0, f"window_end[{window}]": 0}
    if g.traps:
        words["trap_base"] = found.trap_base
    if g.spare_entries:
        words["entries"] = 0
    theirs = {name for name in words if name.startswith(("code", "const", "trap", "param_bytes"))}
    beyond = {name for name, word in words.items()
              if name not in places and word >> register_map()[f"kernel[0].{name}"].fields["value"].width}
    if beyond - theirs:
        raise PacketError(QueueError.BAD_PACKET)
    if (beyond & theirs or found.registers >> places["sizes"]["registers"].width
            or found.code_base % SEGMENT_BYTES or found.const_base % SEGMENT_BYTES):
        raise PacketError(QueueError.BAD_OBJECT)
    return words
