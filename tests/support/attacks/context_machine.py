"""A machine with one kernel away, its context in memory, beside another one that runs: to change what it believes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from caesura.hw.arch.commands import Command, KernelState
from caesura.hw.arch.faults import CommandError
from caesura.hw.arch.geometry import PREDICATES, UNIFORMS, WORD_BYTES, preset
from caesura.hw.arch.image import context
from caesura.hw.arch.image.context import CCB_ENTRY, ENTRY_WORDS, Mechanism
from caesura.hw.arch.isa.liveness import liveness_vector
from caesura.hw.arch.isa.opcodes import Special
from caesura.sim.golden.transport import GoldenTransport
from caesura.sim.memory import ErrorRange
from caesura.sim.rtl.transport import RtlTransport
from caesura.software.compiler import KernelImage
from support.sim.launch import Bench, FaultReport

from ..programs.machine_code import word

__all__ = ["PATIENCE", "TINY", "TRANSPORTS", "VICTIM", "ContextMachine", "Image", "Outcome"]

TINY = preset("tiny")
TRANSPORTS: dict[str, Callable[..., Any]] = {"golden": GoldenTransport, "rtl": RtlTransport}
MEMORY = 1 << 15
PATIENCE = 2000
"""Cycles after which a kernel that was resumed has ended, or seems never to end; and in which any command is over."""
LIVE = liveness_vector(range(7), range(PREDICATES), range(UNIFORMS), allocated=10)
SIDE, MEET = 16, 21
COUNT = 1 << 7
"""Where lanes begin to count down: after each round but the first as many of its bits are those of the others, so that
a context has the same length in each."""

VICTIM = KernelImage("victim", (
    # registers: strided, uniform and random ones, and two that it never has; shared and local memory, predicates and
    # uniform registers
    word("s2r", d=0, imm=Special.TID_X), word("s2r", d=1, imm=Special.CTAID_X), word("shl.i", d=2, a=0, imm=2),
    word("imul.lo.i", d=3, a=0, imm=0x1E37_79B1), word("imul.lo", d=3, a=3, b=3), word("mov.i", d=4, imm=1234),
    word("st.shared.b32", a=2, d=3), word("st.local.b32", no_base=1, imm=4, d=3), word("umov.i", d=1, imm=9),
    word("uiadd.i", d=2, a=1, imm=5), word("and.i", d=5, a=0, imm=7), word("setp.lt.u.i", pd=1, a=5, imm=3),
    word("mov.i", d=6, imm=COUNT), word("bra", guard=1, target=SIDE, reconv=MEET),
    word("iadd.i", d=4, a=4, imm=1), word("bra", target=MEET, reconv=MEET),
    # three lanes of a warp count down, the others wait: here it is preempted
    word("pp", live=LIVE), word("pp.div", live=LIVE), word("isub.i", d=6, a=6, imm=1),
    word("setp.ne.i", pd=2, a=6, imm=COUNT - 20), word("bra", guard=2, target=SIDE, reconv=MEET),
    # each thread stores a sum over its own and its neighbour's
    word("bar.pp.0", live=LIVE), word("xor.i", d=5, a=2, imm=4), word("ld.shared.b32", d=5, a=5),
    word("ld.local.b32", d=7, no_base=1, imm=4), word("iadd", d=5, a=5, b=7), word("iadd", d=5, a=5, b=4),
    word("iadd", d=5, a=5, b=2, b_uniform=1), word("ldp", d=7, imm=0), word("shl.i", d=1, a=1, imm=6),
    word("iadd", d=7, a=7, b=1), word("iadd", d=7, a=7, b=2), word("st.global.b32", a=7, d=5), word("exit"),
), 10, 7, 300, 4, local_bytes=16)
NEIGHBOUR = KernelImage("neighbour", (
    # each thread steps a number through shared and local memory as often as its parameter says, and stores it
    word("s2r", d=0, imm=Special.TID_X), word("shl.i", d=1, a=0, imm=2), word("ldp", d=2, imm=4),
    word("iadd.i", d=3, a=0, imm=77),
    word("imul.lo.i", d=3, a=3, imm=0x1234_5677), word("iadd", d=3, a=3, b=2), word("st.shared.b32", a=1, d=3),
    word("bar.pp.1", live=15), word("xor.i", d=4, a=1, imm=8), word("ld.shared.b32", d=4, a=4),
    word("st.local.b32", no_base=1, imm=0, d=4), word("bar.pp.1", live=15), word("ld.local.b32", d=4, no_base=1, imm=0),
    word("xor", d=3, a=3, b=4), word("isub.i", d=2, a=2, imm=1), word("setp.ne.i", pd=0, a=2, imm=0),
    word("bra", guard=0, target=4, reconv=17),
    word("ldp", d=5, imm=0), word("iadd", d=5, a=5, b=1), word("st.global.b32", a=5, d=3), word("exit"),
), 6, 7, 64, 4, local_bytes=4)


@dataclass
class Image:
    """The saved context of a TB, word by word.

    Attributes
    ----------
    entry : list of int
        The words of its CCB entry.
    stream : list of int
        Those of its whole save area: the stream, and what is behind it.
    """

    entry: list[int]
    stream: list[int]

    def copy(self) -> Image:
        """Return another one with the same words."""
        return Image(list(self.entry), list(self.stream))

    @property
    def fields(self) -> dict[str, int]:
        """The fields of the entry."""
        return context.from_words(CCB_ENTRY, self.entry)

    def change(self, **fields: int) -> None:
        """Set fields of the entry."""
        self.entry = context.to_words(CCB_ENTRY, **self.fields | fields)

    def seal(self) -> None:
        """Compute all checksums anew, over as much as the entry says there is."""
        fields = self.fields
        words = self.stream[:fields["length"] // WORD_BYTES]
        records = fields["live_warps"].bit_count()
        stream_crc, table_crc = context.stream_crcs(TINY, words, records, VICTIM.registers)
        self.change(stream_crc=stream_crc, table_crc=table_crc)
        self.change(crc=context.entry_crc(self.entry))


@dataclass
class Outcome:
    """The result of a resume, some time later.

    Attributes
    ----------
    error : CommandError
        Error of the resume.
    state : KernelState
        State of the kernel: finished, preempted if it was refused, or running if it had not ended after `patience`
        cycles (then it was preempted).
    fault : FaultReport or None
        First fault that was reported.
    own, rest : bytes
        Memory that the kernel may write (its context, local memory, its array), and all other memory.
    """

    error: CommandError
    state: KernelState
    fault: FaultReport | None
    own: bytes = field(repr=False)
    rest: bytes = field(repr=False)


class ContextMachine:
    """A machine whose kernel 0 is preempted; it can be put back to that moment any number of times.

    Every byte of memory that nothing else has is random. Where it is RTL, a read of what neither kernel reads is
    answered with an error.

    Parameters
    ----------
    name : str
        Name in `TRANSPORTS`.
    tbs : int
        TBs of kernel 0, which are all resident when it is preempted.
    rounds : int
        Steps of a second kernel that runs when the machine is put back; 0: there is none.
    memory : bytes, optional
        Memory of another such machine: its saved context is this machine's context.

    Attributes
    ----------
    expected : Outcome
        Outcome of a resume of the context as it was saved.
    patience : int
        Cycles after which a kernel that was resumed is taken to go on for ever.
    alone : bytes
        Contents of all other memory at the end if there is no resume at all.
    """

    def __init__(self, name: str, tbs: int = 1, rounds: int = 0, mechanism: Mechanism = Mechanism.LIVE_CP,
                 memory: bytes | None = None):
        self.transport = TRANSPORTS[name](TINY, memory_bytes=MEMORY)
        self.bench = Bench(self.transport)
        self.rounds, self.tbs, self.patience = rounds, tbs, PATIENCE
        self.transport.write_memory(0, np.random.default_rng(7).bytes(MEMORY))
        self.bench.allocate(256)
        self.output = self.bench.store(bytes(64 * tbs))
        self.bench.allocate(256)
        self.loaded = self.bench.load(0, VICTIM, (tbs,), (16,), (self.output,), [self._lines(self.output, 64 * tbs)])
        self.bench.allocate(256)
        output = self.bench.store(bytes(64))
        other = self.bench.load(1, NEIGHBOUR, (1,), (16,), (output, rounds), [self._lines(output, 64)])
        ends = self.loaded.ccb_base + context.ccb_bytes(TINY, self.loaded.area_bytes)
        self.own = [self._lines(self.output, 64 * tbs), (self.loaded.ccb_base, ends),
                    (self.loaded.local_base, self.loaded.local_end)]
        self.bench.start(0)
        self.transport.advance(40 if name == "golden" else 300)
        self.bench.preempt(0, mechanism)
        assert self.bench.state(0) is KernelState.PREEMPTED and self.bench.get("save_warps") == 2 * tbs
        if memory is not None:
            self.transport.write_memory(0, memory)
        self.saved = self.memory()
        if isinstance(self.transport, RtlTransport):
            first = self._lines(other.ccb_base, 1)[1]  # a miss in the last line of code reads the next one
            mine, its = (self._lines(each.param_base, 1) for each in (self.loaded, other))  # arguments: a line of each
            for start, end in ((0, self.loaded.code_base), (self.loaded.local_end, mine[0]), (mine[1], other.code_base),
                               (first, other.local_base), (other.local_end, its[0]), (its[1], MEMORY)):
                self.transport.add_error_range(ErrorRange(start, end, True, False))
        if rounds:
            self.bench.start(1)
            self.transport.advance(30)
        self.moment = self.transport.snapshot()
        if rounds:
            self.bench.finish(1, PATIENCE)
        self.alone = self.split(self.memory())[1]
        self.back()
        self.expected = self.outcome()
        self.back()

    @staticmethod
    def _lines(address: int, size: int) -> tuple[int, int]:
        return address, address + -(-size // 128) * 128

    def memory(self) -> bytes:
        """Return all of memory."""
        return self.transport.read_memory(0, MEMORY)

    def split(self, memory: bytes) -> tuple[bytes, bytes]:
        """Return what kernel 0 may write, and all the rest."""
        mine = np.zeros(MEMORY, bool)
        for start, end in self.own:
            mine[start:end] = True
        every = np.frombuffer(memory, np.uint8)
        return every[mine].tobytes(), every[~mine].tobytes()

    def back(self) -> None:
        """Put the machine back to where kernel 0 has just been saved, and the other one runs."""
        self.transport.restore(self.moment)

    def _places(self, index: int) -> tuple[int, int]:
        """Addresses of an entry and of its save area."""
        base, area = self.loaded.ccb_base, self.loaded.area_bytes
        return context.entry_address(base, index), context.area_address(TINY, base, area, index)

    def image(self, index: int = 0) -> Image:
        """Return the saved context of a TB."""
        entry, area = self._places(index)

        def words(at: int, count: int) -> list[int]:
            return np.frombuffer(self.transport.read_memory(at, WORD_BYTES * count), "<u4").tolist()

        return Image(words(entry, ENTRY_WORDS), words(area, self.loaded.area_bytes // WORD_BYTES))

    def put(self, image: Image, index: int = 0) -> None:
        """Write the saved context of a TB."""
        for at, words in zip(self._places(index), (image.entry, image.stream), strict=True):
            self.transport.write_memory(at, np.array(words, "<u4").tobytes())

    def flip(self, index: int, bit: int) -> None:
        """Flip a bit of the saved context of a TB; those of its entry come first."""
        entry, area = self._places(index)
        at = entry + bit // 8 if bit < CCB_ENTRY.size else area + (bit - CCB_ENTRY.size) // 8
        value, = self.transport.read_memory(at, 1)
        self.transport.write_memory(at, bytes([value ^ 1 << bit % 8]))

    def _until(self, event: str) -> CommandError:
        passed = 0
        while not self.bench.fields("event")[event]:
            assert passed < PATIENCE, f"not {event} after {passed} cycles: {self.bench.error(0).name}"
            self.bench.set("event", finished=0xFF)
            passed += max(1, self.transport.wait(100))
        self.bench.set("event", **{event: 1})
        return self.bench.error(0)

    def adopt(self) -> CommandError:
        """Have kernel 0 forgotten, then taken over from memory; return how that ended."""
        if self.bench.state(0) is not KernelState.IDLE:
            self.bench.command(Command.KILL, 0)
            self._until("killed")
            assert self.bench.state(0) is KernelState.IDLE
        return self.bench.adopt(0)

    def resume(self, gang: bool = False) -> CommandError:
        """Resume kernel 0 and return how that ended."""
        self.bench.command(Command.RESUME, 0, gang=gang)
        return self._until("resumed")

    def outcome(self, gang: bool = False) -> Outcome:
        """Resume kernel 0 and let both kernels run to their end; one that has none is preempted.

        Raises
        ------
        AssertionError
            If a command does not end, the other kernel does not, or anything is resident or busy afterwards.
        """
        bench = self.bench
        error = self.resume(gang)
        assert (bench.state(0) is KernelState.PREEMPTED) == (error is not CommandError.NONE)
        state = self.runs_out()
        return Outcome(error, state, bench.fault(), *self.split(self.memory()))

    def runs_out(self) -> KernelState:
        """Let both kernels run to their end; return the state of kernel 0 before it was preempted, if it had none.

        Raises
        ------
        AssertionError
            As `outcome`.
        """
        bench, passed = self.bench, 0
        while passed < self.patience and (bench.state(0) is KernelState.RUNNING
                                     or bench.state(1) is KernelState.RUNNING):
            passed += self.transport.advance(100)
        state = bench.state(0)
        if state is KernelState.RUNNING:
            bench.command(Command.PREEMPT, 0, Mechanism.OCCUPIED)
            assert self._until("preempted") is CommandError.NONE
        assert not self.rounds or bench.state(1) is KernelState.FINISHED, "the other kernel does not end"
        status = bench.fields("status")
        assert (status["busy"], status["resident"], status["warps"]) == (0, 0, 0)
        return state
