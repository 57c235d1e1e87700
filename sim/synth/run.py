"""``caesura synth``: measures blocks on one FPGA, each by itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from caesura.hw.arch.geometry import Geometry
from caesura.progress import Progress, quiet

from . import tools
from .blocks import block
from .measure import synthesise
from .targets import Target

__all__ = ["run"]


def run(blocks: Sequence[str], g: Geometry, target: Target, *, seed: int = 1, place: bool = True,
        progress: Progress = quiet, each: Callable[[dict], None] = lambda result: None) -> dict:
    """Synthesise blocks, and place those that fit the device.

    Parameters
    ----------
    blocks : sequence of str
        Names (`blocks.names`).
    g : Geometry
    target : Target
    seed : int
        Seed of the placer.
    place : bool
        Place and route, if the target has a placer.
    progress : Progress
    each : callable
        Called with the result after each block.

    Returns
    -------
    dict
        Keys are documented in `docs/keys.md`.

    Raises
    ------
    InputError
        If there is no such block.
    SynthesisError
        If a tool is missing or Yosys fails.
    """
    made = {name: block(name, g) for name in blocks}
    if place and target.placer is not None:
        tools.check_placer(target.placer)
    clock = target.placer.clock if target.placer else None
    result = {"preset": g.name, "lanes": g.lanes, "target": target.name, "device": target.device, "seed": seed,
              "clock": clock, "available": target.available, "met": True, "blocks": []}
    for name, component in made.items():
        row = synthesise(component, target, seed=seed, place=place, progress=progress, name=name)
        result["blocks"].append({"block": name, "geometry": g.name} | row)
        result["met"] = not any(found["lacking"] or "error" in found for found in result["blocks"])
        each(result)
    return result


