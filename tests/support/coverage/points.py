"""Points that Verilator has counted, and the lines of Python that each point comes from.

A point is a branch or a toggle of the generated SystemVerilog. Branches are the arms of ``if``, ``case`` and ``?:``;
blocks that always run, and the branches of a reset, are left out. A toggle is one bit of a signal that has a name,
going up, or down.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from support.checkout import ROOT

__all__ = ["Place", "Point", "places", "points"]

Place = tuple[str, int]
"""File, from the root of the checkout, and line."""
_SRC = re.compile(r'\(\* src = "([^"]*)" \*\)')
_POINT = re.compile(r"^C '(.*)' (\d+)$")
_CHAIN = re.compile(r"^( *)(end else (?:if .*)?begin|if \(.*\) begin|casez .*)$")
_DECLARED = re.compile(r"^ *(?:input|output|wire|reg|logic)\b.*?(?P<name>\\?[^\s;]+) ?(?: = .*)?;$")
_RESET = "if (rst) begin"


@dataclass(frozen=True)
class Point:
    """A branch or a toggle.

    Attributes
    ----------
    module : str
        Module of the generated SystemVerilog.
    line : int
        Line of the SystemVerilog.
    what : str
        Tells the points of a line apart.
    toggle : bool
    places : tuple of Place
        Lines of Python: of the statements in the branch, of the multiplexer, or of the signal; of a branch without
        statements, a condition that does not hold, those of the branch where it does.
    statements : bool
        Whether it has any.
    count : int
        How often.
    """

    module: str
    line: int
    what: str
    toggle: bool
    places: tuple[Place, ...]
    statements: bool
    count: int


def places(text: str) -> tuple[dict[int, tuple[Place, ...]], set[int]]:
    """Return for lines of a generated SystemVerilog text the lines of Python that they come from, and the lines in it
    that are the branch of a reset.

    A line in a branch comes from the statements of the innermost branch around it.
    """
    found: dict[int, tuple[Place, ...]] = {}
    resets: set[int] = set()
    here = _Branches()
    signal: tuple[Place, ...] | None = None
    name: str | None = None
    for number, line in enumerate(text.splitlines(), 1):
        attribute = _SRC.search(line)
        if attribute and line.strip() == attribute[0]:
            here.announced, signal, name = attribute[1], _parsed(attribute[1]), None
            continue
        if attribute:
            found[number] = _parsed(attribute[1])
            continue
        declared = _DECLARED.match(line)
        if declared and signal is not None and name in (None, declared["name"]):
            name = declared["name"]
            found[number] = signal
            continue
        signal = None
        if line.strip() == _RESET:
            resets.add(number)
        found[number] = here.step(line)
    return found, resets


class _Branches:
    """The place of a line in the switches of a process; `announced` is the attribute before a switch."""

    def __init__(self):
        self.announced = ""
        self._open: list[tuple[int, list[str], bool]] = []  # indentation, lines of branches to come, whether a case

    def step(self, line: str) -> tuple[Place, ...]:
        """Go on by a line; return the Python lines of the branch that it is in, or begins."""
        indent = len(line) - len(line.lstrip())
        if re.match(r"^ *(if \(.*\) begin|casez \(.*\))$", line):
            case = line.lstrip().startswith("casez")
            branches = self.announced.split(";") if self.announced else [""]
            self._open.append((indent, ["", *branches] if case else branches, case))
            self.announced = ""
        elif self._open and indent == self._open[-1][0]:
            if re.match(r"^ *(end|endcase)$", line):
                self._open.pop()
            elif line.lstrip().startswith("end else"):
                del self._open[-1][1][:1]
        elif self._open and self._open[-1][2] and indent == self._open[-1][0] + 2 and re.match(r"^ *\S.*:$", line):
            del self._open[-1][1][:1]
        if line.lstrip().startswith("always"):
            self._open.clear()
        return _parsed(self._open[-1][1][0]) if self._open and self._open[-1][1] else ()


def _parsed(text: str) -> tuple[Place, ...]:
    """Return the places of an attribute, those in the checkout."""
    result = []
    for each in re.split(r"[|;]", text):
        file, _, line = each.rpartition(":")
        path = Path(file)
        if file and path.is_relative_to(ROOT) and not path.is_relative_to(ROOT / "build"):
            result.append((str(path.relative_to(ROOT)), int(line)))
    return tuple(dict.fromkeys(result))


def points(text: str, counted: Iterable[str]) -> Iterator[Point]:
    """Yield the points of a run.

    Parameters
    ----------
    text : str
        The SystemVerilog, with places (`hw.export.located`).
    counted : iterable of str
        Lines of Verilator's ``coverage.dat``.

    Raises
    ------
    ValueError
        If a line is not of that format.
    """
    origin, resets = places(text)
    for line in counted:
        if line.startswith("#") or not line.strip():
            continue
        matched = _POINT.match(line.rstrip("\n"))
        if matched is None:
            raise ValueError(f"not a line of coverage.dat: {line!r}")
        fields = dict(part.split("\x02", 1) for part in matched[1].split("\x01") if part)
        number, what = int(fields["l"]), fields["o"]
        kind, _, module = fields["page"].partition("/")
        if kind == "v_toggle":
            if not what.startswith("_") and origin.get(number):
                yield Point(module, number, what, True, origin[number], False, int(matched[2]))
        elif what != "block" and number not in resets:
            lines = [int(each) for part in fields.get("S", "").split(",") if part for each in part.split("-")]
            place = origin.get(max(lines, default=number), ())  # the last line of a branch is a statement of it
            yield Point(module, number, f"{what} {fields['n']}", False, place, bool(lines), int(matched[2]))
