"""The result of compiling a module."""

from __future__ import annotations

from dataclasses import dataclass

from .errors import CompileError
from .image.kernel_image import KernelImage

__all__ = ["Compiled"]


@dataclass(frozen=True)
class Compiled:
    """Images of a PTX module's kernels, and the reasons for those that were refused.

    Attributes
    ----------
    names : tuple of str
        Entry names of all kernels that were to be compiled, in the order of the file.
    images : dict of str to KernelImage
        Images of the kernels that compiled, by name, in the same order.
    refusals : dict of str to CompileError
        Reasons why the other kernels did not compile, by name, in the same order.
    """

    names: tuple[str, ...]
    images: dict[str, KernelImage]
    refusals: dict[str, CompileError]

    def all_images(self) -> dict[str, KernelImage]:
        """Return the images.

        Raises
        ------
        CompileError
            The first refusal, if there is one.
        """
        for refusal in self.refusals.values():
            raise refusal
        return self.images
