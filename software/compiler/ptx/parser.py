"""PTX text to syntax tree: the grammar of `ptx.lark` (LALR, built once a process) and its actions."""

from __future__ import annotations

import functools
from pathlib import Path

import lark
import numpy as np

from ..errors import CompileError
from .syntax import (
    Address,
    Arguments,
    Function,
    Guard,
    Instruction,
    Label,
    Module,
    Name,
    Negated,
    Number,
    Other,
    Pair,
    Variable,
    Vector,
)

__all__ = ["parse"]


def parse(text: str, filename: str = "<ptx>") -> Module:
    """Parse a PTX module.

    Parameters
    ----------
    text : str
    filename : str
        For messages.

    Returns
    -------
    Module

    Raises
    ------
    CompileError
        If the text is not PTX; with the line and its text.
    """
    try:
        tree = _parser().parse(text)
        return _Actions(text, filename).transform(tree)
    except lark.exceptions.UnexpectedInput as error:
        raise _syntax_error(error, text, filename) from None
    except lark.exceptions.VisitError as error:
        if isinstance(error.orig_exc, RecursionError):
            raise _too_deep(filename) from None
        raise error.orig_exc from None
    except RecursionError:
        raise _too_deep(filename) from None


def _too_deep(filename: str) -> CompileError:
    return CompileError("scopes or lists are nested too deeply", filename, supported="a few hundred levels")


@functools.cache
def _parser() -> lark.Lark:
    grammar = (Path(__file__).parent / "ptx.lark").read_text()
    return lark.Lark(grammar, parser="lalr", propagate_positions=True, maybe_placeholders=True)


def _syntax_error(error: lark.exceptions.UnexpectedInput, text: str, filename: str) -> CompileError:
    lines = text.splitlines()
    if isinstance(error, lark.exceptions.UnexpectedToken) and error.token.type == "$END":
        return CompileError("unexpected end of the file", filename, len(lines))
    line, column = (n if isinstance(n, int) and n > 0 else 0 for n in (error.line, error.column))
    shown = lines[line - 1] if 0 < line <= len(lines) else ""
    if isinstance(error, lark.exceptions.UnexpectedToken):
        what = f"syntax error at {str(error.token)!r}"
    else:
        what = "syntax error: unexpected character"
    return CompileError(what, filename, line, shown, column=column)


def _single(value: float) -> int:
    """Return a number's bits as f32, rounded to nearest even; beyond the range it is infinite."""
    with np.errstate(over="ignore", invalid="ignore"):
        return int(np.float32(value).view(np.uint32))


def _double(value: float) -> int:
    with np.errstate(invalid="ignore"):
        return int(np.float64(value).view(np.uint64))


def _number(token: str) -> Number:
    text = token.removesuffix("U")
    digits = text.lstrip("+-")
    prefix = digits[:2].lower()
    if prefix == "0f":
        pattern = int(text[2:], 16)
        return Number(str(token), None, pattern, _double(float(np.uint32(pattern).view(np.float32))), 32)
    if prefix == "0d":
        pattern = int(text[2:], 16)
        return Number(str(token), None, _single(np.uint64(pattern).view(np.float64)), pattern, 64)
    if prefix not in ("0x", "0b") and set(digits) & set(".eE"):
        return Number(str(token), None, _single(float(text)), _double(float(text)))
    base = {"0x": 16, "0b": 2}.get(prefix)
    if base is None:
        base = 8 if len(digits) > 1 and digits[0] == "0" and set(digits) <= set("01234567") else 10
        value = int(digits, base)
    else:
        value = int(digits[2:], base)
    return Number(str(token), -value if text.startswith("-") else value)


class _Actions(lark.Transformer):
    """Build the tree of `syntax` from lark's."""

    def __init__(self, text: str, filename: str):
        super().__init__(visit_tokens=False)
        self._text = text
        self._file = filename

    def _source(self, meta) -> str:
        return self._text[meta.start_pos:meta.end_pos]

    # Operands

    def name(self, children):
        return Name(str(children[0]))

    def number(self, children):
        return _number(children[0])

    def negated(self, children):
        return Negated(str(children[0]))

    def pair(self, children):
        return Pair(str(children[0]), str(children[1]))

    def address(self, children):
        offset = _number(children[-1]).value if children[-1] is not None else 0
        return Address(str(children[0]), offset or 0)

    def absolute(self, children):
        return Address(None, _number(children[0]).value or 0)

    def texture(self, children):
        return Other("texture")

    def vector(self, children):
        return Vector(tuple(children))

    def arguments(self, children):
        return Arguments(tuple(x for x in children if x is not None))

    def guard(self, children):
        return Guard(str(children[1]), children[0] is not None)

    # Statements

    @lark.v_args(meta=True)
    def instruction(self, meta, children):
        guard, opcode, *operands = children
        operands = tuple(x for x in operands if x is not None)
        for operand in operands:
            self._check_range(operand, meta)
        return Instruction(str(opcode), operands, guard, opcode.line, self._source(meta), opcode.column)

    def _check_range(self, operand, meta):
        """Refuse constants that a 64-bit operand (a minus negates it) or a 32-bit address cannot hold."""
        if isinstance(operand, (Vector, Arguments)):
            for element in operand.items:
                self._check_range(element, meta)
        elif isinstance(operand, Number) and operand.value is not None and abs(operand.value) >= 1 << 64:
            raise CompileError(f"{operand.text} does not fit 64 bits", self._file, meta.line, self._source(meta),
                               column=meta.column)
        elif isinstance(operand, Address) and not -1 << 31 <= operand.offset < 1 << 32:
            raise CompileError(f"the offset {operand.offset} does not fit 32 bits, as addresses do", self._file,
                               meta.line, self._source(meta), column=meta.column)

    @lark.v_args(meta=True)
    def label(self, meta, children):
        return Label(str(children[0]), meta.line)

    def body(self, children):
        return ("body", children)

    # Declarations

    def range(self, children):
        return ("range", _number(children[0]).value)

    def dimension(self, children):
        return ("dimension", _number(children[0]).value if children[0] is not None else 0)

    def declarator(self, children):
        name, count, *dimensions = children
        elements = None
        for _, size in dimensions:
            elements = size if elements is None else elements * size
        return ("declarator", str(name), count[1] if count else None, elements)

    def modifier(self, children):
        return ("modifier", str(children[0])[1:], _number(children[1]).value if children[1] is not None else None)

    def initializer(self, children):
        return ("initializer", tuple(x for x in children if x is not None))

    def _initial(self, tuples, meta):
        """Return the initial values of the last variable declared, flat; rows of several dimensions must be full."""
        whole = next((x for x in tuples if x[0] == "initializer"), ("", ()))
        declared = [x for x in tuples if x[0] == "declarator"][-1]
        room = 1 if declared[3] is None else declared[3]

        def flat(node):
            return [x for child in node[1] for x in (flat(child) if isinstance(child, tuple) else [child])]

        values = flat(whole)
        rows = any(isinstance(child, tuple) and (not child[1] or isinstance(child[1][0], tuple)) for child in whole[1])
        if room and (len(values) > room or (rows and len(values) != room)):
            raise CompileError(f"{len(values)} initial values where {room} belong", self._file, meta.line,
                               self._source(meta))
        return tuple(_number(x) if x.type == "NUMBER" else Name(str(x)) for x in values)

    @lark.v_args(meta=True)
    def parameter(self, meta, children):
        return self._variables(meta, children)[0]

    @lark.v_args(meta=True)
    def variable(self, meta, children):
        return ("variables", self._variables(meta, children))

    def _variables(self, meta, children):
        flat = [child for child in children if child is not None]
        linkage = [str(x) for x in flat if isinstance(x, lark.Token) and x.type == "LINKAGE"]
        space = next(str(x)[1:] for x in flat if isinstance(x, lark.Token) and x.type == "DIRECTIVE")
        tuples = [x for x in flat if isinstance(x, tuple)]
        kind, align = "", 0
        for _, word, number in (x for x in tuples if x[0] == "modifier"):
            if word == "align":
                align = align or number or 0
            elif not kind and word != "ptr":
                kind = word
        initialized = any(x[0] == "initializer" for x in tuples)
        sizes = [size for x in tuples if x[0] == "declarator" for size in x[2:] if size is not None]
        if align < 0 or align & align - 1 or any(size < 0 for size in sizes):
            raise CompileError("a size must not be negative, an alignment is a power of two", self._file, meta.line,
                               self._source(meta))
        initial, declarators = self._initial(tuples, meta), [x for x in tuples if x[0] == "declarator"]
        return [Variable(space, kind, name, meta.line, count, elements, align, ".extern" in linkage, initialized,
                         self._source(meta), initial if k == len(declarators) - 1 else ())
                for k, (_, name, count, elements) in enumerate(declarators)]

    # Module

    def version(self, children):
        return ("version", str(children[0]))

    def target(self, children):
        return ("target", ",".join(map(str, children)))

    def address_size(self, children):
        return ("address_size", _number(children[0]).value)

    def parameters(self, children):
        return ("parameters", tuple(x for x in children if x is not None))

    def attribute(self, children):
        return ("attribute", str(children[0])[1:], tuple(_number(x).value for x in children[1:] if x is not None))

    def function(self, children):
        tokens = [x for x in children if isinstance(x, lark.Token)]
        kind = next(x for x in tokens if x.type == "KIND")
        name = next(x for x in tokens if x.type == "WORD")
        named = [x for x in children if isinstance(x, tuple)]
        bodies = [x for x in named if x[0] == "body"]
        place = next(k for k, x in enumerate(children) if isinstance(x, lark.Token) and x.type == "WORD")
        results, parameters = (next((x[1] for x in part if isinstance(x, tuple) and x[0] == "parameters"), ())
                               for part in (children[:place], children[place:]))
        variables, statements = [], []
        self._check_names([*results, *parameters])
        for body in bodies:
            self._flatten(body, variables, statements, frozenset())
        return Function(str(kind)[1:], str(name), parameters, {x[1]: x[2] for x in named if x[0] == "attribute"},
                        tuple(variables), tuple(statements), kind.line or 0, bool(bodies), results)

    def _flatten(self, body, variables, statements, outer):
        """Collect a scope and those in it; sibling scopes may use a name again, an inner one may not hide it."""
        self._check_names([v for item in body[1] if isinstance(item, tuple) and item[0] == "variables"
                           for v in item[1]])
        declared = {v.name for item in body[1] if isinstance(item, tuple) and item[0] == "variables" for v in item[1]}
        for item in body[1]:
            if isinstance(item, tuple) and item[0] == "variables":
                for variable in item[1]:
                    if variable.name in outer:
                        raise CompileError(f"{variable.name} hides a declaration of an outer scope", self._file,
                                           variable.line, variable.text)
                variables += item[1]
            elif isinstance(item, tuple):
                self._flatten(item, variables, statements, outer | declared)
            else:
                statements.append(item)

    def _check_names(self, variables):
        """Refuse a name declared twice in one scope."""
        seen = set()
        for variable in variables:
            if variable.name in seen:
                raise CompileError(f"{variable.name} is declared twice", self._file, variable.line, variable.text)
            seen.add(variable.name)

    def start(self, children):
        facts = {x[0]: x[1] for x in children if isinstance(x, tuple) and x[0] != "variables"}
        variables = [v for x in children if isinstance(x, tuple) and x[0] == "variables" for v in x[1]]
        functions = [x for x in children if isinstance(x, Function)]
        return Module(self._file, facts.get("version", ""), facts.get("target", ""),
                      facts.get("address_size", 64), tuple(variables), tuple(functions))
