"""The checker: which arrays there are, what each kernel got, and whether an access is where it should be."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from caesura.hw.arch.faults import Fault
from caesura.hw.arch.geometry import Geometry
from caesura.hw.arch.isa.opcodes import Space
from caesura.software.compiler.ir.spaces import HIGH_WORD
from caesura.software.driver.machine.bounds import MemoryObject, Violation, nearest_object

from ..state.faults import WarpFault
from ..state.lanes import lanes_of
from ..state.tags import Shadow, WarpTags
from ..state.thread_block import ThreadBlock, Warp

__all__ = ["BoundsChecker", "BoundsFault"]

_ANYWHERE = 1 << 40
_MOST_TAGS = (1 << 15) - 1


class BoundsFault(WarpFault):
    """An access out of bounds; it has no effect.

    Attributes
    ----------
    violation : Violation
    """

    def __init__(self, violation: Violation):
        super().__init__(Fault.GLOBAL_WINDOW, violation.address)
        self.violation = violation


class _Arrays:
    """The arrays that exist for one kernel, and the tag of each word of its parameters."""

    def __init__(self, objects: Iterable[MemoryObject], tags: Mapping[int, int]):
        self.objects = sorted(objects, key=lambda item: item.start)
        self.starts = np.array([item.start for item in self.objects], np.int64)
        self.ends = np.array([item.end for item in self.objects], np.int64)
        self.tags = dict(tags)


class BoundsChecker:
    """Bounds of one machine; see the package.

    Parameters
    ----------
    g : Geometry
    memory_bytes : int

    Attributes
    ----------
    memory : Shadow
        Tags of global memory, in which local memory lies.
    """

    def __init__(self, g: Geometry, memory_bytes: int):
        self.g = g
        self.memory = Shadow(memory_bytes)
        self._objects: list[MemoryObject | None] = [None]
        self._numbers: dict[tuple[int, int], int] = {}
        self._low, self._high = np.zeros(1, np.int64), np.full(1, _ANYWHERE, np.int64)
        self._kernels: dict[int, _Arrays] = {}
        self._saved: dict[tuple[int, int], tuple[list[WarpTags | None], Shadow | None]] = {}
        self._violation: Violation | None = None

    # Calls of the driver

    def launch(self, slot: int, objects: Iterable[MemoryObject], pointers: Mapping[int, int]) -> None:
        """A kernel is about to start; see `BoundsMonitor`."""
        objects = list(objects)
        numbers = {item.start: self._number(item) for item in objects}
        tags = {word: numbers.get(address, 0) for word, address in pointers.items()}
        self._kernels[slot] = _Arrays(objects, tags)
        self._saved = {key: value for key, value in self._saved.items() if key[0] != slot}

    def _number(self, item: MemoryObject) -> int:
        """Return the tag of an object, 0 once there have been more than tags can tell apart."""
        key = item.start, item.size
        if key not in self._numbers and len(self._objects) <= _MOST_TAGS:
            self._numbers[key] = len(self._objects)
            self._objects.append(item)
            self._low, self._high = np.append(self._low, item.start), np.append(self._high, item.end)
        elif key in self._numbers:
            self._objects[self._numbers[key]] = item
        return self._numbers.get(key, 0)

    def violation(self) -> Violation | None:
        """Return what the fault that is recorded was; see `BoundsMonitor`."""
        return self._violation

    def record(self, fault: WarpFault) -> None:
        """A fault is being recorded."""
        self._violation = fault.violation if isinstance(fault, BoundsFault) else None

    # Calls of the machine

    def parameter(self, slot: int, offset: int) -> int:
        """Return the tag of the parameter word at a byte offset."""
        arrays = self._kernels.get(slot)
        return arrays.tags.get(offset // 4, 0) if arrays else 0

    def saved(self, tb: ThreadBlock) -> None:
        """A TB goes to memory: its tags wait for it."""
        self._saved[tb.kernel.index, tb.launch_id] = [warp.tags for warp in tb.warps], tb.tags

    def restored(self, tb: ThreadBlock) -> None:
        """A TB has come back."""
        tags, tb.tags = self._saved.pop((tb.kernel.index, tb.launch_id), ([None] * len(tb.warps), None))
        for warp, own in zip(tb.warps, tags, strict=True):
            warp.tags = own

    def shadow(self, warp: Warp, space: Space) -> Shadow:
        """Return the tags of the memory of a space."""
        return warp.tb.bounds_tags() if space is Space.SHARED else self.memory

    # Accesses

    def check(self, warp: Warp, mask: int, address: np.ndarray, tags: np.ndarray | int, size: int, access: str) -> None:
        """Raise a `BoundsFault` for the lowest of the lanes `mask` that accesses what it must not.

        Parameters
        ----------
        address : ndarray of uint32
            Addresses of all lanes.
        tags : ndarray of int16 or int
            Tags of the addresses.
        size : int
            Bytes of a lane's access.
        access : str
            Kind of access; see `Violation`.
        """
        arrays = self._kernels.get(warp.tb.kernel.index)
        if arrays is None:
            return
        lanes = np.flatnonzero(lanes_of(mask, self.g.warp_size))
        first = address[lanes].astype(np.int64)
        own = tags[lanes] if isinstance(tags, np.ndarray) else np.full(len(lanes), tags)
        known = np.maximum(own, 0)
        right = (first >= self._low[known]) & (first + size <= self._high[known])
        if (own <= 0).any():
            right &= (own > 0) | self._exists(arrays, first, size)
        if not right.all():
            k = int(right.argmin())
            raise BoundsFault(self._violated(warp, int(lanes[k]), int(first[k]), int(own[k]), size, access, arrays))

    @staticmethod
    def _exists(arrays: _Arrays, first: np.ndarray, size: int) -> np.ndarray:
        """Return which accesses lie in some array."""
        if not len(arrays.starts):
            return np.zeros(len(first), bool)
        at = np.searchsorted(arrays.starts, first, "right") - 1
        return (at >= 0) & (first + size <= arrays.ends[at])

    def _violated(self, warp: Warp, lane: int, address: int, tag: int, size: int, access: str,
                  arrays: _Arrays) -> Violation:
        x, y, _ = warp.tb.kernel.block
        linear = warp.index * self.g.warp_size + lane
        return Violation(access, size, address, warp.tb.ctaid, (linear % x, linear // x % y, linear // (x * y)),
                         self._objects[tag] if tag > 0 else None, nearest_object(arrays.objects, address, size),
                         HIGH_WORD <= address < HIGH_WORD + 256)
