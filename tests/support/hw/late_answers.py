"""An SM behind a bus that holds answers back: `hw.sm.Sm` for simulations, with a register more.

::

    RtlTransport --registers--> [CONTROL] --held--+
                                                  v
                 <--- axi --- answers of held ids <--- Sm

A held answer waits; those of other ids, and of the same id once it is held no more, pass. So memory answers late, or
never, whom it is told to, and everybody else at once.
"""

from collections.abc import Collection
from functools import reduce
from operator import or_

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, fifo, wiring
from amaranth.lib.wiring import In, Out

from caesura.hw.arch.registers import ADDRESS_BITS
from caesura.hw.memory.axi import ID_BITS, Axi4, AxiInterface
from caesura.hw.sm import Sm, TraceInterface, TracePorts
from caesura.sim.rtl.transport import RtlTransport

__all__ = ["CONTROL", "Held", "LateAnswersSm", "control"]

CONTROL = (1 << ADDRESS_BITS) - 4
"""Address of the register, which none of the machine has."""
ANSWERS = 1024
"""Answers of a channel that can be held."""


class Held:
    """AXI ids whose answers are held: of reads, of writes."""

    READS = CONSTANTS, LOADS, ATOMIC_READS = (1, 2, 3)
    WRITES = STORES, ATOMIC_WRITES = (0, 1)


def _control() -> data.StructLayout:
    return data.StructLayout({"reads": 1 << ID_BITS, "writes": 1 << ID_BITS, "stall": 1})


def control(transport: RtlTransport, reads: Collection[int] = (), writes: Collection[int] = (),
            stall: bool = False) -> None:
    """Write the register; takes a cycle.

    Parameters
    ----------
    transport : RtlTransport
        Of a `LateAnswersSm`.
    reads, writes : collection of int
        AXI ids whose answers are held.
    stall : bool
        No request and no data of a write is taken.
    """
    vectors = [reduce(or_, (1 << number for number in ids), 0) for ids in (reads, writes)]
    transport.write_register(CONTROL, _control().const({"reads": vectors[0], "writes": vectors[1],
                                                        "stall": stall}).as_bits())


class LateAnswersSm(wiring.Component):
    """The SM with the register `CONTROL`, which is written only: `_control`."""

    address: Signal
    write: Signal
    write_data: Signal
    read_data: Signal
    interrupt: Signal
    axi: AxiInterface
    trace: TraceInterface

    def __init__(self, g):
        self.geometry = g
        super().__init__({"address": In(ADDRESS_BITS), "write": In(1), "write_data": In(32), "read_data": Out(32),
                          "interrupt": Out(1), "axi": Out(Axi4(g)), "trace": Out(TracePorts(g))})

    def elaborate(self, platform):
        m = Module()
        m.submodules.sm = sm = Sm(self.geometry)
        told = Signal(_control())
        chosen = Signal()
        wiring.connect(m, wiring.flipped(self.trace), sm.trace)
        with m.If(chosen & self.write):
            m.d.sync += told.eq(self.write_data)
        m.d.comb += [chosen.eq(self.address == CONTROL), sm.address.eq(self.address),
                     sm.write.eq(self.write & ~chosen), sm.write_data.eq(self.write_data),
                     self.read_data.eq(sm.read_data), self.interrupt.eq(sm.interrupt)]
        self._requests(m, sm.axi, told.stall)
        self._answers(m, sm.axi, "r", told.reads, ("id", "data", "resp", "last"))
        self._answers(m, sm.axi, "b", told.writes, ("id", "resp"))
        return m

    def _requests(self, m, inner, stall):
        """Pass the channels of the master, unless they stall; a request that waits already is not withdrawn."""
        for channel, names in (("aw", ("id", "addr", "len", "size", "burst")), ("w", ("data", "strb", "last")),
                               ("ar", ("id", "addr", "len", "size", "burst"))):
            ours, theirs = (lambda name, bus=bus, channel=channel: getattr(bus, channel + name)
                            for bus in (inner, self.axi))
            waits = Signal(name=f"{channel}_waits")
            passing = Signal(name=f"{channel}_passes")
            m.d.comb += [passing.eq(~stall | waits), theirs("valid").eq(ours("valid") & passing),
                         ours("ready").eq(theirs("ready") & passing)]
            m.d.sync += waits.eq(theirs("valid") & ~theirs("ready"))
            m.d.comb += [theirs(name).eq(ours(name)) for name in names]

    def _answers(self, m, inner, channel, held, names):
        """Pass answers, those of held ids through a queue that waits."""
        ours, theirs = (lambda name, bus=bus: getattr(bus, channel + name) for bus in (inner, self.axi))
        layout = data.StructLayout({name: len(theirs(name)) for name in names})
        m.submodules[f"{channel}_held"] = queue = fifo.SyncFIFOBuffered(width=layout.size, depth=ANSWERS)
        waiting = Signal(1 << ID_BITS, name=f"{channel}_waiting")  # ids with answers in the queue
        oldest = Signal(layout, name=f"{channel}_oldest")
        draining = Signal(name=f"{channel}_draining")
        detour = Signal(name=f"{channel}_detour")
        m.d.comb += [
            oldest.eq(queue.r_data), draining.eq(queue.r_rdy & ~held.bit_select(oldest.id, 1)),
            detour.eq((held | waiting).bit_select(theirs("id"), 1)),
            *(queue.w_data[position:position + len(theirs(name))].eq(theirs(name))
              for name, position in ((name, layout[name].offset) for name in names)),
            queue.w_en.eq(theirs("valid") & detour & queue.w_rdy),
            theirs("ready").eq(Mux(detour, queue.w_rdy, ours("ready") & ~draining)),
            ours("valid").eq(draining | theirs("valid") & ~detour), queue.r_en.eq(draining & ours("ready")),
            *(ours(name).eq(Mux(draining, oldest[name], theirs(name))) for name in names)]
        with m.If(queue.w_en):
            m.d.sync += waiting.eq(waiting | (1 << theirs("id")))
        with m.Elif(queue.r_level == 0):
            m.d.sync += waiting.eq(0)
