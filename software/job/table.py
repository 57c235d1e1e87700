"""Tables of a TOML file, read key by key, with errors that name file, table and key."""

from __future__ import annotations

import difflib
import math
import re
import sys
import tomllib
from collections.abc import Collection
from pathlib import Path
from typing import Any

from caesura.errors import InputError
from caesura.software.names import alternatives

__all__ = ["JobError", "Table", "read_toml"]

_MOST_SHOWN = 200
"""Characters of what is wrong, at either end, that a message quotes."""


_LONG_KEY = re.compile(r"""(?<![\w-])(?:(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+){100}""", re.ASCII)
"""A key of so many parts that reading it would take memory that grows with their square."""


class JobError(InputError):
    """A job file, or a geometry, that cannot be used; ``str()`` of it names the file, the table and the key."""


def read_toml(path: Path) -> Table:
    """Read a file and return its top.

    Raises
    ------
    JobError
        If it is no TOML.
    OSError
        If it cannot be read.
    """
    deep = JobError(f"{path}: arrays, tables or keys are nested too deeply; a few levels are all that is understood")
    try:
        text = path.read_text(encoding="utf-8-sig")
        if _LONG_KEY.search(text):
            raise deep
        return Table(path, "", tomllib.loads(text))
    except JobError:
        raise
    except RecursionError:
        raise deep from None
    except UnicodeDecodeError as error:
        raise JobError(f"{path}: no TOML: byte {error.start} is no UTF-8; save the file as UTF-8") from None
    except tomllib.TOMLDecodeError as error:
        raise JobError(f"{path}: no TOML: {str(error)[:_MOST_SHOWN]}; an inline table {{...}} has to stand on one "
                       "line") from None
    except ValueError as error:  # an integer of thousands of digits
        raise JobError(f"{path}: no TOML: {str(error)[:_MOST_SHOWN]}") from None


_KINDS = {bool: "true or false", int: "an integer", float: "a number", str: "a string", list: "an array",
          dict: "a table"}


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    text = repr(value)
    return text if len(text) < 60 else f"{text[:57]}..."


def _cut(text: str) -> str:
    """Return text on one line, its middle cut out where it is too long to read."""
    text = "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)
    return text if len(text) < 3 * _MOST_SHOWN else f"{text[:_MOST_SHOWN]} ... {text[-_MOST_SHOWN:]}"


class Table:
    """One table of a TOML file.

    Parameters
    ----------
    path : Path
        The file.
    where : str
        The table, for messages; empty at the top.
    data : dict
    """

    def __init__(self, path: Path, where: str, data: dict):
        self.path, self.where, self.data = path, where, data

    def error(self, message: str, key: str = "") -> JobError:
        """Return an error about a key, or about the table."""
        parts = [str(self.path), self.where, f"key {_shown(key)}" if key else ""]
        return JobError(": ".join([", ".join(part for part in parts if part), _cut(message)]))

    def only(self, keys: Collection[str], top: Collection[str] = ()) -> None:
        """Refuse keys other than `keys`; one of `top` belongs at the top of the file."""
        for key in self.data:
            if key in keys:
                continue
            close = difflib.get_close_matches(key, keys, 1)
            if close:
                hint = f"did you mean {close[0]!r}?"
            elif key in top:
                hint = "it belongs at the top of the file, before the first [[table]]"
            else:
                hint = f"there are {', '.join(keys)}"
            raise self.error(f"no such key here; {hint}", key)

    def get(self, key: str, kind: type, default: Any = None) -> Any:
        """Return a value of the type wanted (`float` takes integers too), or `default` if the key is absent."""
        if key not in self.data:
            return default
        value = self.data[key]
        if kind is float and isinstance(value, int) and not isinstance(value, bool):
            if abs(value) > sys.float_info.max:
                raise self.error(f"a number of at most {sys.float_info.max:.3g} is wanted, not {_shown(value)}", key)
            return value
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            raise self.error(f"{_KINDS[kind]} is wanted, not {_shown(value)}", key)
        if isinstance(value, float) and not math.isfinite(value):
            raise self.error(f"a finite number is wanted, not {value}", key)
        return value

    def need(self, key: str, kind: type) -> Any:
        """Return a value that must be there."""
        if key not in self.data:
            raise self.error(f"missing; {_KINDS[kind]} is wanted", key)
        return self.get(key, kind)

    def integer(self, key: str, default: int | None, low: int, high: int = (1 << 31) - 1) -> int:
        """Return an integer from `low` to `high`; without a default it must be there."""
        value = self.need(key, int) if default is None else self.get(key, int, default)
        if not low <= value <= high:
            raise self.error(f"an integer from {low} to {high} is wanted, not {value}", key)
        return value

    def choice(self, key: str, names: Collection[str], default: str) -> str:
        """Return one of `names`."""
        value = self.get(key, str, default)
        if value not in names:
            raise self.error(f"{value!r} is unknown; {alternatives(value, names)}", key)
        return value

    def sizes(self, key: str, most: int) -> tuple[int, ...]:
        """Return a positive integer, or an array of one to `most` of them, as a tuple."""
        if key not in self.data:
            raise self.error(f"missing; a positive integer or an array of up to {most} is wanted", key)
        value = self.data[key]
        values = value if isinstance(value, list) else [value]
        if not 1 <= len(values) <= most or any(type(v) is not int or not 1 <= v < 1 << 32 for v in values):
            raise self.error(f"a positive integer or an array of up to {most} is wanted, not {_shown(value)}", key)
        return tuple(values)

    def tables(self, key: str, what: str) -> list[Table]:
        """Return an array of tables, each named `what` and its number."""
        values = self.get(key, list, [])
        for value in values:
            if not isinstance(value, dict):
                raise self.error(f"tables are wanted ([[{key}]]), not {_shown(value)}", key)
        prefix = f"{self.where}, " if self.where else ""
        return [Table(self.path, f"{prefix}{what} {k}", value) for k, value in enumerate(values, 1)]
