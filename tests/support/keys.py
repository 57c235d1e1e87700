"""What commands write with ``--json``, judged by the schema of their keys."""

import functools
import json

from jsonschema import Draft202012Validator

from caesura.sim.report.keys import described
from caesura.software.schema import json_schema, with_schema

__all__ = ["check_keys", "read_json"]


@functools.cache
def validator(command):
    """Return what judges the output of a command; keys that are not described are wrong too."""
    return Draft202012Validator(json_schema(described(command), closed=True))


def read_json(command, text):
    """Return what a command wrote; each key of it is described, and is what its description says."""
    data = json.loads(text)
    wrong = [f"{error.json_path}: {error.message[:300]}" for error in validator(command).iter_errors(data)]
    assert not wrong, "\n".join(wrong[:20])
    return data


def check_keys(command, result):
    """Judge a result before it is written."""
    read_json(command, json.dumps(with_schema(result)))
