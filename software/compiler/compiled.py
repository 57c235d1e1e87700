"""What compiling a module gives."""

from __future__ import annotations

from dataclasses import dataclass

from .errors import CompileError
from .image.kernel_image import KernelImage

__all__ = ["Compiled"]


@dataclass(frozen=True)
class Compiled:
    """What became of the kernels of a PTX module.

    Attributes
    ----------
    names : tuple of str
        Entry names of all that were to be compiled, in the order of the file.
    images : dict of str to KernelImage
        Those that were, by name, likewise.
    refusals : dict of str to CompileError
        Why the others were not, likewise.
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
