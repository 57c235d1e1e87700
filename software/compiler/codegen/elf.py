"""Kernel images in ELF64 files.

==========================  ==================================================================
``.caesura.checksum``       32 bytes at offset 64: SHA-256 of all other bytes of the file
``.text.<kernel>``          instruction words, little-endian
``.caesura.kernel.<name>``  other facts that the loader needs, as JSON
``.caesura.constants.<n>``  a constant bank; the records of the kernels that have it name n
``.caesura.globals.<n>``    initial contents of the module's global variables, likewise
``.symtab``                 a global function symbol for each kernel
==========================  ==================================================================

Files are written directly and read through pyelftools.
"""

from __future__ import annotations

import dataclasses
import hashlib
import io
import json
import os
import struct
from collections.abc import Iterable, Mapping
from pathlib import Path

from caesura.hw.arch.geometry import INSTRUCTION_BYTES
from caesura.hw.arch.isa.opcodes import VECTOR_WORDS
from caesura.hw.arch.isa.words import decode

from ..errors import ImageError
from ..hints import of_file
from ..image.kernel_image import KernelImage, PreemptionPoint
from ..image.origin_table import packed_origins, unpacked_origins
from ..image.validate import check_facts
from ..ir.variables import Binding, Parameter, Relocation, Symbol

__all__ = ["MACHINE", "FORMAT_VERSION", "save_elf", "load_elf", "write_elf", "read_elf", "is_elf"]

MACHINE = 0xCA5E
"""ELF machine number (not assigned by anyone)."""
FORMAT_VERSION = 4
"""Version of the JSON record; `e_flags` of the file."""
_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_DIGEST = slice(_HEADER.size, _HEADER.size + 32)
_PROGBITS, _SYMTAB, _STRTAB = 1, 2, 3
_ALLOC_EXEC = 6
_RECORD = ".caesura.kernel."
_SHARED = {"constants": ".caesura.constants.", "global_data": ".caesura.globals."}
"""Fields that several kernels can share, and the names of their sections."""
_LISTS = {"parameters": Parameter, "symbols": Symbol, "points": PreemptionPoint, "relocations": Relocation,
          "bindings": Binding}


class _Strings:
    """A string table under construction."""

    def __init__(self):
        self.data = bytearray(1)

    def add(self, text: str) -> int:
        offset = len(self.data)
        self.data += text.encode() + b"\0"
        return offset


def write_elf(images: Mapping[str, KernelImage] | Iterable[KernelImage]) -> bytes:
    """Return an ELF file with the given kernels (a mapping's values, or the images themselves)."""
    images = list(images.values() if isinstance(images, Mapping) else images)
    sections = [(".caesura.checksum", _PROGBITS, 0, bytes(32), 0, 0, 0)]
    symbols, strings = bytearray(_SYMBOL.size), _Strings()
    shared: dict[str, list[bytes]] = {field: [] for field in _SHARED}
    for image in images:
        code = struct.pack(f"<{len(image.words)}Q", *image.words)
        sections.append((f".text.{image.name}", _PROGBITS, _ALLOC_EXEC, code, 0, 0, 0))
        symbols += _SYMBOL.pack(strings.add(image.name), 0x12, 0, len(sections), 0, len(code))
        record = dataclasses.asdict(dataclasses.replace(image, origins=(), origin_numbers=()))
        del record["code"], record["traps"], record["origins"], record["origin_numbers"]
        if image.traps:
            record["trap_base"] = image.trap_base
        for parameter in record["parameters"]:
            if not parameter["texture"]:
                del parameter["texture"]
        for later in ("routine_bytes", "spill_bytes"):
            if not record[later]:
                del record[later]
        if image.origins:
            record["origins"] = packed_origins(image)
        for field, known in shared.items():
            data = record.pop(field)
            if data and data not in known:
                known.append(data)
            record[field] = known.index(data) if data else None
        sections.append((f".caesura.kernel.{image.name}", _PROGBITS, 0, json.dumps(record).encode(), 0, 0, 0))
    sections += [(f"{_SHARED[field]}{n}", _PROGBITS, 0, data, 0, 0, 0)
                 for field, known in shared.items() for n, data in enumerate(known)]
    strtab = len(sections) + 2
    sections.append((".symtab", _SYMTAB, 0, bytes(symbols), strtab, 1, _SYMBOL.size))
    sections.append((".strtab", _STRTAB, 0, bytes(strings.data), 0, 0, 0))
    names = _Strings()
    offsets = [names.add(section[0]) for section in sections] + [names.add(".shstrtab")]
    sections.append((".shstrtab", _STRTAB, 0, bytes(names.data), 0, 0, 0))
    body, table = bytearray(), bytearray(_SECTION.size)
    for offset, (_, kind, flags, data, link, info, size) in zip(offsets, sections, strict=True):
        table += _SECTION.pack(offset, kind, flags, 0, _HEADER.size + len(body), len(data), link, info, 8, size)
        body += data + bytes(-len(data) % 8)
    ident = b"\x7fELF" + bytes((2, 1, 1)) + bytes(9)
    header = _HEADER.pack(ident, 2, MACHINE, 1, 0, 0, _HEADER.size + len(body), FORMAT_VERSION, _HEADER.size, 0, 0,
                          _SECTION.size, len(sections) + 1, len(sections))
    file = bytearray(header + body + table)
    file[_DIGEST] = _digest(file)
    return bytes(file)


def _digest(file: bytes | bytearray) -> bytes:
    return hashlib.sha256(bytes(file[:_DIGEST.start]) + bytes(file[_DIGEST.stop:])).digest()


def save_elf(path: str | os.PathLike, images: Mapping[str, KernelImage] | Iterable[KernelImage]) -> None:
    """Write the kernels (a mapping's values, or the images themselves) to a file."""
    Path(path).write_bytes(write_elf(images))


def load_elf(path: str | os.PathLike, check: bool = True) -> dict[str, KernelImage]:
    """Read the kernels of a file.

    Parameters
    ----------
    path : path
    check : bool
        Check the code as well (`check.check_code`): liveness vectors, branches, stack depth.

    Raises
    ------
    ImageError
        If it is no ELF file, is for another machine, is damaged, or holds illegal or (with `check`) wrong code.
    OSError
        If it cannot be read.
    """
    return read_elf(Path(path).read_bytes(), str(path), check)


def read_elf(file: bytes, name: str = "<elf>", check: bool = True) -> dict[str, KernelImage]:
    """Return the kernels of an ELF file's bytes, by name; raises as `load_elf`, with `name` in the message."""
    _check(file, name)
    images = {}
    for kernel, where, record, code, shared in _sections(file, name):
        images[kernel] = _image(shared, record, code, where)
        if images[kernel].name != kernel:
            raise ImageError(f"{where}: bad kernel record: it is of kernel {images[kernel].name!r}")
        check_facts(images[kernel], where)
        if check:
            from ..preemption.check import check_code  # the analyses take long to import

            check_code(images[kernel], where)
    if not images:
        raise ImageError(f"{name}: no kernel in the file")
    return images


_Shared = dict[str, dict[int, bytes]]
"""Contents of the sections that kernels share, by field and number."""


def _sections(file: bytes, name: str) -> list[tuple[str, str, bytes, bytes, _Shared]]:
    """Return name, place, record, code and shared sections of each kernel."""
    from elftools.elf.elffile import ELFFile  # takes long to import: files are written without it

    try:
        elf = ELFFile(io.BytesIO(file))
        data = {section.name: section.data() for section in elf.iter_sections()}
    except Exception as error:  # pyelftools may raise anything on a malformed file
        raise ImageError(f"{name}: damaged ELF file ({type(error).__name__}: {error})") from None
    shared: _Shared = {field: {} for field in _SHARED}
    for field, prefix in _SHARED.items():
        for section, contents in data.items():
            if section.startswith(prefix) and section.removeprefix(prefix).isdecimal():
                shared[field][int(section.removeprefix(prefix)[:9])] = contents
    found = []
    for section, record in data.items():
        if section.startswith(_RECORD):
            kernel = section.removeprefix(_RECORD)
            where = f"{name}: kernel {kernel if kernel.isprintable() else repr(kernel)}"
            if f".text.{kernel}" not in data:
                raise ImageError(f"{where} has no code section")
            found.append((kernel, where, record, data[f".text.{kernel}"], shared))
    return found


def is_elf(file: bytes) -> bool:
    """Return whether a file's bytes begin as those of an ELF file."""
    return file.startswith(b"\x7fELF")


def _check(file: bytes, name: str) -> None:
    if not is_elf(file):
        raise ImageError(f"{name}: not an ELF file")
    if len(file) < _DIGEST.stop:
        raise ImageError(f"{name}: truncated ELF file ({len(file)} bytes)")
    ident, _, machine, _, _, _, table, version, _, _, _, entry, count, _ = _HEADER.unpack_from(file)
    if ident[4:6] != bytes((2, 1)):
        raise ImageError(f"{name}: not a little-endian 64-bit ELF file")
    if what := of_file(file):
        raise ImageError(f"{name}: {what}")
    if machine != MACHINE:
        raise ImageError(f"{name}: ELF file for machine {machine:#x}, not {MACHINE:#x}")
    if table + entry * count > len(file):
        raise ImageError(f"{name}: truncated ELF file ({len(file)} of {table + entry * count} bytes)")
    if bytes(file[_DIGEST]) != _digest(file):
        raise ImageError(f"{name}: bad checksum, the file is damaged")
    if version != FORMAT_VERSION:
        raise ImageError(f"{name}: kernel image format {version}, this version reads {FORMAT_VERSION}")


def _own_words(trap_base: object, words: int) -> int:
    """Return how many of the words are the kernel's own: at least as many as there are trap vectors, or all."""
    if trap_base is None:
        return words
    most = words // (1 + VECTOR_WORDS)
    if type(trap_base) is not int or not 0 < trap_base <= most:
        raise ValueError(f"trap_base {trap_base!r} is no integer from 1 to {most}")
    return trap_base


def _image(shared: _Shared, record: bytes, text: bytes, where: str) -> KernelImage:
    if len(text) % INSTRUCTION_BYTES or not text:
        raise ImageError(f"{where}: code of {len(text)} bytes is not a whole number of instructions")
    code = struct.unpack(f"<{len(text) // INSTRUCTION_BYTES}Q", text)
    for pc, word in enumerate(code):
        try:
            decode(word)
        except ValueError as error:
            raise ImageError(f"{where}, pc {pc}: {error}") from None
    try:
        facts = json.loads(record)
        if not isinstance(facts, dict):
            raise TypeError("no object")
        for field, kind in _LISTS.items():
            facts[field] = tuple(kind(**item) for item in facts[field])
        facts["lines"] = tuple(facts["lines"])
        for field in _SHARED:
            number = facts[field]
            if number is not None and number not in shared[field]:
                raise ValueError(f"no section {_SHARED[field]}{number}")
            facts[field] = b"" if number is None else shared[field][number]
        block = facts["required_block"]
        facts["required_block"] = None if block is None else tuple(block)
        words, code = code, code[:_own_words(facts.pop("trap_base", None), len(code))]
        if "origins" in facts:
            facts["origins"], facts["origin_numbers"] = unpacked_origins(facts["origins"], len(code))
        return KernelImage(code=code, traps=words[len(code):], **facts)
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        what = " ".join(str(error).split())[:200]
        raise ImageError(f"{where}: bad kernel record ({type(error).__name__}: {what})") from None
