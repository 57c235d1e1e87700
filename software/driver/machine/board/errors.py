"""Errors between a host and a board."""

from __future__ import annotations

from caesura.errors import UserError

__all__ = ["BoardError"]


class BoardError(UserError):
    """A board that cannot be reached, does not answer, or is not what it should be; the message says which."""
