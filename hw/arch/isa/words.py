"""Instruction words to and from `Instruction` objects, both derived from the table in `isa`."""

from __future__ import annotations

import functools
from dataclasses import dataclass, field
from typing import NamedTuple

from ..geometry import UNIFORMS
from .formats import FIELDS, Format
from .opcodes import BY_CODE, BY_NAME, PT, Opcode

__all__ = ["Instruction", "encode", "decode"]

_PREDICATES = ("guard", "pa", "pb", "pd")
"""Fields that are `PT` where they are left out."""


@dataclass(slots=True)
class Instruction:
    """One machine instruction, which is never changed.

    Attributes
    ----------
    op : Opcode
        Its row of the table.
    fields : dict of str to int
        Values of the format's fields (`isa.FIELDS`), unsigned; fields left out are 0, except that
        predicate numbers (``guard``, ``pa``, ``pb``, ``pd``) left out are `PT`.
    """

    op: Opcode
    fields: dict[str, int] = field(default_factory=dict)

    @classmethod
    def make(cls, name: str, **fields: int) -> Instruction:
        """Build by mnemonic; an immediate may be negative.

        Raises
        ------
        ValueError
            If there is no such mnemonic or a field is unknown or out of range.
        """
        if name not in BY_NAME:
            raise ValueError(f"no instruction {name!r}")
        instruction = cls(BY_NAME[name], fields)
        encode(instruction)
        return instruction

    def get(self, name: str) -> int:
        """Return a field's value, or its default."""
        return self.fields.get(name, PT if name in _PREDICATES else 0)

    @property
    def guard(self) -> tuple[int, bool] | None:
        """Guard predicate and whether it is negated;
        None when the instruction is always executed."""
        if not self.op.is_guarded or (self.get("guard") == PT and not self.get("guard_not")):
            return None
        return self.get("guard"), bool(self.get("guard_not"))

    @property
    def reads(self) -> tuple[int, ...]:
        """Vector registers read."""
        op, names, found = self.op, self.op.operands, []
        for x in ("a", "b", "c"):
            if x in names and not (x == "b" and self.get("b_uniform")):
                found += [self.get(x) + k for k in range(2 if x in op.pairs else 1)]
        if ("mem" in names and not self.get("no_base")
                and not self.get("base_uniform") and "ud" not in names):
            found.append(self.get("a"))
        if "data" in names:
            found += [self.get("d") + k for k in range(op.data_registers)]
        return tuple(found)

    @property
    def writes(self) -> tuple[int, ...]:
        """Vector registers written."""
        if "d" not in self.op.operands:
            return ()
        return tuple(self.get("d") + k for k in range(self.op.data_registers))

    @property
    def uniform_reads(self) -> tuple[int, ...]:
        """Uniform registers read."""
        names = self.op.operands
        found = [self.get(x) for x in ("a", "b", "c") if "u" + x in names]
        if "b" in names and self.get("b_uniform"):
            found.append(self.get("b"))
        if ("mem" in names and not self.get("no_base")
                and (self.get("base_uniform") or "ud" in names)):
            found.append(self.get("a"))
        return tuple(found)

    @property
    def uniform_writes(self) -> tuple[int, ...]:
        """Uniform registers written."""
        return (self.get("d"),) if "ud" in self.op.operands else ()

    @property
    def predicate_reads(self) -> tuple[int, ...]:
        """Predicates read, the guard included, `PT` not."""
        names = [x for x in ("pa", "pb") if x in self.op.operands]
        found = [self.get(x) for x in names]
        if self.op.is_guarded:
            found.append(self.get("guard"))
        return tuple(p for p in found if p != PT)

    @property
    def predicate_writes(self) -> tuple[int, ...]:
        """Predicates written, `PT` not."""
        return (self.get("pd"),) if "pd" in self.op.operands and self.get("pd") != PT else ()


class _Places(NamedTuple):
    """Places of the fields in the words of an opcode.

    Attributes
    ----------
    fields : tuple of (str, int, int)
        Name, lowest bit and mask of each field, but for one whose bits another has.
    limits : dict of str to (int, int)
        Lowest bit of each of these fields, and the first value that is too large for it.
    defaults : tuple of (str, int)
        Those that are not 0 where they are left out: name, and the word with that alone.
    groups : tuple of (str, int)
        Fields that name several registers, and how many.
    always : tuple of str
        Fields that name uniform registers.
    b, address : bool
        Fields ``b`` and ``a`` do if the word says so.
    """

    fields: tuple[tuple[str, int, int], ...]
    limits: dict[str, tuple[int, int]]
    defaults: tuple[tuple[str, int], ...]
    groups: tuple[tuple[str, int], ...]
    always: tuple[str, ...]
    b: bool
    address: bool

    def uniforms(self, instruction: Instruction) -> list[str]:
        """Return the fields of an instruction that name uniform registers."""
        fields = instruction.fields
        found = list(self.always)
        if self.b and fields.get("b_uniform"):
            found.append("b")
        if self.address and (fields.get("base_uniform") or "ud" in instruction.op.operands
                             and not fields.get("no_base")):
            found.append("a")
        return found


@functools.cache
def _places(code: int) -> _Places:
    op = BY_CODE[code]
    unused = ("d" if "pd" in op.operands else "pd") if op.format is Format.I else ""
    fields = tuple((name, low, (1 << width) - 1) for name, (low, width) in FIELDS[op.format].items()
                   if name != unused)
    groups = (("d", op.data_registers), *((x, 2) for x in op.pairs if x in op.operands))
    return _Places(fields, {name: (low, mask + 1) for name, low, mask in fields},
                   tuple((name, PT << low) for name, low, _ in fields if name in _PREDICATES),
                   tuple((name, group) for name, group in groups if group > 1),
                   tuple(name for name in "dabc" if "u" + name in op.operands),
                   "ub" not in op.operands, "mem" in op.operands and "ua" not in op.operands)


def encode(instruction: Instruction) -> int:
    """Return the 64-bit word.

    Raises
    ------
    ValueError
        If a field is not of the format, out of range, or a register group is misaligned.
    """
    op, get = instruction.op, instruction.get
    places = _places(op.code)
    limits = places.limits
    word = op.code << 54
    for name, value in instruction.fields.items():
        low, limit = limits.get(name, (0, 0))
        if name == "imm" or not 0 <= value < limit:
            value = _fitting(op, name, value)
        if limit:
            word |= value << low
    for name, bits in places.defaults:
        if name not in instruction.fields:
            word |= bits
    for name, group in places.groups:
        if get(name) % group:
            raise ValueError(f"{op.name}: register {get(name)} is not a multiple of {group}")
    if "b" in op.pairs and get("b_uniform"):
        raise ValueError(f"{op.name}: a pair of registers cannot be uniform")
    for name in places.uniforms(instruction):
        if get(name) >= UNIFORMS:
            raise ValueError(f"{op.name}: there is no uniform register {get(name)}")
    return word


def _fitting(op: Opcode, name: str, value: int) -> int:
    """Return the value of a field as its bits hold it, errors as `encode`."""
    layout = FIELDS[op.format]
    if name not in layout:
        raise ValueError(f"{op.name}: format {op.format.name} has no field {name!r}")
    width = layout[name][1]
    if name == "imm" and -(1 << width - 1) <= value < 0:
        value += 1 << width
    elif name == "imm" and op.is_atomic and value >= 1 << width - 1:
        raise ValueError(f"{op.name}: imm = {value} does not fit {width} bits with a sign")
    if not 0 <= value < 1 << width:
        raise ValueError(f"{op.name}: {name} = {value} does not fit {width} bits")
    return value


def decode(word: int) -> Instruction:
    """Return the instruction of a 64-bit word.

    Raises
    ------
    ValueError
        If the opcode is not in the table.
    """
    op = BY_CODE.get(word >> 54)
    if op is None:
        raise ValueError(f"illegal opcode {word >> 54:#05x} in word {word:#018x}")
    fields = {name: word >> low & mask for name, low, mask in _places(op.code).fields}
    if op.is_atomic and fields["imm"] >> 23:
        fields["imm"] -= 1 << 24
    return Instruction(op, fields)
