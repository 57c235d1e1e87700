"""Commands of the preemption engine that are withdrawn, or dropped since their kernel is killed, at any cycle."""

import pytest

from caesura.hw.arch.faults import CommandError
from caesura.hw.arch.image.context import Mechanism, State
from support.hw.preempt.images import at_home, check_image, entry_of, expect_restored, filled
from support.hw.preempt.machine import GEOMETRIES, SMALL
from support.selection import quick


def from_cycle(machine, port, moment):
    """Return what raises an input of the engine from a cycle of a command on."""
    def during(cycle):
        machine.put(port, cycle >= moment)
    return during


async def whole(machine, ctx, **command):
    """Run a command that nothing disturbs."""
    machine.put(machine.dut.withdraw, 0)
    machine.put(machine.dut.cancel, 0)
    machine.drive(ctx)
    error, _, took = await machine.command(ctx, kernel=0, **command)
    assert error == CommandError.NONE
    return took


def filler(machine):
    """Return what fills the SM as it was at first, with other TBs that all stop at once, and gives their snapshots."""
    homes = [(t, row.launch_id, row.base, row.first_line, list(row.slots)) for t, row in machine.tbs.items()]
    machine.place = at_home(machine)

    def afresh():
        machine.warps.clear()
        machine.tbs.clear()
        machine.admissions.clear()
        machine.dead_written.clear()
        machine.started.clear()
        for t, launch_id, base, first_line, slots in homes:
            machine.add_tb(t, 0, launch_id, base, first_line, slots)
        return {t: machine.snapshot(t) for t in machine.tbs}

    return afresh


@pytest.mark.parametrize("mechanism, step", quick(
    [(mechanism, step) for mechanism in Mechanism for step in (11, 97)],
    [(Mechanism.OCCUPIED, 97), (Mechanism.LIVE_CP, 97)]))
def test_a_preempt_withdrawn_at_any_cycle_saves_what_it_began_and_nothing_more(mechanism, step):
    machine, _ = filled(SMALL, f"withdrawn {mechanism}", 0.1, drain=0)
    afresh = filler(machine)
    ends = set()

    async def scenario(ctx):
        moment, last = 0, 0
        while last < SMALL.tb_slots:
            before = afresh()
            stays = moment % (3 * step) == step  # one TB never stops by itself
            for slot in machine.tbs[1].slots:
                machine.warps[slot].stops = stays * 10**6
            result = await machine.attempt(ctx, machine.now + 5000, from_cycle(machine, machine.dut.withdraw, moment),
                                           kernel=0, mechanism=mechanism)
            assert result.error == CommandError.NONE and not result.left
            away = {t: old for t, old in before.items() if t not in machine.tbs}
            ends.add(len(away))
            last = 0 if stays else len(away)
            for t, old in away.items():
                check_image(machine, t, 0, old, mechanism)
            for t in machine.tbs:
                assert machine.tbs[t].started and machine.snapshot(t) == before[t]
            await whole(machine, ctx, resume=1)
            expect_restored(machine, away, mechanism, 0, set(machine.started))
            moment += step

    machine.run(scenario)
    assert {0, SMALL.tb_slots} <= ends


@pytest.mark.parametrize("gang, step", quick(
    [(gang, step) for gang in (0, 1) for step in (3, 13, 53)], [(0, 53)]))
def test_a_resume_withdrawn_at_any_cycle_leaves_each_tb_in_one_place(gang, step):
    machine, _ = filled(SMALL, "resume", 0.1, drain=0)
    afresh = filler(machine)
    ends = set()

    async def scenario(ctx):
        moment, back = 0, 0
        while back < SMALL.tb_slots:
            before = afresh()
            await whole(machine, ctx, mechanism=Mechanism.LIVE)
            machine.wreck()
            result = await machine.attempt(ctx, machine.now + 5000, from_cycle(machine, machine.dut.withdraw, moment),
                                           kernel=0, resume=1, gang=gang)
            back = len(machine.tbs)
            assert result.error == CommandError.NONE and result.left == (back < len(before))
            here = {tb.entry for tb in machine.tbs.values()}
            assert all(tb.started for tb in machine.tbs.values())
            for t, old in before.items():
                assert entry_of(machine, t)["state"] == (State.DEMOTED if old["entry"] in here else State.COMPLETE)
            ends.add(back)
            if result.left:
                await whole(machine, ctx, resume=1, again=1)
            expect_restored(machine, before, Mechanism.LIVE, 0, set(machine.started))
            moment += step

    machine.run(scenario)
    assert {0, SMALL.tb_slots} < ends


@pytest.mark.parametrize("name, mechanism, step, last", quick(
    [(name, mechanism, step, last) for name in ("tiny", "bus4", "wide") for mechanism in Mechanism
     for step, last in ((3, 60), (17, 10**9))],
    [("tiny", Mechanism.LIVE_CP, 131, 10**9)]))
@pytest.mark.parametrize("resume", (0, 1))
def test_a_command_cancelled_at_any_cycle_writes_nothing_more_and_leaves_nothing_behind(name, mechanism, step, last,
                                                                                       resume):
    machine, _ = filled(GEOMETRIES[name], f"cancelled {name}", 0.2, drain=5)
    afresh = filler(machine)

    async def scenario(ctx):
        moment, took = 0, 1
        while moment < min(took, last):
            afresh()
            if resume:
                await whole(machine, ctx, mechanism=mechanism)
            began = machine.now
            del machine.log[:]
            cancelled = []

            def during(cycle, moment=moment, cancelled=cancelled):
                if cycle >= moment:
                    if not cancelled:
                        cancelled.append(machine.now)
                    machine.put(machine.dut.cancel, 1)

            await machine.attempt(ctx, began + 8000, during, kernel=0, resume=resume, mechanism=mechanism)
            machine.put(machine.dut.cancel, 0)
            if cancelled:
                after = [beat for cycle, what, _, *beat in machine.log if what == "write" and cycle > cancelled[0] + 1]
                assert not any(strobe for _, strobe, _ in after)
                assert not machine.memory.requests and not machine.memory.reads and not machine.memory.acks
            # a new launch in the same slot: nothing of the old one counts
            before = afresh()
            ctx.set(machine.dut.start, 1)
            await machine.cycle(ctx)
            ctx.set(machine.dut.start, 0)
            took = max(took, await whole(machine, ctx, mechanism=mechanism))
            for t in before:
                check_image(machine, t, 0, before[t], mechanism)
            machine.wreck()
            took = max(took, await whole(machine, ctx, resume=1))
            expect_restored(machine, before, mechanism, 0, set(machine.started))
            moment += step

    machine.run(scenario)


@pytest.mark.full
def test_a_tb_whose_demotion_is_acknowledged_as_its_kernel_is_killed_is_not_started():
    """In the first cycle in which the dispatcher drops the TBs that have not been started."""
    machine, _ = filled(SMALL, "demoted", 0.0, drain=0)
    afresh = filler(machine)
    started = []

    async def scenario(ctx):
        for late in range(-2, 4):  # after the first answer to a write
            afresh()
            ctx.set(machine.dut.start, 1)
            await machine.cycle(ctx)
            ctx.set(machine.dut.start, 0)
            await whole(machine, ctx, mechanism=Mechanism.LIVE)
            del machine.started[:]
            answers = []

            def during(cycle, late=late, answers=answers):
                answers.extend(when for when, *_ in machine.memory.acks)
                machine.put(machine.dut.cancel, bool(answers) and machine.now >= answers[0] + late)
                assert not (ctx.get(machine.dut.flushing) and ctx.get(machine.dut.launch.start.valid))

            await machine.attempt(ctx, machine.now + 5000, during, kernel=0, resume=1)
            started.append(len(machine.started))

    machine.run(scenario)
    assert started[0] == 0 and started[-1] > 0


@pytest.mark.parametrize("full, step", quick([(0, 2), (1, 2), (0, 20), (1, 20)], [(0, 20), (1, 20)]))
def test_what_an_admission_of_a_killed_kernel_is_answered_says_nothing_to_the_next_resume(full, step):
    """The answer comes when the kernel is dropped and another one is waiting for its resume, with no TB of entry 0."""
    machine, _ = filled(SMALL, "late", 0.0, drain=0, latency=1)
    afresh = filler(machine)
    machine.add_kernel(1, registers=3, warps=1, shared_bytes=0)
    machine.kernels[1].ccb_base = 0x20000
    machine.full_until = {200: full * 10**9}

    async def killed(ctx, late):
        """Save a TB of kernel 1, of which a beat or two are read, and kill it when its TB asks for room."""
        machine.add_tb(0, 1, 200, 0, 0, [0])
        warp = machine.warps[0]
        warp.valid, warp.predicates, warp.uniforms, warp.stack = 0, {}, {}, warp.stack[:1]
        machine.put(machine.dut.cancel, 0)
        result = await machine.attempt(ctx, machine.now + 2000, kernel=1, mechanism=Mechanism.LIVE)
        assert result.error == CommandError.NONE
        machine.admission_cycles = lambda kernel: 1 + late if kernel else 3
        cancelled = []

        def during(cycle):
            cancelled.append(any(cancelled) or ctx.get(machine.dut.admit.valid))
            machine.put(machine.dut.cancel, cancelled[-1])

        await machine.attempt(ctx, machine.now + 2000, during, kernel=1, resume=1)
        assert cancelled[-1]
        machine.put(machine.dut.cancel, 0)

    def drop(which):
        for t in [t for t, tb in machine.tbs.items() if which(tb)]:
            for slot in machine.tbs.pop(t).slots:
                machine.warps.pop(slot, None)

    def discarding(cycle):
        """The dispatcher frees the TB of the killed kernel."""
        drop(lambda tb: tb.kernel == 1)

    async def scenario(ctx):
        for late in range(full, 41, step):
            afresh()
            drop(lambda tb: tb.entry == 0)
            before = {t: machine.snapshot(t) for t in machine.tbs}
            ctx.set(machine.dut.start, 0b11)
            await machine.cycle(ctx)
            ctx.set(machine.dut.start, 0)
            await whole(machine, ctx, mechanism=Mechanism.LIVE)
            await killed(ctx, late)
            result = await machine.attempt(ctx, machine.now + 2000, discarding, kernel=0, resume=1)
            assert result.error == CommandError.NONE and not result.left
            expect_restored(machine, before, Mechanism.LIVE, 0, set(machine.started))

    machine.run(scenario)


@pytest.mark.full
def test_a_command_cancelled_while_memory_does_not_answer_ends_when_it_does():
    machine, _ = filled(SMALL, 5, 0.0, drain=0, latency=3000)

    async def scenario(ctx):
        flushing = []

        def during(cycle):
            machine.put(machine.dut.cancel, cycle >= 80)
            flushing.append(ctx.get(machine.dut.flushing))

        begin = machine.now
        await machine.attempt(ctx, begin + 9000, during, kernel=0, mechanism=Mechanism.LIVE)
        assert machine.now - begin > 3000 and flushing.index(1) < 85 and all(flushing[flushing.index(1):-1])
        assert not machine.memory.acks

    machine.run(scenario)
