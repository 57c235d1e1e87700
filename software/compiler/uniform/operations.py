"""The forms of an operation that read or write uniform registers."""

from __future__ import annotations

from collections.abc import Callable, Collection

from caesura.hw.arch.isa.opcodes import OPCODES, UNIFORM_SPECIALS, Unit

from ..ir.kernel import Imm, Op, Reg
from ..ir.spec import UNIFORM_PLACES, machine_opcode

__all__ = ["is_scalar", "runs_uniform", "misplaced", "swapped"]

_SCALAR = {op.name.removesuffix(".i")[1:] for op in OPCODES
           if op.unit is Unit.UNIFORM and op.alu is not None} | {"ld.const.b32", "ldp"}
_COMMUTATIVE = ("iadd", "iaddc", "imul.", "imad.", "and", "or", "xor", "imin.", "imax.", "fadd.", "fmul.", "ffma.",
                "fmin", "fmax", "setp.eq", "setp.ne", "fsetp.eq", "fsetp.ne", "fsetp.num", "fsetp.nan")
_MIRROR = {"isub": "irsub", "irsub": "isub",
           **{f"{kind}.{a}{b}{tail}": f"{kind}.{'g' if a == 'l' else 'l'}{b}{tail}" for a in "lg" for b in "te"
              for kind, tails in (("setp", (".s", ".u")), ("fsetp", ("", "u"))) for tail in tails}}


def is_scalar(op: Op, uniform: Collection[Reg], predicates: Collection[Reg]) -> bool:
    """Return whether the uniform data path can execute `op` if its operands are in uniform registers.

    A ``sel`` counts: it becomes two moves, one under its predicate.

    Parameters
    ----------
    op : Op
    uniform : collection of Reg
        Values that are, or would be, in uniform registers.
    predicates : collection of Reg
        Warp-uniform predicates.
    """
    if op.volatile:
        return False
    for use in op.uses:
        if use not in uniform and isinstance(use, Reg):
            return False
    if op.name == "sel":
        return op.guard is None and op.uses[2].reg in predicates
    if op.name == "s2r":
        return op.imm in UNIFORM_SPECIALS
    return op.name in _SCALAR


def runs_uniform(op: Op, uniform: Collection[Reg], predicates: Collection[Reg]) -> bool:
    """Return whether `op` goes to the uniform data path when the values `uniform` are in uniform registers.

    The parameters are those of `is_scalar`.
    """
    for d in op.defs:
        if d is None or d.kind != "p" and d not in uniform:
            return False
    return bool(op.defs) and is_scalar(op, uniform, predicates)


def misplaced(op: Op, uniform: Collection[Reg], swapped: Callable[[Op], Op | None]) -> tuple[Op, set[Reg]]:
    """Return vector operation `op`, its operands exchanged if that helps, and its misplaced uniform operands.

    An operand of `uniform` is misplaced where no uniform register can be. `swapped` is the function of that name, or a
    cached one.
    """
    best = op, _misplaced(op, uniform)
    if best[1]:
        other = swapped(op)
        if other is not None:
            best = min(best, (other, _misplaced(other, uniform)), key=lambda x: len(x[1]))
    return best


def swapped(op: Op) -> Op | None:
    """Return the same operation with its first two operands exchanged; None if there is none."""
    other = _swapped(op)
    return None if other is None or machine_opcode(other) is None else other


def _swapped(op: Op) -> Op | None:
    if len(op.uses) < 2 or any(isinstance(use, Imm) for use in op.uses[:2]):
        return None
    a, b, *rest = op.uses
    if op.name == "sel":
        rest = [rest[0].inverted()]
    elif op.name not in _MIRROR and not op.name.startswith(_COMMUTATIVE):
        return None
    return Op(_MIRROR.get(op.name, op.name), op.defs, (b, a, *rest), op.guard, op.imm, op.line, op.volatile)


def _misplaced(op: Op, uniform: Collection[Reg]) -> set[Reg]:
    if op.name == "routine":
        return set()  # its arguments are moved to their places, from wherever they are
    place = UNIFORM_PLACES.get(op.name)
    found = set()
    for k, use in enumerate(op.uses):
        if use in uniform and k != place and isinstance(use, Reg):
            found.add(use)
    return found
