"""In which order a host has to take work off: every interleaving of a small machine is visited."""

import pytest

from support.sim.eviction_model import KILL_FIRST, ORDER, REEF, STEPS, WITHOUT, Host, explore

QUEUES = ["w", "ww", "www", "wow", "oww", "owowo", "wwoow"]
"""Packets of the work and of others."""


@pytest.mark.parametrize("blocks", [1, 2, 3])
@pytest.mark.parametrize("packets", QUEUES)
def test_nothing_goes_wrong_in_our_order(packets, blocks):
    assert explore(ORDER, packets, blocks) == {}


def test_a_kernel_survives_in_the_order_of_reef():
    """The kill overtakes the flag, and the next kernel begins and finds it clear."""
    found = explore(REEF, "ww")
    assert found == {"survivor": ["host: set", "host: kill", "the kill arrives", "kernel 0 starts",
                                  "block 0 of kernel 0 begins"]} or set(found) == {"survivor"}
    way = found["survivor"]
    assert "the flag arrives" not in way[:way.index("the kill arrives")]


@pytest.mark.parametrize("times", [2, 3, 4])
def test_repeating_the_kill_does_not_keep_it_from_surviving(times):
    assert "survivor" in explore(Host(("set", *times * ("kill", "killed"))), "ww")


def test_the_flag_alone_is_not_enough_when_the_kill_comes_first():
    assert "survivor" in explore(KILL_FIRST, "w")


@pytest.mark.parametrize("missing, wrong", [
    ("see", "survivor"), ("hold", "bystander"), ("look", "bystander"), ("killed", "bystander"), ("drain", "survivor"),
    ("records", "lost")])
def test_nothing_of_the_order_can_be_left_out(missing, wrong):
    found = explore(WITHOUT[missing], "wow")
    assert set(found) == {wrong} and found[wrong][0].startswith(("host", "kernel"))


def test_every_step_but_the_records_is_tried():
    assert {*ORDER.steps} == {*STEPS} and {*WITHOUT} == {"see", "hold", "look", "killed", "drain", "records"}


def test_a_host_that_waits_for_what_never_comes_is_stuck():
    assert "stuck" in explore(Host(("hold", "drain")), "w")
