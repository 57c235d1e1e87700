"""PTX text to syntax tree: the grammar of `ptx.lark` (LALR, built once per process) and its `actions`.

A module in the plain form (`plain_module`) is read without the grammar. In any other, plain instructions (`plain`) are
one terminal. A text that is refused with these is parsed once more without, so that the grammar alone reports errors.
"""

from __future__ import annotations

import dataclasses
import functools
import re
from pathlib import Path

import lark

from ..errors import CompileError
from .actions import Actions
from .early import modernized
from .lines import read_lines
from .plain import TERMINAL, NotPlain
from .plain_module import read_module
from .syntax import Module

__all__ = ["parse"]


def parse(text: str, filename: str = "<ptx>", plain: bool = True) -> Module:
    """Parse a PTX module.

    Parameters
    ----------
    text : str
    filename : str
        Name of the source, for messages.
    plain : bool
        Whether the plain form is read at once. If not, the grammar reads everything, slowly and with the same result.

    Returns
    -------
    Module

    Raises
    ------
    CompileError
        If the text is not PTX; the message has line, column and the text of the line.
    """
    text = text.rstrip("\0")
    lines = read_lines(text)
    try:
        return dataclasses.replace(_read(text, filename, plain), lines=lines)
    except CompileError as error:
        raise error.from_origin(lines.at(error.line)) from None


def _read(text: str, filename: str, plain: bool) -> Module:
    """Return the tree of a text; errors as `parse`."""
    if plain:
        try:
            return modernized(read_module(text, filename))
        except (NotPlain, CompileError):
            pass
        try:
            return _module(_parser(True).parse(text), text, filename)
        except (lark.exceptions.LarkError, NotPlain, CompileError, RecursionError):
            return _read(text, filename, False)
    try:
        tree = _parser(False).parse(text)
    except lark.exceptions.UnexpectedInput as error:
        raise _syntax_error(error, text, filename) from None
    try:
        return _module(tree, text, filename)
    except RecursionError:
        raise _too_deep(tree, filename) from None


def _module(tree: lark.Tree, text: str, filename: str) -> Module:
    try:
        return modernized(Actions(text, filename).transform(tree))
    except lark.exceptions.VisitError as error:
        raise error.orig_exc from None


@functools.cache
def _parser(plain: bool) -> lark.Lark:
    grammar = (Path(__file__).parent / "ptx.lark").read_text()
    if plain:
        grammar += f"%extend _statement: PLAIN\nPLAIN.1: /{TERMINAL}/\n"
    return lark.Lark(grammar, parser="lalr", propagate_positions=True, maybe_placeholders=True,
                     g_regex_flags=re.ASCII)


def _syntax_error(error: lark.exceptions.UnexpectedInput, text: str, filename: str) -> CompileError:
    lines = text.split("\n")
    line, column = error.line, error.column
    if not isinstance(error, lark.exceptions.UnexpectedToken):
        what = "syntax error: unexpected character"
        if text.startswith("/*", error.pos_in_stream):
            what = "the comment has no end"
    elif error.token.type == "$END":
        what, line, column = "unexpected end of the file", error.token.end_line or 1, error.token.end_column or 1
    else:
        what = f"syntax error at {str(error.token)!r}"
    return CompileError(what, filename, line, lines[line - 1], column=column)


def _too_deep(tree: lark.Tree, filename: str) -> CompileError:
    """Return the error for a tree that is too deep to walk, at its deepest part."""
    inner = level = [tree]
    while inner:
        level = inner
        inner = [child for part in level for child in part.children if isinstance(child, lark.Tree)]
    meta = level[0].meta
    return CompileError("scopes or lists are nested too deeply", filename, 0 if meta.empty else meta.line,
                        supported="a few hundred levels", column=0 if meta.empty else meta.column)
