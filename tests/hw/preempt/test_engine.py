"""The preemption engine between a stand-in SM and a stand-in memory: images, protocol, errors, time."""

import pytest
from preempt_machine import CCB_BASE, Machine, check_image, expected_registers

from caesura.hw.arch import context
from caesura.hw.arch.context import Mechanism, State
from caesura.hw.arch.faults import CommandError
from caesura.hw.arch.geometry import preset

TINY = preset("tiny")
WIDE = preset("gtx480").replace(warps=6, tb_slots=3, registers=128, shared_bytes=1536, memory_latency=20, stack_depth=6)
SMALL = TINY.replace(warps=6, tb_slots=3)
GEOMETRIES = {
    "tiny": TINY,
    "bus4": TINY.replace(bus_bytes=4, bytes_per_cycle=4.0),
    "bus16": TINY.replace(bus_bytes=16, lanes=4),
    "wide": WIDE,
    "beats": WIDE.replace(lanes=8, bus_bytes=8, bytes_per_cycle=8.0),
}


def filled(g, seed, stall, drain=40, latency=None, shared=True):
    """A machine whose SM holds as many TBs of kernel 0 as fit (TB slots 0, 1, ...), and how to lay them out anew."""
    machine = Machine(g, seed, stall, latency)
    rng = machine.rng
    tbs = min(g.tb_slots, g.warps // 2)
    warps = g.warps // tbs
    registers = rng.randint(3, min(7, (g.registers // tbs - 3) // warps))
    lines = g.shared_lines // tbs if shared else 0
    machine.add_kernel(0, registers, warps, lines * 128 - (4 if lines else 0), spare=128 * rng.randint(0, 2))
    size = -(-registers * warps // 4) * 4

    def layout(order):
        slots = rng.sample(range(g.warps), g.warps)
        return [(t, t * size, t * lines, slots[t * warps:(t + 1) * warps]) for t in order]

    for launch, (tb, base, line, slots) in enumerate(layout(range(tbs))):
        machine.add_tb(tb, 0, 100 + launch, base, line, slots, drain)
    return machine, layout


def expect_restored(machine, before, mechanism, scramble, started):
    """Every TB of `before` is back, under whatever slots."""
    by_launch = {tb.launch_id: (t, tb) for t, tb in machine.tbs.items() if t in started}
    registers = machine.kernels[0].registers
    assert len(by_launch) == len(before)
    for old in before.values():
        tb, row = by_launch[old["launch_id"]]
        after = machine.snapshot(tb)
        assert after["ctaid"] == old["ctaid"]
        for was, now, slot in zip(old["warps"], after["warps"], row.slots, strict=True):
            if was is None:
                assert now is None and machine.warps[slot].launched == 0 and not machine.warps[slot].stack
                continue
            for name in ("launched", "live", "waiting", "barrier", "stack", "predicates"):
                assert now[name] == was[name], name
            zero = [0] * machine.g.warp_size
            saved = expected_registers(mechanism, scramble, registers, was)
            for r in saved:
                assert now["registers"].pop(r) == was["registers"].get(r, zero)
            if not scramble:
                assert not now["registers"]
            else:
                assert set(now["registers"]) == set(range(registers)) - set(saved)
                values = [v for register in now["registers"].values() for v in register]
                assert len(set(values)) >= 0.9 * len(values), "scrambled registers look alike"
        zero = [0] * 32
        whole = range(row.lines) if mechanism == Mechanism.OCCUPIED else old["lines"]
        assert after["lines"] == {n: old["lines"].get(n, zero) for n in whole}


def check_protocol(machine):
    """SAVING acknowledged before data, all of it before COMPLETE, that before the release; one beat for COMPLETE."""
    g, kernel = machine.g, machine.kernels[0]
    area = CCB_BASE + 128 * g.tb_slots
    head = {CCB_BASE + 128 * t: t for t in range(g.tb_slots)}
    state, acked, open_writes = {}, {}, {}
    for _, what, where, *rest in machine.log:
        if what == "write" and where in head and rest[1] & 1:
            new, t = rest[0] & 0xFF, head[where]
            old, state[t] = state.get(t), new
            if new == State.COMPLETE and old == State.SAVING:
                assert acked.get(t) == State.SAVING and open_writes.get(t, 0) == 0, "completed before its data"
                assert rest[1] & 0xF == 0xF
        elif what == "write" and where >= area:
            t = (where - area) // kernel.area_bytes
            assert acked.get(t) == State.SAVING, "data before the entry was marked"
            if where % 128 + g.bus_bytes == 128:
                open_writes[t] = open_writes.get(t, 0) + 1
        elif what == "ack" and where >= area:
            t = (where - area) // kernel.area_bytes
            if where % 128 + g.bus_bytes == 128:
                open_writes[t] -= 1
        elif what == "ack" and where - max(0, 8 - g.bus_bytes) in head:
            t = (where - CCB_BASE) // 128
            acked[t] = state[t]
        elif what == "release":
            assert acked[where] == State.COMPLETE, "released before it was committed"


@pytest.mark.parametrize("mechanism", Mechanism)
@pytest.mark.parametrize("name, seed, stall, scramble", [
    ("tiny", 1, 0.0, 0), ("tiny", 2, 0.5, 1), ("bus4", 3, 0.2, 0), ("bus16", 4, 0.3, 1), ("wide", 5, 0.0, 1),
    ("wide", 6, 0.4, 0), ("beats", 7, 0.1, 1)])
def test_save_writes_the_image_and_restore_brings_everything_back(name, seed, stall, scramble, mechanism):
    machine, layout = filled(GEOMETRIES[name], seed, stall, shared=seed != 2)
    first = machine.tbs[0].slots[0]
    machine.warps[first].live = 0
    before = {t: machine.snapshot(t) for t in machine.tbs}

    async def scenario(ctx):
        error, counters, _ = await machine.command(ctx, kernel=0, mechanism=mechanism, scramble=scramble)
        assert error == CommandError.NONE and not machine.tbs
        entries = [check_image(machine, t, 0, before[t], mechanism, scramble) for t in before]
        assert {entry["generation"] for entry in entries} == {1}
        check_protocol(machine)
        assert counters["save_data_bytes"] == sum(e["data_bytes"] for e in entries)
        assert counters["save_metadata_bytes"] == sum(e["metadata_bytes"] + 72 for e in entries)
        assert counters["save_metadata_bytes"] + counters["save_data_bytes"] == machine.memory.written
        assert counters["save_tbs"] == len(before) and counters["save_lines"] == sum(e["shared_lines"] for e in entries)
        assert counters["save_warps"] == sum(bin(e["live_warps"]).count("1") for e in entries)
        assert counters["save_registers"] * machine.g.vector_bytes == (
            counters["save_data_bytes"] - 128 * counters["save_lines"])

        machine.wreck()
        places = iter(layout(reversed(range(len(before)))))
        machine.place = lambda kernel: next(places)
        writes = len(machine.log)
        error, counters, took = await machine.command(ctx, resume=1, kernel=0, scramble=scramble)
        assert error == CommandError.NONE
        expect_restored(machine, before, mechanism, scramble, machine.started)
        order = [(what, where) for _, what, where, *_ in machine.log[writes:] if what in ("ack", "start")]
        assert [what for what, _ in order].index("start") > 0
        assert all(machine.entry(t)["state"] == State.DEMOTED for t in before)
        assert counters["restore_cycles"] <= took
        assert counters["restore_bytes"] == 64 * machine.g.tb_slots + sum(e["length"] for e in entries)

        error, counters, _ = await machine.command(ctx, resume=1, kernel=0)
        assert error == CommandError.NONE and counters["restore_cycles"] == 0

    machine.run(scenario)


def test_area_too_small_is_refused_before_the_first_byte():
    machine, _ = filled(TINY, 11, 0.0)
    machine.kernels[0].area_bytes = context.area_bound(TINY, machine.kernels[0].warps, machine.kernels[0].registers,
                                                       machine.kernels[0].shared_bytes) - 128

    async def scenario(ctx):
        error, _, took = await machine.command(ctx, kernel=0, mechanism=Mechanism.LIVE)
        assert error == CommandError.AREA_TOO_SMALL and took < 10
        assert not machine.log and len(machine.tbs) == 2

    machine.run(scenario)


def test_tb_that_ends_during_the_drain_is_not_saved():
    machine, _ = filled(TINY, 12, 0.0)
    for slot in machine.tbs[1].slots:
        machine.warps[slot].stops, machine.warps[slot].exits = 10**6, 60
    before = machine.snapshot(0)

    async def scenario(ctx):
        error, counters, took = await machine.command(ctx, kernel=0, mechanism=Mechanism.LIVE)
        assert error == CommandError.NONE and took > 60
        check_image(machine, 0, 0, before, Mechanism.LIVE)
        assert machine.entry(1)["state"] == State.FREE and machine.entry(1)["length"] == 0
        assert [what[2] for what in machine.log if what[1] == "release"] == [0] and 1 in machine.tbs
        assert counters["save_tbs"] == 1 and counters["drain_cycles"] > 0

    machine.run(scenario)


def test_warp_may_exit_while_its_tb_is_being_saved():
    machine, layout = filled(SMALL, 13, 0.0, drain=0)
    late, gone = machine.tbs[0].slots
    machine.warps[late].stops = 300
    machine.warps[gone].stops, machine.warps[gone].exits = 10**6, 200
    before = {t: machine.snapshot(t) for t in machine.tbs}
    before[0]["warps"][1] = None

    async def scenario(ctx):
        error, _, _ = await machine.command(ctx, kernel=0, mechanism=Mechanism.LIVE)
        assert error == CommandError.NONE
        for t in before:
            check_image(machine, t, 0, before[t], Mechanism.LIVE)
        places = iter(layout(range(len(before))))
        machine.place = lambda kernel: next(places)
        error, _, _ = await machine.command(ctx, resume=1, kernel=0)
        assert error == CommandError.NONE
        expect_restored(machine, before, Mechanism.LIVE, 0, machine.started)

    machine.run(scenario)


def test_tb_killed_while_it_is_being_saved_is_given_up():
    machine, _ = filled(TINY, 14, 0.0, drain=0)
    machine.warps[machine.tbs[0].slots[1]].stops = 10**6

    def kill(cycle):
        if cycle == 300:
            for slot in machine.tbs[0].slots:
                machine.warps[slot].killed = True

    async def scenario(ctx):
        error, _, _ = await machine.command(ctx, kernel=0, mechanism=Mechanism.LIVE, during=kill)
        assert error == CommandError.NONE
        assert machine.entry(0)["state"] == State.FREE and machine.entry(1)["state"] == State.COMPLETE
        assert list(machine.tbs) == [0]

    machine.run(scenario)


def test_tb_still_being_launched_is_waited_for():
    machine, _ = filled(TINY, 15, 0.0, drain=0)
    machine.tbs[1].started, machine.tbs[1].starts = False, 150
    before = {t: machine.snapshot(t) for t in machine.tbs}

    async def scenario(ctx):
        error, counters, took = await machine.command(ctx, kernel=0, mechanism=Mechanism.OCCUPIED)
        assert error == CommandError.NONE and took > 150 and counters["save_tbs"] == 2
        for t in before:
            check_image(machine, t, 0, before[t], Mechanism.OCCUPIED)

    machine.run(scenario)


def test_kernel_of_another_slot_is_left_alone():
    machine, _ = filled(TINY, 16, 0.0, drain=0)
    machine.kernels[2] = machine.kernels[0]
    machine.tbs[1].kernel = 2

    async def scenario(ctx):
        error, _, _ = await machine.command(ctx, kernel=0, mechanism=Mechanism.OCCUPIED)
        assert error == CommandError.NONE and list(machine.tbs) == [1]
        assert machine.entry(1)["state"] == State.FREE

    machine.run(scenario)


@pytest.mark.parametrize("seed", range(6))
def test_write_error_leaves_uncommitted_tbs_on_the_machine(seed):
    machine, _ = filled(SMALL, seed, 0.1, drain=10)
    kernel, rng = machine.kernels[0], machine.rng
    bad = rng.randrange(len(machine.tbs))
    area = context.area_address(SMALL, CCB_BASE, kernel.area_bytes, bad)
    where = CCB_BASE + 128 * bad if seed == 0 else area + 128 * rng.randint(0, 3)
    machine.memory.bad_writes.add(where // 128)
    before = {t: machine.snapshot(t) for t in machine.tbs}

    async def scenario(ctx):
        error, counters, _ = await machine.command(ctx, kernel=0, mechanism=Mechanism.OCCUPIED)
        assert error == CommandError.BUS_ERROR and bad in machine.tbs
        released = {what[2] for what in machine.log if what[1] == "release"}
        assert released == set(before) - set(machine.tbs)
        complete = {t for t in before if machine.entry(t)["state"] == State.COMPLETE}
        assert complete == released and counters["save_tbs"] == len(released)
        for t in released:
            check_image(machine, t, 0, before[t], Mechanism.OCCUPIED)
        machine.memory.bad_writes.clear()
        error, _, _ = await machine.command(ctx, kernel=0, mechanism=Mechanism.OCCUPIED)
        assert error == CommandError.NONE and not machine.tbs
        for t in before:
            entry = check_image(machine, t, 0, before[t], Mechanism.OCCUPIED)
            assert entry["generation"] == (1 if t in released else 2)

    machine.run(scenario)


def saved_machine(g, seed, stall=0.0):
    """A machine, its snapshots and a scenario step that saves it."""
    machine, layout = filled(g, seed, stall, drain=0)
    before = {t: machine.snapshot(t) for t in machine.tbs}
    taken = set()

    def place(kernel):
        tb = min(t for t in before if t not in machine.tbs)
        return next(p for p in layout_once if p[0] == tb)

    layout_once = layout(range(len(before)))
    machine.place = place

    async def save(ctx):
        error, _, _ = await machine.command(ctx, kernel=0, mechanism=Mechanism.OCCUPIED)
        assert error == CommandError.NONE
        taken.update(before)
        del machine.log[:]

    return machine, before, save


@pytest.mark.parametrize("byte, value", [(1, 9), (4, 0x55), (46, 77), (47, 13), (22, 0xFF)],
                         ids=["version", "hash", "registers", "warps", "length"])
def test_bad_entry_restores_nothing(byte, value):
    machine, before, save = saved_machine(TINY, 21)

    async def scenario(ctx):
        await save(ctx)
        machine.memory.bytes[CCB_BASE + 128 + byte] = value
        error, _, _ = await machine.command(ctx, resume=1, kernel=0)
        assert error == CommandError.BAD_IMAGE and not machine.tbs and not machine.warps and not machine.log

    machine.run(scenario)


def test_entry_read_error_restores_nothing():
    machine, before, save = saved_machine(TINY, 22)

    async def scenario(ctx):
        await save(ctx)
        machine.memory.bad_reads.add((CCB_BASE + 128) // 128)
        error, _, _ = await machine.command(ctx, resume=1, kernel=0)
        assert error == CommandError.BUS_ERROR and not machine.tbs and not machine.log
        machine.memory.bad_reads.clear()
        error, _, _ = await machine.command(ctx, resume=1, kernel=0)
        assert error == CommandError.NONE
        expect_restored(machine, before, Mechanism.OCCUPIED, 0, machine.started)

    machine.run(scenario)


@pytest.mark.parametrize("how", ["read error", "write error", "warp", "depth", "length", "register", "line"])
@pytest.mark.parametrize("bad", [0, 2])
def test_tb_that_cannot_be_restored_is_given_back_and_can_be_resumed_later(how, bad):
    machine, before, save = saved_machine(SMALL, 23 + bad, 0.1)
    memory = machine.memory

    async def scenario(ctx):
        await save(ctx)
        good = bytes(memory.bytes)
        entry = machine.entry(bad)
        at = entry["register_image"]
        if how == "read error":
            memory.bad_reads.add(at // 128 + 1)
        elif how == "write error":
            memory.bad_writes.add((CCB_BASE + 128 * bad) // 128)
        elif how == "length":
            memory.poke(CCB_BASE + 128 * bad + 20, [entry["length"] - 36])
        elif how == "line":
            memory.poke(entry["shared_image"], [0xFFFF_FFFF])
        else:
            place, value = {"warp": (0, 77), "depth": (1, 0), "register": (31, 0x80)}[how]
            memory.bytes[at + place] = value
        error, _, _ = await machine.command(ctx, resume=1, kernel=0)
        assert error == (CommandError.BUS_ERROR if "error" in how else CommandError.BAD_IMAGE)
        running = {tb.launch_id for t, tb in machine.tbs.items()}
        assert set(machine.started) == set(machine.tbs) and before[bad]["launch_id"] not in running
        for t, old in before.items():
            state = machine.entry(t)["state"]
            assert state == (State.DEMOTED if old["launch_id"] in running else State.COMPLETE)
        assert not {s for s, w in machine.warps.items() if w.tb not in machine.tbs}
        memory.bad_reads.clear()
        memory.bad_writes.clear()
        heads = {t: memory.bytes[CCB_BASE + 128 * t] for t in before}
        memory.bytes[:] = good
        for t, state in heads.items():
            memory.bytes[CCB_BASE + 128 * t] = state
        error, _, _ = await machine.command(ctx, resume=1, kernel=0)
        assert error == CommandError.NONE
        expect_restored(machine, before, Mechanism.OCCUPIED, 0, set(machine.started))

    machine.run(scenario)


@pytest.mark.parametrize("mechanism", Mechanism)
@pytest.mark.parametrize("name", ["wide", "beats", "tiny"])
def test_save_and_restore_keep_to_the_time_limit(name, mechanism):
    g = GEOMETRIES[name]
    latency = 40
    machine, layout = filled(g.replace(memory_latency=latency), 31, 0.0, drain=60)
    warps = len(machine.warps)
    tbs = len(machine.tbs)

    async def scenario(ctx):
        error, c, _ = await machine.command(ctx, kernel=0, mechanism=mechanism)
        assert error == CommandError.NONE
        payload = c["save_data_bytes"] + c["save_metadata_bytes"]
        stream = max(payload / g.bus_bytes, c["save_registers"] * g.beats)
        limit = 1.25 * stream + 3 * (latency + 4) + 4 * warps
        assert c["save_cycles"] - c["drain_cycles"] <= limit
        places = iter(layout(range(tbs)))
        machine.place = lambda kernel: next(places)
        error, c, _ = await machine.command(ctx, resume=1, kernel=0)
        assert error == CommandError.NONE
        limit = 1.25 * payload / g.bus_bytes + 4 * (latency + 4) + 4 * warps
        assert c["restore_cycles"] <= limit

    machine.run(scenario)


def test_a_single_tb_streams_without_gaps():
    machine, layout = filled(WIDE, 33, 0.0, drain=0)

    async def scenario(ctx):
        error, c, _ = await machine.command(ctx, kernel=0, mechanism=Mechanism.OCCUPIED)
        assert error == CommandError.NONE
        beats = [what[0] for what in machine.log if what[1] == "write" and what[2] >= CCB_BASE + 128 * WIDE.tb_slots]
        assert beats[-1] - beats[0] + 1 <= 1.05 * len(beats) + 16
        places = iter(layout(range(3)))
        machine.place = lambda kernel: next(places)
        error, c, _ = await machine.command(ctx, resume=1, kernel=0)
        read = machine.memory.read_bytes / WIDE.bus_bytes
        assert c["restore_cycles"] <= 1.05 * read + 3 * (WIDE.memory_latency + 8)

    machine.run(scenario)
