"""A stand-in for the SM, its dispatcher and its memory around a `PreemptEngine`, stepped cycle by cycle."""

import random
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import pytest
from amaranth.hdl import Cat, Value
from amaranth.lib.data import Layout

from caesura.hw.arch.geometry import Geometry, preset
from caesura.hw.arch.registers import UNLIMITED_PATIENCE
from caesura.hw.preempt.engine import PreemptEngine

from ..options import nested
from ..scalars import pair_values, written_uniforms
from ..simulation import Context, Simulator, component
from .memory import SEGMENT, Memory
from .sm import Sm, Tb, Warp

Place = tuple[int, int, int, Sequence[int]]
"""Place of a TB: its slot, its first register, its first line of shared memory, its warp slots."""
TINY = preset("tiny")
WIDE = preset("gtx480").replace(warps=6, tb_slots=3, registers=128, shared_bytes=1536, memory_latency=20, stack_depth=6)
SMALL = TINY.replace(warps=6, tb_slots=3)
GEOMETRIES = {
    "tiny": TINY,
    "bus4": TINY.replace(bus_bytes=4, bytes_per_cycle=4.0),
    "bus16": TINY.replace(bus_bytes=16, lanes=4),
    "without": TINY.replace(tb_compressor=False, checkpoints=False, in_place=False),
    "spare": TINY.replace(entries=6),
    "wide": WIDE,
    "beats": WIDE.replace(lanes=8, bus_bytes=8, bytes_per_cycle=8.0),
    "bus128": WIDE.replace(bus_bytes=128, bytes_per_cycle=128.0),
}


class Machine(Sm):
    """Everything around the engine. Call `run` with a coroutine that issues commands through `command`."""

    def __init__(self, g: Geometry, seed: int | str = 0, stall: float = 0.0, latency: int | None = None,
                 write_latency: int | None = None):
        super().__init__(g, seed)
        self.stall = stall
        self.dut = component(PreemptEngine, g)
        core, launch = self.dut.core, self.dut.launch
        self.streams = {"save_read": core.registers.read, "restore_write": core.registers.restore_write,
                        "restore_predicate": core.registers.restore_predicate,
                        "warp_init": launch.warp_init, "stack_push": launch.stack_push, "row": core.shared.row}
        latency = latency or g.memory_latency
        self.memory = Memory(g, latency, write_latency or latency, random.Random(seed))
        self.log = self.memory.log
        self.pending = self.stop_now = self.claim = 0
        self.admissions, self.read_data, self.row_data = deque(), None, None
        self.admission_cycles: Callable[[int], int] = lambda kernel: self.rng.randint(1, 6)  # until the answer
        self.dead_written, self.started = {}, []
        self.place: Callable[[int], Place] = lambda kernel: pytest.fail("nothing was to be admitted")
        self.full_until = {}  # launch id of a restored TB: cycle before which there is no room for it
        self.last, self.changes = {}, []

    # --- the engine, a cycle at a time ---

    def ready(self) -> bool:
        return self.rng.random() >= self.stall

    def put(self, port: Any, value: Any):
        """Note an input that changes, for `flush`."""
        if self.last.get(id(port)) != value:
            self.last[id(port)] = value
            self.changes.append((port, value))

    def flush(self, ctx: Context):
        """Set the inputs that change, all at once: every call of `set` evaluates the whole block."""
        if self.changes:
            parts, bits, width = [], 0, 0
            for port, value in self.changes:
                signal, shape = Value.cast(port), port.shape()
                number = shape.const(value).as_bits() if isinstance(shape, Layout) else value
                parts.append(signal)
                bits |= (number & (1 << len(signal)) - 1) << width
                width += len(signal)
            ctx.set(Cat(parts), bits)
            self.changes.clear()

    def drive(self, ctx: Context, again: bool = False):
        """Set all inputs of this cycle, perhaps `again`; they follow from registered outputs."""
        dut, g = self.dut, self.g
        self.pending, self.stop_now = ctx.get(dut.core.stop.pending), ctx.get(dut.core.stop.stop_now)
        assert not self.stop_now & ~self.pending
        for t in range(g.tb_slots):
            if self.pending >> t & 1:
                self.since.setdefault(t, self.now)
            else:
                self.since.pop(t, None)
            if self.stop_now >> t & 1:
                self.halted.setdefault(t, self.age(t))
            else:
                self.halted.pop(t, None)
        for warp in self.warps.values():
            warp.stood = self.stopped(warp)
            warp.between = warp.stood and not warp.waiting and warp.stops > self.halted.get(warp.tb, warp.stops)
        self.put(dut.core.stop.stopped, sum(1 << s for s, w in self.warps.items() if self.stopped(w)))
        self.put(dut.core.stop.exited, sum(1 << s for s, w in self.warps.items() if self.exited(w)))
        self.put(dut.core.shared.valid, self.lines_valid)
        self.put(dut.core.shared.dirty, self.lines_dirty)
        self.put(dut.resident, [self.row(t) for t in range(g.tb_slots)])
        self.claim = ctx.get(dut.claim)
        self.views(ctx)
        for stream in self.streams.values():
            self.put(stream.ready, self.ready())
        for port in (dut.read_port, dut.write_port):
            self.put(port.request.ready, self.ready())
        self.put(dut.write_port.beat.ready, self.ready() and bool(self.memory.requests))
        for port, words in ((dut.core.registers.read_data, self.read_data), (dut.core.shared.row_data, self.row_data)):
            self.put(port, {"valid": 0} if words is None else {"valid": 1, "data": words})
        self.drive_memory()
        if not again:
            self.drive_dispatcher(ctx)
        self.flush(ctx)

    def row(self, t: int) -> dict[str, Any]:
        if t not in self.tbs:
            return {}
        tb = self.tbs[t]
        return {"valid": 1, "started": tb.started, "kernel": tb.kernel, "launch_id": tb.launch_id,
                "ctaid_x": tb.ctaid[0], "ctaid_y": tb.ctaid[1], "ctaid_z": tb.ctaid[2], "base": tb.base,
                "first_line": tb.first_line, "lines": tb.lines, "entry": tb.entry,
                "warps": sum(1 << s for s in tb.slots)}

    def views(self, ctx: Context):
        save, flags = self.dut.core.warps.save, self.dut.core.registers.flags
        select = ctx.get(save.window.select)
        warp = self.warps.get(select.warp)
        if warp:
            kernel = self.tbs[warp.tb].kernel
            pc, mask, reconv = warp.stack[select.entry] if select.entry < len(warp.stack) else (0, 0, 0)
            self.put(save.window.view, {
                "valid": 1, "tb": warp.tb, "kernel": kernel, "block_warp": warp.block_warp, "base": warp.base,
                "registers": self.kernels[kernel].registers, "launched": warp.launched, "live": warp.live,
                "waiting": warp.waiting, "barrier": warp.barrier, "parked": 1, "between": warp.between,
                "live_vector": warp.live_vector,
                "depth": len(warp.stack), "pc": pc, "mask": mask, "reconv": reconv})
            self.put(save.uniforms_written, sum(1 << u for u in warp.uniforms))
            self.put(save.uniform_values, pair_values(warp.uniforms, ctx.get(save.uniform_select)))
        warp = self.warps.get(ctx.get(flags.warp))
        if warp:
            self.put(flags.valid, warp.valid)
            self.put(flags.dirty, warp.dirty)
            self.put(flags.predicates_written, sum(1 << p for p in warp.predicates))
            self.put(flags.predicate_value, warp.predicates.get(ctx.get(flags.predicate_select), 0))

    def drive_memory(self):
        dut, memory, n = self.dut, self.memory, self.g.bus_bytes
        beat, ack = dut.read_port.beat, dut.write_port.ack
        ready = memory.reads and memory.reads[0][0] <= self.now and self.ready()
        self.put(beat.valid, bool(ready))
        if ready:
            _, address, last, bad = memory.reads[0]
            self.put(beat.payload, {"data": int.from_bytes(memory.bytes[address:address + n], "little"),
                                    "last": last, "error": bad})
        ready = memory.acks and memory.acks[0][0] <= self.now and self.ready()
        self.put(ack.valid, bool(ready))
        if ready:
            self.put(ack.payload, {"error": memory.acks[0][2]})

    def drive_dispatcher(self, ctx: Context):
        """Answer admissions after a while, in a place of `self.place(kernel)`."""
        dut = self.dut
        self.put(dut.admit.ready, self.ready() and not self.admissions)
        answer = {"valid": 0}
        asked = self.admissions.popleft()[1] if self.admissions and self.admissions[0][0] <= self.now else None
        if asked is not None and self.now < self.full_until.get(asked.launch_id, 0):
            answer = {"valid": 1, "full": 1}
        elif asked is not None:
            tb, base, first_line, slots = self.place(asked.kernel)
            k = self.kernels[asked.kernel]
            self.tbs[tb] = Tb(asked.kernel, asked.launch_id, (asked.ctaid_x, asked.ctaid_y, asked.ctaid_z), base,
                              first_line, -(-k.shared_bytes // SEGMENT), list(slots), asked.entry, started=False)
            mine = (1 << self.tbs[tb].lines) - 1 << first_line
            self.lines_valid, self.lines_dirty = self.lines_valid & ~mine, self.lines_dirty & ~mine
            every = list(slots) + [0] * (self.g.max_block_warps - len(slots))
            answer = {"valid": 1, "tb": tb, "base": base, "first_line": first_line, "slots": every}
        self.put(dut.admitted, answer)

    def observe(self, ctx: Context):
        """Carry out the transfers of this cycle."""
        dut, g = self.dut, self.g
        taken = {name: ctx.get(port.payload) for name, port in (self.streams | {"admit": dut.admit}).items()
                 if ctx.get(port.valid) and ctx.get(port.ready)}
        self.read_data = self.row_data = None
        if "save_read" in taken:
            r = taken["save_read"]
            assert self.stopped(self.warps[r.warp]) or self.warps[r.warp].killed
            assert r.base == self.warps[r.warp].base
            self.read_data = self.file[r.base + r.register][r.beat * g.lanes:(r.beat + 1) * g.lanes]
        if "row" in taken:
            r = taken["row"]
            place = r.row * g.lanes
            if r.write:
                self.shared[place:place + g.lanes] = list(r.data)
                self.lines_valid |= 1 << place // 32
                self.lines_dirty |= 1 << place // 32
            else:
                self.row_data = self.shared[place:place + g.lanes]
        if "warp_init" in taken:
            self.init_warp(taken["warp_init"])
        if "stack_push" in taken:
            p = taken["stack_push"]
            self.warps[p.warp].stack.append((p.pc, p.mask, p.reconv))
        if "restore_write" in taken:
            self.write_register(taken["restore_write"])
        if "restore_predicate" in taken:
            predicate = taken["restore_predicate"]
            self.warps[predicate.warp].predicates[predicate.predicate] = predicate.value
        if ctx.get(dut.core.warps.restore_uniform.valid):
            uniform = ctx.get(dut.core.warps.restore_uniform)
            written = written_uniforms(uniform)
            assert not written.keys() & self.warps[uniform.warp].uniforms.keys()
            self.warps[uniform.warp].uniforms |= written
        if "admit" in taken:
            asked = taken["admit"]
            self.admissions.append((self.now + self.admission_cycles(asked.kernel), asked))
        self.clean(ctx)
        self.observe_memory(ctx)
        if ctx.get(dut.release.valid):
            release = ctx.get(dut.release)
            row = self.tbs.pop(release.tb)
            self.log.append((self.now, "release", release.tb, row.entry))
            for slot in row.slots:
                self.warps.pop(slot, None)
        if ctx.get(dut.launch.start.valid):
            start = ctx.get(dut.launch.start)
            assert not self.tbs[start.tb].started
            self.tbs[start.tb].started = True
            self.started.append(start.tb)
            self.log.append((self.now, "start", start.tb, self.tbs[start.tb].entry))

    def clean(self, ctx: Context):
        """Clean the registers and lines that the engine names; their TBs do not run."""
        warps, lines = ctx.get(self.dut.core.registers.clean), ctx.get(self.dut.core.shared.clean)
        for slot, warp in self.warps.items():
            if warps >> slot & 1:
                assert not self.tbs[warp.tb].started or self.stopped(warp) or self.exited(warp)
                warp.dirty = 0
        if lines.valid:
            self.lines_dirty &= ~((1 << lines.count) - 1 << lines.first)

    def init_warp(self, w: Any):
        row, old = self.tbs[w.tb], self.warps.get(w.warp)
        assert row.slots[w.block_warp] == w.warp and not row.started and w.kept == (old is not None)
        assert w.kernel == row.kernel and w.registers == self.kernels[row.kernel].registers
        assert w.base == row.base + w.block_warp * w.registers
        self.warps[w.warp] = Warp(w.tb, w.block_warp, w.base, w.launched, w.live, w.waiting, w.barrier,
                                  live_vector=w.live_vector, stops=10**9)
        if old is not None:
            assert (old.tb, old.block_warp, old.base) == (w.tb, w.block_warp, w.base)
            assert not old.stack and not old.predicates and not old.uniforms
            new = self.warps[w.warp]
            new.valid, new.dirty, new.kept = old.valid, old.dirty, old.valid

    def write_register(self, w: Any):
        warp = self.warps[w.warp]
        assert w.base == warp.base and w.mask == (1 << self.g.lanes) - 1 and not w.release
        assert w.register < self.kernels[self.tbs[warp.tb].kernel].registers
        beats = self.dead_written.setdefault((w.warp, w.register), [])
        beats.append(w.beat)
        assert beats == list(range(len(beats))) and w.last == (len(beats) == self.g.beats)
        if w.last:
            del self.dead_written[w.warp, w.register]
            assert not (warp.valid & ~warp.kept) >> w.register & 1, "written twice"
            warp.valid |= 1 << w.register
            warp.dirty |= 1 << w.register
            warp.kept &= ~(1 << w.register)
        self.file[w.base + w.register][w.beat * self.g.lanes:(w.beat + 1) * self.g.lanes] = list(w.data)

    def observe_memory(self, ctx: Context):
        dut, memory = self.dut, self.memory
        for port, act in ((dut.read_port.request, lambda p: memory.read(self.now, p.address, p.extra_beats)),
                          (dut.write_port.beat, lambda p: memory.write_beat(self.now, p)),
                          (dut.write_port.request, lambda p: memory.write_request(self.now, p.address, p.extra_beats))):
            if ctx.get(port.valid) and ctx.get(port.ready):
                act(ctx.get(port.payload))
        beat, ack = dut.read_port.beat, dut.write_port.ack
        if ctx.get(beat.valid) and ctx.get(beat.ready):
            memory.reads.popleft()
        if ctx.get(ack.valid) and ctx.get(ack.ready):
            _, address, bad = memory.acks.popleft()
            self.log.append((self.now, "ack", address, bad))

    # --- running ---

    async def cycle(self, ctx: Context):
        self.observe(ctx)
        await ctx.tick()
        self.now += 1
        self.drive(ctx)

    async def command(self, ctx: Context, limit: int = 20000, during: Callable[[int], None] | None = None,
                      **fields: Any) -> tuple[Any, dict[str, int], int]:
        """Run a command to its end, a resume with as many passes as it needs; return (error, counters, cycles).

        `during(cycle)` is called every cycle, and may change the inputs.
        """
        begin = self.now
        result = await self.attempt(ctx, begin + limit, during, **fields)
        while result.left and not result.error and not ctx.get(self.dut.withdraw):
            while self.now < max(self.full_until.values(), default=0):
                await self.cycle(ctx)
            result = await self.attempt(ctx, begin + limit, during, **fields, again=1)
        took = self.now - begin
        await self.cycle(ctx)
        counters = ctx.get(self.dut.counters)
        return result.error, {name: counters[name] for name, _ in counters.shape()}, took

    def free_ended(self, claim: int):
        """Remove TBs that the engine does not claim when all their warps have exited, as the dispatcher does."""
        for t, row in [*self.tbs.items()]:
            if row.started and not claim >> t & 1 and all(self.exited(self.warps[slot]) for slot in row.slots):
                del self.tbs[t]
                for slot in row.slots:
                    del self.warps[slot]

    async def attempt(self, ctx: Context, limit: int, during: Callable[[int], None] | None = None,
                      **fields: Any) -> Any:
        """Run what the engine takes as one command, which ends before cycle `limit`; returns the result."""
        dut, begin = self.dut, self.now
        ctx.set(dut.command.payload, nested(dut.command.payload.shape(), {"patience": UNLIMITED_PATIENCE} | fields))
        ctx.set(dut.command.valid, 1)
        while not ctx.get(dut.command.ready):
            await self.cycle(ctx)
        await self.cycle(ctx)
        ctx.set(dut.command.valid, 0)
        while not ctx.get(dut.result.valid):
            if during:
                during(self.now - begin)
                self.drive(ctx, again=True)
            await self.cycle(ctx)
            self.free_ended(ctx.get(dut.claim))
            assert self.now < limit, "the command does not end"
        result = ctx.get(dut.result)
        await self.cycle(ctx)
        assert ctx.get(dut.core.stop.pending) == ctx.get(dut.core.stop.stop_now) == ctx.get(dut.claim) == 0
        return result

    def run(self, scenario: Callable[[Context], Awaitable[None]]):
        """Simulate `scenario(ctx)`; every command in it is bounded."""
        async def bench(ctx: Context):
            for k, kernel in self.kernels.items():
                for name in ("registers", "warps", "shared_bytes", "area_bytes", "ccb_base", "block_x"):
                    ctx.set(self.dut.kernels[k][name], getattr(kernel, name))
                ctx.set(self.dut.kernels[k].local_base, 0x1000 * k)
            self.drive(ctx)
            await scenario(ctx)

        simulator = Simulator(self.dut)
        simulator.add_clock(1e-6)
        simulator.add_testbench(bench)
        simulator.run()
