"""Preemption routines are judged from their words: what the compiler makes is taken, what gives nothing back is not."""

import dataclasses
import itertools
import re

import numpy as np
import pytest

from caesura import open_device
from caesura.hw.arch.isa.liveness import saved_by
from caesura.hw.arch.isa.opcodes import VECTOR_WORDS
from caesura.hw.arch.isa.words import Instruction, decode, encode
from caesura.sim.workloads.everywhere import SMALL_SM
from caesura.software.compiler import compile_ptx
from caesura.software.compiler.codegen.assemble import AssemblerError, assemble
from caesura.software.compiler.codegen.elf import read_elf, write_elf
from caesura.software.compiler.errors import ImageError
from caesura.software.compiler.flashback import traps
from caesura.software.compiler.flashback.costs import Objective
from caesura.software.compiler.flashback.kinds import RoutineForm, RoutineKind
from caesura.software.compiler.flashback.traps import trap_table, with_routines
from caesura.software.compiler.preemption.check import check_code
from caesura.software.kernels import KERNELS, kernel
from caesura.software.kernels.doubles import DOUBLES
from support.programs.routine_forms import ROUTINES, SOME_ROUTINES, routine_id
from support.programs.small_runs import random_run
from support.selection import quick

pytestmark = pytest.mark.depends_on("hw", "sim", "software")
G = SMALL_SM
NOP = encode(Instruction.make("nop"))
STORE = encode(Instruction.make("st.global.b32", a=0, d=0))


def refused(image):
    """What is wrong with the routines of an image; empty if nothing is."""
    try:
        check_code(image, "file.elf")
    except ImageError as error:
        (what,) = re.findall(r"pc \d+: its preemption routine (.*); `check=False`", str(error))
        return what
    return ""


@pytest.mark.parametrize("name", quick(list(KERNELS), ["collatz"]))
def test_what_the_compiler_makes_is_right(name):
    for kind, form in ROUTINES:
        for objective in Objective:
            assert not refused(with_routines(kernel(name).image(), G, kind, objective, form=form))


@pytest.mark.full
@pytest.mark.parametrize("name", list(DOUBLES))
def test_so_it_is_where_there_are_calls(name):
    (image,) = compile_ptx(DOUBLES[name].read_text(), name).values()
    assert any(decode(word).op.name == "call" for word in image.code)
    for kind, form in ((RoutineKind.RELAXED, RoutineForm.HARDWARE), *SOME_ROUTINES):
        assert not refused(with_routines(image, G, kind, form=form))


@pytest.mark.full
@pytest.mark.parametrize("seed", range(300))
def test_so_it_is_of_random_kernels(seed):
    image = random_run(seed).image
    for kind, form in ((RoutineKind.RELAXED, RoutineForm.HARDWARE), *SOME_ROUTINES):
        assert not refused(with_routines(image, G, kind, form=form))


def routine_words(image, pc):
    """Where the words of a routine stand among those of all routines, its jumps left out."""
    found, at = [], VECTOR_WORDS * pc
    while True:
        instruction = decode(image.traps[at])
        if instruction.op.name == "rejoin":
            return found
        if instruction.op.name != "bra":
            found.append(at)
            at += 1
        else:
            at = instruction.get("target") - image.trap_base


def replaced(image, at, word):
    return dataclasses.replace(image, traps=(*image.traps[:at], word, *image.traps[at + 1:]))


def behind_barriers(image):
    """Where no lane of a warp waits elsewhere, since there is a barrier before it in its block."""
    code = [decode(word) for word in image.code]
    ends = {instruction.get(place) for instruction in code if instruction.op.name == "bra"
            for place in ("target", "reconv")}
    found, together = set(), False
    for pc, instruction in enumerate(code):
        together &= pc not in ends
        if together:
            found.add(pc)
        together = instruction.op.name != "bra" and (together or instruction.op.barrier is not None)
    return found


@pytest.mark.parametrize("name", quick(["hotspot", "reduction", "collatz", "nbody", "srad"], ["collatz"]))
@pytest.mark.parametrize("kind, form", [
    (RoutineKind.LIVE, RoutineForm.HARDWARE), *itertools.product([RoutineKind.CTXBACK], RoutineForm)], ids=routine_id)
def test_whatever_is_left_out_is_missed(name, kind, form):
    """Each register that a point saves, and each instruction that reverts, stores, loads or is executed again."""
    image = with_routines(kernel(name).image(), G, kind, form=form)
    missed, together = 0, behind_barriers(image)
    for pc in range(0, len(image.code), 3):
        for at in routine_words(image, pc):
            instruction = decode(image.traps[at])
            if instruction.op.name == "nop":
                continue
            if instruction.op.name == "pp.div" and pc in together:  # no warp stops there: a barrier would be its fault
                assert not refused(replaced(image, at, NOP))
                continue
            if instruction.op.name not in ("pp", "pp.div"):
                assert re.match("does not (give|save)", refused(replaced(image, at, NOP)))
                missed += 1
                continue
            live = instruction.get("live")
            for reg in saved_by(live, image.registers).registers[::4]:
                less = encode(Instruction.make(instruction.op.name, live=live & ~(1 << reg)))
                assert re.match("does not (give|save)", refused(replaced(image, at, less)))
                missed += 1
    assert missed >= 10


def test_what_a_routine_stores_has_its_place():
    """Neither the kernel's own local memory, nor beyond that of the routines; and only by all lanes."""
    image = with_routines(dataclasses.replace(kernel("collatz").image(), local_bytes=8), G, RoutineKind.LIVE,
                          form=RoutineForm.SOFTWARE)
    assert image.routine_bytes == 4 * image.registers and image.all_local_bytes == 8 + image.routine_bytes
    assert not refused(image)
    at, store = next((at, instruction) for at, word in enumerate(image.traps)
                     if (instruction := decode(word)).op.name == "st.local.all.b32")
    for offset in (0, 4, 8 + image.routine_bytes, store.get("imm") + 2, -4):
        moved = encode(Instruction.make(store.op.name, d=store.get("d"), no_base=1, imm=offset))
        assert f"is not a word of the {image.routine_bytes} bytes of local memory from 8 on" in refused(
            replaced(image, at, moved))
    by_register = encode(Instruction.make(store.op.name, d=store.get("d"), a=0, imm=store.get("imm")))
    assert "is not a word of" in refused(replaced(image, at, by_register))
    other = encode(Instruction.make("st.local.b32", d=store.get("d"), no_base=1, imm=store.get("imm")))
    assert "may only compute, without st.local.b32" in refused(replaced(image, at, other))


@pytest.mark.parametrize("instruction", ["rejoin", "ld.local.all.b32 R0, [0]", "st.local.all.b32 [0], R0"])
def test_what_only_routines_may_do(instruction):
    text = f".kernel k\n.registers 1\n.predicates 0\n.stack 1\n.local 4\nmov.i R0, 1\n{instruction}\nexit\n"
    with pytest.raises(AssemblerError, match=rf"pc 1: {re.escape(instruction.split()[0])} may only stand in preempt"):
        assemble(text, check=True)


def test_there_may_be_no_room_for_what_they_store():
    image = dataclasses.replace(kernel("collatz").image(), local_bytes=0xFFFC)
    with pytest.raises(ImageError, match="65532 bytes of local memory a thread leave no room .* let the hardware"):
        with_routines(image, G, form=RoutineForm.SOFTWARE)
    assert not with_routines(image, G).routine_bytes


def test_what_has_no_place_in_a_routine():
    image = with_routines(kernel("collatz").image(), G, RoutineKind.LIVE)
    pc = next(pc for pc in range(len(image.code)) if len(routine_words(image, pc)) > 1)
    at = VECTOR_WORDS * pc
    bad = {
        STORE: r"may only compute, without st\.global\.b32 \(word \d+\)",
        encode(Instruction.make("exit")): "may only compute, without exit",
        encode(Instruction.make("call", target=0)): "may only compute, without call",
        encode(Instruction.make("mov.i", d=60, imm=1)): "uses register R60 at word",
        encode(Instruction.make("bra", target=pc + 1, reconv=0)): f"leaves the routines at word {pc + 1}",
        encode(Instruction.make("bra", target=image.trap_base + at, reconv=0)): "never ends",
        encode(Instruction.make("pp.div", live=0)): r"stops at more than one point \(pp.div, pp.div\)",
    }
    for word, message in bad.items():
        assert re.match(message, refused(replaced(image, at, word))), message
    (found,) = read_elf(write_elf([replaced(image, at, STORE)]), check=False).values()
    assert found.traps[at] == STORE
    with pytest.raises(ImageError, match=rf"file\.elf.*pc {pc}: its preemption routine may only compute"):
        read_elf(write_elf([found]), "file.elf")


TWO_WAYS = """
.kernel two_ways
.registers 4
.predicates 1
.stack 4
.param output u64 0 8 pointer
.param input u64 8 8 pointer
    s2r R0, tid.x
    imul.lo.i R0, R0, 4
    uldp U0, param[8]
    iadd R3, R0, U0
    uldp U0, param[0]
    iadd R2, R0, U0
    mov.i R1, 0
    ld.global.b32 R0, [R3]
    setp.gt.u.i P0, R0, 1000
    @P0 bra other, both
    setp.lt.u.i P0, R0, 9
    xor.i R1, R1, 2
    pp {R1-R2, P0}
    pp.div {R0-R2, P0}
    iadd.i R1, R1, 3
    xor.i R1, R1, 17
    @P0 iadd.i R1, R1, 100
    bra both, none
other:
    isub R1, R1, R0
both:
    st.global.b32 [R2], R1
    exit
"""
"""Only the other way needs R0 behind the point. Where no lane has gone it, R0 is lost there, and P0 cannot be computed
again from it."""


def after_two_stops(image, cycle):
    """What a kernel computes that is stopped at a point, and then in a routine."""
    with open_device("golden", G, memory_bytes=1 << 20) as device:
        values, results = device.array(np.arange(32, dtype=np.uint32)), device.empty(32, np.uint32)
        launch = device.launch(device.load([image])[image.name], (1, 1, 1), (32, 1, 1), (results, values))
        device.run(launch, cycle)
        for trap in (False, True):
            report = device.preempt(launch, "live", patience="unlimited", trap=trap, scramble=True)
            if report is None:
                return None
            device.resume(launch)
        device.wait(launch, 100_000)
        return results.get()


@pytest.mark.parametrize("step", quick([1, 3], [3]))
@pytest.mark.parametrize("objective", quick(Objective, [Objective.SIZE]), ids=lambda objective: objective.value)
def test_a_routine_takes_nothing_that_a_point_before_it_has_lost(monkeypatch, objective, step):
    (image,) = assemble(TWO_WAYS, check=True)
    right = np.where(np.arange(32) < 9, 120, 20).astype(np.uint32)

    def wrong(image):
        found = [after_two_stops(image, cycle) for cycle in range(1, 60, step)]
        return sum(results is not None and not np.array_equal(results, right) for results in found)

    made = with_routines(image, G, RoutineKind.RELAXED, objective)
    assert not wrong(made) and not refused(made)
    monkeypatch.setattr(traps, "_survives", lambda block, routine: True)
    table = trap_table(image, G, RoutineKind.RELAXED, objective)
    careless = dataclasses.replace(image, traps=table.code(len(image.code)))
    assert wrong(careless)
    assert "does not give P0 back to a warp all of whose lanes are active" in refused(careless)
