"""The compiled kernel: what the loader needs, independent of how it is stored."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass, field

from ..origins import Origin

__all__ = ["HIGH_WORD", "MAX_CONSTANT_BYTES", "MAX_GLOBAL_BYTES", "MAX_LOCAL_BYTES", "MAX_SHARED_BYTES", "Parameter",
           "Symbol", "Relocation", "Binding", "Point", "KernelImage"]

HIGH_WORD = 0xFCFF_FF00
"""Address of an access whose 64-bit address has an upper word, in code that checks it; nothing is there."""
MAX_CONSTANT_BYTES = 1 << 16
"""Bytes a constant bank can have."""
MAX_GLOBAL_BYTES = 1 << 31
"""Bytes of global variables a module can have."""
MAX_LOCAL_BYTES = (1 << 16) - 4
"""Bytes of local memory a thread can have."""
MAX_SHARED_BYTES = (1 << 20) - 1
"""Bytes of shared memory a kernel can declare; what an SM has is checked at launch."""


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
    """

    name: str
    type: str
    offset: int
    size: int
    pointer: bool = False


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
        one-dimensional texture: address of the linear memory, texels, 32-bit channels of a texel.
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
        return 3 if self.kind == "texture" else 1


@dataclass(frozen=True)
class Point:
    """Why a ``pp`` stands where it does (the rules of `passes.placement`).

    Attributes
    ----------
    pc : int
        Its address.
    rule : str
        ``"loop"``: the loop had no preemption point; ``"interval"``: too many instructions without one.
    loop : int or None
        Address of the loop's header, of rule ``"loop"``.
    candidates : int
        Places it was chosen from.
    live, most : int
        Vector registers live at this place, and at the one of the candidates where most are.
    """

    pc: int
    rule: str
    loop: int | None
    candidates: int
    live: int
    most: int


@dataclass(frozen=True)
class KernelImage:
    """Machine code of one kernel with everything the loader needs.

    Attributes
    ----------
    name : str
        Entry name.
    code : tuple of int
        64-bit instruction words.
    registers : int
        Vector registers of a thread.
    predicates : int
        Predicate registers used.
    shared_bytes : int
        Static shared memory of a TB.
    local_bytes : int
        Local memory of a thread, a multiple of 4.
    constants : bytes
        Contents of the constant bank; kernels of a module that have the same bank and symbols share it.
    symbols : tuple of Symbol
        Variables in the bank and among the global variables.
    global_bytes : int
        Size of the module's global variables, which all its kernels share.
    global_data : bytes
        What they hold at first; zeros beyond.
    relocations : tuple of Relocation
    bindings : tuple of Binding
    stack_depth : int
        Most SIMT stack entries the kernel needs, checked at launch.
    parameters : tuple of Parameter
    max_threads : int
        Most threads of a TB (from ``.maxntid``/``.reqntid``), 0 if not given.
    required_block : tuple of int or None
        From ``.reqntid``.
    lines : tuple of int
        Source line (PTX) of each instruction word, 0 where there is none.
    source : str
        File the code came from.
    origins : tuple of Origin
        What the lines of that file were compiled from, as far as it says so, each once.
    origin_numbers : tuple of int
        Of each instruction word, the number of its origin from 1, 0 for none; empty if no word has one.
    points : tuple of Point
        The preemption points the compiler placed, ascending; code written by hand has no such record.
    """

    name: str
    code: tuple[int, ...]
    registers: int
    predicates: int = 0
    shared_bytes: int = 0
    stack_depth: int = 1
    parameters: tuple[Parameter, ...] = ()
    max_threads: int = 0
    required_block: tuple[int, int, int] | None = None
    lines: tuple[int, ...] = field(default=(), repr=False)
    source: str = ""
    local_bytes: int = 0
    constants: bytes = field(default=b"", repr=False)
    symbols: tuple[Symbol, ...] = ()
    global_bytes: int = 0
    global_data: bytes = field(default=b"", repr=False)
    relocations: tuple[Relocation, ...] = ()
    bindings: tuple[Binding, ...] = ()
    points: tuple[Point, ...] = field(default=(), repr=False)
    origins: tuple[Origin, ...] = field(default=(), repr=False)
    origin_numbers: tuple[int, ...] = field(default=(), repr=False)

    def origin(self, pc: int) -> Origin | None:
        """Return what an instruction was compiled from, None if it is not known."""
        number = self.origin_numbers[pc] if pc < len(self.origin_numbers) else 0
        return self.origins[number - 1] if number else None

    def where(self, pc: int) -> str:
        """Return file and line of an instruction, and of what that was compiled from; empty if not known."""
        line = self.lines[pc] if pc < len(self.lines) else 0
        places = [f"{self.source}:{line}"] if line else []
        return ", ".join((*places, *(str(origin) for origin in (self.origin(pc),) if origin)))

    def with_origins(self, find: Callable[[int], Origin | None]) -> KernelImage:
        """Return the image with the origin that `find` gives for the line of each instruction."""
        places: dict[Origin, int] = {}
        found = (find(line) if line else None for line in self.lines)
        numbers = tuple(places.setdefault(origin, len(places) + 1) if origin else 0 for origin in found)
        return dataclasses.replace(self, origins=tuple(places), origin_numbers=numbers) if places else self

    @property
    def parameter_bytes(self) -> int:
        """Bytes of the parameter space in use."""
        return max((*(p.offset + p.size for p in self.parameters),
                    *(b.offset + 4 * b.words for b in self.bindings)), default=0)
