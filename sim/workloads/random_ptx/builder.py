"""Registers, instructions and conditions of a random PTX kernel under construction."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from .operations import COMPARISONS, compare, signed
from .tree import Guard, Line, Node, Thread, Writer
from .typed import through_floats

__all__ = ["NAME", "Settings", "Builder"]

NAME = "random_kernel"
IMMEDIATES = (0, 1, 2, 7, 31, 32, 33, 63, 64, 255, -1, -2, -32768, 65535, 0x7FFF_FFFF, -0x8000_0000, 0x5555_5555)


@dataclass(frozen=True)
class Settings:
    """Settings of a `RandomKernel`, which documents them."""

    variables: int
    wide: int
    statements: int
    depth: int
    barriers: bool
    exits: bool
    heavy: bool
    nested_leaves: bool
    floats: bool
    unstructured: bool
    divisions: bool
    portable: bool


class Builder:
    """Appends statements to `nodes`, and names registers.

    Attributes
    ----------
    narrow, wide, flags : list of str
        Registers that hold the kernel's 32-bit, 64-bit and predicate values throughout.
    slot, tid, gid : str
        Registers with the address of the thread's output slot, and with its number in the TB and in the grid.
    nodes : list of Node
    ended : bool
        Some threads may have ended, so no barrier may follow.
    """

    def __init__(self, rng: random.Random, settings: Settings, block_threads: int):
        self.rng, self.s, self.block_threads = rng, settings, block_threads
        self.counts = {"%r": 0, "%rd": 0, "%rs": 0, "%f": 0, "%p": 0}
        self.narrow = [self.fresh("%r") for _ in range(settings.variables)]
        self.wide = [self.fresh("%rd") for _ in range(settings.wide)]
        self.flags = [self.fresh("%p") for _ in range(3)]
        self.slot = self.fresh("%rd")
        self.tid = self.fresh("%r")
        self.gid = self.fresh("%r")
        self.nodes: list[Node] = []
        self._set_before: set[str] = set()
        self.ended = False

    def fresh(self, prefix: str) -> str:
        """Return a fresh register."""
        self.counts[prefix] += 1
        return f"{prefix}{self.counts[prefix]}"

    def module(self, nodes: Sequence[Node], shared_bytes: int) -> str:
        """Return the module's text."""
        out = Writer()
        for node in nodes:
            node.write(out)
        types = {"%p": ".pred", "%rs": ".b16", "%f": ".f32", "%r": ".b32", "%rd": ".b64"}
        declarations = [f"\t.reg {types[p]} \t{p}<{n + 1}>;" for p, n in self.counts.items() if n]
        if shared_bytes:
            declarations.append(f"\t.shared .align 16 .b8 exchange[{shared_bytes}];")
        return "\n".join([
            ".version 8.0", ".target sm_80", ".address_size 64", "", f".visible .entry {NAME}(",
            f"\t.param .u64 {NAME}_param_0,", f"\t.param .u64 {NAME}_param_1,", f"\t.param .u32 {NAME}_param_2",
            ")", "{", *declarations, "", *out.lines, "\tret;", "", "}", ""])

    def emit(self, text: str, effect: Callable[[Thread], None] | None = None, guard: Guard | None = None) -> None:
        """Append an instruction."""
        before, text, after = through_floats(text, self.fresh, guard is not None) if self.s.portable else ([], text, [])
        self.nodes += [Line(line) for line in before]
        self.nodes.append(Line(text, effect, guard))
        self.nodes += [Line(line) for line in after]

    def compute(self, opcode: str, dest: str, bits: int, sources: Sequence[tuple[str | int, int]],
                meaning: Callable[..., int], guard: Guard | None = None) -> None:
        """Append an instruction whose `meaning` gives the `bits`-wide result; sources are (operand, bits)."""
        def effect(thread: Thread) -> None:
            values = (thread.get(operand, width) for operand, width in sources)
            thread.values[dest] = meaning(*values) & (1 << bits) - 1

        self.emit(f"{opcode} \t{', '.join([dest, *(str(x) for x, _ in sources)])}", effect, guard)

    def nested(self, build: Callable[[], None]) -> list[Node]:
        """Return the statements that `build` appends."""
        outer, self.nodes = self.nodes, []
        build()
        inner, self.nodes = self.nodes, outer
        return inner

    def _masked(self, register: str, mask: int) -> str:
        index = self.fresh("%r")
        self.compute("and.b32", index, 32, [(register, 32), (mask, 32)], lambda a, b: a & b)
        return index

    def _set_flag(self, opcode: str, flag: str, bits: int, a: str, b: str | int, test: str, is_signed: bool,
                  guard: Guard | None = None) -> None:
        def effect(thread: Thread) -> None:
            x, y = thread.get(a, bits), thread.get(b, bits)
            if is_signed:
                x, y = signed(x, bits), signed(y, bits)
            thread.values[flag] = int(compare(test, x, y))

        self.emit(f"{opcode} \t{flag}, {a}, {b}", effect, guard)

    def _compare(self, flag: str, sparse: bool = False) -> None:
        """Set a flag from a comparison; few threads pass a `sparse` comparison."""
        rng = self.rng
        if sparse:
            self._set_flag("setp.eq.s32", flag, 32, self._hash(7), rng.randrange(8), "eq", True)
            return
        test, letter, bits = rng.choice(COMPARISONS), rng.choice("su"), rng.choice((32, 32, 64))
        a = rng.choice(self.narrow if bits == 32 else self.wide)
        guard = self._guard() if flag in self.flags and flag in self._set_before else None
        self._set_flag(f"setp.{test}.{letter}{bits}", flag, bits, a, self._operand(bits), test, letter == "s", guard)
        self._set_before.add(flag)

    def _bit(self, flag: str) -> None:
        self._set_flag("setp.ne.s32", flag, 32, self._hash(1), 0, "ne", True)

    def _hash(self, mask: int) -> str:
        """Return a register with a number from 0 to `mask` that differs between threads."""
        rng, x, y, z, d = self.rng, *(self.fresh("%r") for _ in range(4))
        self.compute("mul.lo.s32", x, 32, [(self.gid, 32), (rng.getrandbits(31) | 1, 32)], lambda a, b: a * b)
        self.compute("xor.b32", y, 32, [(x, 32), (rng.choice(self.narrow), 32)], lambda a, b: a ^ b)
        self.compute("shr.u32", z, 32, [(y, 32), (rng.randrange(8, 28), 32)], lambda a, b: a >> b)
        self.compute("and.b32", d, 32, [(z, 32), (mask, 32)], lambda a, b: a & b)
        return d

    def _operand(self, bits: int = 32) -> str | int:
        if self.rng.random() < 0.3:
            value = self.rng.choice(IMMEDIATES) if self.rng.random() < 0.7 else self.rng.getrandbits(31)
            return value if bits == 32 or self.rng.random() < 0.7 else value * 0x1_0000_0003
        return self.rng.choice(self.narrow if bits == 32 else self.wide)

    def _guard(self) -> Guard | None:
        return (self.rng.choice(self.flags), self.rng.random() < 0.5) if self.rng.random() < 0.2 else None

    def _parameter_n(self, register: str) -> None:
        def effect(thread: Thread) -> None:
            thread.values[register] = thread.values["n"]

        self.emit(f"ld.param.u32 \t{register}, [{NAME}_param_2]", effect)
