"""Reads and writes of AMDGPU instructions according to LLVM: its machine code as text (MIR) after all passes.

Apart from our own table of opcodes. Numbered registers that stand only among the implicit operands are left out: LLVM
notes with them that parts of a tuple belong together.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

__all__ = ["MachineInstruction", "MachineBlock", "tools", "compiled", "machine_code", "live_before", "form"]

LLVM = (Path("/usr/lib/llvm-19/bin"), Path("/usr/lib/llvm/19/bin"))
FLAGS = ["-target", "amdgcn-amd-amdhsa", "-mcpu=gfx906", "-nogpulib", "-x", "cl", "-O3"]
_NUMBERED = re.compile(r"([sv])gpr(\d+)$")
_SPECIAL = {"vcc": ("vcc_lo", "vcc_hi"), "exec": ("exec_lo", "exec_hi"), "flat_scr": ("flat_scratch_lo",
            "flat_scratch_hi"), "xnack_mask": ("xnack_mask_lo", "xnack_mask_hi"),
            "flat_scr_lo": ("flat_scratch_lo",), "flat_scr_hi": ("flat_scratch_hi",)}
_META = re.compile(r"(KILL|IMPLICIT_DEF|BUNDLE|DBG_\w+|CFI_\w+|WAVE_BARRIER|SCHED_\w+|SI_MASKED_UNREACHABLE)\b")
_OPERAND = re.compile(r"((?:(?:implicit-def|implicit|killed|dead|renamable|undef|early-clobber|internal) )*)\$(\w+)")
_CONSTANTS = ("src_shared_base", "src_private_base", "src_shared_limit", "src_private_limit", "sgpr_null", "noreg")


@dataclass(frozen=True)
class MachineInstruction:
    """An instruction: its opcode, what it writes and reads, registers by their names in assembly; of what it reads,
    apart, what holds nothing yet (``undef``)."""

    opcode: str
    defs: frozenset[str]
    uses: frozenset[str]
    undefined: frozenset[str] = frozenset()


@dataclass
class MachineBlock:
    """A block: what LLVM notes as live where it begins, its successors, and its instructions."""

    live: frozenset[str] = frozenset()
    successors: list[int] = field(default_factory=list)
    instructions: list[MachineInstruction] = field(default_factory=list)


def tools() -> tuple[str, str] | None:
    """Return the paths of clang and llc of LLVM 19; None if they are not there."""
    found = [next((str(path) for place in LLVM if (path := place / name).exists()), shutil.which(f"{name}-19"))
             for name in ("clang", "llc")]
    return (found[0], found[1]) if found[0] and found[1] else None


def compiled(source: Path, folder: Path, standard: str = "CL2.0") -> tuple[Path, Path]:
    """Compile an OpenCL file to assembly and to MIR, from one and the same bitcode."""
    paths = tools()
    assert paths is not None
    clang, llc = paths
    bitcode, assembly, mir = (folder / f"{source.stem}{ending}" for ending in (".bc", ".s", ".mir"))
    back = [llc, "-O3", "-mcpu=gfx906", bitcode]
    for command in ([clang, *FLAGS, f"-cl-std={standard}", "-c", "-emit-llvm", source, "-o", bitcode],
                    [*back, "-o", assembly], [*back, "-stop-after=branch-relaxation", "-o", mir]):
        subprocess.run(command, check=True, capture_output=True)
    return assembly, mir


def machine_code(text: str) -> dict[str, list[MachineBlock]]:
    """Return the blocks of each function of a MIR file."""
    found: dict[str, list[MachineBlock]] = {}
    blocks: list[MachineBlock] = []
    body = False
    for line in text.split("\n"):
        if line.startswith("name:"):
            blocks = found.setdefault(line.split()[1], [])
        elif line.startswith("body:"):
            body = True
        elif line.startswith("..."):
            body = False
        elif body and re.match(r"  bb\.\d+", line):
            blocks.append(MachineBlock())
        elif body and line.strip().startswith("liveins:"):
            blocks[-1].live = frozenset(name for item in line.split(":", 1)[1].split(", ") for name in _live(item))
        elif body and line.strip().startswith("successors:"):
            blocks[-1].successors = [int(number) for number in re.findall(r"%bb\.(\d+)", line)]
        elif body and line.startswith("    ") and line.strip() not in ("", "}"):
            if not _META.match(line.strip().partition(" = ")[2] or line.strip()):
                blocks[-1].instructions.append(_instruction(line.strip()))
    return found


def _live(item: str) -> list[str]:
    """Return the registers of an entry of the live ones; two bits of its mask for each."""
    word, _, mask = item.strip().lstrip("$").partition(":")
    names = _names(word)
    return [name for place, name in enumerate(names) if not mask or int(mask, 16) >> 2 * place & 3]


def _names(word: str) -> list[str]:
    if word in _SPECIAL:
        return list(_SPECIAL[word])
    if word in _CONSTANTS:
        return []
    parts = [_NUMBERED.match(part) for part in re.sub(r"_(lo|hi)16$", "", word).split("_")]
    return [f"{part[1]}{part[2]}" for part in parts if part] if all(parts) else [word]


def _instruction(line: str) -> MachineInstruction:
    text = line.split(" :: ")[0]
    left, equals, right = text.partition(" = ")
    if not equals:
        left, right = "", text
    words = [word for word in right.split(" ") if word not in ("nuw", "nsw", "nofpexcept", "contract", "reassoc",
             "nnan", "ninf", "nsz", "arcp", "afn", "exact", "frame-setup", "frame-destroy", "nneg", "disjoint")]
    defs = {name for _, word in _OPERAND.findall(left) for name in _names(word)}
    uses: set[str] = set()
    undefined: set[str] = set()
    for flags, word in _OPERAND.findall(right):
        names = _names(word)
        if "implicit" in flags and any(re.match(r"[sv]\d", name) for name in names):
            continue
        (defs if "implicit-def" in flags else undefined if "undef" in flags else uses).update(names)
    return MachineInstruction(words[0].rstrip(","), frozenset(defs), frozenset(uses), frozenset(undefined - uses))


def live_before(blocks: list[MachineBlock], undefined: bool = False) -> list[set[str]]:
    """Return what is live where each block begins, register by register: a write kills. Reads of what holds nothing
    yet count if `undefined`."""
    live: list[set[str]] = [set() for _ in blocks]
    changed = True
    while changed:
        changed = False
        for number in range(len(blocks) - 1, -1, -1):
            needed = set().union(*(live[after] for after in blocks[number].successors))
            for one in reversed(blocks[number].instructions):
                needed = needed - one.defs | one.uses | (one.undefined if undefined else set())
            changed = changed or needed != live[number]
            live[number] = needed
    return live


def form(text: str) -> str:
    """Return an assembly line without its numbers: its form."""
    return re.sub(r"\d+", "", text.partition(" ")[2]) + text.partition(" ")[0]
