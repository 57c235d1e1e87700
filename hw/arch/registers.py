"""The register maps of an SM and of a device, read from `registers.rdl` and `gpu_registers.rdl`:
names to addresses and fields."""

from __future__ import annotations

import enum
import functools
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from .geometry import Geometry

if TYPE_CHECKING:
    from systemrdl.node import FieldNode

__all__ = ["Combine", "Field", "Register", "register_map", "device_register_map", "RDL_PATH",
           "GPU_RDL_PATH", "DEVICE_ADDRESS_BITS", "ADDRESS_BITS", "IDENTIFICATION",
           "UNLIMITED_PATIENCE", "UNLIMITED_GRACE", "UNLIMITED_EXPIRY"]

RDL_PATH = Path(__file__).with_name("registers.rdl")
"""The SystemRDL source."""
GPU_RDL_PATH = Path(__file__).with_name("gpu_registers.rdl")
"""The SystemRDL source of the registers that a device of several SMs adds."""
ADDRESS_BITS = 13
"""Bits of a register byte address."""
DEVICE_ADDRESS_BITS = ADDRESS_BITS + 1
"""Bits of a register byte address of a device of several SMs: its own registers stand above those
of an SM."""
IDENTIFICATION = int.from_bytes(b"CAES", "big")
"""Value of register ``id``."""
UNLIMITED_PATIENCE = 0xFFFF_FFFF
"""Value of register ``patience`` that bounds no drain."""
UNLIMITED_GRACE = 0xFFFF_FFFF
"""Value of register ``grace`` that stops no TB."""
UNLIMITED_EXPIRY = 0xFFFF_FFFF
"""Value of register ``announce_expiry`` that forgets no announcement."""


class Combine(enum.Enum):
    """Rule by which a device makes one value of a register that each of its SMs has."""

    FIRST = "first"
    """The value of the first SM that is read."""
    SUM = "sum"
    MOST = "most"
    LEAST = "least"
    """The least that is not 0."""
    STATE = "state"
    """The state that says most of the kernel, and the first error."""
    STATUS = "status"
    """Whether any is busy, the error of the last command, and the sums."""
    FAULT = "fault"
    """The value of the first SM with a fault."""


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
        A bit is cleared by writing 1.
    combine : Combine
        Rule by which a device of several SMs reads the register.
    last : str
        Name of a command: only SMs that took the last command of this name count. If empty, all
        SMs count.
    where : str
        Attribute of a `Geometry`: machines lack the register if it is 0 or false. If empty, all
        machines have the register.
    """

    path: str
    address: int
    readable: bool
    writable: bool
    clear_on_one: bool
    description: str
    fields: dict[str, Field]
    combine: Combine = Combine.FIRST
    last: str = ""
    where: str = ""

    def exists(self, g: Geometry) -> bool:
        """Return whether machines of a geometry have the register; where they have fewer kernel
        slots, windows or parameters than the map is left aside."""
        return not self.where or bool(getattr(g, self.where))

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
    return _read(RDL_PATH)


@functools.cache
def device_register_map() -> dict[str, Register]:
    """Return every register of a device of several SMs by path: an SM's, and its own."""
    return register_map() | _read(GPU_RDL_PATH)


def _read(source: Path) -> dict[str, Register]:
    from systemrdl.compiler import RDLCompiler  # takes longer to import than to compile a kernel
    from systemrdl.node import FieldNode, RegNode

    compiler = RDLCompiler()
    compiler.compile_file(str(source))
    top = compiler.elaborate().top
    registers = {}
    for node in top.descendants(unroll=True):
        if not isinstance(node, RegNode):
            continue
        path = node.get_path().partition(".")[2]
        fields = {f.inst_name: Field(f.inst_name, f.low, f.width, f.get_property("desc") or "",
                                     _reset(f))
                  for f in node.children() if isinstance(f, FieldNode)}
        clears = any(f.get_property("onwrite") is not None for f in node.fields())
        registers[path] = Register(
            path, node.absolute_address, node.has_sw_readable, node.has_sw_writable,
            clears, node.get_property("desc") or node.get_property("name"), fields,
            Combine(node.get_property("combine", default="first")),
            node.get_property("last", default=""), node.get_property("where", default=""))
    return registers
