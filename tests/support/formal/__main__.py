"""The command behind ``make prove``: proves everything, one property after the other, and prints a table.

``make prove ARGS=axi`` proves the properties with that in their names.
"""

from __future__ import annotations

import sys
from pathlib import Path

from rich.console import Console
from rich.table import Table

from support.selection import named

from .properties import PROPERTIES

TRACES = Path("build") / "formal"
"""Folder of the waveforms of failures."""


def main(names: list[str]) -> int:
    """Prove the properties with one of some names, or all; return whether a result is not the expected one."""
    console = Console(width=110)
    table = Table("property", "result", "expected", "seconds")
    wrong = 0
    found = named(names, [each.name for each in PROPERTIES])
    chosen = [each for each in PROPERTIES if each.name in found]
    for number, each in enumerate(chosen, 1):
        console.print(f"[{number}/{len(chosen)}] {each.name} ...", markup=False, highlight=False)
        trace = TRACES / f"{each.name.replace('/', '-')}.vcd"
        found = each.prove(trace)
        good = (found.status == each.expected) != bool(each.defect)
        wrong += not good
        console.print(f"    {found}, {found.seconds:.1f} s", markup=False, highlight=False)
        result = str(found) + (f": {', '.join(found.failed)}" if found.failed else "")
        table.add_row(each.name, result, "as expected" if good else each.status, f"{found.seconds:.1f}",
                      style=None if good else "red")
    console.print(table)
    console.print(f"{len(chosen)} properties, {wrong} not as expected; waveforms of failures: {TRACES}")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
