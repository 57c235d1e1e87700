"""The resume sequencer among a dispatcher with little room, reads ahead, a restore pipeline and a committer."""

import random

import pytest

from caesura.hw.arch.faults import CommandError
from caesura.hw.arch.geometry import preset
from caesura.hw.arch.image.context import CCB_ENTRY, State
from caesura.hw.preempt.sequence.resume_sequencer import ResumeSequencer
from support.hw.simulation import component
from support.hw.stream_bench import simulate, value
from support.selection import quick

GEOMETRIES = {"bus of 4": preset("tiny").replace(bus_bytes=4, bytes_per_cycle=4),
              "bus of 16": preset("tiny").replace(bus_bytes=16, warps=12, tb_slots=6, kernel_slots=3),
              "no checkpoints": preset("tiny").replace(warps=8, tb_slots=4, checkpoints=False, in_place=False)}
CCB_BASE, ROW_WORDS, LIMIT = 0x10_0000, 5, 2500
PLACE = "ctaid_x", "ctaid_y", "ctaid_z", "launch_id", "local_base"


class Bench:
    """One resume after the other.

    Parameters
    ----------
    gang : int
    room : int
        TBs that fit.
    fault : str, optional
        What goes wrong: ``entries`` (a read fails), ``entry`` (one is bad), ``place`` (no such local memory),
        ``stream`` (one makes no sense), ``read`` (a later read fails), ``demote`` (a write fails),
        ``write`` (and the next ones too).
    parked : int
        TBs that are parked from the beginning.
    withdraw_at : int, optional
        Cycle of the first pass in which it is withdrawn.
    increments : float
        Chance that an entry is one.
    """

    def __init__(self, g, seed, gang, room, fault=None, parked=0, withdraw_at=None, increments=0.4):
        self.chance = increments if g.checkpoints else 0
        self.g, self.rng, self.gang, self.room, self.fault = g, random.Random(seed), gang, room, fault
        self.already, self.withdraw_at = parked, withdraw_at
        self.dut = component(ResumeSequencer, g)

    def begin(self):
        g, rng = self.g, self.rng
        self.entries = [[self.an_entry() for _ in ("own", "base's")] for _ in range(g.tb_slots)]
        self.increments = {n for n in range(g.tb_slots) if rng.random() < self.chance}
        self.sides = rng.getrandbits(g.tb_slots) * g.checkpoints
        self.stay()
        self.free = rng.sample(range(g.tb_slots), g.tb_slots)
        self.parked = {}
        for _ in range(self.already):
            self.parked[rng.choice([n for n in range(g.tb_slots) if n not in self.parked])] = self.free.pop()
        self.complete = set(rng.sample(range(g.tb_slots), g.tb_slots if self.fault else rng.randint(0, g.tb_slots)))
        self.complete -= set(self.parked)
        self.wanted = {*self.complete, *self.parked}
        self.victim = rng.choice(sorted(self.complete) or [0])  # the entry with which something goes wrong
        self.started, self.released, self.order, self.late, self.free = [], [], [], 0, self.free[:self.room]
        self.bad_base = rng.getrandbits(1) if self.victim in self.pairs else 0  # of its two streams that one
        self.read_error = self.write_error = False
        self.begin_pass()

    def stay(self):
        """Of some TBs registers or lines have stayed on the SM, of others that were so a second image completes it."""
        g, rng = self.g, self.rng
        self.staying, self.without, self.completed = {}, set(), set()
        for n in set(range(g.tb_slots)) - self.increments if g.in_place else ():
            registers, lines = rng.choice(((0, 0), (1, 1), (1, 0), (0, 1)))
            if registers:
                self.without.add(n)
            if (registers or lines) and rng.getrandbits(1):
                self.staying[n] = {"registers": registers, "lines": lines, "base": 4 * rng.randrange(g.registers // 4),
                                   "first_line": rng.randrange(g.shared_lines)}, rng.randrange(g.tb_slots)
            elif registers or lines:
                self.completed.add(n)
        self.pairs = self.increments | self.completed

    def an_entry(self):
        g, rng = self.g, self.rng
        live = rng.choice([0, 1, (1 << g.max_block_warps) - 1, rng.getrandbits(g.max_block_warps)])
        table = ROW_WORDS * bin(live).count("1")
        entry = {name: rng.getrandbits(field.width) for name, field in CCB_ENTRY}
        return entry | {"live_warps": live, "length": 4 * (table + rng.randint(0, 300)),
                        "register_image": 128 * rng.getrandbits(20)}

    def begin_pass(self):
        """What is saved, or parked, is to come back in a pass of its own."""
        self.places = {entry: {"tb": tb} for entry, tb in self.parked.items()}
        self.parsed, self.first_parked, self.first = set(self.parked), dict(self.parked), len(self.started)
        self.time, self.load, self.ends = 0, 0, {}
        self.requested_at = self.rng.randint(1, 20)
        self.full_at = self.requested_at + self.rng.randint(-1, 9)
        self.discarding, self.given_room = 0, 0
        self.admitting, self.answer_at = None, 0
        self.restores, self.todo, self.heads = [], [], []
        self.demoted, self.recalled = set(), set()
        self.closed = self.judged = False

    def admission(self, ctx):
        """The dispatcher: has room, or has not."""
        for tb, at in list(self.ends.items()):
            if self.time >= at:
                del self.ends[tb]
                self.free.append(tb)
        answer = {"valid": 0}
        if self.admitting is not None and self.time >= self.answer_at:
            if self.fault == "place" and self.admitting == self.victim:
                answer = {"valid": 1, "bad": 1}
            elif not self.free:
                answer = {"valid": 1, "full": 1}
            else:
                g, rng = self.g, self.rng
                answer = {"valid": 1, "full": 0, "bad": 0, "tb": self.free.pop(),
                          "base": 4 * rng.randrange(g.registers // 4), "first_line": rng.randrange(g.shared_lines),
                          "slots": [rng.randrange(g.warps) for _ in range(g.max_block_warps)]}
        what, row = self.staying.get(ctx.get(self.dut.admit.payload.entry), ({"base": 0, "first_line": 0}, 0))
        ctx.set(self.dut.row.what, what)
        ctx.set(self.dut.row_number, row)
        ctx.set(self.dut.admitted, answer)
        room = bool(answer["valid"] and not answer.get("full") and not answer.get("bad"))
        assert ctx.get(self.dut.row_lent) == (room and self.admitting in self.staying)
        ctx.set(self.dut.admit.ready, self.admitting is None and self.rng.random() < 0.5)
        return answer

    def buffer(self, ctx):
        """The entry buffer: full some time after the last request; shows an entry from the cycle after a load on."""
        dut = self.dut
        ctx.set(dut.saved, sum(1 << k for k in {*self.complete, *self.parked} - self.demoted))
        full = self.time >= self.full_at
        ctx.set(dut.entries_requested, self.time >= self.requested_at)
        ctx.set(dut.entries_full, full)
        assert self.judged or ctx.get(dut.restore_pending) == sum(1 << k for k in self.complete)
        self.judged |= full
        ctx.set(dut.entries_bad, full and self.fault == "entry")
        if self.load:
            number, of_base = self.selected
            ctx.set(dut.entry, self.entries[number][of_base])

    def restore(self, ctx):
        """The restore pipeline: one stream after the other, in the order of the jobs."""
        restored = {"valid": 0, "entry": self.rng.randrange(self.g.tb_slots), "clean": 1}
        if self.restores:
            self.restores[0][-1] -= 1
            if self.restores[0][-1] < 0:
                entry, of_base, _ = self.restores.pop(0)
                failed = ctx.get(self.dut.restore_failed) or (
                    self.fault == "stream" and (entry, of_base) == (self.victim, self.bad_base))
                restored = {"valid": 1, "entry": entry, "bad": failed, "base": of_base,
                            "clean": of_base or entry not in self.pairs}
        ctx.set(self.dut.restored, restored)
        ctx.set(self.dut.restore_idle, not self.restores and not restored["valid"])
        ctx.set(self.dut.restore_job.ready, len(self.restores) < 2)
        return restored

    def commit(self, ctx):
        event = {"valid": 0, "entry": self.rng.randrange(self.g.tb_slots), "state": State.DEMOTED}
        if self.heads and self.rng.random() < 0.2:
            entry, state = self.heads.pop(0)
            error = self.fault in ("demote", "write") and state == State.DEMOTED and entry == self.victim
            error |= self.fault == "write" and self.write_error
            event = {"valid": 1, "entry": entry, "state": state, "error": error}
        ctx.set(self.dut.head_event, event)
        ctx.set(self.dut.head.ready, self.rng.random() < 0.5)
        ctx.set(self.dut.commit_idle, not self.heads and not event["valid"] and not ctx.get(self.dut.head.valid))
        return event

    async def cycle(self, ctx):
        """Run a cycle; return the result if there is one."""
        dut = self.dut
        self.buffer(ctx)
        answer, restored = self.admission(ctx), self.restore(ctx)
        event = self.commit(ctx)
        self.reads(ctx)
        ctx.set(dut.read_error, self.read_error)
        ctx.set(dut.write_error, self.write_error)
        self.withdrawn |= self.time == self.withdraw_at
        ctx.set(dut.withdraw, self.withdrawn)
        failed = ctx.get(dut.restore_failed)
        self.closed |= failed or self.withdrawn or bool(answer.get("full"))
        _, _, load, selected, of_base, admission, admitted, restore, queued, head, sent, start, release, clean, done = (
            await ctx.tick().sample(
                dut.entry_load, dut.entry_select, dut.entry_select_base, dut.admit.payload,
                dut.admit.valid & dut.admit.ready, dut.restore_job.payload,
                dut.restore_job.valid & dut.restore_job.ready, dut.head.payload, dut.head.valid & dut.head.ready,
                dut.start, dut.release, dut.clean, dut.done))
        self.time += 1
        self.load, self.selected = load, (selected, of_base)
        assert clean.valid == bool(restored["valid"] and not restored["bad"] and restored["clean"])
        assert not clean.valid or clean.tb == self.places[restored["entry"]]["tb"]
        if start.valid:
            self.start(start.tb, failed)
        completed = event["valid"] and event["state"] == State.COMPLETE
        if release.valid:
            entry = next(k for k, place in self.places.items() if place["tb"] == release.tb and k not in self.started)
            assert failed and entry not in self.parked and entry not in self.released
            assert not event["error"] if completed else entry not in self.recalled
            self.released.append(entry)
        assert not completed or release.valid != event["error"]
        if completed and event["error"]:
            self.parked[event["entry"]] = self.places[event["entry"]]["tb"]
        self.notes(answer, restored, event)
        if admitted:
            self.admit(value(admission), failed)
        if queued:
            self.queue(value(restore))
        if sent:
            self.head(head)
        return done if done.valid else None

    def notes(self, answer, restored, event):
        """What is true from the next cycle on."""
        if answer["valid"]:
            if not answer.get("bad") and not answer.get("full"):
                self.places[self.admitting] = answer
                self.todo += [(self.admitting, 1)] * (self.admitting in self.pairs) + [(self.admitting, 0)]
                self.given_room += 1
            self.admitting = None
        if restored["valid"] and not restored["bad"] and not restored["base"]:
            self.parsed.add(restored["entry"])
        if event["valid"] and event["error"]:
            self.write_error = True
        elif event["valid"] and event["state"] == State.DEMOTED:
            self.demoted.add(event["entry"])

    def reads(self, ctx):
        """What has been read ahead, until it is to be forgotten; an error of it comes at any time after the entries."""
        dut = self.dut
        if self.time >= self.full_at:
            self.read_error |= self.fault == "entries"
        self.read_error |= self.fault == "read" and self.given_room >= 2
        discard = ctx.get(dut.discard)
        if discard:
            assert not self.restores and not self.heads and not self.todo, "what is forgotten is still needed"
        self.discarding = self.discarding + 1 if discard else 0
        self.idle_after = self.rng.randint(1, 5) if self.discarding <= 1 else self.idle_after
        ctx.set(dut.reads_idle, self.discarding >= self.idle_after)
        assert ctx.get(dut.tbs_placed) == sum(1 << k for k in set(self.places) - set(self.released))
        assert ctx.get(dut.admission_closed) or not self.closed

    def admit(self, admission, failed):
        number = next(k for k in self.complete if self.entries[k][0]["launch_id"] == admission["launch_id"])
        self.late += failed or self.withdrawn  # the one in hand when it went wrong
        assert number not in self.places and self.late <= 1, "more is admitted after an error"
        what, _ = self.staying.get(number, ({"registers": 0, "lines": 0, "base": 0, "first_line": 0}, 0))
        assert admission == {"kernel": self.kernel, "entry": number, **what,
                             **{name: self.entries[number][0][name] for name in PLACE}}
        self.admitting, self.answer_at = number, self.time + self.rng.randint(0, 6)

    def queue(self, job):
        """A job for a stream: that of its base comes before that of an increment."""
        number, of_base = self.todo.pop(0)
        place = {**self.places[number], "valid": job["place"]["valid"]}
        entry = self.entries[number][of_base]
        what, row = self.staying.get(number, ({"registers": 0}, 0))
        skip = (entry["length"] // 4 - ROW_WORDS * entry["live_warps"].bit_count()) % self.g.bus_words
        assert job == {"entry": number, "place": place, "live_warps": entry["live_warps"],
                       "words": entry["length"] // 4, "skip": skip,
                       "stream_crc": entry["stream_crc"], "table_crc": entry["table_crc"],
                       "base": of_base, "increment": number in self.pairs and not of_base,
                       "elsewhere": number in self.without and not of_base, "stayed": what["registers"],
                       "staying": row}
        self.restores.append([number, of_base, self.rng.randint(0, 60)])

    def head(self, head):
        number, state = head.entry, State(head.state)
        assert number in self.places and head.side == self.sides >> number & 1
        if state == State.DEMOTED:
            assert number in self.parsed - self.recalled
            assert not self.gang or self.together(self.parsed)
            self.recalled.add(number)
        else:
            assert state == State.COMPLETE and number not in self.started and self.broken()
            assert head.crc == self.entries[number][0]["crc"] and number not in self.first_parked
        self.order.append((number, state))
        self.heads.append((number, state))

    def broken(self):
        return self.fault is not None

    def together(self, ready):
        """Of a gang, all that have got or will get room are `ready`."""
        return set(self.places) <= ready and (self.complete <= set(self.places) or self.closed)

    def start(self, tb, failed):
        """A TB starts: the one placed last in its slot."""
        number = next(k for k, place in self.places.items()
                      if place["tb"] == tb and k not in self.started[self.first:])
        self.parked.pop(number, None)
        assert number in self.parsed & self.demoted
        assert not self.gang or failed or self.together(self.parsed & self.demoted), "before the others of its gang"
        self.started.append(number)
        self.ends[tb] = self.time + self.rng.randint(20, 200)

    async def resume(self, ctx):
        """Run a resume to its end, with as many passes as it takes; return the error."""
        self.begin()
        self.withdrawn = False
        while True:
            done = await self.one_pass(ctx)
            self.free += [tb for tb in self.ends if tb not in self.free]  # those that came back have ended
            self.complete -= set(self.started)
            assert done.left == bool(self.complete - set(self.parked)) or done.error
            if done.error or not done.left:
                return done.error
            assert self.closed
            self.withdrawn, self.withdraw_at, self.late = False, None, 0
            self.begin_pass()

    async def one_pass(self, ctx):
        dut = self.dut
        self.kernel, *others = self.rng.sample(range(3), 3)
        ctx.set(dut.accepted, {"kernel": self.kernel, "ccb_base": CCB_BASE, "options": {"gang": self.gang},
                               "row_words": ROW_WORDS})
        ctx.set(dut.sides, self.sides)
        ctx.set(dut.increments, sum(1 << n for n in self.increments))
        ctx.set(dut.completed, sum(1 << n for n in self.completed))
        ctx.set(dut.without_registers, sum(1 << n for n in self.without))
        for name in ("registers", "lines"):
            ctx.set(getattr(dut, f"{name}_stay"), sum(1 << n for n, (what, _) in self.staying.items() if what[name]))
        entry_of = {tb: entry for entry, tb in self.parked.items()}
        for tb in range(self.g.tb_slots):
            entry = entry_of.get(tb, self.rng.randrange(self.g.tb_slots))
            row = {"valid": 1, "kernel": self.kernel, "started": 0} if tb in entry_of else self.rng.choice((
                {"valid": 0, "kernel": self.kernel, "started": 0},
                {"valid": 1, "kernel": self.rng.choice(others), "started": 0},
                {"valid": 1, "kernel": self.kernel, "started": 1}))  # free, of another kernel, or running
            ctx.set(dut.resident[tb], {**row, "entry": entry})
        for signal in (dut.read_error, dut.write_error, dut.entries_full, dut.entries_bad):
            ctx.set(signal, 0)
        ctx.set(dut.begin, 1)
        await ctx.tick()
        ctx.set(dut.begin, 0)
        for _ in range(LIMIT):
            done = await self.cycle(ctx)
            if done is not None:
                return done
        raise TimeoutError("the resume does not end")

    def run(self, count=1):
        """Run resumes; return the error of each."""
        errors = []

        async def bench(ctx):
            for _ in range(count):
                errors.append(await self.resume(ctx))
                assert not self.restores and not self.heads
                assert not set(self.started) & set(self.released) and len(set(self.started)) == len(self.started)
                if not errors[-1]:
                    assert set(self.started) == self.wanted and not self.released
                else:
                    assert {*self.started[self.first:], *self.released, *self.parked} == set(self.places)
                    assert self.demoted <= set(self.started)

        simulate(self.dut, bench, cycles=count * (LIMIT + 2) * (self.g.tb_slots + 1))
        return errors


@pytest.mark.parametrize("name, gang, room", quick([
    ("bus of 4", 0, 2), ("bus of 4", 1, 1), ("bus of 16", 0, 6), ("bus of 16", 0, 2), ("bus of 16", 1, 6),
    ("bus of 16", 1, 3), ("no checkpoints", 0, 3)], [("bus of 4", 0, 2), ("bus of 4", 1, 1), ("no checkpoints", 0, 3)]))
def test_every_complete_entry_comes_back_and_starts(name, gang, room):
    assert Bench(GEOMETRIES[name], f"{name} {gang} {room}", gang, room).run(2) == [CommandError.NONE] * 2


@pytest.mark.parametrize("withdraw_at", quick([0, 40, 90, 150, 250, 400], [0, 90, 250]))
@pytest.mark.parametrize("gang", [0, 1])
def test_a_pass_that_is_withdrawn_ends_with_what_has_its_room(withdraw_at, gang):
    bench = Bench(GEOMETRIES["bus of 16"], f"{withdraw_at} {gang}", gang, 6, withdraw_at=withdraw_at)
    assert bench.run(1) == [CommandError.NONE]


@pytest.mark.parametrize("fault, error", [("entries", CommandError.BUS_ERROR), ("entry", CommandError.BAD_IMAGE)])
def test_nothing_is_restored_if_an_entry_is_bad_or_unread(fault, error):
    for parked in (0, 2):
        bench = Bench(GEOMETRIES["bus of 16"], 1, 0, 4, fault, parked)
        assert bench.run(2) == [error] * 2
        assert bench.places.keys() == bench.parked.keys() and not bench.order


@pytest.mark.parametrize("fault, error", [("place", CommandError.BAD_IMAGE), ("stream", CommandError.BAD_IMAGE),
                                          ("read", CommandError.BUS_ERROR), ("demote", CommandError.BUS_ERROR),
                                          ("write", CommandError.BUS_ERROR)])
@pytest.mark.parametrize("gang", [0, 1])
def test_after_an_error_what_is_not_in_place_is_given_back(fault, error, gang):
    bench = Bench(GEOMETRIES["bus of 16"], f"{fault} {gang}", gang, 3, fault)
    assert bench.run(1) == [error]
    for number in bench.places:
        states = [state for k, state in bench.order if k == number]
        assert (states[:1] == [State.DEMOTED]) == (number in bench.recalled)
        back = number in bench.recalled and number not in bench.started
        assert states[1:] == [State.COMPLETE] * back
    assert bool(bench.parked) == (fault == "write")


@pytest.mark.parametrize("fault, gang", [(None, 0), (None, 1), ("stream", 0), ("stream", 1), ("write", 0)])
def test_a_resume_begins_with_the_demotion_of_what_is_parked(fault, gang):
    bench = Bench(GEOMETRIES["bus of 16"], f"parked {fault} {gang}", gang, 4, fault, parked=2)
    error, = bench.run(1)
    assert bool(error) == (fault is not None)
    if fault is None:
        assert set(bench.first_parked) <= set(bench.started)
    elif gang:
        assert bench.parked == bench.first_parked and not bench.order, "demoted before all is in place"


@pytest.mark.parametrize("fault, gang", [(None, 0), (None, 1), ("stream", 0), ("write", 0)])
def test_a_tb_saved_as_an_increment_starts_when_its_base_is_in_place_and_then_itself(fault, gang):
    bench = Bench(GEOMETRIES["bus of 16"], f"increment {fault} {gang}", gang, 4, fault, increments=1)
    error, = bench.run(1)
    assert bool(error) == (fault is not None)
