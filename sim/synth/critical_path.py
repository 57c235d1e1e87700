"""The critical path that nextpnr reports, in the names of the source."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from .names import module_of, source_name

__all__ = ["critical_path", "path_text"]


def critical_path(report: dict) -> dict | None:
    """Return the longest path from clock edge to clock edge.

    Parameters
    ----------
    report : dict
        Report of ``nextpnr --report``.

    Returns
    -------
    dict or None
        `start` and `end` are signals. `ns` is the delay, and `routing` its nanoseconds between cells. `harness` is true
        if no cell belongs to the block. `steps` has, for each stretch near one signal, the signal `near`, `cells`, and
        `ns` with the routing to it. None if no path goes from register to register.
    """
    paths = [path["path"] for path in report["critical_paths"]
             if path["from"] == path["to"] and path["from"].startswith("posedge")]
    if not paths:
        return None
    path = max(paths, key=_delay)
    steps = []
    for near, hops in groupby(_named(path), key=lambda named: named[0]):
        hops = [hop for _, hop in hops]
        steps.append({"near": near, "cells": len({hop["to"]["cell"] for hop in hops}), "ns": round(_delay(hops), 2)})
    return {"start": source_name(path[0]["from"]["cell"]), "end": steps[-1]["near"], "ns": round(_delay(path), 2),
            "routing": round(_delay(hop for hop in path if hop["type"] == "routing"), 2),
            "harness": all(module_of(hop[side]["cell"]) is None for hop in path for side in ("from", "to")),
            "steps": steps}


def _named(path: list[dict]) -> Iterator[tuple[str, dict]]:
    """Yield each hop with the nearest signal; a signal without a name in the source is replaced by the one before it.
    """
    near = source_name(path[0]["from"]["cell"])
    for hop in path:
        name = source_name(hop["to"]["cell"])
        near = near if not name or name.endswith(".") else name
        yield near, hop


def _delay(hops) -> float:
    return sum(hop["delay"] for hop in hops)


def path_text(path: dict) -> str:
    """Return a path in one line, with its ends, its time and the time of routing."""
    return f"{path['start']} -> {path['end']}: {path['ns']} ns, {path['routing']} of them routing"
