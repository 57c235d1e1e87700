"""A block beside a model in Python, cycle by cycle: every output that says something is compared in every cycle."""

from __future__ import annotations

import functools
import random
from collections.abc import Iterable
from typing import Any

from amaranth.hdl import Shape, Value
from amaranth.lib import data

from .stream_bench import simulate, value

__all__ = ["lockstep", "noise", "number", "signal_named"]


def number(rng: random.Random, width: int) -> int:
    """Return a number of so many bits: one of the least or greatest, of one or two bits, or any."""
    ones = (1 << width) - 1
    return rng.choice([0, 1, ones, ones - 1, 1 << rng.randrange(width), 1 << rng.randrange(width) | 1,
                       rng.getrandbits(width), rng.getrandbits(width), rng.getrandbits(width)]) & ones if width else 0


def noise(rng: random.Random, shape: Any) -> Any:
    """Return what a signal of a shape may hold: numbers as of `number`, lists and dictionaries of them."""
    if isinstance(shape, data.ArrayLayout):
        return [noise(rng, shape.elem_shape) for _ in range(shape.length)]
    if isinstance(shape, data.Layout):
        return {name: noise(rng, field.shape) for name, field in shape}
    return number(rng, Shape.cast(shape).width)


def signal_named(dut: Any, name: str) -> Any:
    """Return a signal of a block by its name in `lockstep`."""
    return functools.reduce(lambda value, part: value[int(part)] if part.isdigit() else getattr(value, part),
                            name.split("."), dut)


def lockstep(dut: Any, cycles: Iterable[tuple[dict[str, Any], dict[str, Any]]]) -> None:
    """Give a block inputs and compare its outputs.

    Parameters
    ----------
    dut : wiring.Component
    cycles : iterable of tuple of dict
        For each cycle the inputs by name (``item.valid``, ``words.2``), and the outputs that follow from them in the
        same cycle. An output that says nothing is left out; a number stands for all bits of a structure.
    """
    signal = functools.cache(functools.partial(signal_named, dut))

    async def bench(ctx: Any) -> None:
        for cycle, (inputs, outputs) in enumerate(cycles):
            for name, given in inputs.items():
                ctx.set(Value.cast(signal(name)) if isinstance(given, int) else signal(name), given)
            seen = {name: ctx.get(Value.cast(signal(name))) if isinstance(wanted, int) else value(ctx.get(signal(name)))
                    for name, wanted in outputs.items()}
            wrong = {name: (seen[name], wanted) for name, wanted in outputs.items() if seen[name] != wanted}
            assert not wrong, f"in cycle {cycle}, what is there and what ought to be, with {inputs}"
            await ctx.tick()

    simulate(dut, bench, cycles=1 << 30)
