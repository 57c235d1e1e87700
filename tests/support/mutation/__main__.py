"""The command behind ``make mutate``: plants the faults, and prints a table of what the benches have noticed.

``make mutate ARGS=packer`` does so for one block; ``--record`` keeps the figures for docs/coverage.md, if all are done.
"""

from __future__ import annotations

import sys

from rich.console import Console
from rich.table import Table

from caesura import progress

from .campaign import CAUGHT, Result, campaign
from .equivalence import Verdict
from .targets import TARGETS

DEMANDED = 0.95
"""Share of the faults that can be seen which the benches have to notice."""


def main(arguments: list[str]) -> int:
    """Plant the faults of the blocks with these names, or of all; return whether too few were noticed."""
    names = [each for each in arguments if not each.startswith("--")]
    chosen = [target for target in TARGETS if not names or target.name in names]
    console = Console(width=110)
    with progress.display() as report:
        results = [campaign(target, report=report) for target in chosen]
    console.print(_table(results))
    for result in results:
        for fault, fate in result.survivors:
            console.print(f"{result.target.name} {fault.number}: {fault} ({fate})", markup=False, highlight=False)
    return int(_share(results) < DEMANDED)


def _share(results: list[Result]) -> float:
    asked = sum(len(each.faults) - each.count(Verdict.PROVED.value) for each in results)
    return sum(each.count(CAUGHT) for each in results) / asked if asked else 1.0


def _table(results: list[Result]) -> Table:
    """Return the table of blocks."""
    table = Table("block", "faults", "caught", "proved equivalent", "survivors", "caught of the others")
    for each in results:
        table.add_row(each.target.name, str(len(each.faults)), str(each.count(CAUGHT)),
                      str(each.count(Verdict.PROVED.value)), str(len(each.survivors)), f"{100 * each.share:.1f} %")
    table.add_row("all", str(sum(len(each.faults) for each in results)), str(sum(each.count(CAUGHT) for each in results)),
                  str(sum(each.count(Verdict.PROVED.value) for each in results)),
                  str(sum(len(each.survivors) for each in results)), f"{100 * _share(results):.1f} %")
    return table


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
