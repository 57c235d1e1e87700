"""What the lowering of one PTX instruction needs: registers by name, operands as IR, and how to emit."""

from __future__ import annotations

import re
from typing import Any

from caesura.hw.arch.isa import Special

from ...errors import CompileError
from ...ir.kernel import Block, Imm, Kernel, Op, Pred, Reg, Terminator, Use
from ...ir.spec import is_convergent, is_memory, is_pure
from ...ptx.syntax import Instruction, Name, Negated, Number, Operand
from ..types import KINDS, REGISTER_TYPES, width_of

__all__ = ["Context", "SPECIAL_REGISTERS"]

SPECIAL_REGISTERS: dict[str, Special] = {
    **{f"%{name}.{axis}": Special[f"{name.upper()}_{axis.upper()}"]
       for name in ("tid", "ntid", "ctaid", "nctaid") for axis in "xyz"},
    "%laneid": Special.LANEID, "%warpid": Special.WARPID, "%smid": Special.SMID,
    "%clock": Special.CLOCK, "%clock64": Special.CLOCK,
}
"""PTX name to special register; ``%clock64`` reads the 32-bit counter, zero-extended (so ``%clock_hi`` is 0)."""
LANE_MASKS = tuple(f"%lanemask_{name}" for name in ("eq", "lt", "le", "ge", "gt"))
"""Special registers that are computed from ``%laneid``."""


class Context:
    """State while one kernel is lowered.

    Attributes
    ----------
    kernel : Kernel
        Being built.
    file : str
    symbols : dict of str to int
        Addresses of variables in their spaces.
    spaces : dict of str to str
        Space of each of them: ``shared``, ``local`` or ``const``.
    provenance : Provenance
        What generic addresses can be of.
    parameters : dict of str to Parameter
    instruction : Instruction
        Being lowered; an empty one before the first.
    guard : Pred or None
        Its guard.
    labels : set of str
        Labels of the whole kernel.
    elsewhere : dict of str to str
        Variables in spaces that are not supported, and their space.
    """

    def __init__(self, kernel: Kernel, file: str):
        self.kernel = kernel
        self.file = file
        self.symbols: dict[str, int] = {}
        self.spaces: dict[str, str] = {}
        self.provenance: Any = None
        self.parameters = {}
        self.instruction = Instruction("", (), None, 0, "")
        self.guard: Pred | None = None
        self.labels: set[str] = set()
        self.elsewhere: dict[str, str] = {}
        self._types: dict[str, str] = {}
        self._registers: dict[str, Reg] = {}
        self._ranges: list[tuple[str, int, str]] = []
        self._named: set[Reg] = set()
        self._block: Block | None = None
        self._carry: Reg | None = None

    # Declarations

    def declare(self, type: str, name: str, count: int | None) -> None:
        """Declare a register, or ``count`` registers ``name0, name1, ...``."""
        if count is None:
            self._types[name] = type
        else:
            self._ranges.append((name, count, type))

    def type_of(self, name: str) -> str | None:
        """Return the declared type of a register, None if `name` is none."""
        if name not in self._types:
            for prefix, count, type in self._ranges:
                if re.fullmatch(re.escape(prefix) + r"\d+", name) and int(name[len(prefix):]) < count:
                    self._types[name] = type
                    break
        return self._types.get(name)

    def place(self, name: str, space: str, address: int) -> None:
        """Give a variable its address."""
        self.symbols[name], self.spaces[name] = address, space

    # Errors

    def error(self, message: str, supported: str = "") -> CompileError:
        """Return the error for the instruction at hand."""
        ins = self.instruction
        return CompileError(message, self.file, ins.line, ins.text, supported, ins.column)

    # Blocks

    def open_block(self, label: str) -> None:
        """Start a block; the one before falls into it."""
        if self._block is not None:
            self._block.end = Terminator((label,))
        self._block = Block(label)
        self.kernel.blocks.append(self._block)

    def close_block(self, end: Terminator) -> None:
        """End the block at hand; what follows up to the next label starts a new one."""
        assert self._block is not None
        block, self._block = self._block, None
        if len(end.targets) == 2 and not end.targets[1]:
            label = self.kernel.fresh_label("next")
            end.targets = (end.targets[0], label)
            block.end = end
            self.open_block(label)
        else:
            block.end = end
            self.open_block(self.kernel.fresh_label("next"))

    def label(self, name: str) -> str:
        """Return a branch target, which must exist."""
        if name not in self.labels:
            raise self.error(f"label {name} is not defined in this kernel")
        return name

    # Emission

    def emit(self, name: str, defs: tuple = (), uses: tuple = (), imm: int = 0, volatile: bool = False) -> None:
        """Append an operation; guarded unless it only computes temporaries."""
        assert self._block is not None
        op = Op(name, defs, uses, None, imm, self.instruction.line, volatile)
        if not is_pure(op) or is_memory(op) or is_convergent(op) or any(d in self._named for d in op.written()):
            op.guard = self.guard
        self._block.ops.append(op)

    def merged(self, kind: str) -> Reg:
        """Return a fresh register, zero in every lane; later operations each write the lanes of their guard."""
        reg = self.kernel.fresh(kind)
        self.emit("mov.64" if kind == "w" else "mov", (reg,), (Imm(0),))
        self._named.add(reg)
        return reg

    def r(self) -> Reg:
        """Return a fresh 32-bit temporary."""
        return self.kernel.fresh("r")

    def w(self) -> Reg:
        """Return a fresh 64-bit temporary."""
        return self.kernel.fresh("w")

    def p(self) -> Reg:
        """Return a fresh predicate temporary."""
        return self.kernel.fresh("p")

    @property
    def carry_flag(self) -> Reg:
        """Predicate that stands for ``CC.CF`` (PTX ISA 9.7.2): a carry, or a borrow."""
        if self._carry is None:
            self._carry = self.p()
            self._named.add(self._carry)
        return self._carry

    # Operands

    def register(self, name: str) -> Reg:
        """Return the IR register of a declared PTX register."""
        if name not in self._registers:
            type = self.type_of(name)
            if type is None:
                raise self.error(f"{name} is not declared")
            if type not in REGISTER_TYPES:
                raise self.error(f"register {name} has type .{type}", "." + ", .".join(REGISTER_TYPES))
            reg = self.kernel.fresh(KINDS[REGISTER_TYPES[type]])
            self._registers[name] = reg
            self._named.add(reg)
        return self._registers[name]

    def bits_of(self, name: str) -> int:
        """Return the declared width of a register, 1 for a predicate."""
        self.register(name)
        return REGISTER_TYPES[self._types[name]]

    def dest(self, operand: Operand, bits: int) -> Reg:
        """Return the destination register, which must be declared with `bits` bits (1 = predicate)."""
        if not isinstance(operand, Name):
            raise self.error("the destination must be a register")
        reg = self.register(operand.text)
        if self.bits_of(operand.text) != bits:
            raise self.error(f"{operand.text} is declared .{self._types[operand.text]}, "
                             f"the instruction needs {'a predicate' if bits == 1 else f'{bits} bits'}")
        modifiers = self.instruction.modifiers
        position = -2 if self.instruction.base in ("set", "slct") else -1
        self.check_kind(operand.text, modifiers[position] if len(modifiers) >= -position else "")
        return reg

    def check_kind(self, name: str, type: str) -> None:
        """Refuse an integer register for a floating-point type and the reverse; ``.b`` goes with both (PTX ISA 9.2)."""
        declared = self._types[name]
        if {declared[0], type[:1]} in ({"f", "s"}, {"f", "u"}):
            raise self.error(f"{name} is declared .{declared}, the instruction needs .{type}",
                             f"registers declared .b{REGISTER_TYPES[declared]} or .{type}")

    def pred(self, operand: Operand) -> Pred:
        """Return a predicate operand."""
        if isinstance(operand, Number) and operand.value is not None:
            return Pred(None, operand.value == 0)
        if isinstance(operand, Negated):
            return Pred(self.dest(Name(operand.name), 1), True)
        return Pred(self.dest(operand, 1))

    def value(self, operand: Operand, bits: int, type: str | None = None) -> Use:
        """Return a source of `bits` bits (16, 32: an ``r``; 64: a ``w``): register, constant, address or special.

        Its type is the last modifier of the instruction, or `type` if given.
        """
        if type is None:
            type = self.instruction.modifiers[-1] if self.instruction.modifiers else ""
        if isinstance(operand, Number):
            return self._constant(operand, bits, type)
        if not isinstance(operand, Name):
            raise self.error("operand must be a register or a constant")
        name = operand.text
        if type in ("f32", "f64") and self.type_of(name) is None:
            raise self.error(f"{name} is no floating-point value", "registers and floating-point constants")
        if name in self.symbols:
            return Imm(self.symbols[name])
        if self.type_of(name) is None:
            if name in SPECIAL_REGISTERS:
                return self._special(name, bits)
            if name in LANE_MASKS:
                return self._lane_mask(name)
            if name == "%clock_hi":
                return Imm(0)
            if name.startswith("%"):
                known = "special registers " + ", ".join((*SPECIAL_REGISTERS, *LANE_MASKS, "%clock_hi"))
                raise self.error(f"{name} is neither declared nor a known special register", known)
            if name in self.elsewhere:
                space = self.elsewhere[name]
                raise self.error(f"{name} is in .{space}, which is not supported",
                                 "variables in .shared, .local and .const")
            raise self.error(f"{name} is not a register or a shared variable", "addresses of shared variables")
        declared = self.bits_of(name)
        if declared != bits:
            raise self.error(f"{name} is declared .{self._types[name]}, the instruction needs {bits} bits")
        self.check_kind(name, type)
        return self.register(name)

    def number(self, operand: Operand, type: str, flush: bool = False) -> Use:
        """Return a floating-point source: f64 as a ``w`` register; f32 with subnormals made zero if `flush`."""
        value = self.value(operand, width_of(type), type)
        if type == "f64" and isinstance(value, Imm):
            constant = self.w()
            self.emit("mov.64", (constant,), (value,))
            return constant
        return self.flushed(value) if flush else value

    def flushed(self, value: Use) -> Use:
        """Return an f32 value with subnormals made zero."""
        if isinstance(value, Imm):
            return Imm(value.value & 0x8000_0000) if value.value & 0x7F80_0000 == 0 else value
        result = self.r()
        self.emit("fftz", (result,), (value,))
        return result

    def _constant(self, number: Number, bits: int, type: str) -> Imm:
        if type in ("f32", "f64"):
            pattern = number.double if bits == 64 else number.single
            if pattern is None:
                raise self.error(f"integer constant {number.text}", "floating-point constants such as 0f3F800000, 1.0")
            return Imm(pattern)
        if number.exact == bits and type[:1] == "b":
            return Imm((number.double if bits == 64 else number.single) or 0)
        if number.value is None:
            raise self.error(f"floating-point constant {number.text}", "integer constants")
        return Imm(number.value & (1 << max(bits, 32)) - 1)

    def _special(self, name: str, bits: int) -> Use:
        low = self.r()
        self.emit("s2r", (low,), (), imm=int(SPECIAL_REGISTERS[name]))
        if bits != 64:
            return low
        wide = self.w()
        self.emit("pack.64", (wide,), (low, Imm(0)))
        return wide

    def _lane_mask(self, name: str) -> Reg:
        """Return the lanes that are equal to the own one, below, at most, above or at least it."""
        lane, own, result = self._special("%laneid", 32), self.r(), self.r()
        self.emit("shl", (own,), (Imm(1), lane))
        if name == "%lanemask_eq":
            return own
        if name in ("%lanemask_lt", "%lanemask_ge"):
            self.emit("iadd", (result,), (own, Imm(0xFFFF_FFFF)))
        else:  # the own bit and all below
            below = self.r()
            self.emit("iadd", (below,), (own, Imm(0xFFFF_FFFF)))
            self.emit("or", (result,), (own, below))
        if name in ("%lanemask_lt", "%lanemask_le"):
            return result
        inverted = self.r()
        self.emit("not", (inverted,), (result,))
        return inverted

    def extended(self, operand: Operand, type: str) -> Use:
        """Return a source of a 16- or 32-bit `type`, sign- or zero-extended to 32 bits."""
        bits, signed = width_of(type), type[0] == "s"
        value = self.value(operand, bits)
        return self.extend(value, bits, signed)

    def extend(self, value: Use, bits: int, signed: bool) -> Use:
        """Return the low `bits` (8, 16 or 32) of an ``r`` value, extended to 32 bits."""
        if bits == 32:
            return value
        if isinstance(value, Imm):
            low = value.value & (1 << bits) - 1
            return Imm((low - (low >> bits - 1 << bits)) & 0xFFFF_FFFF if signed else low)
        result = self.r()
        if signed:
            self.emit(f"sext.{bits}", (result,), (value,))
        else:
            self.emit("and", (result,), (value, Imm((1 << bits) - 1)))
        return result
