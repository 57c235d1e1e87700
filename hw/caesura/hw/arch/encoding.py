"""Instruction words to and from `Instruction` objects, both derived from the table in `isa`."""

from __future__ import annotations

from dataclasses import dataclass, field

from .geometry import UNIFORMS
from .isa import BY_CODE, BY_NAME, FIELDS, PT, Format, Opcode

__all__ = ["Instruction", "encode", "decode"]


@dataclass(frozen=True)
class Instruction:
    """One machine instruction.

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
        return self.fields.get(name, PT if name in ("guard", "pa", "pb", "pd") else 0)

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


def encode(instruction: Instruction) -> int:
    """Return the 64-bit word.

    Raises
    ------
    ValueError
        If a field is not of the format, out of range, or a register group is misaligned.
    """
    op = instruction.op
    layout = FIELDS[op.format]
    word = op.code << 54
    for name, value in instruction.fields.items():
        if name not in layout:
            raise ValueError(f"{op.name}: format {op.format.name} has no field {name!r}")
        width = layout[name][1]
        if name == "imm" and -(1 << width - 1) <= value < 0:
            value += 1 << width
        elif name == "imm" and op.is_atomic and value >= 1 << width - 1:
            raise ValueError(f"{op.name}: imm = {value} does not fit {width} bits with a sign")
        if not 0 <= value < 1 << width:
            raise ValueError(f"{op.name}: {name} = {value} does not fit {width} bits")
    for name, (low, width) in layout.items():
        if (name == "pd" and op.format is Format.I) and "pd" not in op.operands:
            continue  # shares its bits with d
        if name == "d" and op.format is Format.I and "pd" in op.operands:
            continue
        word |= (instruction.get(name) & (1 << width) - 1) << low
    groups = {"d": op.data_registers} | {x: 2 for x in op.pairs if x in op.operands}
    for name, group in groups.items():
        if group > 1 and instruction.get(name) % group:
            raise ValueError(f"{op.name}: register {instruction.get(name)} is not a multiple of "
                             f"{group}")
    if "b" in op.pairs and instruction.get("b_uniform"):
        raise ValueError(f"{op.name}: a pair of registers cannot be uniform")
    for name in "dabc":
        uniform = "u" + name in op.operands or name == "b" and instruction.get("b_uniform") or (
            name == "a" and "mem" in op.operands
            and (instruction.get("base_uniform")
                 or "ud" in op.operands and not instruction.get("no_base")))
        if uniform and instruction.get(name) >= UNIFORMS:
            raise ValueError(f"{op.name}: there is no uniform register {instruction.get(name)}")
    return word


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
    fields = {}
    for name, (low, width) in FIELDS[op.format].items():
        if op.format is Format.I and name == ("d" if "pd" in op.operands else "pd"):
            continue
        fields[name] = word >> low & (1 << width) - 1
    if op.is_atomic and fields["imm"] >> 23:
        fields["imm"] -= 1 << 24
    return Instruction(op, fields)
