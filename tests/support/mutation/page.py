"""Tables of planted faults in docs/coverage.md, from figures that ``make mutate ARGS=--record`` has kept."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from caesura.cache import write_atomically
from support.coverage.markers import fill

from .campaign import CAUGHT, Result
from .equivalence import Verdict
from .targets import TARGETS

__all__ = ["RECORDED", "caught_share", "fault_table", "figures", "record", "recorded", "survivor_table",
           "unrecorded"]

RECORDED = Path(__file__).with_name("recorded.json")


def figures(results: Sequence[Result]) -> dict[str, Any]:
    """Return what is kept of campaigns."""
    return {result.target.name: {
        "faults": len(result.faults), "caught": result.count(CAUGHT), "equivalent": result.count(Verdict.PROVED.value),
        "survivors": [[str(fault), fate] for fault, fate in result.survivors]} for result in results}


def record(results: Sequence[Result]) -> None:
    """Keep the figures of campaigns beside those of other blocks that were kept, and put all into the page."""
    found = figures(results)
    before = recorded() if RECORDED.exists() else {}
    kept = {target.name: found.get(target.name) or before[target.name] for target in TARGETS
            if target.name in found or target.name in before}
    write_atomically(RECORDED, json.dumps(kept, indent=1) + "\n")
    fill({"faults": fault_table(kept), "survivors": survivor_table(kept), "unrecorded": unrecorded(kept)})


def recorded() -> dict[str, Any]:
    """Return the figures that were kept."""
    return json.loads(RECORDED.read_text())


def caught_share(rows: Sequence[dict[str, Any]]) -> float:
    """Return the share of caught faults among those that are not proved equivalent, of blocks together."""
    asked = sum(row["faults"] - row["equivalent"] for row in rows)
    return sum(row["caught"] for row in rows) / asked if asked else 1.0


def fault_table(kept: dict[str, Any]) -> str:
    """Return the table of blocks, as Markdown."""
    lines = ["| block | faults | caught | proved equivalent | survivors | caught of those not equivalent |",
             "|---|---|---|---|---|---|"]
    for name, rows in [*((f"`{name}`", [row]) for name, row in kept.items()), ("all", list(kept.values()))]:
        sums = [sum(row[what] for row in rows) for what in ("faults", "caught", "equivalent")]
        lines.append(f"| {name} | {sums[0]} | {sums[1]} | {sums[2]} | {sum(len(row['survivors']) for row in rows)} | "
                     f"{100 * caught_share(rows):.1f} % |")
    return "\n".join(lines) + "\n"


def unrecorded(kept: dict[str, Any]) -> str:
    """Return the names of the blocks with faults of which no figures are kept, as Markdown."""
    names = [f"`{target.name}`" for target in TARGETS if target.name not in kept]
    text = f"Blocks with faults and tests, and without figures: {', '.join(names) or 'none'}."
    return textwrap.fill(text, 118, break_on_hyphens=False) + "\n"


def survivor_table(kept: dict[str, Any]) -> str:
    """Return the table of survivors, as Markdown."""
    lines = ["| block | fault | what is known of it |", "|---|---|---|"]
    lines += [f"| `{name}` | {fault} | {fate} |" for name, row in kept.items() for fault, fate in row["survivors"]]
    return "\n".join(lines) + "\n"
