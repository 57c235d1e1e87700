"""Elements of random machine code: registers, predicates, guards, immediates."""

from __future__ import annotations

import random
from dataclasses import dataclass

from caesura.hw.arch.geometry import Geometry
from caesura.hw.arch.isa.opcodes import PT

from .assembly import Assembly

__all__ = ["Settings", "Operands", "INPUT_BYTES", "CONSTANT_BYTES", "PARAMETER_WORDS", "LOCAL_BYTES", "SHARED_SLOT",
           "COMMON_BYTES", "FIRST_DATA", "COUNTERS",
           "DATA_PREDICATES", "LOOP_PREDICATE", "IMMEDIATES", "OUTPUT", "INPUT",
           "COMMON", "WARP_OUTPUT", "WARP_SHARED", "UNIFORM_TEMPORARY", "UNIFORM_DATA", "RETURNS", "JUMP",
           "ROUTINE_LEVEL", "ROUTINE_ROOM"]

INPUT_BYTES = 1024
CONSTANT_BYTES = 1024
PARAMETER_WORDS = 2
"""Number of parameters: the addresses of output and input."""
LOCAL_BYTES = 32
SHARED_SLOT = 16
COMMON_BYTES = 128
"""Bytes of global, and of shared, memory that the atomics of all warps change."""
FIRST_DATA = 8
COUNTERS = (4, 5, 6)
DATA_PREDICATES = 6
LOOP_PREDICATE = 6
IMMEDIATES = (0, 1, 2, 3, 31, 32, 33, 255, 0x7FFF_FFFF, 0x8000_0000, 0xFFFF_FFFF, 0xFFFF_8000, 0x80, 0x0804, 0x2000)
OUTPUT, INPUT, COMMON, WARP_OUTPUT, WARP_SHARED, UNIFORM_TEMPORARY = range(6)
UNIFORM_DATA = range(8, 16)
RETURNS = (28, 29, 30)
"""Uniform registers with the return address of each routine."""
JUMP = 31
ROUTINE_LEVEL = 2
"""Assumed depth of divergence of a routine's statements; its callers are at most as deep."""
ROUTINE_ROOM = 2
"""Stack entries that a routine may add."""


@dataclass(frozen=True)
class Settings:
    """Settings of a program; the fields are parameters of `random_native.random_program`."""

    registers: int
    warps: int
    slot: int
    """Bytes of a thread's output."""
    depth: int
    barriers: bool
    exits: bool
    racing: bool
    without: frozenset[str]


class Operands:
    """Random operands and guards of instructions, and the place to emit instructions.

    Parameters
    ----------
    g : Geometry
    rng : random.Random
    settings : Settings
    """

    def __init__(self, g: Geometry, rng: random.Random, settings: Settings):
        self.g, self.rng, self.s = g, rng, settings
        self.asm = Assembly()
        self.emit = self.asm.emit

    def _data(self, group: int = 1) -> int:
        """Return a random data register, the first register of an aligned group."""
        first = self.rng.randrange(FIRST_DATA, self.s.registers - group + 1)
        return first // group * group

    def _uniform(self) -> int:
        """Return a random uniform data register."""
        return self.rng.choice(UNIFORM_DATA)

    def _immediate(self) -> int:
        return self.rng.choice(IMMEDIATES) if self.rng.random() < 0.5 else self.rng.getrandbits(32)

    def _register_b(self) -> dict[str, int]:
        """Return the fields of an operand b, a vector or a uniform register."""
        if "uniform" not in self.s.without and self.rng.random() < 0.15:
            return {"b": self._uniform(), "b_uniform": 1}
        return {"b": self._data()}

    def _predicates(self, operands) -> dict[str, int]:
        fields = {}
        for name in ("pa", "pb"):
            if name in operands:
                fields[name] = self.rng.choice((*range(DATA_PREDICATES), PT))
                fields[f"{name}_not"] = self.rng.randrange(2)
        return fields

    def _guard(self) -> dict[str, int]:
        return self._data_guard() if self.rng.random() < 0.25 else {}

    def _data_guard(self) -> dict[str, int]:
        predicate = PT if self.rng.random() < 0.04 else self.rng.randrange(DATA_PREDICATES)
        return {"guard": predicate, "guard_not": self.rng.randrange(2)}

    def _narrow_guard(self) -> dict[str, int]:
        """Set a predicate in few lanes, and return it as a guard."""
        self.emit("and.i", d=7, a=self._data(), imm=15)
        self.emit("setp.eq.i", pd=LOOP_PREDICATE, a=7, imm=self.rng.randrange(16))
        return {"guard": LOOP_PREDICATE}
