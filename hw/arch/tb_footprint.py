"""The resources that a TB takes of the SM, and whether it can ever fit:
the condition on which a kernel start is accepted."""

from __future__ import annotations

from .geometry import REGISTER_BANKS, SEGMENT_BYTES, Geometry

__all__ = ["tb_footprint", "local_region_bytes"]


def tb_footprint(g: Geometry, grid: tuple[int, int, int], threads: int, registers: int, warps: int,
                 shared_bytes: int) -> tuple[int, int] | None:
    """Return rows of vector registers and lines of shared memory of a TB, None if the kernel cannot
    be started.

    Parameters
    ----------
    g : Geometry
    grid : tuple of int
        TBs in x, y, z; none may be 0.
    threads : int
        Threads of a TB, at least 1.
    registers : int
        Vector registers of a thread, 1 to ``g.regs_per_thread``.
    warps : int
        Warps of a TB: exactly as many as the threads need, and at most ``g.max_block_warps``.
    shared_bytes : int
        Bytes of shared memory of a TB.
    """
    rows, lines = -(-warps * registers // REGISTER_BANKS), -(-shared_bytes // SEGMENT_BYTES)
    fits = (0 not in grid and threads > 0
            and warps == -(-threads // g.warp_size) <= g.max_block_warps
            and 1 <= registers <= g.regs_per_thread and rows <= g.register_rows
            and lines <= g.shared_lines)
    return (rows, lines) if fits else None


def local_region_bytes(g: Geometry, warps: int, local_bytes: int) -> int:
    """Return the bytes of local memory of a TB, whole segments,
    where a thread has `local_bytes`."""
    return -(-warps * g.warp_size * local_bytes // SEGMENT_BYTES) * SEGMENT_BYTES
