"""Checks of the arguments of public calls, before a call does anything.

::

    @checked(launch=a(Launch), gang=FLAG)
    def resume(self, launch, *, gang=False): ...

A wrong argument gives one message with the call, the argument, the wanted kind, and the given value. Numbers that have
messages of their own (`arguments.whole_number`) are not declared here.
"""

from __future__ import annotations

import functools
import inspect
import operator
import os
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any, NamedTuple, ParamSpec, TypeVar

import numpy as np

from .errors import DriverError

__all__ = ["ADDRESS", "BYTES", "FLAG", "INTEGER", "MANY_NAMES", "PATH", "TEXT", "WHOLE", "WHOLES", "WORD", "Wanted",
           "a", "checked", "many", "one_or_many", "optional", "shown"]

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")
_SHOWN = 80
"""Characters of a value that a message shows."""
_ADDRESSES = 1 << 32


class Wanted(NamedTuple):
    """The condition on an argument.

    Attributes
    ----------
    what : str
        Words that follow "must be".
    holds : callable
        Function that returns whether a value satisfies the condition.
    """

    what: str
    holds: Callable[[Any], bool]


def shown(value: object) -> str:
    """Return a value in the form of messages: its first characters."""
    try:
        text = repr(value)
    except Exception:  # of an object that is not whole
        text = f"an object of type {type(value).__name__}"
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def _whole(value: object) -> bool:
    try:
        return not isinstance(value, (bool, np.bool_)) and operator.index(value) >= 0  # pyright: ignore
    except TypeError:
        return False


def _integer(value: object) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


FLAG = Wanted("True or False", lambda value: isinstance(value, (bool, np.bool_)))
TEXT = Wanted("a text", lambda value: isinstance(value, str))
PATH = Wanted("the path of a file", lambda value: isinstance(value, (str, os.PathLike)))
WHOLE = Wanted("a whole number from 0", _whole)
INTEGER = Wanted("a whole number from 0", _integer)
"""Condition of calls that have a message of their own for negative numbers."""
ADDRESS = Wanted(f"an address from 0 to {_ADDRESSES - 1:#x}", lambda value: _whole(value) and value < _ADDRESSES)
WORD = Wanted("a word from 0 to 0xffffffff", lambda value: _whole(value) and value < _ADDRESSES)
WHOLES = Wanted("a list of whole numbers from 0", lambda value: isinstance(value, Iterable) and not isinstance(
    value, (str, bytes)) and (not isinstance(value, Collection) or all(map(_whole, value))))
BYTES = Wanted("bytes", lambda value: isinstance(value, (bytes, bytearray, memoryview)))
MANY_NAMES = Wanted("a collection of texts", lambda value: isinstance(value, Collection) and not isinstance(
    value, (str, bytes)) and all(isinstance(each, str) for each in value))


def _named(kind: type) -> str:
    name = kind.__name__
    return f"{'an' if name[0] in 'AEIOU' else 'a'} {name}"


def a(kind: type) -> Wanted:
    """Return the condition of being an object of a class."""
    return Wanted(_named(kind), lambda value: isinstance(value, kind))


def many(kind: type, ordered: bool = False) -> Wanted:
    """Return the condition on several objects of a class. The objects of an iterator are not checked, since a check
    would consume them."""
    def holds(value: object) -> bool:
        if not isinstance(value, Sequence if ordered else Iterable) or isinstance(value, (str, bytes)):
            return False
        return not isinstance(value, Collection) or all(isinstance(each, kind) for each in value)

    return Wanted(f"a list of objects of {kind.__name__}", holds)


def one_or_many(kind: type) -> Wanted:
    """Return the condition on an object of a class, or a list of such objects."""
    one, several = a(kind), many(kind, ordered=True)
    return Wanted(f"{one.what}, or {several.what}", lambda value: one.holds(value) or several.holds(value))


def optional(wanted: Wanted) -> Wanted:
    """Return the same condition with None allowed."""
    return Wanted(f"{wanted.what}, or None", lambda value: value is None or wanted.holds(value))


def checked(**wanted: Wanted) -> Callable[[Callable[Arguments, Result]], Callable[Arguments, Result]]:
    """Let a call check its arguments by name before it begins.

    Raises
    ------
    DriverError
        Raised by the call, if an argument violates its condition.
    """
    def decorate(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
        names = [*inspect.signature(function).parameters]
        assert wanted.keys() <= {*names}, f"{function.__qualname__} has no {wanted.keys() - {*names}}"

        @functools.wraps(function)
        def call(*given: Arguments.args, **named: Arguments.kwargs) -> Result:
            for name, value in (*zip(names, given, strict=False), *named.items()):
                if (want := wanted.get(name)) is not None and not want.holds(value):
                    raise DriverError(f"{function.__name__.strip('_')}: {name} must be {want.what}, not "
                                      f"{shown(value)}")
            return function(*given, **named)

        return call

    return decorate
