"""Every stateful element of the SM, and which of them are a thread block's (TB's) context.

Real context switches suffer from forgotten state. So each flip-flop and memory of `hw.sm.Sm` stands here once. A test
elaborates the SM and compares. An element is named by the submodules down to it and its own name:
``front.stack.second``. ``#`` stands for a number (lanes, slots, banks), ``[]`` ends the name of a memory, ``[].read0``
is the register of its first synchronous read port.

A question finds the kind of a new element. Suppose that another kernel runs between the stop of a warp and its
resumption. Does a result change if the element is lost there, or kept for the next owner?
"""

from collections.abc import Iterator

from . import options
from .control import DISPATCH, ENGINE
from .core import EXECUTE, FRONT_END, MEMORY
from .kinds import Elements

__all__ = ["ABOUT_THE_IMAGE", "IN_PLACE", "OF_SEVERAL_BEATS", "STATE", "TRAPS", "YIELDS", "listed"]

STATE: dict[str, tuple[Elements, ...]] = FRONT_END | EXECUTE | MEMORY | DISPATCH | ENGINE
"""Elements by block. Blocks with the same elements stand in one key, separated by blanks; ``""`` is the SM itself."""

OF_SEVERAL_BEATS = frozenset(["control.engine.save.pipeline.encoder.kept_#"])
"""Elements that an SM has only if a warp takes several beats."""

ABOUT_THE_IMAGE = frozenset(["WARP_HEADER.repeats", "STACK_ENTRY.none"]) | frozenset(f"CCB_ENTRY.{name}" for name in (
    "state version zero crc generation geometry_hash register_image length mechanism incremental base_crc "
    "registers_stay lines_stay none registers warps stream_crc table_crc").split())
"""Fields that carry no element: they describe the image, or repeat the kernel's descriptor."""


def _named(state: dict[str, tuple[Elements, ...]]) -> Iterator[tuple[str, Elements]]:
    for blocks, groups in state.items():
        for block in blocks.split() or [""]:
            for group in groups:
                for name in group.names.split():
                    yield (f"{block}.{name}" if block else name), group


def listed() -> Iterator[tuple[str, Elements]]:
    """Yield every element's full name, with the group it stands in."""
    yield from _named(STATE)
    yield from _named(options.IN_PLACE)
    yield from _named(options.TRAPS)
    yield from _named(options.YIELDS)


IN_PLACE = frozenset(name for name, _ in _named(options.IN_PLACE))
"""Elements that an SM has only with `Geometry.in_place`."""
TRAPS = frozenset(name for name, _ in _named(options.TRAPS))
"""Elements that an SM has only with `Geometry.traps`."""
YIELDS = frozenset(name for name, _ in _named(options.YIELDS))
"""Elements that an SM has only with `Geometry.watches`."""
