"""The SM on AXI4-Lite and AXI4: the driver runs a kernel on it, which is preempted, put away and brought back."""

import cocotb

from caesura.hw.arch.geometry import preset
from caesura.hw.arch.image.context import Mechanism
from caesura.hw.export.tops import AxiSm
from caesura.sim.cocotb import Bench, parameters
from caesura.sim.cocotb.axi import BurstMonitor
from caesura.sim.cocotb.transport import CocotbTransport, blocking
from caesura.software.driver import Device
from support.sim.tiny_run import preempted


def block(**_: int) -> AxiSm:
    """Return the block."""
    return AxiSm(preset("tiny"))


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
