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

from caesura.hw.arch.geometry import PRESETS
from caesura.sim.testing.random_native import random_program
from caesura.sim.testing.random_ptx import RandomKernel
from caesura.software.cli import main
from caesura.software.compiler import assemble, compile_ptx, disassemble, save_elf
from caesura.software.compiler.codegen import elf
from caesura.software.kernels import KERNELS

DATA = Path(__file__).with_name("data")
HASH_SEEDS = "0", "12345"


@pytest.fixture(scope="module")
def images():
    found = {}
    for kernel in KERNELS.values():
        found |= compile_ptx(kernel.ptx_path.read_text(), kernel.ptx_path.name)
    return found


@pytest.mark.parametrize("preset", ["tiny", "gtx480"])
def test_random_machine_code(preset):
    g = PRESETS[preset]
    for seed in range(40):
        image = random_program(g, seed, registers=min(16, g.regs_per_thread), warps=2).image
        assert assemble(disassemble(image)) == [image]


def test_random_kernels():
    for seed in range(12):
        k = RandomKernel(seed, grid=(2,), block=(40,))
        image = compile_ptx(k.ptx, "random.ptx")[k.name]
        assert assemble(disassemble(image)) == [image]
        assert elf.read_elf(elf.write_elf([image])) == {k.name: image}


def test_all_shipped_kernels_in_one_text(images):
    assert assemble("".join(map(disassemble, images.values()))) == list(images.values())


def test_text_of_the_command_line_gives_the_image_back(images, tmp_path):
    first, text, second = tmp_path / "a.elf", tmp_path / "a.s", tmp_path / "b.elf"
    save_elf(first, images)
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


def _compiled(source, output, seed):
    done = subprocess.run([sys.executable, "-m", "caesura.software.cli", "compile", str(source), "-o", str(output)],
                          capture_output=True, text=True, timeout=300, env={**os.environ, "PYTHONHASHSEED": seed})
    assert done.returncode == 0, done.stderr
    return output.read_bytes()


def test_the_same_source_gives_the_same_bytes(tmp_path):
    """One file with every shipped kernel and random ones, under different hash seeds in processes of their own."""
    bodies = [kernel.ptx_path.read_text() for kernel in KERNELS.values()] + [(DATA / "control.ptx").read_text()]
    for number, text in enumerate(bodies):
        (tmp_path / f"{number}.ptx").write_text(text)
    script = ("import pathlib, sys\n"
              "from caesura.software.compiler import compile_ptx, disassemble\n"
              "from caesura.sim.testing.random_ptx import RandomKernel\n"
              "texts = [pathlib.Path(sys.argv[1], f'{k}.ptx').read_text() for k in range(int(sys.argv[2]))]\n"
              "texts += [RandomKernel(seed, grid=(2,), block=(40,)).ptx for seed in range(3)]\n"
              "for text in texts:\n"
              "    for image in compile_ptx(text, 'x.ptx').values():\n"
              "        sys.stdout.write(disassemble(image))\n")
    found = set()
    for seed in HASH_SEEDS:
        done = subprocess.run([sys.executable, "-c", script, str(tmp_path), str(len(bodies))], capture_output=True,
                              text=True, timeout=600, env={**os.environ, "PYTHONHASHSEED": seed})
        assert done.returncode == 0, done.stderr
        found.add(done.stdout)
    assert len(found) == 1 and len(found.pop()) > 10_000


def test_the_command_writes_the_same_file(tmp_path):
    source = KERNELS["hotspot"].ptx_path
    assert len({_compiled(source, tmp_path / f"{seed}.elf", seed) for seed in HASH_SEEDS}) == 1
