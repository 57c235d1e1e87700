"""What is judged of an image before it is loaded: every rule broken once, and each word against the table."""

import dataclasses
import gc
import random
import time

import pytest

from caesura.hw.arch.geometry import PC_NONE, preset
from caesura.hw.arch.isa.formats import FIELDS, Format
from caesura.hw.arch.isa.liveness import LIVE_BITS
from caesura.hw.arch.isa.opcodes import OPCODES
from caesura.hw.arch.isa.words import Instruction, decode, encode
from caesura.sim import open_device
from caesura.sim.golden.semantics.operation import _illegal
from caesura.software.compiler import ImageError, KernelImage, Parameter, assemble, compile_ptx
from caesura.software.compiler import judge as module
from caesura.software.compiler.flashback.traps import with_routines
from caesura.software.compiler.image.code_check import find_problem
from caesura.software.compiler.judge import judge
from caesura.software.kernels import KERNELS
from support.selection import quick

TINY = preset("tiny")
LOOP = """
.kernel k
.source "k.ptx"
.registers 8
.predicates 2
.stack 2
.param out u32 0 4 pointer
    ldp R4, param[0]
.line 7
loop:
    ld.global.b64 R2, [R4]
    uiadd U3, U4, U5
    pp {R4}
    pp.div {R4}
    isub.i R0, R0, 1
    setp.ne.i P1, R0, 0
    @P1 bra loop, done
done:
    exit
"""
ODD = encode(Instruction.make("ld.global.b64", d=2, a=4)) | 1 << FIELDS[Format.M]["d"][0]
"""A load to a pair that begins with an odd register."""
DAMAGE = {
    "opcode": ("pp {R4}", ".word 0xffc0000000000000", "illegal opcode 0x3ff", 3),
    "group": ("ld.global.b64 R2, [R4]", f".word {ODD:#x}", "register 3 is not a multiple of 2", 1),
    "register": ("isub.i R0, R0, 1", "isub.i R0, R8, 1", "uses R8, the image has 8 vector registers; say .registers 9",
                 5),
    "second of a pair": ("ld.global.b64 R2, [R4]", "ld.global.b64 R8, [R4]", "uses R8, the image has 8", 1),
    "predicate": ("setp.ne.i P1, R0, 0", "setp.ne.i P2, R0, 0", "uses P2, the image has 2 predicates", 6),
    "guard": ("@P1 bra", "@!P6 bra", "uses P6, the image has 2 predicates", 7),
    "parameter": ("param[0]", "param[4]", "reads byte 4 of the parameters, of which the image has 4 bytes", 0),
    "odd parameter": ("param[0]", "param[2]", "reads byte 2 of the parameters", 0),
    "target": ("bra loop", "bra 9", "leads to word 9, beyond the 9 words", 7),
    "far target": ("bra loop", f"bra {PC_NONE}", "leads to word 33554431, beyond the 9 words", 7),
    "meeting point": (", done", ", 100", "leads to word 100, beyond the 9 words", 7),
    "into a point": ("bra loop", "bra 4", "leads to word 4, the second half of a preemption point; lead to its pp", 7),
    "call": ("uiadd U3, U4, U5", "call U3, 77", "leads to word 77", 2),
    "half a point": ("pp.div {R4}", "nop", "pp without the pp.div that has to follow it", 3),
    "the other half": ("pp {R4}", "nop", "pp.div without the pp that has to stand before it", 4),
    "end": ("exit", "@P0 exit", "the code runs over its end of 9 words", 8),
    "no end": ("exit", "mov.i R0, 1", "the code runs over its end of 9 words", 8),
    "end in a point": ("exit", "pp {R4}", "pp without the pp.div", 8),
    "routines' own": ("exit", "rejoin", "rejoin may only stand in preemption routines", 8),
    "routines' accesses": ("uiadd U3, U4, U5", "st.local.all.b32 [0], R4", "may only stand in preemption routines", 2),
}


def damaged(old, new):
    assert old in LOOP
    return assemble(LOOP.replace(old, new))[0]


def test_what_is_right_is_taken():
    judge(assemble(LOOP)[0])
    judge(assemble(LOOP.replace("exit", "trap"))[0])


@pytest.mark.parametrize("name", KERNELS)
def test_shipped_kernels_are_taken(name):
    judge(KERNELS[name].image())


@pytest.mark.parametrize("what", DAMAGE)
def test_the_message_says_where_and_what(what):
    old, new, message, pc = DAMAGE[what]
    image = damaged(old, new)
    with pytest.raises(ImageError) as caught:
        judge(image)
    text = str(caught.value)
    assert text.startswith(f"kernel k, pc {pc}") and message in text and "; " in text, text
    assert ("(k.ptx:7)" in text) == (pc > 0), text
    judge(image, check=False)
    with pytest.raises(ImageError):
        judge(image)


def test_routines_are_judged():
    image = with_routines(KERNELS["collatz"].image(), TINY)
    judge(image)
    own = len(image.code)
    branch = next(at for at, word in enumerate(image.traps) if decode(word).op.name == "bra")
    for at, word, message in ((branch, image.traps[branch] | PC_NONE << 25, "beyond the"),
                              (0, 0x3FF << LIVE_BITS, "illegal opcode"),
                              (0, 1 << LIVE_BITS | 7 << 50 | 60 << 44, "uses R60"),
                              (len(image.traps) - 1, image.traps[-2], "routines run over their end")):
        traps = (*image.traps[:at], word, *image.traps[at + 1:])
        with pytest.raises(ImageError, match=f"pc {own + at}[: ].*{message}"):
            judge(dataclasses.replace(image, traps=traps))


@pytest.mark.parametrize("facts, message", [
    ({"code": ()}, "code must be one instruction at least"), ({"code": [0]}, "code must be a tuple of int"),
    ({"code": (1 << 64,)}, "code must be an integer from 0"), ({"code": (True,)}, "code must be a tuple of int"),
    ({"constants": bytearray(4)}, "constants must be bytes"), ({"parameters": (1,)}, "a tuple of Parameter"),
    ({"traps": (0,)}, "traps must be none or 36 words at least"), ({"lines": (1,)}, "lines must be none or 9"),
    ({"origin_numbers": (1,) * 9}, "origin_numbers must be an integer from 0 to 0"),
    ({"registers": 65}, "registers must be an integer from 1 to 64"), ({"name": "a\nb"}, "name must be text without"),
    ({"required_block": [1, 1, 1]}, "required_block must be a tuple or None"),
    ({"shared_bytes": 1.0}, "shared_bytes must be an integer"), ({"source": None}, "source must be text without"),
    ({"parameters": (Parameter("a", "u32", 1 << 17, 4),)}, "parameters.offset must be"),
])
@pytest.mark.parametrize("check", [True, False])
def test_facts_are_judged_whether_code_is_or_not(facts, message, check):
    image = KernelImage(**{**vars(assemble(LOOP)[0]), **facts})
    with pytest.raises(ImageError, match=message):
        judge(image, check)


@pytest.mark.parametrize("what", [7, None, "k", [], KernelImage])
def test_what_is_no_image_is_refused(what):
    with pytest.raises(ImageError, match="it must be a KernelImage, not"):
        judge(what)


def reference(word, image):
    """Whether anything is wrong with a word by itself: for the golden model, of one that is an instruction."""
    instruction = decode(word)
    if _illegal(instruction):
        return True
    scalars = (*instruction.predicate_reads, *instruction.predicate_writes)
    offset = instruction.get("imm")
    return (max((*instruction.reads, *instruction.writes), default=0) >= image.registers
            or max(scalars, default=0) >= image.predicates
            or "param" in instruction.op.operands and (offset % 4 != 0 or offset >= image.parameter_bytes))


@pytest.mark.parametrize("count", quick([60, 8], [8]))
def test_each_word_is_judged_as_the_golden_model_takes_it(count):
    """Behind it stands what makes anything else about it right."""
    rng = random.Random(5)
    control = ("bra", "call", "pp", "pp.div", "rejoin")
    image, wrong, total = assemble(LOOP)[0], 0, 0
    for op in OPCODES:
        for _ in range(count):
            word = op.code << LIVE_BITS
            for name, (low, width) in FIELDS[op.format].items():
                small, value = rng.random() < 0.8, rng.getrandbits(width)
                word |= (value & 3 if small and name in "dabc" else value & 1 if small and name.startswith("p")
                         else value) << low
            if "param" in op.operands and rng.random() < 0.5:
                word &= ~0xFFFF_FFFF
            if op.name in control or op.all_lanes:
                continue
            found = find_problem(dataclasses.replace(image, code=(word, image.code[-1]), lines=()))
            assert (found is not None) == reference(word, image), (hex(word), found)
            assert found is None or found.pc == 0
            wrong, total = wrong + (found is not None), total + 1
    assert total / 4 < wrong < total * 9 / 10, (wrong, total)


def test_an_image_is_judged_once(monkeypatch):
    image, asked = assemble(LOOP)[0], []
    find = module.find_problem
    monkeypatch.setattr(module, "find_problem", lambda image: asked.append(image.name) or find(image))
    judge(image, check=False)
    assert asked == []
    for _ in range(3):
        judge(image)
        judge(image, check=False)
    assert asked == ["k"]
    judge(dataclasses.replace(image))
    assert asked == ["k", "k"]
    before = len(module._judged)
    del image
    gc.collect()
    assert len(module._judged) < before, "what is gone is forgotten"


def test_a_device_loads_all_images_or_none():
    good, bad = assemble(LOOP)[0], damaged("bra loop", "bra 9")
    with open_device("golden", TINY, memory_bytes=1 << 18) as device:
        used = device.system.used()
        with pytest.raises(ImageError, match="kernel k, pc 7"):
            device.load([good, bad])
        assert device.system.used() == used
        assert device.load([bad], check=False)["k"].image is bad


def test_the_time_grows_with_the_words():
    """And is little beside compiling: figures, no limit."""
    kernel = KERNELS["compute_flux"]
    times = []
    for work in (lambda: judge(dataclasses.replace(kernel.image())), lambda: compile_ptx(kernel.ptx_path.read_text())):
        work()
        begun = time.perf_counter()
        work()
        times.append(1e3 * (time.perf_counter() - begun))
    code = kernel.image().code
    print(f"{kernel.name}: {len(code)} words judged in {times[0]:.2f} ms, compiled in {times[1]:.0f} ms")
    for words in (50_000, 100_000):
        long = KernelImage("long", (code[0],) * words + code[-1:], 64)
        begun = time.perf_counter()
        judge(long)
        print(f"{words:,} words judged in {1e3 * (time.perf_counter() - begun):.0f} ms")
