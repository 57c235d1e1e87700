"""Context control blocks with more entries than the SM has TB slots, on both machines: more thread blocks (TBs) are
saved than it holds, and each comes back to the entry that it had."""

import pytest

from caesura import open_device
from caesura.hw.arch.commands import Command
from caesura.hw.arch.faults import CommandError
from caesura.hw.arch.geometry import SEGMENT_BYTES, preset
from caesura.hw.arch.image import context
from caesura.hw.arch.image.context import Mechanism
from caesura.hw.arch.tb_footprint import local_region_bytes
from caesura.sim.golden.transport import GoldenTransport
from caesura.sim.rtl.transport import RtlTransport
from caesura.software.driver import LaunchError
from support.programs.stirring import Stirring
from support.selection import quick
from support.sim.adoption import Steps, carry, entry, generations, record, write_entry, write_record
from support.sim.launch import Bench

G = preset("tiny").replace(entries=6)
WIDE = G.replace(name="wide", tb_slots=5, warps=16, registers=256)
"""An SM that holds five TBs; its images are those of `G`."""
MEMORY = 1 << 16
GRID = (3, 2, 2)
TRANSPORTS = {"golden": GoldenTransport, "rtl": RtlTransport}
BOTH = ["golden", pytest.param("rtl", marks=pytest.mark.full)]


def work_of(bench, entries=G.entries):
    """Return the kernel on a machine: its TBs need a line of shared memory."""
    return Steps(bench, GRID, rounds=10, shared=64, entries=entries)


def expected():
    bench = Bench(GoldenTransport(WIDE, MEMORY))
    work = work_of(bench)
    bench.start(0)
    cycles = bench.finish(0)
    return cycles, work.read(bench)


def five_away(mechanism=Mechanism.LIVE_CP, part=0.1, entries=G.entries):
    """Return a wide machine that has saved five TBs, and the kernel."""
    bench = Bench(GoldenTransport(WIDE, MEMORY))
    work = work_of(bench, entries)
    bench.start(0)
    bench.transport.advance(int(expected()[0] * part))
    bench.preempt(0, mechanism, scramble=True)
    assert record(bench.transport, work.loaded)["saved"] == 0b11111
    return bench, work


def moved(bench, work, index, to):
    """Write the image of a TB, its entry and its local memory where another entry has them, and the record so."""
    transport, loaded, g = bench.transport, work.loaded, bench.geometry
    fields, found = entry(transport, loaded, index), record(transport, loaded)
    size = local_region_bytes(g, loaded.warps, loaded.image.all_local_bytes)
    area = context.area_address(g, loaded.ccb_base, loaded.area_bytes, context.place_of(g, to, 0))
    local = loaded.local_base + to * size
    for source, target, length in ((fields["register_image"], area, fields["length"]),
                                   (fields["local_base"], local, size)):
        transport.write_memory(target, transport.read_memory(source, length))
        transport.write_memory(source, b"\xA5" * length)
    found["saved"] ^= 1 << index | 1 << to
    saved = [k for k in range(g.context_entries) if found["saved"] >> k & 1]
    write_record(transport, loaded, saved=found["saved"])
    write_entry(transport, loaded, to, **(fields | {"register_image": area, "local_base": local}))
    found["generations"] = generations(g, {k: entry(transport, loaded, k)["generation"] for k in saved})
    write_record(transport, loaded, **found)


def taken_over(old, name, g=G, error=CommandError.NONE):
    bench = carry(old, TRANSPORTS[name](g, MEMORY))
    assert bench.adopt(0) is error
    return bench


@pytest.mark.parametrize("name", BOTH)
@pytest.mark.parametrize("mechanism", quick(Mechanism, [Mechanism.LIVE_CP]), ids=lambda m: m.name)
def test_more_tbs_come_back_than_there_are_slots(name, mechanism):
    """They do as there is room; the kernel is preempted meanwhile, with some TBs back and others not."""
    old, work = five_away(mechanism)
    bench = taken_over(old, name)
    seen = set()
    for _ in range(5):
        bench.command(Command.RESUME, 0, scramble=True)
        bench.transport.advance(200 if name == "golden" else 1500)
        bench.preempt(0, mechanism, scramble=True)
        found = record(bench.transport, work.loaded)
        assert found["saved"].bit_count() == found["launched"] - found["completed"]
        seen.add(found["saved"])
    bench.resume(0, scramble=True)
    bench.finish(0)
    assert bench.fault() is None and work.read(bench) == expected()[1]
    assert max(seen) > 0b11 and len(seen) > 1


@pytest.mark.parametrize("name", BOTH)
@pytest.mark.parametrize("to", [5, 2])
def test_an_image_is_taken_over_wherever_its_entry_stands(name, to):
    """Of five TBs some are in entries above them; fresh ones get the lowest that are free."""
    old, work = five_away()
    moved(old, work, 1, 5)
    if to != 5:
        moved(old, work, 0, 1)
    bench = taken_over(old, name)
    bench.resume(0, scramble=True)
    bench.finish(0)
    assert bench.fault() is None and work.read(bench) == expected()[1]


@pytest.mark.parametrize("name", BOTH)
def test_a_record_that_names_an_entry_beyond_the_kernels_is_refused(name):
    old, work = five_away()
    at = context.record_address(G, work.loaded.ccb_base)
    before = old.transport.read_memory(at, SEGMENT_BYTES)
    old.set("kernel[0].entries", 4)
    taken_over(old, name, error=CommandError.BAD_IMAGE)
    assert old.transport.read_memory(at, SEGMENT_BYTES) == before
    old.set("kernel[0].entries", 5)
    taken_over(old, name)


@pytest.mark.full
@pytest.mark.parametrize("mechanism", list(Mechanism), ids=lambda m: m.name)
def test_images_go_from_one_machine_to_the_other(mechanism):
    """Each takes the kernel over from the other, goes on for a while and leaves it with images in high entries."""
    bench, work = five_away(mechanism)
    moved(bench, work, 0, 5)
    high = 0
    for name in ("rtl", "golden") * 3:
        bench = taken_over(bench, name)
        bench.command(Command.RESUME, 0, scramble=True)
        bench.transport.advance(200 if name == "golden" else 1500)
        bench.preempt(0, mechanism, scramble=True)
        high += record(bench.transport, work.loaded)["saved"] >> 2 > 0
    bench.resume(0, scramble=True)
    bench.finish(0)
    assert bench.fault() is None and work.read(bench) == expected()[1] and high > 2


@pytest.mark.parametrize("name", BOTH)
def test_those_that_have_room_start_together(name):
    old, work = five_away()
    moved(old, work, 0, 5)
    bench = taken_over(old, name)
    bench.resume(0, scramble=True, gang=True)
    bench.finish(0)
    assert bench.fault() is None and work.read(bench) == expected()[1]


# Launches

@pytest.fixture(params=BOTH)
def device(request):
    with open_device(request.param, G, memory_bytes=1 << 20) as device:
        yield device


def test_a_launch_with_fewer_entries_than_slots_has_fewer_tbs_on_the_sm(device):
    for entries, most in ((1, 1), (2, 2), (6, 2), (0, 2)):
        work = Stirring(device, 20, entries=entries)
        resident = 0
        for _ in range(20):
            device.advance(20)
            resident = max(resident, device.fields("status")["resident"])
        assert resident == most
        assert work.launch.entries == (entries or 2)
        device.preempt(work.launch)
        assert len(device.context(work.launch)) == most
        device.resume(work.launch)
        work.finishes()


def test_a_launch_has_memory_for_its_entries_only_and_is_adopted_with_them(device):
    sizes = {}
    for entries in (2, 3, 6):
        work = Stirring(device, 5, entries=entries)
        sizes[entries] = work.launch.ccb_bytes
        device.advance(100)
        device.preempt(work.launch)
        with open_device("golden", G, memory_bytes=1 << 20) as fresh:
            fresh.transport.write_memory(0, device.transport.read_memory(0, 1 << 20))
            launch = fresh.adopt(work.launch.handle, work.launch.kernel.image)
            assert launch.entries == entries and launch.ccb_bytes == work.launch.ccb_bytes
            fresh.resume(launch)
            fresh.wait(launch)
        device.resume(work.launch)
        work.finishes()
    area = work.launch.area_bytes << G.checkpoints
    assert sizes[3] - sizes[2] == area and sizes[6] - sizes[3] == 3 * area


def test_sms_of_a_device_have_entries_of_their_own():
    g = G.replace(name="two", sms=2)
    with open_device("golden", g, memory_bytes=1 << 20) as device:
        work = Stirring(device, 20, entries=3)
        device.advance(100)
        for _ in range(3):
            device.preempt(work.launch, "live+cp")
            assert len(device.context(work.launch)) == 4
            with open_device("golden", g, memory_bytes=1 << 20) as fresh:
                fresh.transport.write_memory(0, device.transport.read_memory(0, 1 << 20))
                launch = fresh.adopt(work.launch.handle, work.launch.kernel.image)
                assert [launch.ccb_of(sm) for sm in (0, 1)] == [work.launch.ccb_of(sm) for sm in (0, 1)]
                fresh.resume(launch)
                fresh.wait(launch)
            device.resume(work.launch)
            device.advance(50)
        work.finishes()


def test_more_entries_than_there_are_are_refused(device):
    with pytest.raises(LaunchError, match="7 entries are wanted, this SM .* has 6"):
        Stirring(device, 1, entries=7)
    with pytest.raises(LaunchError):
        Stirring(device, 1, entries=-1)
