"""The common type of all interfaces of our signatures, for the type checker."""

from typing import Any, Protocol

from amaranth.lib import wiring

__all__ = ["Port"]


class Port(Protocol):
    """Type of an attribute that holds an interface: its members are those of its signature."""

    @property
    def signature(self) -> wiring.Signature:
        """The signature, or the same flipped."""
        ...

    def __getattr__(self, name: str, /) -> Any:
        """Return a member of the signature."""
        ...
