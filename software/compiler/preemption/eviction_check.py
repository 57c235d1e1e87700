"""A check at a kernel's entry: every thread block loads a flag and leaves if it is set (lazy eviction: REEF, 4.1).

Who takes work back sets the flag; what is buffered behind the work then begins, finds it set, and leaves before it has
done anything. Two hidden words of the parameters (`ir.variables.Binding`, kind ``"eviction"``) say where the flag is,
and where a thread block that leaves writes what it has found: to the hardware it has completed like any other, and so
a launch that has finished is known to be whole or not.

The flag may be set while a thread block begins, and each warp loads it for itself. A warp that goes on alone would miss
what the others were to do. So

1. where warps of a thread block have nothing to do with each other, because the kernel has no barriers, fences and
   shared memory, each warp decides for itself. The kernel has to be idempotent anyway: what such a warp does is done
   again;
2. elsewhere a warp that finds the flag set writes the first word of shared memory, which is zero when a thread block
   begins. Between two barriers all warps read it, and all leave or none: the second keeps a warp that goes on from
   writing the word while another one still has to read it. If none leaves, shared memory is as it was.

All lanes of a warp read one word with one request, so they agree. The check has a block of its own, before anything is
live, so it takes no register that the kernel does not have; guards, not a branch, so it takes no entry of the SIMT
stack.
"""

from __future__ import annotations

from ..ir.kernel import Block, Imm, Kernel, Op, Pred, Reg, Terminator
from ..ir.variables import EVICTION, Binding, eviction_words

__all__ = ["check_eviction"]

AGREED = 0
"""Address of the word of shared memory by which the warps of a thread block agree."""
_BARRIER = "bar.pp.0"


def check_eviction(kernel: Kernel) -> None:
    """Let every thread block of `kernel` (stage ``wide``) load the flag, and leave if it is set, before all else."""
    if eviction_words(kernel.bindings):
        return
    words = Binding(EVICTION, "", _end_of_parameters(kernel))
    meet = _warps_meet(kernel)
    kernel.bindings = (*kernel.bindings, words)
    where, value, found = kernel.fresh("r"), kernel.fresh("r"), kernel.fresh("p")
    ops = [Op("ldp", (where,), (), imm=words.offset),
           Op("ld.global.b32", (value,), (where,), volatile=True),
           Op("setp.ne", (found,), (value, Imm(0)))]
    if meet:
        value, found = _agree(kernel, ops, value, found)
    record = kernel.fresh("r")
    ops += [Op("ldp", (record,), (), imm=words.offset + 4),
            Op("st.global.b32", (), (record, value), guard=Pred(found), volatile=True),
            Op("exit", guard=Pred(found))]
    body = kernel.blocks[0].label
    kernel.blocks.insert(0, Block(kernel.fresh_label("evict"), ops, Terminator((body,))))


def _end_of_parameters(kernel: Kernel) -> int:
    """Return the first word behind the parameters and what the driver binds."""
    ends = (*(p.offset + p.size for p in kernel.parameters), *(b.offset + 4 * b.words for b in kernel.bindings))
    return -(-max(ends, default=0) // 4) * 4


def _warps_meet(kernel: Kernel) -> bool:
    """Whether warps of a thread block may have something to do with each other (case 2)."""
    return kernel.shared_bytes > 0 or any(op.name.startswith(("bar.", "membar")) or ".shared." in op.name
                                          for op in kernel.ops())


def _agree(kernel: Kernel, ops: list[Op], value: Reg, found: Reg) -> tuple[Reg, Reg]:
    """Let all warps of a thread block find what one of them finds; return the value and the predicate that say so."""
    seen, agreed = kernel.fresh("r"), kernel.fresh("p")
    ops += [Op("st.shared.b32", (), (Imm(AGREED), value), guard=Pred(found), volatile=True),
            Op(_BARRIER),
            Op("ld.shared.b32", (seen,), (Imm(AGREED),), volatile=True),
            Op(_BARRIER),
            Op("setp.ne", (agreed,), (seen, Imm(0)))]
    kernel.shared_bytes = max(kernel.shared_bytes, AGREED + 4)
    return seen, agreed
