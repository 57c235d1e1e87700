"""Whose the counters of saves and restores are: there is one set of each, of what was carried out last."""

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
        Its turn comes at the end of a grace.
    over : bool
        It was seen to be.
    lost : bool
        The counters are another's.
    later : set of _Switch
        Those that may be carried out after it, although it is not over.
    """

    graceful: bool
    over: bool = False
    lost: bool = False
    later: set[_Switch] = field(default_factory=set)


class Overlaps:
    """Which switches of one kind may have overlapped others.

    Parameters
    ----------
    state : KernelState
        While one is under way.
    in_turn : bool
        They are carried out one after the other, in the order in which they were begun, but for those with a grace.
    """

    def __init__(self, state: KernelState, in_turn: bool):
        self._state, self._in_turn = state, in_turn
        self._last: WeakKeyDictionary[Launch, _Switch] = WeakKeyDictionary()

    def begin(self, launch: Launch, graceful: bool = False) -> None:
        """Note that one begins."""
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
        """Note that the last one of a launch is seen to be over: on one SM those that are not come after it."""
        ended = self._last.get(launch)
        if ended is None or ended.over:
            return
        ended.over = True
        if self._in_turn and launch.device.geometry.sms == 1:
            for other, switch in [*self._last.items()]:
                if ended in switch.later and other.peek_state() is self._state:
                    switch.later.discard(ended)

    def alone(self, launch: Launch) -> bool:
        """Return whether the counters are those of the last one of a launch."""
        switch = self._last.get(launch)
        return switch is not None and not switch.lost and not switch.later
