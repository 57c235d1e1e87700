"""The command behind ``make mutate``: plants the faults, and prints a table of the faults that the benches notice.

``make mutate ARGS=packer`` does so for one block; ``--record`` keeps the figures for docs/coverage.md.
"""

from __future__ import annotations

import sys
from typing import Any

from rich.console import Console
from rich.table import Table

from caesura import progress

from .campaign import campaign
from .page import caught_share, fault_table, figures, record
from .targets import TARGETS

DEMANDED = 0.95
"""Share of the visible faults that the benches have to notice."""


def main(arguments: list[str]) -> int:
    """Plant the faults of the blocks with these names, or of all; return whether too few were noticed."""
    names = [each for each in arguments if not each.startswith("--")]
    known = [target.name for target in TARGETS]
    for name in names:
        if name not in known:
            raise SystemExit(f"there is no block {name} with faults; there are {', '.join(known)}")
    chosen = [target for target in TARGETS if not names or target.name in names]
    console = Console(width=110)
    with progress.display() as report:
        results = [campaign(target, report=report) for target in chosen]
    kept = figures(results)
    console.print(_table(kept))
    for result in results:
        for fault, fate in result.survivors:
            console.print(f"{result.target.name} {fault.number}: {fault} ({fate})", markup=False, highlight=False)
    if "--record" in arguments:
        record(results)
    return int(caught_share(list(kept.values())) < DEMANDED)


def _table(kept: dict[str, Any]) -> Table:
    """Return the table of blocks."""
    head, _, *rows = ([cell.strip(" `") for cell in line.strip("|").split("|")]
                      for line in fault_table(kept).splitlines())
    table = Table(*head)
    for row in rows:
        table.add_row(*row)
    return table


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
