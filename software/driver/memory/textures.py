"""One-dimensional textures: linear memory that ``tex`` reads."""

from __future__ import annotations

import numpy as np

from ..machine.errors import LaunchError
from ..machine.wanted import a, checked
from .arrays import DeviceArray

__all__ = ["Texture", "texture_words"]


def texture_words(array: DeviceArray, where: str) -> tuple[int, int, int]:
    """Return the words that describe an array as a texture: address, texels, bytes per texel.

    Raises
    ------
    LaunchError
        If its elements do not have 32 bits, its shape is not ``n`` or ``n x 1, 2 or 4``, or it has been freed.
    """
    channels = array.shape[1] if len(array.shape) == 2 else 1
    if array.dtype.itemsize != 4 or array.dtype.kind not in "iuf" or len(array.shape) not in (1, 2) \
            or channels not in (1, 2, 4):
        raise LaunchError(f"{where}: a texture is an array of 32-bit numbers, of shape (n,) or (n, 1, 2 or 4), not "
                          f"{array.dtype} of shape {array.shape}")
    if array.address is None:
        raise LaunchError(f"{where}: the device array has been freed")
    return array.address, array.shape[0], 4 * channels


class Texture:
    """A texture object: pass it to a kernel for a 64-bit parameter (``cudaTextureObject_t``).

    Parameters
    ----------
    array : DeviceArray
        Its texels: 32-bit numbers, of shape ``(n,)`` or, with several channels, ``(n, 2)`` or ``(n, 4)``.

    Attributes
    ----------
    array : DeviceArray
    descriptor : DeviceArray
        Four words in device memory: address, texels, bytes per texel, 0.

    Raises
    ------
    LaunchError
        If the array cannot be a texture.
    """

    @checked(array=a(DeviceArray))
    def __init__(self, array: DeviceArray):
        self.array = array
        words = texture_words(array, "texture")
        self.descriptor = DeviceArray(array.device, 4, np.uint32, clear=False)
        self.descriptor.set(np.array((*words, 0), np.uint32))
