"""A file of AMDGPU assembly: its kernels, each with code, descriptor and metadata."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from caesura.errors import InputError
from caesura.software.names import alternatives

from .metadata import Metadata, metadata
from .text import AssemblyError, Directive, Label, Statement, statements

__all__ = ["WAVE", "Code", "Kernel", "Module", "is_assembly", "parse", "read"]

WAVE = 64
"""Lanes of a wave of gfx906."""
_TARGET = "gfx906"


@dataclass
class Code:
    """The instructions of a kernel or function.

    Attributes
    ----------
    name : str
    line : int
    statements : list of Statement
    labels : dict of str to int
        Index of the instruction behind each label; the number of instructions for one at the end.
    """

    name: str
    line: int
    statements: list[Statement] = field(default_factory=list)
    labels: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Kernel:
    """A kernel with its code, descriptor and metadata.

    Attributes
    ----------
    file : str
    code : Code
    descriptor : dict of str to str
        The ``.amdhsa_`` directives, by their names without this prefix.
    metadata : dict
    """

    file: str
    code: Code
    descriptor: dict[str, str]
    metadata: Metadata

    @property
    def name(self) -> str:
        """The name by which it is launched."""
        return self.code.name

    def number(self, key: str) -> int:
        """Return a number of the metadata.

        Raises
        ------
        AssemblyError
            If the metadata has no number of that name.
        """
        value = self.metadata.get(key)
        if not isinstance(value, str) or not value.isdigit():
            raise AssemblyError(self.file, self.code.line, f"kernel {self.name} has no number {key} in its metadata; "
                                                           "compile with clang-19")
        return int(value)

    def described(self, key: str) -> int:
        """Return a number of the descriptor; 0 if it has none of that name."""
        value = self.descriptor.get(key, "0")
        try:
            return int(value, 0)
        except ValueError:
            raise AssemblyError(self.file, self.code.line, f".amdhsa_{key} of kernel {self.name} is no number: "
                                                           f"{value}; give what `clang-19 -S` prints") from None


@dataclass(frozen=True)
class Module:
    """The contents of a file.

    Attributes
    ----------
    file : str
    kernels : dict of str to Kernel
    functions : dict of str to Code
        Functions that are not kernels.
    """

    file: str
    kernels: dict[str, Kernel]
    functions: dict[str, Code]

    def kernel(self, name: str | None = None) -> Kernel:
        """Return a kernel by its name; without a name the only one.

        Raises
        ------
        InputError
            If no kernel has that name, or the name is missing and the file does not have exactly one.
        """
        if name is None:
            if len(self.kernels) != 1:
                raise InputError(f"{self.file} has {len(self.kernels)} kernels: say which one of "
                                 f"{', '.join(self.kernels) or 'none'}")
            return next(iter(self.kernels.values()))
        if name not in self.kernels:
            raise InputError(f"{self.file} has no kernel {name!r}; {alternatives(name, self.kernels)}")
        return self.kernels[name]


def is_assembly(raw: bytes) -> bool:
    """Return whether a file is AMDGPU assembly as compilers print it."""
    return b".amdgcn_target" in raw or b".amdhsa_kernel" in raw


def read(path: Path | str) -> Module:
    """Read a file.

    Raises
    ------
    InputError
        If the file is missing, is not text, or is not assembly of the known form.
    """
    try:
        text = Path(path).read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path} cannot be read as assembly: {error}; give it what `clang-19 -S` prints") from None
    return parse(text, str(path))


def parse(text: str, file: str) -> Module:
    """Read the text of a file.

    Raises
    ------
    AssemblyError
        If the text is not understood.
    """
    reader = _Reader(file)
    for line in statements(text, file):
        reader.take(line)
    facts = metadata(text, file)
    kernels = {}
    for name, descriptor in reader.descriptors.items():
        code = reader.codes.get(name)
        if code is None or name not in facts:
            lacking = "code" if code is None else "metadata"
            raise AssemblyError(file, 1, f"kernel {name} has no {lacking}; give the whole file that clang prints")
        kernels[name] = Kernel(file, code, descriptor, facts[name])
        if facts[name].get(".wavefront_size") != str(WAVE):
            raise AssemblyError(file, code.line, f"kernel {name} has waves of {facts[name].get('.wavefront_size')} "
                                                 f"lanes, not {WAVE}; compile with -mcpu={_TARGET}")
    return Module(file, kernels, {name: code for name, code in reader.codes.items() if name not in kernels})


class _Reader:
    """Sorts the lines of a file: `codes` by function, `descriptors` by kernel."""

    def __init__(self, file: str):
        self.codes: dict[str, Code] = {}
        self.descriptors: dict[str, dict[str, str]] = {}
        self._file = file
        self._functions: set[str] = set()
        self._code: Code | None = None
        self._descriptor: dict[str, str] | None = None

    def take(self, line: Directive | Label | Statement) -> None:
        """Take the next line."""
        if isinstance(line, Directive):
            self._directive(line)
        elif isinstance(line, Label):
            self._label(line)
        elif self._code is None:
            raise AssemblyError(self._file, line.line, f"instruction outside of a function: {line.text}; give the "
                                                       "whole file that clang prints")
        else:
            self._code.statements.append(line)

    def _label(self, label: Label) -> None:
        if label.name in self._functions:
            self._code = self.codes[label.name] = Code(label.name, label.line)
        elif self._code is not None:
            self._code.labels[label.name] = len(self._code.statements)

    def _directive(self, line: Directive) -> None:
        words = line.arguments.replace(",", " ").split()
        if line.name == ".type" and "@function" in words:
            self._functions.add(words[0])
        elif line.name in (".section", ".rodata", ".data", ".bss", ".size"):
            self._code = None
        elif line.name == ".amdgcn_target" and _TARGET not in line.arguments:
            raise AssemblyError(self._file, line.line, f"code for {line.arguments}; compile with -mcpu={_TARGET}")
        elif line.name == ".amdhsa_kernel":
            self._descriptor = self.descriptors.setdefault(line.arguments, {})
        elif line.name == ".end_amdhsa_kernel":
            self._descriptor = None
        elif line.name.startswith(".amdhsa_") and self._descriptor is not None:
            self._descriptor[line.name.removeprefix(".amdhsa_")] = line.arguments
