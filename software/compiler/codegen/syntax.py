"""Operands of the assembly language as text: one pair of functions for each, used by assembler and disassembler.

===========  =================================================================
operand      text
===========  =================================================================
d a b c      ``R0`` to ``R63``; with ``data`` the first register of the group
pd           ``P0`` to ``P6``, ``PT`` = not wanted
pa pb        the same, ``!`` in front negates; ``PT`` reads true
imm          ``-1``, ``42``, ``0xff``
sreg         ``tid.x``, ``laneid``, ... (`isa.Special`), or a number
param        ``param[16]``, the byte offset
mem          ``[R4]``, ``[R4+16]``, ``[R4-8]``, ``[64]``
target       a label, or a number (an address in instruction words)
reconv       the same, or ``none``
live         ``{R0-R4, R7, R53+}``; ``R53+`` stands for R53 and all above
===========  =================================================================
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from caesura.hw.arch.geometry import MAX_REGISTERS, PC_NONE
from caesura.hw.arch.isa import LIVE_REST, PT, Special

__all__ = ["show_operand", "parse_operand", "show_registers", "parse_guard", "parse_number", "show_guard"]

_NUMBER = re.compile(r"[-+]?(0[xX][0-9a-fA-F]+|0[bB][01]+|\d+)")
_MEMORY = re.compile(r"\[\s*(?:R(\d+)\s*([-+][^\]]+?)?|([^\]R]+?))\s*\]")
_RANGE = re.compile(r"R(\d+)(?:\s*-\s*R(\d+)|(\+))?")
_SPECIALS = {special.name.lower().replace("_", "."): int(special) for special in Special}
_SPECIAL_NAMES = {number: name for name, number in _SPECIALS.items()}


def parse_number(text: str) -> int:
    """Return a decimal, hexadecimal or binary number.

    Raises
    ------
    ValueError
        If the text is none.
    """
    text = text.replace(" ", "")
    if not _NUMBER.fullmatch(text):
        raise ValueError(f"{text!r} is not a number")
    return int(text, 0)


def _word(text: str) -> int:
    value = parse_number(text)
    if not -(1 << 31) <= value < 1 << 32:
        raise ValueError(f"{text} does not fit 32 bits")
    return value & 0xFFFF_FFFF


def _show_word(value: int) -> str:
    signed = value - (value >> 31 << 32)
    return str(signed) if -4096 <= signed < 65536 else hex(value)


def _register(text: str) -> int:
    match = re.fullmatch(r"R(\d+)", text)
    if not match or int(match[1]) >= MAX_REGISTERS:
        raise ValueError(f"{text!r} is not a vector register (R0 to R{MAX_REGISTERS - 1})")
    return int(match[1])


def _predicate(text: str) -> int:
    match = re.fullmatch(r"P([0-6T])", text)
    if not match:
        raise ValueError(f"{text!r} is not a predicate (P0 to P6, PT)")
    return PT if match[1] == "T" else int(match[1])


def _show_predicate(number: int, negated: int = 0) -> str:
    return ("!" if negated else "") + ("PT" if number == PT else f"P{number}")


def show_guard(number: int, negated: bool) -> str:
    """Return ``@P1`` or ``@!P1``."""
    return "@" + _show_predicate(number, negated)


def parse_guard(text: str) -> dict[str, int]:
    """Return the guard fields of ``P1`` or ``!P1``."""
    return {"guard": _predicate(text.removeprefix("!")), "guard_not": int(text.startswith("!"))}


def show_registers(registers, prefix: str = "R") -> str:
    """Return ``{R0-R4, R7}`` for register numbers, which `prefix` precedes."""
    runs: list[list[int]] = []
    for register in sorted(registers):
        if runs and runs[-1][1] == register - 1:
            runs[-1][1] = register
        else:
            runs.append([register, register])
    return "{" + ", ".join(f"{prefix}{a}" if a == b else f"{prefix}{a}-{prefix}{b}" for a, b in runs) + "}"


def _show_live(vector: int) -> str:
    text = show_registers([r for r in range(LIVE_REST) if vector >> r & 1])
    if vector >> LIVE_REST & 1:
        text = text[:-1] + (", " if len(text) > 2 else "") + f"R{LIVE_REST}+}}"
    return text


def _parse_live(text: str) -> int:
    if not (text.startswith("{") and text.endswith("}")):
        raise ValueError(f"{text!r} is not a register set such as {{R0-R4, R7}}")
    vector = 0
    for part in filter(None, (part.strip() for part in text[1:-1].split(","))):
        match = _RANGE.fullmatch(part)
        if not match or int(match[2] or match[1]) >= MAX_REGISTERS or (match[3] and int(match[1]) != LIVE_REST):
            raise ValueError(f"{part!r} is not a register range (R0 to R{MAX_REGISTERS - 1}, or R{LIVE_REST}+)")
        for register in range(int(match[1]), int(match[2] or match[1]) + 1):
            vector |= 1 << min(register, LIVE_REST)
    return vector


def _parse_memory(text: str) -> dict[str, int]:
    match = _MEMORY.fullmatch(text)
    if not match:
        raise ValueError(f"{text!r} is not an address such as [R4+16] or [64]")
    if match[3] is not None:
        return {"no_base": 1, "imm": _word(match[3])}
    return {"a": _register(f"R{match[1]}"), "imm": _word(match[2]) if match[2] else 0}


def _show_memory(get) -> str:
    value = get("imm")
    if get("no_base"):
        return f"[{_show_word(value)}]"
    signed = value - (value >> 31 << 32)
    offset = "" if value == 0 else f"-{-signed}" if -4096 <= signed < 0 else f"+{_show_word(value)}"
    return f"[R{get('a')}{offset}]"


def show_operand(kind: str, get, labels: Mapping[int, str]) -> str:
    """Return the text of one operand.

    Parameters
    ----------
    kind : str
        As in `isa.Opcode.operands`.
    get : callable
        ``get(field)`` of the instruction.
    labels : mapping
        Address to label.
    """
    if kind in ("d", "a", "b", "c"):
        return f"R{get(kind)}"
    if kind == "data":
        return f"R{get('d')}"
    if kind == "pd":
        return _show_predicate(get("pd"))
    if kind in ("pa", "pb"):
        return _show_predicate(get(kind), get(f"{kind}_not"))
    if kind == "imm":
        return _show_word(get("imm"))
    if kind == "sreg":
        return _SPECIAL_NAMES.get(get("imm"), str(get("imm")))
    if kind == "param":
        return f"param[{get('imm')}]"
    if kind == "mem":
        return _show_memory(get)
    if kind == "live":
        return _show_live(get("live"))
    value = get(kind)
    if kind == "reconv" and value == PC_NONE:
        return "none"
    return labels.get(value, str(value))


def parse_operand(kind: str, text: str, labels: Mapping[str, int]) -> dict[str, int]:
    """Return the fields of one operand's text; the inverse of `show_operand`.

    Raises
    ------
    ValueError
        If the text is no such operand.
    """
    if kind in ("d", "a", "b", "c", "data"):
        return {"d" if kind == "data" else kind: _register(text)}
    if kind == "pd":
        return {"pd": _predicate(text)}
    if kind in ("pa", "pb"):
        return {kind: _predicate(text.removeprefix("!")), f"{kind}_not": int(text.startswith("!"))}
    if kind == "imm":
        return {"imm": _word(text)}
    if kind == "sreg":
        return {"imm": _SPECIALS[text] if text in _SPECIALS else _word(text)}
    if kind == "param":
        match = re.fullmatch(r"param\[(.+)\]", text)
        if not match:
            raise ValueError(f"{text!r} is not a parameter such as param[16]")
        return {"imm": _word(match[1])}
    if kind == "mem":
        return _parse_memory(text)
    if kind == "live":
        return {"live": _parse_live(text)}
    if kind == "reconv" and text == "none":
        return {"reconv": PC_NONE}
    if text in labels:
        return {kind: labels[text]}
    if text[:1].isdigit():
        return {kind: parse_number(text)}
    raise ValueError(f"label {text!r} is not defined")
