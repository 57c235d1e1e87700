"""Checks whether a launch fits an SM. They need a geometry alone, and no device."""

from __future__ import annotations

import math

from caesura.hw.arch.geometry import REGISTER_BANKS, Geometry
from caesura.software.compiler import KernelImage
from caesura.software.compiler.ir.spaces import MAX_LOCAL_BYTES

from ..machine.errors import LaunchError

__all__ = ["check_block", "check_entries", "check_fit", "check_image"]

Size = tuple[int, int, int]


def check_block(g: Geometry, name: str, grid: Size, block: Size) -> int:
    """Return the threads of a thread block (TB); needs no compiled kernel.

    Raises
    ------
    LaunchError
        If the grid or the block exceeds the hardware's counters, or the SM has no room for so many threads.
    """
    threads, where = math.prod(block), _where(name, block)
    if block[2] > 1023 or max(grid[1:]) > 65535 or grid[0] > 0xFFFF_FFFF:
        raise LaunchError(f"{where}: grid {grid} or block {block} is beyond the hardware's dimensions (a grid of "
                          "4294967295 x 65535 x 65535, a block 1023 deep)")
    if threads > g.max_block_threads:
        raise LaunchError(f"{where}: {threads} threads a TB, this SM ({g.name}) takes {g.max_block_threads}; "
                          "choose smaller blocks or another geometry")
    return threads


def check_fit(g: Geometry, code: KernelImage, grid: Size, block: Size, shared: int) -> int:
    """Return the threads per thread block (TB) of a launch that fits.

    Parameters
    ----------
    g : Geometry
    code : KernelImage
    grid, block : tuple of int
    shared : int
        Shared memory per TB, static and dynamic, in bytes.

    Raises
    ------
    LaunchError
        If the SM has no room for a single TB, or the kernel was compiled for TBs of another size.
    """
    threads, where = check_block(g, code.name, grid, block), _where(code.name, block)
    if code.max_threads and threads > code.max_threads:
        raise LaunchError(f"{where}: compiled for at most {code.max_threads} threads a TB (.maxntid)")
    if code.required_block and tuple(block) != tuple(code.required_block):
        raise LaunchError(f"{where}: compiled for blocks of {code.required_block} (.reqntid)")
    if code.barrier_threads and -(-threads // 32) * 32 != code.barrier_threads:
        raise LaunchError(f"{where}: {threads} threads, its barriers are for {code.barrier_threads}; a barrier for "
                          "part of the thread block is not supported")
    check_image(g, code, where)
    warps = -(-threads // g.warp_size)
    if -(-warps * code.registers // REGISTER_BANKS) * REGISTER_BANKS > g.registers:
        raise LaunchError(f"{where}: {warps} warps x {code.registers} vector registers do not fit the register "
                          f"file of {g.registers}")
    if shared > g.shared_bytes:
        raise LaunchError(f"{where}: {shared} bytes of shared memory, this SM ({g.name}) has {g.shared_bytes}")
    return threads


def check_image(g: Geometry, code: KernelImage, where: str = "") -> None:
    """Check that a kernel can run on an SM at all, whatever its launch is.

    Parameters
    ----------
    g : Geometry
    code : KernelImage
    where : str
        Beginning of a message; the kernel's name unless given.

    Raises
    ------
    LaunchError
        If no launch of it is possible.
    """
    where = where or f"kernel {code.name!r}"
    if code.required_block:
        check_block(g, code.name, (1, 1, 1), code.required_block)
    if code.registers > g.regs_per_thread:
        raise LaunchError(f"{where}: {code.registers} registers a thread, this SM ({g.name}) has "
                          f"{g.regs_per_thread}; compile for fewer")
    if code.shared_bytes > g.shared_bytes:
        raise LaunchError(f"{where}: {code.shared_bytes} bytes of shared memory, this SM ({g.name}) has "
                          f"{g.shared_bytes}")
    if not 0 <= code.all_local_bytes <= MAX_LOCAL_BYTES or code.all_local_bytes % 4:
        raise LaunchError(f"{where}: {code.all_local_bytes} bytes of local memory a thread; a multiple of 4 up to "
                          f"{MAX_LOCAL_BYTES} is possible")
    if code.stack_depth > g.stack_depth:
        raise LaunchError(f"{where}: divergence nests {code.stack_depth} deep, the SIMT stack of this SM "
                          f"({g.name}) has {g.stack_depth} entries")
    if code.yields and not g.watches:
        raise LaunchError(f"{where}: it yields (caesura_yield), and this SM ({g.name}) has no watch table; choose a "
                          "geometry with watches, or wait in a loop without it")


def check_entries(g: Geometry, code: KernelImage, entries: int) -> int:
    """Return how many entries of its context control block a launch may use on an SM. 0 stands for one entry per TB
    slot; for a kernel that yields it stands for all entries, since thread blocks that are away need some too.

    Raises
    ------
    LaunchError
        If an SM has fewer entries.
    """
    if not 0 <= entries <= g.context_entries:
        raise LaunchError(f"kernel {code.name!r}: {entries} entries are wanted, this SM ({g.name}) has "
                          f"{g.context_entries}; choose fewer, or a geometry with more `entries`")
    return entries or (g.context_entries if code.yields else g.tb_slots)


def _where(name: str, block: Size) -> str:
    return f"kernel {name!r} with blocks of {'x'.join(map(str, block))} threads"
