"""Blocks and operations of a kernel while it is lowered."""

from __future__ import annotations

from ..ir.kernel import Block, Imm, Kernel, Op, Pred, Reg, Terminator, Use
from ..ir.spec import is_convergent, is_memory, is_pure
from ..ptx.syntax import Instruction

__all__ = ["Builder"]


class Builder:
    """Appends blocks and operations to a kernel.

    Attributes
    ----------
    kernel : Kernel
        Kernel that is being built.
    instruction : Instruction
        Instruction that is being lowered; an empty one before the first.
    guard : Pred or None
        Guard of that instruction.
    labels : set of str
        Labels of the whole kernel.
    """

    def __init__(self, kernel: Kernel):
        self.kernel = kernel
        self.instruction = Instruction("", (), None, 0, "")
        self.guard: Pred | None = None
        self.labels: set[str] = set()
        self._named: set[Reg] = set()
        self._block: Block | None = None
        self._carry: Reg | None = None
        self._numbers: dict[str, int] = {}

    # Blocks

    def open_block(self, label: str) -> None:
        """Start a block; the one before falls into it."""
        if self._block is not None:
            self._block.end = Terminator((label,))
        self._block = Block(label)
        self.kernel.blocks.append(self._block)

    def close_block(self, end: Terminator) -> None:
        """End the current block; code up to the next label starts a new one."""
        assert self._block is not None
        block, self._block = self._block, None
        if len(end.targets) == 2 and not end.targets[1]:
            label = self.fresh_label("next")
            end.targets = (end.targets[0], label)
            block.end = end
            self.open_block(label)
        else:
            block.end = end
            self.open_block(self.fresh_label("next"))

    def fresh_label(self, base: str) -> str:
        """Return a label that neither a block nor the PTX uses."""
        while True:
            number = self._numbers[base] = self._numbers.get(base, -1) + 1
            label = f"{base}.{number}"
            if label not in self.labels:
                return label

    # Operations

    def emit(self, name: str, defs: tuple = (), uses: tuple = (), imm: int = 0, volatile: bool = False) -> None:
        """Append an operation; guarded unless it only computes temporaries."""
        assert self._block is not None
        op = Op(name, defs, uses, None, imm, self.instruction.line, volatile)
        if self.guard is not None and (not is_pure(op) or is_memory(op) or is_convergent(op)
                                       or not self._named.isdisjoint(op.written())):
            op.guard = self.guard
        self._block.ops.append(op)

    def op(self, name: str, *uses: Use) -> Reg:
        """Append an operation with one vector result, a fresh temporary; return the temporary."""
        result = self.w() if name.endswith(".64") and name not in ("lo.64", "hi.64") else self.r()
        self.emit(name, (result,), uses)
        return result

    def test(self, name: str, *uses: Use) -> Pred:
        """Append an operation with a predicate result, a fresh temporary; return it as an operand."""
        outcome = self.p()
        self.emit(name, (outcome,), uses)
        return Pred(outcome)

    # Registers

    def r(self) -> Reg:
        """Return a fresh 32-bit temporary."""
        return self.kernel.fresh("r")

    def w(self) -> Reg:
        """Return a fresh 64-bit temporary."""
        return self.kernel.fresh("w")

    def p(self) -> Reg:
        """Return a fresh predicate temporary."""
        return self.kernel.fresh("p")

    def named(self, kind: str) -> Reg:
        """Return a fresh register that is no temporary: writes to it are guarded."""
        reg = self.kernel.fresh(kind)
        self._named.add(reg)
        return reg

    def merged(self, kind: str) -> Reg:
        """Return a fresh register, zero in every lane; later operations each write the lanes of their guard."""
        reg = self.kernel.fresh(kind)
        self.emit("mov.64" if kind == "w" else "mov", (reg,), (Imm(0),))
        self._named.add(reg)
        return reg

    @property
    def carry_flag(self) -> Reg:
        """Predicate for ``CC.CF`` (PTX ISA 9.7.2): the carry of a sum, or of a + ~b + 1."""
        if self._carry is None:
            self._carry = self.named("p")
        return self._carry

    # Conversions

    def flushed(self, value: Use) -> Use:
        """Return an f32 value with subnormals made zero."""
        if isinstance(value, Imm):
            return Imm(value.value & 0x8000_0000) if value.value & 0x7F80_0000 == 0 else value
        result = self.r()
        self.emit("fftz", (result,), (value,))
        return result

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
