"""A test bench for `hw.core.front_end.front.FrontEnd`: fake pipeline and memory, and a reference model stepped by its
trace.

Registers hold nothing here; predicates get values that depend only on the warp and on how many instructions it has
retired. A predicate becomes visible when it is released, so an instruction that issues too early takes the wrong
lanes; a register hazard is checked directly. Uniform registers have values, and each write of them is compared. Each
retired instruction steps the reference model of its warp, which must come to the same PC, opcode and mask.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from caesura.hw.arch.geometry import PREDICATES, UNIFORMS, Geometry
from caesura.hw.arch.isa.opcodes import PT, VECTOR_WORDS, Unit
from caesura.hw.arch.isa.words import Instruction, encode
from caesura.hw.core.execution_units import EXECUTION_UNITS, MEMORY_UNITS
from caesura.hw.core.front_end.front import FrontEnd
from caesura.sim.events import Simulator

from .code_memory import CODE_BASE, CODE_STRIDE, CodeMemory
from .control_flow import ReferenceWarp

__all__ = ["FrontEndBench", "CODE_BASE"]


def _add(counts, key, change: int) -> None:
    counts[key] += change


class FrontEndBench:
    """Drives a `FrontEnd`, checks everything it issues, and keeps a reference model a warp.

    Parameters
    ----------
    g : Geometry
    programs : list of list of Instruction
        Code of each kernel slot.
    seed : int
        For all delays.
    latency : int
        Of the instruction memory.
    smooth : bool
        The pipeline takes an instruction in every cycle, ALU results come after `alu_latency` cycles.
    dut : FrontEnd, optional
        Of geometry `g`; a new one unless given.
    simulator : type
        What `run` simulates with.
    trap_bases : sequence of int
        Where the trap vectors of each kernel slot begin, 0 if it has none.

    Attributes
    ----------
    dut : FrontEnd
    warps : dict of int to ReferenceWarp
        By warp slot.
    tb_of : dict of int to int
        TB slot of each warp slot.
    faults : list of (kind, warp, pc)
    retired : list of (cycle, warp, pc)
    stood : int
        Vector: warps that had stopped in the cycle before.
    trapped : int
        Vector: TB slots that have been asked to trap.
    now : int
        Cycles simulated.
    """

    def __init__(self, g: Geometry, programs: list[list[Instruction]], *, seed: int = 0, latency: int = 8,
                 smooth: bool = False, dut: FrontEnd | None = None, simulator: Callable[..., Any] = Simulator,
                 trap_bases: Sequence[int] = ()):
        self.trap_bases = (*trap_bases, *[0] * len(programs))
        self.g, self.programs, self.smooth, self.simulator = g, programs, smooth, simulator
        self.dut = dut or FrontEnd(g)
        self.random = random.Random(seed)
        self.memory = CodeMemory(g, self.dut.icache_port, latency)
        self.now = 0
        self.warps: dict[int, ReferenceWarp] = {}
        self.tb_of: dict[int, int] = {}
        self.faults: list[tuple[int, int, int]] = []
        self.stood = self.trapped = 0
        self.retired: list[tuple[int, int, int]] = []
        self.visible = [[0] * PREDICATES for _ in range(g.warps)]
        self.pending_registers: list[set[int]] = [set() for _ in range(g.warps)]
        self.pending_predicates: list[set[int]] = [set() for _ in range(g.warps)]
        self.pending_uniforms: list[tuple[int, int] | None] = [None] * g.warps
        self.uniform_predicates: deque = deque()
        self.uniform_beats: list[tuple[int, int]] = []
        self.constant_write: tuple[int, int, int] | None = None
        self.outstanding = {kind: [0] * g.warps for kind in ("load", "store", "shared", "atomic")}
        self.places = {row.name: row.places(g) for row in EXECUTION_UNITS}
        self.completions = {row.name: getattr(self.dut, f"{row.name}_completion") for row in MEMORY_UNITS}
        self.due: dict[str, list] = {name: [] for name in (
            "register", "predicate", "constant", *self.outstanding, *(f"{unit}_room" for unit in self.places))}
        for k, program in enumerate(programs):
            self.memory.load(self.code_base(k), [encode(instruction) for instruction in program])

    @staticmethod
    def code_base(kernel: int) -> int:
        """Return the address of a kernel's code."""
        return CODE_BASE + kernel * CODE_STRIDE

    # What a test asks for

    def set_up(self, ctx, registers: int | None = None) -> None:
        """Fill the kernel table."""
        for k, program in enumerate(self.programs):
            kernel = self.dut.kernels[k]
            ctx.set(kernel.code_base, self.code_base(k))
            ctx.set(kernel.code_words, len(program))
            ctx.set(kernel.registers, registers or self.g.regs_per_thread)
            if self.g.traps:
                ctx.set(kernel.trap_base, self.trap_bases[k])

    async def launch(self, ctx, tb: int, kernel: int, slots: Sequence[int], *, key: tuple = (), last_lanes: int = 0,
                     registers: int | None = None) -> None:
        """Start a new TB in the given warp slots; the last warp has `last_lanes` lanes if given."""
        for index, slot in enumerate(slots):
            lanes = last_lanes if last_lanes and index == len(slots) - 1 else self.g.warp_size
            warp = ReferenceWarp(self.g, self.programs[kernel], (key, index), (1 << lanes) - 1,
                                 self.trap_bases[kernel])
            await self.place(ctx, tb, kernel, slot, index, warp, registers=registers)
        await self.start(ctx, tb)

    async def place(self, ctx, tb: int, kernel: int, slot: int, index: int, warp: ReferenceWarp,
                    registers: int | None = None) -> None:
        """Put a warp with its stack, predicates and uniform registers into a slot."""
        dut = self.dut
        ctx.set(dut.residency.launch.warp_init.payload, {
            "warp": slot, "tb": tb, "kernel": kernel, "block_warp": index, "base": 4 * slot % self.g.registers,
            "registers": registers or self.g.regs_per_thread, "launched": warp.launched, "live": warp.live,
            "waiting": warp.waiting, "barrier": warp.barrier, "live_vector": warp.live_vector})
        await self._transfer(ctx, dut.residency.launch.warp_init)
        self.warps[slot], self.tb_of[slot] = warp, tb
        self.visible[slot] = list(warp.predicates)
        for pc, mask, reconv in warp.stack:
            ctx.set(dut.residency.launch.stack_push.payload, {"warp": slot, "pc": pc, "mask": mask, "reconv": reconv})
            await self._transfer(ctx, dut.residency.launch.stack_push)
        for register, value in warp.uniforms.items():
            ctx.set(dut.state.restore_uniform, {"valid": 1 << register % 2, "warp": slot, "pair": register // 2,
                                                "values": [value, value]})
            await self.cycle(ctx)
        ctx.set(dut.state.restore_uniform.valid, 0)

    async def start(self, ctx, tb: int) -> None:
        """Let the warps of a TB run."""
        ctx.set(self.dut.residency.launch.start, {"valid": 1, "tb": tb})
        await self.cycle(ctx)
        ctx.set(self.dut.residency.launch.start.valid, 0)

    async def pulse(self, ctx, name: str, value: int = 1) -> None:
        """Hold the input `name` at `value` for one cycle."""
        ctx.set(getattr(self.dut.residency, name), value)
        await self.cycle(ctx)
        ctx.set(getattr(self.dut.residency, name), 0)

    async def free(self, ctx, slots: Sequence[int]) -> None:
        """Empty warp slots."""
        await self.pulse(ctx, "free", sum(1 << slot for slot in slots))
        for slot in slots:
            del self.warps[slot], self.tb_of[slot]
            assert not self.pending_registers[slot] and not self.pending_predicates[slot]
            assert self.pending_uniforms[slot] is None
            assert not any(counts[slot] for counts in self.outstanding.values())

    async def wait(self, ctx, condition, limit: int = 4000) -> int:
        """Run until ``condition()``; return the cycles it took."""
        for cycles in range(limit):
            if condition():
                return cycles
            await self.cycle(ctx)
        raise AssertionError(f"nothing happens any more in cycle {self.now}")

    async def stopped(self, ctx, slots: Sequence[int], limit: int = 1500) -> None:
        """Run until each slot is stopped or exited."""
        await self.wait(ctx, lambda: self.done(ctx, slots, "stopped", "exited"), limit)

    async def exited(self, ctx, slots: Sequence[int], limit: int = 4000) -> None:
        """Run until each slot is exited."""
        await self.wait(ctx, lambda: self.done(ctx, slots, "exited"), limit)

    def done(self, ctx, slots: Sequence[int], *vectors: str) -> bool:
        """Whether each slot is set in one of the output vectors."""
        together = 0
        for name in vectors:
            together |= ctx.get(getattr(self.dut.stop, name))
        return all(together >> slot & 1 for slot in slots)

    def check_view(self, ctx, slot: int, *, live_vector: bool) -> None:
        """Compare what the save and inspect ports show of a stopped warp with its reference model."""
        dut, warp = self.dut, self.warps[slot]
        ctx.set(dut.state.save.window.select.warp, slot)
        written = ctx.get(dut.state.save.uniforms_written)
        assert written == sum(1 << register for register in warp.uniforms)
        for pair in range(UNIFORMS // 2):
            ctx.set(dut.state.save.uniform_select, pair)
            assert [*ctx.get(dut.state.save.uniform_values)] == [warp.uniform(2 * pair), warp.uniform(2 * pair + 1)]
        for window in (dut.state.save.window, dut.inspect):
            select, view = window.select, window.view
            ctx.set(select, {"warp": slot, "entry": 0})
            depth = ctx.get(view.depth)
            if depth:
                ctx.set(select.entry, depth - 1)
                warp.catch_up(ctx.get(view.pc))
            stack = []
            for entry in range(depth):
                ctx.set(select.entry, entry)
                stack.append([ctx.get(view.pc), ctx.get(view.mask), ctx.get(view.reconv)])
            assert stack == [[pc, mask & warp.live, reconv] for pc, mask, reconv in warp.stack]
            assert ctx.get(view.valid)
            assert (ctx.get(view.live), ctx.get(view.launched)) == (warp.live, warp.launched)
            assert ctx.get(view.waiting) == warp.waiting
            assert ctx.get(view.tb) == self.tb_of[slot]
            assert ctx.get(view.exited) == (not warp.live)
            if warp.waiting:
                assert ctx.get(view.barrier) == warp.barrier
            if live_vector and warp.live:
                assert ctx.get(view.live_vector) == warp.live_vector

    def run(self, test) -> None:
        """Simulate the coroutine function `test`, which is given the simulator's context."""
        simulator = self.simulator(self.dut)
        simulator.add_clock(1e-6)
        simulator.add_testbench(test)
        simulator.run()

    # One cycle

    async def cycle(self, ctx) -> None:
        """Drive the fake pipeline and memory for a cycle, and check what the front end does in it."""
        dut = self.dut
        ready = self.smooth or self.random.random() < 0.8
        throttle = not self.smooth and self.random.random() < 0.1
        ctx.set(dut.execute.op.ready, ready)
        ctx.set(dut.execute.throttle, throttle)
        self.memory.drive(ctx, self.now)
        after = self._complete(ctx)
        select = ctx.get(dut.execute.predicates.select)
        full = (1 << self.g.warp_size) - 1
        for name in ("guard", "pa", "pb"):
            number = select[name]
            value = full if number == PT else self.visible[select.warp][number]
            ctx.set(getattr(dut.execute.predicates, name), value)
        ctx.set(dut.execute.uniform_predicate.ready, self.smooth or self.random.random() < 0.5)
        after += self._uniforms(ctx)
        self._check(ctx, ready, throttle)
        self._check_stopped(ctx)
        self.memory.sample(ctx, self.now)
        for change in after:
            change()
        await ctx.tick()
        self.now += 1

    async def _transfer(self, ctx, stream) -> None:
        ctx.set(stream.valid, 1)
        for _ in range(20):
            taken = ctx.get(stream.ready)
            await self.cycle(ctx)
            if taken:
                break
        else:
            raise AssertionError("not taken")
        ctx.set(stream.valid, 0)

    def _later(self, kind: str, item, delay: int) -> None:
        """Have something happen `delay` cycles from now."""
        self.due[kind].append((self.now + delay, item))

    def _take(self, kind: str):
        """Return one thing of a kind that is due now, or None."""
        ready = [entry for entry in self.due[kind] if entry[0] <= self.now]
        if not ready:
            return None
        entry = ready[0] if self.smooth else self.random.choice(ready)
        self.due[kind].remove(entry)
        return entry[1]

    def _complete(self, ctx) -> list[Callable[[], None]]:
        """Drive releases, completions and places given back; return what that changes from the next cycle on."""
        dut, after = self.dut, []
        register, predicate = self._take("register"), self._take("predicate")
        ctx.set(dut.execute.release_register.valid, register is not None)
        if register is not None:
            slot, number = register
            ctx.set(dut.execute.release_register, {"valid": 1, "warp": slot, "register": number})
            after.append(partial(self.pending_registers[slot].discard, number))
        ctx.set(dut.execute.release_predicate.valid, predicate is not None)
        if predicate is not None:
            slot, number, value = predicate
            ctx.set(dut.execute.release_predicate, {"valid": 1, "warp": slot, "predicate": number})
            after += [partial(self.pending_predicates[slot].discard, number),
                      partial(self.visible[slot].__setitem__, number, value)]
        for kind, counts in self.outstanding.items():
            done, slot = getattr(self.completions["shared" if kind == "shared" else "global"], kind), self._take(kind)
            ctx.set(done.valid, slot is not None)
            if slot is not None:
                ctx.set(done.warp, slot)
                after.append(partial(_add, counts, slot, -1))
        for unit in self.places:
            room = self._take(f"{unit}_room") is not None
            completion = self.completions.get(unit)
            ctx.set(dut.execute.room[unit] if completion is None else completion.room, room)
            if room:
                after.append(partial(_add, self.places, unit, 1))
        return after

    def _uniforms(self, ctx) -> list[Callable[[], None]]:
        """Check writes of uniform registers and uniform comparisons; return what they change from the next cycle on."""
        dut, after = self.dut, []
        if self.constant_write is None:
            self.constant_write = self._take("constant")
        ctx.set(dut.constant.valid, self.constant_write is not None)
        if self.constant_write is not None:
            slot, register, value = self.constant_write
            ctx.set(dut.constant.payload, {"warp": slot, "register": register, "keep": 1, "data": value})
            if ctx.get(dut.constant.ready):
                self.constant_write = None
        written = ctx.get(dut.trace_uniform)
        if written.valid:
            assert (written.register, written.value) == self.pending_uniforms[written.warp], written.warp
            after.append(partial(self.pending_uniforms.__setitem__, written.warp, None))
        port = dut.execute.uniform_predicate
        if ctx.get(port.valid) and ctx.get(port.ready):
            beat = ctx.get(port.payload)
            slot, number, mask, test, value = self.uniform_predicates[0]
            shift = len(self.uniform_beats) * self.g.lanes
            lanes = mask >> shift & (1 << self.g.lanes) - 1
            assert (beat.warp, beat.predicate, beat.beat) == (slot, number, len(self.uniform_beats))
            assert (beat.mask, beat.value) == (lanes, lanes if test else 0)
            self.uniform_beats.append((beat.mask, beat.value))
            assert beat.last == (len(self.uniform_beats) == self.g.beats)
            if beat.last:
                self.uniform_beats.clear()
                self.uniform_predicates.popleft()
                self._later("predicate", (slot, number, value), 1)
        return after

    def _check(self, ctx, ready: bool, throttle: bool) -> None:
        """Compare what retires in this cycle with the reference model."""
        dut = self.dut
        if ctx.get(dut.fault.valid):
            self.faults.append((int(ctx.get(dut.fault.kind)), ctx.get(dut.fault.warp), ctx.get(dut.fault.pc)))
        if self.g.traps:
            self.trapped |= ctx.get(dut.stop.trap)
        sent, trace = ctx.get(dut.execute.op.valid), ctx.get(dut.trace)
        assert ctx.get(dut.stop.issued) == trace.valid
        if not trace.valid:
            assert not sent
            return
        slot = trace.warp
        warp = self.warps[slot]
        if warp.waiting:
            self._released(slot)
        if warp.trap_base and not warp.routine and trace.pc >= warp.trap_base:
            warp.catch_up((trace.pc - warp.trap_base) // VECTOR_WORDS)
            assert self.trapped >> self.tb_of[slot] & 1, (slot, warp.pc)
            warp.trap()
        warp.catch_up(trace.pc)
        instruction = warp.code[warp.pc]
        get, pc = instruction.get, warp.pc
        operands = warp.predicate(get("pa"), get("pa_not")), warp.predicate(get("pb"), get("pb_not"))
        immediate = warp.immediate(instruction)
        *expected, value = warp.step()
        assert (trace.pc, trace.op, trace.mask) == tuple(expected), (slot, pc, instruction)
        self.retired.append((self.now, slot, pc))
        if instruction.op.name == "membar" or instruction.op.barrier is not None:
            assert not any(counts[slot] for counts in self.outstanding.values())
        assert sent == (instruction.op.unit not in (Unit.CONTROL, Unit.UNIFORM) and trace.mask != 0)
        if instruction.uniform_reads or instruction.uniform_writes:
            assert self.pending_uniforms[slot] is None, (slot, instruction)
        if sent:
            assert ready and not (throttle and instruction.op.unit is Unit.ALU)
            self._check_payload(ctx, slot, pc, trace.mask, instruction, operands, immediate)
        if instruction.op.unit is not Unit.CONTROL and trace.mask:
            self._execute(slot, instruction, value, trace.mask)

    def _check_stopped(self, ctx) -> None:
        """Compare what is shown of each warp that stops with its model, in the first cycle in which it has stopped."""
        stopped = ctx.get(self.dut.stop.stopped)
        for slot in self.warps:
            if stopped & ~self.stood & 1 << slot:
                if self.warps[slot].waiting and not ctx.get(self.dut.occupancy.waiting) >> slot & 1:
                    self._released(slot)  # and has not executed anything since
                self.check_view(ctx, slot, live_vector=False)
        self.stood = stopped

    def _released(self, slot: int) -> None:
        """A waiting warp went on: all others of its TB must have arrived."""
        warp = self.warps[slot]
        others = [self.warps[other] for other, tb in self.tb_of.items() if tb == self.tb_of[slot]]
        assert all(other.barriers >= warp.barriers for other in others if other.live), f"warp {slot} left a barrier"
        warp.waiting = False

    def _check_payload(self, ctx, slot: int, pc: int, mask: int, instruction: Instruction, operands,
                       immediate: int) -> None:
        payload = ctx.get(self.dut.execute.op.payload)
        assert (payload.warp, payload.tb, payload.pc, payload.mask) == (slot, self.tb_of[slot], pc, mask)
        assert payload.base == 4 * slot % self.g.registers
        names = instruction.op.operands
        for name in ("d", "a", "b", "c"):
            if name in names:
                assert payload.op[name] == instruction.get(name)
        if {"imm", "mem", "sreg", "param"} & {*names} or instruction.get("b_uniform"):
            assert payload.op.imm == immediate and payload.op.use_imm
        assert "pa" not in names or payload.pa == operands[0]
        assert "pb" not in names or payload.pb == operands[1]

    def _execute(self, slot: int, instruction: Instruction, value: int, mask: int) -> None:
        """Check that nothing the instruction needs is outstanding, and schedule its completion."""
        registers, predicates = self.pending_registers[slot], self.pending_predicates[slot]
        assert not registers & {*instruction.reads, *instruction.writes}, (slot, instruction)
        assert not predicates & {*instruction.predicate_reads, *instruction.predicate_writes}, (slot, instruction)
        registers |= {*instruction.writes}
        predicates |= {*instruction.predicate_writes}
        op = instruction.op
        delay = self.g.alu_latency if self.smooth else self.random.randrange(1, 14)
        for number in instruction.uniform_writes:
            self.pending_uniforms[slot] = number, value
            if op.unit is Unit.CONSTANT:
                self._later("constant", (slot, number, value), delay)
        for number in instruction.predicate_writes:
            if op.unit is Unit.UNIFORM:
                self.uniform_predicates.append((slot, number, mask, value & mask != 0, value))
            else:
                self._later("predicate", (slot, number, value), delay)
        for number in instruction.writes:
            self._later("register", (slot, number), delay)
        if op.unit in (Unit.ALU, Unit.UNIFORM):
            return
        unit = op.unit.name.lower()
        assert self.places[unit] > 0
        self.places[unit] -= 1
        self._later(f"{unit}_room", unit, self.random.randrange(1, 9))
        self._memory_access(slot, op, delay)

    def _memory_access(self, slot: int, op, delay: int) -> None:
        """Check the order of memory accesses, and schedule the completion of one."""
        others = {"load": ("store", "atomic"), "store": ("load", "atomic"), "atomic": ("load", "store", "atomic"),
                  "shared": ()}
        if op.unit not in (Unit.GLOBAL, Unit.SHARED):
            return
        kind = "shared" if op.unit is Unit.SHARED else "atomic" if op.is_atomic else "store" if op.store else "load"
        assert not any(self.outstanding[other][slot] for other in others[kind]), (slot, op.name)
        self.outstanding[kind][slot] += 1
        self._later(kind, slot, delay + self.random.randrange(8))
