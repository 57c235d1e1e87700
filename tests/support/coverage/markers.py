"""Tables of a page, each between a comment with its name and one that ends it."""

from __future__ import annotations

import re
from pathlib import Path

from caesura.cache import write_atomically
from support.checkout import ROOT

__all__ = ["PAGE", "fill"]

PAGE = ROOT / "docs" / "coverage.md"


def fill(tables: dict[str, str], page: Path = PAGE) -> None:
    """Put tables into a page.

    Raises
    ------
    ValueError
        If the page has no place of that name, or more than one.
    """
    text = page.read_text()
    for name, table in tables.items():
        text, count = re.subn(rf"(<!-- {name} -->\n).*?(<!-- end -->\n)", lambda found, table=table:
                              f"{found[1]}{table}{found[2]}", text, flags=re.DOTALL)
        if count != 1:
            raise ValueError(f"{page.name} has {count} places for {name}")
    write_atomically(page, text)
