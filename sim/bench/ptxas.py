"""NVIDIA's assembler for comparison: registers, instructions and time of ptxas for the same PTX.

The programs come with the packages ``nvidia-cuda-nvcc`` and ``nvidia-cuda-nvdisasm`` (extra ``ptxas``). Nothing of
Caesura needs them.
"""

from __future__ import annotations

import importlib.util
import re
import resource
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from caesura.errors import ToolError

__all__ = ["ARCHITECTURE", "MissingAssembler", "Assembler", "Assembly", "assembler_of", "without_unrolling",
           "children_seconds"]

ARCHITECTURE = "sm_75"
"""Target of ptxas; it has uniform registers as well."""
_LABEL = re.compile(r"^(\s*[$\w]+:)\s*$", re.MULTILINE)
_SECTION = re.compile(r"^\.text\.(\S+):$")
_INSTRUCTION = re.compile(r"^\s*/\*[0-9a-f]{4,}\*/\s+(.*?)\s*;")
_TARGET = re.compile(r"BRA `\((\S+)\)")


class MissingAssembler(ToolError, ValueError):
    """ptxas or nvdisasm is missing, or fails; the message says how to get them."""


@dataclass(frozen=True)
class Assembly:
    """The result of ptxas for one kernel.

    Attributes
    ----------
    registers : int
        Registers per thread.
    instructions : int
        Instructions of the kernel and of the subroutines in its section, without the padding behind the last one.
    seconds : float
        Processor time of ptxas for the whole module.
    """

    registers: int
    instructions: int
    seconds: float


def without_unrolling(text: str) -> str:
    """Return a PTX module in which every loop carries the pragma that forbids its unrolling."""
    return _LABEL.sub(r'\1\n\t.pragma "nounroll";', text)


class Assembler:
    """ptxas and nvdisasm.

    Parameters
    ----------
    ptxas : Path, optional
        The program, or the folder of both programs; by default those of the installed packages.
    lists : bool
        Require nvdisasm too, for `assemble`; `seconds` needs ptxas alone.

    Raises
    ------
    MissingAssembler
        If a program is missing.
    """

    def __init__(self, ptxas: Path | None = None, lists: bool = True):
        folder = _installed() if ptxas is None else ptxas if ptxas.is_dir() else ptxas.parent
        programs = [folder / name for name in ("ptxas", "nvdisasm")] if folder is not None else []
        missing = [program.name for program in programs[:1 + lists] if not program.is_file()]
        if not programs or missing:
            where = f"no {' and no '.join(missing)} in {folder}" if missing else "ptxas and nvdisasm are not installed"
            raise MissingAssembler(f"{where}; `pip install 'caesura[ptxas]'` or `pip install nvidia-cuda-nvcc "
                                   "nvidia-cuda-nvdisasm` brings them")
        self._ptxas, self._nvdisasm = programs

    def assemble(self, text: str) -> dict[str, Assembly]:
        """Compile a PTX module for `ARCHITECTURE`; return the result of each kernel.

        Raises
        ------
        MissingAssembler
            If a program fails, with its message.
        """
        with tempfile.TemporaryDirectory() as folder:
            binary = Path(folder) / "module.cubin"
            report, seconds = self._compiled(text, binary)
            counts = count_instructions(_run(self._nvdisasm, "-c", binary))
        found = re.findall(r"Compiling entry function '(\S+)'.*?Used (\d+) registers", report, re.DOTALL)
        return {name: Assembly(int(registers), counts[name], seconds) for name, registers in found}

    def seconds(self, text: str) -> float:
        """Return the processor time of ptxas for a PTX module, with its start; errors as in `assemble`."""
        with tempfile.TemporaryDirectory() as folder:
            return self._compiled(text, Path(folder) / "module.cubin")[1]

    def _compiled(self, text: str, binary: Path) -> tuple[str, float]:
        """Compile a module to a file; return the output of ptxas, and its processor time."""
        source = binary.with_suffix(".ptx")
        source.write_text(text)
        before = children_seconds()
        report = _run(self._ptxas, "-v", f"-arch={ARCHITECTURE}", source, "-o", binary)
        return report, children_seconds() - before


def assembler_of(path: Path | None, lists: bool = True) -> tuple[Assembler | None, str]:
    """Return the assembler at `path` or of the installed packages, or None, and the reason if there is none.

    `lists` is a parameter of `Assembler`.

    Raises
    ------
    MissingAssembler
        If there is none at `path`.
    """
    try:
        return Assembler(path, lists), ""
    except MissingAssembler as error:
        if path is not None:
            raise
        return None, str(error)


def count_instructions(listing: str) -> dict[str, int]:
    """Return the instructions of each function in a listing of nvdisasm, without the padding at its end."""
    functions: dict[str, list[tuple[str, str]]] = {}
    name = label = ""
    for line in listing.splitlines():
        if section := _SECTION.match(line):
            name = section[1]
            functions[name] = []
        elif line.startswith(".") and line.endswith(":"):
            label = line[:-1]
        elif (instruction := _INSTRUCTION.match(line)) and name:
            functions[name].append((label, instruction[1]))
            label = ""
    return {name: len(_without_padding(ops)) for name, ops in functions.items()}


def _without_padding(ops: list[tuple[str, str]]) -> list[tuple[str, str]]:
    end = len(ops)
    while end and ops[end - 1][1] == "NOP":
        end -= 1
    if end and (target := _TARGET.fullmatch(ops[end - 1][1])) and target[1] == ops[end - 1][0]:
        end -= 1
    return ops[:end]


def _installed() -> Path | None:
    """Return the folder of the programs in the installed packages, None if there is none."""
    spec = importlib.util.find_spec("nvidia")
    places = spec.submodule_search_locations if spec is not None else None
    found = sorted(program for place in places or () for program in Path(place).glob("*/bin/ptxas"))
    return found[0].parent if found else None


def children_seconds() -> float:
    """Return the processor time of all processes started so far that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def _run(program: Path, *arguments: str | Path) -> str:
    try:
        done = subprocess.run([program, *arguments], capture_output=True, text=True, timeout=600, check=True)
    except (OSError, subprocess.SubprocessError) as error:
        message = str(getattr(error, "stderr", "") or error).strip()
        raise MissingAssembler(f"{program.name} failed: {message}") from error
    return done.stdout + done.stderr
