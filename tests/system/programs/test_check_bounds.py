"""``--check-bounds``: what leaves its array ends with one message and exit code 3, and what ships never does."""

import itertools
import re
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from caesura.cli import main
from caesura.hw.arch.geometry import preset
from caesura.hw.arch.image.context import Mechanism
from caesura.sim import open_device
from caesura.sim.scenario import differences, shipped_work, start_job
from caesura.software.kernels import KERNELS, SIZES
from support.selection import quick

ROOT = Path(__file__).parents[3]
LIMIT = 50_000_000
OVERRUN = """// One element too many is copied where the count says so.
.version 8.0
.target sm_75
.address_size 64
.visible .entry shift(.param .u64 from, .param .u64 to, .param .u32 by)
{
    .reg .b32 %r<9>;
    .reg .b64 %rd<9>;
    ld.param.u64 %rd1, [from];
    ld.param.u64 %rd2, [to];
    ld.param.u32 %r1, [by];
    mov.u32 %r2, %tid.x;
    mul.wide.u32 %rd3, %r2, 4;
    add.s64 %rd4, %rd1, %rd3;
    ld.global.u32 %r3, [%rd4];
    add.s32 %r4, %r2, %r1;
    mul.wide.u32 %rd5, %r4, 4;
    add.s64 %rd6, %rd2, %rd5;
    st.global.u32 [%rd6], %r3;
    ret;
}
"""
JOB = """
grid = 1
block = 64
preset = "gtx480"
argument = [{{ name = "from", dtype = "u32", shape = 64, init = "arange" }},
            {{ name = "to", dtype = "u32", shape = 64, init = "zeros" }}, {{ name = "by", value = {by} }}]
"""


@pytest.fixture
def overrun(tmp_path):
    def written(by, text=OVERRUN):
        (tmp_path / "shift.ptx").write_text(text)
        (tmp_path / f"job{by}.toml").write_text(JOB.format(by=by))
        return [str(tmp_path / "shift.ptx"), "--job", str(tmp_path / f"job{by}.toml")]

    return written


def invoke(*arguments):
    done = CliRunner().invoke(main, [str(x) for x in arguments])
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done


def complaint(done):
    """The lines of a run that are no progress."""
    return [line for line in done.stderr.splitlines() if not line.startswith("...")]


@pytest.mark.parametrize("command", ["run", "preempt"])
def test_a_value_that_overran_two_arrays_is_one_message_and_exit_3(overrun, command):
    assert invoke(command, *overrun(128), "--backend", "golden").exit_code == 0
    done = invoke(command, *overrun(128), "--check-bounds")
    assert done.exit_code == 3
    message, = complaint(done)
    assert "out of bounds in kernel 'shift'" in message and "shift.ptx:19)" in message
    assert "256 bytes behind the end of array to, parameter to (256 bytes at " in message
    assert "by thread (0, 0, 0) of block (0, 0, 0)" in message


def test_one_element_is_enough_and_none_is_right(overrun):
    assert invoke("run", *overrun(0), "--check-bounds").exit_code == 0
    done = invoke("run", *overrun(1), "--check-bounds")
    assert done.exit_code == 3 and "right behind the end" in done.stderr and "thread (63, 0, 0)" in done.stderr


def test_an_upper_word_is_found(overrun):
    text = OVERRUN.replace("add.s64 %rd6, %rd2, %rd5;", "add.s64 %rd6, %rd2, %rd5; add.s64 %rd6, %rd6, 4294967296;")
    assert invoke("run", *overrun(0, text), "--backend", "golden").exit_code == 0
    done = invoke("run", *overrun(0, text), "--check-bounds")
    assert done.exit_code == 3 and "upper 32 bits are not zero" in complaint(done)[0]


def test_an_interrupted_overrun_is_found(overrun):
    for mechanism in Mechanism:
        done = invoke("run", *overrun(1), "--check-bounds", "--at", 9, "--mechanism", mechanism.label)
        assert done.exit_code == 3, done.output


def test_back_ends_that_cannot_check_are_refused(overrun):
    done = invoke("run", *overrun(0), "--check-bounds", "--backend", "rtl")
    assert done.exit_code == 2 and "--check-bounds needs the golden model" in done.stderr
    with pytest.raises(ValueError, match="golden model"):
        open_device("rtl", "tiny", check_bounds=True)


def test_the_kernel_that_runs_meanwhile_is_checked_too(overrun):
    source, _, job = overrun(1)
    done = invoke("run", "vecadd", "--size", "tiny", "--check-bounds", "--at", 5, "--with", source, "--with-job", job)
    assert done.exit_code == 3 and "kernel 'shift'" in complaint(done)[0]


def test_the_example_of_the_documents_is_what_is_printed():
    page = (ROOT / "docs" / "bounds.md").read_text()
    command, said = re.search(r"\$ caesura (.*); echo \$\?\n(.*)\n3\n```", page).groups()
    done = invoke(*[str(ROOT / word) if word.startswith("examples/") else word for word in command.split()])
    assert done.exit_code == 3 and complaint(done) == [said.replace("examples/", f"{ROOT}/examples/")]
    unchecked = invoke(*[str(ROOT / word) if word.startswith("examples/") else word for word in command.split()[:-1]],
                       "--backend", "golden")
    assert unchecked.exit_code == 0 and unchecked.stdout.endswith("correct\n")


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("name, size, interrupted", quick(
    itertools.product(KERNELS, SIZES, (False, True)), [(name, "tiny", False) for name in [*KERNELS][1::7]]))
def test_the_suite_gives_no_false_alarm(name, size, interrupted):
    unalarmed(name, size, interrupted)


@pytest.mark.parametrize("name", quick(["histogram", "mergesort", "heartwall", "persistent"], ["persistent"]))
def test_the_suite_gives_none_when_interrupted(name):
    unalarmed(name, "tiny", True)


def unalarmed(name, size, interrupted):
    """Run a kernel checked, taken away twice if `interrupted`, and compare its results."""
    g = preset("gtx480")
    work = shipped_work(name, g, size, check_bounds=True)
    device = open_device("golden", g, 128 << 20, check_bounds=True)
    launch, arrays = start_job(device, device.load([work.image])[work.image.name], work.job)
    for cycles in (1_000, 2_000) if interrupted else ():
        device.run(launch, cycles)
        if not launch.finished and device.preempt(launch, Mechanism.LIVE_CP, scramble=True):
            other = shipped_work("hostile", g, check_bounds=True)
            device.wait(start_job(device, device.load([other.image])[other.image.name], other.job)[0], LIMIT)
            device.resume(launch)
    device.wait(launch, LIMIT)
    assert not any(differences(work.job, arrays).values()), name


def test_a_checked_device_leaves_gaps_and_a_plain_one_none():
    for checked, gap in ((False, 0), (True, 4096)):
        device = open_device("golden", "tiny", check_bounds=checked)
        first, second = (device.array(np.zeros(64, np.uint32)) for _ in range(2))
        assert second.address - first.address == 256 + gap
