"""Parameters and variables of a kernel, as its IR and its image have them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

__all__ = ["EVICTION", "LAUNCH", "Parameter", "Symbol", "Relocation", "Binding", "eviction_words"]

EVICTION, LAUNCH = "eviction", "launch"
"""Kinds of a `Binding`."""


@dataclass(frozen=True)
class Parameter:
    """One kernel parameter.

    Attributes
    ----------
    name : str
        As in the PTX.
    type : str
        PTX scalar type, for example ``"u64"``, ``"s32"``, ``"b8"`` (with `size` > 1 for a byte array).
    offset, size : int
        Bytes in the parameter space; 64-bit pointers keep their 8 bytes, little-endian.
    pointer : bool
        Known to be used as an address of global memory.
    texture : bool
        Known to be a texture object: what it is the address of describes a texture.
    """

    name: str
    type: str
    offset: int
    size: int
    pointer: bool = False
    texture: bool = False

    @property
    def bounds(self) -> tuple[int, int] | None:
        """Least and greatest integer it takes, None if it takes none. nvcc writes all integers as unsigned ones, so a
        value may be either, whatever the type says; an address is none below 0."""
        if self.type in ("f32", "f64") or self.size not in (1, 2, 4, 8):
            return None
        bits = 8 * self.size
        return 0 if self.pointer else -(1 << bits - 1), (1 << bits) - 1


@dataclass(frozen=True)
class Symbol:
    """A variable in the constant bank or in the global variables of the module.

    Attributes
    ----------
    name : str
        As in the PTX.
    type : str
        PTX scalar type of its elements.
    offset, size : int
        Bytes there; `size` is that of all elements.
    space : str
        ``"const"`` or ``"global"``.
    """

    name: str
    type: str
    offset: int
    size: int
    space: str = "const"


@dataclass(frozen=True)
class Relocation:
    """An initial value that is known when the global variables have an address.

    The little-endian word of `width` bytes at `offset` is the low bytes of ``(address + addend) >> shift``.

    Attributes
    ----------
    space : str
        Where it lies: ``"const"`` or ``"global"``.
    offset, width : int
        Bytes there.
    addend : int
        Offset in the global variables.
    shift : int
        Bits.
    """

    space: str
    offset: int
    width: int
    addend: int
    shift: int = 0


@dataclass(frozen=True)
class Binding:
    """Words behind the parameters that the driver fills in at launch.

    Attributes
    ----------
    kind : str
        ``"global"``: a word with the address of the module's global variables. ``"texture"``: three words of a
        one-dimensional texture: address of the linear memory, texels, 32-bit channels of a texel. ``"eviction"``:
        addresses of two words in memory that nothing else of the kernel leads to: the flag at which its thread blocks
        leave, and the one that those write which do (`preemption.eviction_check`). ``"launch"``: what the launch is:
        bytes of dynamic and of all shared memory, warp numbers; in two words each, the low one first, the number of
        the grid, and the nanoseconds of a cycle times 2**32.
    name : str
        Of the texture.
    offset : int
        Byte in the parameter space.
    """

    kind: str
    name: str
    offset: int

    @property
    def words(self) -> int:
        """32-bit words it takes."""
        return {"texture": 3, EVICTION: 2, LAUNCH: 7}.get(self.kind, 1)


def eviction_words(bindings: Iterable[Binding]) -> Binding | None:
    """Return the binding by which a kernel is told of its flag, None if it has no check."""
    return next((binding for binding in bindings if binding.kind == EVICTION), None)
