"""Values beyond the register budget: computed again or kept in local memory, right under divergence and preemption."""

import dataclasses

import numpy as np
import pytest
from click.testing import CliRunner

from caesura.cli import main
from caesura.hw.arch.geometry import PRESETS
from caesura.hw.arch.way import Way
from caesura.sim import open_device
from caesura.sim.scenario import CompiledJob, differences, run_preemption, start_job
from caesura.sim.workloads.random_ptx import RandomKernel
from caesura.software.compiler import CompileError, CompileOptions, assemble, compile_ptx, load_elf
from caesura.software.compiler.analysis.liveness import liveness
from caesura.software.compiler.analysis.pressure import pressure
from caesura.software.compiler.image.lift import lift
from caesura.software.compiler.ir.spec import verify
from caesura.software.compiler.ir.text import parse
from caesura.software.compiler.registers.allocate import TIGHT, allocate
from caesura.software.compiler.registers.spill import Spiller
from caesura.software.kernels import KERNELS, Job, hostile

GEOMETRY = dataclasses.replace(PRESETS["gtx480"], stack_depth=64)
BUDGETS = 8, 10, 12, 16, 24, 32, 48, 64
SOME = {"warpscan": 8, "persistent": 6, "hotspot": 16, "matmul": 10, "pathfinder": 9}


def compiled(text, budget, **options):
    (image,) = compile_ptx(text, options=CompileOptions(max_registers=budget, **options)).values()
    return image


def most_live(image):
    """Vector registers live at once in the emitted code, results counted, whether wanted or not."""
    kernel = lift(image).kernel
    result = liveness(kernel)
    return max((len({r for r in (*live, *op.written()) if r.kind == "R"})
                for block in kernel.blocks for _, op, live in result.backward(block)), default=0)


def run(image, job):
    device = open_device("golden", GEOMETRY, memory_bytes=1 << 24)
    launch, arrays = start_job(device, device.load([image])[image.name], job)
    device.wait(launch)
    assert not any(differences(job, arrays).values())


def random_job(kernel):
    return Job(kernel.grid, kernel.block,
               {"output": np.zeros(kernel.output_bytes, np.uint8),
                "input": np.frombuffer(kernel.inputs(), np.uint8), "n": kernel.n},
               {"output": np.frombuffer(kernel.expected(), np.uint8)})


def small(seed, **settings):
    return RandomKernel(seed, grid=(1,), block=(40,), depth=3, statements=8, **settings)


def names(kernel):
    return [op.name for op in kernel.ops()]


@pytest.mark.parametrize(("name", "budget"), SOME.items())
def test_shipped_kernels_in_few_registers(name, budget):
    shipped = KERNELS[name]
    image = compiled(shipped.ptx_path.read_text(), budget)
    assert image.registers <= budget
    run(image, shipped.job("tiny"))


@pytest.mark.full
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("name", KERNELS)
def test_every_shipped_kernel_in_every_budget(name):
    shipped = KERNELS[name]
    code = None
    for budget in BUDGETS:
        image = compile_ptx(shipped.ptx_path.read_text(), options=CompileOptions(max_registers=budget))[name]
        assert image.registers <= budget
        if image.code != code:
            run(image, shipped.job("small"))
        code = image.code


@pytest.mark.parametrize(("seed", "budget"), [(0, 8), (1, 8), (2, 9), (4, 13)])
def test_random_kernels_in_few_registers(seed, budget):
    kernel = small(seed, variables=4 + seed, nested_leaves=seed % 2 == 0)
    image = compiled(kernel.ptx, budget)
    assert image.registers <= budget and image.local_bytes == image.spill_bytes > 0
    run(image, random_job(kernel))


def test_spilled_registers_are_said(tmp_path):
    source = tmp_path / "k.ptx"
    source.write_text(small(4, variables=8).ptx)

    def said(*arguments):
        done = CliRunner().invoke(main, [str(word) for word in arguments])
        assert done.exit_code == 0, done.output
        return done.output

    few, many = ("--registers", 9, "-o", tmp_path / "few.elf"), ("--registers", 60, "-o", tmp_path / "many.elf")
    assert "bytes of spilled registers a thread" in said("compile", source, *few)
    assert "spilled registers" not in said("compile", source, *many) + said("disasm", tmp_path / "many.elf")
    assert "of them for spilled registers)" in said("disasm", tmp_path / "few.elf")
    (image,) = load_elf(tmp_path / "few.elf").values()
    assert image.spill_bytes == image.local_bytes > 0
    (again,) = assemble(said("disasm", "--asm", tmp_path / "few.elf"))
    assert again.spill_bytes == image.spill_bytes
    assert f"({image.spill_bytes} B for spilled registers)" in said("explain", tmp_path / "few.elf")


@pytest.mark.full
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("seed", range(20, 60))
def test_many_random_kernels_in_every_budget(seed):
    kernel = RandomKernel(seed, grid=(1,), depth=2 + seed % 3, variables=4 + seed % 12, nested_leaves=seed % 2 == 0)
    for budget in BUDGETS:
        image = compiled(kernel.ptx, budget)
        assert image.registers <= budget
        run(image, random_job(kernel))


@pytest.mark.parametrize("seed", [11, 12])
def test_spilled_values_survive_preemption(seed):
    kernel = small(seed, variables=8)
    image = compiled(kernel.ptx, 9, interval=20)
    assert image.local_bytes > 0
    for at in range(30 + seed, 900, 317):
        device = open_device("golden", GEOMETRY, memory_bytes=1 << 22)
        result = run_preemption(device, CompiledJob(image, random_job(kernel)), CompiledJob(*hostile(GEOMETRY)), at,
                                Way(scramble=True))
        assert result.correct, (at, result.differences)


DOUBLES = 24


def doubles_ptx():
    """A kernel that loads doubles, keeps all of them, and stores their products; pairs, quads and f64 at once."""
    count = DOUBLES
    lines = [f"\tld.global.v2.f64 \t{{%fd{k}, %fd{k + 1}}}, [%rd2+{8 * k}];" for k in range(0, count, 2)]
    lines += ["\tsetp.lt.s32 \t%p1, %r1, 5;", "\t@%p1 bra \t$over;"]
    lines += [f"\tfma.rn.f64 \t%fd{k}, %fd{k}, %fd{(k + 7) % count}, %fd{(k + 3) % count};" for k in range(count)]
    lines += [f"\t@%p2 add.f64 \t%fd{k}, %fd{k}, %fd{k + 1};" for k in range(0, count - 1, 3)]
    lines += ["$over:"]
    lines += [f"\tst.global.v2.f64 \t[%rd5+{8 * k}], {{%fd{count - 1 - k}, %fd{k}}};" for k in range(0, count, 2)]
    return "\n".join([
        ".version 8.0", ".target sm_75", ".address_size 64", ".visible .entry doubles(.param .u64 out, .param .u64 in)",
        "{", f"\t.reg .f64 \t%fd<{count}>;", "\t.reg .b64 \t%rd<6>;", "\t.reg .b32 \t%r<3>;", "\t.reg .pred \t%p<3>;",
        "\tld.param.u64 \t%rd1, [out];", "\tld.param.u64 \t%rd2, [in];", "\tmov.u32 \t%r1, %tid.x;",
        "\tand.b32 \t%r2, %r1, 1;", "\tsetp.eq.s32 \t%p2, %r2, 0;", f"\tmul.wide.u32 \t%rd3, %r1, {8 * count};",
        "\tadd.s64 \t%rd5, %rd1, %rd3;", *lines, "\tret;", "}"])


@pytest.mark.parametrize("budget", [12, 17, 64])
def test_pairs_and_quads_of_doubles_under_divergence_and_guards(budget):
    values = np.random.default_rng(1).normal(size=DOUBLES)
    result = np.zeros((32, DOUBLES))
    for thread in range(32):
        v = values.copy()
        if thread >= 5:
            for k in range(DOUBLES):
                exact = np.longdouble(v[k]) * np.longdouble(v[(k + 7) % DOUBLES]) + np.longdouble(v[(k + 3) % DOUBLES])
                v[k] = np.float64(exact)
            for k in range(0, DOUBLES - 1, 3) if thread % 2 == 0 else ():
                v[k] += v[k + 1]
        result[thread, 0::2] = v[::-1][0::2]
        result[thread, 1::2] = v[0::2]
    image = compiled(doubles_ptx(), budget)
    assert image.registers <= budget and (image.local_bytes > 0) == (budget < 50)
    device = open_device("golden", GEOMETRY, memory_bytes=1 << 22)
    out, source = device.array(np.zeros((32, DOUBLES))), device.array(values)
    device.wait(device.load([image])["doubles"]((1,), (32,), [out, source]))
    assert np.allclose(out.get(), result, rtol=1e-14, atol=0)


def test_too_few_registers_names_the_minimum():
    text = doubles_ptx()
    with pytest.raises(CompileError, match=r"kernel doubles needs at least (\d+) vector registers") as caught:
        compiled(text, 4)
    least = int(str(caught.value).split("at least ")[1].split()[0])
    assert compiled(text, least).registers == least
    with pytest.raises(CompileError, match=f"needs at least {least} .* the target has {least - 1}"):
        compiled(text, least - 1)


def test_code_that_fits_is_not_spilled():
    for seed in range(2):
        kernel = small(seed)
        free = compiled(kernel.ptx, 64)
        assert free.local_bytes == 0 and compiled(kernel.ptx, free.registers).code == free.code


def test_registers_are_at_most_the_bound_over_the_maximum_live():
    images = {name: shipped.image() for name, shipped in KERNELS.items()}
    images |= {f"random {seed}": compiled(small(seed).ptx, 64) for seed in range(4)}
    wrong = {}
    for name, image in images.items():
        live = most_live(image)
        if image.registers > TIGHT * live:
            wrong[name] = image.registers, live
    assert not wrong


def test_constants_and_parameters_are_computed_again_instead_of_stored():
    ops = [f"%r{k} = mov {k}" for k in range(10)] + [f"%r{10 + k} = ldp #{4 * k}" for k in range(4)]
    ops += ["%r20 = s2r #4", "%r21 = ld.const.b32 16"]
    everything = [*range(14), 20, 21]
    ops += [f"st.global.b32 %r20, %r{k} #{4 * k}" for k in everything] * 2
    kernel = parse("kernel k\nentry:\n" + "".join(f"  {op}\n" for op in ops) + "  end\n")
    allocate(kernel, 4)
    verify(kernel, "machine")
    assert kernel.local_bytes == 0 and not any(name.endswith("local.b32") for name in names(kernel))


def test_a_guarded_definition_is_stored_under_its_guard():
    ops = [f"%r{k} = ldp #{4 * k}" for k in range(3)] + ["%p0 = setp.eq %r0, 0"]
    ops += [f"%r{10 + k} = iadd %r0, {k}" for k in range(6)] + ["@%p0 %r11 = iadd %r1, %r2"]
    ops += [f"st.global.b32 %r0, %r{10 + k} #{4 * k}" for k in range(6)]
    kernel = parse("kernel k\nentry:\n" + "".join(f"  {op}\n" for op in ops) + "  end\n")
    allocate(kernel, 4)
    verify(kernel, "machine")
    stores = [op for op in kernel.ops() if op.name == "st.local.b32"]
    assert stores and [op.guard is not None for op in stores].count(True) <= 1
    result = liveness(kernel)
    assert not any(reg.kind == "R" for reg in result.live_in["entry"])


def test_values_that_are_never_live_together_share_a_place():
    lines = ["%r0 = ldp"]
    for part in range(3):
        first = 10 * part + 10
        lines += [f"%r{first + k} = ld.global.b32 %r0 #{4 * k}" for k in range(8)]
        lines += [f"st.global.b32 %r0, %r{first + k} #{4 * k}" for k in range(8)]
    kernel = parse("kernel k\nentry:\n" + "".join(f"  {op}\n" for op in lines) + "  end\n")
    Spiller(kernel).reduce_pressure(5)
    assert pressure(kernel) <= 5 and 0 < kernel.local_bytes <= 4 * 8


def test_loops_keep_their_values_in_registers():
    """What is live across a loop is spilled, rather than what the loop works with."""
    ops = [f"%r{k} = ld.global.b32 64 #{4 * k}" for k in range(8)]
    after = [f"st.global.b32 64, %r{k} #{4 * k}" for k in range(8)]
    body = ["%r20 = iadd %r20, %r21", "%r21 = iadd %r21, 1", "%p0 = setp.lt.s %r21, 9"]
    text = "kernel k\nentry:\n" + "".join(f"  {op}\n" for op in (*ops, "%r20 = ldp", "%r21 = ldp #4"))
    text += "  jump loop\nloop:\n" + "".join(f"  {op}\n" for op in body) + "  branch %p0 loop out\n"
    text += "out:\n" + "".join(f"  {op}\n" for op in (*after, "st.global.b32 64, %r20 #64")) + "  end\n"
    kernel = parse(text)
    Spiller(kernel).reduce_pressure(4)
    assert pressure(kernel) <= 4
    assert not [op for op in kernel.blocks[1].ops if "local" in op.name]


def test_many_predicates_in_few_registers():
    lines = [f"\tsetp.eq.s32 \t%p{k}, %r1, {k};" for k in range(14)]
    lines += ["\tmov.u32 \t%r3, 0;"]
    lines += [f"\t@%p{k} add.s32 \t%r3, %r3, {3 * k + 1};" for k in range(14)]
    lines += [f"\t@!%p{k} xor.b32 \t%r3, %r3, {1 << k};" for k in range(14)]
    text = "\n".join([
        ".version 8.0", ".target sm_75", ".address_size 64", ".visible .entry flags(.param .u64 out)", "{",
        "\t.reg .pred \t%p<14>;", "\t.reg .b32 \t%r<4>;", "\t.reg .b64 \t%rd<4>;", "\tmov.u32 \t%r1, %tid.x;",
        *lines, "\tld.param.u64 \t%rd1, [out];", "\tmul.wide.u32 \t%rd2, %r1, 4;", "\tadd.s64 \t%rd3, %rd1, %rd2;",
        "\tst.global.u32 \t[%rd3], %r3;", "\tret;", "}"])
    image = compiled(text, 4)
    assert image.registers <= 4 and image.predicates <= 7
    expected = []
    for thread in range(32):
        value = sum(3 * k + 1 for k in range(14) if k == thread)
        for k in range(14):
            value ^= (1 << k) * (k != thread)
        expected.append(value)
    device = open_device("golden", GEOMETRY, memory_bytes=1 << 22)
    out = device.array(np.zeros(32, np.uint32))
    device.wait(device.load([image])["flags"]((1,), (32,), [out]))
    assert out.get().tolist() == expected
