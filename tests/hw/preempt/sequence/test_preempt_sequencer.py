"""The preempt sequencer among a save pipeline, a committer and warps that stop or exit when they like."""

import random

import pytest

from caesura.hw.arch.faults import CommandError
from caesura.hw.arch.geometry import preset
from caesura.hw.arch.image.context import State
from caesura.hw.preempt.sequence.preempt_sequencer import PreemptSequencer
from support.hw.options import nested
from support.hw.simulation import component
from support.hw.stream_bench import simulate, value
from support.selection import quick

GEOMETRIES = {"tiny": preset("tiny"), "6 TBs": preset("tiny").replace(warps=12, tb_slots=6, kernel_slots=3),
              "no checkpoints": preset("tiny").replace(warps=8, tb_slots=4, checkpoints=False, in_place=False)}
GENERATION, LIMIT = 0xBEEF, 1500


class Pipeline:
    """The TB being saved: it is done some cycles after the last of its warps has stopped or exited."""

    def __init__(self, tb, row):
        self.tb, self.row, self.time = tb, row, 0


class Bench:
    """One preempt after the other.

    Parameters
    ----------
    exits : float
        Chance that a warp exits rather than stops.
    fails : set of State or str
        What fails: data, once; the first head of a state.
    withdraws : float
        Chance in each cycle that the preempt is withdrawn.
    parks : bool
        One TB of the kernel has not been started.
    **says : int
        What else the command says: `checkpoint`, `incremental`, `restart`, `in_place`.
    """

    def __init__(self, g, seed, exits, fails=(), withdraws=0.0, parks=False, **says):
        self.g, self.rng, self.exits, self.fails = g, random.Random(seed), exits, set(fails)
        self.withdraws, self.parks = withdraws, parks
        self.says, self.checkpoint = says, bool(says.get("checkpoint"))
        self.increments = says == {"incremental": 1}
        self.chosen = set()  # of the TBs saved, whether they had a base, and their sides
        self.dut = component(PreemptSequencer, g)

    def fill(self):
        """Some TBs of the kernel, some of another; every TB has started, as the dispatcher sees to."""
        g, rng = self.g, self.rng
        self.kernel, *others = rng.sample(range(3), 3)
        slots, entries = rng.sample(range(g.warps), g.warps), rng.sample(range(g.tb_slots), g.tb_slots)
        self.rows = [{"valid": 0}] * g.tb_slots
        for tb in rng.sample(range(g.tb_slots), rng.choice([g.tb_slots, rng.randint(0, g.tb_slots)])):
            mine, slots = slots[:rng.randint(1, g.warps // g.tb_slots)], slots[g.warps // g.tb_slots:]
            self.rows[tb] = {"valid": 1, "started": 1, "warps": sum(1 << slot for slot in mine),
                             "kernel": rng.choice((self.kernel,) * 4 + (*others,)), "entry": entries[tb],
                             "base": rng.randrange(g.registers), "first_line": rng.randrange(g.shared_lines),
                             "lines": rng.choice((0, rng.randrange(g.shared_lines))),
                             **{name: rng.getrandbits(32) for name in ("launch_id", "ctaid_x", "local_base")},
                             **{name: rng.getrandbits(16) for name in ("ctaid_y", "ctaid_z")}}
        self.slot_of = {entry: tb for tb, entry in enumerate(entries)}
        self.bases, self.base_sides = (rng.getrandbits(g.tb_slots) * g.checkpoints for _ in range(2))
        self.crcs = [rng.getrandbits(32) for _ in range(g.tb_slots)]  # of the entry of each base
        self.spared = rng.getrandbits(g.tb_slots) * (rng.random() < 0.4)  # a vector of entries
        self.ours = {tb for tb, row in enumerate(self.rows) if row["valid"] and row["kernel"] == self.kernel
                     and not self.spared >> row["entry"] & 1}
        self.stopped = self.exited = 0
        self.pipeline, self.heads, self.failing = None, [], set(self.fails)
        self.begun, self.ended, self.committing = [], set(), {}
        self.committed, self.dropped, self.write_error = set(), set(), False
        self.junk = {"valid": 0, "kernel": self.kernel, "started": rng.getrandbits(1),
                     "warps": rng.getrandbits(g.warps), "entry": rng.randrange(g.tb_slots)}  # in a row that is free
        self.over = 0  # warps that run on after they were saved
        self.before = None
        self.withdrawn = False
        self.plan = [rng.getrandbits(g.tb_slots) for _ in range(2)]  # registers, lines that may stay
        self.planned = rng.randrange(60)  # cycles until it is known
        self.stays = {}  # what of the TBs that were handed over stays

    def running(self, tb):
        return self.rows[tb].get("warps", 0) & ~self.stopped & ~self.exited

    def left(self, tb):
        return self.rows[tb].get("warps", 0) & ~self.exited

    def warps_go_on(self):
        rng, g = self.rng, self.g
        for slot in range(g.warps):
            if not (self.stopped | self.exited) >> slot & 1 and rng.random() < self.pace:
                if rng.random() < self.exits:
                    self.exited |= 1 << slot
                elif not self.over >> slot & 1:
                    self.stopped |= 1 << slot

    def inputs(self, ctx):
        """Set what the neighbours say in this cycle; return the tally and the event."""
        g, dut, rng, pipeline = self.g, self.dut, self.rng, self.pipeline
        for tb, row in enumerate(self.rows):
            if row["valid"] and self.over & row["warps"] and not self.left(tb):
                self.rows[tb] = row = {"valid": 0}  # it has ended after it was saved
            ctx.set(dut.resident[tb], row if row["valid"] else self.junk)
        ctx.set(dut.stopped, self.stopped)
        ctx.set(dut.exited, self.exited)
        waits = pipeline is not None and self.running(pipeline.tb) != 0 and pipeline.time == 0
        tally = {"valid": 0, "ended": rng.getrandbits(1), "tb": rng.randrange(g.tb_slots)}
        if pipeline is not None and not waits:
            pipeline.time += 1
            if pipeline.time > 4 + pipeline.tb:
                tally = {"valid": 1, "tb": pipeline.tb, "ended": not self.left(pipeline.tb)}
        event = {"valid": 0, "state": rng.choice((State.COMPLETE, State.BASE)), "entry": rng.randrange(g.tb_slots)}
        if self.heads and rng.random() < 0.3:
            event = {"valid": 1, **self.heads.pop(0)}
        ctx.set(dut.tally, tally)
        ctx.set(dut.warps_awaited, waits)
        ctx.set(dut.data_flowing, pipeline is not None and not waits)
        ctx.set(dut.save_idle, pipeline is None)
        ctx.set(dut.target.ready, pipeline is None)
        ctx.set(dut.head_event, event)
        ctx.set(dut.beats_pending, bool(self.committing))
        ctx.set(dut.commit_idle, not self.heads and not event["valid"] and not self.committing)
        ctx.set(dut.write_error, self.write_error)
        ctx.set(dut.base_crc, self.crcs[ctx.get(dut.base_select)])
        self.withdrawn |= rng.random() < self.withdraws
        ctx.set(dut.withdraw, self.withdrawn)
        self.planned -= 1
        ctx.set(dut.plan, {"done": self.planned <= 0, "keep_registers": self.plan[0], "keep_lines": self.plan[1]})
        self.room, self.row = rng.getrandbits(1), rng.randrange(g.tb_slots)
        ctx.set(dut.row_free, self.room)
        ctx.set(dut.free_row, self.row)
        return tally, event

    def acknowledge(self, event):
        """The committer's side of an event; a failed head is an error from the next cycle on."""
        if event["error"]:
            self.write_error = True

    def commit(self):
        """Data is written; `COMPLETE` or `BASE` follows, unless something has failed."""
        for tb in list(self.committing):
            self.committing[tb] -= 1
            if self.committing[tb] == 0:
                del self.committing[tb]
                self.write_error |= self.fail("data")
                if not self.write_error:
                    self.send(tb, State.BASE if self.checkpoint else State.COMPLETE)

    def send(self, tb, state):
        self.heads.append({"entry": self.rows[tb]["entry"], "state": state, "error": self.fail(state)})

    def fail(self, what):
        """Whether a write fails: the first of those that are to."""
        fails = what in self.failing
        self.failing.discard(what)
        return fails

    async def cycle(self, ctx):
        """Run a cycle; return the result if there is one."""
        dut = self.dut
        self.warps_go_on()
        tally, event = self.inputs(ctx)
        claim = ctx.get(dut.claim)
        self.check_draining(ctx, claim)
        target = ctx.get(dut.target.payload) if ctx.get(dut.target.valid) else None
        if target is not None and target.tb not in self.begun:
            self.check_choice(target)
        ours = [tb for tb in self.ours if self.rows[tb]["valid"]]
        assert ctx.get(dut.kernel_tbs) == sum(1 << tb for tb in ours)
        wanted = sum(1 << tb for tb in ours if tb not in self.committed and (tb in self.begun or not self.withdrawn))
        gone_early = sum(1 << tb for tb in ours if not self.left(tb))  # begun, and ended, at once
        assert ctx.get(dut.stop_pending) & ~gone_early == wanted & ~gone_early
        assert ctx.get(dut.stop_now) == (ctx.get(dut.stop_pending) if self.withdrawn else 0)
        stays = self.check_staying(ctx, target)
        state = (self.stopped, self.exited, {tb for tb in range(self.g.tb_slots) if claim >> tb & 1},
                 self.write_error or self.withdrawn or (bool(self.says.get("in_place")) and self.planned > 0))
        _, _, taken, release, clean, dropped, done = await ctx.tick().sample(
            dut.target.valid & dut.target.ready, dut.release, dut.clean, dut.claim_dropped, dut.done)
        self.before = state
        if event["valid"]:
            self.acknowledge(event)
        gone = {tb for tb in state[2] if tb not in self.begun and not self.left(tb)}
        if tally["valid"] and tally["ended"]:
            gone.add(tally["tb"])
        self.ended |= gone
        committed = event["valid"] and not event["error"]
        assert dropped == (committed or bool(gone))
        assert (release.valid, clean.valid) == ((0, committed) if self.checkpoint else (committed, 0))
        if committed:
            self.commits((clean if self.checkpoint else release).tb, event["entry"], gone)
        for tb in gone:
            self.dropped.add(tb)
            self.rows[tb] = {"valid": 0}
        self.commit()
        if tally["valid"]:
            if not tally["ended"]:
                self.committing[tally["tb"]] = self.rng.randint(1, 12)
            self.pipeline = None
        if taken:
            row = value(target.row)
            assert self.pipeline is None and {name: row[name] for name in self.rows[target.tb]} == self.rows[target.tb]
            self.stays[target.tb] = stays
            self.pipeline = Pipeline(target.tb, self.rows[target.tb])
        assert claim & ~sum(1 << tb for tb in self.ours) == 0, "a TB of another kernel is claimed"
        return done if done.valid else None

    def commits(self, tb, entry, gone):
        """A TB is saved: it is gone, or it runs on."""
        assert tb == self.slot_of[entry]
        self.committed.add(tb)
        self.dropped.add(tb)
        if self.checkpoint:
            self.over |= self.rows[tb]["warps"]
            self.stopped &= ~self.rows[tb]["warps"]
        else:
            gone.add(tb)

    def check_choice(self, target):
        """A new target was chosen in the cycle before: is it one that may be saved, and are whole ones preferred?"""
        stopped, exited, claim, error = self.before
        assert target.tb in claim and not error, "not claimed, or begun after an error"
        def whole(tb):
            warps = self.rows[tb].get("warps", 0)
            return warps & ~exited and not warps & ~stopped & ~exited
        candidates = [tb for tb in claim if tb not in self.begun and whole(tb)]
        assert self.rows[target.tb]["warps"] & stopped
        assert whole(target.tb) or not candidates, "a TB with running warps before one without"
        entry = self.rows[target.tb]["entry"]
        based = self.bases >> entry & 1
        assert target.side == (based and not self.base_sides >> entry & 1), "over its base, or where none is looked for"
        assert target.increment == (based and self.increments)
        assert not target.increment or target.base_crc == self.crcs[entry]
        self.chosen.add((based, target.side))
        self.begun.append(target.tb)

    def check_staying(self, ctx, target):
        """What of the TB that is offered stays on the SM is what the plan says, if there is a row for it; return it."""
        if not self.g.in_place or target is None:
            assert not ctx.get(self.dut.row_reserve)
            return 0, 0
        keeps = bool(self.says.get("in_place")) and self.room
        stays = tuple(int(keeps and vector >> target.tb & 1) for vector in self.plan)
        stays = stays[0], int(stays[1] and self.rows[target.tb]["lines"] != 0)
        assert (target.registers, target.lines, target.staying, target.evict) == (*stays, self.row, 0)
        assert ctx.get(self.dut.row_reserve) == (ctx.get(self.dut.target.ready) and any(stays))
        return stays

    def check_draining(self, ctx, claim):
        dut = self.dut
        todo = [tb for tb in self.ours if tb not in self.begun and tb not in self.dropped]
        over = [tb for tb in todo if not self.left(tb)]
        ready = [tb for tb in todo if tb not in over and self.rows[tb]["warps"] & self.stopped]
        busy = ctx.get(dut.data_flowing) or ctx.get(dut.beats_pending)
        if ctx.get(dut.draining):
            assert not busy and (ctx.get(dut.warps_awaited) or set(todo) - set(over) and not ready)
        elif claim and not busy and not self.pipeline and not ctx.get(dut.target.valid) and not self.withdrawn:
            assert ready or over or not todo, "nothing can be saved"

    async def preempt(self, ctx, pace):
        """Run a preempt to its end; return the error."""
        dut = self.dut
        self.pace = pace
        self.fill()
        if self.parks:
            entry, tb = self.rng.choice([*self.slot_of.items()])
            warps = self.rows[tb].get("warps", 0)
            self.rows[tb] = {"valid": 1, "started": 0, "kernel": self.kernel, "entry": entry, "warps": warps}
            self.ours.discard(tb)
        ctx.set(dut.accepted, nested(dut.accepted.shape(), {
            "kernel": self.kernel, "generation": GENERATION, "spared": self.spared, **self.says}))
        ctx.set(dut.bases, self.bases)
        ctx.set(dut.base_sides, self.base_sides)
        self.inputs(ctx)
        ctx.set(dut.begin, 1)
        assert not ctx.get(dut.draining)
        await ctx.tick()
        ctx.set(dut.begin, 0)
        for _ in range(LIMIT):
            done = await self.cycle(ctx)
            if done is not None:
                break
        else:
            raise TimeoutError("the preempt does not end")
        assert ctx.get(dut.claim) == 0 and self.pipeline is None and not self.heads
        return done.error

    def run(self, count=1, pace=0.05):
        """Run preempts; return the error of each."""
        errors = []

        async def bench(ctx):
            for _ in range(count):
                errors.append(await self.preempt(ctx, pace))
                if not errors[-1] and not self.withdrawn:
                    assert self.dropped == self.ours and self.committed == self.ours - self.ended

        simulate(self.dut, bench, cycles=count * (LIMIT + 2))
        return errors


@pytest.mark.parametrize("name", GEOMETRIES)
@pytest.mark.parametrize("exits, pace", [(0.0, 0.05), (0.4, 0.05), (1.0, 0.05), (0.3, 0.5)])
def test_every_tb_of_the_kernel_is_saved_or_has_ended(name, exits, pace):
    assert Bench(GEOMETRIES[name], f"{name} {exits} {pace}", exits).run(2, pace) == [CommandError.NONE] * 2


@pytest.mark.parametrize("exits, pace", [(0.0, 0.05), (0.4, 0.05), (0.3, 0.5)])
def test_after_a_checkpoint_tbs_are_clean_and_run_on(exits, pace):
    bench = Bench(GEOMETRIES["6 TBs"], f"{exits} {pace}", exits, checkpoint=1)
    assert bench.run(2, pace) == [CommandError.NONE] * 2
    assert exits or bench.committed and all(bench.rows[tb]["valid"] for tb in bench.ours)


@pytest.mark.parametrize("says", quick(
    [(("incremental",),), (("incremental", "checkpoint"),), (("incremental", "restart"),)],
    [(("incremental", "restart"),)]))
def test_increments_are_saved_of_tbs_that_have_a_base_unless_they_become_bases_or_begin_anew(says):
    bench = Bench(GEOMETRIES["6 TBs"], f"{says}", 0.1, **dict.fromkeys(says, 1))
    assert bench.run(12, 0.5) == [CommandError.NONE] * 12
    assert bench.chosen == {(0, 0), (1, 0), (1, 1)}


@pytest.mark.parametrize("fails, checkpoint", [("data", 0), (State.COMPLETE, 0), ("data", 1), (State.BASE, 1)])
def test_after_a_write_error_what_is_not_committed_stays(fails, checkpoint):
    for seed in range(3):
        bench = Bench(GEOMETRIES["6 TBs"], seed + 20, 0.1, fails={fails}, checkpoint=checkpoint)
        error, = bench.run(1)
        if bench.write_error:
            assert error == CommandError.BUS_ERROR and bench.committed <= bench.ours
            assert all(bench.rows[tb]["valid"] for tb in bench.ours - bench.dropped)
        else:
            assert error == CommandError.NONE and bench.ours == bench.ended


@pytest.mark.parametrize("checkpoint", [0, 1])
def test_one_that_is_withdrawn_begins_no_further_tb(checkpoint):
    bench = Bench(GEOMETRIES["6 TBs"], checkpoint, 0.1, withdraws=0.01, checkpoint=checkpoint)
    left, finish = [], Bench.preempt

    async def preempt(ctx, pace):
        error = await finish(bench, ctx, pace)
        saved = bench.ours - bench.ended
        assert bench.committed == saved & set(bench.begun) or bench.committed == saved
        assert all(bench.rows[tb]["valid"] for tb in bench.ours - bench.dropped)
        left.append(len(saved - bench.committed))
        return error

    bench.preempt = preempt
    assert bench.run(20) == [CommandError.NONE] * 20
    assert any(left) and not all(left)


def test_a_tb_that_is_parked_is_an_error_and_stays():
    bench = Bench(GEOMETRIES["6 TBs"], 1, 0.0, parks=True)
    assert bench.run(8, 0.5) == [CommandError.BUS_ERROR] * 8
    assert all(row["valid"] for row in bench.rows if not row.get("started", 1))


def test_what_may_stay_of_a_tb_stays_where_there_is_a_row_for_it():
    bench = Bench(GEOMETRIES["6 TBs"], 3, 0.1, in_place=1)
    seen, finish = set(), Bench.preempt

    async def preempt(ctx, pace):
        error = await finish(bench, ctx, pace)
        seen.update(bench.stays.values())
        return error

    bench.preempt = preempt
    assert bench.run(12, 0.5) == [CommandError.NONE] * 12
    assert seen == {(0, 0), (0, 1), (1, 0), (1, 1)}


def test_a_kernel_without_tbs_ends_at_once():
    dut = component(PreemptSequencer, GEOMETRIES["tiny"])

    async def bench(ctx):
        for signal in (dut.save_idle, dut.commit_idle, dut.target.ready):
            ctx.set(signal, 1)
        ctx.set(dut.resident[0], {"valid": 1, "started": 1, "kernel": 0, "warps": 3})
        ctx.set(dut.accepted.kernel, 1)
        ctx.set(dut.begin, 1)
        await ctx.tick()
        ctx.set(dut.begin, 0)
        for _ in range(4):
            assert not ctx.get(dut.claim)
            if ctx.get(dut.done.valid):
                return
            await ctx.tick()
        raise TimeoutError("the preempt does not end")

    simulate(dut, bench)
