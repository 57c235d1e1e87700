"""Warp instructions through a narrow pipeline: a few threads a cycle go in, whole registers come
out.

::

    op --beats--> operands (2 places) --row--> enter --> [pipeline of the unit] --> result
                                                                                      |
    write, predicate <--beats-- results (2 places) <----------------------------------+
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, memory, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from ...arch.geometry import Geometry
from ...interfaces.payloads import below, lane_op, physical, predicate_write, register_write

__all__ = ["Serial"]


def _destination(g: Geometry) -> data.StructLayout:
    """Where the results of an instruction go."""
    return data.StructLayout({"warp": below(g.warps), "base": physical(g),
                              "d": 6, "writes_d": 1, "second": 1,
                              "pd": 3, "writes_pd": 1})


class Serial(wiring.Component):
    """Feeds the threads of warp instructions to a pipeline of fixed latency and writes out what it
    returns.

    A unit has it as a submodule, and connects its own `op`, `room`, `write` and `predicate` to the
    ports here. It puts its pipeline between `enter` and `result`::

        m.submodules.serial = serial = Serial(g, threads=2, operands=("b",), registers=1, latency=4)
        wiring.connect(m, wiring.flipped(self.op), serial.op)
        wiring.connect(m, serial.write, wiring.flipped(self.write))
        m.d.comb += [self.room.eq(serial.room), lane.b.eq(serial.enter.b[0]),
                     serial.result[0][0].eq(lane.result)]

    Groups of `threads` neighbouring threads enter in ascending order, one per cycle; groups without
    an active thread are left out. There is room for one instruction whose groups enter and one that
    waits, and for the results of two.

    Latency: with T active groups, the first group enters 4 cycles after the instruction's last
    beat. The first write is offered ``latency + T + 5`` cycles after that beat. Throughput: one
    instruction every T cycles, unless its writes or the latency take longer. The results of two
    instructions are under way from entering to written.

    Parameters
    ----------
    g : Geometry
    threads : int
        Threads that enter in a cycle; a power of two, at most `lanes`.
    operands : tuple of str
        Those of `lane_op`.
    registers : int
        Words of a thread's result: 1 or 2.
    latency : int
        Cycles from `enter` to `result`, 1 or more.
    predicates : bool
        Whether instructions may write a predicate instead of registers.

    Attributes
    ----------
    op : stream of lane_op, in
        Always ready; an instruction's first beat comes only after `room` for it (one place after
        reset).
    room : Signal(1), out
        One cycle: the next instruction may come; given when the groups of this one begin to enter.
    enter : out
        `valid`: a group enters, threads `active`. `function` of its instruction, and each operand
        as `threads` words. All stand still between groups.
    result : Array of `registers` arrays of `threads` words, in
        `latency` cycles after a group entered; that of inactive threads is ignored.
    tested : Signal(threads), in
        Likewise, for instructions that write a predicate. Only if `predicates`.
    write : stream of register_write, out
        Register d, then d + 1. Data outside the mask is undefined.
    predicate : stream of predicate_write, out
        Only if `predicates`. An instruction writes registers or a predicate, not both.
    """

    op: stream.Interface
    room: Signal
    enter: data.View
    result: data.View
    tested: Signal
    write: stream.Interface
    predicate: stream.Interface

    def __init__(self, g: Geometry, *, threads: int, operands: tuple[str, ...],
                 registers: int, latency: int, predicates: bool = False):
        if threads & (threads - 1) or not 1 <= threads <= g.lanes:
            raise ValueError(f"threads must be a power of two of at most {g.lanes}, not {threads}")
        if registers not in (1, 2) or latency < 1:
            raise ValueError("1 or 2 registers after 1 or more cycles, "
                             f"not {registers} after {latency}")
        self.geometry, self.threads, self.operands = g, threads, operands
        self.registers, self.latency, self.predicates = registers, latency, predicates
        self.groups = g.warp_size // threads
        self._within = exact_log2(g.lanes // threads)
        self._token = data.StructLayout({"valid": 1, "place": 1, "last": 1,
                                         "group": below(self.groups), "active": threads})
        words = data.ArrayLayout(32, threads)
        ports = {
            "op": In(stream.Signature(lane_op(g, operands), always_ready=True)), "room": Out(1),
            "enter": Out(data.StructLayout({"valid": 1, "active": threads, "function": 7}
                                           | dict.fromkeys(operands, words))),
            "result": In(data.ArrayLayout(words, registers)),
            "write": Out(stream.Signature(register_write(g))),
        }
        if predicates:
            ports |= {"tested": In(threads), "predicate": Out(stream.Signature(predicate_write(g)))}
        super().__init__(ports)

    def elaborate(self, platform: Any):
        m = Module()
        g = self.geometry
        waiting = Signal(data.StructLayout({"valid": 1, "function": 7,
                                            "mask": g.warp_size, "to": _destination(g)}))
        chosen = Signal(self._token)
        start = Signal()
        place = Signal()
        drained = Signal()
        self._receive(m, waiting, start)
        last = self._pick(m, waiting, start, place, chosen)
        opened = Signal(2)
        with m.If(start ^ drained):
            m.d.sync += opened.eq(Mux(start, opened + 1, opened - 1))
        m.d.comb += [start.eq(waiting.valid & last & ~opened[1]), self.room.eq(start)]

        places = [Signal(data.StructLayout({"to": _destination(g), "mask": g.warp_size}),
                         name=f"place_{k}") for k in range(2)]
        with m.If(start):
            m.d.sync += place.eq(~place)
            for k, kept in enumerate(places):
                with m.If(place != k):
                    m.d.sync += [kept.to.eq(waiting.to), kept.mask.eq(waiting.mask)]
        self._drain(m, self._delayed(m, chosen), places, drained)
        return m

    def _receive(self, m: Module, waiting: data.View, start: Value):
        """Gather the beats of an instruction: what its lanes share here, operands in `_enter`."""
        op, g = self.op.payload, self.geometry
        with m.If(start):
            m.d.sync += waiting.valid.eq(0)
        with m.If(self.op.valid):
            m.d.sync += [waiting.valid.eq(op.last), waiting.function.eq(op.function),
                         waiting.to.second.eq(op.data_registers[1])]
            m.d.sync += [waiting.to[name].eq(op[name])
                         for name in ("warp", "base", "d", "writes_d", "pd", "writes_pd")]
            with m.Switch(op.beat):
                for beat in range(g.beats):
                    with m.Case(beat):
                        m.d.sync += waiting.mask[beat * g.lanes:(beat + 1) * g.lanes].eq(op.mask)

    def _pick(self, m: Module, waiting: data.View, start: Value, place: Value, chosen: data.View):
        """Choose the lowest group left each cycle; return whether an instruction may start."""
        feeding = Signal()  # groups enter
        fresh = Signal()  # none has entered yet
        final = Signal()  # the last one enters
        rest = Signal(self.geometry.warp_size)  # threads left
        taken = Signal(self.geometry.warp_size)  # those of the group that enters
        function = Signal(7)  # of the instruction whose groups enter
        entering = Signal(7)  # of the `chosen` group
        group = Signal(below(self.groups))  # its number
        present = Signal(self.groups)  # groups with threads left
        lowest = Signal(self.groups)  # the lowest of them, one-hot
        m.d.comb += [
            present.eq(Cat(rest.word_select(k, self.threads).any() for k in range(self.groups))),
            lowest.eq(present & -present),
            group.eq(Cat(Cat(lowest[k] for k in range(self.groups) if k >> bit & 1).any()
                         for bit in range(len(group)))),
            taken.eq(Cat(lowest[k].replicate(self.threads) for k in range(self.groups))),
            final.eq((rest & ~taken) == 0),
        ]
        m.d.sync += chosen.valid.eq(feeding)
        with m.If(feeding):
            m.d.sync += [rest.eq(rest & ~taken), feeding.eq(~final),
                         fresh.eq(0), entering.eq(function),
                         chosen.place.eq(place), chosen.last.eq(final), chosen.group.eq(group),
                         chosen.active.eq(rest.word_select(group, self.threads))]
        with m.If(start):
            m.d.sync += [feeding.eq(1), fresh.eq(1), rest.eq(waiting.mask),
                         function.eq(waiting.function)]
        beat = Signal(below(self.geometry.beats))
        shown = Signal(below(self.geometry.beats))
        read = Signal()
        m.d.comb += [beat.eq(group[self._within:]), read.eq(feeding & (fresh | (beat != shown)))]
        with m.If(read):
            m.d.sync += shown.eq(beat)
        self._enter(m, read, Cat(beat, place), chosen, entering)
        return ~feeding | final

    def _enter(self, m: Module, read: Value, address: Value, chosen: data.View, function: Value):
        """Operands: a memory for each word of a lane, of which a beat at a time is shown to the
        entering groups."""
        op, enter, lanes = self.op, self.enter, range(self.geometry.lanes)
        place = Signal(init=1)
        group = Signal(below(1 << self._within))
        with m.If(op.valid & op.payload.last):
            m.d.sync += place.eq(~place)
        rows = {name: [self._store(m, f"{name}_{lane}", op.valid,
                                   Cat(op.payload.beat, place), op.payload[name][lane],
                                   read, address) for lane in lanes] for name in self.operands}
        m.d.comb += group.eq(chosen.group[:self._within])
        m.d.sync += enter.valid.eq(chosen.valid)
        with m.If(chosen.valid):
            m.d.sync += [enter.function.eq(function), enter.active.eq(chosen.active)]
            with m.Switch(group):
                for k in range(1 << self._within):
                    with m.Case(k):
                        m.d.sync += [enter[name][t].eq(words[k * self.threads + t])
                                     for name, words in rows.items() for t in range(self.threads)]

    def _store(self, m: Module, name: str, write_enable: Value, write_address: Value, value: Value,
               read_enable: Value, read_address: Value):
        """A memory of two places of `beats` words; return the word read in the cycle before."""
        m.submodules[name] = store = memory.Memory(shape=len(value),
                                                   depth=2 * self.geometry.beats, init=[])
        write = store.write_port()
        read = store.read_port()
        if self.geometry.beats == 1:  # the number of the beat is a bit that is always 0
            write_address, read_address = write_address[1:], read_address[1:]
        m.d.comb += [write.en.eq(write_enable), write.addr.eq(write_address), write.data.eq(value),
                     read.en.eq(read_enable), read.addr.eq(read_address)]
        return read.data

    def _delayed(self, m: Module, token: data.View):
        """Return the group whose results come out of the pipeline."""
        for cycle in range(1 + self.latency):
            later = Signal(self._token, name=f"token_{cycle}")
            with m.If(token.valid):
                m.d.sync += later.eq(token)
            m.d.sync += later.valid.eq(token.valid)
            token = later
        return token

    def _drain(self, m: Module, returned: data.View, places: Sequence[data.View], drained: Signal):
        """When the results of an instruction are complete, write them out,
        the oldest instruction's first."""
        g, write = self.geometry, self.write
        complete = Signal(2)  # instructions whose results are all there
        draining = Signal()  # one of them is written out
        place = Signal(init=1)  # its place
        to = Signal(_destination(g))  # where to
        mask = Signal(g.warp_size)  # lanes left to be written, this beat's lowest
        k = Signal()  # which register
        beat = Signal(below(g.beats))
        following = Signal(below(g.beats))  # the beat to be read for the next cycle
        begin = Signal()  # the next instruction's turn
        leave = Signal()  # a beat is written
        final = Signal()
        blocked = Signal()  # a beat waits
        finished = returned.valid & returned.last
        with m.If(finished ^ drained):
            m.d.sync += complete.eq(Mux(finished, complete + 1, complete - 1))
        m.d.comb += [
            begin.eq((complete != 0) & ~draining),
            leave.eq(draining & ~blocked), final.eq(beat == g.beats - 1),
            drained.eq(leave & final & (k == to.second)),
            following.eq(Mux(begin | final, 0, beat + 1)), blocked.eq(write.valid & ~write.ready),
        ]
        with m.If(begin):
            kept = Signal.like(places[0])
            m.d.comb += kept.eq(Mux(place, places[1], places[0]))
            m.d.sync += [draining.eq(1), to.eq(kept.to),
                         to.second.eq(kept.to.second & kept.to.writes_d),
                         mask.eq(kept.mask), k.eq(0), beat.eq(0)]
        with m.Elif(leave):
            m.d.sync += [draining.eq(~drained),
                         mask.eq(mask.rotate_right(g.lanes)), k.eq(k ^ final),
                         beat.eq(following), place.eq(place ^ drained)]
        words = self._results(m, returned, begin | leave, Cat(following, place))
        m.d.comb += [
            write.valid.eq(draining & to.writes_d),
            write.payload.warp.eq(to.warp), write.payload.base.eq(to.base),
            write.payload.register.eq(to.d | k),
            write.payload.beat.eq(beat), write.payload.last.eq(final),
            write.payload.release.eq(final), write.payload.mask.eq(mask[:g.lanes]),
        ]
        m.d.comb += [write.payload.data[lane].eq(Mux(k, two[-1], two[0]) if self.registers == 2
                                                 else two[0]) for lane, two in enumerate(words)]
        if self.predicates:
            row = self._tests(m, returned, place, begin, leave)
            out = self.predicate
            m.d.comb += [
                out.valid.eq(draining & to.writes_pd),
                out.payload.warp.eq(to.warp), out.payload.predicate.eq(to.pd),
                out.payload.beat.eq(beat), out.payload.last.eq(final),
                out.payload.mask.eq(mask[:g.lanes]), out.payload.value.eq(row[:g.lanes]),
            ]
            with m.If(out.valid & ~out.ready):
                m.d.comb += blocked.eq(1)

    def _results(self, m: Module, returned: data.View, read: Value, address: Value):
        """A memory for each word of a lane;
        return the words of the beat read in the cycle before."""
        beat = Signal(below(self.geometry.beats))
        group = Signal(below(1 << self._within))
        m.d.comb += [beat.eq(returned.group[self._within:]),
                     group.eq(returned.group[:self._within])]
        words = []
        for lane in range(self.geometry.lanes):
            number, thread = divmod(lane, self.threads)
            here = returned.valid & (group == number) & returned.active[thread]
            words.append([self._store(m, f"result_{k}_{lane}", here, Cat(beat, returned.place),
                                      self.result[k][thread], read, address)
                          for k in range(self.registers)])
        return words

    def _tests(self, m: Module, returned: data.View, place: Value, begin: Value, leave: Value):
        """Keep the predicates of the two instructions; return a row shifted by a beat at a time."""
        tests = [Signal(self.geometry.warp_size, name=f"tests_{k}") for k in range(2)]
        row = Signal(self.geometry.warp_size)
        for k, test in enumerate(tests):
            with m.If(returned.valid & (returned.place == k)):
                m.d.sync += test.word_select(returned.group, self.threads).eq(self.tested)
        with m.If(begin):
            m.d.sync += row.eq(Mux(place, tests[1], tests[0]))
        with m.Elif(leave):
            m.d.sync += row.eq(row.rotate_right(self.geometry.lanes))
        return row
