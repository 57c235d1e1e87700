"""Control flow of a warp without its vector registers: a reference model of one warp, and random structured programs.

Uniform registers have values; what is loaded into them depends on the address only (`stored`).
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Sequence

from caesura.hw.arch.encoding import Instruction
from caesura.hw.arch.geometry import PC_NONE, PREDICATES, Geometry
from caesura.hw.arch.isa import PT, Unit

__all__ = ["ReferenceWarp", "random_program", "stored"]

_SILENT = ("nop", "pp", "pp.div")
_WORD = 1 << 32
_UNIFORM_VALUES = {
    "umov": lambda a, b, c: b, "uiadd": lambda a, b, c: a + b, "uxor": lambda a, b, c: a ^ b,
    "uimad.lo": lambda a, b, c: a * b + c, "ushr.u": lambda a, b, c: a >> b if b < 32 else 0,
    "usetp.lt.u": lambda a, b, c: a < b, "usetp.ne": lambda a, b, c: a != b}
"""Those of the uniform data path that random programs have; the immediate forms are called the same."""


def stored(kind: str, address: int) -> int:
    """Return the word that ``uldp`` (`kind` is "param") or ``uld.const`` ("const") finds at a byte offset."""
    return int.from_bytes(hashlib.sha256(f"{kind} {address}".encode()).digest()[:4], "little") % 2**(address // 4 % 33)


class ReferenceWarp:
    """Control state of one warp, one instruction at a time.

    Parameters
    ----------
    g : Geometry
    code : sequence of Instruction
    key : tuple
        Identifies the warp; seeds its predicates.
    launched : int
        Lanes that hold a thread.
    """

    def __init__(self, g: Geometry, code: Sequence[Instruction], key: tuple, launched: int):
        self.g, self.code, self.key, self.launched = g, code, key, launched
        self.live = launched
        self.stack = [[0, launched, PC_NONE]]
        self.predicates = [0] * PREDICATES
        self.uniforms: dict[int, int] = {}
        self.waiting = False
        self.barrier = self.barriers = self.live_vector = self.retired = 0

    @property
    def pc(self) -> int:
        """PC of the top of the stack."""
        return self.stack[-1][0]

    @property
    def active(self) -> int:
        """Effective mask of the top of the stack."""
        return self.stack[-1][1] & self.live

    def predicate(self, number: int, negated: int) -> int:
        """Return a predicate operand, a bit a lane."""
        value = (1 << self.g.warp_size) - 1 if number == PT else self.predicates[number]
        return value ^ ((1 << self.g.warp_size) - 1 if negated else 0)

    def catch_up(self, pc: int) -> None:
        """Pass silent instructions until `pc` is reached, or one that is not silent."""
        while self.stack and self.pc != pc and self.code[self.pc].op.name in _SILENT:
            self.jump(self.pc + 1)

    def jump(self, pc: int) -> None:
        """Continue at `pc`, and pop finished entries."""
        self.stack[-1][0] = pc
        while self.stack and (not self.active or self.pc == self.stack[-1][2]):
            self.stack.pop()

    def uniform(self, number: int) -> int:
        """Return a uniform register."""
        return self.uniforms.get(number, 0)

    def immediate(self, instruction: Instruction) -> int:
        """Return the immediate with which `instruction` leaves the issue stage, unsigned."""
        get = instruction.get
        if get("b_uniform"):
            return self.uniform(get("b"))
        based = instruction.op.size is not None and instruction.uniform_reads
        return (get("imm") + (self.uniform(get("a")) if based else 0)) % _WORD

    def scalar(self, instruction: Instruction) -> int:
        """Return the result of an instruction that writes a uniform register, or of a uniform comparison."""
        op, get = instruction.op, instruction.get
        if op.unit is Unit.CONSTANT:
            return stored("const", self.immediate(instruction))
        if op.name == "uldp":
            return stored("param", get("imm"))
        b = get("imm") if op.name.endswith(".i") else self.uniform(get("b"))
        return _UNIFORM_VALUES[op.name.removesuffix(".i")](self.uniform(get("a")), b, self.uniform(get("c"))) % _WORD

    def step(self) -> tuple[int, int, int, int]:
        """Execute the instruction at the PC; return its PC, opcode, mask, and the value of the register it writes.

        Only of a predicate or a uniform register; 0 if it writes none.
        """
        pc, instruction = self.pc, self.code[self.pc]
        op, get = instruction.op, instruction.get
        mask = self.active
        if instruction.guard is not None:
            mask &= self.predicate(*instruction.guard)
        self.retired += 1
        value = 0
        for number in instruction.predicate_writes:
            seed = hashlib.sha256(repr((self.key, self.retired)).encode()).digest()
            new = int.from_bytes(seed[:4], "little")
            if op.unit is Unit.UNIFORM:
                new = -self.scalar(instruction)
            value = self.predicates[number] & ~mask | new & mask
            self.predicates[number] = value
        if instruction.uniform_writes and mask:
            self.uniforms[get("d")] = value = self.scalar(instruction)
        if op.name == "bra":
            self._branch(mask, get("target"), get("reconv"))
        else:
            if op.name == "exit":
                self.live &= ~mask
            elif op.barrier is not None:
                self.waiting, self.barrier, self.live_vector = True, op.barrier, get("live")
                self.barriers += 1
            elif op.name == "pp" or (op.name == "pp.div" and len(self.stack) > 1):
                self.live_vector = get("live")
            self.jump(pc + 1)
        return pc, op.code, mask, value

    def _branch(self, taken: int, target: int, reconv: int) -> None:
        pc, mask, top_reconv = self.stack[-1]
        rest, fall = self.active & ~taken, pc + 1
        if not taken or not rest:
            return self.jump(target if taken else fall)
        if top_reconv == reconv:
            self.stack.pop()
        else:
            self.stack[-1][0] = reconv
        self.stack += [[p, m, reconv] for p, m in ((fall, rest), (target, taken)) if p != reconv]
        self.jump(self.pc)


def random_program(g: Geometry, seed: int, size: int = 40, barriers: bool = True) -> list[Instruction]:
    """Return a random structured program: nested ifs and loops, guarded exits, all kinds of instructions.

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
    rng = random.Random(seed)
    make = Instruction.make
    code: list[Instruction] = []
    registers = min(g.regs_per_thread, 8)
    left = size

    def guard():
        return {"guard": rng.randrange(PREDICATES), "guard_not": rng.randrange(2)} if rng.random() < 0.3 else {}

    def register():
        return rng.randrange(registers)

    def simple():
        kind = rng.randrange(16)
        if kind < 3:
            name = rng.choice(("iadd", "imad.lo", "shf.l"))
            code.append(make(name, d=register(), a=register(), b=register(), c=register() if name != "iadd" else 0,
                             **guard()))
        elif kind < 5:
            code.append(make("setp.lt.s", pd=rng.randrange(8), a=register(), b=register(), **guard()))
        elif kind == 5:
            code.append(make("pxor", pd=rng.randrange(7), pa=rng.randrange(8), pb=rng.randrange(8),
                             pa_not=rng.randrange(2), pb_not=rng.randrange(2), **guard()))
        elif kind == 6:
            code.append(make("isubc", d=register(), pd=rng.randrange(7), a=register(), b=register(),
                             pa=rng.randrange(7), **guard()))
        elif kind == 7:
            space, suffix = rng.choice(("global", "shared")), rng.choice(("b32", "b64", "b128"))
            group = {"b32": 1, "b64": 2, "b128": 4}[suffix]
            code.append(make(f"{rng.choice(('ld', 'st'))}.{space}.{suffix}", d=register() // group * group,
                             a=register(), no_base=rng.randrange(2), imm=4, **guard()))
        elif kind == 8:
            point()
        elif kind in (9, 10):
            scalar()
        elif kind == 11:
            code.append(make("iadd", d=register(), a=register(), b=uniform(), b_uniform=1, **guard()))
        elif kind == 12:
            name = rng.choice(("ld.global.b32", "st.shared.b32", "ld.local.b32", "ld.const.b32"))
            code.append(make(name, d=register(), a=uniform(), base_uniform=1, imm=rng.choice((-4, 64)), **guard()))
        elif kind == 13:
            atomic()
        elif kind == 14:
            beside()
        else:
            code.append(make(rng.choice(("membar", "nop")), **guard()))

    def uniform():
        return rng.randrange(4)

    def scalar():
        name = rng.choice(("umov", "uiadd", "uiadd.i", "uimad.lo", "uxor.i", "ushr.u", "usetp.lt.u", "usetp.ne.i",
                           "uldp", "uld.const.b32"))
        fields = {"pd" if "setp" in name else "d": uniform()}
        if name == "uldp":
            fields["imm"] = 4 * rng.randrange(g.param_words)
        elif name == "uld.const.b32":
            fields |= {"a": uniform(), "imm": 4 * rng.randrange(64)}
        elif name.endswith(".i"):
            fields |= {"a": uniform(), "imm": rng.choice((0, 1, 31, 0xFFFF_FFFF, rng.getrandbits(32)))}
        else:
            fields |= {"a": uniform(), "b": uniform(), "c": uniform()}
        code.append(make(name, **fields, **guard()))

    def atomic():
        name = rng.choice(("atom.global.add.b32", "red.global.fadd.b32", "atom.global.cas.b64", "atom.shared.exch.b32",
                           "red.shared.or.b64"))
        wide = 2 if name.endswith("64") else 1
        fields = {x: register() // wide * wide for x in ("dbc" if "cas" in name else "db" if "atom" in name else "b")}
        code.append(make(name, a=register(), imm=rng.choice((-8, 16)), **fields, **guard()))

    def beside():
        pairs = {x: register() // 2 * 2 for x in "dabc"}
        code.append(rng.choice((
            make("dfma.rn", **pairs, **guard()), make("d2f.rz", d=register(), b=pairs["b"], **guard()),
            make("dsetp.lt", pd=rng.randrange(PREDICATES), a=pairs["a"], b=pairs["b"], **guard()),
            make("mufu.rcp", d=register(), b=register(), **guard()), make("match", d=register(), a=register()),
            make("shfl.up", d=register(), pd=rng.randrange(PREDICATES), a=register(), b=register(), c=register()),
            make("shfl.idx.i", d=register(), a=register(), imm=3, **guard()))))

    def point():
        code.append(make("pp", live=rng.getrandbits(54)))
        code.append(make("pp.div", live=rng.getrandbits(54)))

    def branch_to_patch(**fields):
        code.append(make("bra", **fields))
        return len(code) - 1

    def patch(place, target, reconv):
        code[place] = make("bra", **(code[place].fields | {"target": target, "reconv": reconv}))

    def block(depth):
        nonlocal left
        for _ in range(rng.randrange(1, 5)):
            if left <= 0:
                return
            left -= 1
            choice = rng.random()
            if depth < 4 and choice < 0.18:
                branch(depth)
            elif depth < 4 and choice < 0.28:
                loop(depth)
            elif choice < 0.31:
                code.append(make("exit", guard=rng.randrange(PREDICATES), guard_not=rng.randrange(2)))
            else:
                simple()

    def branch(depth):
        p = rng.randrange(PREDICATES)
        code.append(make("setp.ne", pd=p, a=register(), b=register()))
        to_else = branch_to_patch(guard=p, guard_not=1)
        block(depth + 1)
        if rng.randrange(2):
            to_end = branch_to_patch()
            patch(to_else, len(code), 0)
            block(depth + 1)
            patch(to_end, len(code), len(code))
            patch(to_else, code[to_else].get("target"), len(code))
        else:
            patch(to_else, len(code), len(code))

    def loop(depth):
        p, start = rng.randrange(PREDICATES), len(code)
        block(depth + 1)
        point()
        code.append(make("setp.ne", pd=p, a=register(), b=register()))
        code.append(make("bra", target=start, reconv=len(code) + 1, guard=p, guard_not=rng.randrange(2)))

    while left > 0:
        block(0)
        if barriers and rng.random() < 0.5:
            code.append(make(f"bar.pp.{rng.randrange(16)}", live=rng.getrandbits(54)))
    code.append(make("exit"))
    return code
