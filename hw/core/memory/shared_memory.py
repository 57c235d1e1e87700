"""Shared memory: banks and conflicts, valid and dirty lines.

::

    op -> OperationQueue -> select lanes of a pass --> banks (synchronous RAM) --> gather --> write
                            |  (BankConflicts)          ^                |         by bank
                            |                           +- SharedAtomics +
                            +- prepare the line of a store (LineState)
"""

from collections.abc import Sequence
from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value, signed
from amaranth.lib import data, memory, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from ...arch.faults import Fault
from ...arch.geometry import SEGMENT_BYTES, WORD_BYTES, Geometry
from ...arch.isa.opcodes import Size
from ...interfaces import payloads as payload
from ...interfaces.core_ports import CompletionPort, MemoryAccessPort
from ...interfaces.port import Port
from ...interfaces.preemption_port import SharedStatePort
from ...lib.bits import look_up, lowest, pick, select
from .access_size import extra_bytes, extra_registers, extract, replicate, strobe
from .atomics.entries import trace_atomic
from .atomics.shared_unit import SharedAtomics
from .bank_conflicts import BankConflicts
from .line_state import LineState, look_up_bit
from .operation_queue import OperationQueue

__all__ = ["SharedMemory"]

WORD_BITS = exact_log2(WORD_BYTES)
LINE_BITS = exact_log2(SEGMENT_BYTES)


def _pass(g: Geometry) -> data.StructLayout:
    """A pass on its way through the banks to the result; of a `silent` instruction only the `final`
    one is left.

    `first` and `complete` mark the first and last pass of a beat. `take` are the lanes served,
    `known` those of them whose line is valid; the rest is what the register write says. `upper`
    ones have upper halves of atomics.
    """
    return data.StructLayout({
        "warp": payload.below(g.warps), "base": payload.physical(g),
        "register": 6, "beat": payload.below(g.beats),
        "last": 1, "mask": g.lanes, "size": Size, "silent": 1, "upper": 1,
        "first": 1, "complete": 1, "final": 1, "take": g.lanes, "known": g.lanes,
    })


class SharedMemory(wiring.Component):
    """Executes shared-memory loads, stores and atomics, one pass per cycle.

    A pass serves the lanes of a beat that do not conflict (`BankConflicts`); a 64- or 128-bit
    access takes its words in successive rounds. Without conflicts a 32-bit access takes ``beats``
    cycles, and a load's first write comes 3 cycles after its last beat on `op`. Instructions
    complete in order.

    An atomic takes one pass per lane, lowest first. Lanes that follow each other on one word take 3
    cycles each (f32 sums: 7), and the next instruction waits 2 cycles (6) for the last lane. 64-bit
    atomics then write the upper halves of the values found, one beat per cycle. An atomic prepares
    lines as a store does.

    Addresses are relative to the TB's allocation. A read of an invalid line gives zeros. The first
    store to a line that is not dirty takes a cycle before it to mark the line. If the line was
    invalid, zeros are written to all of it in the cycles before the store. A row access holds
    operations up while the lanes of atomics in flight are written. Then it takes a cycle, at most
    every other one. So running TBs cannot hold up a save or a restore.

    Faults: MISALIGNED, else SHARED_BOUND, each at its lowest lane, before anything is accessed.
    Registers are released and completion is signalled all the same, after the report.

    Attributes
    ----------
    tbs : array, in
        Where the allocation of each TB begins, and its size.
    access : MemoryAccessPort, in
        Beats of shared accesses, and what loads and atomics give.
    completion : CompletionPort, out
        Completions of accesses (``shared``), in the order of ``access.op``.
    fault : interfaces.fault_report, out
    clear : in
        Lines `first` to ``first + count - 1`` become invalid and clean, from the next cycle.
    state : SharedStatePort, in
        Lines valid and dirty; reads and writes of rows.
    trace_atomic : out
        Lanes of atomics in the order in which they are performed; for simulations.
    """

    tbs: data.View
    access: Port
    completion: Port
    fault: data.View
    clear: data.View
    state: Port
    trace_atomic: data.View

    def __init__(self, g: Geometry):
        self.geometry = g
        self.rows = g.shared_bytes // (g.shared_banks * WORD_BYTES)
        super().__init__({
            "tbs": In(data.ArrayLayout(payload.tb_info(g), g.tb_slots)),
            "access": In(MemoryAccessPort(g)), "completion": Out(CompletionPort(g, ("shared",))),
            "fault": Out(payload.fault_report(g)),
            "clear": In(payload.line_range(g)),
            "state": In(SharedStatePort(g)), "trace_atomic": Out(trace_atomic(g)),
        })

    def elaborate(self, platform: Any):
        m = Module()
        g = self.geometry
        m.submodules.queue = queue = OperationQueue(g, Fault.SHARED_BOUND)
        m.submodules.lines = lines = LineState(g)
        m.submodules.conflicts = conflicts = BankConflicts(g, self.rows)
        m.submodules.atomics = atomics = SharedAtomics(g, self.rows)
        wiring.connect(m, wiring.flipped(self.access.op), queue.op)
        m.d.comb += [self.completion.room.eq(queue.room), queue.beyond.eq(self._beyond(m)),
                     lines.clear.eq(self.clear), lines.clean.eq(self.state.clean),
                     self.state.valid.eq(lines.valid), self.state.dirty.eq(lines.dirty),
                     self.trace_atomic.eq(atomics.trace), atomics.data.eq(queue.data)]
        selected = Signal(_pass(g))
        in_banks = Signal(_pass(g))
        pass_enable = Signal()
        occupied = Signal()
        free = Signal()
        claim, row_go, row_read = self._row(m, lines, free, atomics.busy)
        address, prepare = self._select(m, queue, lines, conflicts, atomics, selected, pass_enable,
                                        free & ~claim)
        banks = [Signal(exact_log2(g.lanes), name=f"bank_{i}") for i in range(g.lanes)]
        low = [Signal(WORD_BITS, name=f"low_{i}") for i in range(g.lanes)]
        with m.If(free):
            m.d.sync += occupied.eq(pass_enable & (~selected.silent | selected.final))
        with m.If(pass_enable):
            m.d.sync += in_banks.eq(selected)
            for i in range(g.lanes):
                m.d.sync += [banks[i].eq(conflicts.bank[i]), low[i].eq(address[i])]
        words = self._banks(m, conflicts, atomics, pass_enable & ~selected.upper,
                            queue.head.op.store, prepare, row_go, row_read)
        self._result(m, words, atomics, in_banks, banks, low, occupied, free)
        self._row_data(m, words, lines, row_read)
        return m

    def _beyond(self, m: Module):
        """Lanes of the beat on `op` that reach beyond the TB's allocation."""
        g, op = self.geometry, self.access.op.payload
        limit = Signal(signed(22))
        allocated = pick([tb.shared_bytes for tb in self.tbs], op.tb)
        m.d.comb += limit.eq(allocated - 1 - extra_bytes(op.size))
        return Cat(op.address[i] > limit for i in range(g.lanes))

    def _select(self, m: Module, queue: OperationQueue, lines: LineState, conflicts: BankConflicts,
                atomics: SharedAtomics, selected: data.View, pass_enable: Signal, free: Value):
        """Take the oldest instruction apart into passes, or prepare a line for its store.

        Returns the lanes' addresses and the zero-fill of `_prepare`.
        """
        g, op = self.geometry, queue.head.op
        beat = Signal(range(g.beats))  # whose lanes are in hand
        k = Signal(2)  # register of a group
        begun = Signal()  # the instruction was started
        started = Signal()  # a pass of this beat was taken
        rest = Signal(g.lanes)  # lanes left of a beat that has been started
        lanes_pending = Signal(g.lanes)  # lanes left before this pass
        unprepared = Signal(g.lanes)  # those whose line is not ready for a store
        bad = Signal()
        ends = Signal()  # last pass of the beat
        last = Signal()  # last pass of the instruction
        mask = Signal(g.lanes)
        upper = Signal()  # writes upper halves that atomics found
        extra = Signal(2)  # registers less one
        wait = Signal()  # for the atomics in flight
        address, line, known = self._places(m, queue, lines, beat)
        after = Signal(g.lanes)
        m.d.comb += [
            bad.eq(op.kind != Fault.NONE), queue.data_slot.eq(op.slot),
            mask.eq(Mux(bad, 0,
                        pick([queue.mask.word_select(b, g.lanes) for b in range(g.beats)], beat))),
            lanes_pending.eq(Mux(queue.head.valid, Mux(started, rest, mask), 0)),
            upper.eq(op.atomic & k.any()),
            extra.eq(Mux(op.atomic & ~op.writes_d, 0, extra_registers(op.size))),
            unprepared.eq(Mux((op.store | op.atomic) & ~upper, lanes_pending & ~known, 0)),
            pass_enable.eq(queue.head.valid & free & ~unprepared.any() & ~wait),
            after.eq(Mux(upper, 0, lanes_pending & ~conflicts.served)),
            ends.eq(after == 0), last.eq(ends & (beat == g.beats - 1) & (k == extra)),
            queue.start.eq(queue.head.valid & ~begun),
            queue.advance.eq(pass_enable & last), queue.release.eq(pass_enable & last),
            self.fault.eq(Cat(queue.start & bad, op.kind, op.warp, op.pc, op.fault_address)),
        ]
        with m.If(queue.head.valid):
            m.d.sync += begun.eq(~queue.advance)
        with m.If(pass_enable):
            m.d.sync += [started.eq(~ends), rest.eq(after)]
            with m.If(ends):
                m.d.sync += beat.eq(Mux(beat == g.beats - 1, 0, beat + 1))
                with m.If(beat == g.beats - 1):
                    m.d.sync += k.eq(Mux(last, 0, k + 1))
        self._want(m, queue, conflicts, address, line, lanes_pending, beat, k)
        self._atomic(m, queue, conflicts, atomics, upper,
                     ~started & ~beat.any() & ~k.any(), beat, pass_enable, wait)
        m.d.comb += [
            selected.warp.eq(op.warp), selected.base.eq(op.base), selected.register.eq(op.d | k),
            selected.beat.eq(beat), selected.last.eq(beat == g.beats - 1), selected.mask.eq(mask),
            selected.size.eq(op.size), selected.silent.eq(op.store | (op.atomic & ~op.writes_d)),
            selected.upper.eq(upper), selected.first.eq(~started),
            selected.complete.eq(ends), selected.final.eq(last),
            selected.take.eq(Mux(upper, mask, conflicts.served)),
            selected.known.eq(known | upper.replicate(g.lanes)),
        ]
        return address, self._prepare(m, lines, queue.head.valid & free & ~atomics.busy,
                                      unprepared, line)

    def _atomic(self, m: Module, queue: OperationQueue, conflicts: BankConflicts,
                atomics: SharedAtomics, upper: Value, first: Value, beat: Value, pass_enable: Value,
                wait: Signal):
        """Send the lane of a pass to `atomics`; `wait` for those before it where that is needed."""
        op, out = queue.head.op, atomics.op
        chosen = Signal(self.geometry.lanes)
        m.d.comb += wait.eq(atomics.busy & (first | upper))
        with m.If(queue.head.valid & op.atomic & ~upper):
            m.d.comb += [
                chosen.eq(conflicts.lanes_pending),
                wait.eq((atomics.busy & first) | (chosen.any() & atomics.holds)),
                out.valid.eq(pass_enable & chosen.any()), out.function.eq(op.function),
                out.wide.eq(op.size == Size.B64),
                out.warp.eq(op.warp), out.pc.eq(op.pc), out.beat.eq(beat), out.chosen.eq(chosen),
                out.place.bank.eq(select(chosen, conflicts.bank)),
                out.place.row.eq(select(chosen, [access.row for access in conflicts.access])),
            ]

    def _places(self, m: Module, queue: OperationQueue, lines: LineState, beat: Value):
        """Address, line, and whether the line is valid (loads) or dirty (others),
        of each lane of a beat."""
        g, op = self.geometry, queue.head.op
        address = [Signal(range(g.shared_bytes), name=f"address_{i}") for i in range(g.lanes)]
        line = [Signal(range(g.shared_lines), name=f"line_{i}") for i in range(g.lanes)]
        base = Signal(range(g.shared_lines))
        state = Signal(g.shared_lines)
        known = [Signal(name=f"known_{i}") for i in range(g.lanes)]
        m.d.comb += [base.eq(pick([tb.shared_base[LINE_BITS:] for tb in self.tbs], op.tb)),
                     state.eq(Mux(op.store | op.atomic, lines.dirty, lines.valid))]
        with m.If(queue.head.valid):
            for i in range(g.lanes):
                look_up(m, address[i],
                        [queue.address[b * g.lanes + i] for b in range(g.beats)], beat)
                m.d.comb += line[i].eq(address[i][LINE_BITS:] + base)
                look_up_bit(m, known[i], state, line[i])
        return address, line, Cat(known)

    def _want(self, m: Module, queue: OperationQueue, conflicts: BankConflicts,
              address: Sequence[Value], line: Sequence[Value], lanes_pending: Value, beat: Value,
              k: Value):
        """Ask for bank, row, word and bytes of each lane that is left."""
        g, op = self.geometry, queue.head.op
        bank_end = WORD_BITS + exact_log2(g.lanes)
        m.d.comb += [conflicts.lanes_pending.eq(
                         Mux(op.atomic, lowest(lanes_pending), lanes_pending)),
                     conflicts.share.eq(~op.store)]
        for i in range(g.lanes):
            access = conflicts.access[i]
            word = Signal(32, name=f"store_word_{i}")
            choices = [queue.data[n][b * g.lanes + i] for b in range(g.beats) for n in range(4)]
            with m.If(queue.head.valid):
                m.d.comb += [conflicts.bank[i].eq(address[i][WORD_BITS:bank_end] | k),
                             access.row.eq(Cat(address[i][bank_end:LINE_BITS], line[i]))]
                with m.If(op.store):
                    look_up(m, word, choices, Cat(k, beat))
                    m.d.comb += [access.data.eq(replicate(word, op.size)),
                                 access.strobe.eq(strobe(address[i][:2], op.size))]

    def _prepare(self, m: Module, lines: LineState, valid: Value, unprepared: Value,
                 line: Sequence[Value]):
        """Make the line of the lowest unprepared lane valid and dirty;
        returns its zero-fill of the banks."""
        rows = SEGMENT_BYTES // (self.geometry.lanes * WORD_BYTES)
        fill = Signal(data.StructLayout({"valid": 1, "row": range(self.rows)}))
        count = Signal(range(rows))
        chosen = Signal(range(self.geometry.shared_lines))
        active = Signal()
        known = Signal(name="prepared_valid")
        m.d.comb += [active.eq(valid & unprepared.any()), fill.valid.eq(active & ~known),
                     fill.row.eq(Cat(count[:exact_log2(rows)], chosen))]
        with m.If(active):
            m.d.comb += chosen.eq(select(lowest(unprepared), line))
            look_up_bit(m, known, lines.valid, chosen)
            m.d.comb += [lines.mark.line.eq(chosen),
                         lines.mark.valid.eq(~fill.valid | (count == rows - 1))]
        with m.If(fill.valid):
            m.d.sync += count.eq(Mux(count == rows - 1, 0, count + 1))
        return fill

    def _row(self, m: Module, lines: LineState, free: Value, busy: Value):
        """Take a row access; return whether operations must wait for it, its transfer, and whether
        it reads.

        It holds operations up, the lanes of an atomic too, until what is in flight has been
        written.
        """
        port, row = self.state.row, self.state.row.payload
        claim = Signal()
        turn = Signal(init=1)
        row_accepted = Signal()
        read = Signal()
        line = row.row[exact_log2(self.rows // self.geometry.shared_lines):]
        m.d.sync += turn.eq(~row_accepted)
        m.d.comb += [claim.eq(port.valid & turn), port.ready.eq(turn & free & ~busy),
                     row_accepted.eq(port.valid & port.ready), read.eq(row_accepted & ~row.write)]
        with m.If(row_accepted & row.write):
            m.d.comb += [lines.mark.line.eq(line), lines.mark.valid.eq(1)]
        return claim, row_accepted, read

    def _row_data(self, m: Module, words: Sequence[Value], lines: LineState, read: Value):
        """Give the row that was read, or zeros if its line was invalid."""
        line = self.state.row.payload.row[exact_log2(self.rows // self.geometry.shared_lines):]
        now = Signal(name="row_valid")
        known = Signal()
        with m.If(read):
            look_up_bit(m, now, lines.valid, line)
        m.d.sync += [self.state.row_data.valid.eq(read), known.eq(now)]
        m.d.comb += [self.state.row_data.data[b].eq(Mux(known, word, 0))
                     for b, word in enumerate(words)]

    def _banks(self, m: Module, conflicts: BankConflicts, atomics: SharedAtomics,
               pass_enable: Value, store: Value, fill: data.View, row_go: Value, row_read: Value):
        """The RAM of each bank; returns the words read in the cycle before.
        An atomic reads 64 bits."""
        row, words = self.state.row.payload, []
        for b in range(self.geometry.shared_banks):
            m.submodules[f"bank_{b}"] = bank = memory.Memory(shape=32, depth=self.rows, init=[])
            read = bank.read_port()
            write = bank.write_port(granularity=8)
            bank, active, commit = conflicts.banks[b], conflicts.active[b], atomics.commit
            pair = atomics.op.chosen.any() & conflicts.active[b - 1] if b & 1 else Const(0)
            place = Mux(row_go, row.row, Mux(pair, conflicts.banks[b & ~1].row, bank.row))
            m.d.comb += [read.addr.eq(place),
                         read.en.eq(row_read | (pass_enable & (active | pair) & ~store)),
                         write.addr.eq(Mux(fill.valid, fill.row, place)),
                         write.data.eq(Mux(fill.valid, 0, Mux(row_go, row.data[b], bank.data)))]
            with m.If(fill.valid | (row_go & row.write)):
                m.d.comb += write.en.eq(0b1111)
            with m.Elif(pass_enable & active & store):
                m.d.comb += write.en.eq(bank.strobe)
            with m.If(commit.valid & (commit.place.bank == b)):
                m.d.comb += [write.addr.eq(commit.place.row),
                             write.data.eq(commit.low), write.en.eq(0b1111)]
            if b & 1:
                with m.If(commit.valid & commit.wide & (commit.place.bank == b - 1)):
                    m.d.comb += [write.addr.eq(commit.place.row),
                                 write.data.eq(commit.high), write.en.eq(0b1111)]
            words.append(read.data)
        m.d.comb += [atomics.words[b].eq(word) for b, word in enumerate(words)]
        return words

    def _result(self, m: Module, words: Sequence[Value], atomics: SharedAtomics, passing: data.View,
                banks: Sequence[Value], low: Sequence[Value], occupied: Value, free: Signal):
        """Collect the lanes of a beat over its passes, and write it;
        a silent instruction only completes."""
        g, write, done = self.geometry, self.access.write, self.completion.shared
        full = Signal()
        final = Signal()
        silent = Signal()
        leave = Signal()
        move = Signal()
        m.d.comb += [write.valid.eq(full & ~silent), leave.eq(full & (silent | write.ready)),
                     move.eq(occupied & (~full | leave)), free.eq(~occupied | move)]
        m.d.sync += [done.valid.eq(leave & final), done.warp.eq(write.payload.warp)]
        m.d.comb += atomics.beat.eq(passing.beat)
        with m.If(move):
            m.d.sync += [full.eq(passing.complete),
                         final.eq(passing.final), silent.eq(passing.silent)]
            m.d.sync += [write.payload[name].eq(passing[name])
                         for name in ("warp", "base", "register", "beat", "last", "mask")]
            m.d.sync += write.payload.release.eq(passing.last)
            for i in range(g.lanes):
                word = Signal(32, name=f"word_{i}")
                look_up(m, word, words, banks[i])
                value = Mux(passing.upper, atomics.high[i], extract(word, low[i], passing.size))
                with m.If(passing.take[i]):
                    m.d.sync += write.payload.data[i].eq(Mux(passing.known[i], value, 0))
                with m.Elif(passing.first):
                    m.d.sync += write.payload.data[i].eq(0)
        with m.Elif(leave):
            m.d.sync += full.eq(0)
