"""A launch that has been checked and can be started: now, or later when it is its turn in a stream."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from caesura.hw.arch.geometry import Geometry

from ..machine.bounds import monitor_of
from ..memory.regions import Allocation
from .arguments import whole_number
from .fit import check_entries, check_fit
from .loaded import LoadedKernel
from .pointers import Pointers, pointers_of

__all__ = ["PreparedLaunch"]


@dataclass(eq=False)
class PreparedLaunch:
    """Arguments of a launch at the time of the call; later changes of arrays, textures and modules do not change them.

    Attributes
    ----------
    kernel : LoadedKernel
    grid, block : tuple of int
    shared_bytes : int
        Shared memory per TB in bytes, static and dynamic.
    threads : int
        Threads per TB.
    entries : int
        Entries of the context control block, as in `Launch`.
    words : list of int
        The parameter space.
    code_base, const_base : int
        Addresses of its code and its constants.
    held : list of Allocation
        The memory that it uses: code, variables, arrays, textures.
    apart : bool
        Whether no two of its arguments can lead to the same memory; False where that is not known.
    pointers : Pointers or None
        Parameters that are pointers, and their targets, for a machine that checks bounds.
    """

    kernel: LoadedKernel
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    shared_bytes: int
    threads: int
    entries: int
    words: list[int]
    code_base: int
    const_base: int
    held: list[Allocation] = field(repr=False)
    apart: bool
    pointers: Pointers | None = field(repr=False)

    @classmethod
    def of(cls, kernel: LoadedKernel, grid: tuple[int, int, int], block: tuple[int, int, int], arguments: Sequence,
           shared_bytes: int, entries: int) -> PreparedLaunch:
        """Check a launch, and hold the memory it uses from now on.

        Raises
        ------
        LaunchError
            If the arguments, the block or the sizes are not possible, or the module has been unloaded.
        """
        g, code_base = kernel.device.geometry, kernel.address
        shared = kernel.image.shared_bytes + whole_number(shared_bytes, "shared_bytes")
        words = kernel.parameter_words(arguments, shared - kernel.image.shared_bytes)
        threads = check_fit(g, kernel.image, grid, block, shared)
        entries = check_entries(g, kernel.image, whole_number(entries, "entries"))
        pointers = pointers_of(kernel, arguments) if monitor_of(kernel.device.transport) else None
        return cls(kernel, grid, block, shared, threads, entries, words, code_base, kernel.bank.address,
                   kernel.holdings(arguments), kernel.apart(arguments), pointers)

    @property
    def ended(self) -> bool:
        """False: it has not begun."""
        return False

    def reads_constants(self, bank: object) -> bool:
        """Return whether its kernel reads a constant bank."""
        return self.kernel.bank is bank

    def warps(self, g: Geometry) -> int:
        """Return the warps of a TB."""
        return -(-self.threads // g.warp_size)
