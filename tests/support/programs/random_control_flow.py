"""Random structured programs for the front end: all kinds of instructions, whose results do not matter."""

from __future__ import annotations

import random

from caesura.hw.arch.geometry import PREDICATES, Geometry
from caesura.hw.arch.isa.words import Instruction

__all__ = ["random_program"]

_ROUTINES = 2
_RETURN = 30
"""Uniform register with the return address of the first routine; the others follow."""


class _Builder:
    """A random structured program in the making; the methods append to `code`."""

    def __init__(self, g: Geometry, seed: int, size: int):
        self.rng = random.Random(seed)
        self.code: list[Instruction] = []
        self.registers = min(g.regs_per_thread, 8)
        self.left = size
        self.callable = _ROUTINES
        self.calls: list[tuple[int, int]] = []

    def put(self, name: str, **fields: int) -> None:
        self.code.append(Instruction.make(name, **fields))

    def guard(self) -> dict[str, int]:
        """Return the fields of a guard, of none in most cases."""
        rng = self.rng
        return {"guard": rng.randrange(PREDICATES), "guard_not": rng.randrange(2)} if rng.random() < 0.3 else {}

    def register(self) -> int:
        return self.rng.randrange(self.registers)

    def uniform(self) -> int:
        return self.rng.randrange(4)

    def simple(self) -> None:
        """Append an instruction of any kind that is not a branch."""
        kind = self.rng.randrange(16)
        if kind < 7:
            self.arithmetic(kind)
        elif kind == 7:
            self.access()
        elif kind == 8:
            self.point()
        elif kind in (9, 10):
            self.scalar()
        elif kind in (11, 12):
            self.with_uniform(kind == 12)
        elif kind == 13:
            self.atomic()
        elif kind == 14:
            self.beside()
        else:
            self.put(self.rng.choice(("membar", "nop")), **self.guard())

    def arithmetic(self, kind: int) -> None:
        """Append an operation of the lanes on registers and predicates; `kind` from 0 to 6."""
        rng, register = self.rng, self.register
        if kind < 3:
            name = rng.choice(("iadd", "imad.lo", "shf.l"))
            self.put(name, d=register(), a=register(), b=register(), c=register() if name != "iadd" else 0,
                     **self.guard())
        elif kind < 5:
            self.put("setp.lt.s", pd=rng.randrange(8), a=register(), b=register(), **self.guard())
        elif kind == 5:
            self.put("pxor", pd=rng.randrange(7), pa=rng.randrange(8), pb=rng.randrange(8), pa_not=rng.randrange(2),
                     pb_not=rng.randrange(2), **self.guard())
        else:
            self.put("isubc", d=register(), pd=rng.randrange(7), a=register(), b=register(), pa=rng.randrange(7),
                     **self.guard())

    def access(self) -> None:
        """Append a load or a store, of one to four registers."""
        rng = self.rng
        space, suffix = rng.choice(("global", "shared")), rng.choice(("b32", "b64", "b128"))
        group = {"b32": 1, "b64": 2, "b128": 4}[suffix]
        self.put(f"{rng.choice(('ld', 'st'))}.{space}.{suffix}", d=self.register() // group * group,
                 a=self.register(), no_base=rng.randrange(2), imm=4, **self.guard())

    def with_uniform(self, address: bool) -> None:
        """Append an operation of the lanes with a uniform register as operand b, or as `address`."""
        if not address:
            self.put("iadd", d=self.register(), a=self.register(), b=self.uniform(), b_uniform=1, **self.guard())
            return
        name = self.rng.choice(("ld.global.b32", "st.shared.b32", "ld.local.b32", "ld.const.b32"))
        self.put(name, d=self.register(), a=self.uniform(), base_uniform=1, imm=self.rng.choice((-4, 64)),
                 **self.guard())

    def scalar(self) -> None:
        """Append an instruction of the uniform data path."""
        rng, uniform = self.rng, self.uniform
        name = rng.choice(("umov", "uiadd", "uiadd.i", "uimad.lo", "uxor.i", "ushr.u", "usetp.lt.u", "usetp.ne.i",
                           "uldp", "uld.const.b32"))
        fields = {"pd" if "setp" in name else "d": uniform()}
        if name == "uldp":
            fields["imm"] = 4 * rng.randrange(64)
        elif name == "uld.const.b32":
            fields |= {"a": uniform(), "imm": 4 * rng.randrange(64)}
        elif name.endswith(".i"):
            fields |= {"a": uniform(), "imm": rng.choice((0, 1, 31, 0xFFFF_FFFF, rng.getrandbits(32)))}
        else:
            fields |= {"a": uniform(), "b": uniform(), "c": uniform()}
        self.put(name, **fields, **self.guard())

    def atomic(self) -> None:
        name = self.rng.choice(("atom.global.add.b32", "red.global.fadd.b32", "atom.global.cas.b64",
                                "atom.shared.exch.b32", "red.shared.or.b64"))
        wide = 2 if name.endswith("64") else 1
        words = "dbc" if "cas" in name else "db" if "atom" in name else "b"
        fields = {x: self.register() // wide * wide for x in words}
        self.put(name, a=self.register(), imm=self.rng.choice((-8, 16)), **fields, **self.guard())

    def beside(self) -> None:
        """Append an instruction of the f64, special-function or exchange unit."""
        rng, make, register, guard = self.rng, Instruction.make, self.register, self.guard
        pairs = {x: register() // 2 * 2 for x in "dabc"}
        self.code.append(rng.choice((
            make("dfma.rn", **pairs, **guard()), make("d2f.rz", d=register(), b=pairs["b"], **guard()),
            make("dsetp.lt", pd=rng.randrange(PREDICATES), a=pairs["a"], b=pairs["b"], **guard()),
            make("mufu.rcp", d=register(), b=register(), **guard()), make("match", d=register(), a=register()),
            make("shfl.up", d=register(), pd=rng.randrange(PREDICATES), a=register(), b=register(), c=register()),
            make("shfl.idx.i", d=register(), a=register(), imm=3, **guard()))))

    def point(self) -> None:
        """Append a preemption point."""
        self.put("pp", live=self.rng.getrandbits(54))
        self.put("pp.div", live=self.rng.getrandbits(54))

    def barrier(self) -> None:
        self.put(f"bar.pp.{self.rng.randrange(16)}", live=self.rng.getrandbits(54))

    def branch_to_patch(self, **fields: int) -> int:
        """Append a branch whose target is not known yet; return its PC."""
        self.put("bra", **fields)
        return len(self.code) - 1

    def patch(self, place: int, target: int, reconv: int) -> None:
        """Give the branch at PC `place` its target."""
        self.code[place] = Instruction.make("bra", **(self.code[place].fields | {"target": target, "reconv": reconv}))

    def block(self, depth: int) -> None:
        """Append some statements, `depth` branches and loops deep, as long as any are left."""
        rng = self.rng
        for _ in range(rng.randrange(1, 5)):
            if self.left <= 0:
                return
            self.left -= 1
            choice = rng.random()
            if depth < 4 and choice < 0.18:
                self.branch(depth)
            elif depth < 4 and choice < 0.28:
                self.loop(depth)
            elif self.callable and choice < 0.36:
                self.call()
            elif choice < 0.39:
                self.put("exit", guard=rng.randrange(PREDICATES), guard_not=rng.randrange(2))
            else:
                self.simple()

    def call(self) -> None:
        """Append a call of one of the routines that may be called here."""
        routine = self.rng.randrange(self.callable)
        self.calls.append((len(self.code), routine))
        self.put("call", d=_RETURN + routine, target=0)

    def routines(self) -> None:
        """Append the routines, which may diverge and call those before them, and give the calls their targets."""
        starts = []
        for routine in range(_ROUTINES):
            starts.append(len(self.code))
            self.callable, self.left = routine, 4
            self.block(1)
            self.put("bru", a=_RETURN + routine)
        for place, routine in self.calls:
            self.code[place] = Instruction.make("call", d=_RETURN + routine, target=starts[routine])

    def branch(self, depth: int) -> None:
        """Append an ``if``, half of the time with an ``else``."""
        code, p = self.code, self.rng.randrange(PREDICATES)
        self.put("setp.ne", pd=p, a=self.register(), b=self.register())
        to_else = self.branch_to_patch(guard=p, guard_not=1)
        self.block(depth + 1)
        if self.rng.randrange(2):
            to_end = self.branch_to_patch()
            otherwise = len(code)
            self.block(depth + 1)
            self.patch(to_end, len(code), len(code))
            self.patch(to_else, otherwise, len(code))
        else:
            self.patch(to_else, len(code), len(code))

    def loop(self, depth: int) -> None:
        """Append a loop that each lane leaves with a probability of about one half a turn."""
        p, start = self.rng.randrange(PREDICATES), len(self.code)
        self.block(depth + 1)
        self.point()
        self.put("setp.ne", pd=p, a=self.register(), b=self.register())
        self.put("bra", target=start, reconv=len(self.code) + 1, guard=p, guard_not=self.rng.randrange(2))


def random_program(g: Geometry, seed: int, size: int = 40, barriers: bool = True) -> list[Instruction]:
    """Return a random structured program: nested ifs and loops, routines, guarded exits, all kinds of instructions.

    Loops end with probability one. Barriers stand where all live lanes are together.

    Parameters
    ----------
    g : Geometry
    seed : int
    size : int
        Statements at the outermost level and below, roughly.
    barriers : bool
        Have some.
    """
    program = _Builder(g, seed, size)
    while program.left > 0:
        program.block(0)
        if barriers and program.rng.random() < 0.5:
            program.barrier()
    program.put("exit")
    program.routines()
    return program.code
