"""The effects of a call, as seen from its kernel, and the duties of its routine to the kernel.

1. A call **reads** the registers that some path through its routine reads before writing them. It **writes** those that
   any path writes, and **kills** those that every path writes in every lane. It takes from the **least** to the
   **most** instructions, and the SIMT stack entries of its deepest branch. A routine has no loop, so all paths are
   finite.
2. A register is live in a routine if the routine still reads it, or if it is live behind any of the calls. Lanes that
   wait elsewhere may wait for any of the calls. So for liveness, the return reads the registers that are live behind
   the calls.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from ..ir.cfg import by_label
from ..ir.cfg import graph as flow_graph
from ..ir.digraph import topological_order
from ..ir.kernel import Block, Call, Kernel, Op, Reg, Summary
from .dominance import reconvergence
from .liveness import Liveness, liveness
from .simt_stack import stack_depth

__all__ = ["summarise", "instruction_count", "calls_of", "with_callers"]


def instruction_count(op: Op) -> int:
    """Return the most instructions that a warp executes at `op`; a call counts those of its routine."""
    return 1 + op.summary.most if isinstance(op, Call) else 1


def calls_of(kernel: Kernel) -> Iterator[tuple[Block, int, Call]]:
    """Yield the calls in `kernel`, each with its block and its place there."""
    for block in kernel.blocks:
        for index, op in enumerate(block.ops):
            if isinstance(op, Call):
                yield block, index, op


def summarise(body: Kernel, words: Mapping[str, int]) -> Summary:
    """Return the effects of a call of a routine (case 1).

    Parameters
    ----------
    body : Kernel
        Code of the routine; its last operation, ``bru``, reads the return address, which the call has written.
    words : mapping of str to int
        Instruction words of each block, its terminator included if it has one.
    """
    flow, blocks = flow_graph(body), by_label(body)
    entry = body.blocks[0].label
    last = next(block for block in body.blocks if not block.end.targets)
    address = frozenset(last.ops[-1].read())
    order = topological_order(flow)
    killed: dict[str, frozenset[Reg]] = {}
    least: dict[str, int] = {}
    most: dict[str, int] = {}
    for label in order:
        before = list(flow.pred[label])
        kept = [killed[other] for other in before]
        killed[label] = frozenset(reg for op in blocks[label].ops for reg in op.killed()).union(
            kept[0].intersection(*kept[1:]) if kept else ())
        least[label] = words[label] + min((least[other] for other in before), default=0)
        most[label] = words[label] + max((most[other] for other in before), default=0)
    written = frozenset(reg for op in body.ops() for reg in op.written())
    return Summary(liveness(body, flow).live_in[entry] - address, written | address, killed[last.label] | address,
                   least[last.label], most[last.label], stack_depth(body, flow, reconvergence(flow)))


def with_callers(kernel: Kernel, live: Liveness, waiting: Mapping[str, Iterable[Reg]]
                 ) -> dict[int, tuple[frozenset[Reg], frozenset[Reg]]]:
    """Return, for each called routine, the registers live behind its calls and needed by waiting lanes (case 2).

    Parameters
    ----------
    kernel : Kernel
    live : Liveness
        Liveness of the kernel.
    waiting : mapping of str to collection of Reg
        Registers that lanes need that wait while a warp is in a block (`preemption.extended_liveness`).
    """
    found: dict[int, tuple[set[Reg], set[Reg]]] = {}
    for block in kernel.blocks:
        if not any(isinstance(op, Call) for op in block.ops):
            continue
        for _, op, after in live.backward(block):
            if isinstance(op, Call):
                behind, others = found.setdefault(op.imm, (set(), set()))
                behind |= after
                others.update(waiting[block.label])
    return {number: (frozenset(behind), frozenset(others)) for number, (behind, others) in found.items()}
