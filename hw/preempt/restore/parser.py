"""Stream parser: takes the words of context images apart (`arch.context`)."""

from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value, ValueLike
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory, ReadPort
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from ...arch.geometry import MAX_REGISTERS, PREDICATES, UNIFORMS, Geometry
from ...arch.image.context import STACK_WORDS, WARP_HEADER
from ...arch.image.encodings import CODE_BITS, SMALLEST_GROUP, Encoding
from ...arch.isa.liveness import LIVE_BITS, LIVE_REST
from ...interfaces.payloads import below, physical, register_flags, rows_per_line, warp_init
from ...interfaces.port import Port
from ...interfaces.staying import staying_warp
from ...lib.bits import lowest_number, pick, popcount, spread, without_lowest
from ..compress.register_encoder import lane_words, shares
from ..formats.accepted_command import accepted_command
from ..formats.checksum import ChecksumPort
from ..formats.packer import CHUNK_WORDS, WORD_COUNT_BITS
from ..formats.unpacker import word_beat
from .completion import parsed
from .encoding_table import EncodingTable
from .expander import expansion
from .jobs import restore_job
from .row_writer import row_chunk
from .state_writer import entry_words, warp_state

__all__ = ["StreamParser"]

GROUP = 32
"""Lines of a bitmap word."""


class _Registers:
    """What is remembered of the stream in hand."""

    def __init__(self, g: Geometry):
        # The stream in hand: words left, warps with a record to come and without one.
        self.stream = Signal(restore_job(g))
        self.bank = Signal()
        self.words_left = Signal(WORD_COUNT_BITS)
        # Of these as many as matter: all, or more than can be taken.
        self.some_left = Signal(g.window_words.bit_length())
        self.skip = Signal(range(g.chunk_words))
        self.todo = Signal(g.max_block_warps)
        self.of_base = Signal(g.max_block_warps)  # warps with a record in the base of this stream
        self.vacant = Signal(g.max_block_warps)
        # Rows of the table or records taken; of the record in hand the header, the warp, and what
        # is left: predicates and uniform registers, stack entries, words of grouped registers.
        self.record = Signal(range(g.max_block_warps + 1))
        self.header = Signal(WARP_HEADER)
        self.live = Signal(g.warp_size)  # of launched lanes those that are live
        self.uniforms = Signal(UNIFORMS)
        self.repeated = Signal(UNIFORMS)
        self.warp = Signal(below(g.warps))
        self.base = Signal(physical(g))
        self.scalars = Signal(range(PREDICATES + UNIFORMS + 1))
        self.entries = Signal(range(g.stack_depth + 1))
        self.group_words = Signal(range(2 * g.warp_size // SMALLEST_GROUP * MAX_REGISTERS + 1))
        self.wrong = Signal()  # its codes make no sense
        self.expands = Signal()  # something of it is for the expander
        self.over = Signal()  # nothing else of its state is left
        # What the records up to here have: uniform registers of the last, registers that others may
        # follow, and something for the expander.
        self.before = Signal(UNIFORMS)
        self.kept = Signal(MAX_REGISTERS)
        self.expanded = Signal()
        # Registers, or lines of a bitmap word, whose rows are gathered; number and code of the
        # lowest, and how far: row and part of it (before the records, part of a row of the table).
        # What they are to be (`coming`) says the next number and code too.
        self.targets = Signal(MAX_REGISTERS)
        self.rest = Signal(MAX_REGISTERS)  # without the lowest
        self.coming = Signal(MAX_REGISTERS)
        self.lowest = Signal(range(MAX_REGISTERS))
        self.bit = Signal(range(MAX_REGISTERS))
        self.shared = Signal()
        self.group = Signal(range(g.shared_lines + 1))
        self.unit = Signal(range(max(g.beats, rows_per_line(g))))
        self.code = Signal(Encoding)
        self.part = Signal(range(max(2, g.lanes // g.chunk_words)))


class StreamParser(wiring.Component):
    """Parses streams one after the other, four words or a bus beat a cycle, whichever is more.

    First the encoding table is kept, four words a cycle; warps that had exited are initialised
    meanwhile, with no live lane. A record takes a cycle for its header, then as many as it has
    words by chunks (`Geometry.chunk_words`), with a cycle more at most for each stack entry and one
    for its uniform and strided registers; the word that the lanes of a register share takes none. A
    bitmap word takes a cycle, an empty one another. The next stream begins in the cycle after the
    last word of one.

    A TB is bad if `failed` was set before its last record, if the checksum of its table is not that
    of its entry, if its stream is too short or too long, or if a record names a warp that is not to
    come, a depth that cannot be, or has registers that the kernel has not, or one in an encoding
    that there is not, or that follows nothing, or if an increment names a warp that its base has
    not; the rest of its stream is then skipped.

    The registers of a warp that have stayed on the SM are loaded (`StayingMasks`) after its
    initialisation, a cycle a warp at least.

    Of a base only registers and lines are handed over, and its warps initialised; the increment
    begins when all of that has been written.

    Parameters
    ----------
    g : Geometry
    shared : bool
        Use a checksum outside, which the block has a port for, not one of its own.

    Attributes
    ----------
    accepted : in
    job : stream, in
    words, level : Signal, in
    take : Signal, out
        The words of the streams, from an `Unpacker`.
    failed : Signal, in
        The words cannot be trusted.
    warp_init : stream, out; load : stream of payloads.register_flags, out
        To the core.
    kept : staying_warp, out; mask : Signal(MAX_REGISTERS), in
        The `StayingMasks`.
    state, state_words : stream, out
        To a `StateWriter`.
    expansion, expansion_words : stream, out
        To an `Expander`.
    row : stream, out
        To a `RowWriter`.
    parsed : stream, out
        To a `Completion`, which is ready when everything of the stream before has been written.
    quiet : Signal, in
        None of the writers has something offered and not taken, or a whole row.
    settled : Signal, in
        Everything of the streams before has been written.
    drop : Signal, out
        The writers forget what they have: all of it is of a bad TB.
    idle : Signal, out
        No stream in hand.
    checksum : ChecksumPort, out
        If `shared`.
    """

    accepted: data.View
    job: stream.Interface
    words: data.View
    level: Signal
    take: Signal
    failed: Signal
    warp_init: stream.Interface
    load: stream.Interface
    kept: data.View
    mask: Signal
    state: stream.Interface
    state_words: stream.Interface
    expansion: stream.Interface
    expansion_words: stream.Interface
    row: stream.Interface
    parsed: stream.Interface
    quiet: Signal
    settled: Signal
    drop: Signal
    idle: Signal
    checksum: Port

    def __init__(self, g: Geometry, *, shared: bool = False):
        self.geometry, self.shared = g, shared
        super().__init__({
            **({"checksum": Out(ChecksumPort(CHUNK_WORDS))} if shared else {}),
            "accepted": In(accepted_command(g)), "job": In(stream.Signature(restore_job(g))),
            "words": In(data.ArrayLayout(32, g.window_words)),
            "level": In(range(g.window_words + 1)), "take": Out(range(g.window_words + 1)),
            "failed": In(1),
            "warp_init": Out(stream.Signature(warp_init(g))),
            "load": Out(stream.Signature(register_flags(g))),
            "kept": Out(staying_warp(g)), "mask": In(MAX_REGISTERS),
            "state": Out(stream.Signature(warp_state(g))),
            "state_words": Out(stream.Signature(word_beat(g.chunk_words))),
            "expansion": Out(stream.Signature(expansion(g))),
            "expansion_words": Out(stream.Signature(word_beat(g.chunk_words))),
            "row": Out(stream.Signature(row_chunk(g))),
            "parsed": Out(stream.Signature(parsed(g))), "quiet": In(1), "settled": In(1),
            "drop": Out(1),
            "idle": Out(1),
        })

    def elaborate(self, platform: Any):
        m = Module()
        g = self.geometry
        regs = _Registers(g)
        m.submodules.table = table = EncodingTable(g, shared=self.shared)
        if self.shared:
            wiring.connect(m, table.checksum, wiring.flipped(self.checksum))
        m.submodules.bitmap = bitmap = Memory(shape=GROUP, depth=-(-g.shared_lines // GROUP),
                                              init=[])

        m.d.sync += regs.words_left.eq(regs.words_left - self.take)
        few = len(regs.some_left)
        m.d.comb += [regs.some_left.eq(regs.words_left[:few]
                                       | spread(regs.words_left[few:].any(), few)),
                     regs.rest.eq(without_lowest(regs.targets)), regs.coming.eq(regs.rest),
                     regs.lowest.eq(lowest_number(regs.coming))]
        self._vacant(m, regs)
        with m.FSM():
            with m.State("IDLE"):
                m.d.comb += self.idle.eq(1)
                self._begin(m, regs)
            self._table(m, regs, table)
            self._record(m, regs, table)
            self._init(m, regs, table)
            if g.in_place:
                self._load(m, regs)
            self._state(m, regs)
            self._data(m, regs, table, bitmap)
            self._expansion(m, regs)
            self._bitmap(m, regs, bitmap)
            self._end(m, regs, table)
        return m

    def _need(self, m: Module, regs: _Registers, count: ValueLike, also: ValueLike = 1,
              known: ValueLike = 1):
        """Take `count` words once they are there and `also` holds; a stream without them is bad.
        Unless `known`, the `count` is not believed: it is of a word that has not come.

        Returns whether the words are there, and whether they are taken.
        """
        there = Signal()
        taken = Signal()
        m.d.comb += [there.eq((self.level >= count) & (regs.some_left >= count)),
                     taken.eq(there & also)]
        with m.If(taken):
            m.d.comb += self.take.eq(count)
        with m.If((regs.some_left < count) & known):
            m.next = "SKIP"
        return there, taken

    def _chunk(self) -> Value:
        """Return the next words, as many as are handed over in a cycle."""
        return Value.cast(self.words)[:32 * self.geometry.chunk_words]

    def _begin(self, m: Module, regs: _Registers):
        """Take a job if there is one."""
        job, s = self.job.payload, self.accepted
        m.d.comb += self.job.ready.eq(~job.increment | self.settled & ~self.parsed.valid)
        m.next = "IDLE"
        with m.If(self.job.valid & self.job.ready):
            with m.If(~job.increment):
                m.d.sync += regs.of_base.eq(Mux(job.base, job.live_warps, 0))
            m.d.sync += [regs.stream.eq(job), regs.words_left.eq(job.words + job.skip),
                         regs.bank.eq(~regs.bank), regs.todo.eq(job.live_warps),
                         regs.vacant.eq(~job.live_warps & ((Const(1, 1) << s.warps) - 1)),
                         regs.group.eq(0), regs.shared.eq(0), regs.unit.eq(0), regs.part.eq(0),
                         regs.skip.eq(job.skip), regs.record.eq(0), regs.before.eq(0),
                         regs.kept.eq(0), regs.expanded.eq(0)]
            m.next = "TABLE"

    def _vacant(self, m: Module, regs: _Registers):
        """Initialise the warps that had exited."""
        s, init = self.accepted, self.warp_init.payload
        number = Signal(below(self.geometry.max_block_warps))
        m.d.comb += [
            number.eq(lowest_number(regs.vacant)), init.tb.eq(regs.stream.place.tb),
            init.kernel.eq(s.kernel), init.registers.eq(s.registers),
            self.warp_init.valid.eq(regs.vacant.any()),
            init.warp.eq(regs.stream.place.slots[number]), init.block_warp.eq(number),
            init.base.eq(regs.stream.place.base + number * s.registers),
        ]
        with m.If(regs.vacant.any() & self.warp_init.ready):
            m.d.sync += regs.vacant.eq(without_lowest(regs.vacant))

    def _table(self, m: Module, regs: _Registers, table: EncodingTable):
        """Drop what comes before the encoding table, then keep the table."""
        rows = popcount(regs.todo)
        left = Signal.like(self.accepted.row_words)  # words of the row
        count = Signal(range(CHUNK_WORDS + 1))
        over = Signal()
        m.d.comb += [left.eq(self.accepted.row_words - CHUNK_WORDS * regs.part),
                     count.eq(Mux(left < CHUNK_WORDS, left, CHUNK_WORDS)), table.part.eq(regs.part)]
        m.d.comb += [table.words[k].eq(Mux(k < count, self.words[k], 0))
                     for k in range(CHUNK_WORDS)]
        with m.State("TABLE"):
            m.d.comb += [table.record.eq(regs.record), over.eq(regs.record == rows)]
            with m.If(regs.skip.any()):
                _, taken = self._need(m, regs, regs.skip)
                with m.If(taken):
                    m.d.sync += regs.skip.eq(0)
            with m.Elif(regs.record != rows):
                _, taken = self._need(m, regs, count)
                m.d.comb += table.write.eq(taken)
                with m.If(taken):
                    m.d.sync += regs.part.eq(regs.part + 1)
                    with m.If(left <= CHUNK_WORDS):
                        m.d.comb += over.eq(regs.record + 1 == rows)
                        m.d.sync += [regs.part.eq(0), regs.record.eq(regs.record + 1)]
            with m.If(over & ~regs.vacant.any()):
                m.d.sync += regs.record.eq(0)
                m.next = "RECORD"

    def _record(self, m: Module, regs: _Registers, table: EncodingTable):
        """Take the header of a warp."""
        s, coming = self.accepted, data.View(WARP_HEADER, self.words[0])
        first = Signal(below(self.geometry.max_block_warps))
        uniforms = Signal(UNIFORMS)  # whose values are in the record
        again = regs.before & coming.repeats.replicate(UNIFORMS)
        m.d.comb += [first.eq(coming.warp),
                     uniforms.eq(Mux(coming.uniforms, Mux(coming.exited, self.words[2],
                                                          self.words[1]), 0))]
        with m.State("RECORD"):
            self._codes(m, regs, table)
            with m.If(self.failed):
                m.next = "SKIP"
            with m.Else():
                _, taken = self._need(m, regs, 1 + coming.exited + coming.uniforms,
                                      known=(self.level != 0) | (regs.some_left == 0))
                with m.If(taken):
                    m.d.sync += [regs.header.eq(coming),
                                 regs.scalars.eq(popcount(coming.predicates) + popcount(uniforms)),
                                 regs.live.eq(Mux(coming.exited, self.words[1], ~0)),
                                 regs.uniforms.eq(uniforms), regs.repeated.eq(again & ~uniforms),
                                 regs.before.eq(again | uniforms),
                                 regs.warp.eq(regs.stream.place.slots[first]),
                                 regs.base.eq(regs.stream.place.base + first * s.registers)]
                    m.next = "INIT"

    def _codes(self, m: Module, regs: _Registers, table: EncodingTable):
        """Take what the codes of a warp say while its header comes, a cycle before it is needed:
        all of them are looked at for each of it."""
        g, s = self.geometry, self.accepted
        m.d.comb += table.record.eq(regs.record)
        m.d.sync += [
            regs.wrong.eq((table.saved & ~s.allocated).any() | table.strange
                          | ((table.follows & ~regs.kept).any() if g.tb_compressor else 0)),
            regs.expands.eq((table.group_words != 0) | (table.follows | self._dead(regs, table)
                                                        ).any()),
            regs.group_words.eq(table.group_words)]
        m.d.comb += regs.coming.eq(table.by_lane)
        self._aim(m, regs, table)

    def _aim(self, m: Module, regs: _Registers, table: EncodingTable | None = None):
        """Take the targets that are `coming`, and the code of their lowest if they have some."""
        m.d.sync += [regs.targets.eq(regs.coming), regs.bit.eq(regs.lowest)]
        if table is not None:
            m.d.sync += regs.code.eq(table.codes.word_select(regs.lowest, CODE_BITS))

    def _dead(self, regs: _Registers, table: EncodingTable):
        """Return the vector of registers that get random bits, since they are not saved."""
        s, stayed = self.accepted, regs.stream.stayed if self.geometry.in_place else Const(0)
        return s.allocated & ~table.saved & spread(
            s.options.scramble & ~regs.stream.increment & ~stayed, MAX_REGISTERS)

    def _init(self, m: Module, regs: _Registers, table: EncodingTable):
        """Initialise the warp of a header, and take the first words of its state."""
        g, s, header = self.geometry, self.accepted, regs.header
        init, state, job = self.warp_init.payload, self.state.payload, self.expansion.payload
        number = Signal(8)
        launched = Signal.like(regs.live)
        absurd = Signal()
        expands, saved = regs.expands, table.saved
        stayed = regs.stream.stayed if g.in_place else Const(0)
        unknown = regs.stream.increment  # what is live is not in this stream
        if g.in_place:
            unknown = unknown | regs.stream.elsewhere
        m.d.comb += [
            number.eq(header.warp), absurd.eq(
                (number >= g.max_block_warps)
                | ~regs.todo.bit_select(number, 1)
                | (header.depth == 0) | (header.depth > g.stack_depth)
                | regs.wrong
                | regs.stream.increment & ~regs.of_base.bit_select(number, 1)
                | (0 if g.tb_compressor else header.repeats)),
            state.warp.eq(regs.warp), state.predicates.eq(header.predicates),
            state.uniforms.eq(regs.uniforms), state.repeated.eq(regs.repeated),
            state.depth.eq(header.depth),
            launched.eq((Const(2, 2) << header.launched) - 1),
            state.live.eq(regs.live & launched), state.bank.eq(regs.bank),
            job.warp.eq(regs.warp), job.base.eq(regs.base), job.bank.eq(regs.bank),
            job.codes.eq(table.codes), job.opens.eq(~regs.expanded),
            job.dead.eq(self._dead(regs, table)),
        ]
        with m.State("INIT"):
            room = (self.state.ready & (self.expansion.ready | ~expands) & ~absurd)
            there, taken, over = self._state_words(m, regs, regs.scalars, header.depth,
                                                   room & self.warp_init.ready)
            m.d.comb += [
                table.record.eq(regs.record),
                self.warp_init.valid.eq(there & room & self.state_words.ready),
                init.warp.eq(regs.warp), init.block_warp.eq(number), init.base.eq(regs.base),
                init.launched.eq(launched), init.live.eq(regs.live & launched),
                init.waiting.eq(header.waiting), init.barrier.eq(header.barrier),
                # of predicates and uniform registers only those saved are written
                init.live_vector.eq(Cat(saved[:LIVE_REST], saved[LIVE_REST:].any())
                                    | ~s.allocated[:LIVE_BITS]
                                    | spread(unknown, LIVE_BITS)),
                init.kept.eq(regs.stream.increment),
                self.state.valid.eq(taken & ~regs.stream.base),
                self.expansion.valid.eq(taken & expands),
            ]
            with m.If(absurd):
                m.next = "SKIP"
            with m.Elif(taken):
                m.d.sync += [regs.record.eq(regs.record + 1),
                             regs.kept.eq(regs.kept | table.followed),
                             regs.expanded.eq(regs.expanded | expands),
                             regs.todo.eq(regs.todo & ~(1 << number))]
                if g.in_place:
                    m.d.sync += regs.over.eq(over)
                load = [(stayed, "LOAD")] if g.in_place else []
                self._go_on(m, *load, (~over, "STATE"), (regs.targets.any(), "DATA"),
                            (regs.group_words != 0, "EXPANSION"),
                            (self._others(regs, number), "RECORD"))

    def _load(self, m: Module, regs: _Registers):
        """Have those registers of a warp valid again that have stayed where they are."""
        load = self.load
        m.d.comb += [self.kept.row.eq(regs.stream.staying), self.kept.warp.eq(regs.header.warp),
                     load.payload.warp.eq(regs.warp), load.payload.valid.eq(self.mask)]
        with m.State("LOAD"):
            m.d.comb += load.valid.eq(1)
            with m.If(load.ready):
                self._go_on(m, (~regs.over, "STATE"), (regs.targets.any(), "DATA"),
                            (regs.group_words != 0, "EXPANSION"), (regs.todo.any(), "RECORD"))

    def _others(self, regs: _Registers, number: Value):
        """Return whether a record comes after that of warp `number`."""
        return (regs.todo & ~(1 << number)).any()

    def _go_on(self, m: Module, *choices: tuple[Value, str]):
        """Go to the first state whose condition holds; without one, to the end of the records."""
        m.next = "FINISH"
        with m.If(self.accepted.lines != 0):
            m.next = "BITMAP"
        for condition, state in reversed(choices):
            with m.If(condition):
                m.next = state

    def _state_words(self, m: Module, regs: _Registers, scalars: Value, entries: Value,
                     also: ValueLike):
        """Hand over the next words of a warp's state: those of its `scalars` predicates and uniform
        registers that are left, as far as a chunk reaches, and behind the last of them a stack
        entry if it has room.

        Returns whether they are there, whether they are taken, and whether they are the last.
        """
        chunk, most = self.state_words, self.geometry.chunk_words
        first = Signal(range(most + 1), name="first")  # words of scalars among them
        seen = Signal(name="seen")  # the first word of a stack entry is there
        whole = Signal(name="whole")  # an entry goes with them
        count = Signal(range(most + 1), name="count")
        end = Signal(range(most + STACK_WORDS), name="end")  # words up to the last of that entry
        ends = [Signal.like(end, name=f"end_{k}") for k in range(most)]  # if it begins with word k
        m.d.comb += [each.eq(k + entry_words(self.words[k])) for k, each in enumerate(ends)]
        m.d.comb += [
            first.eq(Mux(scalars < most, scalars, most)), seen.eq(self.level > first),
            end.eq(pick(ends, first)), whole.eq(seen & (scalars < most) & (end <= most)),
            count.eq(Mux(whole, end, Mux(first == 0, 1, first))),
        ]
        there, taken = self._need(m, regs, count, also=also & chunk.ready)
        m.d.comb += [chunk.valid.eq(taken & ~regs.stream.base), chunk.payload.count.eq(count),
                     Value.cast(chunk.payload.words).eq(self._chunk())]
        with m.If(taken):
            m.d.sync += [regs.scalars.eq(scalars - first), regs.entries.eq(entries - whole)]
        return there, taken, whole & (entries == 1)

    def _state(self, m: Module, regs: _Registers):
        """Hand the rest of the state of a warp over to the state writer."""
        with m.State("STATE"):
            _, taken, over = self._state_words(m, regs, regs.scalars, regs.entries, 1)
            with m.If(taken & over):
                self._go_on(m, (regs.targets.any(), "DATA"),
                            (regs.group_words != 0, "EXPANSION"), (regs.todo.any(), "RECORD"))

    def _data(self, m: Module, regs: _Registers, table: EncodingTable, bitmap: Memory):
        """Hand over the registers or lines in `targets`, the lowest first, row by row."""
        g, row, place, unit = self.geometry, self.row.payload, self.row.payload.place, regs.unit
        read = bitmap.read_port(domain="comb")
        bit = regs.bit
        last = Signal()
        left = Signal(range(g.lanes + 1))  # words of the row from this part on
        window = Value.cast(self.words)
        line = regs.stream.place.first_line + (regs.group - 1) * GROUP + bit
        m.d.comb += [
            last.eq(unit == Mux(regs.shared, rows_per_line(g) - 1, g.beats - 1)),
            left.eq(lane_words(g, regs.code) - regs.part * g.chunk_words),
            row.headed.eq(shares(regs.code) & (unit == 0) & (regs.part == 0)),
            row.shared.eq(self.words[0]), row.code.eq(regs.code), row.part.eq(regs.part),
            row.completes.eq(left <= g.chunk_words),
            Value.cast(row.words).eq(Mux(row.headed, window >> 32, window)),
            place.shared.eq(regs.shared),
            place.register.eq(bit), place.warp.eq(regs.warp), place.base.eq(regs.base),
            place.beat.eq(unit), place.last.eq(last), place.bank.eq(regs.bank),
            place.row.eq((line << exact_log2(rows_per_line(g))) + unit), read.addr.eq(regs.group),
        ]
        with m.State("DATA"):
            there, taken = self._need(
                m, regs, Mux(row.completes, left, g.chunk_words) + row.headed, also=self.row.ready)
            m.d.comb += [self.row.valid.eq(there), table.record.eq(regs.record - 1)]
            with m.If(taken):
                m.d.sync += regs.part.eq(Mux(row.completes, 0, regs.part + 1))
            with m.If(taken & row.completes):
                m.d.sync += unit.eq(Mux(last, 0, unit + 1))
                with m.If(last):
                    with m.If(regs.shared):
                        self._aim(m, regs)
                    with m.Else():
                        self._aim(m, regs, table)
                    with m.If(regs.shared & ~regs.rest.any()):
                        self._group(m, regs, read)
                    with m.Elif(~regs.rest.any()):
                        self._go_on(m, (regs.group_words != 0, "EXPANSION"),
                                    (regs.todo.any(), "RECORD"))
        with m.State("GROUP"):
            self._group(m, regs, read)

    def _group(self, m: Module, regs: _Registers, read: ReadPort):
        """Go on with the next bitmap word."""
        m.d.comb += regs.coming.eq(read.data)
        m.d.sync += regs.group.eq(regs.group + 1)
        self._aim(m, regs)
        m.next = "GROUP"
        with m.If(regs.group * GROUP >= self.accepted.lines):
            m.next = "FINISH"
        with m.Elif(read.data.any()):
            m.next = "DATA"

    def _expansion(self, m: Module, regs: _Registers):
        """Hand the words of uniform and strided registers over to the expander."""
        chunk, left, most = self.expansion_words, regs.group_words, self.geometry.chunk_words
        count = Signal(range(most + 1))
        m.d.comb += [count.eq(Mux(left < most, left, most)),
                     chunk.payload.count.eq(count),
                     Value.cast(chunk.payload.words).eq(self._chunk())]
        with m.State("EXPANSION"):
            there, taken = self._need(m, regs, count, also=chunk.ready)
            m.d.comb += chunk.valid.eq(there)
            with m.If(taken):
                m.d.sync += left.eq(left - count)
                with m.If(left <= most):
                    self._go_on(m, (regs.todo.any(), "RECORD"))

    def _bitmap(self, m: Module, regs: _Registers, bitmap: Memory):
        """Keep the bitmap."""
        s, word = self.accepted, self.words[0]
        write = bitmap.write_port()
        left = Signal.like(s.lines)
        allowed = Signal(GROUP)
        m.d.comb += [
            left.eq(s.lines - regs.group * GROUP),
            allowed.eq(Mux(left < GROUP, (Const(1, 1) << left[:5]) - 1, ~Const(0, GROUP))),
            write.addr.eq(regs.group), write.data.eq(word),
        ]
        with m.State("BITMAP"):
            _, taken = self._need(m, regs, 1)
            m.d.comb += write.en.eq(taken)
            with m.If(taken):
                m.d.sync += regs.group.eq(regs.group + 1)
                with m.If(left <= GROUP):
                    m.d.sync += [regs.group.eq(0), regs.shared.eq(1),
                                 regs.code.eq(Encoding.RANDOM)]
                    m.next = "GROUP"
                with m.If((word & ~allowed).any()):
                    m.next = "SKIP"

    def _end(self, m: Module, regs: _Registers, table: EncodingTable):
        """See that the stream has ended, or skip its rest; go on with the next."""
        tb = self.parsed.payload
        m.d.comb += [tb.entry.eq(regs.stream.entry), tb.bank.eq(regs.bank),
                     tb.stream_crc.eq(regs.stream.stream_crc), tb.base.eq(regs.stream.base),
                     tb.increment.eq(regs.stream.increment)]
        with m.State("FINISH"):
            m.d.comb += [self.parsed.valid.eq(regs.words_left == 0),
                         tb.bad.eq(table.crc != regs.stream.table_crc)]
            with m.If(regs.words_left != 0):
                m.next = "SKIP"
            with m.Elif(self.parsed.ready):
                self._begin(m, regs)
        with m.State("SKIP"):
            m.d.comb += [
                self.take.eq(Mux(regs.some_left < self.level, regs.some_left, self.level)),
                self.parsed.valid.eq((regs.words_left == 0) & ~regs.vacant.any() & self.quiet),
                tb.bad.eq(1),
                self.drop.eq(self.parsed.valid & self.parsed.ready),
            ]
            with m.If(self.drop):
                m.next = "IDLE"
