"""Lowering of one-dimensional texture fetches from linear memory (PTX ISA 9.7.10.3 ``tex``).

Three words describe a texture (`ir.variables.Binding`). For a ``.texref`` of the module they are behind the parameters.
For a texture object they are in memory, and the handle is their address. A texel has 1, 2 or 4 channels of 32 bits.
Missing channels, and texels outside of the texture, are zero.
"""

from __future__ import annotations

from ...ir.kernel import Imm, Pred, Reg, Use
from ...ptx.syntax import Name, Texel, Vector
from ..context import Context
from ..registry import lowers, take_operands
from ..spaces import conjunction

__all__: list[str] = []

_TYPES = ("f32", "s32", "u32")
_SUPPORTED = "tex.1d.v4 of .f32, .s32 or .u32 with coordinates of type .s32"


@lowers("tex")
def _tex(ctx: Context) -> None:
    modifiers = ctx.instruction.modifiers
    if len(modifiers) != 4 or modifiers[:2] != ["1d", "v4"] or modifiers[2] not in _TYPES or modifiers[3] != "s32":
        raise ctx.error("texture fetch is not supported", _SUPPORTED)
    data, texel = take_operands(ctx, 2)
    if not isinstance(texel, Texel) or not isinstance(data, Vector) or len(data.items) != 4:
        raise ctx.error("texture fetch is not supported", _SUPPORTED)
    coordinates = texel.coordinates
    index = ctx.value(coordinates.items[0] if isinstance(coordinates, Vector) else coordinates, 32)
    dests = [None if item == Name("_") else ctx.dest(item, 32) for item in data.items]
    base, texels, size = _description(ctx, texel.texture)
    address, inside = ctx.r(), ctx.p()
    ctx.emit("imad.lo", (address,), (index, size, base))
    ctx.emit("setp.lt.u", (inside,), (index, texels))
    results = []
    for k, dest in enumerate(dests):
        if dest is not None:
            results.append((dest, _channel(ctx, k, address, size, conjunction(ctx, ctx.guard, Pred(inside)))))
    for dest, result in results:
        ctx.emit("mov", (dest,), (result,))


def _description(ctx: Context, name: str) -> tuple[Use, Use, Use]:
    """Return the address, the number of texels, and the bytes of a texel."""
    if name in ctx.textures:
        binding = ctx.binding("texture", name)
        return ctx.bound(binding), ctx.bound(binding, 1), ctx.bound(binding, 2)
    if ctx.type_of(name) is None or ctx.bits_of(name) != 64:
        raise ctx.error(f"{name} is no texture", ".global .texref variables, texture objects in 64-bit registers")
    address, texels, size, rest = (ctx.r() for _ in range(4))
    handle = ctx.register(name)
    ctx.texture_objects.add(handle)
    ctx.emit("ld.global.b128", (address, texels, size, rest), (handle,))
    return address, texels, size


def _channel(ctx: Context, k: int, address: Reg, size: Use, inside: Pred) -> Reg:
    """Return a channel of the texel in the lanes that have it, 0 in the others."""
    outer, result = ctx.guard, ctx.merged("r")
    if k:
        there = ctx.p()
        ctx.guard = None
        ctx.emit("setp.gt.u", (there,), (size, Imm(4 * k)))
        inside = conjunction(ctx, inside, Pred(there))
    ctx.guard = inside
    ctx.emit("ld.global.b32", (result,), (address,), 4 * k)
    ctx.guard = outer
    return result
