"""Assembler and disassembler are each other's inverse, and mistakes are told with their line."""

import dataclasses
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from caesura.hw.arch.geometry import PREDICATES, UNIFORMS
from caesura.hw.arch.isa.liveness import ALL_LIVE, LIVE_BITS, liveness_vector, saved_by
from caesura.hw.arch.isa.opcodes import BY_NAME, OPCODES
from caesura.hw.arch.isa.words import Instruction, decode, encode
from caesura.software.compiler import AssemblerError, KernelImage, Parameter, assemble, disassemble, disassemble_word
from caesura.software.compiler.image.lift import lift
from caesura.software.kernels import KERNELS
from support.programs.random_instruction import canonical_instruction

TEXT = """
.kernel first        // a comment
.shared 256
.maxthreads 64
.reqblock 8, 8, 1
.param out u64 0 8 pointer
.param n s32 8 4
.source "dir/a;b.ptx"
.line 7
    ldp R4, param[0]
    @!P1 iadd R3, R4, R5         ; another
    ld.global.b32 R2, [R4+16]    # and another
    ld.shared.b64 R6, [64]
    st.global.b8 [R4-8], R2
.line 9
again:
    s2r R0, ctaid.y
    iaddc R0, P2, R1, R2, !PT
    sel R1, R2, R3, !P4
    pp {R1,R2}
    pp.div {R0-R4, R53+}
    bar.pp.15 {}
    @P0 bra done, done
    bra again, none
done:
    exit
.kernel second
    exit
"""


def test_sample():
    first, second = assemble(TEXT, "x.asm")
    assert (first.name, first.registers, first.predicates, first.stack_depth) == ("first", 8, 5, 2)
    assert (first.shared_bytes, first.max_threads, first.required_block) == (256, 64, (8, 8, 1))
    assert first.parameters == (Parameter("out", "u64", 0, 8, True), Parameter("n", "s32", 8, 4))
    assert first.source == "dir/a;b.ptx" and first.lines == (7,) * 5 + (9,) * 9
    fields = [decode(word) for word in first.code]
    assert fields[1].guard == (1, True) and fields[4].get("imm") == 0xFFFF_FFF8
    assert fields[3].get("no_base") == 1 and fields[3].get("imm") == 64
    assert fields[9].get("live") == 0b11111 | 1 << 53
    assert fields[11].get("target") == fields[11].get("reconv") == 13 and fields[12].get("target") == 5
    assert second == KernelImage("second", (first.code[-1],), 1)
    assert assemble(disassemble(first) + disassemble(second)) == [first, second]


@pytest.mark.parametrize("name", KERNELS)
def test_round_trip_of_compiled_kernels(name):
    """Without what the text may leave out, which is computed to the same values; `test_round_trip` has whole texts."""
    image = KERNELS[name].image()
    kept = [line for line in disassemble(image).splitlines()
            if not line.startswith((".registers", ".predicates", ".stack"))]
    assert assemble("\n".join(kept)) == [image]


@settings(max_examples=200, deadline=None)
@given(st.one_of(st.integers(0, 2**64 - 1),
                 st.tuples(st.sampled_from([op.code for op in OPCODES]), st.integers(0, 2**54 - 1)).map(
                     lambda x: x[0] << 54 | x[1]),
                 st.tuples(st.sampled_from([op.code for op in OPCODES]), st.integers(0, 2**32 - 1)).map(
                     lambda x: x[0] << 54 | 7 << 50 | x[1])))
def test_round_trip_of_any_word(word):
    image = KernelImage("k", (word, 0x181 << 54 | 7 << 50), 64, 7, 0, 1)
    assert assemble(disassemble(image)) == [image]


@pytest.mark.parametrize("op", OPCODES, ids=lambda op: op.name)
def test_round_trip_of_each_bit(op):
    """Of those that an instruction has no use for, too."""
    words = [op.code << 54 | 7 << 50 ^ 1 << bit for bit in range(54)]
    image = KernelImage("k", (*words, 0x181 << 54 | 7 << 50), 64, 7, 0, 1)
    assert assemble(disassemble(image)) == [image]


@settings(max_examples=5, deadline=None)
@given(st.integers(0, 2**32))
def test_every_instruction_is_text_and_comes_back(seed):
    rng = random.Random(seed)
    for op in OPCODES:
        word = encode(canonical_instruction(rng, op))
        text = disassemble_word(word)
        assert not text.startswith(".word"), op.name
        image = KernelImage("k", (word, 0x181 << 54 | 7 << 50), 64, 7, 0, 1)
        assert assemble(f".kernel k\n.registers 64\n.predicates 7\n.stack 1\n{text}\nexit\n") == [image]


def test_uniform_registers_atomics_and_shuffles():
    lines = ["uiadd U1, U2, U3", "iadd R1, R2, U3", "ld.global.b32 R1, [U3+16]", "st.local.b8 [U31], R2",
             "uld.const.b32 U4, [U5-4]", "uld.const.b32 U4, [64]", "@P1 us2r U0, ctaid.x", "uldp U9, param[8]",
             "usetp.lt.s.i P1, U3, -7", "atom.shared.cas.b64 R2, [R4-8388608], R6, R8", "red.global.add.b32 [U7+4], R3",
             "atom.global.exch.b32 R2, [0x7fffff], R6", "dfma.rz R2, R4, R6, R8", "shfl.bfly R1, P2, R3, U4, R5",
             "shfl.idx.i R1, R3, 7936", "match R1, R2"]
    image, = assemble(".kernel k\n" + "\n".join(lines) + "\nexit\n")
    assert [disassemble_word(word) for word in image.code] == [*lines, "exit"]
    assert (image.registers, image.predicates) == (10, 3)
    fields = [decode(word) for word in image.code]
    assert fields[0].uniform_reads == (2, 3) and fields[0].uniform_writes == (1,)
    assert fields[1].reads == (2,) and fields[1].uniform_reads == (3,)
    assert fields[2].uniform_reads == (3,) and fields[2].reads == ()
    assert fields[9].get("imm") == -(1 << 23) and fields[9].reads == (6, 7, 8, 9, 4)
    assert fields[10].uniform_reads == (7,) and fields[10].writes == ()


def test_liveness_vectors_say_what_they_save():
    image, = assemble(".kernel k\n.registers 16\npp {R0-R4, P0-P2, U1}\npp.div {R15, U0-U3, U31}\nexit")
    vectors = [decode(word).get("live") for word in image.code[:2]]
    assert vectors == [0b11111 | 0b111 << 51 | 1 << 45, 1 << 15 | 0b1111 << 43]
    assert [saved_by(vector, 16).uniforms for vector in vectors] == [(1, 31), (0, 1, 2, 3, 31)], "U31 has no bit"
    assert "    pp {R0-R4, P0-P2, U1}\n    pp.div {R15, U0-U3}\n" in disassemble(image)
    assert disassemble_word(image.code[0], image.registers) == "pp {R0-R4, P0-P2, U1}"
    assert disassemble_word(image.code[0]) == "pp {R0-R4, R45, R51-R52, R53+}", "of how many is unknown"


@pytest.mark.parametrize("registers", [1, 14, 15, 16, 47, 48, 53, 54, 64])
def test_any_liveness_vector_comes_back(registers):
    rng = random.Random(registers)
    some = [1 << bit for bit in range(LIVE_BITS)] + [rng.getrandbits(LIVE_BITS) for _ in range(50)]
    for vector in (0, ALL_LIVE, *some):
        words = tuple(encode(Instruction(BY_NAME[name], {"live": vector})) for name in ("pp", "pp.div"))
        image = KernelImage("k", (*words, 0x181 << 54 | 7 << 50), registers, 0, 0, 1)
        assert assemble(disassemble(image)) == [image]


@pytest.mark.parametrize("text", ["{P7}", "{U32}", "{U2+}", "{R64}", "{R1-U2}", "{P0-}", "{X1}"])
def test_what_is_no_register_range_is_refused(text):
    ranges = r"<asm>:2: .* is not a register range \(R0 to R63, P0 to P6, U0 to U31, or R53\+\)"
    with pytest.raises(AssemblerError, match=ranges):
        assemble(f".kernel k\npp {text}\n")


def test_a_vector_saves_what_it_was_made_for_and_little_more():
    rng = random.Random(1)
    for _ in range(500):
        allocated = rng.randint(1, 64)
        registers, predicates, uniforms = (sorted(rng.sample(range(most), rng.randint(0, most)))
                                           for most in (allocated, PREDICATES, UNIFORMS))
        saved = saved_by(liveness_vector(registers, predicates, uniforms, allocated), allocated)
        assert {*registers} <= {*saved.registers}
        assert [r for r in saved.registers if r < 53] == [r for r in registers if r < 53]
        assert {*predicates} <= {*saved.predicates} and {*uniforms} <= {*saved.uniforms}
        if allocated <= 15:
            assert (list(saved.predicates), list(saved.uniforms)) == (predicates, uniforms)


def test_calls():
    text = (".kernel k\n.stack 1\n    call U31, routine\n    exit\nroutine:\n    mov.i R1, 3\n    bru U31\n")
    image, = assemble(text)
    call, _, _, back = map(decode, image.code)
    assert call.get("target") == 2 and call.uniform_writes == (31,) and back.uniform_reads == (31,)
    assert call.guard is None and back.guard is None and call.predicate_reads == ()
    assert disassemble_word(image.code[0]) == "call U31, 2" and "call U31, L2" in disassemble(image)
    assert assemble(disassemble(image)) == [image]
    lifted = lift(image)
    routine, = lifted.kernel.routines
    assert [(block.label, [op.name for op in block.ops]) for part in (lifted.kernel, routine.body)
            for block in part.blocks] == [("L0", ["call"]), ("L2", ["mov", "bru"])]
    assert lifted.kernel.blocks[0].ops[0].imm == 0 and not routine.body.blocks[0].end.targets
    assert assemble(text.replace(".stack 1\n", "")) == [image]


def test_round_trip_keeps_lines_and_large_numbers():
    image = KernelImage("k", (0x080 << 54 | 7 << 50 | 0xFFFF_FFFF, 0x181 << 54 | 7 << 50), 1, 0, 3, 2,
                        lines=(5, 0), source='a "quoted" name')
    assert assemble(disassemble(image)) == [image]
    assert assemble(disassemble(dataclasses.replace(image, lines=()))) == [dataclasses.replace(image, lines=())]


def test_one_word():
    assert disassemble_word(0x182 << 54 | 7 << 50) == "nop"
    assert disassemble_word(0x3FF << 54) == ".word 0xffc0000000000000"


@pytest.mark.parametrize("line, what", [
    ("frob R1, R2", "no instruction 'frob'"), ("iadd R1, R2", "iadd has 3 operands (d a b), not 2"),
    ("iadd R1, R2, 5", "'5' is not a vector register"), ("iadd R1, R2, R64", "'R64' is not a vector register"),
    ("setp.eq P7, R1, R2", "'P7' is not a predicate"), ("ld.global.b64 R3, [R0]", "is not a multiple of 2"),
    ("iadd R1, R2, U32", "'U32' is not a uniform register"), ("iadd R1, U2, R3", "'U2' is not a vector register"),
    ("uiadd U1, U2, R3", "'R3' is not a uniform register"), ("dadd.rn R2, R4, U6", "cannot be uniform"),
    ("dadd.rn R2, R4, R7", "is not a multiple of 2"), ("ld.global.b32 R3, [U32]", "'U32' is not a uniform register"),
    ("red.global.add.b32 [R1+8388608], R3", "does not fit 24 bits"),
    ("uld.const.b32 U1, [R2]", "'R2' is not a uniform"),
    ("ld.global.b32 R3, R0", "'R0' is not an address"), ("bra nowhere, none", "label 'nowhere' is not defined"),
    ("mov.i R0, 4294967296", "does not fit 32 bits"), ("pp {R0", "'{R0' is not a register set"),
    ("pp {R64}", "'R64' is not a register range"), ("@P9 nop", "'P9' is not a predicate"),
    ("mov.i R0, five", "'five' is not a number"), (".frob 1", "no directive .frob"),
    (".registers x", "'x' is not a number"), ("here:", "label 'here' is defined twice"),
    (".routines 4", "stands once, alone"),
    ("@P1 pp {}", "pp takes no guard"), ("@P1 bru U1", "bru takes no guard"),
    ("@P1 rejoin", "rejoin takes no guard"), ("@P1 st.local.all.b32 [0], R1", "st.local.all.b32 takes no guard"),
    ("call R1, 0", "'R1' is not a uniform register"), ("???", "not an instruction"),
])
def test_mistakes(line, what):
    with pytest.raises(AssemblerError) as caught:
        assemble(f".kernel k\nhere:\n  {line}\n  exit\n", "bad.asm")
    assert caught.value.line == 3 and what in str(caught.value)
    assert str(caught.value).startswith("bad.asm:3: ")


@pytest.mark.parametrize("text, what", [
    ("", "no kernel"), ("exit\n", "expected .kernel"), (".kernel k\n.kernel k\n", "a name of its own"),
    (".kernel k\nnop\n", "the code runs over its end"), (".kernel k\n", "has no code"),
    (".kernel k\ncall U1, 9\nexit\n", "branch to 9, beyond the code of 2 words"),
    (".kernel k\nexit\n.routines\nnop\n", "traps must be none or 4 words at least, not 1"),
    (".kernel k\nexit\n.routines\n.routines\n", "stands once, alone"),
])
def test_texts_that_are_no_kernel(text, what):
    with pytest.raises(AssemblerError, match=what):
        assemble(text)


@pytest.mark.parametrize(("line", "what"), [
    (".registers 0", "1 to 64, not 0"), (".registers 65", "1 to 64, not 65"), (".predicates 8", "0 to 7, not 8"),
    (".stack 0", "1 to 64, not 0"), (".stack 65", "1 to 64, not 65"), (".shared 1048576", "not 1048576"),
    (".maxthreads 1025", "not 1025"), (".reqblock 4, 0, 1", "start at 1"),
    (".param n u32 8 4", "parameter 'n' is defined twice")])
def test_sizes_out_of_range_are_refused(line, what):
    with pytest.raises(AssemblerError, match=what) as caught:
        assemble(f".kernel k\n.param n u32 0 4\n{line}\nexit\n", "x.asm")
    assert caught.value.line == 3
