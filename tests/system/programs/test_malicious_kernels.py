"""Machine code that tries each way out of what is its own, beside an innocent kernel, on both machines.

Nobody judges the code: what is shown is that the machine stops it. Each attack is done on two machines that differ only
in the secrets of the innocent and of a former owner.
"""

import functools
import itertools

import pytest

from caesura.hw.arch.faults import Fault
from caesura.sim.golden.state.sm import Sm
from support.attacks.attacks import ATTACKS, IN_ROUTINES, MARK, START, Attack, image
from support.attacks.cell import THREADS, TINY, TRANSPORTS, WINDOW_BYTES, Cell
from support.selection import quick

PARTS = 24
DISTURBED = ("", "innocent", "attacker")


@functools.cache
def cells(machine):
    return Cell(machine, 1), Cell(machine, 2)


def problems(cell, attack, outcome):
    """Return what an attack has done that it should not have been able to do."""
    kind = outcome.fault.kind if outcome.fault else None
    found = []
    if kind is not attack.fault or outcome.ended != attack.ends:
        found.append(f"{outcome.fault}, ended: {outcome.ended}")
    if outcome.fault and (outcome.fault.kernel != 1 or outcome.fault.pc < START and attack.name in ATTACKS):
        found.append(f"it is said to be of another: {outcome.fault}")
    if outcome.output != cell.expected:
        found.append("the innocent's result is wrong")
    if outcome.changed:
        found.append(f"memory of others has changed, from {outcome.changed[0]:#x} on")
    if leaked := cell.leaked(outcome):
        found.append(f"it has {len(leaked)} secrets")
    return found


def judge(machine, attack, disturb, blocks=2):
    """Do an attack on both cells of a machine; return whether somebody was preempted at the time."""
    pair = cells(machine)
    outcomes = [cell.attack(attack.image, attack.place, disturb, blocks) for cell in pair]
    for cell, outcome in zip(pair, outcomes, strict=True):
        assert problems(cell, attack, outcome) == [], attack.name
    assert outcomes[0].writable == outcomes[1].writable, f"{attack.name}: what it has depends on the secrets"
    assert outcomes[0].fault == outcomes[1].fault
    if attack.name in ATTACKS:
        assert outcomes[0].window.startswith(MARK.to_bytes(4, "little")), f"{attack.name} has not begun"
    if "never written" in attack.name:
        assert not any(outcomes[0].window[4 * THREADS:]), f"{attack.name} is not zero"
    return outcomes[0].away


@pytest.mark.timeout(1200)
@pytest.mark.parametrize("machine, part, disturb", quick(
    itertools.product(TRANSPORTS, range(PARTS), DISTURBED),
    [*(("golden", 0, disturb) for disturb in DISTURBED[1:]), ("rtl", 1, "attacker")]))
def test_no_attack_gets_out(machine, part, disturb):
    chosen = list(ATTACKS.values())[part::PARTS]
    away = sum(judge(machine, attack, disturb) for attack in chosen)
    assert away == (len(chosen) if disturb else 0), "an attack was over before somebody was preempted"


@pytest.mark.parametrize("name", [name for name in ATTACKS if "loop" in name or "end" in name.split()])
def test_what_never_ends_is_killed_and_the_innocent_ends(name):
    judge("golden", ATTACKS[name], "")


@pytest.mark.parametrize("name", IN_ROUTINES)
@pytest.mark.parametrize("machine", TRANSPORTS)
def test_no_attack_of_preemption_routines_gets_out(machine, name):
    judge(machine, IN_ROUTINES[name], "trapped attacker", blocks=1)


def test_every_kind_of_fault_that_code_can_have_is_among_them():
    """But errors of the bus, which need a window where there is no memory: the driver gives none."""
    stopped = {attack.fault for attack in ATTACKS.values()}
    assert stopped == {None, *Fault} - {Fault.NONE, Fault.BUS_ERROR}
    assert len(ATTACKS) > 450 and sum(not attack.ends for attack in ATTACKS.values()) >= 14


@pytest.mark.parametrize("machine", TRANSPORTS)
def test_an_attack_that_succeeds_is_noticed(machine):
    """Windows that are too wide let each get what it wants."""
    pair = cells(machine)
    everything = [(0, 1 << 16)]
    load = Attack("load", image("ld.global.b32 R8, [R3]"), None)
    store = Attack("store", image("st.global.b32 [R3], R4"), None)
    outcomes = [cell.attack(load.image, "input", windows=everything) for cell in pair]
    for cell, outcome in zip(pair, outcomes, strict=True):
        assert problems(cell, load, outcome) == ["it has 1 secrets"]
    assert outcomes[0].writable != outcomes[1].writable
    masked = image("ld.global.b32 R8, [R3]\nand.i R8, R8, 0xffff")
    hidden = [cell.attack(masked, "input", windows=everything).writable for cell in pair]
    assert hidden[0] != hidden[1], "a part of a secret tells the machines apart"
    for place, changes in (("input", True), ("code", False)):
        found = problems(pair[0], store, pair[0].attack(store.image, place, windows=everything))
        assert any("memory of others has changed" in text for text in found), found
        assert ("the innocent's result is wrong" in found) >= changes, found


def test_a_machine_that_checks_no_window_is_noticed(monkeypatch):
    monkeypatch.setattr(Sm, "access_fault", lambda *_: None)
    cell = Cell("golden", 3)
    name = "store, input"
    assert problems(cell, ATTACKS[name], cell.attack(ATTACKS[name].image, ATTACKS[name].place))


def test_windows_are_whole_segments_next_to_what_is_the_innocents():
    cell = cells("golden")[0]
    assert cell.window % 128 == WINDOW_BYTES % 128 == 0 and TINY.windows == 2
    assert cell.places["input"] + 128 == cell.window and cell.places["above"] == cell.places["output"]
