"""A small design with the ports of the SM: a memory-to-memory copier behind a register block."""

from collections.abc import Callable

import pytest
from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import fifo, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from caesura.hw.arch.geometry import SEGMENT_BYTES, Geometry
from caesura.hw.arch.registers import ADDRESS_BITS
from caesura.hw.memory.axi import Axi4
from caesura.hw.sm import ATOMICS, TracePorts
from caesura.software.driver.machine.transport import Transport

SOURCE, TARGET, SEGMENTS, START, STATUS, CYCLES = range(0, 24, 4)


class Copier(wiring.Component):
    """Copies `SEGMENTS` segments of 128 bytes from `SOURCE` to `TARGET`; a write to `START` begins.

    `STATUS` reads 1 in bit 0 when all writes are acknowledged (the interrupt line), and the worst response in
    bits 3..2; `CYCLES` counts cycles from reset. A read burst leaves a retire record, a read beat one of each other
    kind.
    """

    def __init__(self, g: Geometry):
        self.geometry = g
        super().__init__({
            "address": In(ADDRESS_BITS), "write": In(1), "write_data": In(32), "read_data": Out(32),
            "interrupt": Out(1), "axi": Out(Axi4(g)), "trace": Out(TracePorts(g)),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        g, axi = self.geometry, self.axi
        source, target, segments, cycles = Signal(32), Signal(32), Signal(16), Signal(32)
        asked, received, written, done = Signal(16), Signal(16), Signal(16), Signal(16)
        response, running = Signal(2), Signal()
        m.d.sync += cycles.eq(cycles + 1)
        with m.Switch(self.address):
            with m.Case(SOURCE):
                m.d.sync += self.read_data.eq(source)
            with m.Case(STATUS):
                m.d.sync += self.read_data.eq(Cat(self.interrupt, 0, response))
            with m.Case(CYCLES):
                m.d.sync += self.read_data.eq(cycles)
            with m.Default():
                m.d.sync += self.read_data.eq(0)
        with m.If(self.write):
            for address, register in ((SOURCE, source), (TARGET, target), (SEGMENTS, segments)):
                with m.If(self.address == address):
                    m.d.sync += register.eq(self.write_data)
            with m.If(self.address == START):
                m.d.sync += [running.eq(1), response.eq(0)]
                m.d.sync += [count.eq(0) for count in (asked, received, written, done)]

        m.submodules.fifo = queue = fifo.SyncFIFOBuffered(width=8 * g.bus_bytes, depth=4 * g.burst_beats)
        for channel in ("ar", "aw"):
            m.d.comb += [getattr(axi, channel + "len").eq(g.burst_beats - 1),
                         getattr(axi, channel + "size").eq(exact_log2(g.bus_bytes)),
                         getattr(axi, channel + "burst").eq(1)]
        m.d.comb += [axi.araddr.eq(source + asked * SEGMENT_BYTES), axi.arid.eq(1),
                     axi.arvalid.eq(running & (asked != segments)),
                     axi.rready.eq(queue.w_rdy), queue.w_en.eq(axi.rvalid), queue.w_data.eq(axi.rdata)]
        with m.If(axi.arvalid & axi.arready):
            m.d.sync += asked.eq(asked + 1)

        beat, open_ = Signal(range(g.burst_beats)), Signal()
        m.d.comb += [axi.awvalid.eq(running & ~open_ & queue.r_rdy & (written != segments)), axi.awid.eq(0),
                     axi.awaddr.eq(target + written * SEGMENT_BYTES),
                     axi.wvalid.eq(open_ & queue.r_rdy), axi.wdata.eq(queue.r_data), axi.wstrb.eq(~0),
                     axi.wlast.eq(beat == g.burst_beats - 1), queue.r_en.eq(open_ & axi.wready), axi.bready.eq(1)]
        with m.If(axi.awvalid & axi.awready):
            m.d.sync += open_.eq(1)
        with m.If(axi.wvalid & axi.wready):
            m.d.sync += beat.eq(beat + 1)
            with m.If(axi.wlast):
                m.d.sync += [open_.eq(0), beat.eq(0), written.eq(written + 1)]
        with m.If(axi.bvalid):
            m.d.sync += done.eq(done + 1)
        for valid, resp in ((axi.rvalid, axi.rresp), (axi.bvalid, axi.bresp)):
            with m.If(valid & (resp > response)):
                m.d.sync += response.eq(resp)
        m.d.comb += self.interrupt.eq(running & (done == segments))
        self._trace(m, received)
        return m

    def _trace(self, m: Module, received: Signal):
        g, axi, trace = self.geometry, self.axi, self.trace
        taken = axi.rvalid & axi.rready
        m.d.comb += [trace.retire.valid.eq(axi.arvalid & axi.arready), trace.retire.slot.eq(1),
                     trace.retire.kernel.eq(2), trace.retire.launch.eq(0x12345678),
                     trace.retire.block_warp.eq(1), trace.retire.pc.eq(axi.araddr >> 7),
                     trace.retire.mask.eq(~0), trace.retire.op.eq(0x101)]
        beat = Signal(range(max(2, g.beats)))
        with m.If(taken):
            m.d.sync += [received.eq(received + axi.rlast),
                         beat.eq(0 if g.beats == 1 else beat + 1)]
        for port in (trace.write, trace.predicate):
            m.d.comb += [port.valid.eq(taken), port.slot.eq(1), port.beat.eq(beat),
                         port.last.eq(axi.rlast), port.mask.eq(0b0110)]
        m.d.comb += [trace.write.register.eq(5), trace.write.data.eq(axi.rdata.replicate(8)),
                     trace.predicate.predicate.eq(3), trace.predicate.value.eq(axi.rdata)]
        m.d.comb += [trace.uniform.valid.eq(taken), trace.uniform.slot.eq(1), trace.uniform.register.eq(17),
                     trace.uniform.value.eq(axi.rdata)]
        for name, last in zip(ATOMICS, (0, 1), strict=True):
            port = getattr(trace, name)
            m.d.comb += [port.valid.eq(taken & (axi.rlast == last)), port.slot.eq(1), port.pc.eq(0x40 + last),
                         port.lane.eq(g.warp_size - 2), port.old.eq(axi.rdata.replicate(4))]


@pytest.fixture
def copier() -> type[Copier]:
    """The design class of the copier."""
    return Copier


@pytest.fixture
def run_copy() -> Callable[[Transport, int, int, int], None]:
    """Start a copy on a transport: ``run_copy(machine, source, target, segments)``."""
    def start(machine: Transport, source: int, target: int, segments: int):
        for address, value in ((SOURCE, source), (TARGET, target), (SEGMENTS, segments), (START, 1)):
            machine.write_register(address, value)
    return start
