"""Random commands for several kernels at once, while memory answers late, or not, or with errors: what becomes of each
kernel, and of all of memory."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import numpy as np

from caesura.hw.arch.commands import REFUSED, Command, KernelState
from caesura.hw.arch.faults import CommandError
from caesura.hw.arch.geometry import Geometry
from caesura.hw.arch.image import context
from caesura.hw.arch.image.context import CCB_RECORD, Mechanism
from caesura.hw.arch.registers import UNLIMITED_GRACE, UNLIMITED_PATIENCE
from caesura.hw.sm import Sm
from caesura.sim.golden.transport import GoldenTransport
from caesura.sim.memory import ErrorRange, MemoryTiming
from caesura.sim.rtl.transport import RtlTransport
from caesura.software.compiler import KernelImage
from support.hw.late_answers import LateAnswersSm, control
from support.programs.stir import WORDS, StirArrays, image
from support.sim.launch import Bench

__all__ = ["Schedules"]

BLOCK_WARPS = 2
ROUNDS = (1, 3, 12, 40)
"""Of a kernel with `FEW` threads or less; one with more threads has fewer rounds, so that a run takes seconds."""
FEW = 160
LIMIT = 1_000_000
"""Cycles in which everything is over once memory is well and nobody gives commands but the test."""
ENDED = KernelState.IDLE, KernelState.FINISHED
NEXT = {KernelState.PREEMPTING: (KernelState.RUNNING, KernelState.PREEMPTED, KernelState.RESUMING,
                                 KernelState.FINISHED),
        KernelState.RESUMING: (KernelState.RUNNING, KernelState.PREEMPTED),
        KernelState.RUNNING: (KernelState.FINISHED,),
        KernelState.KILLING: (KernelState.IDLE,),
        KernelState.ADOPTING: (KernelState.IDLE, KernelState.PREEMPTED)}
"""States to which one may go by itself in the cycle in which a command is written."""
WEIGHTS = {Command.START: 6, Command.PREEMPT: 6, Command.RESUME: 5, Command.ABORT: 2, Command.HASTEN: 1,
           Command.KILL: 1, Command.ADOPT: 2, Command.RELEASE: 3}


class _Kernel:
    """A kernel in a slot: where its arrays lie, and what is known of it."""

    def __init__(self, bench: Bench, slot: int, block: int, blocks: int, words: np.ndarray, code: KernelImage):
        self.bench, self.slot = bench, slot
        self.arrays = StirArrays(bench, code, block * blocks, words)
        self.started = self.killed = False
        self.released = False  # it has no slot since, and is to come back from memory
        self.ready = self.judged = False
        self.loaded = bench.load(slot, code, (blocks,), (block,), self.arrays.arguments)
        self.begun: bytes | None = None  # its arguments in memory, if not those that it was loaded with
        self.ccb_end = self.loaded.ccb_base + context.ccb_bytes(bench.geometry, self.loaded.area_bytes)

    def begin(self, rounds: int) -> None:
        """Make ready for a start: arrays of zeros, so many rounds, and no record in memory.

        A start that is given while the kernel still has another state may be taken all the same, if it ends in that
        cycle. Then nothing is ready, and what it computes is not judged.
        """
        record = context.record_address(self.bench.geometry, self.loaded.ccb_base)
        self.bench.transport.write_memory(record, bytes(CCB_RECORD.size // 8))
        self.arrays.rounds, self.killed, self.ready = rounds, False, True
        self.arrays.clear()
        self.begun = np.array(self.arrays.arguments, "<u4").tobytes()
        self.bench.transport.write_memory(self.loaded.param_base, self.begun)

    @property
    def own(self) -> list[tuple[int, int]]:
        """What may differ in memory at the end."""
        return [(self.arrays.output, self.arrays.end), (self.loaded.ccb_base, self.ccb_end),
                (self.loaded.local_base, self.loaded.local_end)]


class Schedules:
    """A machine with a kernel in each slot, and random schedules of commands for them.

    Parameters
    ----------
    g : Geometry
    rtl : bool
        Otherwise the golden model, whose memory never fails.
    late : bool
        Of RTL: memory may hold answers back and stall as well, for which it needs a simulator of its own.

    Attributes
    ----------
    taken : Counter
        Commands by name and the state they were given in.
    """

    def __init__(self, g: Geometry, rtl: bool = True, late: bool = True):
        self.g, self.rtl, self.late = g, rtl, late
        size = 1 << 19
        self.transport: Any = (RtlTransport(g, memory_bytes=size, design=LateAnswersSm if late else Sm) if rtl
                               else GoldenTransport(g, memory_bytes=size))
        self.transport.write_memory(0, np.random.default_rng(7).bytes(size))
        self.bench = Bench(self.transport)
        rng, block = np.random.default_rng(1), BLOCK_WARPS * g.warp_size
        blocks = 2 * min(g.tb_slots, g.warps // BLOCK_WARPS) + 1
        self.rounds = [max(1, rounds * FEW // max(FEW, block * blocks)) for rounds in ROUNDS]
        self.kernels = []
        for slot in range(min(g.kernel_slots, 4)):
            code = image(min((12, 16, 24, 32)[slot], g.regs_per_thread))
            self.kernels.append(_Kernel(self.bench, slot, block, blocks, rng.integers(0, 1 << 32, WORDS, np.uint32),
                                        code))
        self.before = self.transport.read_memory(0, size)
        self.beginning = self.transport.snapshot()
        self.taken = Counter()

    def state(self, kernel: _Kernel, in_no_time: bool = True) -> KernelState:
        """Return the state of a kernel; looking at it in no time costs the simulator as much as some dozen cycles."""
        look = self.bench.peek if in_no_time else self.bench.fields
        return KernelState(look(f"kernel[{kernel.slot}].state")["state"])

    def run(self, seed: int | str, commands: int = 20) -> None:
        """Give at least so many commands, then bring every kernel to its end, and look at all of memory."""
        self.rng = rng = random.Random(seed)
        self.transport.restore(self.beginning)
        for kernel in self.kernels:
            kernel.killed = kernel.started = kernel.ready = kernel.judged = kernel.released = False
            kernel.begun = None
        self.scramble = rng.random() < 0.5
        self.weather(calm=True)
        given = 0
        while given < commands:
            if rng.random() < 0.25:
                self.weather()
            given += self.command(rng.choice(self.kernels))
            self.advance(rng.choice((0, 1, 2, 5, 20, 100, 400, 1500)))
        self.weather(calm=True)
        self.finish()
        self.check_memory()

    def weather(self, calm: bool = False) -> None:
        """Change how memory behaves."""
        if not self.rtl:
            return
        rng, g = self.rng, self.g
        self.transport.clear_error_ranges()
        held = ("uneven", "held", "stalled") if self.late else ()
        kind = "well" if calm else rng.choice(("well", "well", "slow", *held, "errors", "errors"))
        latency, rate = g.memory_latency, g.bytes_per_cycle
        reads = writes = ()
        if kind == "slow":
            latency, rate = rng.choice((1, 7, 60, 700)), rate * rng.choice((0.3, 1))
        elif kind == "held":
            reads = tuple(k for k in range(8) if rng.random() < 0.4)
            writes = tuple(k for k in range(8) if rng.random() < 0.4)
        elif kind == "uneven":
            reads, writes = rng.choice((((), tuple(range(8))), (tuple(range(8)), ())))
        elif kind == "errors":
            for kernel in self.kernels:
                if rng.random() < 0.6:
                    start, end = rng.choice((
                        (kernel.loaded.ccb_base, kernel.ccb_end),
                        (kernel.loaded.ccb_base, context.area_address(g, kernel.loaded.ccb_base, 0, 0)),
                        (context.area_address(g, kernel.loaded.ccb_base, 0, 0), kernel.ccb_end)))
                    reads_fail, writes_fail = rng.choice(((True, False), (False, True), (True, True)))
                    self.transport.add_error_range(ErrorRange(start, end, reads_fail, writes_fail))
        self.transport.set_timing(MemoryTiming(g.bus_bytes, rate, latency))
        if self.late:
            control(self.transport, reads, writes, kind == "stalled")

    def command(self, kernel: _Kernel) -> bool:
        """Give a kernel a command; return whether it was taken."""
        rng, bench = self.rng, self.bench
        op = rng.choices(list(WEIGHTS), [*WEIGHTS.values()])[0]
        before = self.state(kernel)
        if op is Command.START and before in ENDED:
            kernel.begin(rng.choice(self.rounds))
        if op is Command.PREEMPT:
            bench.set("patience", rng.choice((0, 1, 30, 1000, UNLIMITED_PATIENCE)))
            bench.set("spared", rng.choice((0, 0, 0, rng.getrandbits(self.g.context_entries))))
            bench.set("grace", rng.choice((0, 0, 0, 1, 30, 1000, UNLIMITED_GRACE)))
        mechanism, gang = rng.choice(list(Mechanism)), rng.random() < 0.5
        checkpoint, incremental = rng.random() < 0.3, rng.random() < 0.5
        in_place = self.g.in_place and rng.random() < 0.5
        if in_place:
            checkpoint = incremental = False
            bench.set("newcomer", kernel=rng.randrange(len(self.kernels)), tbs=rng.randrange(self.g.tb_slots + 2))
        bench.set("event", refused=1)
        before = self.state(kernel)
        bench.command(op, kernel.slot, mechanism, self.scramble, gang, checkpoint=checkpoint, incremental=incremental,
                      in_place=in_place)
        refused, error = bench.fields("event")["refused"], bench.refusal()
        expected = {REFUSED[op].get(state, CommandError.NONE) for state in (before, *NEXT.get(before, ()))}
        if op is Command.PREEMPT and before is KernelState.PREEMPTED:
            expected.add(CommandError.NOT_RUNNING)
        if op is Command.RELEASE and CommandError.NONE in expected:
            expected.add(CommandError.NOT_IN_MEMORY)
        if refused:
            assert error in expected - {CommandError.NONE}, (op, before, error)
            return False
        self.taken[op.name, before.name] += 1
        assert CommandError.NONE in expected, (op, before)
        if op is Command.START:
            kernel.started, kernel.judged, kernel.ready = True, kernel.ready, False
        if op in (Command.START, Command.KILL, Command.RELEASE):
            kernel.released = op is Command.RELEASE
        if op is Command.KILL:
            kernel.killed = True
        return True

    def advance(self, cycles: int) -> None:
        if cycles:
            self.transport.advance(cycles)

    def finish(self) -> None:
        """Resume what is preempted, and adopt what was released, until every kernel has ended."""
        passed, states = 0, [self.state(kernel, in_no_time=False) for kernel in self.kernels]
        while any(state not in ENDED or kernel.released and state is KernelState.IDLE
                  for kernel, state in zip(self.kernels, states, strict=True)):
            assert passed < LIMIT, f"after {passed} cycles: {[state.name for state in states]}"
            for kernel, state in zip(self.kernels, states, strict=True):
                if state is KernelState.PREEMPTED:
                    self.bench.command(Command.RESUME, kernel.slot, scramble=self.scramble)
                elif kernel.released and state is KernelState.IDLE:
                    self.bench.command(Command.ADOPT, kernel.slot)
            passed += self.transport.advance(200)
            states = [self.state(kernel, in_no_time=False) for kernel in self.kernels]
        status = self.bench.peek("status")
        assert (status["busy"], status["resident"], status["warps"]) == (0, 0, 0), status
        assert self.bench.fault() is None

    def check_memory(self) -> None:
        """Kernels that were started and not killed are complete, and so is one that was killed if it could be taken
        over from memory and has finished; arguments are as the test wrote them; nothing else has changed."""
        for kernel in self.kernels:
            if kernel.judged and (not kernel.killed or self.state(kernel) is KernelState.FINISHED):
                kernel.arrays.check()
        before = bytearray(self.before)
        after = bytearray(self.transport.read_memory(0, self.transport.memory_bytes))
        for kernel in self.kernels:
            if kernel.begun is not None:
                start = kernel.loaded.param_base
                before[start:start + len(kernel.begun)] = kernel.begun
            for start, end in kernel.own if kernel.started else ():
                after[start:end] = before[start:end]
        assert after == before, "something else in memory has changed"
