"""Calls of caesura_yield: what they become, and what every analysis makes of it."""

import dataclasses

import pytest

from caesura.hw.arch.geometry import preset
from caesura.hw.arch.isa.liveness import LIVE_BITS
from caesura.hw.arch.isa.words import decode
from caesura.software.compiler import CompileError, CompileOptions, assemble, compile_ptx, disassemble, spoilers
from caesura.software.compiler.codegen.elf import read_elf, write_elf
from caesura.software.compiler.errors import ImageError
from caesura.software.compiler.explain.build import explain
from caesura.software.compiler.flashback.kinds import ROUTINES
from caesura.software.compiler.flashback.traps import with_routines
from caesura.software.compiler.image.lift import lift
from caesura.software.compiler.preemption.check import check_code, check_image
from caesura.software.compiler.preemption.idempotence import idempotence
from caesura.software.compiler.preemption.intervals import InvalidCode
from support.programs.yields import HEAD, images
from support.selection import quick

YIELDING = ("consumer", "chain", "graph", "polite")
G = preset("tiny").replace(watches=2)
DECLARED = ".extern .func caesura_yield (.param .b64 address, .param .b32 expected);"
CALL = """
    {
    .param .b64 where; .param .b32 value;
    st.param.b64 [where+0], ADDRESS; st.param.b32 [value+0], %r0;
    call.uni caesura_yield, (where, value);
    }
"""


def names(image):
    return [decode(word).op.name for word in image.code]


def kernel(body, head=HEAD, **options):
    """Compile a kernel with a pointer in %d0 and a number in %r0."""
    source = head + """
.visible .entry k(.param .u64 flag, .param .u32 number)
{
    .reg .pred %p<4>; .reg .b32 %r<8>; .reg .b64 %d<4>;
    ld.param.u64 %d0, [flag]; ld.param.u32 %r0, [number];
""" + body + "    ret;\n}\n"
    (image,) = compile_ptx(source, "k.ptx", CompileOptions(max_registers=16, **options)).values()
    return image


@pytest.mark.parametrize("options", [{}, {"uniform": False}, {"check_addresses": True}])
def test_a_call_becomes_a_watch_and_a_barrier_that_yields(options):
    image = kernel(CALL.replace("ADDRESS", "%d0"), **options)
    found = names(image)
    watch, waits = found.index("ld.watch.b32"), found.index("bar.yield")
    assert found.count("ld.watch.b32") == found.count("unwatch") == found.count("bar.yield") == 1
    assert watch < found.index("unwatch") < waits and image.yields
    load, cancel = (decode(image.code[pc]) for pc in (watch, found.index("unwatch")))
    assert load.guard is not None and cancel.guard is not None
    assert image.parameters[0].pointer
    check_image(image)


def test_no_address_is_only_the_barrier():
    found = names(kernel(CALL.replace("ADDRESS", "0")))
    assert "bar.yield" in found and not {"ld.watch.b32", "unwatch"} & set(found)


def test_registers_and_constants_are_passed_as_well():
    image = kernel("    call caesura_yield, (%d0, 7);\n")
    assert [name for name in names(image) if name in ("ld.watch.b32", "unwatch", "bar.yield")] == [
        "ld.watch.b32", "unwatch", "bar.yield"]


def test_under_a_guard_it_is_branched_around():
    image = kernel("    setp.eq.u32 %p1, %r0, 3;\n    @%p1 call caesura_yield, (%d0, %r0);\n"
                   "    st.global.u32 [%d0], %r0;\n")
    found = names(image)
    assert "bra" in found[:found.index("ld.watch.b32")]
    check_image(image)


def test_a_function_that_the_file_defines_is_its_own():
    own = HEAD.replace(".extern .func caesura_yield (.param .b64 address, .param .b32 expected);", """
.func caesura_yield (.param .b64 address, .param .b32 expected)
{
    .reg .b32 %v; .reg .b64 %a;
    ld.param.u64 %a, [address]; ld.param.u32 %v, [expected];
    st.global.u32 [%a], %v;
    ret;
}
""")
    image = kernel(CALL.replace("ADDRESS", "%d0"), own)
    assert not image.yields and "st.global.b32" in names(image)


def test_a_function_may_call_it():
    helper = HEAD + """
.func wait_for(.param .b64 flag)
{
    .reg .b64 %a; .reg .b32 %v; .reg .pred %p;
    ld.param.u64 %a, [flag];
AGAIN:
    ld.volatile.global.u32 %v, [%a]; setp.ne.u32 %p, %v, 0;
    @%p ret;
    call caesura_yield, (%a, 0);
    bra AGAIN;
}
"""
    for calls in ("auto", "always", "never"):
        image = kernel("    call wait_for, (%d0);\n", helper, calls=calls)
        assert names(image).count("bar.yield") == 1 and "call" not in names(image)
        check_image(image)


@pytest.mark.parametrize("declared, call, message", [
    (".extern .func caesura_yield (.param .b32 a, .param .b32 b);", "caesura_yield, (%r0, %r0)", "other parameters"),
    (".extern .func caesura_yield (.param .b64 a);", "caesura_yield, (%d0)", "other parameters"),
    (".extern .func (.param .b32 r) caesura_yield (.param .b64 a, .param .b32 b);",
     "(%r1), caesura_yield, (%d0, %r0)", "with a result"),
    (DECLARED, "caesura_yield, (%d0)", "has 0 results and 2 parameters"),
    (DECLARED, "(%r1), caesura_yield, (%d0, %r0)", "has 0 results and 2 parameters"),
    (".extern .func caesura_yields (.param .b64 a, .param .b32 b);", "caesura_yields, (%d0, %r0)",
     "only calls of functions that the file defines are supported"),
])
def test_other_declarations_and_functions_are_refused(declared, call, message):
    with pytest.raises(CompileError, match=message):
        kernel(f"    call {call};\n", HEAD.replace(DECLARED, declared))


def test_loads_that_watch_stay_where_they_are_and_all_of_them():
    """Neither two alike, nor one in a loop, nor one whose value nobody wants is merged, moved or removed."""
    calls = "    call caesura_yield, (%d0, 7);\n"
    image = kernel("    mov.u32 %r1, 0;\nL:\n" + calls + calls
                   + "    add.u32 %r1, %r1, 1;\n    setp.lt.u32 %p0, %r1, %r0;\n    @%p0 bra L;\n" + calls)
    found = [name for name in names(image) if name in ("ld.watch.b32", "unwatch", "bar.yield", "bra")]
    assert found.count("ld.watch.b32") == found.count("unwatch") == found.count("bar.yield") == 3
    assert found[:7] == ["ld.watch.b32", "unwatch", "bar.yield"] * 2 + ["bra"]
    assert "pp" not in names(image), "the loop has preemption points"


@pytest.mark.parametrize("name", YIELDING)
def test_images_pass_every_check_and_come_back_from_text_and_files(name):
    image = images()[name]
    check_image(image)
    check_code(image, name)
    assert assemble(disassemble(image))[0].words == image.words
    assert read_elf(write_elf([image])) == {name: image}
    facts = explain(image, G)
    assert facts.longest_interval is not None


@pytest.mark.parametrize("name", YIELDING)
def test_a_vector_that_forgets_a_register_is_found(name):
    image = images()[name]
    pc = names(image).index("bar.yield")
    live = image.code[pc] & (1 << LIVE_BITS) - 1
    lost = dataclasses.replace(image, code=tuple(word ^ (live & -live) if at == pc else word
                                                 for at, word in enumerate(image.code)))
    with pytest.raises((InvalidCode, ImageError), match=rf"pc {pc}: bar.yield does not save"):
        check_image(lost)


@pytest.mark.parametrize("kind", quick(ROUTINES, [*ROUTINES][::3]))
@pytest.mark.parametrize("name", YIELDING)
def test_routines_go_back_over_nothing_that_watches_or_yields(name, kind):
    image = with_routines(images()[name], G, ROUTINES[kind].kind, form=ROUTINES[kind].form)
    check_image(image)
    routines = [decode(word).op for word in image.traps]
    assert not any(op.yields for op in routines)


@pytest.mark.parametrize("name", YIELDING)
def test_regions_end_where_it_yields_and_no_tb_begins_anew(name):
    image = images()[name]
    lifted = lift(image)
    found = idempotence(lifted.kernel, restrict=True)
    pcs = {lifted.start[cut.site.label] + cut.site.index: cut.reason for cut in found.cuts}
    for pc, op in enumerate(names(image)):
        if op == "bar.yield":
            assert pcs[pc + 1] == "barrier"
    assert spoilers(image).apart == (names(image).index("bar.yield"), None)
