"""`caesura schema`: a valid schema of all that `--json` writes, which takes what is written and nothing else."""

import json
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import click
import pytest
from click.testing import CliRunner
from jsonschema import Draft202012Validator

from caesura.cli import main
from caesura.sim.report.keys import BEGIN, DOCUMENTS, described, update_markdown
from caesura.software.schema import MAY_LACK, SCHEMA, Name, json_schema, key_rows
from support.checkout import ROOT

PAGE = ROOT / "docs" / "keys.md"


@dataclass
class Inner:
    """An object in another.

    Attributes
    ----------
    count, most : int
        How many, ``0`` or more,
        None at most.
    """

    count: int
    most: int | None
    next: "list[Inner]"


@dataclass
class Outer:
    """An object."""

    kind: Literal["a", "b"]
    parts: dict[str, Inner]
    pair: tuple[int, str]
    odd: Annotated[float, Name("odd name"), "a meaning"]
    rest: Annotated[Any, MAY_LACK]


INNER = {"count": 1, "most": None, "next": [{"count": 2, "most": 3, "next": []}]}
OUTER = {"schema": SCHEMA, "kind": "a", "parts": {"x": INNER}, "pair": [1, "y"], "odd name": 1.5}


def mistakes(data, closed=True):
    """Return the places at which an object is not what `Outer` says."""
    return sorted({error.json_path for error in Draft202012Validator(json_schema(Outer, closed)).iter_errors(data)})


def test_a_schema_takes_what_it_describes():
    assert mistakes(OUTER) == mistakes(OUTER | {"rest": [None]}) == mistakes(OUTER | {"new": 1}, closed=False) == []


@pytest.mark.parametrize("change, place", [
    ({"schema": SCHEMA + 1}, "$.schema"), ({"kind": "c"}, "$.kind"), ({"pair": [1]}, None), ({"new": 1}, "$"),
    ({"pair": [1, "y", 2]}, "$.pair"), ({"odd name": "1"}, "$['odd name']"), ({"parts": {"x": {}}}, "$.parts.x"),
    ({"parts": {"x": INNER | {"count": True}}}, "$.parts.x.count"),
    ({"parts": {"x": INNER | {"next": [{}]}}}, "$.parts.x.next[0]")])
def test_a_schema_refuses_anything_else(change, place):
    assert mistakes(OUTER | change) == ([place] if place else [])
    assert mistakes({key: value for key, value in OUTER.items() if key != "kind"}) == ["$"]


def test_rows_name_each_key_once_with_its_meaning():
    assert key_rows(Outer) == [
        ("kind", "`a`, `b`", ""), ("parts", "object of object by name", ""),
        ("parts.*.count", "integer", "how many, `0` or more, null at most"),
        ("parts.*.most", "integer or null", "how many, `0` or more, null at most"),
        ("parts.*.next", "array of object", "keys as of `parts`"), ("pair", "array of integer, string", ""),
        ("odd name", "number", "a meaning"), ("rest", "anything", "(not always there)")]


@pytest.mark.parametrize("name", DOCUMENTS)
def test_each_schema_is_valid_and_printed(name):
    done = CliRunner().invoke(main, ["schema", *name.split()])
    assert done.exit_code == 0, done.output
    printed = json.loads(done.stdout)
    Draft202012Validator.check_schema(printed)
    assert printed == json_schema(described(name)) and printed["additionalProperties"] is True
    assert name in CliRunner().invoke(main, ["schema"]).stdout.splitlines()


def commands(group, words=()):
    """Yield the names of the commands that have `--json`."""
    context = click.Context(group)
    for name in group.list_commands(context):
        found = group.get_command(context, name)
        if isinstance(found, click.Group):
            yield from commands(found, (*words, name))
        elif any("--json" in parameter.opts for parameter in found.params):
            yield " ".join((*words, name))


def test_every_command_with_json_has_a_schema():
    assert {*commands(main)} == {*DOCUMENTS} - {"explain flashback", "cache clean"}


def test_the_page_of_keys_is_that_of_the_dataclasses(tmp_path):
    page = tmp_path / "keys.md"
    page.write_text(PAGE.read_text())
    update_markdown(page)
    assert page.read_text() == PAGE.read_text(), "run `caesura schema --markdown docs/keys.md`"
    assert BEGIN in page.read_text()


def test_a_command_without_a_schema_is_one_message():
    done = CliRunner().invoke(main, ["schema", "bench", "kil"])
    assert done.exit_code == 2 and "bench kil" in done.stderr and done.stderr.count("\n") == 1
