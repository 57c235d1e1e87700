"""Global variables of a module in device memory, and access to its variables by name."""

from __future__ import annotations

import numpy as np

from caesura.errors import InputError
from caesura.software.compiler import KernelImage
from caesura.software.compiler.ir.variables import Relocation, Symbol

from ..machine.errors import DriverError, LaunchError
from ..machine.lock import FairLock, whole
from ..machine.wanted import INTEGER, checked, shown
from .arrays import convert
from .memory import DeviceMemory
from .regions import Allocation

__all__ = ["Bank", "GlobalVariables", "Variable", "relocated", "symbols_of"]

_LETTERS = {"b": "u", "u": "u", "s": "i", "f": "f"}
_CHUNK = 1 << 20


class Bank:
    """Device memory for the variables that a module's kernels have in one state space.

    Attributes
    ----------
    device : DeviceMemory
    what : str
        Name of one of its variables in messages.
    symbols : dict of str to Symbol
    memory : Allocation or None
        Memory of the bank; None if there are no variables, or once they are unloaded.
    """

    what: str
    device: DeviceMemory
    symbols: dict[str, Symbol]
    memory: Allocation | None

    @property
    def address(self) -> int:
        """Address of the bank, a multiple of 128; 0 if the bank is empty."""
        return self.memory.address if self.memory else 0

    def unload(self) -> None:
        """Release the memory; a launch that uses it keeps it."""
        self.memory = None

    def in_use(self) -> bool:
        """Whether the host must not write to the bank now."""
        raise NotImplementedError


def symbols_of(image: KernelImage, space: str, size: int, what: str) -> dict[str, Symbol]:
    """Return a kernel's symbols in a state space by name.

    Raises
    ------
    LaunchError
        If a symbol lies beyond the `size` bytes of the space.
    """
    found = {symbol.name: symbol for symbol in image.symbols if symbol.space == space}
    for symbol in found.values():
        if not 0 <= symbol.offset <= size - symbol.size:
            raise LaunchError(f"kernel {image.name!r}: {what} {symbol.name!r} lies beyond the {size} bytes of {what}s")
    return found


def relocated(image: KernelImage, space: str, data: bytes, address: int) -> bytes:
    """Return the initial contents of a space for global variables at `address`.

    Raises
    ------
    LaunchError
        If a relocation lies beyond the contents.
    """
    changed = bytearray(data)
    for r in image.relocations:
        if r.space == space:
            if not 0 <= r.offset <= len(changed) - r.width:
                raise LaunchError(f"kernel {image.name!r}: an initial address lies beyond the data of .{space}")
            changed[r.offset:r.offset + r.width] = _address(r, address)
    return bytes(changed)


def _address(r: Relocation, address: int) -> bytes:
    return ((address + r.addend & 0xFFFF_FFFF) >> r.shift & (1 << 8 * r.width) - 1).to_bytes(r.width, "little")


class GlobalVariables(Bank):
    """The global variables of a module's kernels, in memory that kernels may write.

    Parameters
    ----------
    device : DeviceMemory
    image : KernelImage
        One of the kernels that share them.

    Raises
    ------
    DriverError
        If there is no room.
    LaunchError
        If a symbol or an initial value lies beyond them.
    """

    what = "global variable"

    def __init__(self, device: DeviceMemory, image: KernelImage):
        size = image.global_bytes
        self.device = device
        self.symbols = symbols_of(image, "global", size, self.what)
        if len(image.global_data) > size:
            raise LaunchError(f"kernel {image.name!r}: {len(image.global_data)} bytes of data for {size} bytes of "
                              "global variables")
        self.memory = device.reserve(size) if size else None
        if size:
            address = self.address
            data = relocated(image, "global", image.global_data, address)
            for start in range(0, size, _CHUNK):
                end = min(start + _CHUNK, size)
                device.transport.write_memory(address + start, data[start:end].ljust(end - start, b"\0"))

    def in_use(self) -> bool:
        """False: as with device arrays, the host is free to read and write at any time."""
        return False


class Variable:
    """A constant or a global variable of a module.

    Parameters
    ----------
    bank : Bank
    symbol : Symbol
    dtype : numpy.dtype, optional
        Element type; the declared type unless given. nvcc declares arrays as bytes.

    Raises
    ------
    LaunchError
        If the size of the variable is not a whole number of elements.

    Attributes
    ----------
    name : str
    dtype : numpy.dtype
        Type of an element; bit types are unsigned.
    count : int
        Number of elements.
    """

    def __init__(self, bank: Bank, symbol: Symbol, dtype=None):
        self._bank, self._symbol = bank, symbol
        self.name = symbol.name
        own = f"{_LETTERS[symbol.type[0]]}{int(symbol.type[1:]) // 8}"
        try:
            self.dtype = np.dtype(own if dtype is None else dtype).newbyteorder("<")
        except (TypeError, ValueError):
            raise LaunchError(f"dtype: there is no type {shown(dtype)} of the elements of {bank.what} {self.name!r}"
                              ) from None
        if self.dtype.hasobject or not self.dtype.itemsize or symbol.size % self.dtype.itemsize:
            raise LaunchError(f"{bank.what} {self.name!r} of {symbol.size} bytes is no whole number of {self.dtype}")
        self.count = symbol.size // self.dtype.itemsize

    def __repr__(self):
        return f"Variable({self.name!r}, {self.count} x {self.dtype}, {self._bank.what})"

    @property
    def address(self) -> int:
        """Address of the variable in device memory.

        Raises
        ------
        DriverError
            If its module has been unloaded; also raised by `set` and `get`.
        """
        if self._bank.memory is None:
            raise DriverError(f"{self._bank.what} {self.name!r}: its module has been unloaded")
        return self._bank.address + self._symbol.offset

    @property
    def lock(self) -> FairLock:
        """The lock of the device."""
        return self._bank.device.lock

    @checked(first=INTEGER)
    @whole
    def set(self, values, first: int = 0) -> None:
        """Copy a number or an array to the elements from `first` on.

        Raises
        ------
        ValueError
            If an element cannot hold a value, or there are too many.
        DriverError
            If it is a constant, and a kernel that may read it has not finished, or waits in a queue or a stream. In a
            `Stream.call`, kernels that wait for that call do not count.
        """
        given = np.atleast_1d(np.asarray(values))
        converted = convert(given, self.dtype)
        if given.ndim != 1 or first < 0 or first + len(converted) > self.count:
            raise InputError(f"{given.size} values, first at {first}, do not fit the {self.count} elements of "
                             f"{self._bank.what} {self.name!r}")
        if self._bank.in_use():
            raise DriverError(f"{self._bank.what} {self.name!r} belongs to a kernel that has not finished, or waits in "
                              "a queue or a stream; wait for it, or set it in a Stream.call in front of it")
        self._bank.device.write_memory(self.address + first * self.dtype.itemsize, converted.tobytes())

    def get(self) -> np.ndarray:
        """Return a copy of the elements."""
        raw = self._bank.device.transport.read_memory(self.address, self._symbol.size)
        return np.frombuffer(raw, self.dtype).copy()
