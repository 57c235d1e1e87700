"""Timelines, read back by Perfetto's own trace processor: they say what the device's counters say."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest
from click.testing import CliRunner

from caesura.cli import main
from caesura.extras import MissingPackage
from caesura.hw.arch.commands import KernelState
from caesura.sim import open_device, scenario
from caesura.sim.rtl.transport import RtlTransport
from caesura.sim.trace.activity import Activity, Counter, Slice, counters, phases, warp_slices
from caesura.sim.trace.changes import EVENT, READERS, SAMPLE, WRITERS, EventKind
from caesura.sim.trace.device_activity import DeviceActivity
from caesura.sim.trace.kernel_names import KernelNames
from caesura.sim.trace.timeline import recording, trace_bytes
from caesura.software.driver import Device
from support.sim.tiny_run import TINY, neighbour, preempted, work
from support.trace.trace_processor import TraceProcessor

SLICES = """
    select t.name as track, s.name as name, s.ts as ts, s.dur as dur, s.depth as depth,
           extract_arg(s.arg_set_id, 'debug.first cycle') as first, extract_arg(s.arg_set_id, 'debug.cycles') as cycles
    from slice s join track t on s.track_id = t.id order by s.ts, s.depth"""
TOTALS = """
    select t.name as name, sum(c.value) as total from counter c join counter_track t on c.track_id = t.id
    group by t.id"""


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A recorded preemption: its result, the bus traffic, instructions, and the timeline's slices and totals."""
    folder = tmp_path_factory.mktemp("timeline")
    path = folder / "run.perfetto-trace"
    transport = RtlTransport(TINY)
    device = Device(transport)
    with recording(device, path, interval=64):
        result = preempted(device)
        traffic = transport.traffic
    with TraceProcessor(path.read_bytes(), folder / "log") as trace:
        lost = trace.query("select name from stats where value > 0 and severity in ('error', 'data_loss')")
        slices = [SimpleNamespace(track=t, name=n, ts=ts, dur=d, depth=k, first=f, cycles=c, end=f + c)
                  for t, n, ts, d, k, f, c in trace.query(SLICES)]
        totals = dict(trace.query(TOTALS))
        tbs = trace.query("select max(c.value) as m from counter c join counter_track t on c.track_id = t.id "
                          "where t.name = 'TBs resident'")
    assert not lost
    return SimpleNamespace(result=result, traffic=traffic, retired=device.read("retired"), slices=slices,
                           totals=totals, most_tbs=tbs[0][0])


def phase(run, name):
    found, = (s for s in run.slices if s.track == "phases" and s.depth == 0 and s.name == name)
    return found


def test_phases_come_in_order(run):
    names = [s.name for s in run.slices if s.track == "phases" and s.depth == 0]
    assert names == ["run collatz", "preempt collatz", "run hostile", "restore collatz", "rest of collatz"]
    shown = [phase(run, name) for name in names]
    assert all(a.end <= b.first for a, b in zip(shown, shown[1:], strict=False))
    assert shown[0].end == shown[1].first and shown[3].end == shown[4].first


def test_phases_last_as_long_as_the_counters_say(run):
    saved, resumed = run.result.preempt, run.result.resume
    assert phase(run, "preempt collatz").dur == saved.save_cycles
    assert phase(run, "restore collatz").dur == resumed.restore_cycles
    parts = [s for s in run.slices if s.track == "phases" and s.depth == 1]
    assert {s.name for s in parts} == {"drain", "save"}
    spent = {name: sum(s.dur for s in parts if s.name == name) for name in ("drain", "save")}
    assert spent == {"drain": saved.drain_cycles, "save": saved.save_cycles - saved.drain_cycles}
    assert 0 < saved.drain_cycles < saved.save_cycles
    for name, waited in (("run hostile", run.result.other_cycles), ("rest of collatz", run.result.rest_cycles)):
        assert 0 <= phase(run, name).dur - waited <= 20  # the driver's register accesses count as cycles only here


def test_a_cycle_is_a_nanosecond_without_a_clock(run):
    assert all((s.ts, s.dur) == (s.first, s.cycles) for s in run.slices)


def test_bus_counters_add_up_to_the_traffic(run):
    read, written, saved = run.traffic.read, run.traffic.written, run.result.preempt
    expected = {f"bus: {name}": total for names, moved in ((READERS, read), (WRITERS, written))
                for name, total in zip(names, moved, strict=False)}
    assert {name: total for name, total in run.totals.items() if name.startswith("bus")} == expected
    idle = {"bus: atomics (read)", "bus: atomics (write)"}
    assert all((total > 0) != (name in idle) for name, total in expected.items())
    assert not any(read[len(READERS):]) and not any(written[len(WRITERS):])
    assert run.totals["bus: save"] >= saved.saved_bytes


def test_instructions_add_up_to_what_retired(run):
    assert run.totals["instructions issued"] == run.retired > 1000
    assert run.most_tbs == TINY.tb_slots


def test_each_saved_warp_stops_during_the_preempt_and_comes_back(run):
    away, back = phase(run, "preempt collatz"), phase(run, "restore collatz")
    held = [s for s in run.slices if s.track.startswith("warp slot") and s.depth == 0]
    states = [s for s in run.slices if s.track.startswith("warp slot") and s.depth == 1]
    for tb in run.result.saved_tbs:
        for warp in tb.warps:
            before, after = (s for s in held if s.name == f"collatz TB {tb.launch_id} warp {warp.warp}")
            assert away.first < before.end <= away.end + 1 and back.first < after.first < back.end
            stopped, = (s for s in states if s.name == "stopped" and s.track == before.track)
            assert away.first < stopped.first < stopped.end == before.end
    assert sum(s.name == "stopped" for s in states) == run.result.preempt.warps


def test_states_of_a_warp_fill_its_time_in_the_slot(run):
    for track in {s.track for s in run.slices if s.track.startswith("warp slot")}:
        mine = [s for s in run.slices if s.track == track]
        for whole in (s for s in mine if s.depth == 0):
            inner = [s for s in mine if s.depth == 1 and whole.first <= s.first < whole.end]
            assert [s.first for s in inner] == [whole.first, *(s.end for s in inner[:-1])]
            assert inner[-1].end == whole.end and inner[0].name == "loading"
            assert {s.name for s in inner} <= {"loading", "running", "waiting at barrier", "stopped", "ended"}
            hostile = whole.name.startswith("hostile")
            assert hostile == any(s.name == "waiting at barrier" for s in inner)


def test_recording_changes_nothing(run):
    plain = preempted(open_device("rtl", TINY))
    assert (plain.preempt, plain.resume, plain.rest_cycles) == (
        run.result.preempt, run.result.resume, run.result.rest_cycles)


def test_a_snapshot_brings_back_what_was_recorded():
    transport = RtlTransport(TINY, 1 << 20)
    transport.advance(3)
    transport.record_timeline(10)
    transport.advance(35)
    fork = transport.snapshot()
    transport.advance(1000)
    transport.restore(fork)
    events, samples = transport.take_timeline()
    assert not len(events) and samples["cycle"].tolist() == [3, 10, 20, 30, 38]


def test_time_is_real_where_the_geometry_has_a_clock(tmp_path):
    piece = Slice("run", 700, 1400, [Slice("drain", 700, 707)])
    sm = Activity([piece], [], {}, [Counter("bus", "bytes", [(0, 5), (70, 0), (140, 0), (210, 7)])])
    found = DeviceActivity([sm], [], [], [], [])
    with TraceProcessor(trace_bytes(TINY.replace(clock_mhz=700.0), found), tmp_path / "log") as trace:
        rows = [(name, ts, dur, cycles) for _, name, ts, dur, _, _, cycles in trace.query(SLICES)]
        points = trace.query("select ts, value from counter order by ts")
    assert rows == [("run", 1000, 1000, 700), ("drain", 1000, 10, 7)]
    assert points == [(0, 5.0), (100, 0.0), (300, 7.0)]


def events(*rows):
    """Make events of (cycle, kind, value) or (cycle, kind, slot, kernel, warp, launch)."""
    made = np.zeros(len(rows), EVENT)
    for event, row in zip(made, rows, strict=True):
        names = ("cycle", "kind", "value") if len(row) == 3 else ("cycle", "kind", "slot", "kernel", "warp", "launch")
        for name, value in zip(names, row, strict=True):
            event[name] = value
    return made


def test_a_kernel_that_ends_while_it_drains_has_a_preempt_but_no_restore():
    found = phases(events((5, EventKind.STATES, KernelState.RUNNING), (50, EventKind.PREEMPT, 0),
                          (51, EventKind.STATES, KernelState.PREEMPTING), (53, EventKind.DRAINING, 1),
                          (80, EventKind.DRAINING, 0), (90, EventKind.STATES, KernelState.FINISHED)), 100,
                   KernelNames({0: "k"}))
    assert [(s.name, s.begin, s.end) for s in found] == [("run k", 5, 50), ("preempt k", 50, 90)]
    assert [(s.name, s.cycles) for s in found[1].inner] == [("save", 3), ("drain", 27), ("save", 10)]


def test_a_preempt_waits_for_the_end_of_its_grace():
    found = phases(events((5, EventKind.STATES, KernelState.RUNNING), (20, EventKind.PREEMPT, 0),
                          (21, EventKind.STATES, KernelState.PREEMPTING), (30, EventKind.STATES, KernelState.RUNNING),
                          (50, EventKind.STATES, KernelState.PREEMPTING), (80, EventKind.PREEMPT, 0),
                          (82, EventKind.DRAINING, 1), (84, EventKind.DRAINING, 0), (89, EventKind.DROPPED, 0),
                          (90, EventKind.STATES, KernelState.PREEMPTED)), 100, KernelNames({0: "k"}))
    assert [(s.name, s.begin, s.end) for s in found] == [("run k", 5, 20), ("preempt k", 20, 30), ("run k", 30, 50),
                                                         ("preempt k", 50, 89)]
    assert [(s.name, s.cycles) for s in found[3].inner] == [("waits", 30), ("save", 2), ("drain", 2), ("save", 5)]


def test_the_preempt_of_another_kernel_is_not_taken_for_ones_own():
    made = events((5, EventKind.STATES, KernelState.RUNNING), (20, EventKind.PREEMPT, 0),
                  (50, EventKind.STATES, KernelState.PREEMPTING), (60, EventKind.STATES, KernelState.FINISHED))
    made["kernel"][1] = 1
    found = phases(made, 100, KernelNames({0: "k"}))
    assert [(s.name, s.begin, s.end) for s in found] == [("run k", 5, 50), ("preempt k", 50, 60)]


def test_two_kernels_at_a_time_have_phases_of_their_own():
    both = KernelState.RUNNING | KernelState.RUNNING << 3
    found = phases(events((5, EventKind.STATES, KernelState.RUNNING), (9, EventKind.STATES, both),
                          (20, EventKind.STATES, KernelState.FINISHED | KernelState.RUNNING << 3)), 30,
                   KernelNames({1: "other"}))
    assert [(s.name, s.begin, s.end) for s in found] == [("run kernel 0", 5, 20), ("run other", 9, 30)]


def test_a_slot_that_gets_another_warp_at_once_has_two_owners():
    found = warp_slices(events((3, EventKind.INIT, 1, 0, 2, 7), (4, EventKind.VALID, 2), (6, EventKind.ACTIVE, 2),
                               (9, EventKind.ACTIVE, 0), (12, EventKind.VALID, 0), (12, EventKind.INIT, 1, 0, 3, 8),
                               (13, EventKind.VALID, 2)), 20, KernelNames({0: "k"}))
    assert [(s.name, s.begin, s.end) for s in found[1]] == [("k TB 7 warp 2", 4, 12), ("k TB 8 warp 3", 13, 20)]
    assert [(s.name, s.begin, s.end) for s in found[1][0].inner] == [("loading", 4, 6), ("running", 6, 9),
                                                                     ("ended", 9, 12)]


def test_a_warp_held_at_a_barrier_by_a_preempt_is_stopped():
    found = warp_slices(events((4, EventKind.VALID, 1), (4, EventKind.ACTIVE, 1), (6, EventKind.WAITING, 1),
                               (9, EventKind.STOPPED, 1), (12, EventKind.STOPPED, 0), (14, EventKind.WAITING, 0)), 20,
                        KernelNames({}))
    assert [(s.name, s.begin, s.end) for s in found[0][0].inner] == [
        ("running", 4, 6), ("waiting at barrier", 6, 9), ("stopped", 9, 12), ("waiting at barrier", 12, 14),
        ("running", 14, 20)]


def test_what_is_counted_in_a_span_stands_at_its_beginning():
    samples = np.zeros(3, SAMPLE)
    samples["cycle"], samples["tbs"], samples["instructions"] = (5, 10, 17), (1, 2, 0), (0, 4, 9)
    samples["written"][:, WRITERS.index("save")] = 8, 24, 56
    found = {counter.name: counter.points for counter in counters(samples)}
    assert found["bus: save"] == [(5, 16), (10, 32), (17, 0)]
    assert found["instructions issued"] == [(5, 4), (10, 5), (17, 0)]
    assert found["TBs resident"] == [(5, 1), (10, 2), (17, 0)]


def test_what_cannot_be_recorded_is_refused(tmp_path, monkeypatch):
    with pytest.raises(ValueError, match="'golden'"), recording(open_device("golden", TINY), tmp_path / "t"):
        pass
    device = open_device("rtl", TINY)
    with pytest.raises(ValueError, match="interval"), recording(device, tmp_path / "t", interval=0):
        pass
    monkeypatch.setitem(sys.modules, "perfetto.trace_builder.proto_builder", None)
    with pytest.raises(MissingPackage, match=r"perfetto.*pip install 'caesura\[report\]'"), \
            recording(device, tmp_path / "t"):
        pass


def test_the_command_writes_a_timeline(tmp_path, monkeypatch):
    monkeypatch.setattr(scenario, "shipped_work", lambda name, *_, **__: neighbour() if name == "hostile" else work())
    path = tmp_path / "run.perfetto-trace"
    arguments = ["preempt", "collatz", "--preset", "tiny", "--json"]
    done = CliRunner().invoke(main, [*arguments, "--timeline", str(path)])
    assert done.exit_code == 0, done.output
    with TraceProcessor(path.read_bytes(), tmp_path / "log") as trace:
        assert trace.query("select count(*) as n from slice where name = 'restore collatz'") == [(1,)]
    refused = CliRunner().invoke(main, [*arguments, "--timeline", str(tmp_path / "no" / "folder")])
    assert refused.exit_code == 2 and "folder" in refused.output
    refused = CliRunner().invoke(main, [*arguments, "--timeline", str(path), "--backend", "golden"])
    assert refused.exit_code == 2 and "golden" in refused.output
