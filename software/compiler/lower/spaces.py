"""State spaces of instructions, and generic addresses (PTX ISA 5.1, 6.4, 9.7.9.1, 9.7.9.18, 9.7.9.19; `ir.spaces`)."""

from __future__ import annotations

from collections.abc import Callable

from ..ir.kernel import Imm, Pred, Reg
from ..ir.spaces import WINDOW_BITS, WINDOWS
from ..ptx.inline import CALL
from ..ptx.syntax import Address, AddressOf, Function, Instruction, Module, Name, Operand, Vector
from ..ptx.types import DECLARED_WIDTHS
from .context import Context
from .registry import lowers, take_operands

__all__ = ["SPACES", "Provenance", "conjunction", "each_space"]

SPACES: dict[str, str] = {"param": "param", "global": "global", "shared": "shared", "shared::cta": "shared",
                          "const": "const", "local": "local"}
"""Modifier of an instruction to its state space."""


class Provenance:
    """Finds the spaces that the generic addresses in each register of a kernel can come from.

    A register's value can be an address of

    1. the space of a ``cvta`` that it comes from; global memory also after ``cvta.to.global``, which changes nothing;
    2. the spaces of any operand of a move, addition, subtraction, selection, minimum, maximum or logic operation;
    3. global memory, if it is a parameter: only the kernel itself has addresses of its local and shared memory;
    4. none, if it is shorter than an address, or the result of other arithmetic or a conversion;
    5. otherwise (loaded, packed, exchanged, returned by a routine), global memory, and any space that the kernel or an
       initial value makes generic addresses of.

    Registers have one answer for the whole kernel. If nothing is known, the answer is case 5.

    Parameters
    ----------
    module : Module
    function : Function
    """

    def __init__(self, module: Module, function: Function):
        self._module, self._function = module, function
        self._any: frozenset[str] = frozenset()
        self._spaces: dict[str, frozenset[str]] | None = None
        self._bits = module.address_size or 64

    def _find(self) -> dict[str, frozenset[str]]:
        """Return the spaces of every register; kernels without generic addresses do not need them."""
        module, known = self._module, {}
        statements = [s for s in self._function.statements if isinstance(s, Instruction)]
        self._any = frozenset({"global"}) | {
            space for s in statements if (space := _made_generic(s)) is not None} | {
            "const" for f in module.functions for s in f.statements
            if isinstance(s, Instruction) and _made_generic(s) == "const"} | _initial_spaces(module)
        changed = True
        while changed:
            changed = False
            for statement in statements:
                for name, spaces in self._results(statement, known):
                    before = known.get(name, frozenset())
                    if not spaces <= before:
                        known[name] = before | spaces
                        changed = True
        return known

    def spaces(self, name: str | None) -> tuple[str, ...]:
        """Return the spaces, global memory last."""
        if self._spaces is None:
            self._spaces = self._find()
        found = self._spaces.get(name or "", frozenset()) or self._any
        return tuple(sorted(found, key=lambda space: (space == "global", space)))

    def _results(self, statement: Instruction, known: dict[str, frozenset[str]]):
        """Yield the spaces that each written register can hold, from those known of others."""
        if not statement.operands:
            return
        if statement.opcode == CALL:
            yield from ((name, self._any) for operand in statement.operands for name in _texts(operand))
        dest, *sources = statement.operands
        base, modifiers = statement.base, statement.modifiers
        if DECLARED_WIDTHS.get(modifiers[-1] if modifiers else "", self._bits) < self._bits:
            return
        if (made := _made_generic(statement)) is not None:
            spaces = frozenset({made})
        elif (base == "cvta" and "global" in modifiers) or (base == "ld" and "param" in modifiers):
            spaces = frozenset({"global"})
        elif base == "mov" and any(isinstance(s, Vector) for s in sources):
            spaces = self._any
        elif base in ("mov", "add", "sub", "selp", "min", "max", "and", "or", "xor"):
            spaces = frozenset().union(*(known.get(name, frozenset()) for s in sources for name in _texts(s)))
        elif base in ("mad", "fma"):
            spaces = frozenset().union(*(known.get(name, frozenset())
                                         for s in sources[-1:] for name in _texts(s)))
        elif base in ("ld", "ldu", "atom", "shfl", "prmt", "bfi", "shf"):
            spaces = self._any
        else:
            return
        for name in _texts(dest):
            yield name, spaces


def _initial_spaces(module: Module) -> frozenset[str]:
    """Return the spaces of generic addresses among the initial values of variables."""
    spaces = {v.name: v.space for v in module.variables}
    return frozenset(spaces.get(x.name, "global") for v in module.variables for x in v.initial
                     if isinstance(x, AddressOf) and x.generic)


def _made_generic(statement: Instruction) -> str | None:
    """Return the space of a conversion to a generic address."""
    if statement.base != "cvta" or "to" in statement.modifiers:
        return None
    return next((SPACES[m] for m in statement.modifiers if m in SPACES and m != "param"), None)


def _texts(operand: Operand) -> list[str]:
    if isinstance(operand, Name):
        return [operand.text]
    return [name for item in getattr(operand, "items", ()) for name in _texts(item)]


def each_space(ctx: Context, address: Address, base, offset: int,
               access: Callable[[str, Reg | Imm, int], None]) -> None:
    """Call ``access(space, base, offset)`` for every space that a generic address can be in.

    With more than one, each call is under a guard of the lanes whose address is in that space. Guarded operations that
    `access` emits (see `Context.emit`) belong to these lanes alone.
    """
    spaces = ctx.provenance.spaces(address.base)
    if len(spaces) == 1:
        access(spaces[0], base, (offset - WINDOWS.get(spaces[0], 0)) & 0xFFFF_FFFF)
        return
    outer, ctx.guard = ctx.guard, None
    where, top = ctx.r(), ctx.r()
    ctx.emit("iadd", (where,), (_low(ctx, base), Imm(offset)))
    ctx.emit("shr.u", (top,), (where, Imm(WINDOW_BITS)))
    left = outer
    for space in spaces:
        if space in WINDOWS:
            here = ctx.p()
            ctx.emit("setp.eq", (here,), (top, Imm(WINDOWS[space] >> WINDOW_BITS)))
            ctx.guard, left = conjunction(ctx, left, Pred(here)), conjunction(ctx, left, Pred(here, True))
        else:
            ctx.guard = left
        access(space, where, -WINDOWS.get(space, 0) & 0xFFFF_FFFF)
        ctx.guard = None
    ctx.guard = outer


def conjunction(ctx: Context, first: Pred | None, second: Pred) -> Pred:
    """Return a predicate that holds where both do; None is true."""
    if first is None:
        return second
    result = ctx.p()
    ctx.emit("pand", (result,), (first, second))
    return Pred(result)


def _low(ctx: Context, value):
    if isinstance(value, Imm) or value.kind != "w":
        return value
    low = ctx.r()
    ctx.emit("lo.64", (low,), (value,))
    return low


@lowers("cvta")
def _cvta(ctx: Context) -> None:
    modifiers = ctx.instruction.modifiers
    to = modifiers[:1] == ["to"]
    space, type = (modifiers[to:] + ["", ""])[:2]
    if SPACES.get(space, "param") == "param" or type not in ("u32", "u64") or len(modifiers) != 2 + to:
        raise ctx.error("address conversion is not supported",
                        "cvta and cvta.to of .global, .shared, .local, .const with .u32, .u64")
    bits = int(type[1:])
    d, a = take_operands(ctx, 2)
    window = WINDOWS.get(SPACES[space], 0)
    source, dest = ctx.value(a, bits), ctx.dest(d, bits)
    if not window:
        ctx.emit("mov.64" if bits == 64 else "mov", (dest,), (source,))
    else:
        step = Imm(-window & (1 << bits) - 1 if to else window)
        ctx.emit("add.64" if bits == 64 else "iadd", (dest,), (source, step))


@lowers("isspacep")
def _isspacep(ctx: Context) -> None:
    modifiers = ctx.instruction.modifiers
    space = SPACES.get(modifiers[0], "param") if len(modifiers) == 1 else "param"
    if space == "param":
        raise ctx.error("address test is not supported", "isspacep.global, .shared, .local, .const")
    d, a = take_operands(ctx, 2)
    bits = 64
    if isinstance(a, Name) and ctx.type_of(a.text) is not None:
        bits = ctx.bits_of(a.text)
    dest, top = ctx.dest(d, 1), ctx.r()
    ctx.emit("shr.u", (top,), (_low(ctx, ctx.value(a, bits, f"b{bits}")), Imm(WINDOW_BITS)))
    if space == "global":
        ctx.emit("setp.lt.u", (dest,), (top, Imm(min(WINDOWS.values()) >> WINDOW_BITS)))
    else:
        ctx.emit("setp.eq", (dest,), (top, Imm(WINDOWS[space] >> WINDOW_BITS)))
