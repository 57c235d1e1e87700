"""Modules and kernels: compiled code on a device, and the check of a launch against it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from caesura.hw.arch.geometry import INSTRUCTION_BYTES
from caesura.software.compiler import KernelImage, Parameter
from caesura.software.compiler.ir.variables import Binding
from caesura.software.names import alternatives

from .arguments import number_bytes
from .constants import ConstantBank
from .display import html_table
from .errors import LaunchError, NoSuchKernel
from .fit import check_parameters
from .memory import Allocation, DeviceArray
from .textures import Texture, texture_words
from .variables import Bank, GlobalVariables, Variable

if TYPE_CHECKING:
    from .device import Device
    from .launch import Launch

__all__ = ["Module", "Kernel", "triple"]

def triple(value: int | Sequence[int], what: str) -> tuple[int, int, int]:
    """Return a grid or block size as (x, y, z).

    Raises
    ------
    LaunchError
        If it is not one to three positive integers.
    """
    values = np.atleast_1d(np.asarray(value, dtype=object))
    whole = all(isinstance(v, (int, np.integer)) and not isinstance(v, (bool, np.bool_)) and v >= 1
                for v in values.flat)
    if values.ndim != 1 or not 1 <= values.size <= 3 or not whole:
        raise LaunchError(f"{what} must be one to three positive integers, not {value!r}")
    x, y, z = [int(v) for v in values] + [1] * (3 - values.size)
    return x, y, z


class Data:
    """What kernels of a module share: constants, global variables, and what its textures are bound to."""

    def __init__(self, device: Device, image: KernelImage):
        self.globals = GlobalVariables(device, image)
        self.constants = ConstantBank(device, image, self.globals)
        self.textures: dict[str, DeviceArray] = {}

    @property
    def banks(self) -> tuple[Bank, Bank]:
        """The two memories with variables."""
        return self.constants, self.globals

    def unload(self) -> None:
        """Let the memory go."""
        self.globals.unload()
        self.constants.unload()
        self.textures.clear()


class Module(Mapping[str, "Kernel"]):
    """Kernels loaded on a device: a mapping from entry names. Kernels with the same variables share them.

    The memory of code and variables is given back by `unload`, or when the module and its kernels are dropped; a
    launch keeps what it uses until it has finished.

    Parameters
    ----------
    device : Device
    images : iterable of KernelImage

    Attributes
    ----------
    kernels : mapping of str to Kernel
    """

    def __init__(self, device: Device, images: Iterable[KernelImage]):
        data: dict[tuple, Data] = {}
        kernels: dict[str, Kernel] = {}
        for image in images:
            key = image.constants, image.symbols, image.global_bytes, image.global_data, image.relocations
            if key not in data:
                data[key] = Data(device, image)
            kernels[image.name] = Kernel(device, image, data[key])
        self.device = device
        self.kernels: Mapping[str, Kernel] = kernels
        self._data = list(data.values())

    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return id(self)

    def __repr__(self):
        return f"Module({', '.join(self.kernels) or 'no kernel'})"

    def _repr_html_(self) -> str:
        rows = [(k.name, k.signature, len(k.image.code), k.image.registers, k.image.shared_bytes, k.image.local_bytes)
                for k in self.values()]
        return html_table(("kernel", "parameters", "instructions", "registers", "shared bytes", "local bytes"), rows)

    def unload(self) -> None:
        """Give the memory of code and variables back; a launch keeps what it uses. Unloading again does nothing."""
        for kernel in self.values():
            kernel.unload()
        for data in self._data:
            data.unload()

    @property
    def globals(self) -> dict[str, Variable]:
        """The module's global variables by name; of those that two of its files declare alike, the first."""
        return {name: Variable(data.globals, symbol) for data in reversed(self._data)
                for name, symbol in data.globals.symbols.items()}

    def symbol(self, name: str, dtype=None) -> Variable:
        """Return a constant or global variable by name, to be read and written by the host.

        Parameters
        ----------
        name : str
        dtype : numpy.dtype, optional
            Of its elements; as declared without it, where nvcc declares every array as bytes.

        Raises
        ------
        LaunchError
            If there is none, or more than one, or it is no whole number of elements.
        """
        banks = [bank for data in self._data for bank in data.banks]
        found = [Variable(bank, bank.symbols[name], dtype) for bank in banks if name in bank.symbols]
        if len(found) != 1:
            known = ", ".join(sorted({n for bank in banks for n in bank.symbols})) or "none"
            raise LaunchError(f"{len(found) or 'no'} variables {name!r} in this module; there are {known}")
        return found[0]

    def bind_texture(self, name: str, array: DeviceArray) -> None:
        """Let a texture reference (``.global .texref``) read an array, from the next launch on.

        Parameters
        ----------
        name : str
        array : DeviceArray
            32-bit numbers, of shape ``(n,)`` or, with several channels, ``(n, 2)`` or ``(n, 4)``.

        Raises
        ------
        LaunchError
            If no kernel reads such a texture, or the array can be none.
        """
        users = [kernel for kernel in self.kernels.values() if name in kernel.textures]
        if not users:
            known = ", ".join(sorted({n for kernel in self.kernels.values() for n in kernel.textures})) or "none"
            raise LaunchError(f"no texture {name!r} in this module; there are {known}")
        texture_words(array, f"texture {name!r}")
        for kernel in users:
            kernel.data.textures[name] = array

    def __getitem__(self, name: str) -> Kernel:
        try:
            return self.kernels[name]
        except KeyError:
            raise NoSuchKernel(f"no entry {name!r} in this module; {alternatives(str(name), self.kernels)}") from None

    def __iter__(self) -> Iterator[str]:
        return iter(self.kernels)

    def __len__(self) -> int:
        return len(self.kernels)


class Kernel:
    """One entry of a module; call it to launch it.

    Attributes
    ----------
    image : KernelImage
    data : Data
        What it shares with other kernels of its module.
    """

    def __init__(self, device: Device, image: KernelImage, data: Data | None = None):
        self.device = device
        self.image = image
        self.data = data or Data(device, image)
        self._code: Allocation | None = device.reserve(len(image.code) * INSTRUCTION_BYTES, device.system)
        code = np.array(image.code, dtype="<u8")
        device.transport.write_memory(self._code.address, code.tobytes())

    def __repr__(self):
        size = f"{len(self.image.parameters)} parameters, {len(self.image.code):,} instructions"
        return f"Kernel({self.name}, {size}{', unloaded' if self._code is None else ''})"

    @property
    def name(self) -> str:
        """Its entry's name."""
        return self.image.name

    @property
    def signature(self) -> str:
        """Name and parameters, as one would call it."""
        parameters = (f"{p.type}{'*' if p.pointer else ''} {p.name}" for p in self.image.parameters)
        return f"{self.name}({', '.join(parameters)})"

    @property
    def address(self) -> int:
        """Of the code in device memory.

        Raises
        ------
        LaunchError
            If its module has been unloaded.
        """
        if self._code is None:
            raise LaunchError(f"kernel {self.name!r}: its module has been unloaded; load it again")
        return self._code.address

    def unload(self) -> None:
        """Let the code's memory go; see `Module.unload`."""
        self._code = None

    def holdings(self, arguments: Sequence) -> list[Allocation]:
        """Return the memory that a launch with these arguments uses: code, variables, arrays, also by address."""
        found = [self._code, self.data.globals.memory, self.data.constants.memory]
        arrays = [self.data.textures[name] for name in self.textures if name in self.data.textures]
        for value in arguments:
            if isinstance(value, Texture):
                arrays += [value.array, value.descriptor]
            elif isinstance(value, DeviceArray):
                arrays.append(value)
            elif isinstance(value, (int, np.integer)):
                found.append(self.device.heap.holder(int(value)))
        return [memory for memory in (*found, *(array.memory for array in arrays)) if memory is not None]

    @property
    def bank(self) -> ConstantBank:
        """Its constants."""
        return self.data.constants

    @property
    def textures(self) -> set[str]:
        """Names of the texture references that it reads."""
        return {binding.name for binding in self.image.bindings if binding.kind == "texture"}

    def __call__(self, grid, block, arguments: Sequence, shared_bytes: int = 0) -> Launch:
        """Start the kernel and return at once; simulated time passes in `Device.wait` and the like.

        Parameters
        ----------
        grid, block : int or sequence of int
            TBs of the grid, threads of a TB, in x, y, z.
        arguments : sequence of (int, float, numpy scalar, DeviceArray or Texture)
            One for each parameter.
        shared_bytes : int
            Dynamic shared memory.

        Raises
        ------
        LaunchError
            If the arguments do not match the parameters or a TB does not fit the SM.
        """
        return self.device.launch(self, triple(grid, "grid"), triple(block, "block"), arguments, shared_bytes)

    def parameter_words(self, arguments: Sequence) -> list[int]:
        """Return the parameter space as 32-bit words.

        Raises
        ------
        LaunchError
            If the arguments do not match the parameters, or need more words than the SM has.
        """
        parameters = self.image.parameters
        if not isinstance(arguments, Sequence):
            raise LaunchError(f"kernel {self.image.name!r}: the arguments must be a list, one for each parameter, "
                              f"not {type(arguments).__name__}")
        if len(arguments) != len(parameters):
            names = ", ".join(f"{p.type} {p.name}" for p in parameters) or "none"
            raise LaunchError(f"kernel {self.image.name!r} takes {len(parameters)} arguments ({names}), "
                              f"{len(arguments)} given")
        size = check_parameters(self.device.geometry, self.image)
        space = bytearray(size)
        for parameter, value in zip(parameters, arguments, strict=True):
            space[parameter.offset:parameter.offset + parameter.size] = self._bytes(parameter, value)
        for binding in self.image.bindings:
            words = self._bound(binding)
            space[binding.offset:binding.offset + 4 * len(words)] = np.array(words, "<u4").tobytes()
        return [int.from_bytes(space[k:k + 4], "little") for k in range(0, size, 4)]

    def _bound(self, binding: Binding) -> tuple[int, ...]:
        """Return the words of a binding."""
        if binding.kind == "global":
            return (self.data.globals.address,)
        where = f"kernel {self.image.name!r}, texture {binding.name}"
        if binding.kind != "texture" or binding.name not in self.data.textures:
            raise LaunchError(f"{where}: nothing is bound to it; see Module.bind_texture")
        array = self.data.textures[binding.name]
        if array.device is not self.device:
            raise LaunchError(f"{where}: the device array is on another device; copy it to this one")
        return texture_words(array, where)

    def _bytes(self, parameter: Parameter, value) -> bytes:
        where = f"kernel {self.image.name!r}, parameter {parameter.name} ({parameter.type})"
        if isinstance(value, Texture):
            value = value.descriptor
        if isinstance(value, DeviceArray):
            if parameter.size != 8 and not (parameter.pointer and parameter.size == 4):
                raise LaunchError(f"{where}: a device array was given for a value of {parameter.size} bytes")
            if value.address is None:
                raise LaunchError(f"{where}: the device array has been freed")
            if value.device is not self.device:
                raise LaunchError(f"{where}: the device array is on another device; copy it to this one")
            return value.address.to_bytes(parameter.size, "little")
        return number_bytes(parameter, value, where)
