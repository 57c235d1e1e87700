"""What the compiler prints, saves and plans is the same in every process.

Sets of names have another order under another hash seed, and sets of operations at other addresses. Nothing that leaves
the compiler may depend on it: IR after each pass, images, listings, refusals, explanations, flashback plans, preemption
routines.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from caesura.software.kernels import KERNELS, opencl
from caesura.software.kernels.doubles import DOUBLES
from support.selection import quick

SEEDS = ("0", "1", "4242")
DATA = Path(__file__).with_name("data")
QUICK = ["ptx:lud_perimeter", "ptx:warpscan", "plans:layerforward",
         "gfx906:relu", f"file:{DATA / 'norms.ptx'}", f"file:{DOUBLES['fractions']}"]
FULL = [*(f"{kind}:{name}" for kind in ("ptx", "plans") for name in KERNELS),
        *(f"gfx906:{one.name}" for one in opencl.KERNELS), *(f"file:{path}" for path in DOUBLES.values()),
        *(f"file:{path}" for path in sorted(DATA.glob("*.ptx")))]


def lines_under(seeds, cases, limit):
    """Return what `everything_compiled` prints under each hash seed; the processes run at once."""
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    running = [subprocess.Popen([sys.executable, "-m", "support.software.everything_compiled", *cases], text=True,
                                stdout=subprocess.PIPE, env={**environment, "PYTHONHASHSEED": seed}) for seed in seeds]
    try:
        found = [process.communicate(timeout=limit)[0].splitlines() for process in running]
    finally:
        for process in running:
            process.kill()
    assert all(process.wait() == 0 for process in running)
    return found


def check(cases, limit):
    first, *others = lines_under(SEEDS, cases, limit)
    assert {line.split()[0] for line in first} == set(cases), "something came of every case"
    for other in others:
        assert [pair for pair in zip(first, other, strict=True) if pair[0] != pair[1]] == []


@pytest.mark.parametrize("cases", quick([QUICK, QUICK[1:3]], [QUICK[1:3]]), ids=len)
def test_nothing_depends_on_the_hash_seed(cases):
    check(cases, 120)


@pytest.mark.full
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("case", FULL)
def test_nothing_of_any_kernel_depends_on_the_hash_seed(case):
    check([case], 1500)
