"""Hardware queues of a device in the golden model: packets from memory, priorities, kernels that come and go.

What is begun, preempted and brought back is what `hw.gpu.queues` does; when is not: the model looks at its queues
between two slices of instructions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from amaranth.lib import data

from caesura.hw.arch.commands import Command, KernelState
from caesura.hw.arch.faults import CommandError
from caesura.hw.arch.geometry import Geometry
from caesura.hw.arch.packets import (
    BARRIER_AND,
    DEPENDENCIES,
    DISPATCH,
    KERNEL_OBJECT,
    KERNEL_OBJECT_MAGIC,
    PACKET_BYTES,
    SIGNAL_END,
    SIGNAL_START,
    SIGNAL_VALUE,
    VENDOR_PACKET,
    PacketType,
    QueueError,
    QueueState,
    VendorFormat,
)
from caesura.hw.arch.registers import device_register_map, register_map

__all__ = ["GoldenQueues"]

_OVER = {KernelState.IDLE, KernelState.FINISHED}
_READ_ONLY = "read_index", "status", "unstarted"


class QueueHost(Protocol):
    """What queues need of their device.

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

    def write_memory(self, address: int, data: bytes) -> None:
        """Write memory; a `ValueError` if they are not all there."""
        ...


@dataclass
class _Queue:
    """A queue, and what became of the packet at its read index."""

    words: dict[str, int] = field(default_factory=dict)
    read_index: int = 0
    error: QueueError = QueueError.NONE
    started: bool = False
    slot: int = 0
    signal: int = 0
    start: int = 0
    away: bool = False
    mine: bool = False
    bound: bool = False
    adopting: bool = False
    due: bool = False
    roomless: bool = False

    def word(self, name: str) -> int:
        return self.words.get(name, 0)

    def control(self, name: str) -> int:
        return device_register_map()["queue[0].control"].fields[name].extract(self.word("control"))

    @property
    def enabled(self) -> bool:
        return bool(self.control("enable"))

    @property
    def has_slot(self) -> bool:
        return self.started and not self.away

    @property
    def stuck(self) -> bool:
        return not self.enabled or self.error is not QueueError.NONE

    def disable(self) -> None:
        """Drop what has not been started, and what is away if that is to be discarded."""
        self.roomless = False
        if not self.has_slot:
            self.error = QueueError.NONE
        if self.away and self.control("discard"):
            self.away = self.started = self.mine = False

    def finish(self) -> None:
        """Be done with the packet."""
        self.read_index = self.read_index + 1 & 0xFFFF_FFFF
        self.started = self.mine = self.due = False


class _Stop(Exception):
    """The packet cannot be carried out."""

    def __init__(self, error: QueueError):
        super().__init__(error)
        self.error = error


class GoldenQueues:
    """The queues of a device.

    Parameters
    ----------
    g : Geometry
        With `queues`.
    """

    def __init__(self, g: Geometry):
        self._queues = [_Queue() for _ in range(g.queues)]
        self._registers = {"queue_slots": 0, "queue_preempts": 0, "queue_checkpoints": 0}
        self._turn = 0
        self._turns = [0] * g.queues

    # Registers

    def holds(self, path: str) -> bool:
        """Return whether a register is one of the queues that there are."""
        return path in self._registers or path.startswith("queue[") and int(path[6]) < len(self._queues)

    def read(self, path: str, host: QueueHost) -> int:
        """Return what a register reads."""
        if path in self._registers:
            return self._registers[path]
        queue, name = self._queues[int(path[6])], path[9:]
        if name == "read_index":
            return queue.read_index
        if name == "unstarted":
            return queue.read_index + queue.started & 0xFFFF_FFFF
        if name == "status":
            return device_register_map()[path].pack(state=self._state(queue, host), error=queue.error, slot=queue.slot,
                                                    away=queue.away)
        return queue.word(name)

    def write(self, path: str, value: int) -> None:
        """Write a register."""
        if path in self._registers:
            self._registers[path] = value
        elif path[9:] not in _READ_ONLY:
            queue = self._queues[int(path[6])]
            queue.words[path[9:]] = value
            if not queue.enabled:
                queue.disable()

    def _state(self, queue: _Queue, host: QueueHost) -> QueueState:
        if queue.error:
            return QueueState.FAILED
        if queue.started:
            return QueueState.PREEMPTED if queue.away or self._saved(queue, host) else QueueState.RUNNING
        return QueueState.WAITING if queue.enabled else QueueState.STOPPED

    # What they do

    def step(self, host: QueueHost) -> None:
        """Do what there is to be done."""
        while any(self._tend(queue, host) for queue in self._queues) or self._command(host) or self._begin(host):
            pass

    def _tend(self, queue: _Queue, host: QueueHost) -> bool:
        """See what has become of a queue's kernel; return whether its packet has completed."""
        if queue.adopting and KernelState.ADOPTING not in host.states(queue.slot):
            queue.adopting = False
            if any(host.errors(queue.slot)):
                host.give(op=Command.KILL, kernel=queue.slot)
                queue.away, queue.error = True, QueueError.BAD_CONTEXT
        if not queue.has_slot or queue.adopting or not _OVER.issuperset(host.states(queue.slot)):
            return False
        self._complete(queue, host, stamps=True)
        return True

    def _complete(self, queue: _Queue, host: QueueHost, stamps: bool) -> None:
        """Write times into the signal of a packet, take 1 from its value, and go on."""
        if queue.signal:
            try:
                if stamps:
                    for offset, cycle in ((SIGNAL_START, queue.start), (SIGNAL_END, host.cycle)):
                        host.write_memory(queue.signal + offset, cycle.to_bytes(8, "little"))
                value = int.from_bytes(host.read_memory(queue.signal + SIGNAL_VALUE, 8), "little")
                host.write_memory(queue.signal + SIGNAL_VALUE, (value - 1 & (1 << 64) - 1).to_bytes(8, "little"))
            except ValueError:  # it is nowhere: the queue goes on
                pass
        queue.finish()

    # Preemption by priority

    def _saved(self, queue: _Queue, host: QueueHost) -> bool:
        states = set(host.states(queue.slot))
        return queue.has_slot and KernelState.PREEMPTED in states and states <= {KernelState.PREEMPTED, *_OVER}

    def _wants(self, queue: _Queue, host: QueueHost) -> bool:
        """Return whether a queue has a kernel that runs, or is to."""
        if queue.roomless or queue.away and not queue.stuck:
            return True
        if not queue.has_slot or _OVER.issuperset(host.states(queue.slot)):
            return False
        return queue.mine or not self._saved(queue, host)

    def _off(self, queue: _Queue, host: QueueHost) -> bool:
        """Return whether its kernel is to leave the SMs, or to stay away."""
        return bool(self._registers["queue_preempts"] & 1) and not queue.stuck and any(
            other.control("priority") > queue.control("priority") and self._wants(other, host)
            for other in self._queues)

    def _command(self, host: QueueHost) -> bool:
        """Give the commands that are to be given; return whether one was taken that needs another look."""
        free = self._free(host)
        for queue in self._queues:
            if not queue.has_slot or queue.adopting:
                continue
            states, off = set(host.states(queue.slot)), self._off(queue, host)
            saved, moves = self._saved(queue, host), states & {KernelState.PREEMPTING, KernelState.KILLING}
            if off and not moves and states & {KernelState.RUNNING, KernelState.RESUMING}:
                if host.give(kernel=queue.slot, **self._policy("queue_preempts")):
                    queue.mine, queue.bound = True, bool(self._policy("queue_preempts")["in_place"])
            elif queue.mine and saved and not off:
                again = self._policy("queue_preempts")
                if host.give(op=Command.RESUME, kernel=queue.slot, scramble=again["scramble"]):
                    queue.mine = False
            elif queue.mine and saved and off and not free and self._needed(queue, host):
                return self._leave(queue, host)
            elif queue.due and not off and not moves and KernelState.RUNNING in states:
                queue.due = False
                host.give(kernel=queue.slot, **self._policy("queue_checkpoints") | {"checkpoint": 1})
        return False

    def _policy(self, path: str, whole: bool = False) -> dict[str, int]:
        """Return the fields of a preempt; of one that leaves nothing on the SMs."""
        fields = device_register_map()[path].unpack(self._registers[path])
        flags = {name: fields.get(name, 0) * (not whole) for name in ("restart", "incremental", "in_place")}
        return flags | {"op": Command.PREEMPT, "mechanism": fields["mechanism"], "scramble": fields["scramble"],
                        "trap": fields.get("trap", 0), "checkpoint": 0}

    def _needed(self, queue: _Queue, host: QueueHost) -> bool:
        """Return whether a queue with a higher priority finds no kernel slot."""
        return any(other.control("priority") > queue.control("priority")
                   and (other.roomless or other.away and not other.stuck and not self._off(other, host))
                   for other in self._queues)

    def _leave(self, queue: _Queue, host: QueueHost) -> bool:
        """Have a kernel that is saved leave its slot; what has stayed on the SMs first."""
        if queue.bound or any(host.errors(queue.slot)):
            queue.bound = False
            return host.give(kernel=queue.slot, **self._policy("queue_preempts", whole=True))
        queue.away = host.give(op=Command.KILL, kernel=queue.slot)
        return queue.away

    # Packets

    def _free(self, host: QueueHost) -> list[int]:
        held = {queue.slot for queue in self._queues if queue.has_slot}
        return [k for k in range(host.geometry.kernel_slots) if self._registers["queue_slots"] >> k & 1
                and k not in held and _OVER.issuperset(host.states(k))]

    def _begin(self, host: QueueHost) -> bool:
        """Begin the packet of the first queue that can; return whether there was one."""
        order = sorted(range(len(self._queues)), key=lambda q: (-self._queues[q].control("priority"), self._turns[q]))
        for q in order:
            queue = self._queues[q]
            if queue.stuck or queue.has_slot or not queue.away and queue.word("write_index") == queue.read_index:
                continue
            if queue.away and (self._off(queue, host) or not self._free(host)):
                continue
            try:
                begun = self._packet(queue, host)
            except _Stop as stop:
                queue.error = stop.error
                return True
            if begun:
                self._turn += 1
                self._turns[q] = self._turn
                return True
        return False

    def _packet(self, queue: _Queue, host: QueueHost) -> bool:
        """Carry out the packet at the read index; return False if it has to wait."""
        place = queue.word("base") + (queue.read_index & (1 << queue.word("size")) - 1) * PACKET_BYTES
        raw = int.from_bytes(_memory(host, place, PACKET_BYTES), "little")
        kind = raw & 0xFF
        if queue.away and kind != PacketType.DISPATCH:
            raise _Stop(QueueError.BAD_PACKET)
        match kind:
            case PacketType.INVALID:
                return False
            case PacketType.DISPATCH:
                return self._dispatch(queue, host, data.Const(DISPATCH, raw))
            case PacketType.BARRIER_AND | PacketType.BARRIER_OR:
                packet = data.Const(BARRIER_AND, raw)
                if not _met(host, [packet.signals[k] & 0xFFFF_FFFF for k in range(DEPENDENCIES)],
                            kind == PacketType.BARRIER_OR):
                    return False
                queue.signal = packet.completion_signal & 0xFFFF_FFFF
            case PacketType.VENDOR if data.Const(VENDOR_PACKET, raw).format == VendorFormat.CHECKPOINT:
                queue.signal = data.Const(VENDOR_PACKET, raw).completion_signal & 0xFFFF_FFFF
                for other in self._queues:
                    other.due |= other.has_slot and other.control("priority") < queue.control("priority")
            case _:
                raise _Stop(QueueError.BAD_PACKET)
        self._complete(queue, host, stamps=False)
        return True

    def _dispatch(self, queue: _Queue, host: QueueHost, packet: data.Const) -> bool:
        """Start the kernel of a packet, or adopt it if it is away."""
        free = self._free(host)
        queue.roomless = not free
        if not free:
            return False
        slot = free[0]
        found = data.Const(KERNEL_OBJECT, int.from_bytes(
            _memory(host, packet.kernel_object & 0xFFFF_FFFF, PACKET_BYTES), "little"))
        if found.magic != KERNEL_OBJECT_MAGIC:
            raise _Stop(QueueError.BAD_OBJECT)
        words = _words(host, queue, packet, found)
        for sm in range(host.geometry.sms):
            own = {"ccb_base": queue.word("ccb_base") + sm * queue.word("ccb_stride"),
                   "local_base": queue.word("local_base") + sm * queue.word("local_stride")}
            for name, value in (words | own).items():
                host.describe(sm, f"kernel[{slot}].{name}", value & 0xFFFF_FFFF)
        if not host.give(op=Command.ADOPT if queue.away else Command.START, kernel=slot):
            raise _Stop(QueueError.REFUSED)
        if queue.away:
            queue.away, queue.adopting, queue.mine = False, True, True
        else:
            queue.signal, queue.start = packet.completion_signal & 0xFFFF_FFFF, host.cycle
        queue.started, queue.slot = True, slot
        return True


def _memory(host: QueueHost, address: int, size: int) -> bytes:
    try:
        return host.read_memory(address, size)
    except ValueError:
        raise _Stop(QueueError.BUS_ERROR) from None


def _met(host: QueueHost, signals: Sequence[int], one_suffices: bool) -> bool:
    """Return whether a barrier's signals are 0, or one of them is."""
    values = [int.from_bytes(_memory(host, address + SIGNAL_VALUE, 8), "little") for address in signals if address]
    return not values or 0 in values if one_suffices else not any(values)


def _words(host: QueueHost, queue: _Queue, packet: data.Const, found: data.Const) -> dict[str, int]:
    """Return the registers of a kernel slot that are alike on all SMs."""
    g, places = host.geometry, register_map()
    block = [packet[f"block_{name}"] for name in "xyz"]
    size = [packet[f"threads_{name}"] for name in "xyz"]
    threads = block[0] * block[1] * block[2]
    if not all(block) or not all(size) or max(block) > 1024 or threads > g.max_block_threads:
        raise _Stop(QueueError.BAD_PACKET)
    given = min(found.kernarg_words, g.param_words)
    raw = _memory(host, packet.kernarg_address & 0xFFFF_FFFF, 4 * given) if given else b""
    parameters = [*np.frombuffer(raw, "<u4").tolist(), *[0] * (g.param_words - given)]
    sizes = places["kernel[0].sizes"].fields
    words = {
        "code_base": found.code_base, "code_words": found.code_words,
        **{f"grid_{name}": -(-count // width) for name, count, width in zip("xyz", size, block, strict=True)},
        "block": places["kernel[0].block"].pack(x=block[0], y=block[1], z=block[2]),
        "reciprocal_x": -(-(1 << 20) // block[0]), "reciprocal_y": -(-(1 << 20) // block[1]),
        "sizes": (threads << sizes["threads"].low | found.registers << sizes["registers"].low
                  | -(-threads // g.warp_size) << sizes["warps"].low),
        "shared_bytes": packet.group_bytes, "local_bytes": packet.private_bytes, "area_bytes": queue.word("area_bytes"),
        "const_base": found.const_base, "const_bytes": found.const_bytes,
        "window_base[0]": queue.word("window_base"), "window_end[0]": queue.word("window_end"),
    }
    for window in range(1, g.windows):
        words |= {f"window_base[{window}]": 0, f"window_end[{window}]": 0}
    if g.traps:
        words["trap_base"] = found.trap_base
    return words | {f"param[{k}]": value for k, value in enumerate(parameters)}
