"""Random arithmetic, logic and conversions of a PTX kernel."""

from __future__ import annotations

from .builder import Builder
from .operations import BINARY, COMPARISONS, SHIFTS, TERNARY, UNARY, compare, signed
from .tree import Guard, Thread

__all__ = ["Arithmetic"]


class Arithmetic(Builder):
    """Statements that compute."""

    def _narrow(self) -> None:
        rng, dest, guard = self.rng, self.rng.choice(self.narrow), self._guard()
        kind = rng.random()
        a = rng.choice(self.narrow)
        if kind < 0.12:
            opcode = rng.choice(list(UNARY[32]))
            self.compute(opcode, dest, 32, [(a, 32)], UNARY[32][opcode], guard)
        elif kind < 0.6:
            opcode = rng.choice(list(BINARY[32]))
            self.compute(opcode, dest, 32, [(a, 32), (self._operand(), 32)], BINARY[32][opcode], guard)
        elif kind < 0.75:
            opcode = rng.choice(list(SHIFTS[32]))
            amount = rng.choice((self._operand(), rng.randrange(36)))
            self.compute(opcode, dest, 32, [(a, 32), (amount, 32)], SHIFTS[32][opcode], guard)
        elif kind < 0.9:
            opcode = rng.choice(list(TERNARY))
            b, c = rng.choice(self.narrow), self._operand()
            if opcode.startswith("bfe") and isinstance(c, int):
                c &= 255  # the only valid lengths
            self.compute(opcode, dest, 32, [(a, 32), (b, 32), (c, 32)], TERNARY[opcode], guard)
        else:
            self._select(dest, 32, guard)

    def _select(self, dest: str, bits: int, guard: Guard | None) -> None:
        flag = self.rng.choice(self.flags)
        a, b = self.rng.choice(self.narrow if bits == 32 else self.wide), self._operand(bits)

        def effect(thread: Thread) -> None:
            thread.values[dest] = thread.get(a if thread.values[flag] else b, bits)

        self.emit(f"selp.b{bits} \t{dest}, {a}, {b}, {flag}", effect, guard)

    def _wide(self) -> None:
        rng, dest, guard = self.rng, self.rng.choice(self.wide), self._guard()
        kind = rng.random()
        a = rng.choice(self.wide)
        if kind < 0.12:
            opcode = rng.choice(list(UNARY[64]))
            self.compute(opcode, dest, 64, [(a, 64)], UNARY[64][opcode], guard)
        elif kind < 0.5:
            opcode = rng.choice([name for name in BINARY[64] if self.s.heavy or not name.startswith("mul.hi")])
            self.compute(opcode, dest, 64, [(a, 64), (self._operand(64), 64)], BINARY[64][opcode], guard)
        elif kind < 0.65:
            opcode = rng.choice(list(SHIFTS[64]))
            amount = rng.choice((self._operand(), rng.randrange(68)))
            self.compute(opcode, dest, 64, [(a, 64), (amount, 32)], SHIFTS[64][opcode], guard)
        elif kind < 0.8:
            letter = rng.choice("su")
            sources = [(rng.choice(self.narrow), 32), (self._operand(), 32)]

            def product(x: int, y: int, z: int = 0) -> int:
                return (signed(x, 32) * signed(y, 32) if letter == "s" else x * y) + z

            if rng.random() < 0.5:
                self.compute(f"mul.wide.{letter}32", dest, 64, sources, product, guard)
            else:
                self.compute(f"mad.wide.{letter}32", dest, 64, [*sources, (a, 64)], product, guard)
        else:
            self._select(dest, 64, guard)

    def _half(self) -> None:
        """Emit a 16-bit operation on halves of 32-bit values, and widen its result."""
        rng = self.rng
        a, b, d = (self.fresh("%rs") for _ in range(3))
        dest = rng.choice(self.narrow)
        for half in (a, b):
            self.compute("cvt.u16.u32", half, 16, [(rng.choice(self.narrow), 32)], lambda x: x)
        kind = rng.random()
        if kind < 0.2:
            letter = rng.choice("su")
            self.compute(f"mul.wide.{letter}16", dest, 32, [(a, 16), (b, 16)],
                         lambda x, y: signed(x, 16) * signed(y, 16) if letter == "s" else x * y)
            return
        if kind < 0.35:
            def join(thread: Thread) -> None:
                thread.values[dest] = thread.values[b] << 16 | thread.values[a]

            self.emit(f"mov.b32 \t{dest}, {{{a}, {b}}}", join)
            return
        if kind < 0.5:
            opcode = rng.choice(list(SHIFTS[16]))
            amount = self._operand()
            if self.s.portable and isinstance(amount, int):
                amount &= 255  # some assemblers take only the low half of a longer amount
            self.compute(opcode, d, 16, [(a, 16), (amount, 32)], SHIFTS[16][opcode])
        elif kind < 0.6:
            opcode = rng.choice([name for name in UNARY[16] if not name.startswith("cnot")])
            self.compute(opcode, d, 16, [(a, 16)], UNARY[16][opcode])
        else:
            opcode = rng.choice(list(BINARY[16]))
            self.compute(opcode, d, 16, [(a, 16), (b, 16)], BINARY[16][opcode])
        letter = rng.choice("su")
        self.compute(f"cvt.{letter}32.{letter}16", dest, 32, [(d, 16)], lambda x: signed(x, 16) if letter == "s" else x)

    def _convert(self) -> None:
        rng, guard = self.rng, self._guard()
        narrow, wide, letter = rng.choice(self.narrow), rng.choice(self.wide), rng.choice("su")
        bits = rng.choice((8, 16, 32))
        kind = rng.randrange(5)

        def extend(x: int) -> int:
            x &= (1 << bits) - 1
            return signed(x, bits) if letter == "s" else x

        if kind == 0 and bits < 32:
            self.compute(f"cvt.{letter}32.{letter}{bits}", narrow, 32, [(rng.choice(self.narrow), 32)], extend, guard)
        elif kind in (0, 1):
            self.compute(f"cvt.{letter}64.{letter}{bits}", wide, 64, [(rng.choice(self.narrow), 32)], extend, guard)
        elif kind == 2:
            self.compute("cvt.u32.u64", narrow, 32, [(wide, 64)], lambda x: x, guard)
        elif kind == 3:
            low, high = rng.choice(self.narrow), rng.choice(self.narrow)

            def pack(thread: Thread) -> None:
                thread.values[wide] = thread.values[high] << 32 | thread.values[low]

            self.emit(f"mov.b64 \t{wide}, {{{low}, {high}}}", pack, guard)
        else:
            low, high = self.fresh("%r"), rng.choice(self.narrow)

            def unpack(thread: Thread) -> None:
                thread.values[low], thread.values[high] = thread.get(wide), thread.values[wide] >> 32

            self.emit(f"mov.b64 \t{{{low}, {high}}}, {wide}", unpack)
            self.compute("xor.b32", narrow, 32, [(narrow, 32), (low, 32)], lambda a, b: a ^ b, guard)

    def _logic(self, flag: str) -> None:
        rng = self.rng
        name, a, b = rng.choice(("and", "or", "xor", "not")), rng.choice(self.flags), rng.choice(self.flags)
        if rng.random() < 0.3:
            test = rng.choice(COMPARISONS)
            combine = rng.choice(("and", "or", "xor"))
            x, y = rng.choice(self.narrow), rng.choice(self.narrow)

            def combined(thread: Thread) -> None:
                outcome = int(compare(test, signed(thread.get(x), 32), signed(thread.get(y), 32)))
                thread.values[flag] = self._combine(combine, outcome, thread.values[b])

            self.emit(f"setp.{test}.{combine}.s32 \t{flag}, {x}, {y}, {b}", combined, self._guard())
            return
        sources = [(a, 1)] if name == "not" else [(a, 1), (b, 1)]
        self.compute(f"{name}.pred", flag, 1, sources,
                     (lambda p: 1 - p) if name == "not" else (lambda p, q: self._combine(name, p, q)), self._guard())

    def _combine(self, name: str, p: int, q: int) -> int:
        return {"and": p & q, "or": p | q, "xor": p ^ q}[name]
