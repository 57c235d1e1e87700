"""Makes operands and results of operators equally wide, in an RTLIL text.

RTLIL's cells extend operands, and cut results, implicitly. In Verilog that gives ``a != 1'h0`` with
eight bits, which every linter rejects. Here the extension is explicit, and the cut is a wire. The
design computes the same.
"""

from __future__ import annotations

import re
from itertools import count

__all__ = ["with_equal_widths"]

_CELL = re.compile(r"^  cell (\$\w+) (\S+)\n((?:    \S.*\n)+)  end\n", re.MULTILINE)
_WORDS = re.compile(r"^    (?:parameter|connect) \\(\S+) (.*)$", re.MULTILINE)
MODULAR = frozenset(("$add", "$sub", "$mul", "$and", "$or", "$xor", "$xnor", "$not", "$neg",
                     "$pos"))
"""Operators whose lower bits depend on the operands' lower bits alone."""
COMPARISONS = frozenset(("$eq", "$ne", "$lt", "$le", "$gt", "$ge"))
SHIFTS = frozenset(("$shl", "$sshl", "$shr", "$sshr", "$shift", "$shiftx"))
DIVISIONS = frozenset(("$div", "$mod", "$divfloor", "$modfloor"))


def with_equal_widths(text: str) -> str:
    """Return an RTLIL text in which operands have the width at which the operator works."""
    numbers = count()
    return _CELL.sub(lambda cell: _cell(cell, numbers), text)


def _cell(cell: re.Match, numbers: count) -> str:
    kind, name = cell[1], cell[2]
    words = dict(_WORDS.findall(cell[3]))
    if "Y" not in words or "A_WIDTH" not in words:
        return cell[0]
    a, y = int(words["A_WIDTH"]), int(words["Y_WIDTH"])
    b = int(words.get("B_WIDTH", a))
    mixed = "B" in words and words["A_SIGNED"] != words["B_SIGNED"]
    wanted: dict[str, int] = {}
    if kind in MODULAR and not mixed:
        wanted = {"A": y, "B": y}
    elif kind in COMPARISONS and not mixed:
        wanted = dict.fromkeys("AB", max(a, b, 1))
    elif kind in SHIFTS:
        wanted = {"A": max(a, y), "Y": max(a, y)}
    elif kind == "$divfloor" and (shift := _power_of_two(words["B"])):
        kind = "$sshr"
        words |= {"B": shift, "B_WIDTH": str(len(shift.partition("'")[2])), "B_SIGNED": "0"}
        wanted = {"A": max(a, y), "Y": max(a, y)}
    elif kind in DIVISIONS and not mixed:
        wanted = dict.fromkeys("ABY", max(a, b, y))
        if words["A_SIGNED"] == "0":  # the same, and Yosys writes it as one operator
            kind = kind.removesuffix("floor")
    return _written(kind, name, words, wanted, numbers)


def _power_of_two(signal: str) -> str:
    """Return the exponent of a constant that is a power of two; empty for any other signal."""
    bits = signal.partition("'")[2] if re.fullmatch(r"\d+'0+1[01]*", signal) else ""
    if bits.count("1") != 1:
        return ""
    exponent = len(bits) - 1 - bits.index("1")
    width = max(1, exponent.bit_length())
    return f"{width}'{exponent:0{width}b}"


def _written(kind: str, name: str, words: dict[str, str], wanted: dict[str, int],
             numbers: count) -> str:
    """Return the cell with operands extended or cut to the needed widths, and its result cut."""
    before = after = ""
    for operand, width in wanted.items():
        if operand not in words or (own := int(words[f"{operand}_WIDTH"])) == width:
            continue
        if operand != "Y":
            words[operand] = _resized(words[operand], own, width,
                                      words[f"{operand}_SIGNED"] == "1")
        elif width > own:
            wire = f"$wide${next(numbers)}"
            before = f"  wire width {width} {wire}\n"
            after = f"  connect {words['Y']} {wire} [{own - 1}:0]\n"
            words["Y"] = wire
        words[f"{operand}_WIDTH"] = str(width)
    body = "".join(f"    {'connect' if len(word) == 1 else 'parameter'} \\{word} {value}\n"
                   for word, value in words.items())
    return f"{before}  cell {kind} {name}\n{body}  end\n{after}"


def _resized(signal: str, own: int, width: int, signed: bool) -> str:
    if not own:
        return f"{width}'{'0' * width}"
    if width < own:
        return f"{signal} [{width - 1}:0]"
    more = " ".join([f"{signal} [{own - 1}]"] * (width - own)) if signed else (
        f"{width - own}'{'0' * (width - own)}")
    return f"{{ {more} {signal} }}"
