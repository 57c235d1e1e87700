"""Parameters and variables of a kernel, for its IR and its image."""

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
        Name in the PTX.
    type : str
        PTX scalar type, for example ``"u64"``, ``"s32"``, ``"b8"`` (with `size` > 1 for a byte array).
    offset, size : int
        Bytes in the parameter space; 64-bit pointers keep their 8 bytes, little-endian.
    pointer : bool
        Whether it is known to be used as an address of global memory.
    texture : bool
        Whether it is known to be a texture object: the address of a texture's description.
    """

    name: str
    type: str
    offset: int
    size: int
    pointer: bool = False
    texture: bool = False

    @property
    def bounds(self) -> tuple[int, int] | None:
        """Least and greatest integer it takes; None if it takes none.

        nvcc declares all integers as unsigned, so a value may be signed or unsigned, whatever the type says. An address
        is never below 0.
        """
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
        Name in the PTX.
    type : str
        PTX scalar type of its elements.
    offset, size : int
        Offset in the space, and size of all elements, in bytes.
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
        Space of the value: ``"const"`` or ``"global"``.
    offset, width : int
        Place and size of the value in that space, in bytes.
    addend : int
        Offset in the global variables.
    shift : int
        Number of bits by which the sum is shifted right.
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
        ``"global"`` is a word with the address of the module's global variables. ``"texture"`` is three words of a
        one-dimensional texture: address of the linear memory, texels, and 32-bit channels per texel. ``"eviction"`` is
        the addresses of two words in memory that no other address of the kernel leads to. The first is the flag at
        which its thread blocks leave. Thread blocks that leave write the second (`preemption.eviction_check`).
        ``"launch"`` describes the launch: bytes of dynamic and of all shared memory, and warp numbers. Then follow, in
        two words each, the low one first, the number of the grid, and the nanoseconds of a cycle times 2**32.
    name : str
        Name of the texture; empty for other kinds.
    offset : int
        Byte in the parameter space.
    """

    kind: str
    name: str
    offset: int

    @property
    def words(self) -> int:
        """Number of 32-bit words it takes."""
        return {"texture": 3, EVICTION: 2, LAUNCH: 7}.get(self.kind, 1)


def eviction_words(bindings: Iterable[Binding]) -> Binding | None:
    """Return the binding that gives a kernel the address of its flag; None if it has no check."""
    return next((binding for binding in bindings if binding.kind == EVICTION), None)
