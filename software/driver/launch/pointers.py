"""The pointers among a kernel's parameters and their targets, for a machine that checks bounds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from caesura.software.compiler.ir.variables import EVICTION

from ..machine.bounds import BoundsMonitor, MemoryObject
from ..memory.arrays import DeviceArray
from ..memory.memory import DeviceMemory
from ..memory.textures import Texture
from .loaded import LoadedKernel
from .tickets import ticket_of

__all__ = ["Pointers", "declare", "pointers_of"]


class Pointers(NamedTuple):
    """Arguments of a launch that point to device memory.

    Attributes
    ----------
    names : dict of int to str
        Names of the objects by address.
    parameters : dict of int to int
        Addresses by the word of the parameter space that holds them.
    """

    names: dict[int, str]
    parameters: dict[int, int]


def pointers_of(kernel: LoadedKernel, arguments: Sequence) -> Pointers:
    """Return the pointers among the parameters of a kernel, and their targets."""
    names: dict[int, str] = {}
    pointers: dict[int, int] = {}

    def found(offset: int, address: int | None, name: str) -> None:
        if address is not None:
            pointers[offset // 4] = address
            names.setdefault(address, name)

    for parameter, value in zip(kernel.image.parameters, arguments, strict=True):
        if isinstance(value, Texture):
            found(parameter.offset, value.descriptor.address, f"the texture of parameter {parameter.name}")
        elif isinstance(value, DeviceArray):
            label = f"array {value.label}," if value.label else "the array of"
            found(parameter.offset, value.address, f"{label} parameter {parameter.name}")
    for binding in kernel.image.bindings:
        if binding.kind == "global":
            found(binding.offset, kernel.data.globals.address, "the module's global variables")
        elif binding.kind == EVICTION:
            flag, record = ticket_of(arguments, kernel.data).words
            found(binding.offset, flag, "the flag of an eviction")
            found(binding.offset + 4, record, "the record of an eviction")
        elif binding.kind == "texture":
            array = kernel.data.textures[binding.name]
            found(binding.offset, array.address, f"the array of texture {binding.name}")
    return Pointers(names, pointers)


def declare(monitor: BoundsMonitor, slot: int, device: DeviceMemory, pointers: Pointers) -> None:
    """Declare the objects in device memory to a monitor, and the parameters of a kernel that point there."""
    objects = [MemoryObject(start, size, pointers.names.get(start, "an array that is no argument"))
               for start, size in device.heap.allocations()]
    monitor.launch(slot, objects, pointers.parameters)
