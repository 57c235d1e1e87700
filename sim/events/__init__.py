"""An engine for Amaranth's simulator that evaluates only what can have changed, and each thing once.

Amaranth's own engine runs all logic of a module whenever one input of the module changes, and again for every module
that a change passes through. At a clock edge it runs every register. In this engine:

- the logic of a module is split into processes that drive one signal each (or a few that one assignment drives);
- combinational processes run in the order of their dependencies, so each runs once where there is no ring;
- the process of a register runs at an edge only if something that it reads, or the register itself, has changed.

A block of a few thousand registers runs ten times as fast, and starts as soon. Testbenches see the same values, except
for glitches: values that a combinational signal has for no time before it settles. A glitch does not wake a trigger on
`changed`. The engine writes no waveforms and simulates no asynchronous resets. It uses private parts of Amaranth, so
the version of Amaranth is pinned. `tests/sim/events` compares both engines, signal by signal.
"""

import functools

from amaranth import sim

from .engine import EventEngine

__all__ = ["EventEngine", "Simulator"]

Simulator = functools.partial(sim.Simulator, engine=EventEngine)
"""`amaranth.sim.Simulator` with this engine."""
