"""Finds the first error in the words of an image, in one pass over them, before the image is loaded.

Each word by itself

1. is an instruction, its register groups are aligned, its uniform registers exist,
2. names vector registers and predicates that the image has,
3. reads parameters that the image has, at whole words.

By its place in the kernel's own code,

4. branches, reconvergence points and calls lead to own words, but to no second half of a preemption point,
5. ``pp`` and ``pp.div`` stand in pairs,
6. the last word is ``exit``, ``bra``, ``bru`` or ``trap``, under no guard, so that nothing runs over the end,
7. no instruction is only for preemption routines.

In the routines, branches lead to words of the image. The last word, but for ``nop`` that fills a vector up, is ``bra``,
``rejoin`` or ``trap`` under no guard.

Faults that depend on values or on the launch are not judged: addresses, computed returns, the depth of the stack, the
warps that meet at a barrier. The machine ends a thread block for these. Absolute addresses are not judged either, since
code that never executes may have any. Other facts that a preemption relies on (live registers, reconvergence) are for
`preemption.check`, at greater cost.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from caesura.hw.arch.geometry import PC_NONE, UNIFORMS, WORD_BYTES
from caesura.hw.arch.isa.formats import FIELDS, Format
from caesura.hw.arch.isa.liveness import LIVE_BITS
from caesura.hw.arch.isa.opcodes import OPCODES, PT, Opcode, Space
from caesura.hw.arch.isa.words import Instruction, decode, encode

from .kernel_image import KernelImage

__all__ = ["Problem", "find_problem"]

_CODES = 1 << 64 - LIVE_BITS


class Problem(NamedTuple):
    """An error in a word.

    Attributes
    ----------
    pc : int
        Index of the word in the image.
    what : str
        Description of the error.
    remedy : str
        Advice what to do.
    """

    pc: int
    what: str
    remedy: str


def find_problem(image: KernelImage) -> Problem | None:
    """Return the first problem of the words of an image whose facts are right (`validate.check_facts`)."""
    words = _Words(np.array(image.words, np.uint64), image)
    for judge in (_alone, _in_place):
        found = judge(words)
        if found.any():
            return _explain(words, int(found.argmax()))
    return None


def _by_opcode(value: Callable[[Opcode], int | bool], dtype: type) -> np.ndarray:
    """Return a table of opcode numbers; 0 for numbers that are no instruction."""
    table = np.zeros(_CODES, dtype)
    for op in OPCODES:
        table[op.code] = value(op)
    return table


def _flag(value: Callable[[Opcode], bool]) -> np.ndarray:
    return _by_opcode(value, bool)


def _names(name: str) -> np.ndarray:
    return _flag(lambda op: name in op.operands)


def _shift(name: str) -> np.ndarray:
    return _by_opcode(lambda op: FIELDS[op.format].get(name, (0, 0))[0], np.uint64)


_KNOWN = _flag(lambda op: True)
_REGISTERS = {"d": _flag(lambda op: "d" in op.operands or "data" in op.operands),
              **{name: _names(name) for name in "abc"}}
"""Whether a field names a vector register."""
_UNIFORMS = {name: _names("u" + name) for name in "dabc"}
_GROUPS = {"d": _by_opcode(lambda op: max(op.data_registers, 1), np.uint64),
           **{name: _by_opcode(lambda op, name=name: 1 + (name in op.pairs), np.uint64) for name in "abc"}}
"""Registers from the one that a field names on."""
_PREDICATES = {name: _names(name) for name in ("pa", "pb", "pd")} | {"guard": _flag(lambda op: op.is_guarded)}
_SHIFTS = {name: _shift(name) for name in (*"dabc", *_PREDICATES, "guard_not", "b_uniform", "no_base", "base_uniform",
                                           "target", "reconv")}
_TO_UNIFORM = _UNIFORMS["d"]
_MEMORY, _TARGET, _RECONV, _PARAMETER = (_names(name) for name in ("mem", "target", "reconv", "param"))
_REGISTER_FORM = _flag(lambda op: op.format is Format.R)
_POINT, _SECOND = (_flag(lambda op, name=name: op.name == name) for name in ("pp", "pp.div"))
_ROUTINES_ONLY = _flag(lambda op: op.name == "rejoin" or op.all_lanes)
_NOP = _flag(lambda op: op.name == "nop")
_ENDS = _flag(lambda op: op.name in ("exit", "bra", "bru", "trap"))
_ROUTINE_ENDS = _flag(lambda op: op.name in ("bra", "rejoin", "trap"))
assert all(op.space is Space.PARAMETER for op in OPCODES if "param" in op.operands)


class _Words:
    """The words of an image, and their fields."""

    def __init__(self, words: np.ndarray, image: KernelImage):
        self.image = image
        self.words = words
        self.own = len(image.code)
        self.opcode = (words >> np.uint64(LIVE_BITS)).astype(np.intp)

    def are(self, table: np.ndarray) -> np.ndarray:
        """Look all words up in a table of opcodes."""
        return table[self.opcode]

    def field(self, name: str, bits: int) -> np.ndarray:
        """Return a field of all words; words without the field give any value."""
        return self.words >> _SHIFTS[name][self.opcode] & np.uint64((1 << bits) - 1)


def _alone(w: _Words) -> np.ndarray:
    """Return which words break cases 1 to 3."""
    absolute, flagged = w.field("no_base", 1) == 1, w.field("base_uniform", 1) == 1
    memory = w.are(_MEMORY) & ~absolute
    uniform_base = memory & (flagged | w.are(_TO_UNIFORM))
    uniform_b = w.are(_REGISTERS["b"]) & w.are(_REGISTER_FORM) & (w.field("b_uniform", 1) == 1)
    wrong = ~w.are(_KNOWN)
    for name in "dabc":
        number, group = w.field(name, 6), w.are(_GROUPS[name])
        vector, uniform = w.are(_REGISTERS[name]), w.are(_UNIFORMS[name])
        if name == "a":
            vector, uniform = vector | memory & ~uniform_base, uniform | uniform_base
        if name == "b":
            vector, uniform = vector & ~uniform_b, uniform | uniform_b
            wrong |= uniform_b & (group == 2)
        top = number | group - np.uint64(1)
        wrong |= vector & ((number & group - np.uint64(1) != 0) | (top >= w.image.registers))
        wrong |= uniform & (number >= UNIFORMS)
    for name, table in _PREDICATES.items():
        number = w.field(name, 3)
        wrong |= w.are(table) & (number != PT) & (number >= w.image.predicates)
    offset = w.words & np.uint64(0xFFFF_FFFF)
    return wrong | w.are(_PARAMETER) & ((offset % WORD_BYTES != 0) | (offset >= w.image.parameter_bytes))


def _in_place(w: _Words) -> np.ndarray:
    """Return which words break cases 4 to 7, or the rules of routines; all words satisfy cases 1 to 3."""
    place = np.arange(len(w.words))
    own = place < w.own
    second, point = w.are(_SECOND), w.are(_POINT)
    wrong = own & w.are(_ROUTINES_ONLY)
    wrong |= own & point & ~np.append(second[1:] & own[1:], False)
    wrong |= own & second & ~np.insert(point[:-1], 0, False)
    reachable = np.where(own, w.own, len(w.words))
    for name, table in (("target", _TARGET), ("reconv", _RECONV)):
        to, named = w.field(name, 25).astype(np.intp), w.are(table)
        if name == "reconv":
            named &= to != PC_NONE
        inside = np.minimum(to, len(w.words) - 1)
        wrong |= named & ((to >= reachable) | own & second[inside])
    guarded = w.are(_PREDICATES["guard"]) & (w.field("guard", 3) + (w.field("guard_not", 1) << np.uint64(3)) != PT)
    wrong[w.own - 1] |= not w.are(_ENDS)[w.own - 1] or guarded[w.own - 1]
    if w.image.traps:
        filled = ~w.are(_NOP)
        filled[:w.own] = False
        last = int(np.flatnonzero(filled)[-1]) if filled.any() else len(w.words) - 1
        wrong[last] |= not w.are(_ROUTINE_ENDS)[last] or guarded[last]
    return wrong


# The error of the one word that was found

_FILE = "the file is damaged, or of another version: compile the kernel again"


def _explain(w: _Words, pc: int) -> Problem:
    """Describe the error of a word."""
    image, word = w.image, int(w.words[pc])
    try:
        instruction = decode(word)
        encode(_without_unused(instruction))
    except ValueError as error:
        return Problem(pc, str(error), _FILE)
    checks = (_registers, _predicates, _parameter, _control if pc < w.own else _routine)
    for check in checks:
        if found := check(image, pc, instruction):
            return Problem(pc, *found)
    raise AssertionError(f"word {pc} of {image.name} is wrong, and nothing is wrong with it")


def _without_unused(instruction: Instruction) -> Instruction:
    """Return an instruction without meaningless marks of uniform registers, which the machine ignores."""
    unused = set() if "b" in instruction.op.operands else {"b_uniform"}
    unused |= {"base_uniform", "a"} if instruction.get("no_base") else set()
    return Instruction(instruction.op, {name: n for name, n in instruction.fields.items() if name not in unused})


_Found = tuple[str, str] | None


def _most(image: KernelImage, what: str, prefix: str, used: Sequence[int], count: int, directive: str) -> _Found:
    beyond = [number for number in used if number >= count]
    if not beyond:
        return None
    return (f"uses {prefix}{beyond[0]}, the image has {count} {what}",
            f"say {directive} {max(beyond) + 1} (KernelImage.{directive[1:]})")


def _registers(image: KernelImage, pc: int, instruction: Instruction) -> _Found:
    used = (*instruction.reads, *instruction.writes)
    return _most(image, "vector registers", "R", used, image.registers, ".registers")


def _predicates(image: KernelImage, pc: int, instruction: Instruction) -> _Found:
    used = (*instruction.predicate_reads, *instruction.predicate_writes)
    return _most(image, "predicates", "P", used, image.predicates, ".predicates")


def _parameter(image: KernelImage, pc: int, instruction: Instruction) -> _Found:
    offset = instruction.get("imm")
    if "param" not in instruction.op.operands or offset % WORD_BYTES == 0 and offset < image.parameter_bytes:
        return None
    return (f"reads byte {offset} of the parameters, of which the image has {image.parameter_bytes} bytes",
            "read whole words of them, and say with .param what there is")


def _control(image: KernelImage, pc: int, instruction: Instruction) -> _Found:
    op, code = instruction.op, image.code
    if op.name == "rejoin" or op.all_lanes:
        return f"{op.name} may only stand in preemption routines", "put it behind .routines, or leave it out"
    if op.name == "pp" and (pc + 1 == len(code) or decode(code[pc + 1]).op.name != "pp.div"):
        return "pp without the pp.div that has to follow it", "put a pp.div behind it"
    if op.name == "pp.div" and (not pc or decode(code[pc - 1]).op.name != "pp"):
        return "pp.div without the pp that has to stand before it", "put a pp before it"
    if found := _branches(instruction, len(code)):
        return found
    for name in ("target", "reconv"):
        to = instruction.get(name)
        if name in op.operands and to != PC_NONE and decode(code[to]).op.name == "pp.div":
            return f"leads to word {to}, the second half of a preemption point", f"lead to its pp, word {to - 1}"
    return f"the code runs over its end of {len(code)} words", "end it with exit or a branch, under no guard"


def _routine(image: KernelImage, pc: int, instruction: Instruction) -> _Found:
    return _branches(instruction, len(image.words)) or (
        "the preemption routines run over their end", "end the last with rejoin or a branch, under no guard")


def _branches(instruction: Instruction, count: int) -> _Found:
    for name in ("target", "reconv"):
        to = instruction.get(name)
        if name in instruction.op.operands and to >= count and not (name == "reconv" and to == PC_NONE):
            return f"leads to word {to}, beyond the {count} words that there are", "lead to one of them"
    return None
