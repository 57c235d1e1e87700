"""Which function lowers which PTX instruction, and the messages for those that none lowers."""

from __future__ import annotations

from collections.abc import Callable

from ..types import WIDTHS
from .context import Context

__all__ = ["lowers", "handler", "supported_opcodes", "integer_type", "check_modifiers"]

Handler = Callable[[Context], None]
_HANDLERS: dict[str, Handler] = {}


def lowers(*opcodes: str) -> Callable[[Handler], Handler]:
    """Register a function for PTX instructions with the given base opcodes."""
    def register(function: Handler) -> Handler:
        for opcode in opcodes:
            _HANDLERS[opcode] = function
        return function
    return register


def handler(base: str) -> Handler | None:
    """Return the function for a base opcode, None if it is not supported."""
    return _HANDLERS.get(base)


def supported_opcodes() -> str:
    """Return the supported base opcodes, for a message."""
    return ", ".join(sorted(_HANDLERS))


def check_modifiers(ctx: Context, allowed: set[str], modifiers: list[str]) -> None:
    """Refuse modifiers that are not `allowed`."""
    for modifier in modifiers:
        if modifier not in allowed:
            known = ", ".join(f".{m}" for m in sorted(allowed)) or "none"
            raise ctx.error(f"modifier .{modifier} is not supported here", f"modifiers {known}")


def integer_type(ctx: Context, widths: tuple[int, ...], position: int = -1) -> str:
    """Return the instruction's type modifier, which must be an integer type of one of the `widths`."""
    modifiers = ctx.instruction.modifiers
    type = modifiers[position] if len(modifiers) >= abs(position) else ""
    if WIDTHS.get(type) not in widths:
        known = "types " + ", ".join(f".{t}" for t, bits in WIDTHS.items() if bits in widths)
        raise ctx.error(f"type .{type} is not supported" if type else "the type is missing", known)
    return type
