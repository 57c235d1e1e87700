"""The keys of all JSON that is written for others to read: their version, and JSON Schemas and tables from dataclasses.

A dataclass describes an object: its fields are the keys. The meaning of a key is the text of its `Annotated`, or what
the docstring says under *Attributes*. A key that is no name in Python has a `Name`.
"""

from __future__ import annotations

import dataclasses
import inspect
import re
import types
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal, NamedTuple, Union, get_args, get_origin, get_type_hints

__all__ = ["MAY_LACK", "SCHEMA", "Name", "json_schema", "key_rows", "with_schema"]

SCHEMA = 1
"""It grows when a key goes or means something else, not when one is added."""
MAY_LACK = object()
"""Stands in the `Annotated` of a key that is not always there."""
_PLAIN = {str: "string", int: "integer", float: "number", bool: "boolean", type(None): "null"}
_ENTRY = re.compile(r"^    (\w[\w, ]*) : .*\n((?:^(?:        .*)?\n)*)", re.MULTILINE)
"""An entry of *Attributes*, in a docstring whose section is indented by four."""


def with_schema(data: dict[str, Any]) -> dict[str, Any]:
    """Return data with the version of its keys in front."""
    return {"schema": SCHEMA} | data


class Name(NamedTuple):
    """Stands in the `Annotated` of a field whose key has another name."""

    text: str


class _Key(NamedTuple):
    """A key of an object: its name, what it holds, what it means, and whether it is always there."""

    name: str
    kind: Any
    meaning: str
    required: bool


def _attributes(described: type) -> dict[str, str]:
    """Return what the docstrings of a class and its bases say of each attribute."""
    found: dict[str, str] = {}
    for each in reversed(described.__mro__):
        text = inspect.cleandoc(each.__doc__ or "").partition("Attributes\n----------\n")[2]
        for names, meaning in _ENTRY.findall(re.sub("^(?=.)", "    ", text, flags=re.MULTILINE) + "\n"):
            found |= dict.fromkeys(names.split(", "), _of_json(" ".join(meaning.split())))
    return found


def _of_json(meaning: str) -> str:
    """Return a sentence of a docstring as a cell of a table about JSON has it."""
    meaning = re.sub(r"\bNone\b", "null", meaning.replace("``", "`")).removesuffix(".")
    return meaning[:1].lower() + meaning[1:] if meaning[1:2].islower() else meaning


def _keys(described: type) -> Iterator[_Key]:
    hints, meanings = get_type_hints(described, include_extras=True), _attributes(described)
    for field in dataclasses.fields(described):
        kind, extra = hints[field.name], []
        if get_origin(kind) is Annotated:
            kind, *extra = get_args(kind)
        (meaning,) = [text for text in extra if isinstance(text, str)] or [meanings.get(field.name, "")]
        (name,) = [each.text for each in extra if isinstance(each, Name)] or [field.name]
        yield _Key(name, kind, meaning, MAY_LACK not in extra)


def json_schema(described: type, closed: bool = False) -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of what a command writes.

    Parameters
    ----------
    described : type
        A dataclass.
    closed : bool
        Refuse keys that are not described. Others must expect some, since keys are added.
    """
    definitions: dict[str, Any] = {}
    top = _object(described, definitions, closed)
    top["properties"] = {"schema": {"const": SCHEMA}} | top["properties"]
    top["required"] = ["schema", *top["required"]]
    return {"$schema": "https://json-schema.org/draft/2020-12/schema"} | top | {"$defs": definitions}


def _object(described: type, definitions: dict[str, Any], closed: bool) -> dict[str, Any]:
    keys = list(_keys(described))
    properties = {key.name: _of(key.kind, definitions, closed) | ({"description": key.meaning} if key.meaning else {})
                  for key in keys}
    return {"type": "object", "properties": properties, "required": [key.name for key in keys if key.required],
            "additionalProperties": not closed}


def _of(kind: Any, definitions: dict[str, Any], closed: bool) -> dict[str, Any]:
    """Return the schema of a type; objects go to the definitions."""
    origin, arguments = get_origin(kind), get_args(kind)
    if kind is Any:
        return {}
    if kind in _PLAIN:
        return {"type": _PLAIN[kind]}
    if isinstance(kind, type) and dataclasses.is_dataclass(kind):
        if kind.__name__ not in definitions:
            definitions[kind.__name__] = {}  # ends a recursion
            definitions[kind.__name__] = _object(kind, definitions, closed)
        return {"$ref": f"#/$defs/{kind.__name__}"}
    if origin is Annotated:
        return _of(arguments[0], definitions, closed)
    if origin is Literal:
        return {"enum": list(arguments)}
    if origin in (Union, types.UnionType):
        return {"anyOf": [_of(each, definitions, closed) for each in arguments]}
    if origin is dict:
        return {"type": "object", "additionalProperties": _of(arguments[1], definitions, closed)}
    if origin is list or origin is tuple and arguments[-1] is ...:
        return {"type": "array", "items": _of(arguments[0], definitions, closed)}
    if origin is tuple:
        return {"type": "array", "prefixItems": [_of(each, definitions, closed) for each in arguments], "items": False}
    raise TypeError(f"no JSON Schema is known of {kind}")


def key_rows(described: type, known: Mapping[type, str] | None = None) -> list[tuple[str, str, str]]:
    """Return path, type and meaning of each key, those of inner objects after the key that holds them.

    An object that stands in several places is listed at the first; one that is `known` is not, its text says where its
    keys are.
    """
    return list(_rows(described, "", {described: "keys as at the top"} | dict(known or {})))


def _rows(described: type, prefix: str, seen: dict[type, str]) -> Iterator[tuple[str, str, str]]:
    for key in _keys(described):
        path, meaning = f"{prefix}{key.name}", key.meaning + ("" if key.required else " (not always there)")
        inner = [(part, suffix) for part, suffix in _objects(key.kind, "")]
        again = [seen[part] for part, _ in inner if part in seen]
        yield path, _shown(key.kind), "; ".join(filter(None, [meaning.strip(), *again]))
        for part, suffix in inner:
            if part not in seen:
                seen[part] = f"keys as of `{path}`"
                yield from _rows(part, f"{path}{suffix}.", seen)


def _objects(kind: Any, suffix: str) -> Iterator[tuple[type, str]]:
    """Yield the dataclasses in a type, each with what stands between the key and its own keys."""
    if dataclasses.is_dataclass(kind) and isinstance(kind, type):
        yield kind, suffix
    elif get_origin(kind) is not Literal:
        more = {dict: ".*", list: "[]", tuple: "[]"}.get(get_origin(kind) or kind, "")
        for each in get_args(kind):
            yield from _objects(each, suffix + more)


def _shown(kind: Any) -> str:
    """Return a type in words."""
    origin, arguments = get_origin(kind), [each for each in get_args(kind) if each is not ...]
    if kind is Any:
        return "anything"
    if kind in _PLAIN:
        return _PLAIN[kind]
    if origin is Annotated:
        return _shown(arguments[0])
    if origin is Literal:
        return ", ".join(f"`{each}`" for each in arguments)
    if origin in (Union, types.UnionType):
        return " or ".join(_shown(each) for each in arguments)
    if origin is dict:
        return f"object of {_shown(arguments[1])} by name"
    if origin in (list, tuple):
        return f"array of {', '.join(_shown(each) for each in arguments)}"
    return "object"
