"""Random address arithmetic in PTX, with the values that its accesses read and write.

Each thread has a slot of `SLOT` bytes in each memory, and reads and changes only its slot. Some threads read the first
slot of a table of constants. An address is linear in the thread's number. Random steps of 32 and of 64 bits build it.
Constants far beyond the memory cancel modulo 2**32, the size of an address (docs/ptx.md).
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field

__all__ = ["RandomAddresses", "SLOT"]

SLOT = 64
"""Bytes per thread in each memory."""
_WORD = (1 << 32) - 1
_EDGES = (1, 8, 768, 6144, 4095, 1 << 16, (1 << 23) - 1, 1 << 23, (1 << 23) + 8, 1 << 24, (1 << 31) - 8, 1 << 31)
_ATOMICS: dict[str, Callable[[int, int], int]] = {
    "add": lambda old, x: old + x, "and": lambda old, x: old & x, "or": lambda old, x: old | x,
    "xor": lambda old, x: old ^ x, "exch": lambda old, x: x, "max": max, "min": min}
_MEMORIES = ("global", "shared", "local")


def _constant(rng: random.Random) -> int:
    value = rng.choice((rng.choice(_EDGES), rng.choice(_EDGES), rng.getrandbits(rng.randrange(1, 32))))
    return value if rng.random() < 0.5 else -value


@dataclass
class RandomAddresses:
    """A kernel of random accesses.

    Parameters
    ----------
    seed : int
    threads : int
        Number of threads of its only thread block.
    accesses : int

    Attributes
    ----------
    text : str
        The kernel ``k(MEMORY, OUT)``. ``MEMORY`` has the initial ``threads`` slots. Each thread puts a row of `row`
        bytes into ``OUT``. A row has a u64 for each access (the value read, 0 for none), then the thread's slots of the
        memories.
    memory : bytes
        Initial content of the slots of every memory, and of the constants.
    expected : list of bytes
        Expected row of each thread.
    """

    seed: int
    threads: int = 32
    accesses: int = 24
    text: str = field(init=False)
    memory: bytes = field(init=False)
    expected: list[bytes] = field(init=False)

    def __post_init__(self):
        rng = self._rng = random.Random(self.seed)
        self.memory = rng.randbytes(self.threads * SLOT)
        self._slots = {space: [bytearray(self.memory[i * SLOT:(i + 1) * SLOT]) for i in range(self.threads)]
                       for space in (*_MEMORIES, "const")}
        self._results: list[list[int]] = []
        body = [self._access(k) for k in range(self.accesses)]
        self.text = self._kernel(body)
        self.expected = [b"".join((*(row[i].to_bytes(8, "little") for row in self._results),
                                   *(self._slots[space][i] for space in _MEMORIES))) for i in range(self.threads)]

    @property
    def row(self) -> int:
        """Number of bytes of a thread's results."""
        return 8 * self.accesses + len(_MEMORIES) * SLOT

    # An access

    def _access(self, k: int) -> str:
        rng = self._rng
        space = rng.choice((*_MEMORIES, "global", "const"))
        generic = rng.random() < 0.3
        where = "" if generic else f".{space}"
        kind = rng.choice(("ld", "st", "atom", "red", "red") if space in ("global", "shared") else
                          ("ld", "st") if space == "local" else ("ld",))
        bits = rng.choice((32, 64) if kind in ("atom", "red") else (8, 16, 32, 64))
        count = rng.choice((1, 1, 2, 4)) if kind in ("ld", "st") and bits < 64 else 1
        first = rng.randrange(SLOT * 8 // (bits * count)) * (bits * count // 8)
        offset = rng.choice((0, 0, _constant(rng), _constant(rng))) if rng.random() < 0.8 else -_constant(rng)
        uniform = space == "const" and rng.random() < 0.4
        address, register = self._address(space, generic, first - offset, "%ctaid.x" if uniform else "%i32")
        shown = f"[{register}{offset:+d}]" if offset else f"[{register}]"
        value = rng.getrandbits(bits)
        old = [int.from_bytes(slot[first:first + bits // 8], "little") for slot in self._slots[space]]
        read = [0] * self.threads
        if kind == "ld":
            slots = self._slots[space][:1] * self.threads if uniform else self._slots[space]
            code, read = self._load(where, bits, count, first, shown, slots)
        elif kind == "st":
            code = self._store(where, bits, count, first, shown, space)
        else:
            code = self._atomic(kind, where, bits, first, shown, space, value)
            if kind == "atom":
                read = old
                code += f" mov.u64 %res, {'%x1' if bits == 64 else '%xw'};"
        self._results.append(read)
        done = f" st.global.u64 [%out+{8 * k}], %res;"
        return f"{{ mov.u64 %res, 0; {address} {code}{done} }}"

    def _load(self, where: str, bits: int, count: int, first: int, shown: str,
              slots: list[bytearray]) -> tuple[str, list[int]]:
        letter, size = self._rng.choice("us"), bits // 8
        registers = [f"%x{n + 1}" for n in range(count)]
        vector = f"{{{', '.join(registers)}}}" if count > 1 else registers[0]
        code = f"ld{where}{f'.v{count}' if count > 1 else ''}.{letter}{bits} {vector}, {shown};"
        code += "".join(f" mul.lo.u64 %res, %res, 31; add.u64 %res, %res, {r};" for r in registers)
        read = []
        for slot in slots:
            total = 0
            for n in range(count):
                at = first + n * size
                total = 31 * total + int.from_bytes(slot[at:at + size], "little", signed=letter == "s")
            read.append(total & (1 << 64) - 1)
        return code, read

    def _store(self, where: str, bits: int, count: int, first: int, shown: str, space: str) -> str:
        size = bits // 8
        values = [self._rng.getrandbits(bits) for _ in range(count)]
        code = "".join(f"add.u64 %x{n + 1}, %i64, {value}; " for n, value in enumerate(values))
        registers = [f"%x{n + 1}" for n in range(count)]
        vector = f"{{{', '.join(registers)}}}" if count > 1 else registers[0]
        code += f"st{where}{f'.v{count}' if count > 1 else ''}.u{bits} {shown}, {vector};"
        for i, slot in enumerate(self._slots[space]):
            for n, value in enumerate(values):
                at = first + n * size
                slot[at:at + size] = (value + i & (1 << bits) - 1).to_bytes(size, "little")
        return code

    def _atomic(self, kind: str, where: str, bits: int, first: int, shown: str, space: str, value: int) -> str:
        name = self._rng.choice([x for x in _ATOMICS if kind == "atom" or x != "exch"])
        type = f"u{bits}" if name in ("add", "max", "min") else f"b{bits}"
        source, dest = ("%x2", "%x1") if bits == 64 else ("%w2", "%w1")
        code = f"add.u{bits} {source}, {'%i64' if bits == 64 else '%i32'}, {value}; "
        code += f"{kind}{where}.{name}.{type} {f'{dest}, ' if kind == 'atom' else ''}{shown}, {source};"
        if kind == "atom" and bits == 32:
            code += " cvt.u64.u32 %xw, %w1;"
        mask = (1 << bits) - 1
        for i, slot in enumerate(self._slots[space]):
            old = int.from_bytes(slot[first:first + bits // 8], "little")
            new = _ATOMICS[name](old, value + i & mask) & mask
            slot[first:first + bits // 8] = new.to_bytes(bits // 8, "little")
        return code

    # An address

    def _address(self, space: str, generic: bool, wanted: int, index: str) -> tuple[str, str]:
        """Return statements, and the register that holds ``base + SLOT * index + wanted`` modulo 2**32."""
        rng = self._rng
        wide = generic or space == "global" or rng.random() < 0.5
        base = {"global": "%base"}.get(space, f"%{space[0]}{'g' if generic else ''}{'' if wide else '32'}")
        scale, constant, code = 1, 0, f"mov.u32 %v, {index};"
        for _ in range(rng.randrange(5)):
            step, scale, constant = self._step(32, "%v", scale, constant)
            code += step
        if not wide:
            code += self._last(32, "%v", scale, constant, wanted)
            return code + f" add.u32 %a32, {', '.join(rng.sample(('%v', base), 2))};", "%a32"
        factor = rng.choice([m for m in (1, 2, 4, 8) if abs(scale) * m <= SLOT])
        how = rng.choice(("mul.wide.u32 %a, %v, F;", "mul.wide.s32 %a, %v, F;", "cvt.u64.u32 %a, %v;",
                          "cvt.s64.s32 %a, %v;", "mul.wide.u32 %a, %v, F;"))
        code += " " + how.replace("F", str(factor))
        if "mul" in how:
            scale, constant = scale * factor, constant * factor
        early = rng.random() < 0.3 and scale == SLOT
        if early:
            code += f" add.s64 %a, {', '.join(rng.sample(('%a', base), 2))};"
        for _ in range(rng.randrange(4)):
            step, scale, constant = self._step(64, "%a", scale, constant, early)
            code += step
        code += self._last(64, "%a", scale, constant, wanted)
        return code + ("" if early else f" add.s64 %a, {', '.join(rng.sample(('%a', base), 2))};"), "%a"

    def _step(self, bits: int, reg: str, scale: int, constant: int, fixed: bool = False) -> tuple[str, int, int]:
        rng, k = self._rng, _constant(self._rng)
        kind = rng.choice(("add", "sub") if fixed else ("add", "sub", "mul", "shl", "mad", "rsub"))
        factors = [m for m in (1, 2, 4) if abs(scale) * m <= SLOT]
        m = rng.choice(factors)
        s = f"s{bits}"
        return {"add": (f" add.{s} {reg}, {reg}, {k};", scale, constant + k),
                "sub": (f" sub.{s} {reg}, {reg}, {k};", scale, constant - k),
                "mul": (f" mul.lo.{s} {reg}, {reg}, {m};", scale * m, constant * m),
                "shl": (f" shl.b{bits} {reg}, {reg}, {m.bit_length() - 1};", scale * m, constant * m),
                "mad": (f" mad.lo.{s} {reg}, {reg}, {m}, {k};", scale * m, constant * m + k),
                "rsub": (f" sub.{s} {reg}, {k}, {reg};", -scale, k - constant)}[kind]

    def _last(self, bits: int, reg: str, scale: int, constant: int, wanted: int) -> str:
        """Return code that brings the scale to a slot's, and the constant to the wanted one."""
        rng, code = self._rng, ""
        if scale < 0:
            code, scale, constant = f" neg.s{bits} {reg}, {reg};", -scale, -constant
        factor = SLOT // scale
        code += rng.choice((f" mul.lo.s{bits} {reg}, {reg}, {factor};",
                            f" shl.b{bits} {reg}, {reg}, {factor.bit_length() - 1};"))
        rest = wanted - constant * factor & _WORD
        if bits == 64 and rng.random() < 0.3:
            rest += rng.getrandbits(20) << 32
        elif rng.random() < 0.5:
            rest -= 1 << 32
        return f"{code} add.s{bits} {reg}, {reg}, {rest};"

    def _kernel(self, body: list[str]) -> str:
        words = SLOT // 8
        copies, results = [], []
        for n in range(words):
            copies.append(f"ld.global.u64 %x1, [%slot+{8 * n}]; st.shared.u64 [%mys+{8 * n}], %x1; "
                          f"st.local.u64 [%myl+{8 * n}], %x1;")
            for m, (space, base) in enumerate(zip(_MEMORIES, ("%slot", "%mys", "%myl"), strict=True)):
                results.append(f"ld.{space}.u64 %x1, [{base}+{8 * n}]; "
                               f"st.global.u64 [%out+{8 * self.accesses + m * SLOT + 8 * n}], %x1;")
        lines = "\n    ".join([*copies, *body, *results])
        table = ", ".join(map(str, self.memory))
        return f""".version 8.0
.target sm_75
.address_size 64
.const .align 16 .b8 const_slots[{SLOT * self.threads}] = {{{table}}};
.visible .entry k(.param .u64 MEMORY, .param .u64 OUT)
{{
    .shared .align 16 .b8 shared_slots[{SLOT * self.threads}];
    .local .align 16 .b8 local_slots[{SLOT * self.threads}];
    .reg .b32 %i32, %v, %a32, %w1, %w2, %s32, %l32, %c32;
    .reg .b64 %i64, %base, %slot, %out, %res, %a, %s, %l, %c, %sg, %lg, %cg, %mys, %myl, %x1, %x2, %x3, %x4, %xw;
    ld.param.u64 %base, [MEMORY]; ld.param.u64 %out, [OUT];
    mov.u32 %i32, %tid.x; cvt.u64.u32 %i64, %i32;
    mul.lo.u64 %a, %i64, {self.row}; add.u64 %out, %out, %a;
    mov.u32 %s32, shared_slots; mov.u32 %l32, local_slots; mov.u64 %s, shared_slots; mov.u64 %l, local_slots;
    mov.u32 %c32, const_slots; mov.u64 %c, const_slots;
    cvta.shared.u64 %sg, %s; cvta.local.u64 %lg, %l; cvta.const.u64 %cg, %c;
    mul.lo.u64 %a, %i64, {SLOT}; add.u64 %slot, %base, %a; add.u64 %mys, %s, %a; add.u64 %myl, %l, %a;
    {lines}
    ret;
}}
"""
