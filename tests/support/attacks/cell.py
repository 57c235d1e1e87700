"""A machine on which an innocent kernel with secrets runs beside an attacker, each with a window of its own.

Before, a kernel that is gone by then has left secrets in all of the SM. Memory that nobody has is random. What the
secrets are is a matter of a seed: two machines of different seeds differ in nothing else, so that an attacker who
learns anything of them, in whatever form, leaves what it can write different.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from caesura.hw.arch.commands import Command, KernelState
from caesura.hw.arch.faults import CommandError
from caesura.hw.arch.geometry import PREDICATES, UNIFORMS, Geometry, preset
from caesura.hw.arch.image.context import Mechanism, ccb_bytes
from caesura.sim.golden.transport import GoldenTransport
from caesura.sim.rtl.transport import RtlTransport
from caesura.software.compiler import KernelImage, assemble
from support.sim.launch import Bench, FaultReport, Loaded

__all__ = ["Cell", "Outcome", "THREADS", "TINY", "TRANSPORTS", "WINDOW_BYTES"]

TINY = preset("tiny")
TRANSPORTS = {"golden": GoldenTransport, "rtl": RtlTransport}
MEMORY = 1 << 16
WINDOW_BYTES = 2048
THREADS = 16
"""Threads of a TB, in both kernels: two warps, so that one of each is on the SM at a time."""
ROUNDS = 24
LEAD, DISTURBED = 60, {"golden": 24, "rtl": 120}
"""Cycles that the innocent has before the attacker starts, and the attacker before somebody is disturbed."""
PATIENCE = 30_000
"""Cycles after which an innocent has ended, and an attacker that has not goes on for ever."""
KILL_CYCLES = 1000
"""Cycles within which a killed attacker has left; (unit_queue + 2) x 14 x warp_size = 448, and some."""
FACTOR = 0x1E37_79B1
CONSTANT_WORDS = 16

INNOCENT = f"""
.kernel innocent
.registers 8
.predicates 1
.stack 2
.shared {4 * THREADS}
.local 4
.param input u32 0 4 pointer
.param output u32 4 4 pointer
.param rounds u32 8 4
.param key u32 12 4
    s2r R0, tid.x
    shl.i R1, R0, 2
    ldp R2, param[0]
    iadd R2, R2, R1
    ldp R3, param[8]
    ldp R4, param[12]
loop:
    ld.global.b32 R5, [R2]
    shl.i R6, R3, 2
    and.i R6, R6, {4 * CONSTANT_WORDS - 4}
    ld.const.b32 R6, [R6]
    imul.lo.i R4, R4, {FACTOR:#x}
    iadd R4, R4, R5
    xor R4, R4, R6
    st.shared.b32 [R1], R4
    bar.pp.0 {{R0-R7}}
    xor.i R6, R1, 4
    ld.shared.b32 R6, [R6]
    st.local.b32 [0], R6
    bar.pp.0 {{R0-R7}}
    ld.local.b32 R6, [0]
    iadd R4, R4, R6
    pp {{R0-R7}}
    pp.div {{R0-R7, P0}}
    isub.i R3, R3, 1
    setp.ne.i P0, R3, 0
    @P0 bra loop, done
done:
    ldp R7, param[4]
    iadd R7, R7, R1
    st.global.b32 [R7], R4
    exit
"""


@dataclass
class Outcome:
    """The result of an attack.

    Attributes
    ----------
    fault : FaultReport or None
        First fault that was reported.
    ended : bool
        Whether the attacker ended by itself; otherwise it was killed.
    away : bool
        Whether the kernel to be disturbed was saved, and came back.
    output : bytes
        Result of the innocent kernel.
    window, writable : bytes
        Memory that the attacker can write by its accesses to global memory; and the same with its local memory and its
        context.
    changed : list of int
        Changed addresses of all other memory but the innocent's own.
    """

    fault: FaultReport | None
    ended: bool
    away: bool
    output: bytes
    window: bytes = field(repr=False)
    writable: bytes = field(repr=False)
    changed: list[int]


class Cell:
    """The machine; `attack` can be repeated.

    Parameters
    ----------
    name : str
        Name in `TRANSPORTS`.
    seed : int
        Seed of the secrets.
    g : Geometry
        Geometry of one SM, with room for a TB of both kernels.

    Attributes
    ----------
    places : dict of str to int
        Addresses that an attacker has no business with, by what is there.
    expected : bytes
        The right result of the innocent.
    secrets : numpy.ndarray
        Every word that the innocent or the kernel before it had.
    """

    def __init__(self, name: str, seed: int = 1, g: Geometry = TINY):
        self.name = name
        self.rng, self.transport = np.random.default_rng(seed), TRANSPORTS[name](g, memory_bytes=MEMORY)
        self.transport.write_memory(0, self.rng.bytes(MEMORY))
        self.bench = Bench(self.transport)
        self._former_owner(g)
        data = self._words(THREADS)
        constants, key = self._words(CONSTANT_WORDS), int(self._words(1)[0])
        source = self.bench.store(data.tobytes())
        self.window = self.bench.allocate(WINDOW_BYTES)
        self.output = self.bench.store(bytes(4 * THREADS))
        (plain,) = assemble(INNOCENT)
        image = KernelImage(**{**vars(plain), "constants": constants.tobytes()})
        self.innocent = self.bench.load(0, image, (1,), (THREADS,), (source, self.output, ROUNDS, key),
                                        [(source, source + 128), (self.output, self.output + 128)])
        self.expected, mine = _result(data, constants, key)
        self.secrets = np.unique(np.concatenate([*self._secrets, mine]))
        self.places = {"input": source, "output": self.output, "code": self.innocent.code_base,
                       "constants": self.innocent.const_base, "local memory": self.innocent.local_base,
                       "context": self.innocent.ccb_base, "below": self.window - 16,
                       "above": self.window + WINDOW_BYTES, "zero": 0, "end of memory": MEMORY - 16,
                       "beyond memory": MEMORY, "top": 0xFFFF_FFF0, "negative": 0x8000_0000}
        self.free = self.bench.allocate(0)
        self.transport.advance(10)
        self.moment = self.transport.snapshot()

    def _words(self, count: int) -> np.ndarray:
        return self.rng.integers(1 << 24, 1 << 32, count, np.uint32)

    def _former_owner(self, g: Geometry) -> None:
        """Run a kernel that leaves secrets in every register, predicate, uniform register and shared word."""
        threads = g.warps * g.warp_size
        registers = min(g.regs_per_thread, g.registers // g.warps)
        vectors, uniforms, shared = self._words(registers), self._words(UNIFORMS), self._words(1)
        lines = [".kernel former", f".registers {registers}", f".predicates {PREDICATES}", ".stack 1",
                 f".shared {g.shared_bytes}", "s2r R0, tid.x", "shl.i R0, R0, 2", f"mov.i R1, {shared[0]:#x}"]
        lines += [f"st.shared.b32 [R0+{at}], R1" for at in range(0, g.shared_bytes, 4 * threads)]
        lines += [f"mov.i R{k}, {value:#x}" for k, value in enumerate(vectors)]
        lines += [f"umov.i U{k}, {value:#x}" for k, value in enumerate(uniforms)]
        lines += [f"setp.eq.i P{k}, R0, {vectors[0]:#x}" for k in range(PREDICATES)]
        (image,) = assemble("\n".join([*lines, "exit"]))
        self.bench.load(1, image, (1,), (threads,))
        self.bench.start(1)
        self.bench.finish(1, PATIENCE)
        self._secrets = [vectors, uniforms, shared]

    def attack(self, image: KernelImage, place: str = "input", disturb: str = "", blocks: int = 2,
               windows: Sequence[tuple[int, int]] | None = None, params: Sequence[int] | None = None,
               threads: int = THREADS, patience: int = PATIENCE // 10) -> Outcome:
        """Run an attacker beside the innocent, to the end of both.

        Parameters
        ----------
        image : KernelImage
            Image whose parameters are the address of its window, and an address that it must not use.
        place : str
            Name of that address. It is one of `places`, or in the attacker's own memory but in no window (``"own
            code"``, ``"own context"``, ``"own constants"``, ``"own local memory"``). Behind ``"words to "`` it is a
            return address, as a number of instruction words from the attacker's first one.
        disturb : str
            Kernel that is preempted and brought back meanwhile: ``"innocent"``, ``"attacker"``, or ``"trapped
            attacker"``, which stops in its preemption routines. Empty for none.
        blocks : int
            TBs of the attacker.
        windows : sequence of (int, int), optional
            Others than its own, to see what it does with them.
        params : sequence of int, optional
            Words of its parameters, instead of the two addresses.
        threads : int
            Threads of a TB of the attacker, at most as many as the innocent's.
        patience : int
            Cycles after which an attacker is killed, when the innocent has ended.

        Raises
        ------
        AssertionError
            If the innocent does not end, or the attacker cannot be preempted or killed in a bounded time.
        """
        self.transport.restore(self.moment)
        bench = Bench(self.transport, self.free)
        window = self.window, self.window + WINDOW_BYTES
        self.transport.write_memory(window[0], bytes(WINDOW_BYTES))
        loaded = bench.load(1, image, (blocks,), (threads,), params or (self.window, 0), windows or [window])
        if loaded.local_end > loaded.local_base:  # as the driver does
            self.transport.write_memory(loaded.local_base, bytes(loaded.local_end - loaded.local_base))
        if params is None:
            self.transport.write_memory(loaded.param_base + 4, self._address(place, loaded).to_bytes(4, "little"))
        before = self._memory()
        bench.start(0)
        self.transport.advance(LEAD)
        bench.start(1)
        self.transport.advance(DISTURBED[self.name])
        away = bool(disturb) and self._disturb(bench, int(disturb != "innocent"), disturb == "trapped attacker")
        passed = 0
        while passed < PATIENCE + patience and (bench.state(0) is not KernelState.FINISHED
                                     or passed < patience and bench.state(1) is not KernelState.FINISHED):
            passed += self.transport.advance(100)
        assert bench.state(0) is KernelState.FINISHED, "the innocent does not end"
        ended = bench.state(1) is KernelState.FINISHED
        if not ended and bench.state(1) is not KernelState.IDLE:
            bench.set("event", killed=1)
            bench.command(Command.KILL, 1)
            assert _comes(bench, "killed", KILL_CYCLES), "the attacker is not killed"
        return self._outcome(bench, loaded, ended, away, before)

    def _address(self, place: str, loaded: Loaded) -> int:
        own = {"own code": loaded.code_base, "own context": loaded.ccb_base, "own constants": loaded.const_base,
               "own parameters": loaded.param_base,
               "own local memory": loaded.local_base, "window": self.window}
        address = (self.places | own)[place.removeprefix("words to ")]
        return (address - loaded.code_base) // 8 if place.startswith("words to ") else address

    def _disturb(self, bench: Bench, slot: int, trap: bool) -> bool:
        """Preempt a kernel, unless it has ended, and bring it back; return whether it was away.

        A preempt that waits for routines without end is hastened, and an attacker that leaves no room for the innocent
        is killed.
        """
        for command, event in ((Command.PREEMPT, "preempted"), (Command.RESUME, "resumed")):
            bench.set("event", refused=1)
            bench.set("command", op=command, kernel=slot, trap=int(trap and command is Command.PREEMPT),
                      mechanism=Mechanism.OCCUPIED if slot and not trap else Mechanism.LIVE)
            if bench.fields("event")["refused"]:
                assert bench.state(slot) is KernelState.FINISHED, bench.refusal().name
                return False
            if not _comes(bench, event, PATIENCE // 10):
                assert trap or (command, slot) == (Command.RESUME, 0), f"not {event}"
                bench.command(Command.HASTEN if trap else Command.KILL, 1)
                assert _comes(bench, event, PATIENCE), f"not {event}"
            bench.set("event", **{event: 1})
            assert bench.error(slot) is CommandError.NONE, bench.error(slot).name
            if bench.state(slot) is KernelState.FINISHED:
                return False
        return True

    def _context(self, loaded: Loaded) -> tuple[int, int]:
        return loaded.ccb_base, loaded.ccb_base + ccb_bytes(self.transport.geometry, loaded.area_bytes)

    def _memory(self) -> np.ndarray:
        return np.frombuffer(self.transport.read_memory(0, MEMORY), np.uint8)

    def _outcome(self, bench: Bench, loaded: Loaded, ended: bool, away: bool, before: np.ndarray) -> Outcome:
        after, others = self._memory(), np.ones(MEMORY, bool)
        writable = [(self.window, self.window + WINDOW_BYTES), (loaded.local_base, loaded.local_end),
                    self._context(loaded)]
        for start, end in (*writable, (self.output, self.output + 4 * THREADS), self._context(self.innocent),
                           (self.innocent.local_base, self.innocent.local_end)):
            others[start:end] = False
        status = bench.fields("status")
        assert (status["busy"], status["resident"], status["warps"]) == (0, 0, 0)
        return Outcome(bench.fault(), ended, away, after[self.output:self.output + 4 * THREADS].tobytes(),
                       after[self.window:self.window + WINDOW_BYTES].tobytes(),
                       b"".join(after[start:end].tobytes() for start, end in writable),
                       np.flatnonzero((before != after) & others).tolist())

    def leaked(self, outcome: Outcome) -> list[int]:
        """Return the secrets that are in what the attacker can write, at any byte."""
        whole = outcome.writable + bytes(7)
        found = [np.frombuffer(whole[k:k + len(whole) // 4 * 4 - 4], "<u4") for k in range(4)]
        return np.intersect1d(np.concatenate(found), self.secrets).tolist()


def _comes(bench: Bench, event: str, limit: int) -> bool:
    """Return whether an event comes in so many cycles."""
    passed = 0
    while not bench.fields("event")[event] and passed < limit:
        passed += max(1, bench.transport.advance(min(20, limit - passed)))
    return bool(bench.fields("event")[event])


def _result(data: np.ndarray, constants: np.ndarray, key: int) -> tuple[bytes, np.ndarray]:
    """Return what the innocent computes, and all words that it has had on the way."""
    value, seen = np.full(THREADS, key, np.uint32), [data, constants, np.array([key], np.uint32)]
    for left in range(ROUNDS, 0, -1):
        value = value * np.uint32(FACTOR) + data ^ constants[left % CONSTANT_WORDS]
        seen.append(value)
        value = value + value[np.arange(THREADS) ^ 1]
        seen.append(value)
    return value.astype("<u4").tobytes(), np.concatenate(seen)
