"""What g++ gets wrong without the right flags is right with those that simulators and the golden model have."""

import ctypes
import shutil
import subprocess

import pytest

from caesura.sim.cocotb import build
from caesura.sim.golden.native.build import FLAGS
from caesura.sim.rtl.compile import COMMON_FLAGS, VERILATOR_FLAGS, CompilerFlags
from caesura.sim.rtl.optimise import GENERATE, USE
from caesura.sim.rtl.toolchain import RIGHT_SUMS, shared_library

SUMS = """
#include <cstdint>
struct Signals { uint8_t codes[8], count; };
__attribute__((noinline)) void step(Signals* s) {
    s->count = 0xffU & ((7U & ((3U & ((9U == (uint32_t)s->codes[0]) + (9U == (uint32_t)s->codes[1])))
                               + (3U & ((9U == (uint32_t)s->codes[2]) + (9U == (uint32_t)s->codes[3])))))
                        + (7U & ((3U & ((9U == (uint32_t)s->codes[4]) + (9U == (uint32_t)s->codes[5])))
                                 + (3U & ((9U == (uint32_t)s->codes[6]) + (9U == (uint32_t)s->codes[7]))))));
}
extern "C" int count() { Signals s{{9, 9, 1, 2, 9, 3, 9, 4}, 0}; step(&s); return s.count; }
int main() { return count(); }
"""
"""Four of the codes are 9: a population count as Verilator writes it."""
BUILDS = {kind: (*flags.common, *getattr(flags, part)) for kind, flags, part in (
    ("plain", CompilerFlags(), "fast"), ("run-time library", CompilerFlags(), "runtime"),
    ("counting", GENERATE, "fast"), ("by its profile", USE, "fast"))} | {"golden model": FLAGS}

pytestmark = pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++: apt install g++")


def counted(flags, tmp_path):
    source = tmp_path / "sums.cpp"
    source.write_text(SUMS)
    flags = [flag for flag in flags if flag != "-shared"]
    subprocess.run(["g++", *flags, source, "-o", tmp_path / "sums"], check=True, timeout=60, cwd=tmp_path)
    return subprocess.run([tmp_path / "sums"], timeout=10, cwd=tmp_path).returncode


def test_all_simulators_are_made_without_what_verilator_gets_wrong():
    """That it does so, and does not with these flags: `tests/coverage/test_verilated.py`."""
    wrong = {f"-fno-dfg-peephole-replace-shift{way}-shift{way}" for way in "lr"}
    assert wrong <= set(COMMON_FLAGS) <= set(VERILATOR_FLAGS) and set(COMMON_FLAGS) <= set(build._FLAGS)


@pytest.mark.parametrize("kind", BUILDS)
def test_sums_of_comparisons_are_right(kind, tmp_path):
    assert RIGHT_SUMS in BUILDS[kind] and counted(BUILDS[kind], tmp_path) == 4


def test_sums_are_right_in_what_is_compiled_for_python(tmp_path, monkeypatch):
    monkeypatch.setenv("CAESURA_CACHE", str(tmp_path / "cache"))
    source = tmp_path / "sums.cpp"
    source.write_text(SUMS)
    assert ctypes.CDLL(str(shared_library(source, (), "a test", "tests"))).count() == 4


def test_the_fault_is_there_without_the_flag(tmp_path):
    """If not, this g++ has it no more, and the other tests say nothing of it."""
    if counted(["-std=c++17", "-O2"], tmp_path) == 4:
        pytest.skip("this g++ adds comparisons rightly")
