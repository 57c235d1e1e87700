"""Control flow of a warp without its vector registers: a reference model of one warp.

Uniform registers have values; what is loaded into them depends on the address only (`stored`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from caesura.hw.arch.geometry import PC_NONE, PREDICATES, Geometry
from caesura.hw.arch.isa.opcodes import PT, VECTOR_WORDS, Unit
from caesura.hw.arch.isa.words import Instruction

__all__ = ["ReferenceWarp", "stored"]

_SILENT = ("nop", "pp", "pp.div")
_WORD = 1 << 32
_UNIFORM_VALUES = {
    "umov": lambda a, b, c: b, "uiadd": lambda a, b, c: a + b, "uxor": lambda a, b, c: a ^ b,
    "uimad.lo": lambda a, b, c: a * b + c, "ushr.u": lambda a, b, c: a >> b if b < 32 else 0,
    "usetp.lt.u": lambda a, b, c: a < b, "usetp.ne": lambda a, b, c: a != b}
"""Those of the uniform data path that `random_control_flow` uses; the immediate forms are called the same."""


def stored(address: int) -> int:
    """Return the word that ``uldp`` or ``uld.const`` finds at a byte offset."""
    return int.from_bytes(hashlib.sha256(f"const {address}".encode()).digest()[:4], "little") % 2**(address // 4 % 33)


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
    trap_base : int
        Where the trap vectors of the code begin, 0 if it has none.
    """

    def __init__(self, g: Geometry, code: Sequence[Instruction], key: tuple, launched: int, trap_base: int = 0):
        self.trap_base = trap_base
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

    @property
    def routine(self) -> bool:
        """It is in a preemption routine, or at a trap vector."""
        return 0 < self.trap_base <= self.pc

    def trap(self) -> None:
        """Go on at the trap vector of the next instruction."""
        assert not self.routine and len(self.stack) < self.g.stack_depth
        assert self.code[self.pc].op.name not in ("pp", "pp.div", "exit") and self.code[self.pc].op.barrier is None
        self.stack.append([self.trap_base + VECTOR_WORDS * self.pc, self.active, self.pc])

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
            return stored(self.immediate(instruction))
        if op.name == "call":
            return self.pc + 1
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
        elif op.name in ("call", "bru"):
            self.jump(get("target") if op.name == "call" else self.uniform(get("a")))
        else:
            if op.name == "exit":
                self.live &= ~mask
            elif op.barrier is not None:
                self.waiting, self.barrier, self.live_vector = True, op.barrier, get("live")
                self.barriers += 1
            elif op.name == "pp" or (op.name == "pp.div" and len(self.stack) > 1 + self.routine):
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
