"""The golden model of a device of several SMs, behind the driver's transport."""

from __future__ import annotations

import pickle
from collections.abc import Sequence

from caesura.hw.arch.commands import REFUSED, STATE_ORDER, Command, KernelState, Switch
from caesura.hw.arch.faults import CommandError
from caesura.hw.arch.geometry import Geometry
from caesura.hw.arch.registers import Combine, Register, device_register_map, register_map

from .queues.queues import GoldenQueues
from .state.kernel import GridProgress
from .transport import GoldenTransport

__all__ = ["GoldenDevice", "STATE_ORDER", "combined", "common_state"]

SLICE = 64
"""Cycles that an SM executes before the next one does."""
_ENDED = {KernelState.PREEMPTING: "preempted", KernelState.RESUMING: "resumed", KernelState.KILLING: "killed",
          KernelState.ADOPTING: "adopted"}
_SAVED = Switch.AT_ONCE, Switch.AT_POINTS, Switch.CHECKPOINTED, Switch.DRAINED


def common_state(states: Sequence[KernelState]) -> KernelState:
    """Return the state of a kernel that has these on its SMs."""
    return next((each for each in STATE_ORDER if each in states), KernelState.IDLE)


def _recorded(sms: Sequence[tuple[KernelState, int]]) -> bool:
    """Return whether a kernel with these states, recorded or not, is that on each SM that has any of it."""
    mine = [recorded for state, recorded in sms if state is not KernelState.IDLE]
    return bool(mine) and all(mine)


def combined(register: Register, words: Sequence[int], said: Sequence[bool]) -> int:
    """Return what a device reads where its SMs read `words`, for those SMs that count; errors of a state are those of
    the SMs that `said` marks. Of a status the error is left out."""
    match register.combine:
        case Combine.SUM:
            return sum(words) & 0xFFFF_FFFF
        case Combine.MOST:
            return max(words, default=0)
        case Combine.LEAST:
            return min(filter(None, words), default=0)
        case Combine.STATE:
            fields = [register.unpack(word) for word in words]
            error = next((f["error"] for f, its in zip(fields, said, strict=True) if its and f["error"]), 0)
            return register.pack(state=common_state([KernelState(f["state"]) for f in fields]), error=error,
                                 recorded=_recorded([(KernelState(f["state"]), f["recorded"]) for f in fields]))
        case Combine.STATUS:
            fields = [register.unpack(word) for word in words]
            return register.pack(busy=max((f["busy"] for f in fields), default=0), **{
                name: min(sum(f[name] for f in fields), (1 << register.fields[name].width) - 1)
                for name in ("resident", "warps")})
        case _:
            return next(iter(words), 0)


class GoldenDevice:
    """`software.driver.machine.transport.Transport` on the golden models of several SMs over one memory.

    In a cycle each SM executes an instruction; they take turns of `SLICE` cycles.

    Parameters
    ----------
    geometry : Geometry
    memory_bytes, seed, engine
        As of `GoldenTransport`.
    """

    name = "golden"

    def __init__(self, geometry: Geometry, memory_bytes: int = 32 << 20, seed: int = 0, engine: str | None = None):
        self.geometry, self.memory_bytes = geometry, memory_bytes
        self._sms = [GoldenTransport(geometry, memory_bytes, seed=seed + sm, engine=engine)
                     for sm in range(geometry.sms)]
        self._share_memory()
        self._map = device_register_map()
        self._paths = {register.address: path for path, register in self._map.items()
                       if register.exists(geometry)}
        self._masks = {name: self._map[name].reset for name in ("sm_read", "sm_write")}
        slots = range(geometry.kernel_slots)
        self._members: list[set[int]] = [set() for _ in slots]
        self._took: list[set[int]] = [set() for _ in slots]
        self._back: list[dict[str, int]] = [{} for _ in slots]
        self._last: dict[str, set[int]] = {"preempt": set(), "resume": set()}
        self._before: list[set[KernelState]] = [set() for _ in slots]
        self._counted: list[dict[Switch, int]] = [dict.fromkeys(Switch, 0) for _ in slots]
        self._seen: list[list[dict[Switch, int]]] = [[{} for _ in self._sms] for _ in slots]
        self._error = CommandError.NONE
        self._events = 0
        self._queues = GoldenQueues(geometry) if geometry.queues else None

    def _share_memory(self) -> None:
        first, *others = (sm.machine for sm in self._sms)
        for number, machine in enumerate(others, 1):
            machine.join(first, number)

    # Registers

    def _chosen(self, mask: str) -> list[int]:
        return [sm for sm in range(self.geometry.sms) if self._masks[mask] >> sm & 1]

    def states(self, kernel: int) -> list[KernelState]:
        """Return the states of a kernel slot, by SM."""
        return [sm.machine.kernels[kernel].state for sm in self._sms]

    def errors(self, kernel: int) -> list[CommandError]:
        """Return how the last preempt, resume or adoption of a kernel slot has ended, by SM."""
        return [sm.machine.kernels[kernel].error for sm in self._sms]

    def recorded(self, kernel: int) -> list[bool]:
        """Return whether a kernel is preempted and all of it in memory, by SM."""
        return [sm.machine.kernels[kernel].in_memory for sm in self._sms]

    def read_register(self, address: int) -> int:
        """Return the 32-bit register at a byte address (`hw.arch.registers.device_register_map`)."""
        path = self._paths.get(address)
        if path is None or not self._map[path].readable:
            return 0
        register = self._map[path]
        if path in self._masks:
            return self._masks[path]
        if path == "sms":
            return self.geometry.sms
        if path == "event":
            return self._events | self._faults()
        if self._queues is not None and self._queues.holds(path):
            return self._queues.read(path, self)
        slot = int(path[7]) if path.startswith("kernel[") else self.geometry.kernel_slots
        name = path.partition("switches_")[2]
        if slot < self.geometry.kernel_slots and name:
            return self._counted[slot][Switch[name.upper()]] & 0xFFFF_FFFF if self.geometry.profile else 0
        return self._combined(register, path, slot)

    peek_register = read_register

    def _combined(self, register: Register, path: str, slot: int) -> int:
        chosen = self._chosen("sm_read")
        if register.last:
            chosen = [sm for sm in chosen if sm in self._last[register.last]]
        elif register.combine is Combine.STATE and slot < self.geometry.kernel_slots:
            chosen = [sm for sm in chosen if sm in self._members[slot]]
        elif register.combine is Combine.FAULT:
            chosen = [sm for sm in chosen if self._sms[sm].machine.event("fault")]
        said = [slot < self.geometry.kernel_slots and sm in self._took[slot] for sm in chosen]
        word = combined(register, [self._sms[sm].read_register(register.address) for sm in chosen], said)
        return word | register.pack(error=self._error) if path == "status" else word

    def _faults(self) -> int:
        faults = any(sm.machine.event("fault") for sm in self._sms)
        return faults << register_map()["event"].fields["fault"].low

    def write_register(self, address: int, value: int) -> None:
        """Write a 32-bit register; a write to ``command`` begins the command."""
        path = self._paths.get(address)
        if path in self._masks:
            self._masks[path] = value & (1 << self._map[path].fields["value"].width) - 1
        elif path == "command":
            self._command(value)
            self._look()
        elif path is not None and self._queues is not None and self._queues.holds(path):
            self._queues.write(path, value, self)
        else:
            if path == "event":
                self._events &= ~value
            for sm in self._chosen("sm_write"):
                self._sms[sm].write_register(address, value)

    # Commands

    def _command(self, word: int) -> None:
        """Begin a command."""
        fields = self._map["command"].unpack(word)
        targets = self._targets(fields, self._chosen("sm_write"))
        if isinstance(targets, CommandError):
            self._error = targets
        else:
            self._error = self._pass_on(fields, targets)
        if self._error:
            self._raise("refused")

    def give(self, **fields: int) -> bool:
        """Give a command of the device's own to all SMs; return whether one takes it."""
        fields = self._map["command"].unpack(0) | fields
        targets = self._targets(fields, [*range(self.geometry.sms)])
        return not isinstance(targets, CommandError) and not self._pass_on(fields, targets)

    def describe(self, sm: int, path: str, value: int) -> None:
        """Write a register of an SM."""
        self._sms[sm].write_register(self._map[path].address, value)

    def _targets(self, fields: dict[str, int], mask: list[int]) -> CommandError | dict[int, dict[str, int]]:
        """Return what each SM of some is passed, or why the command is refused."""
        slot = fields["kernel"]
        if fields["op"] not in list(Command) or slot >= self.geometry.kernel_slots or not mask:
            return CommandError.UNKNOWN
        op, states = Command(fields["op"]), self.states(slot)
        if op is Command.RELEASE:
            mask = [*range(self.geometry.sms)]
        begins = op in (Command.START, Command.ADOPT)
        state = common_state(states if begins else [states[sm] for sm in mask])
        if error := REFUSED[op].get(state):
            return error
        if op is Command.RELEASE and not _recorded([*zip(states, self.recorded(slot), strict=True)]):
            return CommandError.NOT_IN_MEMORY
        targets = {sm: fields for sm in mask if states[sm] not in REFUSED[op]}
        if op is Command.ABORT and state is KernelState.PREEMPTING:
            targets |= {sm: self._back[slot] for sm in mask
                        if sm in self._took[slot] and states[sm] is KernelState.PREEMPTED}
        if begins:
            progress = GridProgress([self._sms[sm].machine.kernels[slot] for sm in targets])
            for kernel in progress.kernels:
                kernel.progress = progress
        return targets

    def _pass_on(self, fields: dict[str, int], targets: dict[int, dict[str, int]]) -> CommandError:
        """Pass a command to SMs; return why none of them takes it."""
        op, slot = Command(fields["op"]), fields["kernel"]
        accepted = {sm for sm, mine in targets.items() if not self._sms[sm].command(**mine)}
        if not accepted:
            return next((self._sms[sm].machine.refusal for sm in targets), CommandError.NOT_RUNNING)
        if op in (Command.PREEMPT, Command.RESUME):
            self._last[op.name.lower()] = accepted
        if op in (Command.START, Command.ADOPT):
            self._members[slot] = accepted
            self._counted[slot] = dict.fromkeys(Switch, 0)
            self._seen[slot] = [{} for _ in self._sms]
        if op in (Command.START, Command.PREEMPT, Command.RESUME, Command.ADOPT):
            self._took[slot] = accepted
        if op is Command.PREEMPT:
            self._back[slot] = dict.fromkeys(fields, 0) | {
                "op": Command.RESUME, "kernel": slot, "scramble": fields["scramble"], "gang": fields["gang"]}
        started = {Command.PREEMPT: KernelState.PREEMPTING, Command.RESUME: KernelState.RESUMING,
                   Command.KILL: KernelState.KILLING, Command.RELEASE: KernelState.KILLING,
                   Command.ADOPT: KernelState.ADOPTING}
        if op in started:  # it may be over already
            self._before[slot].add(started[op])
        return CommandError.NONE

    # Events

    def _raise(self, name: str, index: int = 0) -> None:
        self._events |= 1 << register_map()["event"].fields[name].low + index

    def _look(self) -> None:
        """See what has ended on all SMs."""
        for slot, members in enumerate(self._members):
            states = self.states(slot)
            now = set(states) & set(_ENDED)
            before, self._before[slot] = self._before[slot], now
            finished = bool(members) and all(states[sm] is KernelState.FINISHED for sm in members)
            if finished:
                self._before[slot].add(KernelState.FINISHED)
                if KernelState.FINISHED not in before:
                    self._raise("finished", slot)
            for state in (before - now) & set(_ENDED):
                if state is KernelState.KILLING or KernelState.KILLING not in now:
                    self._raise(_ENDED[state])
                    self._count(slot, state, states, finished)
        for sm in self._sms:
            sm.machine.events &= self._faults()

    def _count(self, slot: int, state: KernelState, states: list[KernelState], finished: bool) -> None:
        """Count a switch that has ended on all SMs, once."""
        kernels = [sm.machine.kernels[slot] for sm in self._sms]
        new = {kind for kind in Switch for kernel, seen in zip(kernels, self._seen[slot], strict=True)
               if kernel.switches[kind] > seen.get(kind, 0)}
        self._seen[slot] = [dict(kernel.switches) for kernel in kernels]
        if any(kernels[sm].error for sm in self._took[slot]):
            return
        if state is KernelState.PREEMPTING:
            kind = Switch.FINISHED if finished else next((each for each in _SAVED if each in new), None)
            if kind is not None:
                self._counted[slot][kind] += 1
        elif state is KernelState.RESUMING and Switch.RESUMED in new and KernelState.PREEMPTED not in states:
            self._counted[slot][Switch.RESUMED] += 1

    # Memory and time

    def read_memory(self, address: int, size: int) -> bytes:
        """Return `size` bytes of global memory; a `ValueError` if they are not all there."""
        return self._sms[0].read_memory(address, size)

    def write_memory(self, address: int, data: bytes) -> None:
        """Write global memory; a `ValueError` if `data` does not lie there."""
        self._sms[0].write_memory(address, data)

    def write_signal(self, address: int, data: bytes) -> None:
        """Write global memory, as the queue processor does, and wake thread blocks that wait for that."""
        self.write_memory(address, data)
        for sm in self._sms:
            sm.machine.watches.notify(sm.machine.number, address, address + len(data))

    @property
    def cycle(self) -> int:
        """Cycles since the start."""
        return self._sms[0].cycle

    def advance(self, cycles: int) -> int:
        """Let exactly `cycles` cycles pass and return them."""
        return self._pass(cycles, until_event=False)

    def wait(self, cycles: int) -> int:
        """Let time pass until an event is set, at most `cycles` cycles and to the end of a slice; return the cycles
        passed."""
        return self._pass(cycles, until_event=True)

    def _pass(self, cycles: int, until_event: bool) -> int:
        passed = 0
        while passed < cycles and not (until_event and (self._events or self._faults())):
            step = min(SLICE, cycles - passed)
            for sm in self._sms:
                sm.machine.attention = sm.machine.attention or any(
                    kernel.state in (KernelState.RUNNING, KernelState.PREEMPTED) for kernel in sm.machine.kernels)
                sm.advance(step)
            passed += step
            self._look()
            if self._queues is not None:
                self._queues.step(self)
                self._look()
        return passed

    def snapshot(self) -> bytes:
        """Return the whole state of SMs and memory."""
        own = {name: value for name, value in vars(self).items()
               if name not in ("_sms", "_map", "_paths", "geometry", "memory_bytes")}
        return pickle.dumps(([sm.state() for sm in self._sms], own))

    def restore(self, snapshot: bytes) -> None:
        """Put a state back; any number of times."""
        states, own = pickle.loads(snapshot)
        for sm, state in zip(self._sms, states, strict=True):
            sm.set_state(state)
        vars(self).update(own)
        self._share_memory()
