"""The owner of the counters of saves and restores. One set of each exists, which shows the last one carried out."""

from __future__ import annotations

from dataclasses import dataclass, field
from weakref import WeakKeyDictionary

from caesura.hw.arch.commands import KernelState

from ..launch.launch import Launch

__all__ = ["Overlaps"]


@dataclass(eq=False)
class _Switch:
    """A save or a restore.

    Attributes
    ----------
    graceful : bool
        Whether its turn comes at the end of a grace.
    over : bool
        Whether its end has been seen.
    lost : bool
        Whether the counters belong to another switch.
    later : set of _Switch
        Switches that may be carried out after this one, although it is not over.
    """

    graceful: bool
    over: bool = False
    lost: bool = False
    later: set[_Switch] = field(default_factory=set)


class Overlaps:
    """Finds out which switches of one kind may have overlapped others.

    Parameters
    ----------
    state : KernelState
        State of a kernel while such a switch is under way.
    in_turn : bool
        Whether switches are carried out in the order of their beginning, except those with a grace.
    """

    def __init__(self, state: KernelState, in_turn: bool):
        self._state, self._in_turn = state, in_turn
        self._last: WeakKeyDictionary[Launch, _Switch] = WeakKeyDictionary()

    def begin(self, launch: Launch, graceful: bool = False) -> None:
        """Note that a switch begins."""
        new = _Switch(graceful)
        for other, switch in [*self._last.items()]:
            if other is launch:
                continue
            if switch.over or other.peek_state() not in (self._state, None):
                switch.lost = True
                continue
            switch.later.add(new)
            if switch.graceful or not self._in_turn:
                new.later.add(switch)
        self._last[launch] = new

    def end(self, launch: Launch) -> None:
        """Note that the last switch of a launch is over. On one SM, all switches still under way come after it."""
        ended = self._last.get(launch)
        if ended is None or ended.over:
            return
        ended.over = True
        if self._in_turn and launch.device.geometry.sms == 1:
            for other, switch in [*self._last.items()]:
                if ended in switch.later and other.peek_state() is self._state:
                    switch.later.discard(ended)

    def alone(self, launch: Launch) -> bool:
        """Return whether the counters belong to the last switch of a launch."""
        switch = self._last.get(launch)
        return switch is not None and not switch.lost and not switch.later
