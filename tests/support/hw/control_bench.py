"""A control unit between a front end that only keeps time, an engine driven by the test, and a bus."""

from __future__ import annotations

import math
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any
from unittest import mock

from amaranth.hdl import Cat, Module

from caesura.hw.arch.commands import Command, KernelState
from caesura.hw.arch.faults import CommandError
from caesura.hw.arch.geometry import PC_NONE, Geometry
from caesura.hw.arch.registers import register_map
from caesura.hw.control import control_unit
from caesura.hw.interfaces.payloads import warp_init
from caesura.hw.preempt.engine import PreemptEngine

from .simulation import Context, Simulator, component

MAP = register_map()


@dataclass
class Kernel:
    """A kernel that a test launches."""

    grid: tuple[int, int, int] = (1, 1, 1)
    threads: int = 8
    registers: int = 4
    shared_bytes: int = 0
    warps: int | None = None

    @property
    def tbs(self) -> int:
        """Number of TBs of the grid."""
        return math.prod(self.grid)


@dataclass
class Warp:
    """A warp slot of the front end."""

    tb: int
    kernel: int
    block_warp: int
    base: int
    registers: int
    launched: int
    live_vector: int
    kept: int
    pushes: list = field(default_factory=list)
    running: bool = False
    left: int = 0


class SilentEngine(PreemptEngine):
    """An engine whose outputs the test drives."""

    def elaborate(self, platform: object) -> Module:
        return Module()


class ControlUnit(control_unit.ControlUnit):
    """With a `silent_engine`, which is there once the unit has been elaborated."""

    def elaborate(self, platform: object) -> Module:
        self.silent_engine = SilentEngine(self.geometry)
        with mock.patch.object(control_unit, "PreemptEngine", lambda g: self.silent_engine):
            return super().elaborate(platform)


class ControlBench:
    """Runs a control unit; `front` follows every cycle and checks what the control unit may never do.

    Attributes
    ----------
    started : list of (kernel, launch id, (x, y, z), registers, lines), in order of their start
    engine : SilentEngine
        Of the unit, from the begin of a run.
    """

    engine: Any

    def __init__(self, g: Geometry, seed: int = 0, duration: tuple[int, int] = (1, 40), init_ready: float = 0.7):
        self.g, self.rng, self.duration, self.init_ready = g, random.Random(seed), duration, init_ready
        self.warps: list[Warp | None] = [None] * g.warps
        self.kernels = {}
        self.started = []
        self.killed = 0
        self.stuck = set()     # kernels whose warps never exit
        self.invalidates = 0
        self.released = 0      # warps the engine gave back although they have not exited
        self.exited = 0        # warp slots whose warp has exited

    def run(self, bench: Callable[[ControlBench, Context], Awaitable[None]], cycles: int = 20_000):
        """Simulate `bench(self, ctx)`, which must end within `cycles`."""
        self.dut = component(ControlUnit, self.g)
        self.limit = cycles

        async def main(ctx: Context):
            self.engine = self.dut.silent_engine
            ctx.set(self.engine.command.ready, 1)
            await bench(self, ctx)

        simulator = Simulator(self.dut)
        simulator.add_clock(1e-6)
        simulator.add_testbench(main)
        simulator.add_testbench(self.front, background=True)
        simulator.run()

    # the front end

    async def front(self, ctx: Context):
        dut, residency, launch = self.dut, self.dut.residency, self.dut.residency.launch
        signals = (launch.warp_init.valid, launch.warp_init.ready, launch.warp_init.payload, launch.stack_push.valid,
                   launch.stack_push.ready, launch.stack_push.payload, launch.start, residency.free, residency.kill,
                   dut.clear, dut.tbs, residency.invalidate)
        inputs = Cat(dut.core.stop.exited, launch.warp_init.ready, launch.stack_push.ready)
        for _ in range(self.limit):
            init_ready, push_ready = (self.rng.random() < self.init_ready for _ in range(2))
            ctx.set(inputs, self.exited | init_ready << self.g.warps
                    | push_ready << self.g.warps + 1)  # at once: every call of `set` evaluates the whole block
            _, _, *values = await ctx.tick().sample(*signals)
            (valid, ready, init, push_valid, _, push, start, free, self.kill, clear, tbs, invalidate) = values
            self.invalidates += invalidate
            assert clear.valid == (valid and ready) and (not clear.valid or clear.warp == init.warp)
            if clear.valid:
                assert self.warps[init.warp] is None, "initialised an occupied slot"
                members = {name: getattr(init, name) for name in warp_init(self.g).members}
                assert members.pop("live") == init.launched and not members.pop("waiting")
                del members["barrier"], members["warp"]
                self.warps[init.warp] = Warp(**members)
                self._check_registers(init.warp)
            if push_valid and push_ready:
                self.warps[push.warp].pushes.append((push.pc, push.mask, push.reconv))
            if start.valid:
                self._start(start.tb, tbs)
            for slot in range(self.g.warps):
                if free >> slot & 1:
                    assert (self.exited | self.released) >> slot & 1, "freed a warp that runs"
                    self.warps[slot] = None
            self._advance()
        raise AssertionError(f"not ended after {self.limit} cycles")

    def _check_registers(self, slot: int):
        """No register belongs to two warps."""
        new = self.warps[slot]
        assert new is not None
        for other in self.warps:
            if other is not None and other is not new:
                assert new.base + new.registers <= other.base or other.base + other.registers <= new.base

    def _start(self, tb: int, tbs: Any):
        own = sorted((w for w in self.warps if w and w.tb == tb), key=lambda w: w.block_warp)
        kernel, info = own[0].kernel, tbs[tb]
        launch = self.kernels[kernel]
        assert [w.block_warp for w in own] == list(range(-(-launch.threads // self.g.warp_size)))
        assert sum(w.launched.bit_count() for w in own) == launch.threads
        assert own[0].base % 4 == 0
        for w in own:
            assert w.kernel == kernel and w.pushes == [(0, w.launched, PC_NONE)] and not w.running
            assert w.base == own[0].base + w.block_warp * launch.registers and w.registers == launch.registers
            w.running = True
            w.left = self.rng.randint(*self.duration)
        x, y, z = info.ctaid_x, info.ctaid_y, info.ctaid_z
        assert info.kernel == kernel and info.shared_bytes == launch.shared_bytes
        assert info.launch_id == x + launch.grid[0] * (y + launch.grid[1] * z)
        lines = -(-launch.shared_bytes // 128)
        self.started.append((kernel, info.launch_id, (x, y, z), own[0].base, info.shared_base // 128, lines))

    def _advance(self):
        self.exited = 0
        for slot, warp in enumerate(self.warps):
            if warp is None:
                continue
            if warp.running and (warp.kernel not in self.stuck or self.kill >> slot & 1):
                warp.left -= 1
            self.exited |= (warp.running and warp.left <= 0) << slot

    # the bus

    async def write(self, ctx: Context, path: str, value: int):
        ctx.set(self.dut.host.address, MAP[path].address)
        ctx.set(self.dut.host.write_data, value)
        ctx.set(self.dut.host.write, 1)
        await ctx.tick()
        ctx.set(self.dut.host.write, 0)

    async def read(self, ctx: Context, path: str, field: str | None = None) -> int:
        ctx.set(self.dut.host.address, MAP[path].address)
        await ctx.tick()
        word = ctx.get(self.dut.host.read_data)
        return word if field is None else MAP[path].fields[field].extract(word)

    async def command(self, ctx: Context, op: Command, kernel: int, **fields: int) -> CommandError:
        """Write a command; return whether it was accepted, and status.error."""
        await self.write(ctx, "event", MAP["event"].pack(refused=1))
        await self.write(ctx, "command", MAP["command"].pack(op=op, kernel=kernel, **fields))
        refused = await self.read(ctx, "event", "refused")
        error = CommandError(await self.read(ctx, "status", "error"))
        assert refused == (error != CommandError.NONE)
        return error

    async def describe(self, ctx: Context, k: int, kernel: Kernel):
        self.kernels[k] = kernel
        warps = -(-kernel.threads // self.g.warp_size) if kernel.warps is None else kernel.warps
        for name, value in zip("xyz", kernel.grid, strict=True):
            await self.write(ctx, f"kernel[{k}].grid_{name}", value)
        sizes = MAP[f"kernel[{k}].sizes"].pack(threads=kernel.threads, registers=kernel.registers, warps=warps)
        await self.write(ctx, f"kernel[{k}].sizes", sizes)
        await self.write(ctx, f"kernel[{k}].shared_bytes", kernel.shared_bytes)

    async def launch(self, ctx: Context, k: int, kernel: Kernel):
        await self.describe(ctx, k, kernel)
        assert await self.command(ctx, Command.START, k) == CommandError.NONE

    async def state(self, ctx: Context, k: int) -> KernelState:
        return KernelState(await self.read(ctx, f"kernel[{k}].state", "state"))

    async def finish(self, ctx: Context, *kernels: int, clear: bool = True):
        """Wait for these kernels' finished events."""
        mask = sum(1 << k for k in kernels)
        while await self.read(ctx, "event", "finished") & mask != mask:
            pass
        if clear:
            await self.write(ctx, "event", mask)

    async def until(self, ctx: Context, path: str, field: str, value: int):
        while await self.read(ctx, path, field) != value:
            pass

    # the engine

    async def result(self, ctx: Context, error: CommandError = CommandError.NONE, left: int = 0):
        ctx.set(self.engine.result, {"valid": 1, "error": error, "left": left})
        await ctx.tick()
        ctx.set(self.engine.result.valid, 0)

    async def admit(self, ctx: Context, tb: dict[str, int]) -> Any:
        """Ask for room for a restored TB, in as many passes as it takes; return the answer."""
        engine = self.engine
        while True:
            ctx.set(engine.admit.payload, tb)
            ctx.set(engine.admit.valid, 1)
            while not (await ctx.tick().sample(engine.admit.ready))[-1]:
                pass
            ctx.set(engine.admit.valid, 0)
            while not ctx.get(engine.admitted.valid):
                await ctx.tick()
            place = ctx.get(engine.admitted)
            if not place.full:
                return place
            await self.result(ctx, left=1)
            await ctx.tick().until(engine.command.valid)

    async def release(self, ctx: Context, tb: int):
        row = ctx.get(self.engine.resident[tb])
        self.released = row.warps
        ctx.set(self.engine.release, {"valid": 1, "tb": tb})
        await ctx.tick()
        ctx.set(self.engine.release.valid, 0)
        await ctx.tick()
        self.released = 0

    def rows(self, ctx: Context, kernel: int | None = None) -> dict[int, Any]:
        """TB slots in use, of one kernel."""
        rows = [ctx.get(self.engine.resident[t]) for t in range(self.g.tb_slots)]
        return {t: row for t, row in enumerate(rows) if row.valid and kernel in (None, row.kernel)}
