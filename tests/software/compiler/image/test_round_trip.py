"""Whole programs: text and words are inverse, readelf reads the image, the same source gives the same bytes.

What assembler and ELF files do with single instructions and with damage is in `test_assembler` and `test_elf`.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from caesura.cli import main
from caesura.hw.arch.geometry import PRESETS
from caesura.sim.workloads.random_native import random_program
from caesura.sim.workloads.random_ptx import RandomKernel
from caesura.software.compiler import assemble, compile_ptx, disassemble, save_elf
from caesura.software.compiler.codegen import elf
from caesura.software.compiler.codegen.listing import listing
from caesura.software.compiler.flashback.traps import with_routines
from caesura.software.kernels import KERNELS

DATA = (Path(__file__).parents[1] / "data")
HASH_SEED = "12345" if os.environ.get("PYTHONHASHSEED") != "12345" else "0"
"""Of a second process; this one has another."""
SOME = {"hotspot", "histogram", "nbody", "warpscan", "lud_perimeter", "mergesort"}


@pytest.fixture(scope="module")
def images():
    return {name: kernel.image() for name, kernel in KERNELS.items()}


@pytest.mark.parametrize("preset", ["tiny", "gtx480"])
def test_random_machine_code(preset):
    g = PRESETS[preset]
    for seed in range(6):
        image = random_program(g, seed, registers=min(16, g.regs_per_thread), warps=2).image
        assert assemble(disassemble(image)) == [image]


def test_random_kernels():
    for seed in range(4):
        k = RandomKernel(seed, statements=8)
        image = compile_ptx(k.ptx, "random.ptx")[k.name]
        assert assemble(disassemble(image)) == [image]
        assert elf.read_elf(elf.write_elf([image])) == {k.name: image}


def test_preemption_routines(images):
    for name in ("collatz", "nbody"):
        image = with_routines(images[name], PRESETS["gtx480"])
        assert len(image.traps) > 4 * len(image.code)
        assert assemble(disassemble(image), check=True) == [image]
        assert elf.read_elf(elf.write_elf([image])) == {name: image}
        below = listing(image).partition(f"preemption routines, {len(image.traps)} words:\n")[2].splitlines()
        assert len(below) > len(image.code) // 2 and all("pp {" in line and "pp.div {" in line for line in below)


def test_all_shipped_kernels_in_one_text(images):
    assert assemble("".join(map(disassemble, images.values()))) == list(images.values())


def test_text_of_the_command_line_gives_the_image_back(images, tmp_path):
    first, text, second = tmp_path / "a.elf", tmp_path / "a.s", tmp_path / "b.elf"
    save_elf(first, {name: images[name] for name in SOME})
    shown = CliRunner().invoke(main, ["disasm", "--asm", str(first)])
    assert shown.exit_code == 0
    text.write_text(shown.output)
    assert CliRunner().invoke(main, ["asm", str(text), "-o", str(second)]).exit_code == 0
    assert second.read_bytes() == first.read_bytes()


@pytest.mark.skipif(shutil.which("readelf") is None, reason="readelf (package binutils) is not installed")
def test_readelf_reads_the_image(images, tmp_path):
    path = tmp_path / "kernels.elf"
    save_elf(path, images)

    def readelf(option):
        done = subprocess.run(["readelf", "-W", option, path], capture_output=True, text=True, timeout=60,
                              env={**os.environ, "LC_ALL": "C"})
        assert done.returncode == 0 and not done.stderr, done.stderr
        return done.stdout

    assert "ELF64" in readelf("-h") and f"{elf.MACHINE:#x}" in readelf("-h")
    sections = readelf("-S")
    symbols = {line.split()[7]: line.split() for line in readelf("-s").splitlines() if "GLOBAL" in line}
    assert symbols.keys() == images.keys()
    for name, image in images.items():
        assert f".text.{name} " in sections and f".caesura.kernel.{name} " in sections
        assert int(symbols[name][2], 0) == 8 * len(image.code) and symbols[name][3] == "FUNC"


@pytest.mark.parametrize("names", [pytest.param(SOME, id="some", marks=pytest.mark.full),
                                   pytest.param(KERNELS.keys() - SOME, id="others", marks=pytest.mark.full)])
def test_the_same_source_gives_the_same_bytes(names, tmp_path):
    """Shipped kernels, nvcc's control flow and random kernels, in two processes with different hash seeds.

    The first also by the command, whose files are compared.
    """
    texts = [(DATA / "control.ptx").read_text(), *(RandomKernel(seed, statements=8).ptx for seed in range(2))]
    for number, text in enumerate(texts):
        (tmp_path / f"{number}.ptx").write_text(text)
    script = ("import pathlib, sys\n"
              "from caesura.cli import main\n"
              "from caesura.software.compiler import compile_ptx, disassemble\n"
              "for path in map(pathlib.Path, sys.argv[2:]):\n"
              "    for image in compile_ptx(path.read_text(), path.name).values():\n"
              "        sys.stdout.write(disassemble(image))\n"
              "sys.stdout = sys.stderr\n"
              "main(['compile', sys.argv[2], '-o', sys.argv[1]])\n")
    shipped = [KERNELS[name] for name in sorted(names)]
    paths = [*(kernel.ptx_path for kernel in shipped), *(tmp_path / f"{k}.ptx" for k in range(len(texts)))]
    here = [kernel.image() for kernel in shipped]
    here += [image for k, text in enumerate(texts) for image in compile_ptx(text, f"{k}.ptx").values()]
    mine, other = tmp_path / "mine.elf", tmp_path / "other.elf"
    done = subprocess.run([sys.executable, "-c", script, other, *paths], capture_output=True, text=True, timeout=600,
                          env={**os.environ, "PYTHONHASHSEED": HASH_SEED})
    assert done.returncode == 0, done.stderr
    assert done.stdout == "".join(map(disassemble, here)) and len(done.stdout) > 10_000
    assert CliRunner().invoke(main, ["compile", str(paths[0]), "-o", str(mine)]).exit_code == 0
    assert mine.read_bytes() == other.read_bytes()
