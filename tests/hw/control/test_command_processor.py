"""The command processor: every command in every state, and how each preempt, resume and kill ends."""

import itertools
import random

import pytest

from caesura.hw.arch.commands import BUSY_STATES, Command, KernelState
from caesura.hw.arch.faults import CommandError
from caesura.hw.arch.image.context import Mechanism
from caesura.hw.arch.registers import UNLIMITED_GRACE
from caesura.hw.control.command_processor import CommandProcessor
from caesura.hw.control.memory_refusals import AGAIN_CYCLES, TRIES
from support.hw.command_driver import FITTING, G, drive
from support.hw.lockstep import lockstep, number
from support.hw.simulation import component
from support.models.command_processor_model import CommandProcessorModel
from support.models.engine_queue_model import FLAGS
from support.selection import quick

IDLE, RUNNING, PREEMPTING, PREEMPTED, RESUMING, FINISHED, KILLING, ADOPTING = (KernelState[name] for name in (
    "IDLE", "RUNNING", "PREEMPTING", "PREEMPTED", "RESUMING", "FINISHED", "KILLING", "ADOPTING"))
NONE, BUSY, NOT_RUNNING, ABORTED = (CommandError[name] for name in ("NONE", "BUSY", "NOT_RUNNING", "ABORTED"))
ANSWERS = {  # in the order of the states
    Command.START: (NONE, BUSY, BUSY, NOT_RUNNING, BUSY, NONE, BUSY, BUSY),
    Command.PREEMPT: (NOT_RUNNING, NONE, BUSY, NONE, NONE, NOT_RUNNING, BUSY, BUSY),
    Command.RESUME: (NOT_RUNNING, NOT_RUNNING, BUSY, NONE, BUSY, NOT_RUNNING, BUSY, BUSY),
    Command.ABORT: (NOT_RUNNING, NOT_RUNNING, NONE, NOT_RUNNING, NONE, NOT_RUNNING, BUSY, BUSY),
    Command.HASTEN: (NOT_RUNNING, NOT_RUNNING, NONE, NOT_RUNNING, NOT_RUNNING, NOT_RUNNING, BUSY, BUSY),
    Command.KILL: (NOT_RUNNING, NONE, NONE, NONE, NONE, NOT_RUNNING, BUSY, NONE),
    Command.ADOPT: (NONE, BUSY, BUSY, NOT_RUNNING, BUSY, NONE, BUSY, BUSY),
    Command.RELEASE: (NOT_RUNNING, BUSY, BUSY, NONE, BUSY, NOT_RUNNING, BUSY, BUSY),
}
AFTER = {Command.START: RUNNING, Command.PREEMPT: PREEMPTING, Command.RESUME: RESUMING, Command.KILL: KILLING,
         Command.ADOPT: ADOPTING, Command.RELEASE: KILLING}


STUBBORN = TRIES * (AGAIN_CYCLES + 50)
"""Cycles in which memory refuses evictions until they are given up."""


class World:
    """What comes to a command processor: long phases in which some things happen often, others never."""

    def __init__(self, g, rng, model):
        self.g, self.rng, self.model = g, rng, model
        self.vectors = dict.fromkeys(("done", "present", "saved", "in_memory", "hopeless"), 0)
        self.running = [0] * g.kernel_slots
        self.cycles = 0
        self.change()

    def change(self):
        rng, g = self.rng, self.g
        self.odds = {name: rng.choice((0, 0.02, 0.3)) for name in ("launching", "room", "evict", "flushing")}
        self.odds |= {name: rng.choice((0, 0.1, 0.9)) for name in self.vectors}
        self.odds |= {"command": rng.choice((0.05, 0.3)), "ready": rng.choice((0.1, 1)),
                      "result": rng.choice((0.1, 0.5)), "done": rng.choice((0, 0.05, 0.5)),
                      "running": rng.choice((0.1, 0.9)), "refuses": rng.choice((0, 0, 0.7)),
                      "left": rng.choice((0, 0.5, 1)), "changes": rng.choice((0.02, 0.5)),
                      "likely": rng.choice((0.5, 1)), "outstanding": rng.choice((0, 0.5, 0.95)),
                      "grace": rng.choice((0, 0.5, 1))}
        self.kernels = [self.kernel() for _ in range(g.kernel_slots)]

    def often(self, name):
        return int(self.rng.random() < self.odds[name])

    def kernel(self):
        """A descriptor, most often of a kernel that can be started."""
        rng, g = self.rng, self.g
        threads = rng.randint(1, g.max_block_threads)
        kernel = {"grid_x": rng.randint(1, 5), "grid_y": 1, "grid_z": 2, "threads": threads,
                  "warps": -(-threads // g.warp_size), "registers": rng.randint(1, g.regs_per_thread),
                  "shared_bytes": rng.randint(0, g.shared_bytes), "param_base": number(rng, 32) & -16,
                  "const_base": number(rng, 32) & -128}
        while rng.random() < 0.3:
            name, width = rng.choice((*((f"grid_{axis}", 16) for axis in "xyz"), ("threads", 11), ("registers", 7),
                                      ("warps", 6), ("shared_bytes", 20), ("param_base", 5), ("const_base", 8)))
            kernel[name] = number(rng, width) if name in ("grid_x", "grid_y", "grid_z") else (
                kernel[name] ^ 1 << rng.randrange(width))
        return kernel

    def command(self):
        rng, model = self.rng, self.model
        given = {"valid": self.often("command"), "op": rng.choice((*Command, rng.getrandbits(4))),
                 "kernel": rng.randrange(self.g.kernel_slots) if rng.random() < 0.95 else rng.getrandbits(4),
                 "mechanism": rng.choice([*Mechanism]) if rng.random() < 0.97 else rng.getrandbits(4),
                 **{name: int(rng.random() < 0.1) for name in FLAGS}}
        if self.often("likely") and given["kernel"] < self.g.kernel_slots:
            state = model.slots[given["kernel"]].state
            given["op"] = rng.choice([op for op, answers in ANSWERS.items() if not answers[state]] or [given["op"]])
        rare = {Command.KILL: 0.1, Command.RELEASE: 0.3, Command.ABORT: 0.3, Command.ADOPT: 0.3}
        if rng.random() > rare.get(given["op"], 1):
            given["valid"] = 0
        return given

    def cycle(self):
        """Return the inputs of a cycle."""
        g, rng = self.g, self.rng
        if rng.random() < 0.02:
            self.change()
        if rng.random() < 0.1:
            self.kernels[rng.randrange(g.kernel_slots)] = self.kernel()
        for name in self.vectors:
            for k in range(g.kernel_slots):
                if self.often("changes"):
                    self.vectors[name] = self.vectors[name] & ~(1 << k) | self.often(name) << k
        if self.often("changes"):
            self.running[rng.randrange(g.kernel_slots)] = rng.getrandbits(g.context_entries) * self.often("running")
        self.cycles += 1
        if self.cycles % 5000 < STUBBORN < self.cycles:
            return self.refused(self.cycles // 5000 % g.kernel_slots)
        return self.inputs()

    def refused(self, kernel):
        """Return inputs without commands, while memory refuses all evictions of a kernel."""
        now, every = self.inputs(), (1 << self.g.tb_slots) - 1
        now["command"]["valid"] = 0
        if self.model.queue.hand and self.model.queue.hand["evict"]:
            now["result"]["error"] = CommandError.BUS_ERROR
        return now | {"ready": 1, "evict": every, "evictable": every, "owners": [kernel] * self.g.tb_slots}

    def inputs(self):
        g, rng, model = self.g, self.rng, self.model
        comes = model.queue.hand is not None and model.result is None and self.often("result")
        error = rng.choice((CommandError.BUS_ERROR, CommandError.BAD_IMAGE, *CommandError))
        return {**self.vectors, "command": self.command(), "running": [*self.running], "kernels": [*self.kernels],
                "patience": number(rng, 32), "spared": rng.choice((0, rng.getrandbits(g.context_entries))),
                "grace": rng.choice((rng.randint(1, 9), UNLIMITED_GRACE, number(rng, 32))) * self.often("grace"),
                "newcomer": rng.getrandbits(4), "newcomer_tbs": rng.getrandbits(6),
                "evict": rng.getrandbits(g.tb_slots) * self.often("evict"), "evictable": rng.getrandbits(g.tb_slots),
                "owners": [rng.randrange(g.kernel_slots) for _ in range(g.tb_slots)],
                "launching": {"valid": self.often("launching"), "kernel": rng.randrange(g.kernel_slots)},
                "ready": self.often("ready"),
                **{name: self.often(name) for name in ("room", "outstanding", "flushing")},
                "result": {"valid": int(comes), "error": error if self.often("refuses") else NONE,
                           "left": self.often("left"), "saved": rng.getrandbits(1), "at_once": rng.getrandbits(1)}}


PORTS = {"registers": ("command", "patience", "grace", "spared"),
         "engine": ("saved", "in_memory", "flushing", "result"), "dispatch": ("done", "present", "launching")}
"""Inputs that are members of a port with their name."""


def inputs(g, now):
    """Return the inputs of a cycle by the names of `lockstep`."""
    given = {f"{port}.{name}": now[name] for port, names in PORTS.items() for name in names}
    given |= {"engine.command.ready": now["ready"], "dispatch.room_freed": now["room"],
              "dispatch.accesses_outstanding": now["outstanding"]}
    given |= {f"dispatch.running.{k}": running for k, running in enumerate(now["running"])}
    given |= {f"kernels.{k}.{name}": size for k, kernel in enumerate(now["kernels"]) for name, size in kernel.items()}
    if g.in_place:
        given |= {"registers.newcomer.kernel": now["newcomer"], "registers.newcomer.tbs": now["newcomer_tbs"],
                  "dispatch.evict": now["evict"], "dispatch.hopeless": now["hopeless"],
                  "engine.staying.evictable": now["evictable"],
                  **{f"engine.staying.rows.{t}.what.kernel": owner for t, owner in enumerate(now["owners"])}}
    return given


MODELS = {"tiny": G, "plain": G.replace(in_place=False, grace=False, checkpoints=False, restart=False, traps=False)}


@pytest.mark.parametrize("name, cycles", quick(
    [("tiny", 300), ("tiny", 15_000), ("plain", 4000)], [("tiny", 300)]))
def test_every_output_in_every_cycle(name, cycles):
    g, rng = MODELS[name], random.Random(name)
    model = CommandProcessorModel(g)
    world = World(g, rng, model)

    def run():
        for _ in range(cycles):
            now = world.cycle()
            yield inputs(g, now), model.cycle(now)

    lockstep(component(CommandProcessor, g), run())


@pytest.mark.parametrize("op, state", [*itertools.product(ANSWERS, KernelState)])
def test_each_command_in_each_state(op, state):
    async def scenario(ctx, dut, driver):
        await driver.bring(1, state)
        ctx.set(dut.dispatch.present, 0b010)  # TBs of it run, so that a preempt has something to save
        ctx.set(dut.engine.in_memory, 0b010 if op is Command.RELEASE else 0)
        error = ANSWERS[op][state]
        await driver.command(op, 1, error)
        assert ctx.get(dut.status.error) == error
        assert driver.state(1) == (state if error else AFTER.get(op, state))
        assert driver.state(0) == driver.state(2) == IDLE
        await ctx.tick().repeat(3)
        assert ctx.get(dut.status.error) == error, "it stays until the next command"

    drive(scenario)


def test_what_does_not_exist_or_fit_is_refused():
    async def scenario(ctx, dut, driver):
        for op in Command:
            await driver.command(op, 3, CommandError.UNKNOWN)
        for op in (0, *range(max(Command) + 1, 16)):
            await driver.command(op, 0, CommandError.UNKNOWN)
        for name, size in (("grid_x", 0), ("threads", 17), ("registers", G.regs_per_thread + 1), ("registers", 0),
                           ("shared_bytes", G.shared_bytes + 1), ("warps", 1)):
            ctx.set(dut.kernels[0][name], size)
            for op in (Command.START, Command.ADOPT):
                await driver.command(op, 0, CommandError.TOO_LARGE)
            ctx.set(dut.kernels[0][name], FITTING[name])
        for name, multiple in (("param_base", 16), ("const_base", 128)):
            for base in (multiple // 2, 3 * multiple - 1, 1, 0xFFFF_FFFF):
                ctx.set(dut.kernels[0][name], base)
                for op in (Command.START, Command.ADOPT):
                    await driver.command(op, 0, CommandError.MISPLACED)
            ctx.set(dut.kernels[0][name], 5 * multiple)
        await driver.command(Command.START)
        await driver.command(Command.PREEMPT, 0, CommandError.UNKNOWN, mechanism=max(Mechanism) + 1)
        await driver.command(Command.PREEMPT, 7, CommandError.UNKNOWN)
        assert [driver.state(k) for k in range(3)] == [RUNNING, IDLE, IDLE]

    drive(scenario)


def test_a_mechanism_that_the_machine_has_not_is_refused():
    async def scenario(ctx, dut, driver):
        await driver.command(Command.START)
        await driver.command(Command.PREEMPT, 0, CommandError.UNKNOWN, mechanism=Mechanism.LIVE_TB)
        assert driver.state(0) == RUNNING

    drive(scenario, G.replace(tb_compressor=False))


@pytest.mark.parametrize(("checkpoints", "fields"), [
    (False, {"checkpoint": 1}), (False, {"incremental": 1}), (True, {"checkpoint": 1, "restart": 1})])
def test_a_checkpoint_that_the_machine_cannot_is_refused(checkpoints, fields):
    async def scenario(ctx, dut, driver):
        await driver.command(Command.START, 0)
        await driver.command(Command.PREEMPT, 0, CommandError.UNKNOWN, **fields)
        assert driver.state(0) == RUNNING
        await driver.command(Command.PREEMPT, 0)

    drive(scenario, G.replace(checkpoints=checkpoints, in_place=checkpoints))


@pytest.mark.parametrize("error", [NONE, CommandError.BUS_ERROR])
@pytest.mark.parametrize("saved", [0, 1])
def test_after_a_checkpoint_a_kernel_runs_on_unless_tbs_of_it_were_saved_before(saved, error):
    async def scenario(ctx, dut, driver):
        await driver.bring(1, RUNNING)
        if saved:  # a part of it, before
            ctx.set(dut.registers.spared, 0b10)
            await driver.command(Command.PREEMPT, 1)
            await driver.takes(1, 0, checkpoint=0)
            ctx.set(dut.engine.saved, 0b010)
            await driver.result()
            await driver.ends("preempted")
            assert driver.state(1) == PREEMPTED
        await driver.command(Command.PREEMPT, 1, checkpoint=1)
        await driver.takes(1, 0, checkpoint=1, incremental=0)
        assert driver.state(1) == PREEMPTING and not ctx.get(dut.dispatch.eligible)
        await driver.result(error)
        await driver.ends("preempted")
        assert driver.state(1) == (PREEMPTED if saved else RUNNING) and driver.errors(1) == error
        assert ctx.get(dut.dispatch.eligible) == (0 if saved else 0b010)

    drive(scenario)


def test_a_restart_that_the_machine_cannot_is_refused():
    async def scenario(ctx, dut, driver):
        await driver.command(Command.START)
        await driver.command(Command.PREEMPT, 0, CommandError.UNKNOWN, restart=1)
        await driver.command(Command.PREEMPT, 0)

    drive(scenario, G.replace(restart=False))


def test_a_preempted_kernel_of_which_nothing_runs_cannot_be_preempted():
    async def scenario(ctx, dut, driver):
        await driver.bring(1, PREEMPTED)
        ctx.set(dut.engine.in_memory, 0b010)
        await driver.command(Command.PREEMPT, 1, NOT_RUNNING)
        ctx.set(dut.dispatch.present, 0b101)
        await driver.command(Command.PREEMPT, 1, NOT_RUNNING)
        ctx.set(dut.dispatch.present, 0b010)
        await driver.command(Command.PREEMPT, 1)
        await driver.takes(1, 0)

    drive(scenario)


@pytest.mark.parametrize("fields, taken", [({}, True), ({"checkpoint": 1}, False), ({"in_place": 1}, False)])
@pytest.mark.parametrize("error", [NONE, CommandError.BUS_ERROR])
def test_but_for_one_whose_record_is_to_be_written(fields, taken, error):
    async def scenario(ctx, dut, driver):
        await driver.bring(1, RUNNING)
        ctx.set(dut.dispatch.present, 0b010)
        await driver.command(Command.PREEMPT, 1)
        await driver.takes(1, 0)
        ctx.set(dut.engine.saved, 0b010)
        ctx.set(dut.dispatch.present, 0)
        await driver.result(error)
        await driver.ends("preempted")
        assert (driver.state(1), driver.errors(1)) == (PREEMPTED, error)
        await driver.command(Command.PREEMPT, 1, NONE if taken else NOT_RUNNING, **fields)
        if taken:
            await driver.takes(1, 0)
            await driver.result()
            await driver.ends("preempted")
            assert (driver.state(1), driver.errors(1)) == (PREEMPTED, NONE)
            ctx.set(dut.engine.in_memory, 0b010)
            await driver.command(Command.PREEMPT, 1, NOT_RUNNING)

    drive(scenario, G.replace(in_place=True, checkpoints=True))


def test_a_slot_is_released_only_if_memory_holds_all_of_the_kernel():
    async def scenario(ctx, dut, driver):
        await driver.bring(1, PREEMPTED)
        ctx.set(dut.engine.in_memory, 0b101)  # of others
        assert ctx.get(dut.status.recorded) == 0
        await driver.command(Command.RELEASE, 1, CommandError.NOT_IN_MEMORY)
        assert driver.state(1) == PREEMPTED
        ctx.set(dut.engine.in_memory, 0b111)
        assert ctx.get(dut.status.recorded) == 0b010
        await driver.command(Command.RELEASE, 1)
        assert driver.state(1) == KILLING and ctx.get(dut.dispatch.kill) == 0b010
        await driver.ends("killed")
        assert driver.state(1) == IDLE

    drive(scenario)


def test_the_engine_gets_the_command_once_no_tb_is_half_launched():
    async def scenario(ctx, dut, driver):
        await driver.bring(2, RUNNING)
        wanted = {"mechanism": Mechanism.LIVE, "scramble": 1, "gang": 1, "restart": 1, "incremental": 1}
        ctx.set(dut.dispatch.launching, {"valid": 1, "kernel": 2})
        ctx.set(dut.registers.patience, 0x8000_1234)
        ctx.set(dut.registers.spared, 0b01)
        await driver.command(Command.PREEMPT, 2, **wanted)
        ctx.set(dut.registers.patience, 7)  # written later: not this command's
        ctx.set(dut.registers.spared, 0b10)
        for _ in range(5):
            assert not ctx.get(dut.engine.command.valid)
            await ctx.tick()
        ctx.set(dut.dispatch.launching, {"valid": 1, "kernel": 1})
        await driver.takes(2, 0, **wanted, patience=0x8000_1234, spared=0b01)
        await driver.result()
        await driver.ends("preempted")  # though a TB is left
        await driver.command(Command.RESUME, 2, gang=1)
        await driver.takes(2, 1, again=0, gang=1, scramble=0)

    drive(scenario)


def test_a_preempt_ends_when_its_tbs_have_left():
    async def scenario(ctx, dut, driver):
        await driver.bring(1, PREEMPTING)
        ctx.set(dut.dispatch.present, 0b011)
        await driver.result()
        for _ in range(4):
            assert not driver.events() and ctx.get(dut.status.busy) and driver.state(1) == PREEMPTING
            await ctx.tick()
        ctx.set(dut.dispatch.present, 0b001)
        await driver.ends("preempted")
        assert driver.state(1) == PREEMPTED and not ctx.get(dut.status.busy)

    drive(scenario)


@pytest.mark.parametrize("error, saved, done, state", [
    (NONE, 1, 0, PREEMPTED), (NONE, 0, 0, PREEMPTED), (NONE, 0, 1, FINISHED),
    (CommandError.BUS_ERROR, 0, 0, RUNNING), (CommandError.BUS_ERROR, 1, 0, PREEMPTED),
    (CommandError.AREA_TOO_SMALL, 0, 0, RUNNING)])
def test_how_a_preempt_ends(error, saved, done, state):
    async def scenario(ctx, dut, driver):
        await driver.bring(1, PREEMPTING)
        ctx.set(dut.engine.saved, saved << 1)
        ctx.set(dut.dispatch.done, done << 1)
        ctx.set(dut.dispatch.present, 0b010 if error else 0)
        await driver.result(error)
        assert ctx.get(dut.events.finished) == (1 << 1 if state == FINISHED else 0)
        await driver.ends("preempted")
        assert driver.state(1) == state and driver.errors(1) == error and not ctx.get(dut.status.busy)

    drive(scenario)


@pytest.mark.parametrize("error, saved, left, state", [
    (NONE, 0, 0, RUNNING), (CommandError.BAD_IMAGE, 1, 1, PREEMPTED), (CommandError.BUS_ERROR, 0, 0, RUNNING)])
def test_how_a_resume_ends(error, saved, left, state):
    async def scenario(ctx, dut, driver):
        await driver.bring(1, RESUMING)
        ctx.set(dut.dispatch.present, 0b010)
        ctx.set(dut.engine.saved, saved << 1)
        await driver.result(error, left)
        await driver.ends("resumed")
        assert driver.state(1) == state and driver.errors(1) == error and not ctx.get(dut.status.busy)
        assert ctx.get(dut.dispatch.eligible) == (2 if state == RUNNING else 0)
        for _ in range(3):
            assert not ctx.get(dut.engine.command.valid)
            await ctx.tick()

    drive(scenario)


@pytest.mark.parametrize("error, state", [(NONE, PREEMPTED), (CommandError.BAD_IMAGE, IDLE),
                                          (CommandError.BUS_ERROR, IDLE)])
def test_how_an_adoption_ends(error, state):
    async def scenario(ctx, dut, driver):
        await driver.bring(1, ADOPTING)
        assert not ctx.get(dut.dispatch.eligible)
        await driver.result(error)
        await driver.ends("adopted")
        assert (driver.state(1), driver.errors(1)) == (state, error) and not ctx.get(dut.status.busy)
        await driver.command(Command.START, 1, NOT_RUNNING if state == PREEMPTED else NONE)

    drive(scenario)


def test_an_adoption_waits_for_its_turn_and_a_kill_takes_it_back():
    async def scenario(ctx, dut, driver):
        await driver.bring(0, PREEMPTING)
        await driver.command(Command.ADOPT, 1)
        await driver.command(Command.ADOPT, 2)
        await driver.command(Command.KILL, 2)
        ctx.set(dut.dispatch.present, 0)
        ctx.set(dut.engine.saved, 1)
        assert not ctx.get(dut.engine.command.valid) and driver.state(2) in (KILLING, IDLE)
        await driver.result()
        await driver.ends("preempted")
        await driver.takes(1, 0, adopt=1)
        await driver.command(Command.KILL, 1)
        assert ctx.get(dut.engine.cancel)
        await driver.result()
        await ctx.tick().repeat(2)
        assert [driver.state(k) for k in range(3)] == [PREEMPTED, IDLE, IDLE] and not ctx.get(dut.engine.command.valid)

    drive(scenario)


def test_a_resume_without_room_is_tried_again_when_a_tb_has_left():
    async def scenario(ctx, dut, driver):
        await driver.bring(1, RESUMING)
        await driver.command(Command.START, 2)
        assert ctx.get(dut.dispatch.eligible) == 0, "a fresh TB would take the room"
        await driver.result(left=1)
        for _ in range(5):
            assert not ctx.get(dut.engine.command.valid) and driver.state(1) == RESUMING and not driver.events()
            await ctx.tick()
        ctx.set(dut.dispatch.room_freed, 1)
        await ctx.tick()
        ctx.set(dut.dispatch.room_freed, 0)
        await driver.takes(1, 1, again=1)
        for _ in range(3):  # one leaves while the pass is under way: it may have been too late for it
            await ctx.tick()
        ctx.set(dut.dispatch.room_freed, 1)
        await ctx.tick()
        ctx.set(dut.dispatch.room_freed, 0)
        await driver.result(left=1)
        await ctx.tick()
        await driver.takes(1, 1, again=1)
        await driver.result()
        await driver.ends("resumed")
        assert driver.state(1) == RUNNING and ctx.get(dut.dispatch.eligible) == 0b110

    drive(scenario)


def test_a_preempt_comes_through_while_a_resume_waits_for_its_room():
    async def scenario(ctx, dut, driver):
        await driver.bring(1, RESUMING)
        await driver.command(Command.START, 2)
        ctx.set(dut.dispatch.present, 0b100)
        await driver.command(Command.PREEMPT, 2)
        assert not ctx.get(dut.engine.command.valid)
        await driver.result(left=1)
        await ctx.tick()
        await driver.takes(2, 0)
        ctx.set(dut.dispatch.room_freed, 1)
        ctx.set(dut.dispatch.present, 0)
        ctx.set(dut.engine.saved, 0b110)
        await driver.result()
        ctx.set(dut.dispatch.room_freed, 0)
        await driver.ends("preempted")
        await driver.takes(1, 1, again=1)
        await driver.result()
        await driver.ends("resumed")
        assert [driver.state(k) for k in range(3)] == [IDLE, RUNNING, PREEMPTED]

    drive(scenario)


def test_a_preempt_of_a_kernel_that_is_resuming_withdraws_the_resume():
    async def scenario(ctx, dut, driver):
        await driver.bring(1, RESUMING)
        ctx.set(dut.dispatch.present, 0b010)
        assert not ctx.get(dut.engine.withdraw)
        await driver.command(Command.PREEMPT, 1, mechanism=Mechanism.LIVE)
        assert ctx.get(dut.engine.withdraw) and driver.state(1) == PREEMPTING
        await driver.result(left=1)
        await driver.ends("resumed")
        assert driver.errors(1) == ABORTED and driver.state(1) == PREEMPTING and not ctx.get(dut.engine.withdraw)
        await driver.takes(1, 0, mechanism=Mechanism.LIVE)
        ctx.set(dut.dispatch.present, 0)
        await driver.result()
        await driver.ends("preempted")
        assert driver.state(1) == PREEMPTED and driver.errors(1) == NONE

    drive(scenario)


def test_what_a_withdrawn_pass_left_behind_gets_another_at_once():
    async def scenario(ctx, dut, driver):
        await driver.bring(1, RESUMING)
        ctx.set(dut.dispatch.present, 0)  # nothing is left on the SM that could make room
        await driver.command(Command.PREEMPT, 1, mechanism=Mechanism.LIVE)
        await driver.command(Command.ABORT, 1)
        assert ctx.get(dut.engine.withdraw) and driver.state(1) == RESUMING
        await driver.result(left=1)
        assert not driver.events()
        await ctx.tick()
        await driver.takes(1, 1, again=0)
        await driver.result()
        await driver.ends("resumed")
        assert driver.state(1) == RUNNING and driver.errors(1) == NONE

    drive(scenario)


def test_an_aborted_eviction_resumes_the_kernel():
    """It was preempted before, and is not any more."""
    async def scenario(ctx, dut, driver):
        await driver.bring(1, PREEMPTED)
        ctx.set(dut.engine.saved, 0b010)
        await driver.command(Command.PREEMPT, 1)
        await driver.takes(1, 0)
        await driver.command(Command.ABORT, 1)
        await driver.result()
        await driver.ends("preempted")
        assert driver.errors(1) == ABORTED and driver.state(1) == RESUMING
        await driver.takes(1, 1, again=0)
        await driver.result()
        await driver.ends("resumed")
        assert driver.errors(1) == NONE and driver.state(1) == RUNNING

    drive(scenario)


@pytest.mark.parametrize("saved", (0, 1))
@pytest.mark.parametrize("when", ("waiting", "under way", "with its end"))
def test_an_aborted_preempt_resumes_what_it_saved(saved, when):
    async def scenario(ctx, dut, driver):
        await driver.bring(1, RUNNING)
        ctx.set(dut.dispatch.launching, {"valid": when == "waiting", "kernel": 1})
        await driver.command(Command.PREEMPT, 1, gang=1)
        ctx.set(dut.engine.saved, saved << 1)
        if when == "waiting":
            await ctx.tick()
            ctx.set(dut.registers.command, {"valid": 1, "op": Command.ABORT, "kernel": 1})
            await driver.ends("preempted")
            ctx.set(dut.registers.command.valid, 0)
            ctx.set(dut.dispatch.launching.valid, 0)
        else:
            await driver.takes(1, 0)
            if when == "with its end":
                ctx.set(dut.dispatch.present, 0)
                await driver.result()
                await driver.command(Command.ABORT, 1)
            else:
                await driver.command(Command.ABORT, 1)
                for _ in range(3):
                    assert ctx.get(dut.engine.withdraw) and driver.state(1) == PREEMPTING and not driver.events()
                    await ctx.tick()
                await driver.result()
            await driver.ends("preempted")
        assert driver.errors(1) == ABORTED and not ctx.get(dut.engine.withdraw)
        assert driver.state(1) == (RESUMING if saved else RUNNING)
        if saved:
            await driver.takes(1, 1, again=0, gang=1)
            await driver.result()
            await driver.ends("resumed")
            assert driver.errors(1) == NONE
        assert driver.state(1) == RUNNING

    drive(scenario)


@pytest.mark.parametrize("held", (0, 1))
def test_an_aborted_resume_leaves_saved_what_has_no_room(held):
    async def scenario(ctx, dut, driver):
        await driver.bring(1, RESUMING)
        if not held:
            await driver.result(left=1)
            await ctx.tick()
            ctx.set(dut.registers.command, {"valid": 1, "op": Command.ABORT, "kernel": 1})
            await driver.ends("resumed")
            ctx.set(dut.registers.command.valid, 0)
        else:
            await driver.command(Command.ABORT, 1)
            assert ctx.get(dut.engine.withdraw) and driver.state(1) == RESUMING
            await driver.result(left=1)
            await driver.ends("resumed")
        assert driver.state(1) == PREEMPTED and driver.errors(1) == ABORTED
        await driver.command(Command.RESUME, 1)
        await driver.takes(1, 1, again=0)  # although the last pass found no room

    drive(scenario)


def test_a_preempt_is_hastened_before_and_after_the_engine_has_it():
    async def scenario(ctx, dut, driver):
        await driver.bring(1, PREEMPTING)
        assert not ctx.get(dut.engine.hasten)
        await driver.command(Command.HASTEN, 1)
        assert ctx.get(dut.engine.hasten)
        ctx.set(dut.dispatch.present, 0)
        await driver.result()
        await driver.ends("preempted")
        assert not ctx.get(dut.engine.hasten)
        await driver.bring(2, RUNNING)
        ctx.set(dut.dispatch.launching, {"valid": 1, "kernel": 2})
        await driver.command(Command.PREEMPT, 2)
        await driver.command(Command.HASTEN, 2)
        assert not ctx.get(dut.engine.hasten)
        ctx.set(dut.dispatch.launching.valid, 0)
        await driver.takes(2, 0)
        assert ctx.get(dut.engine.hasten)
        ctx.set(dut.dispatch.present, 0)
        await driver.result()
        await driver.ends("preempted")
        ctx.set(dut.dispatch.present, 0b100)
        await driver.command(Command.PREEMPT, 2)
        await driver.takes(2, 0)
        assert not ctx.get(dut.engine.hasten), "the next preempt has its patience"

    drive(scenario)


@pytest.mark.parametrize("state", [RUNNING, PREEMPTING, PREEMPTED, RESUMING])
def test_a_killed_kernel_is_idle_when_nothing_of_it_is_left(state):
    async def scenario(ctx, dut, driver):
        held = state in (PREEMPTING, RESUMING)
        await driver.bring(1, state)
        ctx.set(dut.dispatch.present, 0b010)
        ctx.set(dut.dispatch.launching, {"valid": 1, "kernel": 1})
        ctx.set(dut.dispatch.accesses_outstanding, 1)
        await driver.command(Command.KILL, 1)

        async def waits(cancel, discard):
            for _ in range(3):
                assert not driver.events() and driver.state(1) == KILLING and ctx.get(dut.dispatch.kill) == 0b010
                assert (ctx.get(dut.engine.cancel), ctx.get(dut.dispatch.discard)) == (cancel, discard << 1)
                assert not ctx.get(dut.engine.command.valid) and not ctx.get(dut.dispatch.eligible)
                await ctx.tick()

        await waits(held, 0)
        ctx.set(dut.dispatch.launching.valid, 0)
        await waits(held, not held)
        ctx.set(dut.engine.flushing, held)
        await waits(held, 1)
        ctx.set(dut.dispatch.present, 0b100)
        await waits(held, 1)
        ctx.set(dut.dispatch.accesses_outstanding, 0)
        if held:
            await waits(1, 1)
            ctx.set(dut.engine.flushing, 0)
            await driver.result(CommandError.BUS_ERROR, 1)
            await ctx.tick()
        await driver.ends("killed")
        assert driver.state(1) == IDLE and not ctx.get(dut.status.busy) and not ctx.get(dut.engine.cancel)
        await driver.command(Command.START, 1)

    drive(scenario)


@pytest.mark.parametrize("seed, cycles", quick(itertools.product(range(4), (600, 6000)), [(0, 600)]))
def test_any_commands_in_any_order_end_and_leave_each_kernel_in_one_place(seed, cycles):
    """A dispatcher and an engine that keep count of a kernel's TBs: launched and saved ones, ended ones."""
    rng = random.Random(seed)

    async def scenario(ctx, dut, driver):
        slots = range(G.kernel_slots)
        here, away, launched = [0] * 3, [0] * 3, [0] * 3  # TBs of each kernel on the SM, saved, begun
        hand, answer_at, ended, room = None, 0, {k: 0 for k in slots}, 6
        busy_since = {}
        for now in range(cycles):
            states = [driver.state(k) for k in slots]
            for k in slots:
                if states[k] not in BUSY_STATES:
                    busy_since[k] = now
                assert now - busy_since.get(k, now) < 900, f"{states[k]!r} does not end"
            leaves = 0
            eligible, kill = ctx.get(dut.dispatch.eligible), ctx.get(dut.dispatch.kill)
            for k in slots:
                if eligible >> k & 1 and launched[k] < 10 and sum(here) < room and rng.random() < 0.2:
                    here[k], launched[k] = here[k] + 1, launched[k] + 1
                claimed = hand is not None and hand.kernel == k and not hand.resume
                if here[k] and (kill >> k & 1 or not claimed and rng.random() < 0.02):
                    here[k], leaves = here[k] - 1, 1
                    ended[k] += 1
            result = {"valid": 0}
            if hand is not None and now >= answer_at:
                k, error = hand.kernel, NONE
                if ctx.get(dut.engine.cancel):
                    error = CommandError.BUS_ERROR
                elif hand.resume:
                    while away[k] and sum(here) < room and not ctx.get(dut.engine.withdraw):
                        here[k], away[k] = here[k] + 1, away[k] - 1
                elif ctx.get(dut.engine.withdraw):
                    moves = rng.randint(0, here[k])
                    here[k], away[k], leaves = here[k] - moves, away[k] + moves, leaves | bool(moves)
                else:
                    leaves |= here[k] > 0
                    here[k], away[k] = 0, away[k] + here[k]
                result, hand = {"valid": 1, "error": error, "left": away[k] > 0 and hand.resume}, None
            ctx.set(dut.engine.result, result)
            ctx.set(dut.dispatch.present, sum((here[k] > 0) << k for k in slots))
            ctx.set(dut.engine.saved, sum((away[k] > 0) << k for k in slots))
            ctx.set(dut.dispatch.done, sum((launched[k] == 10 and not here[k] and not away[k]) << k for k in slots))
            ctx.set(dut.dispatch.room_freed, leaves)
            k, op = rng.randrange(3), rng.choice(list(Command))
            wanted = rng.random() < 0.05
            ctx.set(dut.registers.command, {"valid": wanted, "op": op, "kernel": k})
            accepted = wanted and not ctx.get(dut.events.refused)
            if accepted and op == Command.START:
                here[k] = away[k] = launched[k] = 0
            if ctx.get(dut.engine.command.valid):
                hand, answer_at = ctx.get(dut.engine.command.payload), now + rng.randint(2, 30)
                assert not kill >> hand.kernel & 1
            killed = ctx.get(dut.events.killed)
            await ctx.tick()
            for k in slots:
                state = driver.state(k)
                if state == IDLE and killed and states[k] == KILLING:
                    assert not here[k]
                    away[k] = 0
                if state == FINISHED:
                    assert not here[k] and not away[k]
                if state == RUNNING:
                    assert not away[k], "a saved TB is forgotten"

    drive(scenario)
