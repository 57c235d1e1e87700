"""Constant banks: the constants of a module in device memory, and access to them by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from caesura.software.compiler.codegen.image import MAX_CONSTANT_BYTES, KernelImage, Symbol

from .errors import DriverError, LaunchError
from .memory import convert

if TYPE_CHECKING:
    from .device import Device

__all__ = ["ConstantBank", "Constant"]

_LETTERS = {"b": "u", "u": "u", "s": "i", "f": "f"}


class ConstantBank:
    """The constants of a module's kernels, in system memory: no kernel can write them.

    Parameters
    ----------
    device : Device
    image : KernelImage
        One of the kernels that share the bank.

    Attributes
    ----------
    address, size : int
        Of the bank; a multiple of 128, and bytes.
    symbols : dict of str to Symbol

    Raises
    ------
    DriverError
        If there is no room.
    LaunchError
        If the bank is larger than any can be, or a symbol lies beyond it.
    """

    def __init__(self, device: Device, image: KernelImage):
        self.device, self.size = device, len(image.constants)
        self.symbols = {symbol.name: symbol for symbol in image.symbols}
        if self.size > MAX_CONSTANT_BYTES:
            raise LaunchError(f"kernel {image.name!r} has {self.size} bytes of constants, {MAX_CONSTANT_BYTES} are the "
                              "most")
        for symbol in image.symbols:
            if not 0 <= symbol.offset <= self.size - symbol.size:
                raise LaunchError(f"kernel {image.name!r}: constant {symbol.name!r} lies beyond the {self.size} bytes "
                                  "of constants")
        self.address = 0
        if self.size:
            self.address = device.system.allocate(self.size)
            device.transport.write_memory(self.address, image.constants)

    def in_use(self) -> bool:
        """Whether a kernel that has not finished may read it."""
        return any(launch.kernel.bank is self and not launch.finished for launch in self.device.launches.values())


class Constant:
    """A variable in constant memory.

    Parameters
    ----------
    bank : ConstantBank
    symbol : Symbol
    dtype : numpy.dtype, optional
        To see it as elements of another type (nvcc declares arrays as bytes).

    Raises
    ------
    LaunchError
        If it is no whole number of them.

    Attributes
    ----------
    name : str
    dtype : numpy.dtype
        Of an element; bit types are unsigned.
    count : int
        Elements.
    """

    def __init__(self, bank: ConstantBank, symbol: Symbol, dtype=None):
        self._bank, self._symbol = bank, symbol
        self.name = symbol.name
        own = f"{_LETTERS[symbol.type[0]]}{int(symbol.type[1:]) // 8}"
        self.dtype = np.dtype(own if dtype is None else dtype).newbyteorder("<")
        if self.dtype.hasobject or not self.dtype.itemsize or symbol.size % self.dtype.itemsize:
            raise LaunchError(f"constant {self.name!r} of {symbol.size} bytes is no whole number of {self.dtype}")
        self.count = symbol.size // self.dtype.itemsize

    def __repr__(self):
        return f"Constant({self.name!r}, {self.count} x {self.dtype})"

    def set(self, values, first: int = 0) -> None:
        """Copy a number or an array to the elements from `first` on.

        Raises
        ------
        ValueError
            If an element cannot hold a value, or there are too many.
        DriverError
            If a launch that may read it has not finished.
        """
        given = np.atleast_1d(np.asarray(values))
        converted = convert(given, self.dtype)
        if given.ndim != 1 or first < 0 or first + len(converted) > self.count:
            raise ValueError(f"{given.size} values at {first} do not fit the {self.count} elements of constant "
                             f"{self.name!r}")
        if self._bank.in_use():
            raise DriverError(f"constant {self.name!r} belongs to a kernel that has not finished; wait for it")
        at = self._bank.address + self._symbol.offset + first * self.dtype.itemsize
        self._bank.device.transport.write_memory(at, converted.tobytes())

    def get(self) -> np.ndarray:
        """Return a copy of the elements."""
        raw = self._bank.device.transport.read_memory(self._bank.address + self._symbol.offset, self._symbol.size)
        return np.frombuffer(raw, self.dtype).copy()
