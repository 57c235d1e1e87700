"""The SM on AXI4-Lite and AXI4: the driver runs a kernel on it, which is preempted, put away and brought back."""

import cocotb
from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from caesura.hw.arch.context import Mechanism
from caesura.hw.arch.geometry import preset
from caesura.hw.device.axi_lite import AxiLiteHost, AxiLitePort
from caesura.hw.memory.axi import Axi4
from caesura.hw.sm import Sm
from caesura.sim.cocotb import Bench, parameters
from caesura.sim.cocotb.axi import BurstMonitor
from caesura.sim.cocotb.transport import CocotbTransport, blocking
from caesura.sim.testing.tiny_run import preempted
from caesura.software.driver import Device


class SmOnBuses(wiring.Component):
    """An SM whose registers are on AXI4-Lite."""

    def __init__(self, g):
        self.sm, self.host = Sm(g), AxiLiteHost()
        super().__init__({"host_axi": In(AxiLitePort()), "interrupt": Out(1), "axi": Out(Axi4(g))})

    def elaborate(self, platform):
        m = Module()
        m.submodules.sm, m.submodules.host = sm, host = self.sm, self.host
        wiring.connect(m, wiring.flipped(self.host_axi), host.axi)
        wiring.connect(m, sm.axi, wiring.flipped(self.axi))
        m.d.comb += [sm.address.eq(host.host.address), sm.write.eq(host.host.write),
                     sm.write_data.eq(host.host.write_data), host.host.read_data.eq(sm.read_data),
                     host.host.interrupt.eq(sm.interrupt), self.interrupt.eq(host.interrupt)]
        return m


def block(**_: int) -> SmOnBuses:
    """Return the block."""
    return SmOnBuses(preset("tiny"))


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def a_kernel_survives_its_preemption(dut):
    """Another kernel overwrites everything meanwhile; the result is that of the kernel's own reference."""
    given = parameters()
    bench = await Bench.start(dut, block())
    bursts = BurstMonitor(bench)
    transport = CocotbTransport(bench, preset("tiny"), stall=given.get("stall", 0.2))
    mechanism = Mechanism(given.get("mechanism", Mechanism.LIVE_CP))
    result = await blocking(lambda: preempted(Device(transport), mechanism))
    assert result.correct and bursts.reads and bursts.writes
