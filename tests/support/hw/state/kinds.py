"""Kinds of state: which elements are a thread block's (TB's) context, and why the others need not survive."""

import enum
from functools import partial
from typing import NamedTuple

__all__ = ["BUFFERED_FIFO", "FIFO", "LIBRARY_FIFO", "Elements", "Kind", "bookkeeping", "cache", "context", "descriptor",
           "transient"]


class Kind(enum.Enum):
    """Why an element survives a preemption, or need not."""

    CONTEXT = enum.auto()
    """The element must survive. It travels in the context image, in the fields named."""
    TRANSIENT = enum.auto()
    """The element holds nothing of a warp that is stopped (docs/sm.md, Stopped warps)."""
    CACHE = enum.auto()
    """The element may be lost at any time, or a restore sets it to the safe value."""
    DESCRIPTOR = enum.auto()
    """The driver has written it for a kernel slot, and it stays while the kernel is preempted; or admission sets it."""
    BOOKKEEPING = enum.auto()
    """The element belongs to the machine or to the command in hand, not to a TB."""


class Elements(NamedTuple):
    """Elements of one block that share a kind and a reason."""

    kind: Kind
    names: str
    """Separated by blanks."""
    why: str
    fields: str = ""
    """Fields of the layouts of `context` that carry the elements, ``LAYOUT.field``, separated by blanks."""


context, transient, cache, descriptor, bookkeeping = (partial(Elements, kind) for kind in Kind)
FIFO = "consume produce level storage[]"
BUFFERED_FIFO = "consume produce inner_level r_rdy storage[] data"
LIBRARY_FIFO = "consume produce inner_level r_rdy storage[] storage[].read0"
