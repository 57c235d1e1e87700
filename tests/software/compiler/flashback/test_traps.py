"""Preemption routines as machine code: stopped before every instruction, a kernel comes back with the same results."""

import dataclasses

import pytest

from caesura.hw.arch.geometry import PRESETS
from caesura.hw.arch.image.context import Mechanism
from caesura.hw.arch.isa.formats import FIELDS, Format
from caesura.hw.arch.isa.liveness import saved_by
from caesura.hw.arch.isa.opcodes import BY_NAME, VECTOR_WORDS
from caesura.hw.arch.isa.words import decode, encode
from caesura.sim.golden.transport import GoldenTransport
from caesura.sim.workloads.everywhere import SMALL_SM, Campaign, totals
from caesura.software.compiler.codegen.elf import read_elf, write_elf
from caesura.software.compiler.errors import ImageError
from caesura.software.compiler.flashback.costs import Objective
from caesura.software.compiler.flashback.kinds import RoutineForm, RoutineKind
from caesura.software.compiler.flashback.traps import trap_table, with_routines
from caesura.software.driver import KernelFault
from caesura.software.kernels import KERNELS, collatz_job, kernel, nbody_job, warpscan_job
from support.programs.routine_forms import ROUTINES, SOME_ROUTINES, routine_id
from support.programs.small_runs import random_run, shipped
from support.selection import quick

pytestmark = pytest.mark.depends_on("hw", "sim", "software")
G = SMALL_SM


def neighbour():
    return shipped("collatz", collatz_job(20, 2, seed=3, threads=20))


WORKS = {
    "divergent": lambda: shipped("collatz", collatz_job(40, 3, seed=5, threads=40)),
    "shuffles": lambda: shipped("warpscan", warpscan_job(75, 2, seed=12, threads=40)),
    "doubles": lambda: shipped("nbody", nbody_job(8, 2, seed=10, threads=8)),
}


def stopped(work, image, mechanism=Mechanism.LIVE_CP, samples=25, period=None, patience="unlimited"):
    """Return how often a kernel with routines was asked to stop, and how often it was saved; nothing may go wrong."""
    campaign = Campaign(GoldenTransport(G), dataclasses.replace(work, image=image), neighbour(), 1_000_000)
    step = max(1, campaign.cycles // samples)
    return totals(campaign.at_cycles(mechanism, range(seed_of(work) % step, campaign.cycles, step), period,
                                     patience=patience))


def seed_of(work):
    return len(work.image.code)


@pytest.mark.parametrize("samples", quick([25, 4], [4]))
@pytest.mark.parametrize("kind, form", quick(ROUTINES, SOME_ROUTINES), ids=routine_id)
@pytest.mark.parametrize("name", quick(WORKS, ["doubles"]))
def test_shipped_kernels_come_back(name, kind, form, samples):
    work = WORKS[name]()
    image = with_routines(work.image, G, kind, form=form)
    requests, saved = stopped(work, image, samples=samples)
    assert saved > requests // 2
    again, saved = stopped(work, image, Mechanism.LIVE_TB, samples=1, period=170)
    assert saved > again // 2


@pytest.mark.full
@pytest.mark.parametrize("seed", range(60))
def test_random_kernels_come_back(seed):
    work = random_run(seed, statements=3, variables=3, wide=1, heavy=False)
    for kind in (RoutineKind.CTXBACK, RoutineKind.CTXBACK_CS_DEFER, RoutineKind.LIVE):
        for objective in Objective:
            for form in RoutineForm:
                stopped(work, with_routines(work.image, G, kind, objective, form=form), samples=12)
        stopped(work, with_routines(work.image, G, kind), samples=6, patience=3)


@pytest.mark.full
@pytest.mark.parametrize("kind, form", ROUTINES, ids=routine_id)
@pytest.mark.parametrize("name", WORKS)
def test_every_instruction(name, kind, form):
    work = WORKS[name]()
    for mechanism in (Mechanism.LIVE, Mechanism.LIVE_TB):
        stopped(work, with_routines(work.image, G, kind, form=form), mechanism, samples=10**9)


def replaced(image, change):
    """Return an image in which `change` has its way with the words of the routines."""
    return dataclasses.replace(image, traps=tuple(change(image.traps)))


def fewer_saved(words):
    """Every point forgets the highest vector register that it saves."""
    found = []
    for word in words:
        instruction = decode(word)
        live = instruction.get("live") if instruction.op.name in ("pp", "pp.div") else 0
        registers = [r for r in saved_by(live, 40).registers] if live else []
        if registers:
            word = encode(dataclasses.replace(instruction, fields={"live": live & ~(1 << max(registers))}))
        found.append(word)
    return found


def nothing_again(words):
    """What is executed again, or reverted, is left out."""
    nop = 0x182 << 54
    assert decode(nop).op.name == "nop"
    return [word if decode(word).op.name in ("pp", "pp.div", "bra", "rejoin") else nop for word in words]


def one_place(words):
    """The first two registers are stored to one place, and loaded from it."""
    accesses = [k for k, word in enumerate(words) if decode(word).op.all_lanes and decode(word).get("d") == 1]
    imm, _ = FIELDS[Format.M]["imm"]
    return [word - (4 << imm) if k in accesses else word for k, word in enumerate(words)]


def by_active_lanes(words):
    """Registers are stored and loaded by the active lanes only."""
    return [encode(dataclasses.replace(instruction, op=BY_NAME[instruction.op.name.replace(".all", "")]))
            if (instruction := decode(word)).op.all_lanes else word for word in words]


@pytest.mark.parametrize("name, form, fault", [
    *(("doubles", RoutineForm.HARDWARE, fault) for fault in (fewer_saved, nothing_again)),
    *(("doubles", RoutineForm.SOFTWARE, fault) for fault in (nothing_again,)),
    pytest.param("doubles", RoutineForm.SOFTWARE, one_place, marks=pytest.mark.full),
    ("divergent", RoutineForm.SOFTWARE, by_active_lanes)])
def test_wrong_routines_are_noticed(name, form, fault):
    work = WORKS[name]()
    image = replaced(with_routines(work.image, G, RoutineKind.CTXBACK, form=form), fault)
    with pytest.raises((AssertionError, KernelFault), match="wrong bytes|fault"):
        stopped(work, image)


@pytest.mark.parametrize("kind, form", ROUTINES, ids=routine_id)
def test_vectors(kind, form):
    """Four words for each; those of what stops a warp itself lead back."""
    image = with_routines(kernel("reduction").image(), G, kind, Objective.SIZE, form=form)
    base, instructions = len(image.code), [decode(word) for word in image.words]
    assert image.trap_base == base and len(image.traps) >= VECTOR_WORDS * base
    deferred = 0

    def way(pc):
        """The names of what a warp executes from a vector on, until it is back."""
        names, at = [], base + VECTOR_WORDS * pc
        while names[-1:] != ["rejoin"]:
            instruction = instructions[at]
            assert at >= base and (instruction.op.name != "bra" or instruction.guard is None)
            names.append(instruction.op.name)
            at = instruction.get("target") if instruction.op.name == "bra" else at + 1
        return names

    for pc in range(base):
        names, name = way(pc), instructions[pc].op.name
        if name in ("pp", "pp.div", "exit") or instructions[pc].op.barrier is not None:
            assert names == ["rejoin"]
        elif names == ["rejoin"]:
            deferred += 1
        else:
            assert names.count("pp") == 1 and names[names.index("pp") + 1] == "pp.div"
            assert names.index("pp") <= 1 or names[0] == "bra"
    assert (deferred > 0) == (kind in (RoutineKind.CS_DEFER, RoutineKind.CTXBACK_CS_DEFER))


def test_software_stores_what_the_hardware_would_save():
    """Every register of a kernel for the one kind, and for the others what the point names; the points name no vector
    register, and one routine that stores all serves all instructions."""
    image, g = kernel("hotspot").image(), PRESETS["gtx480"]
    for kind in (RoutineKind.ALL, RoutineKind.LIVE, RoutineKind.CTXBACK):
        handing, storing = (trap_table(image, g, kind, form=form).routines for form in RoutineForm)
        assert handing.keys() == storing.keys()
        for pc, routine in storing.items():
            _, point = (decode(word).get("live") for word in handing[pc].point)
            assert routine.stored == saved_by(point, image.registers).registers
            assert all(saved_by(decode(word).get("live"), image.registers).registers == () for word in routine.point)
            assert not handing[pc].stored
        if kind is RoutineKind.ALL:
            assert all(routine.stored == tuple(range(image.registers)) for routine in storing.values())
    code = with_routines(image, g, RoutineKind.ALL, form=RoutineForm.SOFTWARE)
    assert len(code.traps) == VECTOR_WORDS * len(image.code) + 2 * image.registers + 3


def test_a_routine_that_ends_as_another_does_is_its_end():
    image, g = kernel("nbody").image(), PRESETS["gtx480"]
    routines = trap_table(image, g, RoutineKind.CTXBACK, form=RoutineForm.SOFTWARE).routines
    bodies = {(*routine.before, *routine.point, *routine.behind) if len(routine.before) > 1 else routine.behind
              for routine in routines.values()} - {()}
    ends = {body for body in bodies if any(body != other and other[-len(body):] == body for other in bodies)}
    assert len(bodies) < len(routines)
    code = with_routines(image, g, RoutineKind.CTXBACK, form=RoutineForm.SOFTWARE)
    assert len(code.traps) - VECTOR_WORDS * len(image.code) == sum(len(body) + 1 for body in bodies - ends)


@pytest.mark.full
def test_what_is_handed_over_is_never_more_than_what_is_live():
    """By size, over all instructions of the kernels that ship: on a converged warp, too."""
    whole = live = 0
    for name in ("matmul", "hotspot", "collatz", "nbody"):
        image = KERNELS[name].image()
        plain, back = (trap_table(image, PRESETS["gtx480"], kind, Objective.SIZE).routines
                       for kind in (RoutineKind.LIVE, RoutineKind.CTXBACK))
        assert plain.keys() == back.keys()
        for pc, routine in back.items():
            assert routine.plan.size <= plain[pc].plan.size
            assert routine.handover.converged <= routine.handover.saved
            whole, live = whole + routine.plan.size, live + plain[pc].plan.size
    assert whole < 0.97 * live


def test_routines_are_part_of_the_file():
    for form in RoutineForm:
        image = with_routines(kernel("saxpy").image(), G, form=form)
        file = write_elf([image, kernel("reduction").image()])
        read = read_elf(file)
        assert read["saxpy"] == image and not read["reduction"].traps


@pytest.mark.parametrize("trap_base", [0, -1, 10**6, "x", 1.5])
def test_a_file_that_lies_about_them_is_refused(trap_base, monkeypatch):
    image = with_routines(kernel("saxpy").image(), G)
    monkeypatch.setattr(type(image), "trap_base", trap_base)
    file = write_elf([image])
    with pytest.raises(ImageError, match="bad kernel record"):
        read_elf(file)
