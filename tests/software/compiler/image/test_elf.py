"""ELF kernel images: round trip, and one clear message for every kind of damage."""

import io
import random
import struct

import pytest
from elftools.elf.elffile import ELFFile

from caesura.software.compiler import ImageError, KernelImage, load_elf, save_elf
from caesura.software.compiler.codegen import elf
from caesura.software.kernels import KERNELS


@pytest.fixture(scope="module")
def images():
    return {name: kernel.image() for name, kernel in KERNELS.items()}


@pytest.fixture(scope="module")
def file(images):
    return elf.write_elf(images)


def resealed(file):
    """The file with a checksum that fits again."""
    file = bytearray(file)
    file[64:96] = elf._digest(file)
    return bytes(file)


def test_round_trip(images, tmp_path):
    path = tmp_path / "kernels.elf"
    save_elf(path, images)
    assert load_elf(path) == images
    save_elf(path, images.values())
    assert load_elf(path) == images


def test_it_is_an_elf_file_with_symbols(file, images):
    parsed = ELFFile(io.BytesIO(file))
    assert parsed.elfclass == 64 and parsed.little_endian and parsed["e_machine"] == elf.MACHINE
    symbols = {s.name: s for s in parsed.get_section_by_name(".symtab").iter_symbols() if s.name}
    for name, image in images.items():
        section = parsed.get_section_by_name(f".text.{name}")
        assert section.data() == struct.pack(f"<{len(image.code)}Q", *image.code)
        assert symbols[name]["st_size"] == 8 * len(image.code)
        assert parsed.get_section(symbols[name]["st_shndx"]).name == section.name


def test_any_flipped_byte_is_noticed(file):
    rng = random.Random(1)
    for place in (*range(0, 200), *rng.sample(range(len(file)), 200)):
        damaged = bytearray(file)
        damaged[place] ^= rng.randrange(1, 256)
        with pytest.raises(ImageError) as caught:
            elf.read_elf(bytes(damaged), "x.elf")
        assert str(caught.value).startswith("x.elf: ") and "\n" not in str(caught.value)


def test_any_truncation_is_noticed(file):
    for length in (0, 3, 4, 20, 63, 64, 95, 96, 500, len(file) // 2, len(file) - 1):
        with pytest.raises(ImageError, match="truncated|not an ELF"):
            elf.read_elf(file[:length])


@pytest.mark.parametrize("place, value, what", [
    (0, b"MZ", "not an ELF file"), (4, b"\x01", "not a little-endian 64-bit ELF file"),
    (18, b"\x3e\x00", "ELF file for machine 0x3e, not 0xca5e"), (200, b"????", "bad checksum, the file is damaged"),
])
def test_what_is_wrong_is_said(file, place, value, what):
    damaged = file[:place] + value + file[place + len(value):]
    with pytest.raises(ImageError, match=what):
        elf.read_elf(damaged)


def test_other_format_version(file):
    other = resealed(file[:48] + struct.pack("<I", 9) + file[52:])
    with pytest.raises(ImageError, match=f"kernel image format 9, this version reads {elf.FORMAT_VERSION}"):
        elf.read_elf(other)


def test_illegal_opcode(tmp_path):
    path = tmp_path / "bad.elf"
    save_elf(path, [KernelImage("k", (0x182 << 54, 0x3FF << 54, 0x181 << 54), 1)])
    with pytest.raises(ImageError, match=r"bad.elf: kernel k, pc 1: illegal opcode 0x3ff"):
        load_elf(path)


def test_damaged_record_with_a_fitting_checksum(file):
    place = file.index(b'"registers"')
    with pytest.raises(ImageError, match="bad kernel record"):
        elf.read_elf(resealed(file[:place] + b"!" + file[place + 1:]))


def test_file_without_kernels(tmp_path):
    path = tmp_path / "empty.elf"
    save_elf(path, [])
    with pytest.raises(ImageError, match="no kernel in the file"):
        load_elf(path)
    with pytest.raises(OSError):
        load_elf(tmp_path / "missing.elf")
