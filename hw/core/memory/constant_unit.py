"""Loads of constants and parameters: lanes that read one address are served together, from a cache.

::

    op -> OperationQueue -> select lanes of a pass --> look up --> result --> write
                            |  (one address)           |   (row)          \\-> uniform
                            +- start                   +- ConstantCache, fault
"""

from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal, Value, signed
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from ...arch.faults import Fault
from ...arch.geometry import ADDRESS_BITS, PC_BITS, WORD_BYTES, Geometry
from ...arch.isa.opcodes import Size, Space
from ...interfaces import payloads as payload
from ...interfaces.core_ports import CompletionPort, MemoryAccessPort
from ...interfaces.observation import cache_lookup
from ...interfaces.port import Port
from ...lib.bits import look_up, lowest, pick, select
from ...memory.beat_splitter import cache_geometry, connect_cache
from ...memory.constant_cache import ROW_BYTES, ConstantCache
from ...memory.ports import ReadInterface, ReadPort
from .access_size import extra_bytes, extra_registers, extract
from .generation import Backlog, is_stale
from .operation_queue import OperationQueue

__all__ = ["HIT_LATENCY", "ConstantUnit"]

HIT_LATENCY = 4
"""Cycles from the last beat of a load on `op` until its first register beat is offered, if nothing
is ahead of it and its lines are in the cache."""
OFFSET_BITS = 16
"""Bits of an offset in a constant bank (of at most 64 KB) or in parameters."""
_WORD_BITS, _ROW_BITS = exact_log2(WORD_BYTES), exact_log2(ROW_BYTES)


def _pass(g: Geometry) -> data.StructLayout:
    """A pass on its way to the result: lanes `take` of a beat that read at `offset`.

    `first` and `complete` mark the first and last pass of a beat, `start` and `final` those of the
    instruction. `parameter` tells a parameter from a constant. `kind` is the instruction's fault.
    With nothing in `take` there is nothing to look up.
    """
    return data.StructLayout({
        "warp": payload.below(g.warps), "base": payload.physical(g),
        "kernel": payload.below(g.kernel_slots), "parameter": 1,
        "pc": PC_BITS, "register": 6, "beat": payload.below(g.beats),
        "last": 1, "mask": g.lanes, "size": Size,
        "uniform": 1, "kind": Fault, "start": 1, "first": 1,
        "complete": 1, "final": 1, "take": g.lanes, "generation": payload.GENERATION_BITS,
        "word": 2, "low": _WORD_BITS, "address": ADDRESS_BITS,
    })


class ConstantUnit(wiring.Component):
    """Executes loads of constants and of parameters, one pass per cycle.

    A pass serves the lanes of a beat that read the same address as its lowest lane that is left. A
    load of one address thus takes ``beats`` cycles per register; a load of n addresses per beat
    takes n times as many. Its first register beat comes `HIT_LATENCY` cycles after its last beat on
    `op`. Instructions complete in order; a miss holds up those behind it. Addresses are offsets in
    the kernel's constant bank at `const_base`, or in its parameters at `param_base`. The low 7 bits
    of `const_base` and the low 4 bits of `param_base` are ignored.

    A load into a uniform register (`writes_u`) comes as one beat, the last one. Its lanes all read
    the same address, and it gives one `uniform_write` with their value.

    Faults: MISALIGNED, else CONSTANT_BOUND or PARAM_BOUND, each at its lowest lane and with the
    offset, before anything is read; BUS_ERROR with the memory address, at the lowest lane whose
    line failed.
    Registers are released all the same, after the report, with empty masks (a uniform register
    without `keep`).

    A load whose warp was forgotten looks nothing up any more, and reports and writes nothing. If it
    has missed, the line is fetched to its end.

    Parameters
    ----------
    g : Geometry
    observed : bool
        The unit has port `lookup`, for simulations.

    Attributes
    ----------
    kernels : array of kernel_info, in
    access : MemoryAccessPort, in
        Beats of constant loads, and what they give.
    completion : CompletionPort, out
        `room` is for one cycle for each instruction begun.
    uniform : stream of uniform_write, out
    fault : fault_report, out
    read_port : ReadPort
    invalidate : Signal, in
        Forget what is cached.
    lookup : cache_lookup, out
    """

    kernels: data.View
    access: Port
    completion: Port
    uniform: stream.Interface
    fault: data.View
    read_port: ReadInterface
    invalidate: Signal
    lookup: data.View

    def __init__(self, g: Geometry, observed: bool = False):
        self.geometry, self.observed = g, observed
        super().__init__({
            "kernels": In(data.ArrayLayout(payload.kernel_info(g), g.kernel_slots)),
            "access": In(MemoryAccessPort(g, words=0)),
            "completion": Out(CompletionPort(g, remote=True)),
            "uniform": Out(stream.Signature(payload.uniform_write(g))),
            "fault": Out(payload.fault_report(g)),
            "read_port": Out(ReadPort(g)),
            "invalidate": In(1),
            **({"lookup": Out(cache_lookup())} if observed else {}),
        })

    def elaborate(self, platform: Any):
        m = Module()
        g = self.geometry
        m.submodules.queue = queue = OperationQueue(g, Fault.CONSTANT_BOUND, words=0)
        m.submodules.cache = cache = ConstantCache(cache_geometry(g))
        wiring.connect(m, wiring.flipped(self.access.op), queue.op)
        connect_cache(m, g, cache.port, self.read_port)
        completion = self.completion
        m.d.comb += [completion.room.eq(queue.room), cache.invalidate.eq(self.invalidate),
                     cache.forget.eq(completion.forget),
                     queue.generations.eq(completion.generations)]
        self._bound(m, queue)
        looked = Signal(_pass(g))
        looking = Signal()
        free = Signal()
        self._select(m, queue, looked, looking, free)
        found = Signal(_pass(g))
        finding = Signal()
        space = Signal()
        spoiled = Signal()
        self._look_up(m, cache, looked, looking, free, found, finding, space, spoiled)
        # beside those in `queue` one is looked up, one found, one written
        m.submodules.backlog = backlog = Backlog(queue.slots + 3)
        op = self.access.op
        m.d.comb += [backlog.enter.eq(op.valid & op.ready & op.payload.last),
                     backlog.leave.eq(self._result(m, cache.row, found, finding, space)),
                     backlog.mark.eq(completion.forget),
                     completion.lingering.eq(backlog.pending | cache.lingering)]
        return m

    def _bound(self, m: Module, queue: OperationQueue):
        """Find the lanes of the beat on `op` that reach beyond the kernel's constants or its
        parameters."""
        op = self.access.op.payload
        limit = Signal(signed(18))
        size = Signal(17)
        with m.If(self.access.op.valid):
            sizes = (pick([kernel[name] for kernel in self.kernels], op.kernel)
                     for name in ("param_bytes", "const_bytes"))
            m.d.comb += [size.eq(Mux(op.space == Space.PARAMETER, *sizes)),
                         limit.eq(size - 1 - extra_bytes(op.size)),
                         queue.beyond.eq(Cat(op.address[i] > limit
                                             for i in range(self.geometry.lanes)))]

    def _select(self, m: Module, queue: OperationQueue, looked: data.View, looking: Signal,
                free: Value):
        """Take the oldest instruction apart into passes:
        register by register, beat by beat, address by address."""
        g, op = self.geometry, queue.head.op
        turn = Signal(range(g.beats))
        beat = Signal(range(g.beats))  # whose lanes are in hand
        k = Signal(2)  # register of a group
        started = Signal()  # a pass of this beat was taken
        begun = Signal()  # a pass of the instruction was taken
        rest = Signal(g.lanes)  # lanes left of a beat that has been started
        lanes_pending = Signal(g.lanes)  # lanes left before this pass
        take = Signal(g.lanes)  # lanes of this pass: those that read `offset`
        mask = Signal(g.lanes)
        bad = Signal()
        pass_enable = Signal()
        ends = Signal()  # last pass of the beat
        last = Signal()  # last pass of the instruction
        offset = Signal(OFFSET_BITS)
        offsets = [Signal(OFFSET_BITS, name=f"offset_{i}") for i in range(g.lanes)]
        m.d.comb += beat.eq(Mux(op.writes_u, g.beats - 1, turn))
        with m.If(queue.head.valid):
            look_up(m, mask, [queue.mask.word_select(b, g.lanes) for b in range(g.beats)], beat)
            for i, mine in enumerate(offsets):
                look_up(m, mine,
                        [queue.address[b * g.lanes + i][:OFFSET_BITS] for b in range(g.beats)],
                        beat)
            m.d.comb += [bad.eq((op.kind != Fault.NONE)
                                | is_stale(self.completion.generations, op)),
                         lanes_pending.eq(Mux(bad, 0, Mux(started, rest, mask))),
                         offset.eq(select(lowest(lanes_pending), offsets)),
                         take.eq(lanes_pending & Cat(mine == offset for mine in offsets))]
        m.d.comb += [
            pass_enable.eq(queue.head.valid & free), ends.eq(take == lanes_pending),
            last.eq(ends & (beat == g.beats - 1) & (k == extra_registers(op.size))),
            queue.start.eq(pass_enable & ~begun), queue.advance.eq(pass_enable & last),
            queue.release.eq(pass_enable & last),
        ]
        with m.If(free):
            m.d.sync += looking.eq(queue.head.valid)
        with m.If(pass_enable):
            m.d.sync += [begun.eq(~last), started.eq(~ends), rest.eq(lanes_pending & ~take)]
            with m.If(ends):
                m.d.sync += turn.eq(Mux(beat == g.beats - 1, 0, turn + 1))
                with m.If(beat == g.beats - 1):
                    m.d.sync += k.eq(Mux(last, 0, k + 1))
            m.d.sync += [looked[name].eq(op[name])
                         for name in ("warp", "base", "kernel", "parameter", "pc", "size",
                                      "generation")]
            m.d.sync += [
                looked.register.eq(op.d | k), looked.beat.eq(beat),
                looked.last.eq(beat == g.beats - 1),
                looked.kind.eq(Mux(op.parameter & (op.kind == Fault.CONSTANT_BOUND),
                                   Fault.PARAM_BOUND, op.kind)),
                looked.mask.eq(Mux(bad, 0, mask)),
                looked.uniform.eq(op.writes_u), looked.start.eq(~begun),
                looked.first.eq(~started), looked.complete.eq(ends),
                looked.final.eq(last), looked.take.eq(take),
                looked.word.eq(offset[_WORD_BITS:_ROW_BITS] | k), looked.low.eq(offset),
                looked.address.eq(Mux(bad, op.fault_address, offset)),
            ]

    def _look_up(self, m: Module, cache: ConstantCache, looked: data.View, looking: Value,
                 free: Signal, found: data.View, finding: Signal, space: Value, spoiled: Signal):
        """Look the pass up until its line has come; report faults."""
        address = Signal(ADDRESS_BITS)
        base = Signal(ADDRESS_BITS - _ROW_BITS)  # rows
        lookup_needed = Signal()
        moves = Signal()
        failed = Signal()
        stale = Signal()
        with m.If(looking):
            bases = [Mux(looked.parameter, kernel.param_base[_ROW_BITS:],
                         kernel.const_base[7:] << 7 - _ROW_BITS) for kernel in self.kernels]
            look_up(m, base, bases, looked.kernel)
            m.d.comb += [stale.eq(is_stale(self.completion.generations, looked)),
                         lookup_needed.eq(looked.take.any() & ~(spoiled & ~looked.start) & ~stale),
                         address.eq(Cat(looked.address[:_ROW_BITS],
                                        base + looked.address[_ROW_BITS:OFFSET_BITS]))]
        m.d.comb += [
            cache.request.valid.eq(lookup_needed & space),
            cache.request.address.eq(address), failed.eq(cache.error),
            moves.eq(looking & space & (~lookup_needed | cache.hit | failed)),
            free.eq(~looking | moves),
            self.fault.valid.eq(moves & ~stale
                                & (failed | looked.start & (looked.kind != Fault.NONE))),
            self.fault.kind.eq(Mux(failed, Fault.BUS_ERROR, looked.kind)),
            self.fault.warp.eq(looked.warp),
            self.fault.pc.eq(looked.pc),
            self.fault.address.eq(Mux(failed, address, looked.address)),
        ]
        with m.If(space):
            m.d.sync += finding.eq(moves)
        with m.If(moves):
            spoils = failed | (spoiled & ~looked.start)
            m.d.sync += [spoiled.eq(spoils), found.eq(looked)]
            with m.If(spoils):
                m.d.sync += [found.mask.eq(0), found.take.eq(0)]
        if self.observed:
            self._observe(m, cache, moves)

    def _observe(self, m: Module, cache: ConstantCache, moves: Value):
        """Show each lookup when it ends: it missed if it asked more than once."""
        waited = Signal()
        asks = cache.request.valid
        with m.If(moves):
            m.d.sync += waited.eq(0)
        with m.Elif(asks):
            m.d.sync += waited.eq(1)
        m.d.comb += [self.lookup.valid.eq(moves & asks), self.lookup.missed.eq(waited)]

    def _result(self, m: Module, row: Value, found: data.View, finding: Value, space: Signal):
        """Collect the lanes of a beat over its passes and write it, or one value of all passes;
        return when an instruction has ended."""
        g, write, uniform = self.geometry, self.access.write, self.uniform
        full = Signal()
        once = Signal()
        stale = Signal()
        final = Signal()
        owner = Signal(payload.tagged(data.StructLayout({"warp": payload.below(g.warps)})))
        leave = Signal()
        move = Signal()
        word = Signal(32)
        value = Signal(32)
        with m.If(finding):
            look_up(m, word, [row.word_select(w, 32) for w in range(ROW_BYTES // WORD_BYTES)],
                    found.word)
            m.d.comb += value.eq(extract(word, found.low, found.size))
        m.d.comb += [stale.eq(is_stale(self.completion.generations, owner)),
                     write.valid.eq(full & ~once & ~stale), uniform.valid.eq(full & once & ~stale),
                     leave.eq(full & (stale | Mux(once, uniform.ready, write.ready))),
                     write.payload.warp.eq(owner.warp), uniform.payload.warp.eq(owner.warp),
                     move.eq(finding & (~full | leave)), space.eq(~finding | move)]
        with m.If(move):
            m.d.sync += [full.eq(Mux(found.uniform, found.final, found.complete)),
                         once.eq(found.uniform), final.eq(found.final), owner.warp.eq(found.warp),
                         owner.generation.eq(found.generation)]
            m.d.sync += [write.payload[name].eq(found[name])
                         for name in ("base", "register", "beat", "last", "mask")]
            m.d.sync += [write.payload.release.eq(found.last),
                         uniform.payload.register.eq(found.register)]
            with m.If(found.start | found.take.any()):
                m.d.sync += [uniform.payload.keep.eq(found.take.any()),
                             uniform.payload.data.eq(value)]
            for i in range(g.lanes):
                with m.If(found.take[i]):
                    m.d.sync += write.payload.data[i].eq(value)
                with m.Elif(found.first | ~found.mask[i]):
                    m.d.sync += write.payload.data[i].eq(0)
        with m.Elif(leave):
            m.d.sync += full.eq(0)
        return leave & final
