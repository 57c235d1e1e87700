"""A launch that has been checked and can be started: now, or when its turn in a stream has come."""

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
    """What a launch was given, as it was at the call: later changes of arrays, textures and modules do not change it.

    Attributes
    ----------
    kernel : LoadedKernel
    grid, block : tuple of int
    shared_bytes : int
        Static and dynamic.
    threads : int
        Of a TB.
    entries : int
        As of `Launch`.
    words : list of int
        The parameter space.
    code_base, const_base : int
        Where its code and its constants lie.
    held : list of Allocation
        The memory that it uses: code, variables, arrays, textures.
    apart : bool
        No two of its arguments can lead to the same memory; False where that is not known.
    pointers : Pointers or None
        Which of its parameters point where, for a machine that checks bounds.
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
        """Check a launch, and hold what it uses from now on.

        Raises
        ------
        LaunchError
            If it is not possible: arguments, block or sizes, or its module has been unloaded.
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
        """Never: it has not begun."""
        return False

    def reads_constants(self, bank: object) -> bool:
        """Return whether its kernel reads a constant bank."""
        return self.kernel.bank is bank

    def warps(self, g: Geometry) -> int:
        """Return the warps of a TB."""
        return -(-self.threads // g.warp_size)
