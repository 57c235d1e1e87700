"""Compares what comes with what is expected, and says at the end what is missing."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from typing import Any

import cocotb
from cocotb.triggers import Event

__all__ = ["Scoreboard"]


class Scoreboard:
    """Expects items in their order.

    Parameters
    ----------
    name : str
        Begins each message.
    same : callable, optional
        Takes what is expected and what came; returns whether they agree. Equality unless given.

    Attributes
    ----------
    compared : int
        Items that have come and agreed.
    """

    def __init__(self, name: str, same: Callable[[Any, Any], bool] | None = None):
        self.name, self.compared = name, 0
        self._same = same or (lambda expected, came: expected == came)
        self._expected: deque = deque()
        self._done = Event()
        self._error: AssertionError | None = None

    def expect(self, items: Iterable[Any]) -> None:
        """Expect these items after those expected before."""
        self._expected.extend(items)
        self._done.clear()

    def receive(self, item: Any) -> None:
        """Compare an item that has come."""
        if self._error:
            return
        if not self._expected:
            self._fail(f"{self.name}: item {self.compared} is one too many: {item}")
            return
        expected = self._expected.popleft()
        if not self._same(expected, item):
            self._fail(f"{self.name}: item {self.compared} is {item}, expected {expected}")
            return
        self.compared += 1
        if not self._expected:
            self._done.set()

    def _fail(self, message: str) -> None:
        """Keep the first difference: whoever waits is told."""
        cocotb.log.error(message)
        self._error = AssertionError(message)
        self._done.set()

    async def complete(self) -> None:
        """Wait until everything expected has come.

        Raises
        ------
        AssertionError
            If an item differs or is one too many.
        """
        if self._expected:
            await self._done.wait()
        self.check()

    def check(self) -> None:
        """Check that nothing has differed, and nothing is missing.

        Raises
        ------
        AssertionError
            If it has or is; the message says what.
        """
        if self._error:
            raise self._error
        assert not self._expected, f"{self.name}: {len(self._expected)} items have not come, first {self._expected[0]}"
