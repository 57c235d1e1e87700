"""The JSON that commands write: each object as a dataclass, for `software.schema`, and the objects of each command."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from pathlib import Path

from caesura.hw.arch.geometry import Geometry
from caesura.software.schema import key_rows

from ..markdown import replace_markdown

__all__ = ["BEGIN", "DOCUMENTS", "END", "described", "update_markdown"]

_CODE, _RUN, _HARDWARE = "caesura.software.report.keys", f"{__name__}.run", f"{__name__}.hardware"
DOCUMENTS = {
    "kernels": (_CODE, "ShippedKernels"), "compile": (_CODE, "Compiled"), "asm": (_CODE, "Assembled"),
    "disasm": (_CODE, "Assembled"), "explain": (_CODE, "Explained"), "explain flashback": (_CODE, "Flashbacks"),
    "run": (_RUN, "Run"), "preempt": (_RUN, "Run"), "synth": (_HARDWARE, "Synthesis"),
    "board build": (_HARDWARE, "BoardBuild"), "board identify": (_HARDWARE, "BoardIdentity"),
    "registers": (_CODE, "Registers"), "cache": (_CODE, "CacheList"), "cache clean": (_CODE, "CacheCleaned"),
} | {
    f"bench {name}": (f"{__name__}.{module}", f"{name.title().replace('-', '')}Bench") for module, names in {
        "bench_machine": ("devices", "speed", "events", "golden", "limits", "kill", "cycles", "calibrate", "machines",
                          "deadline"),
        "bench_preemption": ("mechanisms", "patience", "points", "estimates", "checkpoints", "in-place", "traps"),
        "bench_contexts": ("contexts",),
        "bench_code": ("code", "compile", "ctxback", "gpu"), "hardware": ("area",)}.items() for name in names
}
"""Modules and names of the dataclasses, by command."""
_ELSEWHERE = {Geometry: "keys as in [geometry.md](geometry.md#keys)"}
BEGIN, END = "<!-- begin: caesura schema -->", "<!-- end: caesura schema -->"


def described(name: str) -> type:
    """Return the dataclass of what a command writes."""
    module, member = DOCUMENTS[name]
    return getattr(importlib.import_module(module), member)


def _tables() -> Iterator[str]:
    """Yield heading and table of each object, those of several commands once."""
    for place in dict.fromkeys(DOCUMENTS.values()):
        names = [name for name, its in DOCUMENTS.items() if its == place]
        yield f"### {', '.join(names)}"
        rows = [("key", "type", "meaning"), ("---", "---", "---"), *key_rows(described(names[0]), _ELSEWHERE)]
        yield "\n".join(f"| {path if n < 2 else f'`{path}`'} | {kind} | {meaning} |"
                        for n, (path, kind, meaning) in enumerate(rows))


def update_markdown(path: Path) -> None:
    """Write the tables into a page, between its marks; raises as `split_markdown`."""
    replace_markdown(path, BEGIN, END, lambda: "\n\n".join(_tables()) + "\n")
