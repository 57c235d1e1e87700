"""Restore pipeline: the words of a context image become warps with their state, registers and
shared lines.

The inverse of the save pipeline (Lin et al. Fig. 13, restoring; image in `arch.context`)::

    words --> parse --+--> warps, predicates, uniform registers, stacks
                      +--> random registers, shared lines ---------------------+--> writes
                      +--> words of uniform and strided registers --> Expander -+
"""

from amaranth.hdl import Cat, Const, Module, Mux, ResetInserter, Signal, Value, ValueLike
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from ...arch.context import PATTERN_WORDS, STACK_ENTRY, STACK_WORDS, WARP_HEADER, Pattern
from ...arch.geometry import MAX_REGISTERS, PREDICATES, UNIFORMS, Geometry
from ...arch.isa import LIVE_REST
from ...interfaces.payloads import (
    below,
    physical,
    predicate_restore,
    register_write,
    row_access,
    rows_per_line,
    stack_push,
    uniform_restore,
    warp_init,
)
from ...interfaces.preemption import admitted
from ...lib.bits import lowest_number, popcount, without_lowest
from ..compress.compressor import group_count
from ..formats.accepted_command import accepted_command
from ..formats.checksum import Checksum
from ..formats.packer import CHUNK_WORDS, WORD_COUNT_BITS
from .expander import Expander, group_words

__all__ = ["restore_job", "restored", "RestorePipeline"]

GROUP = 32
"""Lines of a bitmap word."""
LFSR_TAPS = 0x8020_0003
"""Galois LFSR of x^32 + x^22 + x^2 + x + 1, of period 2^32 - 1."""
LFSR_SEEDS = (0x9E37_79B9, 0x7F4A_7C15, 0xF39C_C060, 0x5CED_C834)
"""Where the generators of random bits start; lane k uses number k mod 4, rotated by k."""


def restore_job(g: Geometry) -> data.StructLayout:
    """A TB to be rebuilt from CCB entry `entry` in the room `place`; its stream has `words` words.

    `skip` words come before its pattern table, the table before the rest of the stream. The
    checksums are those of its entry.
    """
    return data.StructLayout({"entry": below(g.tb_slots), "place": admitted(g),
                              "live_warps": g.max_block_warps,
                              "words": WORD_COUNT_BITS, "skip": 2,
                              "stream_crc": 32, "table_crc": 32})


def restored(g: Geometry) -> data.StructLayout:
    """All of the TB of `entry` is in place, or it is `bad`; `valid` for one cycle."""
    return data.StructLayout({"valid": 1, "entry": below(g.tb_slots), "bad": 1})


class _Registers:
    """What is remembered of the stream in hand."""

    def __init__(self, g: Geometry):
        # The stream in hand: words left, warps with a record to come and without one.
        self.stream = Signal(restore_job(g))
        self.words_left = Signal(WORD_COUNT_BITS)
        self.skip = Signal(2)
        self.bad = Signal()
        self.skipping = Signal()
        self.todo = Signal(g.max_block_warps)
        self.vacant = Signal(g.max_block_warps)
        # Number of a pattern vector; the record in hand, what of it is left, and whether it has
        # registers for the expander.
        self.record = Signal(range(g.max_block_warps + 1))
        self.starts = Signal()  # the first row of the table comes
        self.table_right = Signal()  # the table has its checksum
        self.header = Signal(WARP_HEADER)
        self.warp = Signal(below(g.warps))
        self.base = Signal(physical(g))
        self.predicates = Signal(PREDICATES)
        self.uniforms = Signal(UNIFORMS)
        self.depth = Signal(8)
        self.small_words = Signal(range(2 * MAX_REGISTERS * group_count(g) + 1))
        self.expands = Signal()
        # Registers, or lines of a bitmap word, whose rows are gathered, and how far.
        self.targets = Signal(MAX_REGISTERS)
        self.shared = Signal()
        self.group = Signal(range(g.shared_lines + 1))
        self.part = Signal(3)
        self.unit = Signal(range(max(g.beats, rows_per_line(g))))
        # The gathered row: the part of it that comes, where it goes, and whether it is taken.
        self.held = Signal()
        self.gather = Signal(g.lanes // CHUNK_WORDS)
        self.out = Signal(data.StructLayout({
            "shared": 1, "warp": below(g.warps), "base": physical(g), "register": 6,
            "beat": below(g.beats), "last": 1, "row": range(g.shared_lines * rows_per_line(g))}))
        self.free = Signal()


class RestorePipeline(wiring.Component):
    """Parses streams one after the other, up to four words a cycle.

    Warps that had exited are initialised first, with no live lane; then the pattern table is kept.
    Each record takes two cycles, one for each predicate, uniform register and stack entry, then one
    for four words; registers that are not random are written meanwhile, or while the next record is
    parsed. With ``accepted.scramble`` every dead register is written with pseudo-random bits.

    A TB is bad if `failed` was set before its end, if a checksum is not that of its entry, if its
    stream is too short or too long, or if a record names a warp that is not to come, a depth that
    cannot be, or has patterns of registers that the kernel has not or of another number of
    registers than the record says; the rest of its stream is then skipped.

    Parameters
    ----------
    g : Geometry

    Attributes
    ----------
    accepted : in
    job : stream, in
    words, level : Signal, in
    take : Signal, out
        The words of the streams, from an `Unpacker`.
    failed : Signal, in
        The words cannot be trusted.
    crc : stream, in
        Of each stream the checksum up to its table, from a `StreamChecker`.
    warp_init, stack_push, restore_predicate, restore_uniform, restore_write, row
        To the core.
    done : out
    idle : Signal, out
    """

    accepted: data.View
    job: stream.Interface
    words: data.View
    level: Signal
    take: Signal
    failed: Signal
    crc: stream.Interface
    warp_init: stream.Interface
    stack_push: stream.Interface
    restore_predicate: data.View
    restore_uniform: data.View
    restore_write: stream.Interface
    row: stream.Interface
    done: data.View
    idle: Signal

    def __init__(self, g: Geometry):
        self.geometry = g
        super().__init__({
            "accepted": In(accepted_command(g)), "job": In(stream.Signature(restore_job(g))),
            "words": In(data.ArrayLayout(32, CHUNK_WORDS)), "level": In(range(CHUNK_WORDS + 1)),
            "take": Out(range(CHUNK_WORDS + 1)), "failed": In(1),
            "crc": In(stream.Signature(32)),
            "warp_init": Out(stream.Signature(warp_init(g))),
            "stack_push": Out(stream.Signature(stack_push(g))),
            "restore_predicate": Out(predicate_restore(g)),
            "restore_uniform": Out(uniform_restore(g)),
            "restore_write": Out(stream.Signature(register_write(g))),
            "row": Out(stream.Signature(row_access(g))),
            "done": Out(restored(g)), "idle": Out(1),
        })

    def elaborate(self, platform):
        m = Module()
        g = self.geometry
        regs = _Registers(g)
        m.submodules.patterns = patterns = Memory(shape=2 * MAX_REGISTERS,
                                                  depth=g.max_block_warps, init=[])
        expander = Expander(g)
        m.submodules.expander = ResetInserter(regs.skipping)(expander)
        m.submodules.bitmap = bitmap = Memory(shape=GROUP, depth=-(-g.shared_lines // GROUP),
                                              init=[])

        m.d.sync += regs.words_left.eq(regs.words_left - self.take)
        self._outputs(m, regs, expander)
        with m.FSM():
            self._start(m, regs)
            self._table(m, regs, patterns)
            self._record(m, regs, patterns, expander)
            self._rest(m, regs)
            self._small(m, regs, expander)
            self._data(m, regs)
            self._lines(m, regs, bitmap)
            self._end(m, regs, expander)
        return m

    def _need(self, m, regs, count, also: ValueLike = 1):
        """Take `count` words once they are there and `also` holds; a stream without them is bad.

        Returns whether the words are there, and whether they are taken.
        """
        there = Signal()
        taken = Signal()
        m.d.comb += [there.eq((self.level >= count) & (regs.words_left >= count)),
                     taken.eq(there & also)]
        with m.If(taken):
            m.d.comb += self.take.eq(count)
        with m.If(regs.words_left < count):
            self._give_up(m, regs)
        return there, taken

    def _give_up(self, m, regs):
        m.d.sync += regs.bad.eq(1)
        m.next = "SKIP"

    def _start(self, m, regs):
        """Take a job; initialise the warps that had exited."""
        job, s, init = self.job.payload, self.accepted, self.warp_init.payload
        m.d.comb += [
            init.warp.eq(regs.warp), init.tb.eq(regs.stream.place.tb), init.kernel.eq(s.kernel),
            init.block_warp.eq(regs.header.warp),
            init.base.eq(regs.base), init.registers.eq(s.registers),
        ]
        with m.State("IDLE"):
            m.d.comb += [self.idle.eq(1), self.job.ready.eq(1)]
            with m.If(self.job.valid):
                m.d.sync += [regs.stream.eq(job), regs.words_left.eq(job.words + job.skip),
                             regs.todo.eq(job.live_warps),
                             regs.vacant.eq(~job.live_warps & ((Const(1, 1) << s.warps) - 1)),
                             regs.bad.eq(0), regs.group.eq(0),
                             regs.shared.eq(0), regs.part.eq(0), regs.unit.eq(0),
                             regs.skip.eq(job.skip), regs.record.eq(0)]
                m.next = "VACANT"
        with m.State("VACANT"):
            number = Signal(below(self.geometry.max_block_warps))
            m.d.comb += number.eq(lowest_number(regs.vacant))
            with m.If(regs.vacant.any()):
                m.d.comb += [self.warp_init.valid.eq(1),
                             init.warp.eq(regs.stream.place.slots[number]),
                             init.block_warp.eq(number),
                             init.base.eq(regs.stream.place.base + number * s.registers)]
                with m.If(self.warp_init.ready):
                    m.d.sync += regs.vacant.eq(without_lowest(regs.vacant))
            with m.Else():
                m.next = "TABLE"

    def _table(self, m, regs, patterns):
        """Drop what comes before the pattern table, then keep the table."""
        write = patterns.write_port()
        m.submodules.table_checksum = table = Checksum(PATTERN_WORDS)
        m.d.comb += [
            write.addr.eq(regs.record), write.data.eq(Value.cast(self.words)),
            table.data.eq(Value.cast(self.words)), table.valid.eq(write.en),
            table.start.eq(regs.starts), regs.table_right.eq(table.crc == regs.stream.table_crc),
        ]
        with m.State("TABLE"):
            with m.If(regs.record == popcount(regs.todo)):
                m.d.sync += regs.record.eq(0)
                m.next = "RECORD"
            with m.Elif(regs.skip.any()):
                _, taken = self._need(m, regs, regs.skip)
                with m.If(taken):
                    m.d.sync += regs.skip.eq(0)
            with m.Else():
                _, taken = self._need(m, regs, PATTERN_WORDS)
                m.d.comb += [write.en.eq(taken), regs.starts.eq(regs.record == 0)]
                with m.If(taken):
                    m.d.sync += regs.record.eq(regs.record + 1)

    def _record(self, m, regs, patterns, expander):
        """Parse the header of a warp, its last word while the warp is initialised."""
        g, s = self.geometry, self.accepted
        words, header = Value.cast(self.words), regs.header
        coming = Signal(WARP_HEADER)
        first = Signal(below(g.max_block_warps))
        number = Signal(8)
        m.d.comb += [coming.as_value().eq(words), first.eq(coming.warp), number.eq(header.warp)]
        with m.State("RECORD"):
            with m.If(self.failed):
                self._give_up(m, regs)
            with m.Elif(regs.todo.any()):
                _, taken = self._need(m, regs, CHUNK_WORDS)
                with m.If(taken):
                    m.d.sync += [header.eq(coming), regs.record.eq(regs.record + 1),
                                 regs.depth.eq(coming.depth),
                                 regs.predicates.eq(coming.predicates),
                                 regs.warp.eq(regs.stream.place.slots[first]),
                                 regs.base.eq(regs.stream.place.base + first * s.registers)]
                    m.next = "INIT"
            with m.Else():
                m.next = "FINISH"
                with m.If(s.lines != 0):
                    m.next = "BITMAP"
        uniform, strided, saved = self._masks(m, regs, patterns, expander)
        init = self.warp_init.payload
        impossible = Signal()
        absurd = Signal()
        m.d.comb += [
            impossible.eq((number >= g.max_block_warps)
                          | ~regs.todo.bit_select(number[:len(first)], 1)
                          | (header.depth == 0) | (header.depth > g.stack_depth)),
            absurd.eq(impossible | (saved & ~s.allocated).any()
                      | (header.saved_registers != popcount(saved))),
        ]
        with m.State("INIT"):
            m.d.comb += [init.launched.eq(header.launched_lanes),
                         init.live.eq(header.live_lanes), init.waiting.eq(header.waiting),
                         init.barrier.eq(header.barrier),
                         init.live_vector.eq(Cat(saved[:LIVE_REST], saved[LIVE_REST:].any()))]
            m.d.sync += [regs.targets.eq(saved & ~uniform & ~strided), regs.uniforms.eq(words),
                         regs.small_words.eq((popcount(uniform) + (popcount(strided) << 1))
                                              * group_words(g, s.pag))]
            there, taken = self._need(m, regs, 1, also=self.warp_init.ready & ~absurd)
            m.d.comb += self.warp_init.valid.eq(there & ~absurd)
            with m.If(absurd):
                self._give_up(m, regs)
            with m.Elif(taken):
                m.d.sync += regs.todo.eq(regs.todo & ~(1 << number))
                m.next = "STACK"
                with m.If(regs.predicates.any()):
                    m.next = "PREDICATE"
                with m.Elif(words[:UNIFORMS].any()):
                    m.next = "UNIFORM"

    def _rest(self, m, regs):
        """Parse the predicates, the uniform registers and the stack of a warp."""
        words, predicate = Value.cast(self.words), self.restore_predicate
        register = self.restore_uniform
        with m.State("PREDICATE"):
            _, taken = self._need(m, regs, 1)
            rest = without_lowest(regs.predicates)
            m.d.comb += [predicate.valid.eq(taken), predicate.warp.eq(regs.warp),
                         predicate.predicate.eq(lowest_number(regs.predicates)),
                         predicate.value.eq(words)]
            with m.If(taken):
                m.d.sync += regs.predicates.eq(rest)
                with m.If(~rest.any()):
                    m.next = "STACK"
                    with m.If(regs.uniforms.any()):
                        m.next = "UNIFORM"
        with m.State("UNIFORM"):
            _, taken = self._need(m, regs, 1)
            remaining = without_lowest(regs.uniforms)
            m.d.comb += [register.valid.eq(taken), register.warp.eq(regs.warp),
                         register.register.eq(lowest_number(regs.uniforms)),
                         register.value.eq(words)]
            with m.If(taken):
                m.d.sync += regs.uniforms.eq(remaining)
                with m.If(~remaining.any()):
                    m.next = "STACK"
        push, entry = self.stack_push, data.View(STACK_ENTRY, words[:32 * STACK_WORDS])
        with m.State("STACK"):
            there, taken = self._need(m, regs, STACK_WORDS, also=push.ready)
            m.d.comb += [push.valid.eq(there), push.payload.warp.eq(regs.warp),
                         push.payload.pc.eq(entry.pc),
                         push.payload.mask.eq(entry.mask), push.payload.reconv.eq(entry.reconv)]
            with m.If(taken):
                m.d.sync += regs.depth.eq(regs.depth - 1)
                with m.If(regs.depth == 1):
                    self._after_data(m, regs)
                    with m.If(regs.targets.any()):
                        m.next = "DATA"

    def _masks(self, m, regs, patterns, expander):
        """Read the patterns of the record in hand;
        return uniform, strided and all saved registers."""
        s, job = self.accepted, expander.job.payload
        read = patterns.read_port(domain="comb")
        uniform = Signal(MAX_REGISTERS)
        strided = Signal(MAX_REGISTERS)
        saved = Signal(MAX_REGISTERS)
        codes = [read.data[2 * r:2 * r + 2] for r in range(MAX_REGISTERS)]
        m.d.comb += [
            read.addr.eq(regs.record - 1),
            uniform.eq(Cat(code == Pattern.UNIFORM for code in codes)),
            strided.eq(Cat(code == Pattern.STRIDED for code in codes)),
            saved.eq(Cat(code != Pattern.DEAD for code in codes)),
            job.warp.eq(regs.warp), job.base.eq(regs.base),
            job.uniform.eq(uniform), job.strided.eq(strided),
            job.dead.eq(s.allocated & ~saved & s.scramble.replicate(MAX_REGISTERS)),
        ]
        m.d.comb += regs.expands.eq((job.uniform | job.strided | job.dead).any())
        return uniform, strided, saved

    def _after_data(self, m, regs):
        """Random registers of a warp are done with."""
        m.next = "RECORD"
        with m.If(regs.expands):
            m.next = "JOB"

    def _small(self, m, regs, expander):
        """Hand the registers that are not random over to the expander, with their words."""
        job, chunk, left = expander.job, expander.words, regs.small_words
        count = Signal(range(CHUNK_WORDS + 1))
        m.d.comb += [count.eq(Mux(left < CHUNK_WORDS, left, CHUNK_WORDS)),
                     chunk.payload.count.eq(count), chunk.payload.words.eq(self.words)]
        with m.State("JOB"):
            m.d.comb += job.valid.eq(1)
            with m.If(job.ready):
                m.next = "RECORD"
                with m.If(left != 0):
                    m.next = "SMALL"
        with m.State("SMALL"):
            there, taken = self._need(m, regs, count, also=chunk.ready)
            m.d.comb += chunk.valid.eq(there)
            with m.If(taken):
                m.d.sync += left.eq(left - count)
                with m.If(left <= CHUNK_WORDS):
                    m.next = "RECORD"

    def _data(self, m, regs):
        """Gather the registers or lines in `targets`, the lowest first, row by row."""
        g, out = self.geometry, regs.out
        parts = g.lanes // CHUNK_WORDS
        part, unit = regs.part, regs.unit
        bit = Signal(range(MAX_REGISTERS))
        complete = Signal()
        last = Signal()
        rest = Signal(MAX_REGISTERS)
        line = regs.stream.place.first_line + (regs.group - 1) * GROUP + bit
        m.d.comb += [bit.eq(lowest_number(regs.targets)), rest.eq(without_lowest(regs.targets)),
                     last.eq(unit == Mux(regs.shared, rows_per_line(g) - 1, g.beats - 1))]
        with m.State("DATA"):
            _, taken = self._need(m, regs, CHUNK_WORDS, also=regs.free)
            with m.If(taken):
                m.d.comb += regs.gather.eq(1 << part)
                m.d.sync += part.eq(Mux(part == parts - 1, 0, part + 1))
            m.d.comb += complete.eq(taken & (part == parts - 1))
            with m.If(complete):
                m.d.sync += [regs.held.eq(1), out.shared.eq(regs.shared), out.register.eq(bit),
                             out.warp.eq(regs.warp), out.base.eq(regs.base),
                             out.beat.eq(unit), out.last.eq(last),
                             out.row.eq((line << exact_log2(rows_per_line(g))) + unit),
                             unit.eq(Mux(last, 0, unit + 1))]
                with m.If(last):
                    m.d.sync += regs.targets.eq(rest)
                    with m.If(~rest.any()):
                        self._after_data(m, regs)
                        with m.If(regs.shared):
                            m.next = "GROUP"

    def _lines(self, m, regs, bitmap):
        """Keep the bitmap, then go through it word by word."""
        s, word = self.accepted, self.words[0]
        write = bitmap.write_port()
        read = bitmap.read_port(domain="comb")
        left = Signal.like(s.lines)
        allowed = Signal(GROUP)
        m.d.comb += [
            left.eq(s.lines - regs.group * GROUP),
            allowed.eq(Mux(left < GROUP, (Const(1, 1) << left[:5]) - 1, ~Const(0, GROUP))),
            write.addr.eq(regs.group), write.data.eq(word),
            read.addr.eq(regs.group),
        ]
        with m.State("BITMAP"):
            _, taken = self._need(m, regs, 1)
            m.d.comb += write.en.eq(taken)
            with m.If(taken):
                m.d.sync += regs.group.eq(regs.group + 1)
                with m.If(left <= GROUP):
                    m.d.sync += [regs.group.eq(0), regs.shared.eq(1)]
                    m.next = "GROUP"
                with m.If((word & ~allowed).any()):
                    self._give_up(m, regs)
        with m.State("GROUP"):
            m.d.sync += [regs.group.eq(regs.group + 1), regs.targets.eq(read.data)]
            with m.If(regs.group * GROUP >= s.lines):
                m.next = "FINISH"
            with m.Elif(read.data.any()):
                m.next = "DATA"

    def _end(self, m, regs, expander):
        """See that the stream has ended, or skip its rest;
        report when the last row has been written."""
        with m.State("FINISH"):
            with m.If(regs.words_left != 0):
                self._give_up(m, regs)
            with m.Elif(~regs.held & ~expander.busy):
                m.next = "DONE"
        with m.State("SKIP"):
            m.d.comb += regs.skipping.eq(1)
            m.d.comb += self.take.eq(Mux(regs.words_left < self.level, regs.words_left, self.level))
            with m.If((regs.words_left == 0) & ~regs.held):
                m.next = "DONE"
        with m.State("DONE"):
            right = regs.table_right & (self.crc.payload == regs.stream.stream_crc)
            m.d.comb += [self.crc.ready.eq(1), self.done.valid.eq(self.crc.valid),
                         self.done.entry.eq(regs.stream.entry),
                         self.done.bad.eq(regs.bad | self.failed | ~right)]
            with m.If(self.crc.valid):
                m.next = "IDLE"

    def _outputs(self, m, regs, expander):
        """Offer the gathered row until it is taken; when there is none, what the expander has until
        that is taken."""
        g, out, write = self.geometry, regs.out, self.restore_write
        row, extra = self.row, expander.output
        parts = [Signal(32 * CHUNK_WORDS, name=f"part_{k}") for k in range(g.lanes // CHUNK_WORDS)]
        noise = [Signal(32, init=seed, name=f"noise_{k}") for k, seed in enumerate(LFSR_SEEDS)]
        gone = Signal()
        gathered = Signal()  # the row is the one offered to the register file
        pinned = Signal()  # the expander's beat was offered and not yet taken
        for k, part in enumerate(parts):
            with m.If(regs.gather[k]):
                m.d.sync += part.eq(Value.cast(self.words))
        m.d.comb += [
            gathered.eq(regs.held & ~out.shared & ~pinned), write.valid.eq(gathered | extra.valid),
            row.valid.eq(regs.held & out.shared), extra.ready.eq(write.ready & ~gathered),
            gone.eq(regs.held & Mux(out.shared, row.ready, gathered & write.ready)),
            regs.free.eq(~regs.held | gone),
            write.payload.mask.eq(~Const(0, g.lanes)), expander.pag.eq(self.accepted.pag),
            row.payload.row.eq(out.row), row.payload.write.eq(1),
            Value.cast(row.payload.data).eq(Cat(parts)),
        ]
        with m.If(gathered):
            m.d.comb += [write.payload[name].eq(out[name])
                         for name in ("warp", "base", "register", "beat", "last")]
            m.d.comb += Value.cast(write.payload.data).eq(Cat(parts))
        with m.Else():
            m.d.comb += [write.payload[name].eq(extra.payload.tag[name])
                         for name in ("warp", "base", "register")]
            m.d.comb += [write.payload[name].eq(extra.payload[name]) for name in ("beat", "last")]
            m.d.comb += Value.cast(write.payload.data).eq(Mux(extra.payload.dead, Cat(
                noise[lane % len(noise)].rotate_left(lane) for lane in range(g.lanes)),
                Value.cast(extra.payload.words)))
        m.d.sync += pinned.eq(extra.valid & ~gathered & ~write.ready)
        with m.If(gone):
            m.d.sync += regs.held.eq(0)
        with m.If(write.valid & write.ready):
            m.d.sync += [lfsr.eq((lfsr >> 1) ^ (lfsr[0].replicate(32) & LFSR_TAPS))
                         for lfsr in noise]
