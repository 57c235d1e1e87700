"""The uncore: all of a device but its SMs.

::

      registers, interrupt                                            axi
             |                                                         |
       RegisterFanOut -- HostPort, ReportPort --+            PriorityJoin (regular > save, restore)
             |                                  |               |              |
       TbDispatcher --- TbSupplyPort ---------- sms ------- FairJoin       FairJoin
                                                |            (regular)   (save, restore)
       PointOfOrder --- OrderPort --------------+
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from ..arch.geometry import Geometry
from ..arch.packets import QueueState
from ..arch.registers import DEVICE_ADDRESS_BITS
from ..interfaces.gpu_ports import written_event
from ..interfaces.payloads import below
from ..interfaces.port import Port
from ..lib.bits import select
from ..lib.vectors import RoundRobin
from ..memory.axi import ID_BITS, Axi4, AxiInterface, AxiMaster
from ..memory.axi_join import FairJoin, PriorityJoin
from ..sm import SmPort
from .point_of_order import PointOfOrder
from .queues.queue_processor import QueueProcessor
from .queues.queue_registers import QueueRegisters
from .register_fan_out import RegisterFanOut
from .tb_dispatcher import LeastLoaded, Policy, TbDispatcher

__all__ = ["QueueTracePorts", "Uncore", "device_id_bits", "device_ports"]


QUEUE_READER, QUEUE_WRITER = 5, 3
"""AXI ids of the queue processor: those after an SM's."""


def device_id_bits(g: Geometry) -> int:
    """Return the AXI id bits of a device: an SM's, its number, and the class of the access."""
    return ID_BITS + _number_bits(g) + 1


def _number_bits(g: Geometry) -> int:
    """Bits of the number of an SM or, behind the last, of the queue processor."""
    return ceil_log2(g.sms + (g.queues > 0))


def device_ports(g: Geometry) -> dict[str, wiring.Member]:
    """Return the ports of a device to the outside."""
    return {"address": In(DEVICE_ADDRESS_BITS), "read": In(1), "write": In(1), "write_data": In(32),
            "read_data": Out(32), "interrupt": Out(1), "axi": Out(Axi4(g, device_id_bits(g)))}


class QueueTracePorts(wiring.Signature):
    """State of a hardware queue that a device shows to a simulation; not part of the machine.

    Attributes
    ----------
    state : QueueState, out
    passing, full : Signal, out
        The packet before `unstarted` is a barrier that has been passed, and has not completed; as
        many kernels are in flight as may be.
    unstarted, write_index : Signal(32), out
        The packet to be begun next; packets that have been put into the queue.
    flights : list, out
        Kernels in flight: `busy` while there is one, its kernel `slot`, and the `index` of its
        packet.
    """

    def __init__(self, g: Geometry):
        one = wiring.Signature({"busy": Out(1), "slot": Out(below(g.kernel_slots)),
                                "index": Out(32)})
        super().__init__({"state": Out(QueueState), "passing": Out(1), "full": Out(1),
                          "unstarted": Out(32), "write_index": Out(32),
                          "flights": Out(one).array(g.queue_capacity)})


class Uncore(wiring.Component):
    """Registers, dispatcher, point of order and interconnect of a device.

    AXI ids: the lowest `ID_BITS` bits are those of an SM, the next ones its number, the highest is
    set for save and restore. The queue processor has the number after the SMs', and ids
    `QUEUE_READER` and `QUEUE_WRITER`. Of register ``bus_share`` the first SM's counts.

    Parameters
    ----------
    g : Geometry
        Geometry with `has_uncore`.
    policy : callable
        Makes the `Policy` by which TBs are handed out.

    Attributes
    ----------
    sms : list of SmPort, in
        The SMs.
    address, read, write, write_data, read_data, interrupt, axi
        As of `hw.device.device.Gpu`.
    trace : list of QueueTracePorts, out
        One trace for each queue, if there are any.
    """

    sms: list[Port]
    trace: list[Port]
    address: Signal
    read: Signal
    write: Signal
    write_data: Signal
    read_data: Signal
    interrupt: Signal
    axi: AxiInterface

    def __init__(self, g: Geometry, policy: Callable[[Geometry], Policy] = LeastLoaded):
        if not g.has_uncore:
            raise ValueError("a device of one SM without queues is the SM itself (`hw.sm.Sm`)")
        self.geometry, self.policy = g, policy
        trace = {"trace": Out(QueueTracePorts(g)).array(g.queues)} if g.queues else {}
        super().__init__({"sms": In(SmPort(g)).array(g.sms), **device_ports(g), **trace})

    def elaborate(self, platform: Any):
        m = Module()
        g = self.geometry
        queues = QueueRegisters(g) if g.queues else None
        m.submodules.registers = registers = RegisterFanOut(g, queues.shown() if queues else {})
        m.submodules.dispatcher = dispatcher = TbDispatcher(g, self.policy)
        m.submodules.order = order = PointOfOrder(g)
        number_bits = _number_bits(g)
        m.submodules.regular = regular = FairJoin(g, g.sms + (queues is not None), ID_BITS)
        m.submodules.contexts = contexts = FairJoin(g, g.sms, ID_BITS, number_bits)
        m.submodules.bus = bus = PriorityJoin(g, 2, ID_BITS + number_bits, buffered=True)
        for i, sm in enumerate(self.sms):
            host, report = registers.sms[i], sm.report
            m.d.comb += [
                sm.sm_index.eq(i), sm.address.eq(host.address), sm.write.eq(host.write),
                sm.write_data.eq(host.write_data), host.read_data.eq(sm.read_data),
                dispatcher.starts[i].eq(report.start), dispatcher.grids[i].eq(report.grids),
                dispatcher.adopted[i].eq(report.adopted), dispatcher.idle[i].eq(report.idle),
                *(getattr(registers.reports[i], name).eq(getattr(report, name))
                  for name in report.signature.members)]
            for inner, outer in ((regular.masters[i], sm.axi),
                                 (contexts.masters[i], sm.context_axi),
                                 (dispatcher.supplies[i], sm.supply), (order.ports[i], sm.order)):
                wiring.connect(m, inner, wiring.flipped(outer))
        for one, other in ((regular.axi, bus.masters[0]), (contexts.axi, bus.masters[1]),
                           (bus.axi, wiring.flipped(self.axi))):
            wiring.connect(m, one, other)
        m.d.comb += [
            registers.host.address.eq(self.address), registers.host.write.eq(self.write),
            registers.host.read.eq(self.read),
            registers.host.write_data.eq(self.write_data),
            self.read_data.eq(registers.host.read_data),
            self.interrupt.eq(registers.host.interrupt), bus.share.eq(self.sms[0].report.share),
            *(registers.members[k].eq(dispatcher.members[k]) for k in range(g.kernel_slots)),
        ]
        writers = [sm.writes.wrote for sm in self.sms] if g.watches else []
        if queues is not None:
            processor = self._queues(m, queues, registers, order, regular)
            writers += [processor.wrote] if g.watches else []
        if g.watches:
            self._writes(m, writers)
        return m

    def _writes(self, m: Module, writers: Sequence[stream.Interface]):
        """Tell all SMs which segment one of them, or the queue processor, has written. One write is
        told per cycle; writers take turns."""
        m.submodules.writers = turns = RoundRobin(len(writers))
        written = Signal(written_event())
        m.d.comb += turns.requests.eq(Cat(wrote.valid for wrote in writers))
        m.d.sync += [written.valid.eq(turns.valid), written.segment.eq(
            select(turns.grant, [wrote.payload for wrote in writers]))]
        m.d.comb += [wrote.ready.eq(turns.grant[i]) for i, wrote in enumerate(writers)]
        m.d.comb += [sm.writes.written.eq(written) for sm in self.sms]

    def _queues(self, m: Module, queues: QueueRegisters, registers: RegisterFanOut,
                order: PointOfOrder, regular: FairJoin):
        """Return the queue processor, with its registers and its part of the bus."""
        g = self.geometry
        m.submodules.queue_registers = queues
        m.submodules.queue_processor = processor = QueueProcessor(g)
        m.submodules.queue_bus = bus = AxiMaster(g, 1, 1, first_reader=QUEUE_READER,
                                                 first_writer=QUEUE_WRITER)
        cycle = Signal(64)
        m.d.sync += cycle.eq(cycle + 1)
        m.d.comb += [
            queues.address.eq(self.address), queues.write.eq(self.write),
            queues.write_data.eq(self.write_data), queues.statuses.eq(processor.statuses),
            processor.setups.eq(queues.setups), processor.slots.eq(queues.slots),
            processor.policy.eq(queues.policy), processor.cycle.eq(cycle),
            processor.accepted.eq(Cat(sm.report.accepted for sm in self.sms).any()),
            *(processor.states[i].eq(sm.report.states) for i, sm in enumerate(self.sms)),
            *(processor.errors[i].eq(sm.report.errors) for i, sm in enumerate(self.sms)),
        ]
        for q, shown in enumerate(self.trace):
            status = processor.statuses[q]
            m.d.comb += [shown.write_index.eq(queues.setups[q].write_index),
                         *(getattr(shown, name).eq(status[name])
                           for name in ("state", "passing", "full", "unstarted")),
                         *(getattr(one, name).eq(status.flights[i][name])
                           for i, one in enumerate(shown.flights)
                           for name in ("busy", "slot", "index"))]
        for one, other in ((processor.registers, registers.queued),
                           (processor.order, order.ports[-1]),
                           (processor.read_port, bus.readers[0]),
                           (processor.write_port, bus.writers[0]),
                           (bus.axi, regular.masters[-1])):
            wiring.connect(m, one, other)
        return processor
