"""Drives a unit beside the ALU (f64, special functions, exchange) and collects what it writes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from caesura.hw.arch.geometry import Geometry
from caesura.sim.events import Simulator

__all__ = ["Operation", "SideBench"]

WORDS = ("a", "b", "c", "high_a", "high_b", "high_c")


@dataclass
class Operation:
    """A warp instruction with its operands and, once written, its results.

    Attributes
    ----------
    function, warp, base, d, pd : int
    registers : int
        Words written to each thread, 0 if it writes a predicate.
    writes_pd : bool
    mask : int
    words : dict
        Of ``a b c high_a high_b high_c``: arrays of `warp_size` uint32; those left out are noise. Units have but some.
    written : list of dict
        Lane to value, for each register written.
    tested : dict
        Lane to predicate.
    beats : int
        Beats written.
    accepted, offered, finished : int
        Cycles of the last beat, of the first write offered, of the last write accepted (-1: not yet).
    """

    function: int
    mask: int
    words: dict[str, Any] = field(default_factory=dict)
    warp: int = 0
    base: int = 0
    d: int = 0
    pd: int = 0
    registers: int = 1
    writes_pd: bool = False
    written: list[dict[int, int]] = field(default_factory=list)
    tested: dict[int, int] = field(default_factory=dict)
    beats: int = 0
    accepted: int = -1
    offered: int = -1
    finished: int = -1


class SideBench:
    """Sends operations to a unit, one for each `room`, and takes its writes.

    Parameters
    ----------
    unit : Component
        With ports `op`, `room`, `write` and, unless it never writes predicates, `predicate`.
    operations : iterable of Operation
    busy : callable
        Whether to hold back in this cycle, asked for each stream.
    seed : int
        Of the noise.
    simulator : type
        What `run` simulates with.
    """

    def __init__(self, g: Geometry, unit, operations: Iterable[Operation], busy: Callable[[], bool] = lambda: False,
                 seed: int = 1, simulator: Callable[..., Any] = Simulator):
        self.g, self.unit, self.busy, self.simulator = g, unit, busy, simulator
        self.operations = list(operations)
        self.unwritten = list(self.operations)
        self.rng = np.random.default_rng(seed)
        self.cycle, self.places = 0, 1

    async def drive(self, ctx):
        """Testbench that sends the operations, and noise between them."""
        op = self.unit.op
        for operation in self.operations:
            while not self.places or self.busy():
                await ctx.tick()
            self.places -= 1
            for beat in range(self.g.beats):
                ctx.set(op.payload, self._beat(operation, beat))
                ctx.set(op.valid, 1)
                assert ctx.get(op.ready), "room, but not ready"
                await ctx.tick()
            ctx.set(op.valid, 0)
            ctx.set(op.payload, self._beat(Operation(0, 0), 0))

    def _beat(self, operation: Operation, beat: int) -> dict[str, Any]:
        lanes = self.g.lanes
        part = slice(beat * lanes, (beat + 1) * lanes)
        noise = self.rng.integers(0, 1 << 32, (len(WORDS), self.g.warp_size), np.uint32)
        words = {name: operation.words.get(name, row) for name, row in zip(WORDS, noise, strict=True)}
        return {
            "function": operation.function, "warp": operation.warp, "base": operation.base, "d": operation.d,
            "writes_d": int(operation.registers > 0), "data_registers": operation.registers, "pd": operation.pd,
            "writes_pd": int(operation.writes_pd), "beat": beat, "last": int(beat == self.g.beats - 1),
            "mask": operation.mask >> part.start & (1 << lanes) - 1,
            **{name: [int(x) for x in row[part]] for name, row in words.items()
               if name in self.unit.op.payload.shape().members},
        }

    async def monitor(self, ctx):
        """Testbench, to be added first, that takes the writes and checks their form."""
        unit = self.unit
        ports = [unit.write, *([unit.predicate] if hasattr(unit, "predicate") else [])]
        held: list[int | None] = [None] * len(ports)
        values = [x for port in ports for x in (port.valid, port.payload, port.payload.as_value())]
        accepted = iter(self.operations)
        while True:
            taken = [not self.busy() for _ in ports]
            for port, ready in zip(ports, taken, strict=True):
                ctx.set(port.ready, ready)
            _, _, room, arrives, last, *found = await ctx.tick().sample(
                unit.room, unit.op.valid, unit.op.payload.last, *values)
            if arrives and last:
                next(accepted).accepted = self.cycle
            self.places += room
            assert self.places <= 1, "room for more than one instruction"
            for number, ready in enumerate(taken):
                valid, payload, bits = found[3 * number:3 * number + 3]
                assert held[number] is None or (valid and bits == held[number]), "what was offered has changed"
                held[number] = bits if valid and not ready else None
                if valid:
                    self._take(payload, ready, number == 1)
            self.cycle += 1

    def _take(self, payload, ready: bool, predicate: bool):
        """Check one beat of the oldest instruction not yet written, and keep its values."""
        operation, lanes = self.unwritten[0], self.g.lanes
        assert operation.accepted >= 0 and predicate == operation.writes_pd, "a write of no instruction"
        if operation.offered < 0:
            operation.offered = self.cycle
        if not ready:
            return
        register, beat = divmod(operation.beats, self.g.beats)
        last = beat == self.g.beats - 1
        assert (payload.warp, payload.beat, payload.last) == (operation.warp, beat, last)
        assert payload.mask == operation.mask >> beat * lanes & (1 << lanes) - 1
        active = [lane for lane in range(lanes) if payload.mask >> lane & 1]
        if predicate:
            assert payload.predicate == operation.pd
            operation.tested |= {beat * lanes + lane: payload.value >> lane & 1 for lane in active}
        else:
            assert (payload.base, payload.register, payload.release) == (operation.base, operation.d + register, last)
            if beat == 0:
                operation.written.append({})
            operation.written[register] |= {beat * lanes + lane: payload.data[lane] for lane in active}
        operation.beats += 1
        if operation.beats == self.g.beats * max(1, operation.registers):
            operation.finished = self.cycle
            self.unwritten.pop(0)

    def run(self, *others, limit: int = 1_000_000):
        """Simulate until every operation has been written, with `others` as further testbenches beside it.

        Raises
        ------
        TimeoutError
            If something is not written within `limit` cycles.
        """
        async def wait(ctx):
            await self.drive(ctx)
            while self.unwritten:
                if self.cycle > limit:
                    raise TimeoutError(f"{len(self.unwritten)} operations not written after {limit} cycles")
                await ctx.tick()

        sim = self.simulator(self.unit)
        sim.add_clock(1e-6)
        sim.add_testbench(self.monitor, background=True)
        for other in others:
            sim.add_testbench(other, background=True)
        sim.add_testbench(wait)
        sim.run()
