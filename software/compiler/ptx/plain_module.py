"""Reads modules in the plain form without the grammar: nvcc writes it for a file of kernels without calls.

Between comments, a plain module has version, target and address size, arrays with or without initial values, and
kernels. A body has declarations of one name each, labels, and runs of plain instructions (`plain`). Each of these is a
regular expression that matches less than the grammar would in its place. Text that does not match, or is not all right,
raises `NotPlain`, and the grammar decides (`parser`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from .actions import Actions
from .literals import literal
from .plain import TERMINAL, NotPlain, PlainReader
from .scopes import Scope
from .syntax import Function, Label, Module, Number, Variable

__all__ = ["read_module"]

_NAME = r"[%$_a-zA-Z][\w$%]*+"
_TYPE = r"(?:[busf](?:8|16|32|64)|pred)"
_S = r"[ \t]*+"
_SPACE = r"[ \t\f\r\n]"
_PARAMETER = (rf"\.param[ \t]++\.(?P<kind>{_TYPE})(?:{_S}\.ptr(?:{_S}\.(?:global|shared|const|local))?)?"
              rf"(?:{_S}\.align[ \t]++(?P<align>\d++))?{_S}(?<=[ \t])(?P<name>{_NAME})")
_VARIABLE = (rf"\.(?P<space>reg|shared|local|const|global)(?:[ \t]++\.align[ \t]++(?P<align>\d++))?"
             rf"[ \t]++\.(?P<kind>{_TYPE})[ \t]++(?P<name>{_NAME})"
             rf"(?:<(?P<count>\d++)>|\[(?P<elements>\d++)\]{_S}(?:={_SPACE}*+\{{{_SPACE}*+"
             rf"(?P<values>-?\d++(?>(?:{_SPACE}*+,{_SPACE}*+-?\d++)*)){_SPACE}*+\}})?)?{_S};")
_HEADER = (r"(?:\.version[ \t]++(?P<version>\d++\.\d++)|\.target[ \t]++(?P<target>sm_\w++)"
           rf"|\.address_size[ \t]++(?P<bits>32|64))(?={_SPACE}|//|\Z)")
_FUNCTION = (rf"(?:\.(?:visible|weak)[ \t]++)?(?P<entry>\.entry)[ \t]++(?P<called>{_NAME}){_SPACE}*+"
             rf"\((?P<parameters>[^()/]*+)\)(?P<attributes>[ \t\f\r\n\d,.a-z]*+)\{{")
_ATTRIBUTE = re.compile(r"\.(?P<word>maxntid|reqntid|minnctapersm|maxnreg)[ \t]++"
                        rf"(?P<numbers>\d++(?>(?:{_S},{_S}\d++)*))(?={_SPACE}|\Z)", re.ASCII)
_BETWEEN = re.compile(rf'(?>(?:{_SPACE}++|//[^\n]*+|\.(?:loc|file)\b[^\n]*+|\.pragma[ \t]++"[^"\n]*+"[ \t]*+;'
                      r"|\.section\b[^{]*+\{[^}]*+\})*)", re.ASCII)
_TOP = re.compile(rf"{_HEADER}|{_FUNCTION}|{_VARIABLE}", re.ASCII)
_INSIDE = re.compile(rf"(?P<label>{_NAME}){_S}:(?!:)|(?P<run>{TERMINAL})|{_VARIABLE}|(?P<end>\}})", re.ASCII)
_GIVEN = re.compile(_PARAMETER, re.ASCII)


def read_module(text: str, file: str) -> Module:
    """Return the tree of a module in the plain form.

    Raises
    ------
    NotPlain
        If the module is not plain, or something in it is refused.
    CompileError
        If something in it is refused; the grammar finds the same, or an error before it.
    """
    return _ModuleReader(text, file).module()


class _ModuleReader:
    def __init__(self, text: str, file: str):
        self._text = text
        self._actions = Actions(text, file)
        self._plain = PlainReader()
        self._position = 0
        self._line = 1
        self._before = 0  # characters before the line

    def module(self) -> Module:
        """Read all of it."""
        items: list[tuple] = []
        while (match := self._next(_TOP)) is not None:
            if match["entry"]:
                items.append(self._function(match))
            elif match["space"]:
                items.append(("variables", [self._variable(match)]))
            else:
                items += self._header(match)
                self._go(match.end())
        return self._actions.start(items)

    @staticmethod
    def _header(match: re.Match) -> Iterator[tuple]:
        """Yield the one fact of the module that a match of `_HEADER` gives."""
        for name in ("version", "target"):
            if match[name]:
                yield name, match[name]
        if match["bits"]:
            yield "address_size", int(match["bits"])

    def _next(self, expression: re.Pattern) -> re.Match | None:
        """Return the match of the next item, and go there; None at the end of the text."""
        between = _BETWEEN.match(self._text, self._position)
        assert between is not None
        self._go(between.end())
        if self._position == len(self._text):
            return None
        match = expression.match(self._text, self._position)
        if match is None:
            raise NotPlain
        return match

    def _go(self, position: int) -> None:
        lines = self._text.count("\n", self._position, position)
        if lines:
            self._line += lines
            self._before = self._text.rindex("\n", self._position, position) + 1
        self._position = position

    def _place(self) -> tuple[int, int]:
        """Return the current line and column."""
        return self._line, self._position - self._before + 1

    def _function(self, match: re.Match) -> tuple:
        self._go(match.start("entry"))
        line, column = self._place()
        self._go(match.start("parameters"))
        parameters = self._parameters(match.end("parameters"))
        attributes = self._attributes(match["attributes"])
        self._go(match.end())
        function = Function("entry", match["called"], parameters, attributes, (), (), line, True, (), column)
        self._actions.check_names(parameters)
        return "function", function, self._body()

    def _parameters(self, end: int) -> tuple[Variable, ...]:
        found: list[Variable] = []
        while True:
            between = _BETWEEN.match(self._text, self._position, end)
            assert between is not None
            self._go(between.end())
            if self._position == end and not found:
                return ()
            match = _GIVEN.match(self._text, self._position, end)
            if match is None:
                raise NotPlain
            line, column = self._place()
            found.append(Variable("param", match["kind"], match["name"], line, None, None,
                                  _alignment(match["align"]), text=match[0], column=column))
            self._go(match.end())
            between = _BETWEEN.match(self._text, self._position, end)
            assert between is not None
            self._go(between.end())
            if self._position == end:
                return tuple(found)
            if self._text[self._position] != ",":
                raise NotPlain
            self._go(self._position + 1)

    @staticmethod
    def _attributes(text: str) -> dict[str, tuple[int, ...]]:
        found: dict[str, tuple[int, ...]] = {}
        text = text.strip()
        while text:
            match = _ATTRIBUTE.match(text)
            if match is None:
                raise NotPlain
            numbers = tuple(_integer(number.strip()) for number in match["numbers"].split(","))
            if match["word"] in ("maxntid", "reqntid") and len(numbers) > 3:
                raise NotPlain
            found[match["word"]] = numbers
            text = text[match.end():].strip()
        return found

    def _body(self) -> Scope:
        body = Scope()
        while (match := self._next(_INSIDE)) is not None:
            if match["run"]:
                body.extend(self._plain.read(match["run"], *self._place()))
            elif match["label"]:
                body.append(Label(match["label"], *self._place()))
            elif match["end"]:
                self._go(match.end())
                return body
            else:
                body.append(self._variable(match))
                continue
            self._go(match.end())
        raise NotPlain

    def _variable(self, match: re.Match) -> Variable:
        """Return the variable that a match of `_VARIABLE` declares, and go behind it."""
        line, column = self._place()
        text = match[0][:-1].rstrip()
        count, elements = (None if match[name] is None else _integer(match[name]) for name in ("count", "elements"))
        initial: tuple[Number, ...] = ()
        if match["values"] is not None:
            initial = tuple(_number(value.strip()) for value in match["values"].split(","))
            if elements is None or 0 < elements < len(initial):
                raise NotPlain
        self._go(match.end())
        return Variable(match["space"], match["kind"], match["name"], line, count, elements,
                        _alignment(match["align"]), False, bool(initial), text, initial, column)


def _number(text: str) -> Number:
    try:
        return literal(text)
    except ValueError:
        raise NotPlain from None


def _integer(text: str) -> int:
    value = _number(text).value
    assert value is not None
    return value


def _alignment(text: str | None) -> int:
    value = 0 if text is None else _integer(text)
    if value & value - 1:
        raise NotPlain
    return value
