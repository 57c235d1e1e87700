"""The command behind ``make coverage``: runs the benches with Verilator counting, and prints a table of the rooms.

``make coverage ARGS=packer`` runs the benches that have that in their name; ``--record`` keeps the figures for
docs/coverage.md, if all were run.
"""

from __future__ import annotations

import sys

from rich.console import Console
from rich.table import Table

from caesura import progress
from support.selection import named

from .page import record
from .runs import RUNS
from .tally import Room, explained, rooms, totals


def main(arguments: list[str]) -> int:
    """Run the benches that have one of some words in their names, or all; return whether lines have no reason."""
    words = [each for each in arguments if not each.startswith("--")]
    found = named(words, [str(run) for run in RUNS])
    chosen = [run for run in RUNS if str(run) in found]
    counted = []
    with progress.display() as report:
        for number, run in enumerate(chosen, 1):
            report(f"coverage: {run}", f"{number} of {len(chosen)}")
            counted += run.points()
    counts = rooms(counted)
    console = Console(width=110)
    console.print(_table(counts))
    missed = explained(counts, None if not words else {})
    for file, text, reason in missed:
        console.print(f"{file}: {text}  [{reason or 'no reason given'}]", markup=False, highlight=False)
    if "--record" in arguments and not words:
        record(counts, missed)
    return int(not words and any(not reason for *_, reason in missed))


def _table(found: dict[str, Room]) -> Table:
    """Return the table of rooms."""
    table = Table("room", "lines of Python", "branches", "toggles")
    for name, room in [*found.items(), ("all", None)]:
        values = totals(found.values()) if room is None else totals([room])
        table.add_row(name, *(f"{100 * part / whole if whole else 0:.1f} % of {whole}"
                              for part, whole in values.values()))
    return table


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
