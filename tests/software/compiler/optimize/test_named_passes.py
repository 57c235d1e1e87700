"""Passes by name: lists of them, their stages, the IR after each."""

import dataclasses
import random
import re

import numpy as np
import pytest
from click.testing import CliRunner

from caesura.cli import main
from caesura.errors import InputError
from caesura.hw.arch.geometry import PRESETS
from caesura.sim import open_device
from caesura.sim.workloads.random_ptx import RandomKernel
from caesura.software.compiler import CompileError, KernelImage, compile_ptx, listing
from caesura.software.compiler.ir.kernel import Op
from caesura.software.compiler.ir.text import parse, show
from caesura.software.compiler.passes import DEFAULT, PASSES, STAGES, check_order
from caesura.software.compiler.pipeline import run_passes
from caesura.software.kernels import kernel
from support.checkout import ROOT

GEOMETRY = dataclasses.replace(PRESETS["gtx480"], stack_depth=64)
REDUCTION = kernel("reduction")
SHORTEST = ("legalize", "select-immediates", "allocate", "block-layout", "barrier-liveness", "place-points", "emit")


def run(*arguments):
    return CliRunner().invoke(main, ["compile", *map(str, arguments)])


def ran(stderr):
    return re.findall(r"^\*\*\* after (\S+) \*\*\*$", stderr, re.MULTILINE)


def test_a_list_of_passes_ends_in_ir_that_can_be_read_back():
    done = run(REDUCTION.ptx_path, "--passes", "legalize,dce")
    assert done.exit_code == 0 and done.stderr == ""
    text = done.stdout.removesuffix("\n")
    assert text.startswith("kernel reduction\n") and ".64" not in text and show(parse(text)) == text


def test_the_usual_order_gives_the_usual_code():
    """One kernel in which no pass asks for another one behind it."""
    vecadd = kernel("vecadd")
    done = run(vecadd.ptx_path, "--passes", ",".join(DEFAULT))
    assert done.exit_code == 0 and done.stdout == listing(compile_ptx(vecadd.ptx_path.read_text())["vecadd"]) + "\n"


def test_the_shortest_list_that_gives_code():
    found = run_passes(REDUCTION.ptx_path.read_text(), "r.ptx", SHORTEST)["reduction"]
    assert isinstance(found, KernelImage) and found.points and len(found.code) > len(REDUCTION.image().code)


@pytest.mark.parametrize(("passes", "words"), [
    ("legalize,dec", ["--passes", "there is no pass 'dec'; did you mean 'dce'?"]),
    ("", ["there is no pass ''", "legalize"]),
    ("dce", ["pass dce takes IR of stage narrow, as legalize leaves it; here it is wide"]),
    ("legalize,mark-pointers", ["takes IR of stage wide, as lowering leaves it; here it is narrow"]),
    ("legalize,select-immediates,allocate,sink", ["as legalize or select-immediates leaves it; here it is machine"]),
    (",".join((*SHORTEST[:-1], "sink")), ["pass sink takes IR of stage", "here it is preemptible"]),
    (",".join((*SHORTEST, "emit")), ["emit is the last pass: emit cannot follow it"]),
])
def test_wrong_lists_are_refused(passes, words):
    done = run(REDUCTION.ptx_path, "--passes", passes)
    last = done.stderr.strip("\n").split("\n")[-1]
    assert done.exit_code == 2 and done.stdout == "" and all(word in last for word in words), done.stderr


@pytest.mark.parametrize("option", [["--json"], ["--show"], ["-o", "k.elf"]])
def test_what_is_for_code_wants_code(option, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = run(REDUCTION.ptx_path, "--passes", "legalize", *option)
    assert done.exit_code == 2 and "let --passes end with emit" in done.stderr and not list(tmp_path.iterdir())
    assert run(REDUCTION.ptx_path, "--passes", ",".join(SHORTEST), *option).exit_code == 0


def test_ir_that_a_pass_leaves_is_verified(monkeypatch):
    def break_it(compilation):
        compilation.kernel.blocks[0].ops.append(Op("nonsense"))

    monkeypatch.setitem(PASSES, "dce", PASSES["dce"]._replace(run=break_it))
    found = run_passes(REDUCTION.ptx_path.read_text(), "r.ptx", ["legalize", "dce"])["reduction"]
    assert isinstance(found, CompileError) and "not legal after pass dce" in str(found)


def test_the_ir_is_printed_after_each_run_of_a_pass():
    plain, done = run(REDUCTION.ptx_path), run(REDUCTION.ptx_path, "--print-after", "legalize,dce,allocate")
    assert done.exit_code == 0 and done.stdout == plain.stdout
    names = ran(done.stderr)
    assert names[0] == "legalize" and names[-1] == "allocate" and names.count("dce") == len(names) - 2 > 1
    first, *_ = done.stderr.removeprefix("*** after legalize ***\n").split("\n*** after")
    assert show(parse(first)) == first.removesuffix("\n") + "\n"


def test_all_is_every_pass():
    names = ran(run(REDUCTION.ptx_path, "--print-after", "all").stderr)
    assert set(DEFAULT) < set(names) and [name for name in names if name in SHORTEST] == list(SHORTEST)
    assert ran(run(REDUCTION.ptx_path, "--passes", "legalize,sink", "--print-after", "all").stderr) == [
        "legalize", "sink"]


def test_what_is_printed_of_an_attempt_that_failed_is_told_apart(tmp_path):
    """Three quotients share a routine, which takes more than eight registers."""
    (tmp_path / "k.ptx").write_text("""
        .version 8.0
        .target sm_75
        .address_size 64
        .visible .entry k(.param .u64 out) {
            .reg .b64 %rd<2>; .reg .f64 %d<6>;
            ld.param.u64 %rd1, [out]; ld.global.f64 %d1, [%rd1]; ld.global.f64 %d2, [%rd1+8];
            div.rn.f64 %d3, %d1, %d2; div.rn.f64 %d4, %d3, %d2; div.rn.f64 %d5, %d4, %d2;
            st.global.f64 [%rd1], %d5; ret;
        }""")
    done = run(tmp_path / "k.ptx", "--registers", "8", "--print-after", "legalize")
    first, between, second = (line for line in done.stderr.split("\n") if line.startswith("***"))
    assert first == second == "*** after legalize ***"
    assert re.fullmatch(r"\*\*\* compiling k again, with its routines inlined: kernel k needs .* \*\*\*", between)


def test_a_pass_that_is_not_there_cannot_be_printed_after():
    done = run(REDUCTION.ptx_path, "--print-after", "legalise")
    assert done.exit_code == 2 and "there is no pass 'legalise'; did you mean 'legalize'?" in done.stderr


def a_list(rng):
    """Return a random list of passes that ends with `emit`."""
    names, stage = [], "wide"
    while not names or names[-1] != "emit":
        legal = [name for name, row in PASSES.items() if stage in row.takes and name != "emit"]
        ahead = [name for name in (*SHORTEST, "emit") if stage in PASSES[name].takes]
        names.append(rng.choice(legal) if legal and rng.random() < 0.8 else ahead[-1])
        if names[-1] == "emit" and stage == "barriers":
            names[-1:] = ["place-points", "emit"]
        stage = check_order(names)[-1]
    return names


@pytest.mark.parametrize("seed", range(12))
def test_any_legal_list_computes_the_same(seed):
    random_kernel = RandomKernel(seed, grid=(1,), statements=6, unstructured=seed % 3 == 0)
    names = a_list(random.Random(seed))
    image = run_passes(random_kernel.ptx, "k.ptx", names)[random_kernel.name]
    assert isinstance(image, KernelImage), (names, image)
    device = open_device("golden", GEOMETRY, memory_bytes=1 << 20)
    output = device.array(np.zeros(random_kernel.output_bytes, np.uint8))
    inputs = device.array(np.frombuffer(random_kernel.inputs(), np.uint8))
    device.wait(device.load([image])[random_kernel.name](random_kernel.grid, random_kernel.block,
                                                         [output, inputs, random_kernel.n]))
    assert output.get().tobytes() == random_kernel.expected(), names


def test_stages_are_a_chain():
    """Each stage but the first is made by a pass that takes the one before."""
    stages = list(STAGES)
    for before, after in zip(stages, stages[1:], strict=False):
        assert [row.takes for row in PASSES.values() if row.gives == after and after not in row.takes][-1][-1] == before
    check_order(DEFAULT)
    with pytest.raises(InputError, match="no pass 'lower'"):
        check_order(["lower"])


def test_the_page_lists_all_passes():
    rows = re.findall(r"^\| `([\w-]+)` \| ([\w, >]+) \|", (ROOT / "docs" / "code.md").read_text(), re.MULTILINE)
    wanted = [(name, ", ".join(row.takes) + (f" > {row.gives}" if row.gives and row.gives not in row.takes else ""))
              for name, row in PASSES.items()]
    assert sorted(rows) == sorted(wanted)
