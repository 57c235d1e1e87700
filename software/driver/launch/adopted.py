"""Checks of a descriptor block, which lies in memory where others may have written it.

Nothing in the block is trusted. The kernel, the shape of the launch and the owner's memory determine most registers of
the kernel slot; each of these must have the value that a launch would have. Each other address must lie in the owner's
memory, in a range that the block names and the launch holds (`DeviceMemory.claim`), with nothing else in it. Only the
arguments are free: the windows of the owner bound them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from caesura.hw.arch.geometry import WORD_BYTES
from caesura.hw.arch.image.context import area_bound
from caesura.software.compiler import KernelImage

from ..machine.errors import DriverError
from ..memory.memory import DeviceMemory
from ..memory.regions import Allocation
from .descriptor_block import DescriptorBlock
from .fit import check_entries, check_fit
from .launch import Launch
from .loaded import code_bytes
from .prepared import PreparedLaunch

__all__ = ["check_registers", "prepared_again"]


def prepared_again(device: DeviceMemory, launch: Launch, block: DescriptorBlock, image: KernelImage) -> PreparedLaunch:
    """Return the launch that a block describes, as it was when it was prepared.

    Raises
    ------
    DriverError
        If code or constants are not in system memory that the launch holds.
    LaunchError
        If no kernel can be launched with these values.
    """
    g, value, handle = device.geometry, block.field, launch.handle
    _check_place(device, launch.held, value("code_base"), len(code_bytes(image)), "code", handle)
    if image.constants:
        _check_place(device, launch.held, value("const_base"), len(image.constants), "constants", handle)
    threads = check_fit(g, image, launch.grid, launch.block, launch.shared_bytes)
    entries = check_entries(g, image, value("entries"))
    area = area_bound(g, -(-threads // g.warp_size), image.registers, launch.shared_bytes)
    if launch.area_bytes != area:
        raise DriverError(f"the descriptor block at {handle:#x} says that save areas have {launch.area_bytes} bytes, "
                          f"where its launch has {area}: something has written over it")
    words = np.frombuffer(block.parameters, "<u4").tolist()
    if len(words) != -(-image.parameter_bytes // WORD_BYTES):
        raise DriverError(f"the descriptor block at {handle:#x} has {len(block.parameters)} bytes of parameters, "
                          f"kernel {image.name!r} has {image.parameter_bytes}: something has written over it")
    return PreparedLaunch(launch.kernel, launch.grid, launch.block, launch.shared_bytes, threads, entries, words,
                          value("code_base"), value("const_base") if image.constants else 0, launch.held, False, None)


def _check_place(device: DeviceMemory, held: Sequence[Allocation], address: int, size: int, what: str, handle: int
                 ) -> None:
    """Refuse code or constants that are not in system memory that the launch holds."""
    system = device.system
    if not any(memory.address == address and memory.size >= size for memory in held) or not (
            system.base <= address and address + size <= system.end):
        raise DriverError(f"the descriptor block at {handle:#x} does not name its own {what}, {size} bytes at "
                          f"{address:#x}: something has written over it")


def check_registers(block: DescriptorBlock, wanted: Mapping[str, int], handle: int) -> None:
    """Refuse a block with a register that no launch of its kernel, shape and owner has.

    Raises
    ------
    DriverError
        The message names the register.
    """
    for name, word in wanted.items():
        if (found := block.registers.get(name, 0)) != word:
            raise DriverError(f"the descriptor block at {handle:#x} says {found:#x} of {name}, where its launch has "
                              f"{word:#x}: something has written over it")
