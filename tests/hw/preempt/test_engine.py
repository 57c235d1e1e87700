"""The preemption engine between a stand-in SM and a stand-in memory: images, protocol, time."""

import pytest

from caesura.hw.arch.faults import CommandError
from caesura.hw.arch.image import context
from caesura.hw.arch.image.context import CCB_RECORD, Mechanism, State, mechanisms_of
from caesura.hw.arch.isa.liveness import ALL_LIVE
from caesura.sim.scenario import allowance
from support.hw.preempt.images import check_image, entry_of, expect_restored, filled, read_image
from support.hw.preempt.machine import GEOMETRIES, SMALL, TINY, WIDE
from support.hw.preempt.sm import CCB_BASE
from support.selection import quick


def check_protocol(machine):
    """All of a TB's writes are acknowledged before its release, COMPLETE last; DEMOTED before its start. It is saved
    for the first time, thus on side 0."""
    g, kernel = machine.g, machine.kernels[0]
    record, area = context.record_address(g, CCB_BASE), context.area_address(g, CCB_BASE, 0, 0)
    state, acked, open_writes = {}, {}, dict.fromkeys(range(g.context_entries), 0)
    for _, what, where, *rest in machine.log:
        if what in ("write", "ack") and record <= where < area:
            continue
        if what in ("write", "ack"):
            place = (where - CCB_BASE) // 128 if where < area else (where - area) // kernel.area_bytes
            entry = next(k for k in open_writes if context.place_of(g, k, 0) == place)
            head = where < area and where % 128 < 8
        if what == "write" and head and where % 128 == 0 and rest[1] & 1:
            state[entry] = State(rest[0] & 0xFF)
            assert state[entry] in (State.COMPLETE, State.DEMOTED)
            assert rest[1] & 0xF == (0xF if state[entry] == State.COMPLETE else 1)
        elif what == "write" and rest[2] and not head:
            assert state.get(entry) != State.COMPLETE, "data of an entry that is complete"
            open_writes[entry] += 1
        elif what == "ack" and head:
            acked[entry] = state[entry]
        elif what == "ack":
            open_writes[entry] -= 1
        elif what in ("release", "start"):
            assert acked[rest[0]] == (State.COMPLETE if what == "release" else State.DEMOTED)
            assert open_writes[rest[0]] == 0


MACHINES = [("tiny", 1, 0.0, 0), ("tiny", 2, 0.5, 1), ("bus4", 3, 0.2, 0), ("bus16", 4, 0.3, 1), ("wide", 5, 0.0, 1),
            ("wide", 6, 0.4, 0), ("beats", 7, 0.1, 1), ("bus128", 8, 0.2, 0), ("bus128", 9, 0.0, 1),
            ("spare", 11, 0.2, 1)]
QUICK = {2: [Mechanism.LIVE]}
"""Of each seed what is quick: three geometries, each of which takes longer to elaborate than a case."""
SAVES = quick([*((*machine, mechanism) for machine in MACHINES for mechanism in Mechanism),
               *(("without", 10, 0.2, 0, mechanism) for mechanism in mechanisms_of(GEOMETRIES["without"]))],
              [(*machine, mechanism) for machine in MACHINES for mechanism in QUICK.get(machine[1], [])])


@pytest.mark.parametrize("name, seed, stall, scramble, mechanism", SAVES)
def test_save_writes_the_image_and_restore_brings_everything_back(name, seed, stall, scramble, mechanism):
    machine, layout = filled(GEOMETRIES[name], seed, stall, shared=seed != 2)
    first = machine.tbs[0].slots[0]
    machine.warps[first].live = 0
    plain = machine.warps[machine.tbs[0].slots[1]]  # the word after its header belongs to a uniform register
    plain.predicates, plain.uniforms = {}, {5: 0x5EED} | plain.uniforms
    before = {t: machine.snapshot(t) for t in machine.tbs}

    async def scenario(ctx):
        error, counters, _ = await machine.command(ctx, kernel=0, mechanism=mechanism, scramble=scramble)
        assert error == CommandError.NONE and not machine.tbs
        entries = [check_image(machine, t, 0, before[t], mechanism, scramble) for t in before]
        assert {entry["generation"] for entry in entries} == {1}
        check_protocol(machine)
        assert counters["save_data_bytes"] == sum(e["data_bytes"] for e in entries)
        assert counters["save_metadata_bytes"] == sum(e["length"] - e["data_bytes"] + 64 for e in entries)
        record = CCB_RECORD.size // 8
        assert counters["save_metadata_bytes"] + counters["save_data_bytes"] + record == machine.memory.written
        assert counters["save_tbs"] == len(before)
        assert counters["save_lines"] == sum(len(read_image(machine, t)[2]) for t in before)
        assert counters["save_warps"] == sum(bin(e["live_warps"]).count("1") for e in entries)
        saved = [r for t in before for record in read_image(machine, t)[1].values() for r in record["registers"]]
        assert counters["save_registers"] == len(saved)

        machine.wreck()
        places = iter(layout(reversed(range(len(before)))))
        machine.place = lambda kernel: next(places)
        error, counters, took = await machine.command(ctx, resume=1, kernel=0, scramble=scramble)
        assert error == CommandError.NONE
        expect_restored(machine, before, mechanism, scramble, machine.started)
        check_protocol(machine)
        assert all(entry_of(machine, t, side=0)["state"] == State.DEMOTED for t in before)
        assert counters["restore_cycles"] <= took
        assert counters["restore_bytes"] == 64 * machine.g.context_entries + sum(e["length"] for e in entries)

        error, counters, _ = await machine.command(ctx, resume=1, kernel=0)
        assert error == CommandError.NONE and counters["restore_cycles"] == 0

    machine.run(scenario)


@pytest.mark.full
def test_streams_that_a_beat_holds_whole_come_back():
    """On a wide bus the unpacker has several streams in hand, each with a checksum that is not asked for yet."""
    g = GEOMETRIES["bus128"].replace(warps=16, tb_slots=8, registers=128)
    machine, _ = filled(g, 41, 0.0, shared=False, registers=3)
    for tb in machine.tbs.values():
        exited, warp = (machine.warps[slot] for slot in tb.slots)
        exited.live, warp.valid, warp.predicates, warp.uniforms, warp.stack = 0, 0, {}, {}, warp.stack[:1]
    before = {t: machine.snapshot(t) for t in machine.tbs}
    places = iter([(t, tb.base, tb.first_line, tb.slots) for t, tb in machine.tbs.items()])

    async def scenario(ctx):
        error, counters, _ = await machine.command(ctx, kernel=0, mechanism=Mechanism.LIVE)
        assert error == CommandError.NONE and counters["save_tbs"] == 8 and counters["save_registers"] == 0
        machine.wreck()
        machine.place = lambda kernel: next(places)
        error, _, _ = await machine.command(ctx, resume=1, kernel=0)
        assert error == CommandError.NONE
        expect_restored(machine, before, Mechanism.LIVE, False, machine.started)

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
    drain = 600  # longer than the other TB's save, whatever that holds
    for slot in machine.tbs[1].slots:
        machine.warps[slot].stops, machine.warps[slot].exits = 10**6, drain
    before = machine.snapshot(0)

    async def scenario(ctx):
        error, counters, took = await machine.command(ctx, kernel=0, mechanism=Mechanism.LIVE)
        assert error == CommandError.NONE and took > drain
        check_image(machine, 0, 0, before, Mechanism.LIVE)
        assert entry_of(machine, 1)["state"] == State.FREE and entry_of(machine, 1)["length"] == 0
        assert [what[2] for what in machine.log if what[1] == "release"] == [0] and not machine.tbs
        assert counters["save_tbs"] == 1 and counters["drain_cycles"] > 0

    machine.run(scenario)


@pytest.mark.full
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
        assert entry_of(machine, 0)["state"] == State.FREE and entry_of(machine, 1)["state"] == State.COMPLETE
        assert not machine.tbs

    machine.run(scenario)


def test_kernel_of_another_slot_is_left_alone():
    machine, _ = filled(TINY, 16, 0.0, drain=0)
    machine.kernels[2] = machine.kernels[0]
    machine.tbs[1].kernel = 2

    async def scenario(ctx):
        error, _, _ = await machine.command(ctx, kernel=0, mechanism=Mechanism.OCCUPIED)
        assert error == CommandError.NONE and list(machine.tbs) == [1]
        assert entry_of(machine, 1)["state"] == State.FREE

    machine.run(scenario)


APART = 20
"""Cycles that a command takes besides: pipelines fill, the first TB gets its room, the last head is written."""
LEFT_OUT = {"wide": (Mechanism.OCCUPIED, Mechanism.LIVE), "beats": (Mechanism.OCCUPIED,), "tiny": (Mechanism.LIVE,)}
LIMITED = [(name, mechanism, 40 if mechanism in LEFT_OUT[name] else None) for name in LEFT_OUT
           for mechanism in Mechanism]


@pytest.mark.parametrize("name, mechanism, latency", quick(
    LIMITED, [case for case in LIMITED if case[0] == "tiny" and case[2] is None]))
def test_save_and_restore_keep_to_the_time_limit(name, mechanism, latency):
    g = GEOMETRIES[name]
    latency = latency or g.memory_latency
    machine, layout = filled(g.replace(memory_latency=latency), 31, 0.0, drain=60)
    allowed = allowance(g)
    scalars = sum(len(warp.uniforms) + len(warp.predicates) for warp in machine.warps.values())  # move word by word
    fixed = allowed.warp_cycles * len(machine.warps) + scalars
    tbs = len(machine.tbs)

    async def scenario(ctx):
        error, c, _ = await machine.command(ctx, kernel=0, mechanism=mechanism)
        assert error == CommandError.NONE
        payload = c["save_data_bytes"] + c["save_metadata_bytes"]
        bus = max(payload / g.bus_bytes, c["save_registers"] * g.beats)
        trips = allowed.save_trips * (latency + 4)
        assert c["save_cycles"] - c["drain_cycles"] <= allowed.bus_factor * bus + trips + fixed + APART
        places, registers = iter(layout(range(tbs))), c["save_registers"]
        machine.place = lambda kernel: next(places)
        error, c, _ = await machine.command(ctx, resume=1, kernel=0)
        assert error == CommandError.NONE
        bus = max(c["restore_bytes"] / g.bus_bytes, registers * g.beats)
        assert c["restore_cycles"] <= allowed.bus_factor * bus + allowed.restore_trips * (latency + 4) + fixed + APART

    machine.run(scenario)


def test_a_single_tb_streams_without_gaps():
    machine, layout = filled(WIDE, 33, 0.0, drain=0, registers=12)
    for warp in machine.warps.values():
        warp.uniforms = {3: 17}

    async def scenario(ctx):
        error, c, _ = await machine.command(ctx, kernel=0, mechanism=Mechanism.OCCUPIED)
        assert error == CommandError.NONE
        areas = context.area_address(WIDE, CCB_BASE, 0, 0)
        beats = [what[0] for what in machine.log if what[1] == "write" and what[2] >= areas]
        assert beats[-1] - beats[0] + 1 <= 1.05 * len(beats) + 16
        places = iter(layout(range(3)))
        machine.place = lambda kernel: next(places)
        error, c, _ = await machine.command(ctx, resume=1, kernel=0)
        read = machine.memory.read_bytes / WIDE.bus_bytes
        assert c["restore_cycles"] <= 1.05 * read + 4 * (WIDE.memory_latency + 8)

    machine.run(scenario)


@pytest.mark.full
@pytest.mark.parametrize("random", (0, 1, 2, 8),
                         ids=lambda n: f"every {n}th random" if n else "none random")
def test_mixed_registers_keep_to_the_time_limit(random):
    g, latency = WIDE.replace(warps=12, registers=256, tb_slots=2), 20
    machine, layout = filled(g, 34, 0.0, drain=0, registers=18, block_x=32, shared=False)
    for warp in machine.warps.values():
        warp.valid, warp.live_vector, warp.launched = (1 << 18) - 1, (1 << 54) - 1, (1 << 32) - 1
        warp.stack, warp.predicates, warp.uniforms = warp.stack[:2], {2: 5}, {7: 9}
        for r in range(18):
            kind = random and (r + warp.block_warp) % random == 0
            base, step = machine.bits(32), r % 2
            machine.file[warp.base + r] = [machine.bits(32) if kind else base + step * k & 0xFFFF_FFFF
                                           for k in range(32)]
    before = {t: machine.snapshot(t) for t in machine.tbs}

    async def scenario(ctx):
        error, c, _ = await machine.command(ctx, kernel=0, mechanism=Mechanism.LIVE_CP)
        assert error == CommandError.NONE
        stream = max((c["save_data_bytes"] + c["save_metadata_bytes"]) / g.bus_bytes, c["save_registers"] * g.beats)
        assert c["save_cycles"] - c["drain_cycles"] <= 1.1 * stream + 3 * (latency + 4) + 4 * len(before) * 6
        places = iter(layout(range(2)))
        machine.place = lambda kernel: next(places)
        error, c, _ = await machine.command(ctx, resume=1, kernel=0)
        assert error == CommandError.NONE
        assert c["restore_cycles"] <= 1.1 * stream + 4 * (latency + 4) + 4 * len(before) * 6
        expect_restored(machine, before, Mechanism.LIVE_CP, 0, machine.started)

    machine.run(scenario)


@pytest.mark.full
def test_shared_lines_move_while_registers_do():
    """On a bus as wide as a register: what compresses well leaves it to the lines; both together take less than one
    after the other, memory's latency and all that is fixed included."""
    tbs, warps, registers, lines = 4, 4, 16, 48
    g = GEOMETRIES["bus128"].replace(warps=tbs * warps, tb_slots=tbs, registers=tbs * warps * registers,
                                     shared_bytes=tbs * lines * 128)
    machine, layout = filled(g, 34, 0.0, drain=0, registers=registers, block_x=32)
    machine.lines_valid = (1 << g.shared_lines) - 1
    for warp in machine.warps.values():
        warp.valid, warp.live_vector, warp.live = (1 << registers) - 1, ALL_LIVE, warp.launched
        for r in range(registers):
            base = machine.bits(32)
            machine.file[warp.base + r] = [base + r % 2 * k & 0xFFFF_FFFF for k in range(32)]
    before = {t: machine.snapshot(t) for t in machine.tbs}

    async def scenario(ctx):
        error, c, _ = await machine.command(ctx, kernel=0, mechanism=Mechanism.LIVE_CP)
        assert error == CommandError.NONE and c["save_lines"] == tbs * lines
        together = c["save_registers"] + c["save_lines"]
        assert c["save_registers"] == tbs * warps * registers and c["save_cycles"] - c["drain_cycles"] < together
        places = iter(layout(range(tbs)))
        machine.place = lambda kernel: next(places)
        error, c, _ = await machine.command(ctx, resume=1, kernel=0, gang=1)
        assert error == CommandError.NONE and c["restore_cycles"] < together
        expect_restored(machine, before, Mechanism.LIVE_CP, 0, machine.started)

    machine.run(scenario)


def test_warp_without_saved_registers_has_an_empty_row_of_the_encoding_table():
    machine, layout = filled(SMALL, 35, 0.0, drain=0)

    async def scenario(ctx):
        for generation in (1, 2):  # codes of the first save must not be seen in the second
            before = {t: machine.snapshot(t) for t in machine.tbs}
            error, _, _ = await machine.command(ctx, kernel=0, mechanism=Mechanism.LIVE_CP)
            assert error == CommandError.NONE
            for t in before:
                image = check_image(machine, t, 0, before[t], Mechanism.LIVE_CP, side=generation - 1)
                assert image["generation"] == generation
            places = iter(layout(range(len(before))))
            machine.place = lambda kernel, places=places: next(places)
            error, _, _ = await machine.command(ctx, resume=1, kernel=0)
            assert error == CommandError.NONE
            for t, row in machine.tbs.items():
                machine.entry[t] = row.entry
            for number, warp in enumerate(machine.warps.values()):
                warp.stops = 0
                warp.valid &= -(number % 2)

    for warp in machine.warps.values():
        warp.valid, warp.live_vector = 7, 7
    machine.run(scenario)


@pytest.mark.full
def test_uniform_registers_are_repeated_within_a_tb_from_one_warp_to_the_next_only():
    """The first warp of a TB repeats nothing, though the last one of another TB had the same; nor is a register left
    out that had the same value two warps before, but was not saved in between."""
    machine, layout = filled(SMALL.replace(tb_slots=2), 47, 0.0, drain=0)
    for row in machine.tbs.values():
        for number, slot in enumerate(sorted(row.slots)):  # as they are saved
            warp = machine.warps[slot]
            warp.live, warp.live_vector, warp.valid = warp.launched, ALL_LIVE, 0
            warp.uniforms = {3: 0xA5A5} if number == 1 else {2: 0x1111, 3: 0xA5A5, 6: 0x2222}
    before = {t: machine.snapshot(t) for t in machine.tbs}

    async def scenario(ctx):
        error, _, _ = await machine.command(ctx, kernel=0, mechanism=Mechanism.LIVE_TB)
        assert error == CommandError.NONE
        for t in before:
            check_image(machine, t, 0, before[t], Mechanism.LIVE_TB)
            own = [record["own_uniforms"] for record in read_image(machine, t)[1].values()]
            assert own == [{2: 0x1111, 3: 0xA5A5, 6: 0x2222}, {3: 0xA5A5}, {2: 0x1111, 6: 0x2222}]
        machine.wreck()
        places = iter(layout(range(len(before))))
        machine.place = lambda kernel: next(places)
        error, _, _ = await machine.command(ctx, resume=1, kernel=0)
        assert error == CommandError.NONE
        expect_restored(machine, before, Mechanism.LIVE_TB, False, machine.started)

    machine.run(scenario)
