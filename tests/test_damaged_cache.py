"""Damaged files of the cache, of every kind that is read back. Each is made again, or the message names it. What is
used is always what it should be."""

import ctypes
import shutil
import subprocess
import tempfile

import numpy as np
import pytest
from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import Out
from click.testing import CliRunner

from caesura import cache
from caesura.cli import main
from caesura.hw.arch.geometry import preset
from caesura.sim.golden.native import build as engine_build
from caesura.sim.golden.native.engine import Engine
from caesura.sim.golden.transport import GoldenTransport
from caesura.sim.rtl import design, recipe, verilator
from caesura.software.compiler import kernel_names, stored_module
from caesura.software.driver import Device
from support.damaged_files import DAMAGES, damage, permissions_count
from support.programs.stir import WORDS, image, stirred
from support.selection import quick

TINY = preset("tiny")
PTX = """
.version 8.0
.target sm_70
.address_size 64
.const .align 4 .u32 table[2] = {7, 9};
.visible .entry one(.param .u64 output)
{
    .reg .b32 %r<3>;
    .reg .b64 %a<2>;
    ld.param.u64 %a0, [output];
    ld.const.u32 %r0, [table+4];
    st.global.u32 [%a0], %r0;
    ret;
}
.visible .entry two(.param .u64 output) { ret; }
"""
SEEDS = quick(range(20), [0])


@pytest.fixture
def folder(monkeypatch, tmp_path):
    """An empty cache of a user whom permissions stop."""
    monkeypatch.setenv("CAESURA_CACHE", str(tmp_path / "cache"))
    with permissions_count():
        yield tmp_path / "cache"


def named(error, path):
    """The message of an error has the path of the file."""
    return str(path) in (str(error.filename), str(error.filename2))


def again(path, make, right, mend, count):
    """Ask for what a damaged file held: it is right, and the file is whole after that; or the message names the file,
    and it is right when the file was mended by hand."""
    try:
        assert make() == right
    except OSError as error:
        assert named(error, path), error
        mend()
        assert make() == right
    made = count()
    assert make() == right and count() == made, "it is kept again"


@pytest.mark.parametrize("kind", DAMAGES)
@pytest.mark.parametrize("seed", SEEDS)
def test_systemverilog(folder, kind, seed):
    made = []

    def make(name="sm"):
        return design._kept(name, TINY, lambda: made.append(name) or f"module {name}; wire w;\n" * 99)

    right = make()
    path, = (folder / "sv").glob("*.gz")
    other = path.with_name("another.gz")
    other.write_bytes(b"text")
    mend = damage(kind, path, seed, [other])
    again(path, make, right, mend, lambda: len(made))
    # A bit of gzip's header, such as the time, changes nothing; what cannot be kept is made once more.
    assert len(made) in ((1, 2) if kind == "flip" else (2 + (kind == "folder"),))
    mend = damage(kind, path.with_name(path.name + cache.RECORD_SUFFIX), seed, [other])
    assert make() == right
    mend()


def library(folder, number):
    """A small library that takes a moment to compile, kept as simulators are; and what it computes."""
    source = folder / f"{number}.c"
    source.write_text(f"int run(void) {{ return {number}; }}\n")
    result = folder / "verilator" / f"{number}.so"

    def build(work):
        subprocess.run(["gcc", "-shared", "-o", str(work / "made.so"), str(source)], check=True)
        build.count += 1
        return work / "made.so"

    build.count = 0

    def make():
        path = recipe.kept(result, f"design {number}", "simulator", build, lambda *_: None)
        with tempfile.TemporaryDirectory() as fresh:  # the loader knows a library by its file
            return ctypes.CDLL(shutil.copy(path, fresh)).run()

    return result, make, build


@pytest.mark.parametrize("kind", DAMAGES)
@pytest.mark.parametrize("part", quick(["library", "record"], ["library"]))
@pytest.mark.parametrize("seed", SEEDS)
def test_simulators(folder, kind, part, seed):
    folder.mkdir()
    (path, make, build), (other, make_other, _) = (library(folder, number) for number in (4711, 815))
    assert (make(), make_other()) == (4711, 815)
    files = {"library": path, "record": path.with_name(path.name + cache.RECORD_SUFFIX)}
    others = {"library": other, "record": other.with_name(other.name + cache.RECORD_SUFFIX)}
    mend = damage(kind, files[part], seed, [others[part]])
    again(files[part], make, 4711, mend, lambda: build.count)
    assert build.count == 2 or part == "record" or kind == "folder"
    assert cache.whole(path)


@pytest.mark.parametrize("kind", DAMAGES)
@pytest.mark.parametrize("file", ["one", "two", "names"])
@pytest.mark.parametrize("seed", SEEDS)
def test_kernels(folder, kind, file, seed):
    right, names = stored_module(PTX).images, kernel_names(PTX)
    kept = sorted((folder / "kernels").iterdir())
    path, = (each for each in kept if each.suffixes[-2:] == [f".{file}", ".elf"] or each.suffix == f".{file}")
    mend = damage(kind, path, seed, kept)
    try:
        for _ in range(2):
            assert stored_module(PTX).images == right and kernel_names(PTX) == names
    finally:
        mend()


@pytest.fixture
def quickly(monkeypatch):
    """The engine compiles without optimisation."""
    monkeypatch.setattr(engine_build, "FLAGS", tuple("-O0" if flag == "-O3" else flag for flag in engine_build.FLAGS))


def runs(engine):
    """A kernel runs on the golden model with an engine, to the right bits."""
    device = Device(GoldenTransport(TINY, 1 << 18, engine=engine))
    words = np.random.default_rng(3).integers(0, 1 << 32, WORDS, np.uint32)
    arrays = device.zeros(80, np.uint32), device.array(words), device.zeros(80, np.uint32), device.zeros(1, np.uint32)
    device.wait(device.load([image(16)])["stir"](5, 16, [*arrays, 2]))
    return np.array_equal(arrays[0], stirred(words, 80, 2)[0])


@pytest.mark.timeout(300)
@pytest.mark.parametrize("kind", quick(DAMAGES, ["flip"]))
@pytest.mark.parametrize("part", quick(["library", "record"], ["library"]))
def test_engines(folder, kind, part, quickly):
    """Numpy computes meanwhile what the engine would; an engine that is asked for is built anew, or the message says
    what is in its way."""
    assert Engine("compiled", TINY.warp_size).library is not None and runs("compiled")
    path = engine_build.library_path(TINY.warp_size)
    record = path.with_name(path.name + cache.RECORD_SUFFIX)
    kept, other = cache.record_of(path), path.with_name("other")
    other.write_bytes(b"code of another")
    cache.seal(other, "engine of the golden model", "warps of 4")
    damaged = path if part == "library" else record
    mend = damage(kind, damaged, 1, [other if part == "library" else other.with_name("other.record")])
    assert runs("auto")
    try:
        assert runs("compiled")
    except OSError as error:
        assert named(error, damaged)
        mend()
        assert runs("compiled")
    assert cache.whole(path) and cache.record_of(path).what == kept.what


class Counter(wiring.Component):
    """Counts cycles."""

    count: Out(8)

    def elaborate(self, platform):
        m = Module()
        m.d.sync += self.count.eq(self.count + 1)
        return m


HARNESS = """
#include "Vtop.h"
extern "C" __attribute__((visibility("default"))) int run(int cycles) {
    VerilatedContext context;
    Vtop top(&context);
    for (int k = 0; k < 2 * cycles; ++k) {
        top.clk = k & 1;
        top.eval();
    }
    return top.count;
}
"""


@pytest.mark.full
@pytest.mark.timeout(900)
@pytest.mark.parametrize("kind", DAMAGES)
def test_verilated_blocks_with_each_file_they_are_made_from(folder, tmp_path, kind):
    """Of a block's simulator, of Verilator's run-time library, and their records."""
    harness = tmp_path / "harness.cpp"
    harness.write_text(HARNESS)

    def make():
        with tempfile.TemporaryDirectory() as fresh:
            return ctypes.CDLL(shutil.copy(verilator.block_library(Counter(), harness), fresh)).run(7)

    assert make() == 7
    kept = [path for path in sorted((folder / "verilator").iterdir()) if path.suffix != ".lock"]
    assert len(kept) == 4
    for number, path in enumerate(kept):
        if path.suffix == ".a":  # it is looked at when a simulator is built
            next(each for each in kept if each.suffix == ".so").unlink()
        mend = damage(kind, path, number, kept)
        again(path, make, 7, mend, lambda: 0)


@pytest.mark.parametrize("kind", DAMAGES)
def test_the_list_of_what_is_kept_is_printed_whatever_lies_there(folder, kind):
    """And cleaning takes it away."""
    for name in "a", "b":
        path = folder / "verilator" / f"{name}.so"
        cache.write_atomically(path, b"x" * 1000)
        cache.seal(path, "simulator", "tiny")
    mends = [damage(kind, folder / "verilator" / name, 1, [folder / "verilator" / f"b.so{more}"])
             for name, more in (("a.so", ""), ("a.so.record", cache.RECORD_SUFFIX))]
    for arguments in ["cache"], ["cache", "--clean"]:
        result = CliRunner().invoke(main, arguments)
        assert result.exit_code == 0, result.output
    for mend in mends:
        mend()
    assert not (folder / "verilator" / "b.so").exists()
