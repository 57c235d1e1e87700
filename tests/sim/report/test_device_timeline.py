"""Timelines of devices of several SMs, read back by Perfetto's trace processor: every thread block is where the device
says, queues did what their signals say, and the counters add up."""

from collections import Counter as Count
from random import Random
from types import SimpleNamespace

import numpy as np
import pytest
from click.testing import CliRunner

from caesura.cli import main
from caesura.hw.arch.commands import Command, KernelState
from caesura.hw.arch.faults import CommandError
from caesura.hw.arch.packets import QueueState
from caesura.sim import open_device, scenario
from caesura.sim.rtl.transport import RtlTransport
from caesura.sim.trace.activity import residency
from caesura.sim.trace.changes import EVENT, SAMPLE, WRITERS, EventKind
from caesura.sim.trace.counts import WHOLE
from caesura.sim.trace.device_activity import device_activity, queue_slices
from caesura.sim.trace.kernel_names import KernelNames
from caesura.sim.trace.retired import RETIRE, WRITE
from caesura.sim.trace.timeline import recording
from caesura.software.compiler import compile_ptx
from caesura.software.driver import CommandRefused, Device
from support.programs.uneven import UNEVEN_BLOCKS, Uneven
from support.selection import quick
from support.sim.queues import DEVICE
from support.sim.tiny_run import neighbour, preempted, work
from support.trace.trace_processor import TraceProcessor

TOP = None
"""What the trace processor says is the parent of tracks right below the device's."""
SLICES = """
    select t.name as track, p.name as parent, g.name as above, s.name as name, s.depth as depth,
           extract_arg(s.arg_set_id, 'debug.first cycle') as first, extract_arg(s.arg_set_id, 'debug.cycles') as cycles,
           extract_arg(s.arg_set_id, 'debug.TB') as tb, extract_arg(s.arg_set_id, 'debug.SM') as sm
    from slice s join track t on s.track_id = t.id left join track p on t.parent_id = p.id
    left join track g on p.parent_id = g.id order by s.ts, s.depth"""
COUNTERS = """
    select t.name as name, p.name as parent, sum(c.value) as total, max(c.value) as most
    from counter c join track t on c.track_id = t.id left join track p on t.parent_id = p.id group by t.id"""
ORDER = """
    select t.name as name, p.name as parent, extract_arg(t.source_arg_set_id, 'sibling_order_rank') as rank
    from track t left join track p on t.parent_id = p.id"""


def read_back(path, folder):
    """What the trace processor finds in a timeline."""
    with TraceProcessor(path.read_bytes(), folder / "log") as trace:
        assert not trace.query("select name from stats where value > 0 and severity in ('error', 'data_loss')")
        names = "track", "parent", "above", "name", "depth", "first", "cycles", "tb", "sm"
        slices = [SimpleNamespace(**dict(zip(names, row, strict=True)), end=row[5] + row[6])
                  for row in trace.query(SLICES)]
        counters = {(parent, name): (total, most) for name, parent, total, most in trace.query(COUNTERS)}
        order = {(parent, name): rank for name, parent, rank in trace.query(ORDER)}
    return SimpleNamespace(slices=slices, counters=counters, order=order)


def of_each(device, path):
    """A register of each SM."""
    found = []
    for sm in range(DEVICE.sms):
        with device.host.of_sm(sm):
            found.append(device.read(path))
    return found


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A recorded preemption on two SMs, with what the device said itself."""
    folder = tmp_path_factory.mktemp("timeline")
    device = Device(RtlTransport(DEVICE))
    with recording(device, folder / "run", interval=64):
        result = preempted(device)
        device.write("command", op=Command.ABORT, kernel=0)  # nothing is to be aborted
        found = {name: of_each(device, name) for name in ("save_cycles", "drain_cycles", "restore_cycles", "retired")}
        units = [device.transport.traffic_of(unit) for unit in range(DEVICE.sms + 1)]
        whole = device.transport.traffic
    return SimpleNamespace(result=result, of_each=found, units=units, whole=whole,
                           **vars(read_back(folder / "run", folder)))


def stays(found, sm):
    return [s for s in found.slices if s.above == f"SM {sm}" and s.parent == "thread blocks"]


def phases(found, sm):
    return [s for s in found.slices if s.track == f"SM {sm} phases" and s.depth == 0]


def test_every_thread_block_of_the_grid_has_one_slice_for_each_stay(run):
    saved = {tb.launch_id for tb in run.result.saved_tbs}
    found = Count(s.name for sm in range(DEVICE.sms) for s in stays(run, sm))
    grid = work().job.grid[0]
    assert 0 < len(saved) == run.result.preempt.tbs <= grid
    assert found == Count({f"collatz TB {k}": 1 + (k in saved) for k in range(grid)}
                          | {f"hostile TB {k}": 1 for k in range(neighbour().job.grid[0])})
    for sm in range(DEVICE.sms):
        away, = (s for s in phases(run, sm) if s.name == "preempt collatz")
        mine = [s for s in stays(run, sm) if s.tb in saved and s.name.startswith("collatz")]
        assert sum(away.first < s.end <= away.end + 1 for s in mine) == len(mine) / 2 > 0, "each leaves by the preempt"
        assert all(s.end <= away.end + 1 or s.first > away.end for s in mine)


def test_stays_fit_the_slots(run):
    for sm in range(DEVICE.sms):
        rows = {s.track for s in stays(run, sm)}
        assert rows == {f"TB row {k}" for k in range(len(rows))} and len(rows) <= DEVICE.tb_slots
        for row in rows:
            mine = sorted((s for s in stays(run, sm) if s.track == row), key=lambda s: s.first)
            assert all(a.end <= b.first for a, b in zip(mine, mine[1:], strict=False))
        assert run.counters[f"SM {sm}", "TBs resident"][1] == len(rows)


def test_thread_blocks_are_where_they_were_handed_out_to(run):
    given = [s for s in run.slices if s.track == "thread blocks handed out"]
    assert len({s.first for s in given}) == len(given), "one a cycle"
    first = {}
    for sm in range(DEVICE.sms):
        for s in stays(run, sm):
            first.setdefault(s.name, (s.first, sm))
    assert {s.name.split(" to ")[0]: s.sm for s in given} == {name: sm for name, (_, sm) in first.items()}
    assert all(s.end < first[s.name.split(" to ")[0]][0] < s.end + 40 for s in given)


def test_phases_of_each_sm_last_as_long_as_its_counters_say(run):
    for sm in range(DEVICE.sms):
        lengths = {s.name: s.cycles for s in phases(run, sm)}
        assert [*lengths] == ["run collatz", "preempt collatz", "run hostile", "restore collatz", "rest of collatz"]
        assert lengths["preempt collatz"] == run.of_each["save_cycles"][sm]
        assert lengths["restore collatz"] == run.of_each["restore_cycles"][sm]
        drains = [s.cycles for s in run.slices if s.track == f"SM {sm} phases" and s.name == "drain"]
        assert sum(drains) == run.of_each["drain_cycles"][sm]
    assert max(run.of_each["save_cycles"]) == run.result.preempt.save_cycles


def test_commands_of_the_host(run):
    names = [s.name for s in run.slices if s.track == "commands"]
    assert names == ["start collatz", "preempt collatz", "start hostile", "resume collatz",
                     "abort collatz, refused: not_running"]


def test_the_bus_adds_up(run):
    total = {name: total for (parent, name), (total, _) in run.counters.items() if parent is TOP}
    *sms, queues = run.units
    for sm, traffic in enumerate(sms):
        mine = {name: total for (parent, name), (total, _) in run.counters.items() if parent == f"SM {sm}"}
        assert mine["bus: restore"] == traffic.read[4] > 0 and mine["bus: save"] == traffic.written[2] > 0
        assert mine["bus: loads"] == traffic.read[2] and mine["bus: stores"] == traffic.written[0] > 0
        assert mine["instructions issued"] == run.of_each["retired"][sm] > 0
    assert total["bus: save"] == sum(each.written[2] for each in sms) == run.whole.written[2]
    assert total["bus: restore"] == sum(each.read[4] for each in sms) == run.whole.read[4]
    assert total["bus: running kernels"] == sum(each.regular for each in sms) == run.whole.regular
    assert total["bus: queues"] == sum(queues.read) + sum(queues.written) == 0
    assert total["bus: save"] >= run.result.preempt.saved_bytes > 0
    assert total["bus: restore"] >= run.result.resume.bytes > 0


def test_phases_stand_above_counters(run):
    rank = {name: rank for (parent, name), rank in run.order.items() if parent is TOP}
    above = ["commands", "thread blocks handed out", "SM 0 phases", "SM 1 phases"]
    counters = [name for (parent, name) in run.counters if parent is TOP]
    assert {*above, *counters, "SM 0", "SM 1"} <= {*rank} and len(counters) == 6
    assert max(rank[name] for name in above) < min(rank[name] for name in counters)
    assert max(rank[name] for name in counters) < rank["SM 0"] < rank["SM 1"]
    assert run.order["SM 0", "thread blocks"] < min(run.order["SM 0", name] for parent, name in run.counters
                                                    if parent == "SM 0")


def test_recording_changes_nothing(run):
    plain = preempted(open_device("rtl", DEVICE))
    assert (plain.preempt, plain.resume, plain.rest_cycles) == (
        run.result.preempt, run.result.resume, run.result.rest_cycles)


ADD = """
.version 8.0
.target sm_70
.address_size 64
.visible .entry %s(.param .u64 counter, .param .u32 rounds)
{
    .reg .pred %%p<2>;
    .reg .b32 %%r<4>;
    .reg .b64 %%a<2>;
    ld.param.u64 %%a0, [counter];
    ld.param.u32 %%r0, [rounds];
    mov.u32 %%r1, 0;
LOOP:
    add.u32 %%r1, %%r1, 1;
    setp.lt.u32 %%p0, %%r1, %%r0;
    @%%p0 bra LOOP;
    red.global.add.u32 [%%a0], 1;
    ret;
}
"""


def test_queues_do_what_their_signals_say(tmp_path):
    with open_device("rtl", DEVICE, memory_bytes=1 << 20) as device:
        one, other = (device.load(compile_ptx(ADD % name).values())[name] for name in ("one", "other"))
        counter = device.zeros(1, np.uint32)
        first, second = (device.queue([one, other], 16, priority=k) for k in range(2))
        with recording(device, tmp_path / "run", interval=50):
            packets = [first.launch(one, 3, 16, [counter, 40]), first.launch(other, 5, 16, [counter, 5])]
            packets += [second.barrier(packets), second.launch(one, 2, 16, [counter, 3])]
            first.wait()
            second.wait()
            moved = device.transport.traffic_of(DEVICE.sms)
        times = [(packet.start_cycle, packet.end_cycle) for packet in (packets[0], packets[1], packets[3])]
        assert counter.get().tolist() == [(3 + 5 + 2) * 16]
    found = read_back(tmp_path / "run", tmp_path)
    of_queue = [[s for s in found.slices if s.track == f"queue {q}"] for q in range(DEVICE.queues)]
    assert [s.name for s in of_queue[0]] == ["packet 0 waits", "packet 0: one", "packet 1 waits", "packet 1: other"]
    assert [s.name for s in of_queue[1]] == ["packet 0 waits", "packet 0: barrier", "packet 1 waits", "packet 1: one"]
    assert not of_queue[2]
    for slices in of_queue[:2]:
        assert all(a.end <= b.first for a, b in zip(slices, slices[1:], strict=False))
    running = [of_queue[0][1], of_queue[0][3], of_queue[1][3]]
    for shown, (start, end) in zip(running, times, strict=True):
        assert 0 <= shown.first - start <= 2, "it is started when the signal says"
        assert end < shown.end < end + 400, "and goes on when the signal is written"
    assert of_queue[1][1].first > of_queue[0][3].end - 400, "the barrier waits for both"
    total = found.counters[TOP, "bus: queues"][0]
    assert total == sum(moved.read) + sum(moved.written) > 0
    names = Count(s.name.split(" to ")[0] for s in found.slices if s.track == "thread blocks handed out")
    assert names == Count([f"one TB {k}" for k in (0, 1, 2, 0, 1)] + [f"other TB {k}" for k in range(5)])
    assert names == Count(s.name for sm in range(DEVICE.sms) for s in stays(found, sm))


def test_the_retire_trace_says_which_sm(tmp_path):
    with open_device("rtl", DEVICE, memory_bytes=1 << 20, trace=True) as device:
        work = Uneven(device)
        work.finishes()
        records, retired = device.transport.take_trace(), of_each(device, "retired")
        assert not len(device.transport.take_trace())
    assert (np.diff(records["cycle"].astype(np.int64)) >= 0).all()
    retires = records[records["kind"] == RETIRE]
    for sm in range(DEVICE.sms):
        assert 0.9 * retired[sm] < (retires["sm"] == sm).sum() <= retired[sm]
    owner = {}
    for record in records[np.isin(records["kind"], (RETIRE, WRITE))]:
        assert owner.setdefault(int(record["launch"]), record["sm"]) == record["sm"]
    assert sorted(owner) == list(range(UNEVEN_BLOCKS)) and set(map(int, owner.values())) == {0, 1}


HOW = {"save": {}, "stay": {"in_place": True}, "anew": {"restart": True}, "grace": {"grace": 100}}


def abort(device, launch):
    """Abort a preempt; it may have ended before the command comes."""
    try:
        device.abort(launch)
    except CommandRefused as error:
        assert error.error is CommandError.NOT_RUNNING and launch.state is not KernelState.PREEMPTING


@pytest.mark.parametrize("seed", quick(range(20), range(1)))
def test_whatever_is_done_thread_blocks_warps_and_counts_agree(seed):
    """Launches that are preempted in every way, some aborted or killed."""
    random = Random(seed)
    with open_device("rtl", DEVICE, memory_bytes=1 << 20) as device:
        transport = device.transport
        transport.record_timeline(random.choice([1, 7, 64, 1000]))
        transport.count(True)
        works = [Uneven(device, random.randrange(1, 30)) for _ in range(2)]
        for _ in range(8):
            device.advance(random.randrange(10, 300))
            launch, how = random.choice(works).launch, random.choice([*HOW, "abort", "checkpoint"])
            if launch.finished:
                continue
            if how == "abort":
                device.begin_preempt(launch)
                device.advance(random.randrange(1, 60))
                if launch.state is KernelState.PREEMPTING:
                    abort(device, launch)
                if launch.state is KernelState.PREEMPTED:
                    device.resume(launch)
            elif how == "checkpoint":
                device.checkpoint(launch)
            elif device.preempt(launch, **HOW[how]):
                device.advance(random.randrange(200))
                device.resume(launch)
        killed = seed % 3 == 1 and not works[0].launch.finished
        if killed:
            device.kill(works[0].launch)
        for each in works[killed:]:
            each.finishes()
        rows, (events, samples) = transport.counted(), transport.take_timeline()
        names = KernelNames({}, events, device.code_names)
    found = device_activity(events, samples, names, DEVICE.sms, DEVICE.queues, DEVICE.queue_capacity)
    assert Count(s.notes["TB"] for s in found.dispatches) == Count([*range(UNEVEN_BLOCKS)] * 2) or killed
    assert {s.name for sm in found.sms for row in sm.tbs for s in row} == {s.name.split(" to ")[0]
                                                                           for s in found.dispatches}
    for number, sm in enumerate(found.sms):
        whole, = rows[(rows["slot"] == WHOLE) & (rows["sm"] == number)]
        assert sum(s.cycles for slot in sm.warps.values() for s in slot) == whole["warp_cycles"] > 0
        assert len(sm.tbs) <= DEVICE.tb_slots and all(s.cycles >= 0 for s in sm.phases)
        stays = [s for row in sm.tbs for s in row]
        assert 0 < sum(s.cycles for s in stays) <= whole["tb_cycles"]
        assert killed or {s.notes["warps"] for s in stays} == {2}


def test_a_recording_can_begin_in_the_middle_and_again(tmp_path):
    with open_device("rtl", DEVICE, memory_bytes=1 << 20) as device:
        work = Uneven(device)
        device.advance(150)
        for name in ("first", "second"):
            with recording(device, tmp_path / name):
                device.advance(100)
        work.finishes()
    for name in ("first", "second"):
        found = read_back(tmp_path / name, tmp_path)
        for sm in range(DEVICE.sms):
            running, = phases(found, sm)
            assert running.name == "run uneven" and running.cycles >= 100


def rows(*made):
    """Make events of (cycle, kind, value) or (cycle, kind, slot, kernel, warp, launch)."""
    found = np.zeros(len(made), EVENT)
    for event, row in zip(found, made, strict=True):
        names = ("cycle", "kind", "value") if len(row) == 3 else ("cycle", "kind", "slot", "kernel", "warp", "launch")
        for name, value in zip(names, row, strict=True):
            event[name] = value
    return found


def test_a_stay_lasts_from_the_first_warp_to_the_last():
    events = rows((3, EventKind.INIT, 0, 0, 0, 7), (4, EventKind.VALID, 1), (4, EventKind.INIT, 1, 0, 1, 7),
                  (5, EventKind.VALID, 3), (9, EventKind.VALID, 2), (12, EventKind.VALID, 0),
                  (12, EventKind.INIT, 2, 0, 0, 8), (13, EventKind.VALID, 4), (15, EventKind.INIT, 0, 0, 0, 7),
                  (16, EventKind.VALID, 5))
    found = residency(events, 20, KernelNames({0: "k"}))
    assert [[(s.name, s.begin, s.end, s.notes["warps"]) for s in row] for row in found] == [
        [("k TB 7", 4, 12, 2), ("k TB 8", 13, 20, 1)], [("k TB 7", 16, 20, 1)]]


def test_a_slot_that_is_given_on_at_once_ends_a_stay():
    events = rows((3, EventKind.INIT, 0, 0, 0, 7), (4, EventKind.VALID, 1), (8, EventKind.INIT, 0, 0, 0, 8))
    found, = residency(events, 20, KernelNames({0: "k"}))
    assert [(s.name, s.begin, s.end) for s in found] == [("k TB 7", 4, 9), ("k TB 8", 9, 20)]


def test_a_kernel_slot_is_named_by_what_it_holds_then():
    events = np.zeros(2, EVENT)
    events["kind"], events["cycle"], events["value"], events["kernel"] = EventKind.CODE, (5, 9), (0x100, 0x200), 1
    names = KernelNames({0: "old", 1: "before"}, events, {0x100: "first"})
    assert [names.at(1, cycle) for cycle in (4, 5, 8, 9)] == ["before", "first", "first", "kernel at 0x200"]
    assert [names.at(0, 9), names.at(2, 9)] == ["old", "kernel 2"]


def test_a_failed_packet_is_shown():
    events = np.zeros(4, EVENT)
    events["kind"] = EventKind.DOORBELL, EventKind.QUEUE, EventKind.QUEUE, EventKind.QUEUE
    events["cycle"], events["unit"] = (5, 6, 20, 30), 1
    events["value"] = 1, QueueState.WAITING << 40, QueueState.FAILED << 40, QueueState.STOPPED << 40
    found, = queue_slices(events, 1, 4, 50, KernelNames({}))
    assert [(s.name, s.begin, s.end) for s in found] == [("packet 0 waits", 5, 20), ("packet 0 failed", 20, 30),
                                                         ("packet 0 waits", 30, 50)]
    assert not queue_slices(events, 0, 4, 50, KernelNames({}))


def test_what_is_in_flight_at_the_same_time_has_tracks_of_its_own():
    """Two kernels of a queue, the first away for a while and back in another slot; the third waits for room."""
    events = np.zeros(9, EVENT)
    busy, full, slot = 1 << 32, 1 << 33, 1 << 33
    for row, (cycle, kind, unit, value) in zip(events, [
            (5, EventKind.DOORBELL, 1, 3), (8, EventKind.FLIGHT, 2, busy), (8, EventKind.QUEUE, 1, 1),
            (20, EventKind.FLIGHT, 3, busy | 1), (20, EventKind.QUEUE, 1, 2 | full),
            (30, EventKind.FLIGHT, 2, busy | slot), (40, EventKind.FLIGHT, 3, 1), (40, EventKind.QUEUE, 1, 2),
            (50, EventKind.FLIGHT, 2, slot)], strict=True):
        row["cycle"], row["kind"], row["unit"], row["value"] = cycle, kind, unit, value
    events = events[np.argsort(events["cycle"], kind="stable")]
    tracks = queue_slices(events, 1, 2, 60, KernelNames({0: "k"}))
    assert [[(s.name, s.begin, s.end) for s in track] for track in tracks] == [
        [("packet 0 waits", 5, 8), ("packet 1 waits", 8, 20), ("packet 1: k", 20, 40), ("packet 2 waits", 40, 60)],
        [("packet 0: k", 8, 50)]]


def test_what_is_of_the_device_is_the_sum_of_its_sms():
    samples = np.zeros(6, SAMPLE)
    samples["cycle"], samples["unit"] = (5, 5, 5, 9, 9, 9), (0, 1, 2, 0, 1, 2)
    samples["written"][:, WRITERS.index("save")] = 8, 16, 0, 24, 48, 0
    samples["tbs"], samples["instructions"] = (1, 2, 0, 0, 1, 0), (3, 0, 0, 7, 1, 0)
    samples["read"][:, 5] = 0, 0, 64, 0, 0, 96
    found = device_activity(np.zeros(0, EVENT), samples, KernelNames({}), 2, 1, 4)
    points = {counter.name: counter.points for counter in found.counters}
    assert points["bus: save"] == [(5, 48), (9, 0)] and points["bus: queues"] == [(5, 32), (9, 0)]
    assert points["TBs resident"] == [(5, 3), (9, 1)] and points["instructions issued"] == [(5, 5), (9, 0)]


@pytest.mark.full
def test_the_command_writes_a_timeline_of_a_device(tmp_path, monkeypatch):
    monkeypatch.setattr(scenario, "shipped_work", lambda name, *_, **__: neighbour() if name == "hostile" else work())
    path, geometry = tmp_path / "run.perfetto-trace", tmp_path / "two.toml"
    geometry.write_text('base = "tiny"\n' + "".join(
        f"{name} = {getattr(DEVICE, name)}\n" for name in ("sms", "queues", "watches", "entries")))
    done = CliRunner().invoke(main, ["preempt", "collatz", "--geometry", str(geometry), "--timeline", str(path)])
    assert done.exit_code == 0, done.output
    found = read_back(path, tmp_path)
    assert [len([s for s in phases(found, sm) if s.name == "restore collatz"]) for sm in range(2)] == [1, 1]
