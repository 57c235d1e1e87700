"""Random legal instructions of any opcode, for tests of encoding, decoding and printing."""

from __future__ import annotations

import random

from caesura.hw.arch.geometry import UNIFORMS
from caesura.hw.arch.isa.formats import FIELDS, Format
from caesura.hw.arch.isa.opcodes import Opcode
from caesura.hw.arch.isa.words import Instruction
from caesura.software.compiler.codegen.syntax import shown_fields

__all__ = ["random_instruction", "canonical_instruction"]


def random_instruction(rng: random.Random, op: Opcode) -> Instruction:
    """Return an instruction with every field random, those that `op` does not use too.

    Register groups are aligned, uniform registers exist, and a pair of registers is never uniform.
    """
    fields = {name: rng.getrandbits(width) for name, (_, width) in FIELDS[op.format].items()
              if not (op.format is Format.I and name == ("d" if "pd" in op.operands else "pd"))}
    if "b" in op.pairs and "b_uniform" in fields:
        fields["b_uniform"] = 0
    if op.is_atomic:
        fields["imm"] -= fields["imm"] >> 23 << 24
    uniform = {name: f"u{name}" in op.operands for name in "dabc"}
    uniform["a"] |= "mem" in op.operands and (bool(fields["base_uniform"]) or uniform["d"])
    uniform["b"] |= bool(fields.get("b_uniform"))
    groups = {"d": op.data_registers} | {name: 2 for name in op.pairs if name in op.operands}
    for name in uniform:
        if name in fields and uniform[name]:
            fields[name] %= UNIFORMS
        elif name in fields and groups.get(name, 1) > 1:
            fields[name] -= fields[name] % groups[name]
    return Instruction(op, fields)


def canonical_instruction(rng: random.Random, op: Opcode) -> Instruction:
    """Return a random instruction of which only the fields that assembly text shows differ from their default."""
    shown = shown_fields(op)
    fields = {name: value for name, value in random_instruction(rng, op).fields.items() if name in shown}
    if fields.get("no_base"):
        fields["a"] = fields["base_uniform"] = 0
    return Instruction(op, fields)
