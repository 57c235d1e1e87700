"""Statistics of runs: they agree with the device's counters and with the timeline, and tell what warps wait for."""

import json

import numpy as np
import pytest
from click.testing import CliRunner

from caesura.cli import main
from caesura.hw.interfaces.observation import WARP_STATES
from caesura.sim import open_device, scenario
from caesura.sim.report.statistics_table import statistics_json, tables
from caesura.sim.rtl.transport import RtlTransport
from caesura.sim.trace.changes import EventKind
from caesura.sim.trace.counts import COUNTED, WHOLE
from caesura.sim.trace.kernel_names import KernelNames
from caesura.sim.trace.statistics import BUS, counting, statistics
from caesura.software.compiler import compile_ptx
from caesura.software.driver import Device
from support.keys import read_json
from support.sim.queues import DEVICE
from support.sim.tiny_run import TINY, neighbour, preempted, work

MEMORY = 1 << 20
HEAD = ".version 8.0\n.target sm_70\n.address_size 64\n"
CHASE = HEAD + """
.visible .entry chase(.param .u64 links, .param .u32 rounds)
{
    .reg .pred %p<2>;
    .reg .b32 %r<4>;
    .reg .b64 %a<4>;
    ld.param.u64 %a0, [links];
    ld.param.u32 %r0, [rounds];
    mov.u32 %r1, 0;
    mov.u64 %a1, %a0;
LOOP:
    ld.global.u32 %r2, [%a1];
    mul.wide.u32 %a2, %r2, 4;
    add.u64 %a1, %a0, %a2;
    add.u32 %r1, %r1, 1;
    setp.lt.u32 %p0, %r1, %r0;
    @%p0 bra LOOP;
    st.global.u32 [%a0], %r2;
    ret;
}
"""
CHAIN = HEAD + """
.visible .entry chain(.param .u64 out, .param .u32 rounds)
{
    .reg .pred %p<2>;
    .reg .b32 %r<4>;
    .reg .f32 %f<4>;
    .reg .b64 %a<2>;
    ld.param.u64 %a0, [out];
    ld.param.u32 %r0, [rounds];
    mov.u32 %r1, 0;
    mov.f32 %f0, 0f3F800000;
    mov.f32 %f1, 0f3F000000;
LOOP:
    fma.rn.f32 %f0, %f0, %f1, %f1;
    fma.rn.f32 %f0, %f0, %f1, %f1;
    fma.rn.f32 %f0, %f0, %f1, %f1;
    fma.rn.f32 %f0, %f0, %f1, %f1;
    add.u32 %r1, %r1, 1;
    setp.lt.u32 %p0, %r1, %r0;
    @%p0 bra LOOP;
    st.global.f32 [%a0], %f0;
    ret;
}
"""
MEET = HEAD + """
.visible .entry meet(.param .u64 out, .param .u32 rounds)
{
    .reg .pred %p<3>;
    .reg .b32 %r<4>;
    .reg .b64 %a<2>;
    ld.param.u64 %a0, [out];
    ld.param.u32 %r0, [rounds];
    mov.u32 %r2, %tid.x;
    mov.u32 %r1, 0;
    setp.ge.u32 %p1, %r2, 8;
    @%p1 bra MET;
LOOP:
    add.u32 %r1, %r1, 1;
    setp.lt.u32 %p0, %r1, %r0;
    @%p0 bra LOOP;
MET:
    bar.sync 0;
    st.global.u32 [%a0], %r1;
    ret;
}
"""
TABLE = HEAD + """
.const .align 4 .u32 table[64] = {7, 5, 3};
.visible .entry look(.param .u64 out, .param .u32 rounds)
{
    .reg .pred %p<2>;
    .reg .b32 %r<6>;
    .reg .b64 %a<4>;
    ld.param.u64 %a0, [out];
    ld.param.u32 %r0, [rounds];
    mov.u32 %r1, 0;
    mov.u32 %r3, 0;
    mov.u32 %r4, %tid.x;
    mul.wide.u32 %a2, %r4, 4;
    mov.u64 %a1, table;
    add.u64 %a1, %a1, %a2;
LOOP:
    ld.const.u32 %r2, [%a1];
    add.u32 %r3, %r3, %r2;
    add.u32 %r1, %r1, 1;
    setp.lt.u32 %p0, %r1, %r0;
    @%p0 bra LOOP;
    st.global.u32 [%a0], %r3;
    ret;
}
"""


@pytest.fixture(scope="module", params=[pytest.param("observed", marks=pytest.mark.full)])
def observed():
    """A device of one SM whose warps are seen, which is a simulator of its own; tests launch one kernel after the
    other."""
    with open_device("rtl", TINY, memory_bytes=MEMORY, observed=True) as device:
        yield device


def run(device, source, rounds, threads=8, blocks=1, size=64):
    """Statistics of one launch."""
    kernel, = device.load(compile_ptx(source).values()).values()
    with counting(device) as counted:
        device.wait(kernel(blocks, threads, [device.zeros(size, np.uint32), rounds]))
    return counted.statistics


def integral(events, kinds, end):
    """Warp cycles in which all of some vectors have a warp's bit set."""
    vectors, total, before = dict.fromkeys(kinds, 0), 0, 0
    for row in events[np.isin(events["kind"], kinds)]:
        held = ~0
        for value in vectors.values():
            held &= value
        total += held.bit_count() * (int(row["cycle"]) - before)
        before = int(row["cycle"])
        vectors[EventKind(int(row["kind"]))] = int(row["value"])
    assert not vectors[kinds[0]] and before <= end
    return total


@pytest.mark.full
@pytest.mark.parametrize("geometry", [TINY, DEVICE], ids=["one SM", "two"])
def test_counts_agree_with_the_device_and_with_the_timeline(geometry):
    transport = RtlTransport(geometry, observed=True)
    device = Device(transport)
    begun = device.cycle
    transport.record_timeline(1000)
    with counting(device) as counted:
        result = preempted(device)
        rows, ended = transport.counted(), device.cycle
        traffic = transport.traffic
    events, samples = transport.take_timeline()
    found = counted.statistics
    assert found.cycles == ended - begun and len(found.sms) == geometry.sms
    assert sum(sm.instructions for sm in found.sms) == device.read("retired") > 1000
    for sm in found.sms:
        whole, = rows[(rows["slot"] == WHOLE) & (rows["sm"] == sm.sm)]
        parts = rows[(rows["slot"] != WHOLE) & (rows["sm"] == sm.sm)]
        mine = events[(events["unit"] == sm.sm) & (events["kind"] < EventKind.QUEUE)]
        for row in (whole, *parts):
            assert row["states"].sum() == row["active_cycles"] > 0, "a warp does one thing at a time"
        for part in ("warp_cycles", "active_cycles", "instructions", "lanes", "states"):
            assert np.array_equal(parts[part].sum(axis=0), whole[part]), part
        assert whole["warp_cycles"] == integral(mine, [EventKind.VALID], ended)
        assert whole["active_cycles"] == integral(mine, [EventKind.ACTIVE], ended)
        state = dict(zip(WARP_STATES, whole["states"].tolist(), strict=True))
        assert state["barrier"] == integral(mine, [EventKind.ACTIVE, EventKind.WAITING], ended) > 0
        assert state["issued"] >= whole["instructions"] == samples["instructions"][samples["unit"] == sm.sm][-1]
        assert sm.issue_cycles == state["issued"] and 0 < sm.occupancy < 1 and 0 < sm.tb_occupancy < 1
        assert sm.occupancy == whole["warp_cycles"] / (found.cycles * geometry.warps)
        assert state["stopped"] > 0 and 0 < sm.caches["icache"].misses < sm.caches["icache"].lookups
        assert sm.caches["icache"].fetched_bytes == sm.bus["instruction fetch"]
    kinds = {"loads": traffic.read[2], "restore": traffic.read[4], "stores": traffic.written[0],
             "save": traffic.written[2]}
    assert {kind: sum(sm.bus[kind] for sm in found.sms) for kind in kinds} == kinds
    assert found.bus_use == pytest.approx(sum(traffic.read + traffic.written)
                                          / (found.cycles * geometry.bytes_per_cycle))
    assert [(use.name, use.sm) for use in found.kernels] == [
        (name, sm) for name in ("collatz", "hostile") for sm in range(geometry.sms)]
    plain = preempted(open_device("rtl", geometry))
    assert (plain.preempt, plain.resume, plain.rest_cycles) == (result.preempt, result.resume, result.rest_cycles)


def test_a_warp_that_follows_links_waits_for_memory(observed):
    found = run(observed, CHASE, 50)
    states, latency = found.sms[0].states, TINY.memory_latency
    assert states["memory"] > 0.4 and states["memory"] == max(states.values())
    assert states["memory"] * found.sms[0].cycles >= 0.9 * 50 * latency * 0.9
    assert states["barrier"] == states["passed_over"] == states["stopped"] == 0


def test_a_warp_that_multiplies_waits_for_the_scoreboard(observed):
    states = run(observed, CHAIN, 50).sms[0].states
    assert states["scoreboard"] == max(states.values()) > 0.4 and states["memory"] < 0.1


def test_a_warp_that_has_come_early_waits_at_the_barrier(observed):
    states = run(observed, MEET, 100, threads=16).sms[0].states
    assert 0.4 < states["barrier"] < 0.5, "one of two warps, nearly all the time"


def test_of_many_warps_some_are_passed_over(observed):
    alone, many = run(observed, CHAIN, 50), run(observed, CHAIN, 50, threads=16, blocks=2)
    assert alone.sms[0].states["passed_over"] == 0 < many.sms[0].states["passed_over"]
    assert many.ipc > 1.5 * alone.ipc and many.kernels[0].warps > 3 > 1 >= alone.kernels[0].warps > 0.9
    kernel, = many.kernels
    assert kernel.thread_instructions == 8 * (kernel.instructions - 4), "each warp's last branch is not taken"


def test_lookups_of_constants_miss_once_a_line(observed):
    found = run(observed, TABLE, 20)
    use = found.sms[0].caches["constants"]
    assert use.lookups == 20 * 8 and use.misses == 1 and use.hit_rate == 1 - 1 / 160
    assert use.fetched_bytes == 128 == found.sms[0].bus["constants"]
    assert found.kernels[0].name == "look"


def test_kernels_that_follow_each_other_in_a_slot_are_told_apart(observed):
    chain, = observed.load(compile_ptx(CHAIN).values()).values()
    chase, = observed.load(compile_ptx(CHASE).values()).values()
    arrays = [observed.zeros(1, np.uint32) for _ in range(3)]
    with counting(observed) as counted:
        before = observed.read("retired")
        for kernel, rounds, array in zip((chain, chase, chain), (3, 5, 7), arrays, strict=True):
            observed.wait(kernel(1, 8, [array, rounds]))
        so_far = counted.statistics
        assert [use.name for use in so_far.kernels] == ["chain", "chase"]
        retired = observed.read("retired") - before
    assert sum(use.instructions for use in counted.statistics.kernels) == retired
    assert counted.statistics.kernels == so_far.kernels, "and no more was counted"


def test_without_an_observed_simulator_there_are_no_states():
    with open_device("rtl", TINY, memory_bytes=MEMORY) as device:
        found = run(device, CHAIN, 50)
    sm, = found.sms
    assert not sm.states and not sm.caches and sm.issue_cycles is None and sm.ipc > 0 and sm.occupancy > 0
    assert json.loads(json.dumps(statistics_json(found)))["sms"][0]["ipc"] == sm.ipc


def test_launches_of_a_kernel_at_the_same_time_have_a_row_each():
    """As if two had run side by side all the time, one of them twice in a row."""
    rows = np.zeros(4, COUNTED)
    rows[["code", "cycles", "instructions", "warp_cycles", "lanes"]] = (4096, 1000, 500, 4000, 16000)
    rows["slot"] = 0, 1, 1, WHOLE
    found = statistics(TINY, rows, [dict.fromkeys(BUS, 0)], 0, {4096: "vecadd"}, KernelNames({}), False)
    assert [(use.name, use.slot, use.cycles, use.ipc, use.warps) for use in found.kernels] == [
        ("vecadd", 0, 1000, 0.5, 4), ("vecadd", 1, 2000, 0.5, 4)]
    table = next(table for table in tables(found) if table[0] == "kernels")
    assert [row[0] for row in table[2]] == ["vecadd (slot 0)", "vecadd (slot 1)"]
    assert [use["slot"] for use in statistics_json(found)["kernels"]] == [0, 1]


def test_a_snapshot_brings_back_what_was_counted(observed):
    chain, = observed.load(compile_ptx(CHAIN).values()).values()
    array = observed.zeros(1, np.uint32)
    with counting(observed):
        launch = chain(1, 8, [array, 20])
        observed.advance(100)
        snapshot, state = observed.transport.snapshot(), observed.host_state()
        observed.wait(launch)
        first = observed.transport.counted()
        observed.transport.restore(snapshot)
        observed.set_host_state(state)
        assert observed.transport.counted()["cycles"].max() < first["cycles"].max()
        observed.wait(launch)
        assert np.array_equal(observed.transport.counted(), first)


def test_queues_use_the_bus():
    with open_device("rtl", DEVICE, memory_bytes=MEMORY) as device:
        kernel, = device.load(compile_ptx(CHAIN).values()).values()
        queue = device.queue([kernel], 8)
        with counting(device) as counted:
            queue.launch(kernel, 4, 8, [device.zeros(1, np.uint32), 20])
            queue.wait()
        moved = device.transport.traffic_of(DEVICE.sms)
        with pytest.raises(ValueError, match="has 3 on its bus"):
            device.transport.traffic_of(3)
    found = counted.statistics
    assert found.queue_bytes == sum(moved.read + moved.written) > 0


def test_what_cannot_be_counted_is_refused():
    with pytest.raises(ValueError, match="no statistics of the back end 'golden'"), \
            counting(open_device("golden", TINY)):
        pass
    for backend in ("golden", "amaranth"):
        with pytest.raises(ValueError, match=f"not on '{backend}'; open the device \"rtl\""):
            open_device(backend, TINY, observed=True)
    open_device("golden", TINY, observed=False).close()
    with pytest.raises(ValueError, match="leave vcd or observed out"):
        RtlTransport(TINY, MEMORY, waves="control", observed=True)


@pytest.mark.full
def test_the_command_prints_statistics(tmp_path, monkeypatch):
    monkeypatch.setattr(scenario, "shipped_work", lambda name, *_, **__: neighbour() if name == "hostile" else work())
    run = ["preempt", "collatz", "--preset", "tiny", "--statistics"]
    shown = CliRunner().invoke(main, run)
    assert shown.exit_code == 0, shown.output
    assert "statistics of tiny" in shown.output and "passed over" in shown.output and "hostile" in shown.output
    told = CliRunner().invoke(main, [*run, "--json"])
    found = read_json("run", told.stdout)["statistics"]
    assert {use["name"] for use in found["kernels"]} == {"collatz", "hostile"}
    assert sum(found["sms"][0]["states"].values()) == pytest.approx(1)
    for more, what in ((["--vcd", str(tmp_path / "v")], "--vcd"), (["--backend", "golden"], "golden"),
                       (["--check-bounds"], "--check-bounds")):
        refused = CliRunner().invoke(main, [*run, *more])
        assert refused.exit_code == 2 and what in refused.output
