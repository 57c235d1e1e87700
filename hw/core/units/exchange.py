"""Exchange unit: threads of a warp read each other's registers (shuffles), or find those with an
equal one (match).

::

    op --beats--> words, fields, mask --> choose --+--> picked --> words of the chosen lanes --+
                  (of one warp)           group    |                                           |
                                                   |     match: targets == words --> found ----+
                                                   |                                           v
    room <-----------------------------------------+                 write, predicate <-- gathered
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from amaranth.hdl import C, Cat, Module, Mux, Signal, Value, ValueLike
from amaranth.lib import data, enum, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2
from numpy.typing import ArrayLike

from ...arch.geometry import Geometry
from ...arch.isa.opcodes import ExchangeOp
from ...interfaces.payloads import below, lane_op, predicate_write, register_write

__all__ = ["ExchangeUnit"]


class Mode(enum.Enum, shape=2):
    """How a shuffle computes the lane to read: bits 1..0 of `ExchangeOp`."""

    IDX = 0
    UP = 1
    DOWN = 2
    BFLY = 3


class Step(enum.Enum, shape=2):
    """Use of the words read."""

    SHUFFLE = 0
    TARGETS = 1
    COMPARE = 2
    FOUND = 3


class ExchangeUnit(wiring.Component):
    """Shuffles and matches of one warp instruction at a time, `exchange_lanes` threads a cycle.

    A shuffle follows the pseudo-code of PTX ISA 9.7.9, ``shfl``, with lane numbers of
    log2(`warp_size`) bits. Only that many bits count of operand b, of the clamp (c from bit 0) and
    of the segment mask (c from bit 8). So a warp of fewer than 32 lanes behaves as the lowest lanes
    of a warp whose clamp is its highest lane. A lane whose source is out of range or does not
    execute the instruction keeps its own a, and its predicate is false. An immediate form has b in
    bits 7..0 of its operand b and c in the bits above. A match gives each lane a bit for every lane
    that executes the instruction with the same a. Each group of threads is compared with one group
    per cycle.

    Let W = `warp_size` and E = `exchange_lanes`, and let writes be accepted at once. A shuffle's
    first write is offered ``lanes / E + 2`` cycles after its last beat, its last one ``W / E + 2``.
    The writes of a match are offered after ``(lanes / E) * (W / E + 1) + 2`` and ``(W / E) * (W / E
    + 1) + 2`` cycles. `room` comes two cycles before the last write, and the next beat is taken
    from the cycle of that write on.

    Parameters
    ----------
    g : Geometry

    Attributes
    ----------
    op : stream of lane_op, in
        `function` is an `ExchangeOp` in its low 6 bits.
    room : Signal(1), out
        One cycle: the place of one instruction is free again (one place after reset).
    write : stream of register_write, out
    predicate : stream of predicate_write, out
        A beat of it is offered with the write of the same beat.
    """

    op: stream.Interface
    room: Signal
    write: stream.Interface
    predicate: stream.Interface

    OPERANDS = ("a", "b", "c")

    def __init__(self, g: Geometry):
        self.geometry = g
        self._bits = exact_log2(g.warp_size)
        self._groups = g.warp_size // g.exchange_lanes
        self._field = data.StructLayout({"distance": self._bits,
                                         "clamp": self._bits, "segment": self._bits})
        self._kept = data.StructLayout(
            {"match": 1, "mode": Mode}
            | {name: lane_op(g, ())[name].shape
               for name in ("warp", "base", "d", "writes_d", "pd", "writes_pd")})
        super().__init__({
            "op": In(stream.Signature(lane_op(g, self.OPERANDS))), "room": Out(1),
            "write": Out(stream.Signature(register_write(g))),
            "predicate": Out(stream.Signature(predicate_write(g))),
        })

    @staticmethod
    def compute(op: ExchangeOp, a: ArrayLike, b: ArrayLike, c: ArrayLike,
                mask: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
        """Return what the hardware computes for one warp.

        Parameters
        ----------
        op : ExchangeOp
        a, b, c : array of uint32
            Operands, one word per lane; 8, 16 or 32 lanes. An immediate is operand b of every lane.
        mask : array of bool
            Lanes that execute the instruction.

        Returns
        -------
        tuple of numpy.ndarray
            Register result (uint32) and predicate result (bool, all false of a match); zeros
            outside the mask.
        """
        a, b, c = (np.asarray(x, np.uint32) for x in (a, b, c))
        mask = np.asarray(mask, bool)
        if op is ExchangeOp.MATCH:
            equal = (a[:, None] == a) & mask[:, None] & mask
            return (equal.astype(np.uint32)
                    << np.arange(len(a), dtype=np.uint32)).sum(1, dtype=np.uint32), mask & False
        top = len(a) - 1
        if op.name.endswith("_I"):
            b, c = b & np.uint32(255), b >> np.uint32(8)
        lane = np.arange(len(a))
        distance, clamp, segment = (x.astype(np.int64) & top for x in (b, c, c >> np.uint32(8)))
        first, last = lane & segment, lane & segment | clamp & ~segment
        mode = Mode(op & 3)
        if mode is Mode.UP:
            source = lane - distance
            inside = source >= last
        else:
            source = {Mode.IDX: first | distance & ~segment, Mode.DOWN: lane + distance,
                      Mode.BFLY: lane ^ distance}[mode]
            inside = source <= last
        inside = inside & mask[source & top] & mask
        return np.where(mask, a[np.where(inside, source & top, lane)], np.uint32(0)), inside

    def elaborate(self, platform: Any):
        m = Module()
        g = self.geometry
        kept = Signal(self._kept)
        mask = Signal(g.warp_size)
        busy = Signal()
        stall = Signal()
        picked = Signal(data.StructLayout({
            "valid": 1, "step": Step, "push": 1, "group": below(self._groups),
            "inside": g.exchange_lanes, "lane": data.ArrayLayout(self._bits, g.exchange_lanes),
        }))
        m.d.comb += [
            self.op.ready.eq(~busy & ~picked.valid),
            stall.eq(self.write.valid & ~self.write.ready
                     | self.predicate.valid & ~self.predicate.ready),
        ]
        held, fields = self._receive(m, kept, mask, busy)
        with m.If(~stall):
            m.d.sync += picked.valid.eq(busy)
        with m.If(busy & ~stall):
            self._choose(m, fields, kept, mask, picked, busy)
        words = self._read(m, held, picked, ~stall)
        self._gather(m, kept, mask, picked, words, stall)
        return m

    def _receive(self, m: Module, kept: data.View, mask: Signal, busy: Signal):
        """Store the beats of an instruction; return the memories of words and of lane numbers."""
        g, op = self.geometry, self.op.payload
        m.submodules.words = words = Memory(shape=32 * g.lanes, depth=g.beats, init=[])
        layout = data.ArrayLayout(self._field, g.lanes)
        m.submodules.fields = fields = Memory(shape=layout, depth=g.beats, init=[])
        take = self.op.valid & self.op.ready
        row = Signal(layout)
        for lane in range(g.lanes):
            b, c = op.b[lane], op.c[lane]
            c = Mux(op.function[3], b[8:], c)
            m.d.comb += [row[lane].distance.eq(b), row[lane].clamp.eq(c),
                         row[lane].segment.eq(c[8:])]
        for memory, value in ((words, op.a), (fields, row)):
            port = memory.write_port()
            m.d.comb += [port.addr.eq(op.beat), port.data.eq(value), port.en.eq(take)]
        with m.If(take):
            m.d.sync += [kept[name].eq(op[name])
                         for name in ("warp", "base", "d", "writes_d", "pd", "writes_pd")]
            m.d.sync += [
                kept.match.eq(op.function[:3] == ExchangeOp.MATCH), kept.mode.eq(op.function[:2]),
                mask.word_select(op.beat, g.lanes).eq(op.mask), busy.eq(op.last),
            ]
        return words, fields

    def _choose(self, m: Module, fields: Memory, kept: data.View, mask: Value, picked: data.View,
                busy: Signal):
        """One step: the lanes whose words are read next, and whether they are the result of the
        group."""
        g, groups, threads = self.geometry, self._groups, self.geometry.exchange_lanes
        group = Signal(below(groups))
        scan = Signal(range(groups + 1))
        push = Signal()
        last = Signal()
        port = fields.read_port(domain="comb")
        within = exact_log2(g.lanes // threads)
        m.d.comb += [
            port.addr.eq(group[within:]), push.eq(~kept.match | (scan == groups)),
            last.eq(group == groups - 1), self.room.eq(push & last),
        ]
        m.d.sync += [
            picked.group.eq(group), picked.push.eq(push), group.eq(group + push),
            busy.eq(~(push & last)), scan.eq(Mux(push, 0, scan + 1)),
            picked.step.eq(Mux(~kept.match, Step.SHUFFLE,
                               Mux(push, Step.FOUND, Mux(scan == 0, Step.TARGETS, Step.COMPARE)))),
        ]
        with m.If(push & last):
            m.d.sync += group.eq(0)
        compared = Mux(scan == 0, group, (scan - 1)[:len(group)])
        for k in range(threads):
            place, other = (Cat(C(k, exact_log2(threads)), number)[:self._bits]
                            for number in (group, compared))
            field = Signal(self._field, name=f"field_{k}")
            m.d.comb += field.eq(
                Cat(port.data[lane] for lane in range(k, g.lanes, threads)).word_select(
                    group[:within], self._field.size))
            source, inside = self._source(m, k, kept.mode, place, field)
            reads = inside & mask.bit_select(source, 1)
            m.d.sync += [
                picked.lane[k].eq(Mux(kept.match, other, Mux(reads, source, place))),
                picked.inside[k].eq(Mux(kept.match, mask.bit_select(other, 1), reads)),
            ]

    def _source(self, m: Module, k: int, mode: ValueLike, lane: Value, field: data.View):
        """Return the lane that thread k of the group reads,
        and whether it is in range (PTX ISA, ``shfl``)."""
        source = Signal(self._bits, name=f"source_{k}")
        inside = Signal(name=f"inside_{k}")
        first = lane & field.segment
        last = first | field.clamp & ~field.segment
        up, down, other = lane - field.distance, lane + field.distance, lane ^ field.distance
        chosen = first | field.distance & ~field.segment
        with m.Switch(mode):
            for kind, value, within in (
                (Mode.IDX, chosen, chosen <= last), (Mode.UP, up, up >= last),
                (Mode.DOWN, down, down <= last), (Mode.BFLY, other, other <= last)):
                with m.Case(kind):
                    m.d.comb += [source.eq(value), inside.eq(within)]
        return source, inside

    def _read(self, m: Module, memory: Memory, picked: data.View, go: Value):
        """Return the result of each thread of the group:
        the word it reads, or the lanes found to have its word."""
        g, threads = self.geometry, range(self.geometry.exchange_lanes)
        within = exact_log2(g.lanes)
        words = []
        for k in threads:
            port = memory.read_port(domain="comb")
            m.d.comb += port.addr.eq(picked.lane[k][within:])
            words.append(port.data.word_select(picked.lane[k][:within], 32))
        targets = Signal(data.ArrayLayout(32, g.exchange_lanes), reset_less=True)
        with m.If(go & picked.valid & (picked.step == Step.TARGETS)):
            m.d.sync += [targets[k].eq(words[k]) for k in threads]
        results = []
        for k in threads:
            found = Signal(g.warp_size, name=f"found_{k}", reset_less=True)
            equal = Cat(targets[k] == words[j] for j in threads) & picked.inside
            lanes = Cat(found, equal)[g.exchange_lanes:]
            with m.If(go & picked.valid & (picked.step == Step.COMPARE)):
                m.d.sync += found.eq(lanes)
            results.append(Mux(picked.step == Step.FOUND, lanes, words[k]))
        return results

    def _gather(self, m: Module, kept: data.View, mask: Value, picked: data.View,
                words: Sequence[Value], stall: Value):
        """Shift the results of groups together; offer the beat that they complete."""
        g = self.geometry
        write, tested = self.write.payload, self.predicate.payload
        gathered = Signal(32 * g.lanes, reset_less=True)
        passed = Signal(g.lanes, reset_less=True)
        within = exact_log2(g.lanes // g.exchange_lanes)
        m.d.comb += [write.data.eq(gathered), tested.value.eq(passed & tested.mask)]
        for port in (self.write, self.predicate):
            with m.If(port.ready):
                m.d.sync += port.valid.eq(0)
        with m.If(picked.valid & picked.push & ~stall):
            m.d.sync += [gathered.eq(Cat(gathered, *words)[32 * g.exchange_lanes:]),
                         passed.eq(Cat(passed, picked.inside)[g.exchange_lanes:])]
            with m.If((picked.group + 1)[:within] == 0):
                beat = picked.group[within:]
                last = picked.group == self._groups - 1
                m.d.sync += [
                    self.write.valid.eq(kept.writes_d), self.predicate.valid.eq(kept.writes_pd),
                    write.register.eq(kept.d), write.base.eq(kept.base), write.release.eq(last),
                    tested.predicate.eq(kept.pd),
                ]
                m.d.sync += [field.eq(value) for payload in (write, tested) for field, value in (
                    (payload.warp, kept.warp), (payload.beat, beat), (payload.last, last),
                    (payload.mask, mask.word_select(beat, g.lanes)))]
