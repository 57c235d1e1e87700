"""Reads what ``nvdisasm -c -lrm narrow`` prints: SASS instructions beside the life ranges of their registers.

Behind each instruction stands one column per register: ``^`` written, ``v`` read, ``x`` both, ``:`` live across the
instruction, blank for dead. Only the check of our liveness against nvdisasm's (`test_liveness_sass`) uses this.
"""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from caesura.software.compiler.ir.kernel import Block, Kernel, Op, Pred, Reg, Terminator

__all__ = ["Row", "Listing", "read", "kernel_of", "STACK_POINTER", "KEPT_BY_CALLS", "tool", "disassemble"]

STACK_POINTER = Reg("R", 1)
"""Live to the end of every thread."""
KEPT_BY_CALLS = frozenset(Reg("R", k) for k in range(1, 255) if k < 3 or 16 <= k < 32 or k >= 32 and k % 8 >= 4)
"""Vector registers that a function returns as it found them."""

_FILES = {"GPR": "R", "PRED": "P", "UGPR": "U", "UPRED": "UP"}
_INSTRUCTION = re.compile(r"\s*/\*(?P<address>[0-9a-f]+)\*/\s+(?:@(?P<guard>!?U?P[0-9T]+)\s+)?(?P<text>\S.*?)\s*;")
_LABEL = re.compile(r"(?P<name>[.$\w]+):")
_TARGET = re.compile(r"`\((?P<name>[.$\w]+)\)")
_NOT_FOLLOWED = "BRX", "BRXU", "JMP", "JMX", "JMXU"


@dataclass(frozen=True)
class Row:
    """One instruction.

    Attributes
    ----------
    address : int
    guard : str
        ``P0``, ``!P0``, ... or empty.
    text : str
        Mnemonic and operands.
    marks : dict of Reg to str
        Marks of the registers that are not dead.
    """

    address: int
    guard: str
    text: str
    marks: dict[Reg, str]

    def marked(self, letters: str) -> frozenset[Reg]:
        """Return the registers with one of these marks."""
        return frozenset(reg for reg, mark in self.marks.items() if mark in letters)

    @property
    def mnemonic(self) -> str:
        """The operation without its modifiers."""
        return re.split(r"[.\s]", self.text)[0]

    @property
    def target(self) -> str | None:
        """The label among the operands."""
        found = _TARGET.search(self.text)
        return found["name"] if found else None

    @property
    def is_conditional(self) -> bool:
        """Whether a branch or an end may be passed: by a guard, a predicate operand, or if lanes (do not) diverge."""
        return bool(self.guard or re.match(r"BRA\.(DIV|CONV)|\w+\S* !?U?P\d", self.text))


@dataclass(frozen=True)
class Listing:
    """One section of code: a kernel and the functions it calls.

    Attributes
    ----------
    name : str
    rows : list of Row
    labels : dict of str to int
        Index of the row that a label stands before.
    """

    name: str
    rows: list[Row]
    labels: dict[str, int]


def read(text: str) -> list[Listing]:
    """Return the sections of code of a disassembly.

    Raises
    ------
    ValueError
        If the table is not understood.
    """
    listings: list[Listing] = []
    columns: dict[int, Reg] = {}
    heading = ""
    for line in text.splitlines():
        code, _, table = line.partition("//")
        section = re.match(r"-+ \.text\.(\S+)", table)
        if section:
            listings.append(Listing(section[1], [], {}))
            columns = {}
        elif "GPR" in table:
            heading = line
        elif " # " in table and not columns:
            columns = _columns(heading, line)
        elif listings and (match := _INSTRUCTION.match(code)):
            marks = {reg: line[place] for place, reg in columns.items() if line[place] != " "}
            if not columns or set(marks.values()) - set("^vx:"):
                raise ValueError(f"no table, or an unknown mark, in {line!r}")
            listings[-1].rows.append(Row(int(match["address"], 16), match["guard"] or "", match["text"], marks))
        elif listings and (match := _LABEL.match(code.strip())):
            listings[-1].labels[match["name"]] = len(listings[-1].rows)
    return listings


def _columns(heading: str, line: str) -> dict[int, Reg]:
    """Return the register of each column, from the line that names the register files and the one of last digits."""
    found = {}
    bars = [k for k, character in enumerate(line) if character == "|"]
    for low, high in zip(bars, bars[1:], strict=False):
        kind = _FILES[heading[low + 1:high].strip()]
        digits = [k for k in range(low, high) if line[k].isdigit()]
        if [int(line[k]) for k in digits] != [n % 10 for n in range(len(digits))]:
            raise ValueError(f"registers left out in {line!r}")
        found |= {place: Reg(kind, number) for number, place in enumerate(digits)}
    return found


def kernel_of(listing: Listing) -> tuple[Kernel, list[tuple[Block, list[Row]]]]:
    """Return a listing as IR, whose operations read and write what nvdisasm marks, and each block with its rows.

    A thread ends at ``EXIT`` and in the endless branch to itself behind the code; the stack pointer is read there.
    ``RET`` ends a function and reads what calls keep; ``CALL`` is passed. A guarded ``EXIT`` ends no block.

    Raises
    ------
    ValueError
        If control flow is not understood: an indirect branch, or a ``BSYNC`` that is not in front of the label that
        its ``BSSY`` names.
    """
    rows = listing.rows
    _check_flow(listing)
    ends = {k + 1 for k, row in enumerate(rows) if row.mnemonic == "BRA" or _ends(row)}
    starts = sorted(({0} | set(listing.labels.values()) | ends) - {len(rows)})
    names = {start: f"B{start}" for start in starts}
    kernel = Kernel(listing.name)
    parts = [rows[start:end] for start, end in zip(starts, [*starts[1:], len(rows)], strict=True)]
    for start, part in zip(starts, parts, strict=True):
        last, targets = part[-1], []
        if last.mnemonic == "BRA":
            targets.append(names[listing.labels[last.target or ""]])
        if not _ends(last) and (last.mnemonic != "BRA" or last.is_conditional):
            targets.append(names[start + len(part)])
        targets = list(dict.fromkeys(targets))
        ops = [_op(row, targets == [names[start]]) for row in part]
        end = Terminator(tuple(targets), Pred(None) if len(targets) == 2 else None)
        kernel.blocks.append(Block(names[start], ops, end))
    return kernel, list(zip(kernel.blocks, parts, strict=True))


def _ends(row: Row) -> bool:
    return row.mnemonic in ("EXIT", "RET") and not row.is_conditional


def _op(row: Row, endless: bool) -> Op:
    uses = row.marked("vx")
    if row.mnemonic == "EXIT" or (endless and row.mnemonic == "BRA"):
        uses |= {STACK_POINTER}
    elif row.mnemonic == "RET":
        uses |= KEPT_BY_CALLS
    guard = Pred(None, row.guard.startswith("!")) if row.guard else None
    return Op(row.text, tuple(sorted(row.marked("^x"))), tuple(sorted(uses)), guard)


def _check_flow(listing: Listing) -> None:
    meeting = {(re.findall(r"\bB\d+\b", row.text)[0], listing.labels[row.target])
               for row in listing.rows if row.mnemonic == "BSSY" and row.target}
    for k, row in enumerate(listing.rows):
        astray = row.mnemonic == "BSYNC" and (row.text.split()[1], k + 1) not in meeting
        if astray or row.mnemonic in _NOT_FOLLOWED:
            raise ValueError(f"{listing.name}, {row.address:#x}: control flow of {row.text!r} is not followed")


# The tools


def tool(name: str) -> str | None:
    """Return the path of a CUDA tool, from an installed package of NVIDIA's or from the search path; None if absent."""
    spec = importlib.util.find_spec("nvidia")
    for folder in spec.submodule_search_locations or [] if spec else []:
        for found in sorted(Path(folder).glob(f"*/bin/{name}")):
            return str(found)
    return shutil.which(name)


def disassemble(ptx: Path, level: int, folder: Path) -> str:
    """Compile PTX for sm_75 at an optimisation level and return nvdisasm's listing; `folder` is for the binary.

    Raises
    ------
    FileNotFoundError
        Without ``ptxas`` and ``nvdisasm``.
    subprocess.CalledProcessError
        If one of them refuses its input.
    """
    ptxas, nvdisasm = tool("ptxas"), tool("nvdisasm")
    if ptxas is None or nvdisasm is None:
        raise FileNotFoundError("ptxas and nvdisasm (packages nvidia-cuda-nvcc and nvidia-cuda-nvdisasm)")
    binary = folder / f"{ptx.stem}.{level}.cubin"
    subprocess.run([ptxas, "-arch=sm_75", f"-O{level}", ptx, "-o", binary], check=True)
    return subprocess.run([nvdisasm, "-c", "-lrm", "narrow", binary], check=True, capture_output=True, text=True).stdout
