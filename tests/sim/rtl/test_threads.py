"""Several host threads simulate a device: every cycle and every byte is as with one."""

import pytest

from caesura.errors import InputError
from caesura.hw.arch.image.context import Mechanism
from caesura.sim.rtl.transport import RtlTransport
from caesura.software.driver import Device
from support.programs.stirring import Stirring
from support.selection import quick
from support.sim.queues import DEVICE

MEMORY = 1 << 20


def story(threads, sms, mechanisms=tuple(Mechanism)):
    """Run kernels that share counters and are preempted; return cycles, traffic, counters and all of memory."""
    transport = RtlTransport(DEVICE.replace(sms=sms), memory_bytes=MEMORY, threads=threads)
    said = []
    with Device(transport) as device:
        for mechanism in mechanisms:
            work = Stirring(device, 6, seed=int(mechanism))
            device.advance(700)
            report = device.preempt(work.launch, mechanism)
            other = Stirring(device, 2, seed=9)
            other.finishes()
            resumed = device.resume(work.launch)
            work.finishes()
            said += [report, resumed, device.cycle, transport.read_memory(0, MEMORY)]
    return said


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("threads, sms, mechanisms", quick(
    [*((*each, tuple(Mechanism)) for each in ((2, 2), (3, 2), (2, 3), (4, 3))), (2, 2, (Mechanism.LIVE_CP,))],
    [(2, 2, (Mechanism.LIVE_CP,))]))
def test_threads_change_nothing(threads, sms, mechanisms):
    expected = story(1, sms, mechanisms)
    for _ in range(2):
        assert story(threads, sms, mechanisms) == expected


@pytest.mark.parametrize("threads", [0, 65])
def test_a_number_that_is_none_is_refused(threads):
    with pytest.raises(InputError, match="threads must be 1 to 64"):
        RtlTransport(DEVICE, memory_bytes=MEMORY, threads=threads)
