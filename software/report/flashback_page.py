"""The page of context flashback: one HTML document, without external resources, with every instruction of a file."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Sequence

from markupsafe import Markup

from caesura.software.compiler.flashback.kernel import FlashbackFacts, KernelFlashback

from .flashback import MEANS, runs_on, what_is_done
from .page import CHUNK, coloured, page_environment

__all__ = ["render_flashback_page"]


def render_flashback_page(kernels: Sequence[KernelFlashback], title: str) -> str:
    """Return the page.

    Parameters
    ----------
    kernels : sequence of KernelFlashback
    title : str
        Name of the kernels' file.
    """
    return page_environment().get_template("flashback.html").render(title=title, kernels=[
        {"found": found, "id": f"k{k}", "chunks": _chunks(found), "data": Markup(_data(found)),
         "means": [(name, found.mean(key), found.mean(key, weighted=True)) for name, key in MEANS.items()]}
        for k, found in enumerate(kernels)])


def _chunks(found: KernelFlashback) -> Iterable[list[dict]]:
    rows = [{"fact": fact, "code": coloured(found.program.text(fact.pc)), "what": what_is_done(fact),
             "mark": "→" if runs_on(fact) else "↩" if fact.flashback < fact.pc else "", "bar": _bar(found, fact)}
            for fact in found.instructions]
    for first in range(0, len(rows), CHUNK):
        yield rows[first:first + CHUNK]


def _bar(found: KernelFlashback, fact: FlashbackFacts) -> str:
    """Return the lengths of a row's bar in per cent of the occupied bytes, as CSS variables."""
    whole = max(found.program.occupied_bytes, 1)
    return f"--l:{100 * fact.bytes / whole:.3g}%;--c:{min(100 * fact.live_bytes / whole, 100):.3g}%"


def _data(found: KernelFlashback) -> str:
    """Return the data of each instruction for the page's script, as JSON that is safe in a ``<script>``."""
    facts = [dataclasses.asdict(fact) | {"runs_on": runs_on(fact)} for fact in found.instructions]
    return json.dumps(facts, separators=(",", ":")).replace("<", "\\u003c")
