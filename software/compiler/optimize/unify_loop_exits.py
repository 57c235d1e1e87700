"""Loops from which lanes leave at several places get one place where all lanes of an iteration meet.

In a loop with a ``break`` inside an ``if``, the immediate post-dominator of that ``if`` lies behind the loop: lanes
that diverge there do not meet again before the loop is over, and each iteration may add an entry to the SIMT stack.
Such a loop is rewritten. Every edge to its header or out of it first goes to a new block, the *meeting block*, with a
note of its target. The meeting block branches on the note. Then every branch in the loop reconverges there at the
latest, and the loop ends for the warp when its last lane leaves.
"""

from __future__ import annotations

from ..analysis.dominance import reconvergence
from ..analysis.loops import entry_of
from ..ir.cfg import graph as flow_graph
from ..ir.digraph import DiGraph, cycles
from ..ir.kernel import FALSE, TRUE, Block, Imm, Kernel, Op, Pred, Reg, Terminator

__all__ = ["unify_loop_exits"]


def unify_loop_exits(kernel: Kernel) -> bool:
    """Rewrite the loops of `kernel` (stage ``narrow``) that need it; return whether there were any."""
    changed = False
    for _ in range(len(kernel.blocks)):  # once for each level of nesting at most
        flow = flow_graph(kernel)
        loops = _find(flow)
        if not loops:
            break
        for loop in loops:
            _rewrite(kernel, flow, loop)
        changed = True
    return changed


def _find(flow: DiGraph) -> list[set[str]]:
    """Return the outermost loops in which lanes can part for good; no two of them have blocks in common."""
    meet = reconvergence(flow)
    found: list[set[str]] = []
    pending = list(cycles(flow))
    while pending:
        loop = pending.pop()
        exits = {t for label in loop for t in flow.succ[label] if t not in loop}
        if exits and any(_parts(label, flow, loop, meet) for label in loop):
            found.append(loop)
        else:
            pending += cycles(flow, loop - {entry_of(flow, loop)})
    return found


def _parts(label: str, flow: DiGraph, loop: set[str], meet: dict[str, str | None]) -> bool:
    targets = list(flow.succ[label])
    if len(targets) != 2 or meet[label] in loop:
        return False
    return [t for t in targets if t not in loop] != [meet[label]]


def _rewrite(kernel: Kernel, flow: DiGraph, loop: set[str]) -> None:
    header = entry_of(flow, loop)
    inside = [block for block in kernel.blocks if block.label in loop]
    leads = [header, *dict.fromkeys(t for block in inside for t in block.end.targets if t not in loop)]
    meeting = kernel.fresh_label("meet")
    note = kernel.fresh("p" if len(leads) == 2 else "r")
    for block in inside:
        if any(target in leads for target in block.end.targets):
            _redirect(block, leads, note, meeting)
    first = Block(meeting)
    added = [first]
    if note.kind == "p":
        first.end = Terminator((leads[1], header), Pred(note))
    else:
        added += _dispatch(kernel, first, note, leads)
    place = kernel.blocks.index(inside[-1]) + 1
    kernel.blocks[place:place] = added


def _redirect(block: Block, leads: list[str], note: Reg, meeting: str) -> None:
    """Make the edges of `block` to `leads` go to the meeting block, with the note taken before the branch."""
    end = block.end
    numbers = [leads.index(target) if target in leads else None for target in end.targets]
    known = [number for number in numbers if number is not None]
    if len(known) == 2 and known[0] != known[1]:
        assert end.condition is not None
        if note.kind == "p":
            block.ops.append(Op("pand", (note,), (end.condition if known[0] else end.condition.inverted(), TRUE),
                                line=end.line))
        else:
            block.ops.append(Op("sel", (note,), (Imm(known[0]), Imm(known[1]), end.condition), line=end.line))
    elif note.kind == "p":
        block.ops.append(Op("pand", (note,), (TRUE if known[0] else FALSE, TRUE), line=end.line))
    else:
        block.ops.append(Op("mov", (note,), (Imm(known[0]),), line=end.line))
    if len(known) == len(numbers):
        block.end = Terminator((meeting,), None, end.line)
    else:
        block.end = Terminator(tuple(t if n is None else meeting for t, n in zip(end.targets, numbers, strict=True)),
                               end.condition, end.line)


def _dispatch(kernel: Kernel, first: Block, note: Reg, leads: list[str]) -> list[Block]:
    """Branch to the header on note 0, else on to the exits one after the other."""
    leaving = kernel.fresh("p")
    first.ops.append(Op("setp.ne", (leaving,), (note, Imm(0))))
    blocks = [Block(f"{first.label}.to{k}") for k in range(1, len(leads) - 1)]
    first.end = Terminator((blocks[0].label, leads[0]), Pred(leaving))
    for k, block in enumerate(blocks, 1):
        here = kernel.fresh("p")
        block.ops.append(Op("setp.eq", (here,), (note, Imm(k))))
        following = blocks[k].label if k < len(blocks) else leads[-1]
        block.end = Terminator((leads[k], following), Pred(here))
    return blocks
