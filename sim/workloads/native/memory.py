"""Random accesses to memory in machine code.

A program's final memory and registers do not depend on the order of warps. Plain accesses and atomics with results stay
in the warp's own output and shared memory, except for exchanges between barriers. Each word that all warps change has
one commutative operation. Only a `racing` program changes these words by any operation and uses their values, by
atomics alone. Its results follow from the order of these atomics.
"""

from __future__ import annotations

from caesura.hw.arch.isa.liveness import ALL_LIVE
from caesura.hw.arch.isa.opcodes import OPCODES, AtomicOp, Opcode, Size, Space, Special

from .computation import Computation
from .operands import (
    COMMON,
    COMMON_BYTES,
    CONSTANT_BYTES,
    COUNTERS,
    INPUT,
    INPUT_BYTES,
    LOCAL_BYTES,
    SHARED_SLOT,
    WARP_OUTPUT,
    WARP_SHARED,
)

__all__ = ["Accesses"]

COMMUTATIVE = (AtomicOp.ADD, AtomicOp.MIN_S, AtomicOp.MIN_U, AtomicOp.MAX_S, AtomicOp.MAX_U, AtomicOp.AND, AtomicOp.OR,
               AtomicOp.XOR)
ATOMICS = tuple(op for op in OPCODES if op.is_atomic)
COMMON_ATOMICS = tuple(op for op in ATOMICS if op.function in COMMUTATIVE and "d" not in op.operands)
STORED = tuple(s for s in Size if s not in (Size.S8, Size.S16))


class Accesses(Computation):
    """Statements that load, store and change memory."""

    @property
    def _shared_slots(self) -> int:
        """Bytes of shared memory that threads own; behind them are the words that all warps change."""
        return self.s.warps * self.g.warp_size * SHARED_SLOT

    def _global(self) -> None:
        """Load from the input, or load or store in the warp's own output slots."""
        rng = self.rng
        size = rng.choice(list(Size))
        d, name = self._data(size.registers), size.name.lower()
        kind = rng.random()
        if kind < 0.25:
            self.emit("and.i", d=7, a=self._data(), imm=INPUT_BYTES - size.bytes)
            self.emit("iadd", d=7, a=7, b=2)
            return self.emit(f"ld.global.{name}", d=d, a=7, **self._guard())
        if kind < 0.35 and "uniform" not in self.s.without:
            imm = rng.randrange(0, INPUT_BYTES, size.bytes)
            return self.emit(f"ld.global.{name}", d=d, a=INPUT, base_uniform=1, imm=imm, **self._guard())
        store = rng.random() < 0.5
        fields: dict[str, int]
        if kind < 0.65:
            self.emit("and.i", d=7, a=self._data(), imm=self.g.warp_size * self.s.slot - size.bytes)
            self.emit("iadd", d=7, a=7, b=3)
            fields = {"a": 7}
        elif kind < 0.75 and "uniform" not in self.s.without:
            imm = rng.randrange(0, self.g.warp_size * self.s.slot, size.bytes)
            fields = {"a": WARP_OUTPUT, "base_uniform": 1, "imm": imm}
        else:
            fields = {"a": 0, "imm": rng.randrange(0, self.s.slot, size.bytes)}
        what = f"st.global.b{8 * size.bytes}" if store else f"ld.global.{name}"
        self.emit(what, **fields, d=d, **self._guard())

    def _local(self) -> None:
        """Load or store the thread's own local memory, at an offset per lane or at a common offset."""
        rng = self.rng
        store = rng.random() < 0.5
        size = rng.choice([s for s in (STORED if store else Size) if s.registers == 1])
        kind = rng.random()
        if kind < 0.5:
            self.emit("and.i", d=7, a=self._data(), imm=LOCAL_BYTES - size.bytes)
            fields = {"a": 7}
        elif kind < 0.7 and "uniform" not in self.s.without:
            fields = self._uniform_offset(LOCAL_BYTES - size.bytes) | {"base_uniform": 1}
        else:
            fields = {"no_base": 1, "imm": rng.randrange(0, LOCAL_BYTES, size.bytes)}
        what = f"st.local.b{8 * size.bytes}" if store else f"ld.local.{size.name.lower()}"
        self.emit(what, **fields, d=self._data(), **self._guard())

    def _constant(self) -> None:
        """Load from the constant bank, with one address per lane or a common address."""
        rng = self.rng
        size = rng.choice(list(Size))
        kind = rng.random()
        if kind < 0.5:
            self.emit("and.i", d=7, a=self._data(), imm=rng.choice((CONSTANT_BYTES, 64)) - size.bytes)
            fields = {"a": 7}
        elif kind < 0.7 and "uniform" not in self.s.without:
            fields = self._uniform_offset(CONSTANT_BYTES - size.bytes) | {"base_uniform": 1}
        else:
            fields = {"no_base": 1, "imm": rng.randrange(0, CONSTANT_BYTES, size.bytes)}
        self.emit(f"ld.const.{size.name.lower()}", **fields, d=self._data(size.registers), **self._guard())

    def _atomic(self) -> None:
        """Change the warp's own memory, or words that all warps change."""
        rng = self.rng
        common = rng.random() < 0.3 and "uniform" not in self.s.without
        op = rng.choice(COMMON_ATOMICS if common and not self.s.racing else ATOMICS)
        assert op.size is not None and op.space is not None
        fields = self._common_address(op) if common else self._own_address(op)
        for name in ("b", "c"):
            if name in op.operands:
                fields[name] = self._data(op.size.registers)
        if op.function is AtomicOp.CAS and rng.random() < 0.6:  # a compare-and-swap that succeeds
            place = {name: value for name, value in fields.items() if name in ("a", "imm", "base_uniform", "no_base")}
            if common:  # read by an atomic without effect, since a plain load has no place in the order of atomics
                self.emit(op.name, d=fields["b"], b=fields["c"], c=fields["c"], **place)
            else:
                self.emit(f"ld.{op.space.name.lower()}.b{8 * op.size.bytes}", d=fields["b"], **place)
        if op.function in (AtomicOp.INC, AtomicOp.DEC) and rng.random() < 0.5:  # an operation that wraps
            self.emit("and.i", d=fields["b"], a=fields["b"], imm=3)
        if "d" in op.operands:
            fields["d"] = self._data(op.size.registers)
        self.emit(op.name, **fields, **self._guard())

    def _common_address(self, op: Opcode) -> dict[str, int]:
        """Return the address fields of a word that all warps change. Only a racing program mixes operations on it."""
        assert op.size is not None
        if self.s.racing:
            offset = self.rng.randrange(0, COMMON_BYTES // 4, op.size.bytes)
        else:
            offset = 8 * COMMUTATIVE.index(AtomicOp(op.function or 0))
            offset += COMMON_BYTES // 2 if op.size is Size.B64 else 0
        if op.space is Space.SHARED:
            return {"no_base": 1, "imm": self._shared_slots + offset}
        return {"a": COMMON, "base_uniform": 1, "imm": offset}

    def _own_address(self, op: Opcode) -> dict[str, int]:
        """Return the address fields of data-dependent words of the warp's own memory; lanes often collide."""
        assert op.size is not None
        rng, size = self.rng, self.g.warp_size
        span = size * (SHARED_SLOT if op.space is Space.SHARED else self.s.slot)
        self.emit("and.i", d=7, a=self._data(), imm=min(span, rng.choice((8, 32, 256, span))) - op.size.bytes)
        if op.space is Space.GLOBAL:
            self.emit("iadd", d=7, a=7, b=3)
        elif "uniform" not in self.s.without:
            self.emit("iadd", d=7, a=7, b=WARP_SHARED, b_uniform=1)
        else:
            self.emit("and.i", d=7, a=7, imm=SHARED_SLOT - op.size.bytes)
            self.emit("iadd", d=7, a=7, b=1)
        if rng.random() < 0.3:
            offset = rng.choice((4, 128, (1 << 23) - 8))
            self.emit("iadd.i", d=7, a=7, imm=offset)
            return {"a": 7, "imm": -offset}
        return {"a": 7}

    def _exchange(self) -> None:
        """Let threads write their own shared slots, read any slot, and perhaps write again."""
        rng = self.rng
        for _ in range(rng.randint(1, 3)):
            size = rng.choice(STORED)
            self.emit(f"st.shared.b{8 * size.bytes}", a=1, imm=rng.randrange(0, SHARED_SLOT, size.bytes),
                      d=self._data(size.registers), **self._guard())
        self._warp_scatter()
        self.emit(f"bar.pp.{rng.randrange(16)}", live=ALL_LIVE)
        for _ in range(rng.randint(1, 3)):
            size = rng.choice(list(Size))
            d = self._data(size.registers)
            reach = (1 << self._shared_slots.bit_length() - 1) - size.bytes & -size.bytes
            self.emit("and.i", d=7, a=self._data(), imm=reach)
            self.emit(f"ld.shared.{size.name.lower()}", d=d, a=7, **self._guard())
        if "atomic" not in self.s.without:
            imm = self._shared_slots + rng.randrange(0, COMMON_BYTES, 4)
            self.emit("ld.shared.b32", d=self._data(), no_base=1, imm=imm, **self._guard())
        self.emit(f"bar.pp.{rng.randrange(16)}", live=ALL_LIVE)

    def _warp_scatter(self) -> None:
        """Store to data-dependent places of the warp's own shared memory, where lanes may collide."""
        size = self.rng.choice(STORED)
        self.emit("and.i", d=7, a=self._data(), imm=self.g.warp_size * SHARED_SLOT - size.bytes)
        self.emit("s2r", d=COUNTERS[2], imm=Special.WARPID)
        self.emit("imul.lo.i", d=COUNTERS[2], a=COUNTERS[2], imm=self.g.warp_size * SHARED_SLOT)
        self.emit("iadd", d=7, a=7, b=COUNTERS[2])
        self.emit(f"st.shared.b{8 * size.bytes}", a=7, d=self._data(size.registers), **self._guard())
