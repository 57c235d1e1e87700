"""Converts a kernel image for context flashback.

* Registers are live by lane, those of lanes that wait elsewhere included (`preemption.extended_liveness`).
* Constants and parameters can always be read again, and so can special registers but ``%clock``, ``%smid`` and
  ``%nsmid``.
* Local memory belongs to one thread: it can be read again unless a store to it came between.
* Global and shared memory can be read again only if the kernel never writes the space. Machine code does not say which
  loads are volatile, so another thread may have written the word since.
* Results that depend on the set of lanes (votes, shuffles, matches) are not computed again after a guarded ``exit``.
* Barriers, fences and calls are limits: no flashback crosses a call.
"""

from __future__ import annotations

from caesura.hw.arch.geometry import UNIFORMS, Geometry
from caesura.hw.arch.isa.operations import VOLATILE_SPECIALS, Space
from caesura.hw.arch.isa.words import decode

from ..codegen.disassemble import code_labels, instruction_text
from ..image.kernel_image import KernelImage
from ..image.lift import Lifted, lift
from ..ir.kernel import Call, Op, Reg
from ..ir.spec import BY_NAME, is_convergent, is_memory, is_pure, writes_memory, written_spaces
from ..preemption.extended_liveness import body_liveness
from .blocks import Block, Effect, Instruction, Register, RegisterClass
from .costs import WORD_BYTES, Costs
from .program import CodeBlock, Program, loop_depths
from .reversing import reverting

__all__ = ["costs_of", "program", "register"]

_CLASSES = {"R": RegisterClass.VECTOR, "P": RegisterClass.PREDICATE, "U": RegisterClass.SCALAR}
_NOTHING = ("nop", "pp", "pp.div", "trap")
_LANES = "lanes"


def register(reg: Reg) -> Register:
    """Return the register of flashback for a register of the IR (stage ``machine``)."""
    return Register(_CLASSES[reg.kind], reg.index)


def costs_of(geometry: Geometry) -> Costs:
    """Return the costs of a machine."""
    return Costs(geometry.warp_size, geometry.bytes_per_cycle, geometry.memory_latency)


def program(image: KernelImage, geometry: Geometry, diverged: bool = True) -> Program:
    """Return an image, its routines included, for context flashback.

    `Program.occupied_bytes` counts all vector registers and predicates of the kernel, and the uniform registers it
    names.

    Parameters
    ----------
    image : KernelImage
    geometry : Geometry
    diverged : bool
        Whether lanes may wait elsewhere; if not, the plans hold for warps all of whose lanes are active.
    """
    blocks, costs = _code_blocks(lift(image), geometry, diverged), costs_of(geometry)
    scalars = {reg for code in blocks for reg in code.block.register_of if reg.kind is RegisterClass.SCALAR}
    occupied = (image.registers * geometry.vector_bytes + WORD_BYTES * len(scalars)
                + image.predicates * costs.size(Register(RegisterClass.PREDICATE, 0)))
    labels = code_labels(image)
    return Program(image.name, image.source, blocks, occupied, costs,
                   tuple(Register(RegisterClass.SCALAR, number) for number in range(UNIFORMS)),
                   lambda pc: instruction_text(decode(image.code[pc]), labels, image.registers))


def _code_blocks(lifted: Lifted, geometry: Geometry, diverged: bool) -> tuple[CodeBlock, ...]:
    written, start = written_spaces(lifted.kernel), lifted.start
    found = []
    for body in body_liveness(lifted):
        after = {start[label]: tuple(start[to] for to in body.flow.succ[label]) for label in body.flow}
        depths = loop_depths(after)
        for block in body.kernel.blocks:
            waiting = frozenset(map(register, body.waiting[block.label])) if diverged else frozenset()
            live = [frozenset(map(register, gap)) | waiting for gap in body.live.gaps(block)]
            instructions = tuple(_instruction(op, written, geometry) for op in block.ops)
            at = start[block.label]
            found.append(CodeBlock(at, lifted.words[block.label], Block(instructions, tuple(live), waiting), after[at],
                                   depths[at]))
    return tuple(sorted(found, key=lambda code: code.start))


def _instruction(op: Op, written: set[Space], geometry: Geometry) -> Instruction:
    effect, region = _effect(op, written)
    guard = None if op.guard is None or op.guard.reg is None else register(op.guard.reg)
    never = op.guard is not None and op.guard.reg is None and op.guard.negated
    keeps = isinstance(op, Call) and set(op.killed()) != set(op.written())
    uses = [reg for use in op.uses if (reg := use if isinstance(use, Reg) else getattr(use, "reg", None))]
    reverse = reverting(op) if effect is Effect.COMPUTE and not never else None
    return Instruction(
        op.name, tuple(dict.fromkeys(map(register, op.written()))), tuple(dict.fromkeys(map(register, uses))), guard,
        never or keeps, effect, region, None if reverse is None else register(op.dest),
        geometry.memory_latency if effect is Effect.READ and is_memory(op) else geometry.alu_latency, op)


def _effect(op: Op, written: set[Space]) -> tuple[Effect, str]:
    if is_memory(op):
        space = BY_NAME[op.name].space
        assert space is not None
        if BY_NAME[op.name].yields:
            return Effect.LIMIT, ""
        if writes_memory(op):
            return Effect.WRITE, space.name
        if space not in written:
            return Effect.COMPUTE, ""
        return (Effect.READ, space.name) if space is Space.LOCAL else (Effect.FIXED, "")
    if op.name in ("s2r", "us2r"):
        return (Effect.FIXED if op.imm in VOLATILE_SPECIALS else Effect.COMPUTE), ""
    if op.name == "exit":
        return Effect.WRITE, _LANES
    if is_convergent(op):
        return Effect.READ, _LANES
    if op.name in _NOTHING:
        return Effect.FIXED, ""
    return (Effect.COMPUTE if is_pure(op) else Effect.LIMIT), ""
