"""Faults in exported SystemVerilog: one operator of the text is another, and a bench should notice."""

import json
import random
import re
from collections.abc import Mapping
from typing import Any

from caesura.sim.cocotb.run import BenchError, exported, run_bench

__all__ = ["OPERATORS", "caught_share", "fault"]

OPERATORS = {" + ": " - ", " - ": " + ", " == ": " != ", " != ": " == ", " & ": " | ", " | ": " & ", " >= ": " < ",
             " < ": " >= ", " && ": " || ", " || ": " && ", " ^ ": " & "}
"""Operators, and their replacements."""
_PLACE = re.compile("|".join(re.escape(each) for each in OPERATORS))
_BY_ONE = re.compile(r"\d+'h0*1\b")
"""A counter of two values goes up as it goes down."""
_ASSIGNMENT = re.compile(r"^ *(?:assign )?[\w$\\.\[\]: ]+ <?= .*;$", re.MULTILINE)


def places(text: str) -> list[re.Match]:
    """Return the operators on the right of assignments, in their order."""
    found = []
    for line in _ASSIGNMENT.finditer(text):
        if "src = " not in line[0]:
            start = line.start() + line[0].index("= ") + 2
            found += [place for place in _PLACE.finditer(text, start, line.end())
                      if not _BY_ONE.match(text, place.end())]
    return found


def fault(number: int, seed: int):
    """Return what plants a fault: the operator that the random numbers of a seed choose for a number."""
    def change(text: str) -> str:
        among = places(text)
        chosen = random.Random(seed).sample(among, number + 1)[number]
        return text[:chosen.start()] + OPERATORS[chosen[0]] + text[chosen.end():]
    return change


def _line(module: str, parameters: Mapping[str, Any], number: int, seed: int) -> str:
    """Return the line that a fault changes."""
    text = exported(module, json.dumps(dict(parameters), sort_keys=True))[1]
    changed = fault(number, seed)(text)
    return next(old for old, new in zip(text.splitlines(), changed.splitlines(), strict=True) if old != new).strip()


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
            print(f"{module}: fault {number} of seed {seed} is not noticed: {_line(module, parameters, number, seed)}")
    return caught / count
