"""Routines on the whole machine: right in divergent code, and interrupted before, in and after every call.

Calls in random programs are among those of `test_lockstep`; wild return addresses are in `test_faults`.
"""

import pytest

from caesura.hw.arch.geometry import PRESETS
from caesura.hw.arch.image.context import Mechanism
from caesura.hw.arch.isa.words import decode
from caesura.sim.golden.transport import GoldenTransport
from caesura.sim.rtl.transport import RtlTransport
from caesura.sim.scenario import CompiledJob, differences, start_job
from caesura.sim.workloads.everywhere import Campaign, totals
from caesura.software.driver import Device
from caesura.software.kernels import hostile
from support.programs.routines import routines_work
from support.selection import quick
from support.trace.trace_comparison import describe, first_difference

TINY = PRESETS["tiny"]
MEMORY = 1 << 20


def test_golden_model_and_rtl_agree_with_the_reference():
    traces = []
    work = routines_work(3, 13, turns=7)
    for back_end in (RtlTransport, GoldenTransport):
        transport = back_end(TINY, memory_bytes=MEMORY, trace=True)
        device = Device(transport)
        launch, arrays = start_job(device, device.load([work.image])["routines"], work.job)
        device.wait(launch, 20_000)
        assert not any(differences(work.job, arrays).values())
        traces.append(transport.take_trace())
    found = first_difference(traces[1], traces[0], {0: work.image.code})
    assert found is None, describe(found, work.image.code)


def campaign():
    return Campaign(RtlTransport(TINY, memory_bytes=MEMORY), routines_work(1, 13), CompiledJob(*hostile(TINY)),
                    fill=True)


@pytest.mark.parametrize("stride", quick([4, 16], [16]))
@pytest.mark.parametrize("mechanism", list(Mechanism), ids=lambda m: m.name)
def test_interrupted_at_cycles_all_over(mechanism, stride):
    """At each `stride`-th cycle, with the mechanisms in turn."""
    c = campaign()
    cycles = range(int(mechanism), c.cycles, stride * len(Mechanism))
    requests, saved = totals(c.at_cycles(mechanism, cycles))
    assert len(cycles) > 80 // stride and saved > requests // 2


def test_contexts_are_taken_inside_of_both_routines():
    """Stopped at whatever instruction is next, again and again; the kernel still ends right."""
    work = routines_work(1, 13)
    mix, step = sorted({i.get("target") for i in map(decode, work.image.code) if i.op.name == "call"})
    device = Device(RtlTransport(TINY, memory_bytes=MEMORY))
    launch, arrays = start_job(device, device.load([work.image])["routines"], work.job)
    pcs = []
    while not launch.finished:
        if device.preempt(launch, Mechanism.OCCUPIED, scramble=True):
            pcs += [warp.pc for tb in device.context(launch) for warp in tb.warps if warp.stack]
            device.resume(launch)
        assert len(pcs) < 1000
        device.run(launch, 23)
    device.wait(launch, 20_000)
    assert not any(differences(work.job, arrays).values())
    assert any(mix <= pc < step for pc in pcs) and any(pc >= step for pc in pcs)


@pytest.mark.full
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("mechanism", list(Mechanism), ids=lambda m: m.name)
def test_interrupted_at_every_cycle(mechanism):
    c = campaign()
    totals(c.at_cycles(mechanism, range(c.cycles)))
