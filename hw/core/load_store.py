"""Global memory: coalescing to 128-byte segments, loads and stores.

::

    op -> OperationQueue -> Coalescer -> window check --+-> LoadUnit  -> read_port, write
                |                                       |
                +---- data of stores -------------------+-> StoreUnit -> write_port
"""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ..arch.faults import Fault
from ..arch.geometry import Geometry
from ..memory.ports import ReadInterface, ReadPort, WriteInterface, WritePort
from . import interfaces as payload
from .access import pick
from .coalescer import OFFSET_BITS, Coalescer
from .load_unit import LoadUnit
from .operation_queue import OperationQueue
from .store_unit import StoreUnit

__all__ = ["LoadStore"]


class LoadStore(wiring.Component):
    """Executes global loads and stores.

    An instruction is taken apart into aligned 128-byte segments, lowest lane first, one segment a cycle. Loads
    read whole segments, of any warps at once, up to `load_queue` outstanding, at one bus beat a cycle; stores
    write one bus beat a cycle. From the last beat on `op` to the first request are 2 cycles; from the last bus
    beat of a segment to its first register write 2. An instruction that needs several segments writes each
    destination register once for each, with that segment's lanes.

    Faults: an instruction with a misaligned lane accesses nothing (MISALIGNED at the lowest such lane). A segment
    in none of the kernel's windows (GLOBAL_WINDOW), or answered with an error (BUS_ERROR), is reported at its
    lowest lane; segments before it have been accessed, later ones are not (BUS_ERROR: may be). Registers are
    released and completion is signalled all the same, not before the report.
    """

    kernels: data.View
    op: stream.Interface
    room: Signal
    write: stream.Interface
    load_done: data.View
    store_done: data.View
    fault: data.View
    read_port: ReadInterface
    write_port: WriteInterface

    def __init__(self, g: Geometry):
        self.geometry = g
        super().__init__({
            "kernels": In(data.ArrayLayout(payload.kernel_info(g), g.kernel_slots)),
            "op": In(stream.Signature(payload.memory_op(g))),
            "room": Out(1),            # one cycle: a place of the queue has become free
            "write": Out(stream.Signature(payload.register_write(g))),
            "load_done": Out(payload.completion(g)),
            "store_done": Out(payload.completion(g)),
            "fault": Out(payload.fault_report(g)),
            "read_port": Out(ReadPort(g)),
            "write_port": Out(WritePort(g)),
        })

    def elaborate(self, platform):
        m = Module()
        g = self.geometry
        m.submodules.queue = queue = OperationQueue(g)
        m.submodules.coalescer = coalescer = Coalescer(g, queue.slots)
        m.submodules.loads = loads = LoadUnit(g, queue.slots)
        m.submodules.stores = stores = StoreUnit(g, queue.slots)
        wiring.connect(m, wiring.flipped(self.op), queue.op)
        wiring.connect(m, loads.write, wiring.flipped(self.write))
        wiring.connect(m, loads.read_port, wiring.flipped(self.read_port))
        wiring.connect(m, stores.write_port, wiring.flipped(self.write_port))
        m.d.comb += [
            self.room.eq(queue.room), self.load_done.eq(loads.done), self.store_done.eq(stores.done),
            coalescer.head.eq(queue.head), coalescer.mask.eq(queue.mask), coalescer.address.eq(queue.address),
            queue.start.eq(coalescer.start), queue.advance.eq(coalescer.advance),
            queue.data_slot.eq(coalescer.segment.payload.slot), stores.data.eq(queue.data),
        ]
        self._dispatch(m, queue, coalescer.segment, loads, stores)
        return m

    def _dispatch(self, m, queue, found, loads, stores):
        """Check a segment against the windows and send it on; a faulting one ends its instruction."""
        segment = found.payload
        kind, bad, dropping, offer, clear = Signal(Fault), Signal(), Signal(), Signal(), Signal()
        m.d.comb += [
            kind.eq(Mux(segment.kind != Fault.NONE, segment.kind,
                        Mux(self._in_window(segment), Fault.NONE, Fault.GLOBAL_WINDOW))),
            bad.eq(kind != Fault.NONE), clear.eq(~loads.fault.valid & ~stores.fault.valid),
            offer.eq(found.valid & ~dropping & (clear | ~bad)),
            loads.segment.valid.eq(offer & ~segment.store), stores.segment.valid.eq(offer & segment.store),
            found.ready.eq(dropping | ((clear | ~bad) & Mux(segment.store, stores.segment.ready, loads.segment.ready))),
            queue.release.eq(found.valid & found.ready & segment.last),
        ]
        for unit in (loads, stores):
            m.d.comb += [unit.segment.payload.eq(segment), unit.segment.payload.kind.eq(kind),
                         unit.segment.payload.last.eq(segment.last | bad)]
        with m.If(found.valid & found.ready):
            m.d.sync += dropping.eq((dropping | bad) & ~segment.last)
        self._report(m, segment, kind, offer & bad & found.ready, loads, stores)

    def _in_window(self, segment):
        """Whether the segment lies in a window of its kernel."""
        number = segment.address[OFFSET_BITS:]
        inside = []
        for w in range(self.geometry.windows):
            windows = [kernel.windows[w] for kernel in self.kernels]
            base = pick([window.base[OFFSET_BITS:] for window in windows], segment.kernel)
            end = pick([window.end[OFFSET_BITS:] for window in windows], segment.kernel)
            inside.append((number >= base) & (number < end))
        return Cat(inside).any()

    def _report(self, m, segment, kind, refused, loads, stores):
        """Put one fault a cycle on the port: stores' first, then loads', then that of `segment` if `refused`."""
        fault = self.fault
        m.d.comb += [stores.fault.ready.eq(1), loads.fault.ready.eq(~stores.fault.valid),
                     fault.valid.eq(stores.fault.valid | loads.fault.valid | refused),
                     fault.kind.eq(kind), fault.warp.eq(segment.warp), fault.pc.eq(segment.pc),
                     fault.address.eq(segment.address)]
        for unit in (loads, stores):
            with m.If(unit.fault.valid):
                m.d.comb += [fault[name].eq(unit.fault.payload[name]) for name in ("kind", "warp", "pc", "address")]
