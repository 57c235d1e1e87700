"""Lowering of loads and stores (PTX ISA 9.7.9.8 and following)."""

from __future__ import annotations

from ...ir.kernel import Imm, Reg
from ...ptx.syntax import Address, Name, Vector, left_out
from ...ptx.types import DATA_TYPES, REGISTER_TYPES, width_of
from ..checked_addresses import checked_base
from ..context import Context
from ..registry import lowers, without_policy
from ..spaces import SPACES, each_space

__all__ = ["address_base"]

_STRONG = {"volatile", "relaxed", "acquire", "release", "mmio"}
_HINTS = {"weak", "cta", "cluster", "gpu", "sys", "ca", "cg", "cs", "cv", "lu", "wb", "wt", "nc"}
_SUPPORTED = ("ld/st of .global, .shared, .local and generic addresses, ld of .const and .param, integer types, .f32, "
              ".f64, .v2 and .v4")


@lowers("ld", "ldu", "st")
def _access(ctx: Context) -> None:
    ins = ctx.instruction
    space, volatile, order, count = "", False, "", 1
    type = ins.modifiers[-1] if ins.modifiers else ""
    for modifier in ins.modifiers[:-1]:
        if modifier in SPACES:
            space = SPACES[modifier]
        elif modifier in ("v2", "v4"):
            count = int(modifier[1])
        elif modifier in _STRONG:
            volatile, order = True, modifier
        elif modifier not in _HINTS and not modifier.startswith(("L1::", "L2::")):
            raise ctx.error(f"modifier .{modifier} is not supported here", _SUPPORTED)
    if type not in DATA_TYPES:
        raise ctx.error(f"type .{type} is not supported", "types ." + ", .".join(DATA_TYPES))
    store = ins.base == "st"
    operands = without_policy(ctx)
    address = operands[0 if store else 1] if len(operands) == 2 else None
    if not isinstance(address, Address) or (store and space in ("param", "const")):
        raise ctx.error("not a known memory access", _SUPPORTED)
    data = _items(ctx, operands[1 if store else 0], count)
    if count * width_of(type) > 128:
        raise ctx.error(f"{count * width_of(type)}-bit access is not supported", "at most 128 bits")
    if space == "param":
        _load_parameter(ctx, address, data, type)
    elif store:
        if order == "release":
            ctx.emit("membar")
        _store(ctx, space, address, data, type, volatile)
    else:
        _load(ctx, space, address, data, type, volatile)
        if order == "acquire":
            ctx.emit("membar")


def _items(ctx: Context, operand, count: int) -> tuple:
    items = operand.items if isinstance(operand, Vector) else (operand,)
    if len(items) != count:
        raise ctx.error(f"{len(items)} data operands where {count} belong")
    return items


def address_base(ctx: Context, space: str, address: Address):
    """Return the base (an address narrows to 32 bits: `r`, `w` or constant) and the offset."""
    offset = address.offset & 0xFFFF_FFFF
    if address.base is None:
        return Imm(offset), 0
    if address.base in ctx.symbols:
        if ctx.spaces[address.base] == "global" and space in ("global", ""):
            return ctx.bound(ctx.binding("global")), (ctx.symbols[address.base] + offset) & 0xFFFF_FFFF
        if ctx.spaces[address.base] != space:
            raise ctx.error(f"{address.base} is not in .{space}" if space else
                            f"{address.base} is in .{ctx.spaces[address.base]}; say so, or make its address generic")
        return Imm((ctx.symbols[address.base] + offset) & 0xFFFF_FFFF), 0
    type = ctx.type_of(address.base)
    if type is None or REGISTER_TYPES.get(type, 0) < 32 or type[0] == "f":
        raise ctx.error(f"{address.base} is not a 32- or 64-bit integer register or a known variable",
                        "registers, variables and parameters")
    base = ctx.register(address.base)
    checked = ctx.check_addresses and base.kind == "w" and (
        space == "global" or not space and "global" in ctx.provenance.spaces(address.base))
    return checked_base(ctx, base, offset) if checked else (base, offset)


def _destination(ctx: Context, item, type: str) -> tuple[Reg, int]:
    if not isinstance(item, Name):
        raise ctx.error("the destination must be a register")
    bits = ctx.bits_of(item.text)
    if bits < width_of(type):
        raise ctx.error(f"{item.text} has {bits} bits, the instruction needs {width_of(type)}")
    ctx.check_kind(item.text, type)
    return ctx.register(item.text), bits


def _load(ctx: Context, space: str, address: Address, data: tuple, type: str, volatile: bool) -> None:
    base, offset = address_base(ctx, space, address)
    bits = width_of(type)
    finish = []
    defs = []
    for item in data:
        if left_out(item, data):
            defs.append(ctx.w() if bits == 64 else ctx.r())
            continue
        reg, declared = _destination(ctx, item, type)
        if bits < 64 and declared == 64:
            low = ctx.r()
            finish.append((reg, low))
            reg = low
        defs.append(reg)
    if space:
        _load_from(ctx, space, base, offset, defs, type, volatile)
    else:
        _load_generic(ctx, address, base, offset, defs, type, volatile)
    for wide, low in finish:
        if type[0] == "s":
            ctx.emit("sext.64", (wide,), (low,))
        else:
            ctx.emit("pack.64", (wide,), (low, Imm(0)))


def _load_generic(ctx: Context, address: Address, base, offset: int, defs: list[Reg], type: str,
                  volatile: bool) -> None:
    """Load from a generic address; if it can be in several spaces, each fills its lanes of copies."""
    def access(space: str, base, offset: int) -> None:
        _load_from(ctx, space, base, offset, results, type, volatile)

    results = defs
    if len(ctx.provenance.spaces(address.base)) == 1:
        each_space(ctx, address, base, offset, access)
        return
    results = [ctx.merged(reg.kind) for reg in defs]
    each_space(ctx, address, base, offset, access)
    for reg, copy in zip(defs, results, strict=True):
        ctx.emit("mov.64" if reg.kind == "w" else "mov", (reg,), (copy,))


def _load_from(ctx: Context, space: str, base, offset: int, defs: list[Reg], type: str, volatile: bool) -> None:
    """Load one register (a ``w`` holds 64 bits), or several of a vector, from one space."""
    bits, count, packed = width_of(type), len(defs), []
    if space == "local" and bits >= 32:  # words of a thread are not contiguous
        groups = []
        for k, reg in enumerate(defs):
            words = (ctx.r(), ctx.r()) if bits == 64 else (reg,)
            groups += [("b32", (word,), offset + k * bits // 8 + 4 * n) for n, word in enumerate(words)]
            packed += [(reg, words)] if bits == 64 else []
    elif bits >= 32:
        groups = [(f"b{bits * count}", tuple(defs), offset)]
    else:
        letter = "s" if type[0] == "s" else "u"
        groups = [(f"{letter}{bits}", (reg,), offset + k * bits // 8) for k, reg in enumerate(defs)]
    if len(groups) > 1 and isinstance(base, Reg) and base in defs:  # a later access would find its base overwritten
        copy = ctx.kernel.fresh(base.kind)
        ctx.emit("mov.64" if base.kind == "w" else "mov", (copy,), (base,))
        base = copy
    for size, regs, where in groups:
        ctx.emit(f"ld.{space}.{size}", regs, (base,), where & 0xFFFF_FFFF, volatile)
    for wide, words in packed:
        ctx.emit("pack.64", (wide,), words)


def _store(ctx: Context, space: str, address: Address, data: tuple, type: str, volatile: bool) -> None:
    base, offset = address_base(ctx, space, address)
    bits = width_of(type)
    values = []
    for item in data:
        declared = ctx.bits_of(item.text) if isinstance(item, Name) and ctx.type_of(item.text) else max(bits, 16)
        if declared < bits:
            raise ctx.error(f"{item.text} has {declared} bits, the instruction needs {bits}")
        value = ctx.value(item, declared)
        if bits < 64 and isinstance(value, Reg) and value.kind == "w":
            low = ctx.r()
            ctx.emit("lo.64", (low,), (value,))
            value = low
        if bits == 64 and isinstance(value, Imm):
            wide = ctx.w()
            ctx.emit("mov.64", (wide,), (value,))
            value = wide
        values.append(value)
    if space:
        _store_to(ctx, space, base, offset, values, bits, volatile)
    else:
        each_space(ctx, address, base, offset,
                   lambda space, base, offset: _store_to(ctx, space, base, offset, values, bits, volatile))


def _store_to(ctx: Context, space: str, base, offset: int, values: list, bits: int, volatile: bool) -> None:
    """Store registers to one space. Lanes with an address of constants store under a guard, and fault."""
    if space == "const":
        ctx.emit("trap")
        return
    if space == "local" and bits >= 32:
        words = []
        for value in values:
            if bits == 64:
                low, high = ctx.r(), ctx.r()
                ctx.emit("lo.64", (low,), (value,))
                ctx.emit("hi.64", (high,), (value,))
                words += [low, high]
            else:
                words.append(value)
        for k, word in enumerate(words):
            ctx.emit("st.local.b32", (), (base, word), (offset + 4 * k) & 0xFFFF_FFFF, volatile)
    elif bits >= 32:
        ctx.emit(f"st.{space}.b{bits * len(values)}", (), (base, *values), offset, volatile)
    else:
        for k, value in enumerate(values):
            ctx.emit(f"st.{space}.b{bits}", (), (base, value), (offset + k * bits // 8) & 0xFFFF_FFFF, volatile)


def _load_parameter(ctx: Context, address: Address, data: tuple, type: str) -> None:
    parameter = ctx.parameters.get(address.base or "")
    if parameter is None:
        raise ctx.error(f"{address.base} is not a parameter of this kernel", "[parameter + constant]")
    size = width_of(type) // 8
    if not 0 <= address.offset <= parameter.size - size * len(data):
        raise ctx.error(f"access beyond parameter {parameter.name} ({parameter.size} bytes)")
    for k, item in enumerate(data):
        if left_out(item, data):
            continue
        offset = parameter.offset + address.offset + k * size
        if offset % size:
            raise ctx.error(f"parameter offset {offset} is not a multiple of {size}")
        reg, declared = _destination(ctx, item, type)
        low = reg if size == 4 and declared == 32 else ctx.r()
        ctx.emit("ldp", (low,), (), offset & ~3)
        if size == 8:
            high = ctx.r()
            ctx.emit("ldp", (high,), (), offset + 4)
            ctx.emit("pack.64", (reg,), (low, high))
            continue
        if size < 4:
            if offset & 3:
                moved = ctx.r()
                ctx.emit("shr.u", (moved,), (low, Imm(8 * (offset & 3))))
                low = moved
            low = ctx.extend(low, 8 * size, type[0] == "s")
        if declared == 64:
            ctx.emit("sext.64" if type[0] == "s" else "pack.64", (reg,), (low,) if type[0] == "s" else (low, Imm(0)))
        elif low != reg:
            ctx.emit("mov", (reg,), (low,))
