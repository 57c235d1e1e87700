"""The tests of a bench once for each of some faults, in one simulation: cocotb imports this instead of the bench.

Its parameters (`caesura.sim.cocotb.parameters`) are those of the bench, ``bench`` (its module), ``faults`` (their
numbers), ``limit`` (nanoseconds of a test) and ``tests`` (a regular expression, or null). Each test begins with a
reset, as all benches do. A test of fault 7 is called as the bench's with ``__7`` behind it; once one has failed, those
behind it do nothing.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Iterator
from typing import Any

import cocotb
from cocotb._decorators import TestGenerator

from caesura.sim.cocotb import parameters

from .planting import SELECT

__all__ = ["name_of"]


def name_of(test: str, number: int) -> str:
    """Return the name of a bench's test with a fault."""
    return f"{test}__{number}"


_noticed: set[int] = set()
"""Faults of which a test has failed."""


def _with_fault(function: Callable[[Any], Any], number: int) -> Callable[[Any], Any]:
    async def run(dut: Any) -> None:
        if number in _noticed:
            return
        _noticed.add(number)
        getattr(dut, SELECT).value = number
        await function(dut)
        _noticed.remove(number)

    return run


def _tests(given: dict[str, Any]) -> Iterator[Any]:
    """Yield the tests of all faults."""
    if "bench" not in given:  # imported outside a simulation
        return
    for number in given["faults"]:
        for test in vars(importlib.import_module(given["bench"])).values():
            if isinstance(test, TestGenerator) and re.search(given["tests"] or "", test.name):
                yield cocotb.test(name=name_of(test.name, number), timeout_time=given["limit"],
                                  timeout_unit="ns")(_with_fault(test.func, number))


globals().update({test.name: test for test in _tests(parameters())})
