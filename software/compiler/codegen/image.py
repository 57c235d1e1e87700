"""The compiled kernel: what the loader needs, independent of how it is stored."""

from __future__ import annotations

from dataclasses import dataclass, field

__all__ = ["MAX_CONSTANT_BYTES", "MAX_LOCAL_BYTES", "Parameter", "Symbol", "KernelImage"]

MAX_CONSTANT_BYTES = 1 << 16
"""Bytes a constant bank can have."""
MAX_LOCAL_BYTES = (1 << 16) - 4
"""Bytes of local memory a thread can have."""


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
    """A variable in the constant bank.

    Attributes
    ----------
    name : str
        As in the PTX.
    type : str
        PTX scalar type of its elements.
    offset, size : int
        Bytes in the bank; `size` is that of all elements.
    """

    name: str
    type: str
    offset: int
    size: int


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
        Variables in the bank.
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

    @property
    def parameter_bytes(self) -> int:
        """Bytes of the parameter space in use."""
        return max((p.offset + p.size for p in self.parameters), default=0)
