"""Whole kernels: nvcc's control flow, random kernels, preemption at many points; on the golden model."""

from pathlib import Path

import numpy as np
import pytest

from caesura.hw.arch.geometry import PRESETS
from caesura.hw.arch.way import Way
from caesura.sim import open_device
from caesura.sim.scenario import CompiledJob, differences, run_preemption, start_job
from caesura.sim.workloads.random_ptx import RandomKernel
from caesura.software.compiler import CompileOptions, compile_ptx
from caesura.software.compiler.codegen.listing import listing, rows
from caesura.software.kernels import KERNELS, Job, hostile
from support.selection import quick

GEOMETRY = PRESETS["gtx480"]
DATA = Path(__file__).parent / "data"


@pytest.fixture(scope="module")
def images():
    return compile_ptx((DATA / "control.ptx").read_text(), "control.ptx")


def wrap(value, bits=32):
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> bits - 1 else value


def cases(a, i, n):
    v = int(a[i])
    which = (v & 0x7FFF_FFFF) % 13
    table = {0: lambda: v * 3, 1: lambda: v ^ 7, 2: lambda: v << 3, 3: lambda: v + n + 9, 4: lambda: 9,
             5: lambda: v * v, 6: lambda: -v, 7: lambda: int(a[v & 31]), 8: lambda: int(a[(v & 31) + 1]) * 2,
             9: lambda: sum(int(x) for x in a[:v & 15])}
    return wrap(table.get(which, lambda: 1)())


def nest(a, i, n):
    r = 0
    for x in range(n):
        v = int(a[(i + x) & 63])
        if v & 1:
            if v & 2:
                for k in range(v & 7):
                    if (k ^ v) & 4:
                        continue
                    r = wrap(r + k * v)
                    if r > 3000:
                        return r
            else:
                r = wrap(r ^ v)
        elif v & 4:
            r = wrap(r - v)
            if v & 8:
                break
        else:
            while v > 0:
                v -= 3
                r = wrap(r + v)
                if r & 31 == 5:
                    r += 2
                    break
        if r < -1000:
            return None
    return r


def collatz(v):
    s = 0
    while v != 1:
        v = 3 * v + 1 if v & 1 else v >> 1
        s += 1
        if s > 100:
            break
    return s


def mixed(a, i, m):
    s, q = 0, i
    for k in range(m):
        if (int(a[k]) + i) & 1:
            s = wrap(s + int(a[k]) * 3, 16)
            for j in range(int(a[i]) & 7):
                q = wrap(q + wrap((q << j) ^ (q * k), 64), 64)
        else:
            s = wrap(s - int(a[k]), 16)
            if q > m * 100000:
                break
            q >>= 3
    return int(s / 7), q


def make_job(name):
    rng = np.random.default_rng(5)

    def ints(n, low=-2**31, high=2**31):
        return rng.integers(low, high, n).astype(np.int32)
    if name == "cases":
        a = ints(128)
        return Job((2, 1, 1), (64, 1, 1), {"a": a, "o": np.zeros(128, np.int32), "n": 77},
                   {"o": np.array([cases(a, i, 77) for i in range(128)], np.int32)})
    if name == "nest":
        a = ints(128, -40, 100)
        results = [nest(a, i, 12) for i in range(128)]
        return Job((2, 1, 1), (64, 1, 1), {"a": a, "o": np.full(128, -9, np.int32), "n": 12},
                   {"o": np.array([-9 if r is None else r for r in results], np.int32)})
    if name == "collatz":
        a = ints(100, 1, 2**31).astype(np.uint32)
        expected = np.array([collatz(int(v)) for v in a[:90]] + [0] * 10, np.uint32)
        return Job((4, 1, 1), (25, 1, 1), {"a": a, "o": np.zeros(100, np.uint32), "n": 90}, {"o": expected})
    if name == "mixed":
        a = rng.integers(0, 256, 96).astype(np.uint8)
        results = [mixed(a, i, 9) for i in range(96)]
        p = np.full(192, -5, np.int64)
        p[:96] = [q for _, q in results]
        p[96:] = [-5 if q < 0 else min(q, 9) for _, q in results]
        return Job((2, 1, 1), (48, 1, 1),
                   {"a": a, "o": np.zeros(96, np.int16), "p": np.full(192, -5, np.int64), "n": 96, "m": 9},
                   {"o": np.array([s for s, _ in results], np.int16), "p": p})
    if name == "bitonic":
        d = ints(256)
        return Job((2, 1, 1), (128, 1, 1), {"d": d}, {"d": np.sort(d.reshape(2, 128), axis=1).reshape(-1)})
    if name == "scan":
        d = ints(96, -1000, 1000)
        return Job((1, 1, 1), (96, 1, 1), {"d": d}, {"d": np.cumsum(d).astype(np.int32)}, shared_bytes=4 * 96)
    a, b = ints(576, -99, 99).reshape(24, 24), ints(576, -99, 99).reshape(24, 24)
    return Job((3, 3, 1), (8, 8, 1), {"a": a, "b": b, "c": np.zeros((24, 24), np.int32), "n": 24},
               {"c": (a @ b).astype(np.int32)})


NAMES = ("cases", "nest", "collatz", "mixed", "bitonic", "scan", "multiply")


@pytest.mark.parametrize("name", NAMES)
def test_control_flow_of_nvcc(images, name):
    job = make_job(name)
    device = open_device("golden", GEOMETRY, memory_bytes=1 << 22)
    launch, arrays = start_job(device, device.load([images[name]])[name], job)
    device.wait(launch)
    assert not any(differences(job, arrays).values())


@pytest.mark.parametrize("name", quick(["nest", "mixed", "multiply"], ["mixed"]))
def test_control_flow_of_nvcc_survives_preemption(images, name):
    job = make_job(name)
    happened = 0
    for at in range(3, 900, 223):
        device = open_device("golden", GEOMETRY, memory_bytes=1 << 22)
        result = run_preemption(device, CompiledJob(images[name], job), CompiledJob(*hostile(GEOMETRY)), at,
                                Way(scramble=True))
        assert result.correct, (at, result.differences)
        happened += result.preempt is not None
    assert happened >= 3


def test_parameters_passed_by_value(images):
    image = images["by_value"]
    assert [(p.name[-1], p.type, p.offset, p.size) for p in image.parameters] == [("0", "b8", 0, 32),
                                                                                ("1", "u64", 32, 8)]
    device = open_device("golden", GEOMETRY, memory_bytes=1 << 22)
    p = device.array(np.arange(32, dtype=np.int32) * 11)
    o = device.array(np.arange(128, dtype=np.int32))
    assert p.address is not None
    record = np.zeros(32, np.uint8)
    record[:8].view(np.uint64)[0] = p.address
    record[8] = 0xFD
    record[10:20].view(np.int16)[:] = [1, 2, -300, 4, 5]
    record[24:].view(np.int64)[0] = -70000
    launch = device.launch(device.load([image])["by_value"], (1, 1, 1), (32, 1, 1), [record.tobytes(), o])
    device.wait(launch)
    v = np.arange(128, dtype=np.int32).reshape(32, 4)
    expected = v[:, ::-1] + np.stack([np.arange(32) * 11, np.full(32, -3), np.full(32, -300),
                                      np.full(32, -70000 >> 8)], axis=1)
    assert (o.get().reshape(32, 4) == expected).all()


def random_job(kernel):
    return Job(kernel.grid, kernel.block,
               {"output": np.zeros(kernel.output_bytes, np.uint8),
                "input": np.frombuffer(kernel.inputs(), np.uint8), "n": kernel.n},
               {"output": np.frombuffer(kernel.expected(), np.uint8)})


@pytest.mark.parametrize("seed", quick(range(4), range(2)))
def test_random_kernels_match_the_interpreter(seed):
    kernel = RandomKernel(seed, depth=2 + seed % 3, nested_leaves=seed % 2 == 0)
    image = compile_ptx(kernel.ptx, options=CompileOptions(interval=40))["random_kernel"]
    job = random_job(kernel)
    device = open_device("golden", GEOMETRY, memory_bytes=1 << 22)
    launch, arrays = start_job(device, device.load([image])["random_kernel"], job)
    device.wait(launch)
    assert not any(differences(job, arrays).values())


@pytest.mark.parametrize("seed", quick((21, 22), [22]))
def test_random_kernels_survive_preemption(seed):
    kernel = RandomKernel(seed, depth=4, nested_leaves=True, statements=6)
    work = CompiledJob(compile_ptx(kernel.ptx)["random_kernel"], random_job(kernel))
    for at in range(20 + seed, 1500, 397):
        device = open_device("golden", GEOMETRY, memory_bytes=1 << 22)
        result = run_preemption(device, work, CompiledJob(*hostile(GEOMETRY)), at, Way(scramble=True))
        assert result.correct, (at, result.differences)


def test_break_inside_a_conditional_needs_no_entry_for_every_lane(images):
    assert {name: images[name].stack_depth for name in ("nest", "mixed")} == {"nest": 8, "mixed": 6}


def test_addresses_need_no_high_halves(images):
    """No 64-bit arithmetic is left where only addresses were 64 bits wide."""
    text = listing(images["multiply"])
    assert "iaddc" not in text and "imul.hi" not in text


def test_pointers_and_launch_bounds_are_known(images):
    assert [p.pointer for p in images["multiply"].parameters] == [True, True, True, False]
    assert images["bitonic"].max_threads == 128 and images["nest"].max_threads == 0
    assert images["bitonic"].shared_bytes == 512


def test_listing_has_lines_and_liveness(images):
    image = images["scan"]
    table = rows(image)
    assert [row.pc for row in table] == list(range(len(image.code)))
    source = (DATA / "control.ptx").read_text().splitlines()
    barrier = next(row for row in table if row.text.startswith("bar.pp"))
    assert "bar.sync" in source[barrier.line - 1]
    assert barrier.text == "bar.pp.0 {" + ", ".join(_ranges(barrier.live)) + "}"
    text = listing(image)
    assert text.startswith("kernel scan: ") and len(text.splitlines()) > len(image.code)


def _ranges(registers):
    runs = []
    for r in registers:
        if runs and runs[-1][-1] == r - 1:
            runs[-1].append(r)
        else:
            runs.append([r])
    return [f"R{run[0]}" if len(run) == 1 else f"R{run[0]}-R{run[-1]}" for run in runs]


def test_verification_changes_nothing():
    assert KERNELS["bfs"].image() == KERNELS["bfs"].image(CompileOptions(verify=False))
