# amaranth: UnusedElaboratable=no
"""Register fan-out: what a device reads of its SMs, against the golden model's word for it, and where writes go."""

import random

import pytest

from caesura.hw.arch.commands import Command, KernelState
from caesura.hw.arch.faults import CommandError
from caesura.hw.arch.geometry import preset
from caesura.hw.arch.registers import Combine, device_register_map, register_map
from caesura.hw.device.combine import RULES, Combiner
from caesura.hw.device.register_fan_out import RegisterFanOut
from caesura.sim.golden.device import combined
from support.hw.simulation import Simulator, component
from support.selection import quick

G = preset("tiny").replace(sms=3)
PLACES = device_register_map()
ONE_OF_EACH = {rule: next(register for register in register_map().values() if register.combine is rule)
               for rule in Combine}


def run(dut, process, clocked=True):
    async def testbench(ctx):
        await process(ctx, dut)

    simulator = Simulator(dut)
    if clocked:
        simulator.add_clock(1e-6)
    simulator.add_testbench(testbench)
    simulator.run()


def words(rng, register, count):
    """Random words of a register, some alike, some 0, some as large as can be."""
    whole = sum((1 << f.width) - 1 << f.low for f in register.fields.values())
    pool = [0, whole, rng.getrandbits(32) & whole, rng.getrandbits(32) & whole, rng.getrandbits(4) & whole]
    return [rng.choice(pool) for _ in range(count)]


@pytest.mark.parametrize("sms", quick([2, 3, 16], [2, 3]))
@pytest.mark.parametrize("rule", list(Combine))
def test_words_are_combined_as_the_model_says(rule, sms):
    rng, register = random.Random(f"{rule} {sms}"), ONE_OF_EACH[rule]

    async def process(ctx, dut):
        ctx.set(dut.rule, RULES.index(rule))
        for _ in range(150):
            given = words(rng, register, sms)
            chosen, said = rng.getrandbits(sms), rng.getrandbits(sms)
            for i, word in enumerate(given):
                ctx.set(dut.words[i], word)
            ctx.set(dut.chosen, chosen)
            ctx.set(dut.error_shown, said)
            mine = [i for i in range(sms) if chosen >> i & 1]
            expected = combined(register, [given[i] for i in mine], [bool(said >> i & 1) for i in mine])
            assert ctx.get(dut.word) == expected

    run(component(Combiner, G.replace(sms=sms)), process, clocked=False)


def test_every_register_that_cannot_be_that_of_the_first_says_what_it_is():
    """What software writes alike on all SMs, and what is the same on all, may be read of the first."""
    for path, register in register_map().items():
        alike = register.writable or path in ("id", "geometry_hash", "cycle_low", "cycle_high")
        one = (path.startswith("inspect_") or "profile_" in path or path.endswith(("_stay", ".away"))
               or "switches_" in path or path == "announced")
        assert alike or one or register.combine is not Combine.FIRST, path
        assert not (register.writable and register.combine is not Combine.FIRST), path
        assert register.last in ("", "preempt", "resume")


class Sms:
    """SMs that are memories: what is written can be read, a cycle later."""

    def __init__(self, ctx, dut):
        self.ctx, self.dut = ctx, dut
        self.values = [{} for _ in dut.sms]

    async def tick(self):
        for sm, values in zip(self.dut.sms, self.values, strict=True):
            if self.ctx.get(sm.write):
                values[self.ctx.get(sm.address)] = self.ctx.get(sm.write_data)
        reads = [values.get(self.ctx.get(sm.address), 0) for sm, values in zip(self.dut.sms, self.values, strict=True)]
        await self.ctx.tick()
        for sm, word in zip(self.dut.sms, reads, strict=True):
            self.ctx.set(sm.read_data, word)

    async def write(self, path, value):
        host = self.dut.host
        self.ctx.set(host.address, PLACES[path].address)
        self.ctx.set(host.write_data, value)
        self.ctx.set(host.write, 1)
        await self.tick()
        self.ctx.set(host.write, 0)

    async def read(self, path):
        self.ctx.set(self.dut.host.address, PLACES[path].address)
        await self.tick()
        return self.ctx.get(self.dut.host.read_data)


def test_writes_go_to_the_sms_that_are_written_and_reads_are_of_those_that_are_read():
    async def process(ctx, dut):
        sms = Sms(ctx, dut)
        assert (await sms.read("sms"), await sms.read("sm_read"), await sms.read("sm_write")) == (3, 0xFFFF, 0xFFFF)
        await sms.write("kernel[1].grid_x", 77)
        assert [values.get(PLACES["kernel[1].grid_x"].address) for values in sms.values] == [77] * 3
        for i in range(3):
            await sms.write("sm_write", 1 << i)
            await sms.write("kernel[1].ccb_base", 100 + i)
            sms.values[i][PLACES["kernel[2].launched"].address] = 10 ** i
        assert await sms.read("kernel[1].ccb_base") == 100 and await sms.read("kernel[2].launched") == 111
        await sms.write("sm_read", 0b110)
        assert await sms.read("kernel[1].ccb_base") == 101 and await sms.read("kernel[2].launched") == 110
        await sms.write("sm_read", 0)
        assert await sms.read("kernel[2].launched") == 0
        assert not any(PLACES["sm_read"].address in values or PLACES["sm_write"].address % 0x2000 in values
                       for values in sms.values)

    run(component(RegisterFanOut, G), process)


def test_counters_are_those_of_the_sms_that_took_the_command():
    async def process(ctx, dut):
        sms = Sms(ctx, dut)
        for i in range(3):
            for path, value in (("save_tbs", 10 ** i), ("save_cycles", 50 - i), ("restore_bytes", 2 * 10 ** i),
                                ("resume_cycles", 7 + i), ("retired", 5)):
                sms.values[i][PLACES[path].address] = value
        for op, accepted in ((Command.PREEMPT, 0b110), (Command.RESUME, 0b101)):
            for i, report in enumerate(dut.reports):
                ctx.set(report.states[0], KernelState.RUNNING if op is Command.PREEMPT else KernelState.PREEMPTED)
                ctx.set(report.accepted, accepted >> i & 1)
            await sms.write("command", register_map()["command"].pack(op=op))
            for report in dut.reports:
                ctx.set(report.accepted, 0)
        assert (await sms.read("save_tbs"), await sms.read("save_cycles")) == (110, 49)
        assert (await sms.read("restore_bytes"), await sms.read("resume_cycles")) == (202, 7)
        assert await sms.read("retired") == 15

    run(component(RegisterFanOut, G), process)


def test_the_status_has_the_error_of_the_last_command():
    async def process(ctx, dut):
        sms, status = Sms(ctx, dut), register_map()["status"]
        for i in range(3):
            sms.values[i][status.address] = status.pack(busy=i == 1, resident=40, warps=3 + i,
                                                        error=(CommandError.TOO_LARGE, CommandError.BUSY, 0)[i])
        start = register_map()["command"].pack(op=Command.START)
        for accepted, error in ((0, CommandError.TOO_LARGE), (0b100, CommandError.NONE)):
            for i, report in enumerate(dut.reports):
                ctx.set(report.accepted, accepted >> i & 1)
            await sms.write("command", start)
            for report in dut.reports:
                ctx.set(report.accepted, 0)
            for i in range(3):
                sms.values[i].pop(PLACES["command"].address, None)
            found = status.unpack(await sms.read("status"))
            assert found == {"busy": 1, "error": error, "resident": 63, "warps": 12}
            assert bool(await sms.read("event")) == (accepted == 0)
            await sms.write("event", 0xFFFF_FFFF)
        ctx.set(dut.reports[1].states[0], KernelState.RUNNING)
        await sms.write("command", start)
        assert status.unpack(await sms.read("status"))["error"] == CommandError.BUSY

    run(component(RegisterFanOut, G), process)


def test_faults_are_those_of_the_first_sm_that_has_one_and_states_those_of_its_members():
    async def process(ctx, dut):
        sms, state = Sms(ctx, dut), register_map()["kernel[1].state"]
        for i in range(3):
            sms.values[i][PLACES["fault_pc"].address] = 10 + i
            sms.values[i][state.address] = state.pack(state=(KernelState.RUNNING, KernelState.FINISHED,
                                                             KernelState.PREEMPTED)[i])
        for faults, pc in ((0b010, 11), (0b110, 11), (0b100, 12), (0, 0)):
            for i, report in enumerate(dut.reports):
                ctx.set(report.fault, faults >> i & 1)
            assert await sms.read("fault_pc") == pc and ctx.get(dut.host.interrupt) == (faults != 0)
        for members, expected in ((0b111, KernelState.PREEMPTED), (0b011, KernelState.RUNNING),
                                  (0b010, KernelState.FINISHED), (0, KernelState.IDLE)):
            ctx.set(dut.members[1], members)
            assert state.unpack(await sms.read("kernel[1].state")) == {
                "state": expected, "error": 0, "recorded": 0}

    run(component(RegisterFanOut, G), process)
