"""Compiled code in device memory, and the data that the kernels of a module share."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from caesura.hw.arch.geometry import INSTRUCTION_BYTES, SEGMENT_BYTES, WORD_BYTES
from caesura.software.compiler import KernelImage, Parameter
from caesura.software.compiler.ir.variables import EVICTION, LAUNCH, Binding, eviction_words
from caesura.software.compiler.preemption.restartable import Spoilers, spoilers

from ..machine.errors import LaunchError
from ..machine.wanted import shown
from ..memory.arrays import DeviceArray
from ..memory.constants import ConstantBank
from ..memory.memory import DeviceMemory
from ..memory.regions import Allocation
from ..memory.textures import Texture, texture_words
from ..memory.variables import Bank, GlobalVariables
from .arguments import number_bytes
from .tickets import Ticket, ticket_of

__all__ = ["AdoptedKernel", "LoadedKernel", "ModuleData", "code_bytes"]


class ModuleData:
    """Data that the kernels of a module share: constants, global variables, and the arrays bound to textures."""

    def __init__(self, device: DeviceMemory, image: KernelImage):
        self.globals = GlobalVariables(device, image)
        self.constants = ConstantBank(device, image, self.globals)
        self.textures: dict[str, DeviceArray] = {}
        self._device = device
        self._ticket: Ticket | None = None

    @property
    def banks(self) -> tuple[Bank, Bank]:
        """The two memories with variables."""
        return self.constants, self.globals

    @property
    def ticket(self) -> Ticket:
        """The ticket of launches that nothing evicts, made at its first use."""
        if self._ticket is None:
            self._ticket = Ticket.alone(self._device)
        return self._ticket

    def unload(self) -> None:
        """Release the memory."""
        self._ticket = None
        self.globals.unload()
        self.constants.unload()
        self.textures.clear()


def code_bytes(image: KernelImage) -> bytes:
    """Return the code of a kernel in its form in memory."""
    return np.array(image.words, dtype="<u8").tobytes()


class LoadedKernel:
    """The code of one entry in device memory, and the check of arguments against its parameters.

    Parameters
    ----------
    device : DeviceMemory
    image : KernelImage
    data : ModuleData, optional
    code : Allocation, optional
        Allocation of code that is in memory already.

    Attributes
    ----------
    device : DeviceMemory
    image : KernelImage
    data : ModuleData
        Data shared with the other kernels of its module.
    """

    def __init__(self, device: DeviceMemory, image: KernelImage, data: ModuleData | None = None,
                 code: Allocation | None = None):
        self.device = device
        self.image = image
        self.data = data or ModuleData(device, image)
        self._code: Allocation | None = code or device.reserve(len(image.words) * INSTRUCTION_BYTES, device.system)
        if code is None:
            device.transport.write_memory(self._code.address, code_bytes(image))
        device.code_names[self._code.address] = image.name

    @property
    def name(self) -> str:
        """Name of its entry."""
        return self.image.name

    @property
    def address(self) -> int:
        """Address of the code in device memory.

        Raises
        ------
        LaunchError
            If its module has been unloaded.
        """
        if self._code is None:
            raise LaunchError(f"kernel {self.name!r}: its module has been unloaded; load it again")
        return self._code.address

    def unload(self) -> None:
        """Release the memory of the code; see `Module.unload`."""
        self._code = None

    def holdings(self, arguments: Sequence) -> list[Allocation]:
        """Return the memory that a launch with these arguments uses: code, variables, and arrays passed as such or by
        address."""
        found = [self._code, self.data.globals.memory, self.data.constants.memory]
        if eviction_words(self.image.bindings):
            found += ticket_of(arguments, self.data).memory
        arrays = [self.data.textures[name] for name in self.textures if name in self.data.textures]
        for value in arguments:
            if isinstance(value, Texture):
                arrays += [value.array, value.descriptor]
            elif isinstance(value, DeviceArray):
                arrays.append(value)
            elif isinstance(value, (int, np.integer)):
                found.append(self.device.heap.holder(int(value)))
        return [memory for memory in (*found, *(array.memory for array in arrays)) if memory is not None]

    def apart(self, arguments: Sequence) -> bool:
        """Return whether no argument can reach memory that is written through another argument. Then each argument that
        is wide enough for an address lies in an array of its own, or in one that all of them only read."""
        found: dict[int, list[int]] = {}
        for parameter, value in zip(self.image.parameters, arguments, strict=True):
            if isinstance(value, (Texture, DeviceArray)):
                array = value.array if isinstance(value, Texture) else value
                memory = array.memory
            elif isinstance(value, (bytes, bytearray)):
                return False
            elif parameter.pointer or parameter.size == 8 and isinstance(value, (int, np.integer)):
                memory = self.device.heap.holder(int(value))
            else:
                continue
            if memory is None:
                return False
            found.setdefault(id(memory), []).append(parameter.offset)
        shared = {offset for offsets in found.values() if len(offsets) > 1 for offset in offsets}
        return not shared or self.spoilers.written is not None and not shared & self.spoilers.written

    @functools.cached_property
    def tb_instructions(self) -> dict[tuple[int, int, int], float]:
        """Mean number of warp instructions per TB, by block, as an estimate has read it (`Device.estimate`)."""
        return {}

    @functools.cached_property
    def tb_cycles(self) -> dict[tuple[int, int, int], float]:
        """Mean number of cycles per TB, by block, over the last launch that ended, on machines that take
        announcements."""
        return {}

    @functools.cached_property
    def spoilers(self) -> Spoilers:
        """The reasons why its TBs cannot be dropped and run again."""
        return spoilers(self.image)

    @property
    def bank(self) -> ConstantBank:
        """Bank of its constants."""
        return self.data.constants

    @property
    def textures(self) -> set[str]:
        """Names of the texture references that it reads."""
        return {binding.name for binding in self.image.bindings if binding.kind == "texture"}

    def parameter_words(self, arguments: Sequence, dynamic_shared: int = 0) -> list[int]:
        """Return the parameter space as 32-bit words.

        Parameters
        ----------
        arguments : sequence
        dynamic_shared : int
            Bytes of shared memory besides the memory that the kernel declares.

        Raises
        ------
        LaunchError
            If the arguments do not match the parameters.
        """
        parameters = self.image.parameters
        if not isinstance(arguments, Sequence) or isinstance(arguments, (str, bytes)):
            raise LaunchError(f"kernel {self.image.name!r}: the arguments must be a list, one for each parameter, "
                              f"not {shown(arguments)}")
        if len(arguments) != len(parameters):
            names = ", ".join(f"{p.type} {p.name}" for p in parameters) or "none"
            raise LaunchError(f"kernel {self.image.name!r} takes {len(parameters)} arguments ({names}), "
                              f"{len(arguments)} given")
        size = -(-self.image.parameter_bytes // WORD_BYTES) * WORD_BYTES
        space = bytearray(size)
        for parameter, value in zip(parameters, arguments, strict=True):
            space[parameter.offset:parameter.offset + parameter.size] = self._bytes(parameter, value)
        for binding in self.image.bindings:
            words = self._bound(binding, arguments, dynamic_shared)
            space[binding.offset:binding.offset + 4 * len(words)] = np.array(words, "<u4").tobytes()
        return [int.from_bytes(space[k:k + 4], "little") for k in range(0, size, 4)]

    def _bound(self, binding: Binding, arguments: Sequence, dynamic_shared: int) -> tuple[int, ...]:
        """Return the words of a binding."""
        if binding.kind == LAUNCH:
            total = -(-(self.image.shared_bytes + dynamic_shared) // SEGMENT_BYTES) * SEGMENT_BYTES
            g, grid = self.device.geometry, next(self.device.grid_numbers)
            cycle = round((1000 / g.clock_mhz if g.clock_mhz else 1) * (1 << 32))
            halves = (x >> k & 0xFFFF_FFFF for x in (grid, cycle) for k in (0, 32))
            return (dynamic_shared, total, g.max_block_warps, *halves)
        if binding.kind == EVICTION:
            return ticket_of(arguments, self.data).words
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
        elif parameter.texture and isinstance(value, DeviceArray):
            raise LaunchError(f"{where}: a texture object is wanted, not a device array; give Texture(array)")
        if isinstance(value, DeviceArray):
            if parameter.type == "f64":
                raise LaunchError(f"{where}: a number is wanted, not a device array")
            if parameter.size != 8 and not (parameter.pointer and parameter.size == 4):
                raise LaunchError(f"{where}: a device array was given for a value of {parameter.size} bytes")
            if value.address is None:
                raise LaunchError(f"{where}: the device array has been freed")
            if value.device is not self.device:
                raise LaunchError(f"{where}: the device array is on another device; copy it to this one")
            return value.address.to_bytes(parameter.size, "little")
        return number_bytes(parameter, value, where)


class AdoptedKernel(LoadedKernel):
    """The kernel of an adopted launch, whose code and variables are in memory already. It cannot be launched again.

    Parameters
    ----------
    device : DeviceMemory
    image : KernelImage
    code : Allocation
    """

    def __init__(self, device: DeviceMemory, image: KernelImage, code: Allocation):
        bare = replace(image, constants=b"", symbols=(), global_bytes=0, global_data=b"", relocations=())
        super().__init__(device, image, ModuleData(device, bare), code)

    def parameter_words(self, arguments: Sequence, dynamic_shared: int = 0) -> list[int]:
        """Raise a `LaunchError`."""
        raise LaunchError(f"kernel {self.name!r} was adopted with a launch; load it to launch it again")
