"""A device of objects whose ports are copied, against the same as one piece of Verilog: to the cycle and to the bit."""

import pytest

from caesura.hw.arch.geometry import preset
from caesura.hw.device.device import Gpu, machine
from caesura.sim.rtl.transport import RtlTransport
from caesura.software.driver import Device
from support.programs.stirring import Stirring

TWO = preset("tiny").replace(sms=2)


@pytest.mark.full
@pytest.mark.timeout(1800)
def test_objects_take_the_cycles_of_one_piece():
    ends = []
    for design in (Gpu, machine):
        with Device(RtlTransport(TWO, memory_bytes=1 << 20, design=design)) as device:
            work = Stirring(device, 3)
            reports = []
            for cycles in (100, 333, 500):
                device.advance(cycles)
                reports.append(device.preempt(work.launch, "live+cp"))
                reports.append(device.resume(work.launch))
            work.finishes()
            traffic = device.transport.traffic  # but for `drain`, which in one piece no port tells
            memory = device.transport.read_memory(0, 1 << 20)
            ends.append((device.cycle, reports, memory, traffic.read, traffic.written))
    assert ends[0] == ends[1]
