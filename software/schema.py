"""The version of the keys of all JSON that is written for others to read."""

from __future__ import annotations

from typing import Any

__all__ = ["SCHEMA", "with_schema"]

SCHEMA = 1
"""It grows when a key goes or means something else, not when one is added."""


def with_schema(data: dict[str, Any]) -> dict[str, Any]:
    """Return data with the version of its keys in front."""
    return {"schema": SCHEMA} | data
