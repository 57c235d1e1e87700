"""Commands of the preemption engine as flat dictionaries: tests name an option without saying that it is one."""

from __future__ import annotations

from typing import Any

from amaranth.lib import data

__all__ = ["flat", "nested"]

_OPTIONS = "options"


def nested(layout: data.StructLayout, given: dict[str, Any]) -> dict[str, Any]:
    """Return values for a structure with a member `options`: what is no member of its own goes there."""
    own = {name: value for name, value in given.items() if name in layout.members}
    return {_OPTIONS: {name: value for name, value in given.items() if name not in own}} | own


def flat(given: dict[str, Any]) -> dict[str, Any]:
    """Return what `nested` was given."""
    return {name: value for name, value in given.items() if name != _OPTIONS} | given.get(_OPTIONS, {})
