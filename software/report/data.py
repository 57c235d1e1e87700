"""Facts about kernels as JSON; the keys are documented in `docs/keys.md`."""

from __future__ import annotations

import dataclasses

from caesura.software.compiler.explain import KernelFacts

from .sentences import assumption, restart, verdict, why

__all__ = ["as_json"]


def as_json(facts: KernelFacts) -> dict:
    """Return all facts about a kernel, as plain lists and dictionaries."""
    image = facts.image
    record = {field.name: getattr(facts, field.name) for field in dataclasses.fields(facts)}
    del record["image"]
    record |= {
        "instructions": [dataclasses.asdict(row) | {"shapes": {f"R{r}": shape for r, shape in row.shapes}}
                         for row in facts.instructions],
        "points": [dataclasses.asdict(point) | {"why": why(point)} for point in facts.points],
        "loops": [dataclasses.asdict(loop) for loop in facts.loops],
        "regions": [dataclasses.asdict(region) | {"why": restart(region)} for region in facts.regions],
    }
    return {"name": image.name, "source": image.source, "registers": image.registers,
            "predicates": image.predicates, "shared_bytes": image.shared_bytes, "local_bytes": image.local_bytes,
            "spill_bytes": image.spill_bytes, "constant_bytes": len(image.constants), "stack_depth": image.stack_depth,
            "idempotent": verdict(facts), "assumption": assumption(facts)} | record
