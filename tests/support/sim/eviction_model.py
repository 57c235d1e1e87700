"""Why a reset keeps to its order: every interleaving of a host, a queue and thread blocks in a small machine.

The machine has one kernel slot. A dispatcher starts kernels of a queue in it, one after the other; some are the work
that is to be taken off, others are somebody else's. Their thread blocks begin in any order; one of the work loads the
flag when it begins, and leaves if it is set. What the host writes is *posted*: it arrives later, writes to memory in
their order, commands too, but a command may overtake a write to memory. That is the race of REEF (4.1, 4.2): its flag
may still be on its way when the kernel is killed, and the next one begins and finds it clear.

A host is a list of steps (`STEPS`), so orders can be compared. `explore` visits all states that one can lead to, and
returns what goes wrong in any, each with the shortest way there:

``survivor``   the last kill has arrived, and a thread block of the work runs, or begins and does not leave
``bystander``  somebody else's kernel is killed
``lost``       a kernel of which a thread block has left is taken to be whole, so nobody launches it again
``stuck``      the host waits for ever
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

__all__ = ["KILL_FIRST", "ORDER", "REEF", "STEPS", "WITHOUT", "Host", "explore"]

STEPS = {
    "set": "post a write that sets the flag",
    "see": "wait until reading the flag gives what was written last",
    "hold": "keep the dispatcher from giving the slot to anybody",
    "look": "read whose kernel is in the slot",
    "kill": "post a kill of the slot, if a kernel of the work was seen there last, or nobody has looked",
    "killed": "wait until no kill is on its way",
    "release": "let the dispatcher give the slot away again",
    "drain": "wait until no kernel of the work is in the slot or in the queue",
    "clear": "post a write that clears the flag",
}
"""What a host can do, and what it means."""


class Host(NamedTuple):
    """A host.

    Attributes
    ----------
    steps : tuple of str
    records : bool
        It takes a kernel to be whole if no thread block says that it has left; else, if it has ended by itself.
    """

    steps: tuple[str, ...]
    records: bool = True


REEF = Host(("set", "kill", "killed"))
"""REEF, 4: the flag, then the kernels that run. Work that was evicted is launched again whatever became of it."""
KILL_FIRST = Host(("kill", "killed", "set", "see"))
ORDER = Host(("set", "see", "hold", "look", "kill", "killed", "release", "drain", "clear", "see"))
"""That of `software.driver.reset.eviction`."""
WITHOUT = {
    "see": Host(("set", "hold", "look", "kill", "killed", "release", "drain", "clear", "see")),
    "hold": Host(("set", "see", "look", "kill", "killed", "drain", "clear", "see")),
    "look": Host(("set", "see", "hold", "kill", "killed", "release", "drain", "clear", "see")),
    "killed": Host(("set", "see", "hold", "look", "kill", "release", "drain", "clear", "see")),
    "drain": Host(("set", "see", "hold", "look", "kill", "killed", "release", "clear", "see")),
    "records": ORDER._replace(records=False),
}
"""The order with one thing left out."""

FRESH, RUNS, LEFT, DONE = range(4)
"""What a thread block of the kernel in the slot is."""


@dataclass(frozen=True)
class _State:
    at: int = 0                       # steps of the host that are done
    writes: tuple[bool, ...] = ()     # to the flag, on their way
    flag: bool = False
    kills: int = 0                    # on their way
    held: bool = False
    seen: bool = True                 # the kernel seen last is the work's
    next: int = 0                     # packet
    slot: int | None = None           # packet of the kernel there
    blocks: tuple[int, ...] = ()      # its thread blocks
    partial: frozenset[int] = frozenset()  # kernels that ended by themselves, and of which thread blocks have left


def explore(host: Host, packets: str = "ww", blocks: int = 2) -> dict[str, list[str]]:
    """Return what can go wrong, with the shortest list of events that leads to it.

    Parameters
    ----------
    host : Host
    packets : str
        A letter for each packet of the queue: ``w`` belongs to the work, ``o`` to others.
    blocks : int
        Thread blocks of each kernel.
    """
    return _Exploration(host, packets, blocks).run()


class _Exploration:
    """All states that can be reached."""

    def __init__(self, host: Host, packets: str, blocks: int):
        self._host, self._packets, self._count = host, packets, blocks
        self._found: dict[str, list[str]] = {}
        self._before: dict[_State, tuple[_State, str] | None] = {}

    def run(self) -> dict[str, list[str]]:
        """Visit them, the nearest first."""
        first = _State()
        self._before[first] = None
        pending = deque([first])
        while pending:
            state = pending.popleft()
            self._judge(state)
            following = list(self._following(state))
            if not following and not self._over(state):
                self._note("stuck", state)
            for event, after, *wrong in following:
                if after not in self._before:
                    self._before[after] = state, event
                    pending.append(after)
                if wrong:
                    self._note(wrong[0], state, event)
        return self._found

    def _mine(self, packet: int | None) -> bool:
        return packet is not None and self._packets[packet] == "w"

    def _over(self, state: _State) -> bool:
        return state.at == len(self._host.steps)

    def _killed(self, state: _State) -> bool:
        """Whether the last kill has arrived."""
        return "kill" not in self._host.steps[state.at:] and not state.kills

    def _note(self, wrong: str, state: _State, event: str = "") -> None:
        if wrong not in self._found:
            way = [event] if event else []
            while (before := self._before[state]) is not None:
                state, what = before
                way.append(what)
            self._found[wrong] = way[::-1]

    def _judge(self, state: _State) -> None:
        if self._killed(state) and self._mine(state.slot) and RUNS in state.blocks:
            self._note("survivor", state)
        if self._over(state) and state.partial and not self._host.records:
            self._note("lost", state)

    # What may happen next

    def _following(self, state: _State) -> Iterator[tuple]:
        yield from self._machine(state)
        yield from self._blocks(state)
        if not self._over(state):
            after = self._step(state, self._host.steps[state.at])
            if after is not None:
                yield f"host: {self._host.steps[state.at]}", replace(after, at=state.at + 1)

    def _machine(self, state: _State) -> Iterator[tuple]:
        if state.writes:
            yield "the flag arrives", replace(state, flag=state.writes[0], writes=state.writes[1:])
        if state.kills:
            after = replace(state, kills=state.kills - 1, slot=None, blocks=())
            wrong = ("bystander",) if state.slot is not None and not self._mine(state.slot) else ()
            yield "the kill arrives", after, *wrong
        if state.slot is None and not state.held and state.next < len(self._packets):
            yield f"kernel {state.next} starts", replace(state, slot=state.next, next=state.next + 1,
                                                         blocks=(FRESH,) * self._count)

    def _blocks(self, state: _State) -> Iterator[tuple]:
        if state.slot is not None and all(block in (LEFT, DONE) for block in state.blocks):
            partial = state.partial | {state.slot} if LEFT in state.blocks else state.partial
            yield f"kernel {state.slot} ends", replace(state, slot=None, blocks=(), partial=partial)
        for k, block in enumerate(state.blocks):
            name = f"block {k} of kernel {state.slot}"
            if block == FRESH and self._mine(state.slot) and state.flag:
                yield f"{name} leaves", self._with(state, k, LEFT)
            elif block == FRESH:
                yield f"{name} begins", self._with(state, k, RUNS)
            elif block == RUNS:
                yield f"{name} ends", self._with(state, k, DONE)

    @staticmethod
    def _with(state: _State, k: int, block: int) -> _State:
        # Thread blocks are alike: their order says nothing.
        return replace(state, blocks=tuple(sorted((*state.blocks[:k], block, *state.blocks[k + 1:]))))

    def _step(self, state: _State, step: str) -> _State | None:
        """Return the state after a step of the host, None if it has to wait."""
        left = self._mine(state.slot) or any(map(self._mine, range(state.next, len(self._packets))))
        waits = {"see": bool(state.writes), "killed": state.kills > 0, "drain": left}
        if waits.get(step):
            return None
        after = {"set": {"writes": (*state.writes, True)}, "clear": {"writes": (*state.writes, False)},
                 "hold": {"held": True}, "release": {"held": False},
                 "look": {"seen": self._mine(state.slot)}, "kill": {"kills": state.kills + state.seen}}
        return replace(state, **after.get(step, {}))
