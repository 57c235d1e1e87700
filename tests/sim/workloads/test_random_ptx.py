"""Random PTX kernels: compiled and run on the golden model they compute what the interpreter says, preempted or not."""

import random
import re
import shutil
import subprocess
from collections import Counter

import pytest

from caesura.hw.arch.commands import KernelState
from caesura.hw.arch.geometry import preset
from caesura.hw.arch.image.context import Mechanism
from caesura.sim.golden.transport import GoldenTransport
from caesura.sim.workloads.random_ptx import RandomKernel
from caesura.sim.workloads.random_ptx.floats import (
    BINARY_F32,
    FROM_INTEGER,
    TERNARY_F32,
    TESTS_F32,
    TO_INTEGER,
    UNARY_F32,
)
from caesura.sim.workloads.random_ptx.operations import BINARY, SHIFTS, TERNARY, UNARY
from caesura.software.compiler import CompileOptions, compile_ptx
from support.selection import quick
from support.sim.launch import Bench, argument_words

SMALL = {"variables": 2, "wide": 1, "heavy": False}
SETUPS = {
    "tiny": (preset("tiny"), {"block": (20,), **SMALL}),
    "unstructured": (preset("tiny").replace(stack_depth=32), {"block": (20,), "unstructured": True, **SMALL}),
    "gtx480": (preset("gtx480").replace(warps=8, tb_slots=2, registers=512), {"block": (9, 5), "grid": (2, 2)}),
}


class Prepared:
    """A random kernel compiled and loaded on a golden model."""

    def __init__(self, name, seed):
        g, options = SETUPS[name]
        self.kernel = RandomKernel(seed, **options)
        compiled = compile_ptx(self.kernel.ptx, options=CompileOptions(interval=20, max_registers=g.regs_per_thread))
        self.image = compiled[self.kernel.name]
        self.transport = GoldenTransport(g, 1 << 18, seed=seed)
        self.bench = Bench(self.transport)
        self.output = self.bench.allocate(self.kernel.output_bytes)
        inputs = self.bench.store(self.kernel.inputs())
        words = argument_words(self.image, self.output, inputs, self.kernel.n)
        self.bench.load(0, self.image, self.kernel.grid, self.kernel.block, words)
        self.bench.start(0)

    def check(self):
        assert self.bench.fault() is None
        assert self.transport.read_memory(self.output, self.kernel.output_bytes) == self.kernel.expected()


@pytest.mark.parametrize("seed", quick(range(12), range(1, 4)))
@pytest.mark.parametrize("name", SETUPS)
def test_compiled_kernel_computes_what_the_interpreter_says(name, seed):
    run = Prepared(name, seed)
    run.bench.finish(0, 200_000)
    run.check()


@pytest.mark.parametrize("seeds", [pytest.param((20,), id="one"),
                                   pytest.param((21, 22, 23), marks=pytest.mark.full, id="more")])
@pytest.mark.parametrize("mechanism", quick(Mechanism, [Mechanism.LIVE_CP]), ids=lambda m: m.name)
@pytest.mark.parametrize("name", SETUPS)
def test_preempted_again_and_again_with_scrambled_registers_it_still_does(name, mechanism, seeds):
    for seed in seeds:
        run = Prepared(name, seed)
        rng = random.Random(seed)
        rounds = 0
        while run.bench.state(0) is KernelState.RUNNING:
            run.transport.advance(rng.randrange(1, 60))
            if run.bench.state(0) is KernelState.RUNNING:
                run.bench.preempt(0, mechanism, scramble=True)
            if run.bench.state(0) is KernelState.PREEMPTED:
                run.bench.resume(0, scramble=True)
                rounds += 1
            assert rounds < 5000
        assert rounds > 5
        run.check()


def test_divergence_is_nested_three_deep_at_run_time():
    deepest = 0
    for seed in range(8):
        run = Prepared("gtx480", seed)
        while deepest < 5 and run.bench.state(0) is KernelState.RUNNING:
            run.transport.advance(7)
            deepest = max([deepest, *(len(w.stack) for tb in run.transport.machine.resident() for w in tb.warps)])
    assert deepest >= 5


def test_every_operation_of_the_tables_and_every_access_occurs():
    seen = Counter()
    for seed in range(300):
        seen.update(re.findall(r"^\t(?:@!?%p\d+ )?([a-z][\w.]*)", RandomKernel(seed).ptx, re.MULTILINE))
    floats = [*UNARY_F32, *BINARY_F32, *TERNARY_F32, *(f"setp.{test}.f32" for test in TESTS_F32), "selp.f32",
              *(f"{access}.{space}{vector}.f32" for access in ("ld", "st") for space in ("global", "shared")
                for vector in ("", ".v2", ".v4"))]
    assert [name for name in floats if name not in seen] == []
    for table in (FROM_INTEGER, TO_INTEGER):
        words = {word for name in table for word in name.split(".")}
        assert words == {word for name in table if name in seen for word in name.split(".")}
    tables = [*TERNARY, *(name for table in (UNARY, BINARY, SHIFTS) for bits in (32, 64) for name in table[bits])]
    accesses = [f"{op}.{space}.{type}" for space in ("global", "shared")
                for op, types in (("ld", ("u8", "s8", "u16", "s16", "b32", "u64", "v2.b32", "v4.b32", "v2.u64")),
                                  ("st", ("u8", "u16", "b32", "u64", "v2.b32", "v4.b32", "v2.u64")))
                for type in types]
    others = ["bar.sync", "bra.uni", "ret", "mul.wide.s16", "mul.wide.u32", "mad.wide.s32", "selp.b64", "and.pred",
              "cvt.s64.s8", "cvt.u32.u64", "mov.b64", "not.pred"]
    assert [name for name in (*tables, *accesses, *others) if name not in seen] == []


@pytest.mark.skipif(shutil.which("ptxas") is None, reason="ptxas is not installed")
@pytest.mark.parametrize("seed", range(5))
def test_ptxas_takes_the_kernels(seed, tmp_path):
    source = tmp_path / "random.ptx"
    source.write_text(RandomKernel(seed).ptx)
    subprocess.run(["ptxas", "-arch=sm_80", source, "-o", tmp_path / "random.cubin"], check=True)


def test_kernels_without_floats_have_none():
    assert not any("f32" in RandomKernel(seed, floats=False).ptx for seed in range(20))


def test_same_seed_same_kernel():
    assert RandomKernel(3).ptx == RandomKernel(3).ptx != RandomKernel(4).ptx
    assert RandomKernel(3).expected() == RandomKernel(3).expected()


def test_register_need_of_small_kernels_is_bounded():
    registers = [compile_ptx(RandomKernel(seed, **SMALL).ptx)[RandomKernel.name].registers for seed in range(30, 35)]
    assert max(registers) <= 16


def test_too_many_variables_are_refused():
    with pytest.raises(ValueError, match="30 variables"):
        RandomKernel(0, variables=30)
