"""Random arithmetic in machine code: integers, both floating-point widths, special functions, exchange, uniform."""

from __future__ import annotations

from caesura.hw.arch.isa.formats import Format
from caesura.hw.arch.isa.opcodes import OPCODES, PT, UNIFORM_SPECIALS, VOLATILE_SPECIALS, AluOp, Space, Special, Unit
from caesura.sim.workloads import random_float

from . import doubles
from .operands import CONSTANT_BYTES, DATA_PREDICATES, PARAMETER_WORDS, UNIFORM_TEMPORARY, Operands

__all__ = ["Computation"]

INTEGER = tuple(op for op in OPCODES if op.unit is Unit.ALU and "d" in op.operands and op.alu is not None
                and not op.alu.is_float and op.alu is not AluOp.S2R)
TESTS = {prefix: tuple(op for op in OPCODES if op.name.startswith(prefix)) for prefix in ("setp", "fsetp")}
SPECIAL_FUNCTIONS = tuple(op for op in OPCODES if op.unit is Unit.SFU)
SHUFFLES = tuple(op for op in OPCODES if op.unit is Unit.EXCHANGE)
UNIFORM = tuple(op for op in OPCODES if op.unit is Unit.UNIFORM and op.alu is not None
                or op.space in (Space.CONSTANT, Space.PARAMETER) and "ud" in op.operands)
CLAMPS = (0x1F, 0, 0x07, 0x181F, 0x1C1F, 0x1E01, 0x1800, 0x1C03)
"""Operand c of shuffles as compilers write it, for segments of 32, 8, 4 or 2 lanes, with their first or last lane."""
STABLE = tuple(s for s in Special if s not in VOLATILE_SPECIALS)
"""Special registers that do not depend on the time and place of a warp's run."""


class Computation(Operands):
    """Statements that compute in registers."""

    def _alu(self) -> None:
        rng = self.rng
        op = rng.choice(INTEGER)
        fields = {name: self._data() for name in op.operands if name in ("d", "a", "c")}
        if op.format is Format.I:
            fields["imm"] = self._immediate()
        elif "b" in op.operands:
            fields |= self._register_b()
        if "pd" in op.operands:
            fields["pd"] = rng.choice((*range(DATA_PREDICATES), PT))
        fields |= self._predicates(op.operands)
        self.emit(op.name, **fields, **self._guard())

    def _compare(self, predicate: int) -> None:
        rng = self.rng
        prefix = rng.choice(("setp", "setp", "fsetp"))
        op = rng.choice(TESTS[prefix])
        fields = {"a": self._data()}
        if op.format is Format.I:
            values = random_float.IMMEDIATES if prefix == "fsetp" else None
            fields["imm"] = rng.choice(values) if values and rng.random() < 0.5 else self._immediate()
        else:
            fields |= self._register_b()
        self.emit(op.name, pd=predicate, **fields, **self._guard())

    def _predicate_logic(self) -> None:
        name = self.rng.choice(("pand", "por", "pxor"))
        self.emit(name, pd=self.rng.randrange(DATA_PREDICATES), **self._predicates(("pa", "pb")), **self._guard())

    def _float(self) -> None:
        random_float.statement(self.rng, self.emit, self._data, self._guard)

    def _double(self) -> None:
        doubles.statement(self)

    def _special_function(self) -> None:
        op = self.rng.choice(SPECIAL_FUNCTIONS)
        self.emit(op.name, d=self._data(), **self._register_b(), **self._guard())

    def _shuffle(self) -> None:
        """Emit a shuffle or a match, often with operands as compilers write them."""
        rng = self.rng
        op = rng.choice(SHUFFLES)
        fields = {"d": self._data(), "a": self._data()}
        if op.format is Format.I:
            usual = rng.randrange(1 << 5) | rng.choice(CLAMPS) << 8
            fields["imm"] = usual if rng.random() < 0.8 else rng.getrandbits(32)
        elif "c" in op.operands:
            fields |= self._register_b() | {"c": self._data(), "pd": rng.choice((*range(DATA_PREDICATES), PT))}
            if rng.random() < 0.6:
                self.emit("mov.i", d=7, imm=rng.choice(CLAMPS))
                fields["c"] = 7
        elif rng.random() < 0.7:  # match: few different values
            self.emit("and.i", d=7, a=fields["a"], imm=rng.choice((1, 3, 7)))
            fields["a"] = 7
        self.emit(op.name, **fields, **self._guard())

    def _uniform_statement(self) -> None:
        """Emit an instruction of the uniform data path, or one that copies uniform data to the lanes."""
        rng = self.rng
        if rng.random() < 0.2:
            return self.emit("mov", d=self._data(), b=self._uniform(), b_uniform=1, **self._guard())
        op = rng.choice(UNIFORM)
        fields = {name[1]: self._uniform() for name in op.operands if name in ("ud", "ua", "ub", "uc")}
        if "pd" in op.operands:
            fields["pd"] = rng.randrange(DATA_PREDICATES)
        if "imm" in op.operands:
            fields["imm"] = self._immediate()
        elif "sreg" in op.operands:
            fields["imm"] = rng.choice([s for s in STABLE if s in UNIFORM_SPECIALS])
        elif "param" in op.operands:
            fields["imm"] = 4 * rng.randrange(PARAMETER_WORDS)
        elif "mem" in op.operands:
            fields |= self._uniform_constant()
        self.emit(op.name, **fields, **self._guard())

    def _uniform_constant(self) -> dict[str, int]:
        """Return the address fields of a word of the constant bank for all lanes."""
        imm = self.rng.randrange(0, CONSTANT_BYTES // 2, 4)
        if self.rng.random() < 0.5:
            return {"no_base": 1, "imm": imm}
        return self._uniform_offset(CONSTANT_BYTES // 2 - 4) | {"imm": imm}

    def _uniform_offset(self, mask: int) -> dict[str, int]:
        """Return the base field of a uniform register with masked random data, which is independent of the path."""
        self.emit("uand.i", d=UNIFORM_TEMPORARY, a=self._uniform(), imm=mask)
        return {"a": UNIFORM_TEMPORARY}
