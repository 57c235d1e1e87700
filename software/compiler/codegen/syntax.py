"""Operands of the assembly language as text: one pair of functions for each, used by assembler and disassembler.

===========  =================================================================
operand      text
===========  =================================================================
d a b c      ``R0`` to ``R63``; the first register of a group or pair; b also ``U0`` to ``U31``
ud ua ub uc  ``U0`` to ``U31``
pd           ``P0`` to ``P6``, ``PT`` if the result is not wanted
pa pb        the same, ``!`` in front negates; ``PT`` reads true
imm          ``-1``, ``42``, ``0xff``
sreg         ``tid.x``, ``laneid``, ... (`isa.Special`), or a number
param        ``param[16]``, the byte offset
mem          ``[R4]``, ``[R4+16]``, ``[R4-8]``, ``[U4+16]``, ``[64]``
target       a label, or a number (an address in instruction words)
reconv       the same, or ``none``
live         ``{R0-R4, R7, R53+}``; ``R53+`` stands for R53 and all above
===========  =================================================================
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from caesura.hw.arch.geometry import MAX_REGISTERS, PC_NONE, PREDICATES, UNIFORMS
from caesura.hw.arch.isa.formats import FIELDS, Format
from caesura.hw.arch.isa.liveness import LIVE_BITS, LIVE_REST, liveness_vector, saved_by
from caesura.hw.arch.isa.opcodes import PT, Opcode, Special
from caesura.hw.arch.isa.words import Instruction

__all__ = ["show_operand", "parse_operand", "shown_fields", "show_registers", "parse_guard",
           "parse_number", "show_guard"]

_NUMBER = re.compile(r"[-+]?(0[xX][0-9a-fA-F]+|0[bB][01]+|\d+)")
_LONGEST_NUMBER = 70
"""Characters of a word of 64 bits in binary."""
_MEMORY = re.compile(r"\[\s*(?:([RU]\d+)\s*([-+][^\]]+?)?|([^\]RU]+?))\s*\]")
_RANGE = re.compile(r"(?P<kind>[RPU])(?P<first>\d+)(\s*-\s*(?P=kind)(?P<last>\d+)|(?P<rest>\+))?")
_COUNTS = {"R": MAX_REGISTERS, "P": PREDICATES, "U": UNIFORMS}
_FIRST_SCALAR = LIVE_BITS - PREDICATES - UNIFORMS
"""Bits of a liveness vector below this one belong to vector registers in every kernel."""
_SPECIALS = {special.name.lower().replace("_", "."): int(special) for special in Special}
_SPECIAL_NAMES = {number: name for name, number in _SPECIALS.items()}


def parse_number(text: str) -> int:
    """Return a decimal, hexadecimal or binary number.

    Raises
    ------
    ValueError
        If the text is no number.
    """
    text = text.replace(" ", "")
    if not _NUMBER.fullmatch(text) or len(text) > _LONGEST_NUMBER:
        raise ValueError(f"{text!r} is not a number")
    return int(text, 0)


def _word(text: str, width: int = 32) -> int:
    """Return a word of 32 bits, unsigned, or of fewer, with a sign."""
    value = parse_number(text)
    if not -(1 << width - 1) <= value < 1 << width - (width < 32):
        raise ValueError(f"{text} does not fit {width} bits" + " with a sign" * (width < 32))
    return value & 0xFFFF_FFFF if width == 32 else value


def _show_word(value: int) -> str:
    signed = value - (value >> 31 << 32) if value >= 0 else value
    return str(signed) if value < 0 or -4096 <= signed < 65536 else hex(value)


def _register(text: str) -> int:
    match = re.fullmatch(r"R(\d+)", text)
    if not match or int(match[1]) >= MAX_REGISTERS:
        raise ValueError(f"{text!r} is not a vector register (R0 to R{MAX_REGISTERS - 1})")
    return int(match[1])


def _uniform(text: str) -> int:
    match = re.fullmatch(r"U(\d+)", text)
    if not match or int(match[1]) >= UNIFORMS:
        raise ValueError(f"{text!r} is not a uniform register (U0 to U{UNIFORMS - 1})")
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
    """Return ``{R0-R4, R7}`` for register numbers; `prefix` is the letter before each."""
    runs: list[list[int]] = []
    for register in sorted(registers):
        if runs and runs[-1][1] == register - 1:
            runs[-1][1] = register
        else:
            runs.append([register, register])
    return "{" + ", ".join(f"{prefix}{a}" if a == b else f"{prefix}{a}-{prefix}{b}" for a, b in runs) + "}"


def _show_live(vector: int, registers: int = MAX_REGISTERS) -> str:
    """Return ``{R0-R4, P1, U0-U2}`` for a liveness vector of a kernel with this many vector registers.

    If the number is not known, take each bit for a vector register's.
    """
    own = max(registers, _FIRST_SCALAR)  # bits of vector registers
    parts = [show_registers(r for r in range(min(own, LIVE_REST)) if vector >> r & 1)[1:-1]]
    if vector >> LIVE_REST & 1 and own > LIVE_REST:
        parts.append(f"R{LIVE_REST}+")
    others = saved_by(vector >> own << own, 0)
    parts += [show_registers(others.predicates, "P")[1:-1], show_registers(others.uniforms, "U")[1:-1]]
    return "{" + ", ".join(filter(None, parts)) + "}"


def _parse_live(text: str) -> int:
    if not (text.startswith("{") and text.endswith("}")):
        raise ValueError(f"{text!r} is not a register set such as {{R0-R4, R7, P0, U0-U2}}")
    found: dict[str, list[int]] = {kind: [] for kind in _COUNTS}
    for part in filter(None, (part.strip() for part in text[1:-1].split(","))):
        match = _RANGE.fullmatch(part)
        last = int(match["last"] or match["first"]) if match else 0
        if not match or last >= _COUNTS[match["kind"]] or (
                match["rest"] and (match["kind"], int(match["first"])) != ("R", LIVE_REST)):
            ranges = ", ".join(f"{kind}0 to {kind}{count - 1}" for kind, count in _COUNTS.items())
            raise ValueError(f"{part!r} is not a register range ({ranges}, or R{LIVE_REST}+)")
        found[match["kind"]] += range(int(match["first"]), last + 1)
    return liveness_vector(found["R"], found["P"], found["U"])


def _parse_memory(text: str, op: Opcode) -> dict[str, int]:
    match = _MEMORY.fullmatch(text)
    if not match:
        raise ValueError(f"{text!r} is not an address such as [R4+16], [U4+16] or [64]")
    width, scalar = FIELDS[op.format]["imm"][1], "ud" in op.operands
    if match[3] is not None:
        return {"no_base": 1, "imm": _word(match[3], width)}
    fields = {"imm": _word(match[2], width) if match[2] else 0}
    if scalar or match[1].startswith("U"):
        return {"a": _uniform(match[1]), **({} if scalar else {"base_uniform": 1}), **fields}
    return {"a": _register(match[1]), **fields}


def _show_memory(get, op: Opcode) -> str:
    value = get("imm")
    if get("no_base"):
        return f"[{_show_word(value)}]"
    signed = value - (value >> 31 << 32) if value >= 0 else value
    offset = "" if value == 0 else f"-{-signed}" if -4096 <= signed < 0 or value < 0 else f"+{_show_word(value)}"
    return f"[{'U' if get('base_uniform') or 'ud' in op.operands else 'R'}{get('a')}{offset}]"


def shown_fields(op: Opcode) -> set[str]:
    """Return the fields of an instruction that its text shows; those of the guard only if it has one."""
    shown = {"guard", "guard_not"} if op.is_guarded else set()
    for kind in op.operands:
        shown |= {"data": {"d"}, "mem": {"a", "no_base", "imm"}, "sreg": {"imm"}, "param": {"imm"}}.get(
            kind, {kind[1:]} if kind in ("ud", "ua", "ub", "uc") else {kind, f"{kind}_not"})
    if "mem" in op.operands and "ud" not in op.operands:
        shown.add("base_uniform")
    if "b" in op.operands and op.format is Format.R and "b" not in op.pairs:
        shown.add("b_uniform")
    return shown


def show_operand(kind: str, instruction: Instruction, labels: Mapping[int, str],
                 registers: int = MAX_REGISTERS) -> str:
    """Return the text of one operand.

    Parameters
    ----------
    kind : str
        One of the kinds in the instruction's `isa.Opcode.operands`.
    instruction : Instruction
    labels : mapping
        Labels by address.
    registers : int, optional
        Vector registers of the kernel, if their number is known.
    """
    op, get = instruction.op, instruction.get
    if kind in ("ud", "ua", "ub", "uc") or kind == "b" and "b_uniform" in shown_fields(op) and get("b_uniform"):
        return f"U{get(kind[-1])}"
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
        return _show_memory(get, op)
    if kind == "live":
        return _show_live(get("live"), registers)
    value = get(kind)
    if kind == "reconv" and value == PC_NONE:
        return "none"
    return labels.get(value, str(value))


def parse_operand(kind: str, text: str, op: Opcode, labels: Mapping[str, int]) -> dict[str, int]:
    """Return the fields of one operand's text; the inverse of `show_operand`.

    Parameters
    ----------
    kind : str
        One of the kinds in `op.operands`.
    text : str
    op : Opcode
    labels : mapping
        Addresses by label.

    Raises
    ------
    ValueError
        If the text is no such operand.
    """
    if kind in ("ud", "ua", "ub", "uc"):
        return {kind[1:]: _uniform(text)}
    if kind == "b" and text.startswith("U") and op.format is Format.R:
        return {"b": _uniform(text), "b_uniform": 1}
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
        return _parse_memory(text, op)
    if kind == "live":
        return {"live": _parse_live(text)}
    if kind == "reconv" and text == "none":
        return {"reconv": PC_NONE}
    if text in labels:
        return {kind: labels[text]}
    if text[:1].isdigit():
        return {kind: parse_number(text)}
    raise ValueError(f"label {text!r} is not defined")
