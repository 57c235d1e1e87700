"""Every kind of input, mutated: a reader takes it, or refuses it with one line (PTX: compiler/test_fuzz.py)."""

import functools
import hashlib
import io
import resource
import struct
from pathlib import Path

import numpy as np
import pytest
from elftools.elf.elffile import ELFFile

from caesura.errors import InputError
from caesura.hw.arch.geometry import PRESETS
from caesura.software.compiler.codegen.assemble import assemble
from caesura.software.compiler.codegen.disassemble import disassemble
from caesura.software.compiler.codegen.elf import read_elf, write_elf
from caesura.software.job import load_geometry, load_job
from caesura.software.kernels import KERNELS
from support.attacks.mutations import mutate_bytes, mutate_text
from support.attacks.refusals import outcome, survey

QUICK, MANY, SHARDS = 40, 4000, 4
EXAMPLES = Path(__file__).parents[2] / "examples"
NAMES = ("vecadd", "reduction", "pathfinder")
CHECKSUM = slice(64, 96)
HEADROOM = 4 << 30
"""Bytes of address space that an input may ask for."""
JOB = """grid = [2, 1]
block = 64
entry = "k"
shared = 128
preset = "tiny"
backend = "golden"
max_cycles = 100000
[[argument]]
name = "a"
file = "a.npy"
expected = "b.npy"
atol = 1e-3
rtol = 0.5
output = true
[[argument]]
init = "integers"
dtype = "s32"
shape = [2, 3]
low = -5
high = 6
seed = 3
expected = { init = "full", value = 3 }
[[argument]]
name = "n"
value = 3.5
[[argument]]
bytes = "0a0b"
[[preempt]]
at = 100
mechanism = "live+cp"
with = "vecadd"
size = "small"
seed = 2
scramble = true
gang = true
[[preempt.preempt]]
every = 50
times = 2
"""


@functools.cache
def images():
    return [KERNELS[name].image() for name in NAMES]


@functools.cache
def listings():
    return [disassemble(image) for image in images()]


@functools.cache
def files():
    return [write_elf([image]) for image in images()]


def resealed(file):
    """Return an ELF file with the checksum that its bytes ask for."""
    file = bytearray(file)
    if len(file) >= CHECKSUM.stop:
        file[CHECKSUM] = hashlib.sha256(bytes(file[:CHECKSUM.start]) + bytes(file[CHECKSUM.stop:])).digest()
    return bytes(file)


def with_record(file, change):
    """Return an ELF file whose kernel record is changed: it stands at the end, its section points there."""
    elf = ELFFile(io.BytesIO(file))
    number, section = next((k, s) for k, s in enumerate(elf.iter_sections()) if s.name.startswith(".caesura.kernel."))
    record = change(section.data().decode()).encode("utf-8", "replace")
    changed = bytearray(file) + record
    struct.pack_into("<QQ", changed, elf["e_shoff"] + number * elf["e_shentsize"] + 24, len(file), len(record))
    return resealed(changed)


def read_assembly(seed, _):
    assemble(mutate_text(listings(), seed), "fuzz.s")


def read_image(seed, _):
    read_elf(resealed(mutate_bytes(files(), seed)), "fuzz.elf")


def read_record(seed, _):
    file = files()[seed % len(NAMES)]
    read_elf(with_record(file, lambda record: mutate_text([record], seed)), "fuzz.elf")


def write_array(path, values):
    with path.open("wb") as file:
        np.save(file, values)


def read_job(seed, folder):
    for name in ("a.npy", "b.npy"):
        write_array(folder / name, np.arange(6, dtype=np.int32))
    shipped = [path.read_text() for path in EXAMPLES.glob("*.toml") if "grid" in path.read_text()]
    path = folder / "job.toml"
    path.write_text(mutate_text([JOB, JOB, *shipped], seed), encoding="utf-8", errors="surrogateescape")
    load_job(path)


def read_array(seed, folder):
    for name, values in (("a.npy", np.arange(6, dtype=np.int32)), ("b.npy", np.ones((2, 3), np.float64))):
        write_array(folder / name, values)
    whole = [(folder / name).read_bytes() for name in ("a.npy", "b.npy")]
    (folder / "a.npy").write_bytes(mutate_bytes(whole, seed))
    (folder / "job.toml").write_text("grid = 1\nblock = 32\n[[argument]]\nfile = 'a.npy'\n")
    load_job(folder / "job.toml")


def read_geometry(seed, folder):
    preset = PRESETS[("gtx480", "tiny", "ecp5")[seed % 3]]
    keys = {name: value for name, value in vars(preset).items() if name != "name" and value is not None}
    text = f"base = '{preset.name}'\nname = 'mine'\n" + "".join(f"{key} = {value}\n" for key, value in keys.items())
    path = folder / "mine.toml"
    path.write_text(mutate_text([text, (EXAMPLES / "small_sm.toml").read_text()], seed), encoding="utf-8",
                    errors="surrogateescape")
    load_geometry(path)


READERS = (read_assembly, read_image, read_record, read_job, read_array, read_geometry)


@pytest.fixture(autouse=True)
def bounded_memory():
    """Memory beyond what the process has is bounded, so an input that asks for more is caught."""
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + HEADROOM, hard))
    yield
    resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


@pytest.mark.parametrize("read", READERS)
def test_mutants_are_taken_or_refused_with_one_line(read, tmp_path):
    counts = survey(lambda seed: read(seed, tmp_path), range(QUICK))
    assert counts["refused"] >= QUICK // 10 and counts.total() == QUICK


@pytest.mark.parametrize("read", (read_assembly, read_record, read_job, read_array, read_geometry))
def test_some_mutants_are_taken_so_the_originals_are_good(read, tmp_path):
    assert survey(lambda seed: read(seed, tmp_path), range(QUICK, 3 * QUICK))["taken"]


def test_an_image_whose_checksum_is_renewed_is_the_image():
    assert list(read_elf(resealed(files()[0])).values()) == [images()[0]]
    assert list(read_elf(with_record(files()[0], lambda record: record)).values()) == [images()[0]]


@pytest.mark.parametrize("error", [ValueError("x"), RecursionError("y"), InputError("two\nlines"),
                                   InputError("z" * 2000), InputError("")])
def test_anything_but_one_line_for_the_user_is_found(error):
    def read():
        raise error

    assert outcome(read) not in ("taken", "refused")


@pytest.mark.full
@pytest.mark.timeout(3600)
@pytest.mark.depends_on("software/compiler", "software/job", "software/names.py", "software/kernels", "hw/arch",
                        "tests/support/attacks/mutations.py", "tests/support/attacks/refusals.py")
@pytest.mark.parametrize("shard", range(SHARDS))
@pytest.mark.parametrize("read", READERS)
def test_many_mutants(read, shard, tmp_path):
    survey(lambda seed: read(seed, tmp_path), range(shard * MANY // SHARDS, (shard + 1) * MANY // SHARDS))
