"""Faults in exported SystemVerilog: one operator of the text is another, and a bench should notice."""

import random
import re
from collections.abc import Mapping
from typing import Any

from caesura.sim.cocotb.run import BenchError, run_bench

__all__ = ["OPERATORS", "caught_share", "fault"]

OPERATORS = {" + ": " - ", " - ": " + ", " == ": " != ", " != ": " == ", " & ": " | ", " | ": " & ", " >= ": " < ",
             " < ": " >= ", " && ": " || ", " || ": " && ", " ^ ": " & "}
"""What becomes what."""
_PLACE = re.compile("|".join(re.escape(each) for each in OPERATORS))
_ASSIGNMENT = re.compile(r"^ *(?:assign )?[\w$\\.\[\]: ]+ <?= .*;$", re.MULTILINE)


def places(text: str) -> list[re.Match]:
    """Return the operators on the right of assignments, in their order."""
    found = []
    for line in _ASSIGNMENT.finditer(text):
        if "src = " not in line[0]:
            start = line.start() + line[0].index("= ") + 2
            found += list(_PLACE.finditer(text, start, line.end()))
    return found


def fault(number: int, seed: int):
    """Return what plants a fault: the operator that the random numbers of a seed choose for a number."""
    def change(text: str) -> str:
        among = places(text)
        chosen = random.Random(seed).sample(among, number + 1)[number]
        return text[:chosen.start()] + OPERATORS[chosen[0]] + text[chosen.end():]
    return change


def caught_share(module: str, parameters: Mapping[str, Any], count: int, seed: int, **options: Any) -> float:
    """Return the share of `count` faults that a bench notices; each one that it does not is printed."""
    caught = 0
    for number in range(count):
        try:
            outcome = run_bench(module, parameters, change=fault(number, seed), **options)
        except BenchError:  # it has not run to its end
            caught += 1
            continue
        caught += bool(outcome.failed)
        if not outcome.failed:
            print(f"{module}: fault {number} of seed {seed} is not noticed")
    return caught / count
