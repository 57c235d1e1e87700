"""What LLVM says its instructions read and write is what the table says; and what is live follows from it.

`recorded.txt` holds one line of assembly of each form with what LLVM 19 says of it, so that this is tried without LLVM
too; where it is there, every instruction of all kernels is compared, and the recording.
"""

from pathlib import Path

import pytest

from caesura.software.compiler.amdgpu import read
from caesura.software.compiler.amdgpu.accesses import access
from caesura.software.compiler.amdgpu.front_end import analysed
from caesura.software.compiler.amdgpu.operands import MODE, name
from caesura.software.compiler.amdgpu.text import statements
from caesura.software.kernels.opencl import KERNELS
from support.software.amdgpu_mir import MachineBlock, compiled, form, live_before, machine_code, tools

HERE = Path(__file__).parent
RECORDED = HERE / "recorded.txt"
needs_llvm = pytest.mark.skipif(tools() is None, reason="clang-19 and llc-19 are not installed")
SOURCES = [*((kernel.source, "CL1.2") for kernel in KERNELS), *((path, "CL2.0") for path in
                                                              sorted((HERE / "corpus").glob("*.cl")))]
MORE = ("v_fma_f16", "v_div_fixup_f16")
"""Of these we say besides that the old result is read: the other half of 16 bits, which LLVM never looks at."""


def ours(one):
    """Return names of what an instruction writes and reads, without the mode register, which LLVM counts always."""
    return ({name(reg) for reg in one.defs if reg != MODE}, {name(reg) for reg in one.uses if reg != MODE})


def same(one, defs, uses, undefined):
    """Return whether LLVM says the same; what holds nothing yet may be read or not."""
    mine = ours(one)
    more = mine[0] if one.statement.mnemonic.startswith(MORE) else set()
    return mine[0] == defs - {"mode"} and uses - {"mode"} <= mine[1] <= uses | undefined | more


def lines_of(folder):
    """Yield assembly lines and what LLVM says of them, once for each form."""
    seen = set()
    for source, standard in SOURCES:
        assembly, mir = compiled(source, folder, standard)
        blocks = machine_code(mir.read_text())
        for kernel in read(assembly).kernels.values():
            machine = [one for block in blocks[kernel.name] for one in block.instructions]
            for statement, one in zip(kernel.code.statements, machine, strict=True):
                if form(statement.text) not in seen and "indirect" not in one.opcode:
                    seen.add(form(statement.text))
                    yield (f"{statement.text} ; {' '.join(sorted(one.defs))} ; {' '.join(sorted(one.uses))} ; "
                           + " ".join(sorted(one.undefined)))


def test_recorded_lines():
    lines = RECORDED.read_text().splitlines()
    assert len(lines) > 250
    for line in lines:
        text, *sets = (part.strip() for part in line.split(";"))
        (statement,) = statements(text, "recorded.txt")
        assert same(access(statement, "recorded.txt"), *({*words.split()} for words in sets)), line


@needs_llvm
def test_the_recording_is_what_llvm_says(tmp_path):
    assert list(lines_of(tmp_path)) == RECORDED.read_text().splitlines()


@needs_llvm
@pytest.mark.parametrize(("source", "standard"), SOURCES, ids=lambda value: getattr(value, "stem", value))
def test_every_instruction(source, standard, tmp_path):
    assembly, mir = compiled(source, tmp_path, standard)
    blocks = machine_code(mir.read_text())
    for kernel in read(assembly).kernels.values():
        facts = analysed(kernel)
        machine = [one for block in blocks[kernel.name] for one in block.instructions]
        assert len(machine) == len(facts.accesses)
        for mine, one in zip(facts.accesses, machine, strict=True):
            if "indirect" not in one.opcode:  # registers found at run time: we say all
                assert same(mine, one.defs, one.uses, one.undefined), (mine.statement, one)


@needs_llvm
@pytest.mark.parametrize(("source", "standard"), SOURCES, ids=lambda value: getattr(value, "stem", value))
def test_what_is_live(source, standard, tmp_path):
    """All that is live by LLVM's reads and writes, register by register, is live lane by lane, but for vector registers
    behind a branch that no lane takes; and nothing more is, where the mask never changes and no part is kept."""
    assembly, mir = compiled(source, tmp_path, standard)
    machine = machine_code(mir.read_text())
    for kernel in read(assembly).kernels.values():
        facts, blocks, at = analysed(kernel), machine[kernel.name], 0
        plain = not any("exec_lo" in one.defs for block in blocks for one in block.instructions) and not any(
            one.keeps for one in facts.accesses)
        skips = any(one.opcode.startswith("S_CBRANCH_EXEC") for block in blocks for one in block.instructions)
        for block, least, most in zip(blocks, live_before(blocks), live_before(blocks, True), strict=True):
            if block.instructions:
                mine = {name(reg) for reg in facts.liveness.before[at]}
                needed = {word for word in least if not (skips and word.startswith("v") and word[1:].isdigit())}
                assert needed - {"mode"} <= mine, (kernel.name, at)
                assert not plain or mine <= most, (kernel.name, at)
            at += len(block.instructions)


def test_machine_code_is_understood():
    text = "\n".join((
        "name:            one", "body:             |", "  bb.0 (%ir-block.1):", "    successors: %bb.1(0x40000000)",
        "    liveins: $vgpr0, $sgpr4_sgpr5:0x0000000000000003", "",
        "    $sgpr0_sgpr1 = S_AND_SAVEEXEC_B64 killed $vcc, implicit-def $exec, implicit-def $scc, implicit $exec",
        "    renamable $vgpr1 = nofpexcept V_ADD_F32_e32 $vgpr0, undef $vgpr3, implicit $mode, implicit $exec",
        "    S_CBRANCH_EXECZ %bb.1, implicit $exec", "  ", "  bb.1.Flow:", "", "    S_ENDPGM 0", "..."))
    (first, last) = machine_code(text)["one"]
    assert isinstance(first, MachineBlock) and first.live == {"v0", "s4"} and first.successors == [1]
    save, add, _ = first.instructions
    assert save.defs == {"s0", "s1", "exec_lo", "exec_hi", "scc"}
    assert save.uses == {"vcc_lo", "vcc_hi", "exec_lo", "exec_hi"}
    assert add.uses == {"v0", "mode", "exec_lo", "exec_hi"} and add.undefined == {"v3"}
    assert last.instructions[0].opcode == "S_ENDPGM"
