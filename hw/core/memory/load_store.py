"""Global and local memory: coalescing to 128-byte segments, loads, stores and atomics.

::

    op -> LocalAddress -> OperationQueue -> Coalescer -> window check
                              |                               |
                              +-- data of stores, atomics ----+-> LoadUnit -> read_port, write
                                                              |
                                                              +-> StoreUnit -> write_port
                                                              |
                                                              +-> GlobalAtomics -> atomic ports,
                                                                                 write
"""

from collections.abc import Sequence
from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal, Value, ValueLike
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ...arch.faults import Fault
from ...arch.geometry import Geometry
from ...arch.isa.opcodes import WATCH_SIZE
from ...interfaces import payloads as payload
from ...interfaces.core_ports import CompletionPort, MemoryAccessPort
from ...interfaces.gpu_ports import SEGMENT_BITS, OrderPort
from ...interfaces.port import Port
from ...interfaces.yielding import watch_event
from ...lib.bits import pick
from ...memory.ports import ReadInterface, ReadPort, WriteInterface, WritePort
from .atomics.entries import trace_atomic
from .atomics.global_unit import GlobalAtomics
from .coalescer import OFFSET_BITS, Coalescer
from .generation import Backlog, is_stale
from .load_unit import LoadUnit
from .local_address import LocalAddress
from .operation_queue import OperationQueue
from .register_merge import RegisterMerge
from .store_unit import StoreUnit

__all__ = ["LoadStore"]


class LoadStore(wiring.Component):
    """Executes global and local loads and stores, and global atomics.

    An instruction is taken apart into aligned 128-byte segments, lowest lane first, one segment per
    cycle. Loads read whole segments, of any warps at once, up to `load_queue` outstanding, at one
    bus beat per cycle. Stores write one bus beat per cycle. The first request follows the last beat
    on `op` by 2 cycles; the first register write follows the last bus beat of its segment by 2. An
    instruction that needs several segments writes each destination register once for each segment,
    with that segment's lanes. `GlobalAtomics` describes the time that atomics take; loads and
    stores of other warps do not wait for them.

    Faults: an instruction with a misaligned lane accesses nothing (MISALIGNED at the lowest such
    lane). An instruction with a lane beyond its local memory accesses nothing either (LOCAL_BOUND;
    the address reported of a local access is the offset). A segment in none of the kernel's windows
    (GLOBAL_WINDOW), or answered with an error (BUS_ERROR), is reported at its lowest lane. Segments
    before it have been accessed. Later ones are not accessed after GLOBAL_WINDOW, and may be
    accessed after BUS_ERROR. Registers are released and completion is signalled all the same, not
    before the report.

    Forgotten warps: an access that has not become a request does not become one. The answers to
    other accesses are awaited, in the order of the accesses, and dropped.

    Attributes
    ----------
    kernels, tbs : arrays, in
        Descriptors for the windows and the local memory of a TB.
    access : MemoryAccessPort, in
        Beats of global and local accesses, and what loads and atomics give; atomics go first.
    completion : CompletionPort, out
        Completions of loads, stores and atomics.
    fault : interfaces.fault_report, out
    trace_atomic : out
        Lanes of atomics in the order in which they are performed; for simulations.
    read_port, atomic_read_port : ReadPort, out; write_port, atomic_write_port : WritePort, out
        Ports of loads and stores, and of atomics.
    order : OrderPort, out
        Point of order that orders its atomics with those of the other SMs; exists only on one of
        several.
    watch : watch_event, out
        A load that watches the segment of its lowest lane; exists only with `Geometry.watches`.
    wrote : stream of segment numbers, out
        Writes that memory has acknowledged; while one is not taken, none is acknowledged. Exists
        only with `Geometry.watches`.
    """

    kernels: data.View
    tbs: data.View
    access: Port
    completion: Port
    fault: data.View
    trace_atomic: data.View
    read_port: ReadInterface
    write_port: WriteInterface
    atomic_read_port: ReadInterface
    atomic_write_port: WriteInterface
    order: Port
    watch: data.View
    wrote: stream.Interface

    def __init__(self, g: Geometry):
        self.geometry = g
        super().__init__({
            "kernels": In(data.ArrayLayout(payload.kernel_info(g), g.kernel_slots)),
            "tbs": In(data.ArrayLayout(payload.tb_info(g), g.tb_slots)),
            "access": In(MemoryAccessPort(g)),
            "completion": Out(CompletionPort(g, ("load", "store", "atomic"), remote=True)),
            "fault": Out(payload.fault_report(g)),
            "trace_atomic": Out(trace_atomic(g)),
            "read_port": Out(ReadPort(g)),
            "write_port": Out(WritePort(g)),
            "atomic_read_port": Out(ReadPort(g)),
            "atomic_write_port": Out(WritePort(g)),
            **({"order": Out(OrderPort())} if g.has_uncore else {}),
            **({"watch": Out(watch_event(g)), "wrote": Out(stream.Signature(SEGMENT_BITS))}
               if g.watches else {}),
        })

    def elaborate(self, platform: Any):
        m = Module()
        g = self.geometry
        m.submodules.queue = queue = OperationQueue(g, Fault.LOCAL_BOUND)
        m.submodules.coalescer = coalescer = Coalescer(g, queue.slots)
        m.submodules.loads = loads = LoadUnit(g, queue.slots)
        m.submodules.stores = stores = StoreUnit(g, queue.slots)
        m.submodules.atomics = atomics = GlobalAtomics(g, queue.slots)
        m.submodules.merge = merge = RegisterMerge(g)
        self._addresses(m, queue)
        wiring.connect(m, loads.write, merge.second)
        wiring.connect(m, atomics.write, merge.first)
        for port, outer in ((loads.read_port, self.read_port), (stores.write_port, self.write_port),
                            (atomics.read_port, self.atomic_read_port),
                            (atomics.write_port, self.atomic_write_port)):
            if g.watches and port in (stores.write_port, atomics.write_port):
                continue  # their acknowledgements are seen on the way
            wiring.connect(m, port, wiring.flipped(outer))
        if g.watches:
            self._watch(m, coalescer.segment, loads, stores, atomics)
        if g.has_uncore:
            wiring.connect(m, atomics.order, wiring.flipped(self.order))
        m.d.comb += [
            self.completion.room.eq(queue.room), self.trace_atomic.eq(atomics.trace),
            *(block.generations.eq(self.completion.generations)
              for block in (queue, coalescer, loads, stores, atomics)),
            coalescer.head.eq(queue.head), coalescer.mask.eq(queue.mask),
            coalescer.address.eq(queue.address),
            queue.start.eq(coalescer.start), queue.advance.eq(coalescer.advance),
            queue.data_slot.eq(coalescer.segment.payload.slot),
            stores.data.eq(queue.data), atomics.data.eq(queue.data),
        ]
        self._dispatch(m, queue, coalescer.segment, loads, stores, atomics)
        self._results(m, queue, merge.merged, loads, stores, atomics)
        return m

    def _watch(self, m: Module, found: stream.Interface, loads: LoadUnit, stores: StoreUnit,
               atomics: GlobalAtomics):
        """Tell which segments are watched and written. Acknowledgements of stores and atomics come
        one at a time, as they do on the bus, and wait for `wrote`."""
        segment, wrote = found.payload, self.wrote
        m.d.comb += [
            self.watch.valid.eq(loads.segment.valid & loads.segment.ready & segment.first
                                & (loads.segment.payload.kind == Fault.NONE) & ~segment.local
                                & (segment.function[:3] == WATCH_SIZE)),
            self.watch.warp.eq(segment.warp), self.watch.segment.eq(segment.address[OFFSET_BITS:]),
        ]
        for unit, outer in ((stores, self.write_port), (atomics, self.atomic_write_port)):
            ack = unit.write_port.ack
            for name in ("request", "beat"):
                wiring.connect(m, getattr(unit.write_port, name),
                               wiring.flipped(getattr(outer, name)))
            m.d.comb += [ack.payload.eq(outer.ack.payload),
                         ack.valid.eq(outer.ack.valid & wrote.ready),
                         outer.ack.ready.eq(ack.ready & wrote.ready)]
            with m.If(outer.ack.valid & ack.ready):
                m.d.comb += [wrote.valid.eq(1),
                             wrote.payload.eq(unit.acknowledged[OFFSET_BITS:])]

    def _results(self, m: Module, queue: OperationQueue, merged: stream.Interface, loads: LoadUnit,
                 stores: StoreUnit, atomics: GlobalAtomics):
        """Pass registers and completions on, but for those of forgotten warps; tell whether there
        are any left of these."""
        completion, write = self.completion, self.access.write
        late = Signal()
        m.d.comb += [
            late.eq(is_stale(completion.generations, merged.payload)),
            write.valid.eq(merged.valid & ~late), merged.ready.eq(write.ready | late),
            *(write.payload[name].eq(merged.payload[name])
              for name in write.payload.shape().members)]
        for event, done in ((completion.load, loads.done), (completion.store, stores.done),
                            (completion.atomic, atomics.done)):
            m.d.comb += [event.warp.eq(done.warp),
                         event.valid.eq(done.valid & ~is_stale(completion.generations, done))]
        m.submodules.backlog = backlog = Backlog(queue.slots)
        op = self.access.op
        m.d.comb += [
            backlog.enter.eq(op.valid & op.ready & op.payload.last),
            backlog.leave.eq(queue.release), backlog.mark.eq(completion.forget),
            completion.lingering.eq(backlog.pending | loads.lingering | stores.lingering
                                    | atomics.lingering),
            *(unit.forget.eq(completion.forget) for unit in (loads, stores, atomics))]

    def _addresses(self, m: Module, queue: OperationQueue):
        """Put the beats into the queue, local addresses translated."""
        m.submodules.local = local = LocalAddress(self.geometry)
        wiring.connect(m, wiring.flipped(self.access.op), queue.op)
        op = self.access.op
        m.d.comb += [local.op[name].eq(op.payload[name]) for name in local.op.shape().members]
        m.d.comb += [local.kernels.eq(self.kernels), local.tbs.eq(self.tbs),
                     local.valid.eq(op.valid), queue.beyond.eq(local.beyond),
                     queue.op.payload.address.eq(local.address)]

    def _dispatch(self, m: Module, queue: OperationQueue, found: stream.Interface, loads: LoadUnit,
                  stores: StoreUnit, atomics: GlobalAtomics):
        """Check a segment against the windows and send it on; a faulting one ends its instruction,
        one of a forgotten warp goes nowhere."""
        segment = found.payload
        kind = Signal(Fault)
        bad = Signal()
        dropping = Signal()
        offer = Signal()
        clear = Signal()
        segment_accepted = Signal()
        stale = Signal()
        units = ((stores, segment.store), (atomics, segment.atomic),
                 (loads, ~segment.store & ~segment.atomic))
        m.d.comb += [
            kind.eq(Mux(segment.kind != Fault.NONE, segment.kind,
                        Mux(segment.local | self._in_window(segment),
                            Fault.NONE, Fault.GLOBAL_WINDOW))),
            bad.eq(kind != Fault.NONE), clear.eq(~Cat(unit.fault.valid for unit, _ in units).any()),
            stale.eq(is_stale(self.completion.generations, segment)),
            offer.eq(found.valid & ~dropping & ~stale & (clear | ~bad)),
            segment_accepted.eq(Cat(mine & unit.segment.ready for unit, mine in units).any()),
            found.ready.eq(dropping | stale | ((clear | ~bad) & segment_accepted)),
            queue.release.eq(found.valid & found.ready & segment.last),
        ]
        for unit, mine in units:
            m.d.comb += [unit.segment.valid.eq(offer & mine), unit.segment.payload.eq(segment),
                         unit.segment.payload.kind.eq(kind),
                         unit.segment.payload.last.eq(segment.last | bad)]
        with m.If(found.valid & found.ready):
            m.d.sync += dropping.eq((dropping | bad) & ~segment.last)
        self._report(m, segment, kind, offer & bad & found.ready, (stores, loads, atomics))

    def _in_window(self, segment: data.View):
        """Whether the segment lies in a window of its kernel."""
        number = segment.address[OFFSET_BITS:]
        inside = []
        for w in range(self.geometry.windows):
            windows = [kernel.windows[w] for kernel in self.kernels]
            base = pick([window.base[OFFSET_BITS:] for window in windows], segment.kernel)
            end = pick([window.end[OFFSET_BITS:] for window in windows], segment.kernel)
            inside.append((number >= base) & (number < end))
        return Cat(inside).any()

    def _report(self, m: Module, segment: data.View, kind: ValueLike, refused: Value,
                units: Sequence[StoreUnit | LoadUnit | GlobalAtomics]):
        """Put one fault per cycle on the port: the fault of the first unit that has one, else that
        of `segment` if `refused`."""
        fault, earlier = self.fault, 0
        for unit in units:
            m.d.comb += unit.fault.ready.eq(~earlier)
            earlier = earlier | unit.fault.valid
        m.d.comb += [fault.valid.eq(earlier | refused),
                     fault.kind.eq(kind), fault.warp.eq(segment.warp),
                     fault.pc.eq(segment.pc), fault.address.eq(segment.address)]
        for unit in units[::-1]:
            with m.If(unit.fault.valid):
                m.d.comb += [fault[name].eq(unit.fault.payload[name])
                             for name in ("kind", "warp", "pc", "address")]
