"""Compares received items with expected ones, and reports missing items at the end."""

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
        Start of each message.
    same : callable, optional
        Takes an expected and a received item, and returns whether they agree; by default equality.

    Attributes
    ----------
    compared : int
        Number of received items that agreed.
    """

    def __init__(self, name: str, same: Callable[[Any, Any], bool] | None = None):
        self.name, self.compared = name, 0
        self._same = same or (lambda expected, came: expected == came)
        self._expected: deque = deque()
        self._done = Event()
        self._error: AssertionError | None = None

    def expect(self, items: Iterable[Any]) -> None:
        """Expect these items after the earlier ones."""
        self._expected.extend(items)
        self._done.clear()

    def receive(self, item: Any) -> None:
        """Compare a received item."""
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
        """Keep the first difference, and wake the waiting tasks."""
        cocotb.log.error(message)
        self._error = AssertionError(message)
        self._done.set()

    async def complete(self) -> None:
        """Wait until all expected items were received.

        Raises
        ------
        AssertionError
            If an item differs or there is one too many.
        """
        if self._expected:
            await self._done.wait()
        self.check()

    def check(self) -> None:
        """Check that no item differs or is missing.

        Raises
        ------
        AssertionError
            If an item differs or is missing; the message says which.
        """
        if self._error:
            raise self._error
        assert not self._expected, f"{self.name}: {len(self._expected)} items have not come, first {self._expected[0]}"
