# amaranth: UnusedElaboratable=no
"""A way to preempt: registers and back, and what goes together; the command check refuses exactly what `Way` does."""

import itertools

import pytest

from caesura.hw.arch.commands import Command, KernelState
from caesura.hw.arch.faults import CommandError
from caesura.hw.arch.geometry import preset
from caesura.hw.arch.image.context import Mechanism
from caesura.hw.arch.registers import UNLIMITED_GRACE, UNLIMITED_PATIENCE, register_map
from caesura.hw.arch.way import FLAGS, Way, WayOptions
from caesura.hw.control.command_check import CommandCheck
from caesura.hw.interfaces.preemption import preempt_options
from support.hw.simulation import Simulator, component
from support.selection import quick

TINY = preset("tiny").replace(traps=True)
FEATURES = ("tb_compressor", "grace", "restart", "checkpoints", "in_place", "traps")
MACHINES = {"all": TINY.replace(proactive=True), "not proactive": TINY,
            "none": TINY.replace(**dict.fromkeys(FEATURES, False)),
            "no checkpoints": TINY.replace(checkpoints=False, in_place=False),
            **{f"no {name}": TINY.replace(**{name: False}) for name in FEATURES if name != "checkpoints"}}


def every():
    """Every mechanism with every combination of options."""
    for mechanism, *flags in itertools.product(Mechanism, *[(False, True)] * len(FLAGS)):
        yield Way(mechanism, **dict(zip(FLAGS, flags, strict=True)))


def test_registers_hold_what_a_way_says():
    for way in every():
        for patience, grace in ((0, 0), (7, 9), ("unlimited", "unlimited")):
            given = way.but(patience=patience, grace=grace)
            held = Way.from_fields(given.fields, given.patience_cycles, given.grace_cycles)
            assert held == (given if way.mechanism is not Mechanism.OCCUPIED else given.but(patience=None))
    assert Way(patience="unlimited").patience_cycles == UNLIMITED_PATIENCE
    assert Way(grace="unlimited").grace_cycles == UNLIMITED_GRACE
    assert Way.from_fields({"mechanism": 9}, 0, 0) is None
    assert Way.from_fields({"mechanism": 1, "trap": 1}, 0, 0) == Way(patience=0, trap=True)


def test_options_have_one_list():
    """The keywords, the register's fields and the hardware's structure have the names of the attributes."""
    attributes = set(Way.__dataclass_fields__)
    assert {*WayOptions.__annotations__} == attributes - {"mechanism"} == {*FLAGS, "patience", "grace"}
    assert {"mechanism", *FLAGS} <= {*register_map()["command"].fields}
    # The engine need not know that its preempt is one of two passes.
    assert {"mechanism", *FLAGS} - {"select"} <= {*preempt_options(TINY).members}


@pytest.mark.parametrize("name", quick([*MACHINES], ["all", "none"]))
def test_the_command_check_refuses_what_a_way_does(name):
    g = MACHINES[name]
    dut, wrong = component(CommandCheck, g), []

    async def bench(ctx):
        for k in range(g.kernel_slots):
            ctx.set(dut.states[k], KernelState.RUNNING)
        ctx.set(dut.command.valid, 1)
        ctx.set(dut.command.op, Command.PREEMPT)
        for way, grace in itertools.product(every(), (0, 5)):
            for field, value in way.fields.items():
                ctx.set(dut.command[field], value)
            ctx.set(dut.grace, grace)
            why, error = way.but(grace=grace).refusal(g), CommandError(ctx.get(dut.error))
            if error is not (CommandError.UNKNOWN if why else CommandError.NONE):
                wrong.append((way, grace, why, error))
        for mechanism in range(len(Mechanism), 16):
            ctx.set(dut.command.mechanism, mechanism)
            assert ctx.get(dut.error) == CommandError.UNKNOWN

    simulator = Simulator(dut)
    simulator.add_testbench(bench)
    simulator.run()
    assert not wrong, wrong[:3]


@pytest.mark.parametrize("way, names, words", [
    (Way(Mechanism.LIVE_TB), {}, "(bare) has no mechanism 'live+tb': its geometry says tb_compressor = false"),
    (Way(grace=5), {"grace": "--grace"}, "(bare) gives no grace: its geometry says grace = false; leave --grace out"),
    (Way(in_place=True), {"in_place": "newcomer"}, "in_place = false; leave newcomer out"),
    (Way(checkpoint=True), {}, "takes no checkpoints: its geometry says checkpoints = false; preempt without"),
    (Way(patience=-1), {}, "patience -1: a number of cycles from 0"),
    (Way(grace="long"), {}, "grace 'long': a number of cycles from 0"),
    (Way(Mechanism.OCCUPIED, patience=1), {}, "'occupied' does not wait for preemption points"),
])
def test_a_refusal_says_what_and_what_to_do(way, names, words):
    assert words in way.refusal(MACHINES["none"].replace(name="bare"), names)
    assert not Way().refusal(MACHINES["none"])


@pytest.mark.parametrize("way, words", [
    (Way(restart=True, trap=True), "--restart does not go with trap: its warps stop at once"),
    (Way(restart=True, in_place=True), "--restart does not go with in_place: what stays on the SM is whole"),
    (Way(Mechanism.OCCUPIED, trap=True), "mechanism 'occupied' does not go with trap"),
])
def test_a_clash_names_options_as_they_were_given(way, words):
    assert words in way.clash({"restart": "--restart"}) and words in way.refusal(TINY, {"restart": "--restart"})
