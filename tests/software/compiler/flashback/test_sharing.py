"""Shared preemption routines: every entry leads to its own steps, no body is the end of another."""

import random

import pytest

from caesura.hw.arch.geometry import PRESETS
from caesura.software.compiler.flashback.costs import Objective
from caesura.software.compiler.flashback.kernel import flashback
from caesura.software.compiler.flashback.machine_code import program
from caesura.software.compiler.flashback.sharing import Entry, share
from caesura.software.kernels import KERNELS


def check(routines):
    sharing = share(routines)
    for steps, entry in zip(routines, sharing.entries, strict=True):
        assert sharing.bodies[entry.body][entry.offset:] == steps
    for a in sharing.bodies:
        assert not any(a is not b and len(a) <= len(b) and b[len(b) - len(a):] == a for b in sharing.bodies)
    return sharing


def test_routines_of_one_flashback_point_are_one_with_an_offset_each():
    sharing = check([("R0", "R1"), (7, "R0", "R1"), (9, 7, "R0", "R1"), ("R0",), ()])
    assert sharing.bodies == [(9, 7, "R0", "R1"), ("R0",)] or len(sharing.bodies) == 2
    assert sharing.entries[:3] == [Entry(sharing.entries[2].body, offset) for offset in (2, 1, 0)]


def test_random_routines():
    for seed in range(300):
        rng = random.Random(seed)
        check([tuple(rng.choice("abc") for _ in range(rng.randrange(6))) for _ in range(rng.randrange(12))])


@pytest.mark.parametrize("name", ["dot", "hotspot", "kmeans"])
def test_few_routines_are_left_of_a_kernel(name):
    """In general only several are (CTXBack IV-A)."""
    found = flashback(program(KERNELS[name].image(), PRESETS["gtx480"]), Objective.LATENCY)
    assert len(found.sharing.entries) == len(found.instructions)
    check([found.sharing.bodies[entry.body][entry.offset:] for entry in found.sharing.entries])
    assert len(found.sharing.bodies) < 0.8 * len(found.instructions)
    separate = sum(len(found.sharing.bodies[entry.body]) - entry.offset for entry in found.sharing.entries)
    assert found.sharing.steps < 0.8 * separate
