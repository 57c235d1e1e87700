"""A check at a kernel's entry: every thread block loads a flag and leaves if it is set (lazy eviction, REEF 4.1).

To take work back, the driver sets the flag. Buffered thread blocks then begin, find the flag set, and leave before they
have done anything. Two hidden words of the parameters (`ir.variables.Binding`, kind ``"eviction"``) hold the address of
the flag, and the address where a leaving thread block writes the value it found. To the hardware it has completed like
any other. The written value tells whether a finished launch is whole.

The flag may be set while a thread block begins, and each warp loads it for itself. A warp that goes on alone would lack
the work of the others. So

1. warps decide for themselves if warps of a thread block do not interact, because the kernel has no barriers, fences
   and shared memory. The kernel has to be idempotent anyway: the work of a warp that went on is done again;
2. elsewhere a warp that finds the flag set writes the first word of shared memory, which is zero when a thread block
   begins. Between two barriers all warps read it, and all leave or none. The second barrier keeps a warp that goes on
   from writing the word while another one still has to read it. If none leaves, shared memory is as it was.

All lanes of a warp read one word with one request, so they agree. The check has a block of its own, before anything is
live, so it takes no register that the kernel does not have. It uses guards, not a branch, so it takes no entry of the
SIMT stack.
"""

from __future__ import annotations

from ..ir.kernel import Block, Imm, Kernel, Op, Pred, Reg, Terminator
from ..ir.variables import EVICTION, Binding, eviction_words

__all__ = ["check_eviction"]

AGREED = 0
"""Address of the word of shared memory by which the warps of a thread block agree."""
_BARRIER = "bar.pp.0"


def check_eviction(kernel: Kernel) -> None:
    """Let every thread block of `kernel` (stage ``wide``) load the flag first, and leave if it is set."""
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
    """Return the first word behind the parameters and the driver's bindings."""
    ends = (*(p.offset + p.size for p in kernel.parameters), *(b.offset + 4 * b.words for b in kernel.bindings))
    return -(-max(ends, default=0) // 4) * 4


def _warps_meet(kernel: Kernel) -> bool:
    """Return whether warps of a thread block may interact (case 2)."""
    return kernel.shared_bytes > 0 or any(op.name.startswith(("bar.", "membar")) or ".shared." in op.name
                                          for op in kernel.ops())


def _agree(kernel: Kernel, ops: list[Op], value: Reg, found: Reg) -> tuple[Reg, Reg]:
    """Let all warps of a thread block agree on the flag; return its value and the predicate that it is set."""
    seen, agreed = kernel.fresh("r"), kernel.fresh("p")
    ops += [Op("st.shared.b32", (), (Imm(AGREED), value), guard=Pred(found), volatile=True),
            Op(_BARRIER),
            Op("ld.shared.b32", (seen,), (Imm(AGREED),), volatile=True),
            Op(_BARRIER),
            Op("setp.ne", (agreed,), (seen, Imm(0)))]
    kernel.shared_bytes = max(kernel.shared_bytes, AGREED + 4)
    return seen, agreed
