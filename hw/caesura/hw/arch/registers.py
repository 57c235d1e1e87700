"""The register map, read from `registers.rdl`: names to addresses and fields."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from pathlib import Path

from systemrdl.compiler import RDLCompiler
from systemrdl.node import FieldNode, RegNode

__all__ = ["Field", "Register", "register_map", "RDL_PATH", "ADDRESS_BITS", "IDENTIFICATION",
           "UNLIMITED_PATIENCE", "UNLIMITED_GRACE"]

RDL_PATH = Path(__file__).with_name("registers.rdl")
"""The SystemRDL source."""
ADDRESS_BITS = 13
"""Bits of a register byte address."""
IDENTIFICATION = int.from_bytes(b"CAES", "big")
"""What register ``id`` reads."""
UNLIMITED_PATIENCE = 0xFFFF_FFFF
"""Value of register ``patience`` that bounds no drain."""
UNLIMITED_GRACE = 0xFFFF_FFFF
"""Value of register ``grace`` that stops no TB."""


@dataclass(frozen=True)
class Field:
    """A field of a register: name, lowest bit, width, description and value after a reset."""

    name: str
    low: int
    width: int
    description: str
    reset: int = 0

    def extract(self, value: int) -> int:
        """Return this field of a register value."""
        return value >> self.low & (1 << self.width) - 1


@dataclass(frozen=True)
class Register:
    """A register: path (``"kernel[1].code_base"``), byte address, access and fields.

    Attributes
    ----------
    readable, writable : bool
        Access from software.
    clear_on_one : bool
        Writing 1 clears a bit.
    """

    path: str
    address: int
    readable: bool
    writable: bool
    clear_on_one: bool
    description: str
    fields: dict[str, Field]

    @property
    def reset(self) -> int:
        """Value after a reset of what software writes and the hardware keeps."""
        return self.pack(**{name: field.reset for name, field in self.fields.items()})

    def pack(self, **values: int) -> int:
        """Return the register value with the given fields, the rest 0.

        Raises
        ------
        ValueError
            If a value does not fit its field.
        """
        word = 0
        for name, value in values.items():
            field = self.fields[name]
            if not 0 <= value < 1 << field.width:
                raise ValueError(f"{self.path}.{name} = {value} does not fit {field.width} bits")
            word |= value << field.low
        return word

    def unpack(self, word: int) -> dict[str, int]:
        """Return the fields of a register value."""
        return {name: field.extract(word) for name, field in self.fields.items()}


def _reset(field: FieldNode) -> int:
    value = field.get_property("reset")
    return value if isinstance(value, int) else 0


@functools.cache
def register_map() -> dict[str, Register]:
    """Return every register of the SM by path, arrays unrolled."""
    compiler = RDLCompiler()
    compiler.compile_file(str(RDL_PATH))
    top = compiler.elaborate().top
    registers = {}
    for node in top.descendants(unroll=True):
        if not isinstance(node, RegNode):
            continue
        path = node.get_path().removeprefix("caesura_sm.")
        fields = {f.inst_name: Field(f.inst_name, f.low, f.width, f.get_property("desc") or "",
                                     _reset(f))
                  for f in node.children() if isinstance(f, FieldNode)}
        clears = any(f.get_property("onwrite") is not None for f in node.fields())
        registers[path] = Register(
            path, node.absolute_address, node.has_sw_readable, node.has_sw_writable,
            clears, node.get_property("desc") or node.get_property("name"), fields)
    return registers
