"""Context flashback of a kernel as text and as JSON; the keys are documented in `docs/keys.md`."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from caesura.software.compiler.flashback.kernel import FlashbackFacts, KernelFlashback

__all__ = ["MEANS", "print_flashbacks", "flashback_json", "runs_on", "what_is_done"]

_TEXT = 44
"""Width of an instruction in columns."""
MEANS = {"live": "live_bytes", "strict": "strict_bytes", "relaxed": "relaxed_bytes", "reverting": "reverting_bytes",
          "flashback": "bytes", "running on": "deferred_bytes", "the better of both": "combined_bytes",
          "checkpoint": "checkpoint_bytes"}
"""Names of the shown means, with the attributes of `FlashbackFacts`."""


def flashback_json(found: KernelFlashback) -> dict:
    """Return everything about the flashbacks of a kernel, as plain lists and dictionaries."""
    return {"name": found.program.name, "objective": found.objective.value, "window": found.window,
            "occupied_bytes": found.program.occupied_bytes,
            "mean_bytes": {name: found.mean(key) for name, key in MEANS.items()},
            "mean_bytes_in_loops": {name: found.mean(key, weighted=True) for name, key in MEANS.items()},
            "routines": {"bodies": len(found.sharing.bodies), "steps": found.sharing.steps},
            "copies": [{"pc": pc, "from": source, "to": place} for pc, source, place in found.copies],
            "instructions": [dataclasses.asdict(fact) for fact in found.instructions]}


def print_flashbacks(kernels: Sequence[KernelFlashback]) -> None:
    """Print, for each instruction, where a warp stopped before it falls back to, and the cost."""
    console = Console()
    for found in kernels:
        _print(console, found)


def _print(console: Console, found: KernelFlashback) -> None:
    program = found.program
    means = ", ".join(f"{name} {found.mean(key):,.0f}" for name, key in MEANS.items())
    for line in (f"kernel {program.name}  {program.source}",
                 f"  context flashback by {found.objective.value}, at most {found.window} instructions back",
                 f"  bytes a warp    occupied {program.occupied_bytes:,}; mean of all instructions: {means}",
                 f"  routines        {len(found.sharing.bodies)} of {found.sharing.steps:,} steps for "
                 f"{len(found.instructions):,} instructions",
                 *(f"  backup          before {pc}: {place} = {source}" for pc, source, place in found.copies), "",
                 f"{'at':>5}  {'':{_TEXT}} {'live':>6} {'saved':>6} {'cycles':>6}  back"):
        console.print(Text(line), highlight=False, soft_wrap=True)
    for fact in found.instructions:
        text = program.text(fact.pc)
        row = f"{fact.pc:>5}  {text:{_TEXT}.{_TEXT}} {fact.live_bytes:>6,} {fact.bytes:>6,} {fact.latency:>6,.0f}  "
        console.print(Text(row + what_is_done(fact)), highlight=False, soft_wrap=True)


def what_is_done(fact: FlashbackFacts) -> str:
    """Return in words the steps of a warp that is stopped there."""
    parts = [f"to {fact.flashback}"] if fact.flashback < fact.pc else []
    for word, pcs in (("undo", fact.reverted), ("again", fact.again), ("undo at resume", fact.resumed)):
        parts += [f"{word} {' '.join(map(str, pcs))}"] if pcs else []
    parts += [f"save {' '.join(fact.saved)}"] if fact.saved and parts else []
    if runs_on(fact):
        parts.append(f"or run on to {fact.deferred}, {fact.combined_bytes:,} B")
    return "; ".join(parts)


def runs_on(fact: FlashbackFacts) -> bool:
    """Return whether running on is better than the flashback."""
    return (fact.combined_bytes, fact.combined_latency) != (fact.bytes, fact.latency)
