"""Numbers and structures as kernel parameters."""

from __future__ import annotations

import numpy as np

from caesura.software.compiler import Parameter

from .errors import LaunchError

__all__ = ["number_bytes"]

_RANGES = {"s8": (-128, 255), "s16": (-(1 << 15), (1 << 16) - 1), "s32": (-(1 << 31), (1 << 32) - 1),
           "s64": (-(1 << 63), (1 << 64) - 1)}


def number_bytes(parameter: Parameter, value, where: str) -> bytes:
    """Return a number, or a structure given as bytes, as it stands in the parameter space.

    Parameters
    ----------
    parameter : Parameter
    value : int, float, numpy scalar or bytes
    where : str
        For messages.

    Raises
    ------
    LaunchError
        If it cannot be one.
    """
    if isinstance(value, (bytes, bytearray)):
        if len(value) != parameter.size:
            raise LaunchError(f"{where}: {parameter.size} bytes wanted, {len(value)} given")
        return bytes(value)
    if parameter.type in ("f32", "f64"):
        if not isinstance(value, (int, float, np.number)):
            raise LaunchError(f"{where}: a number is wanted, not {value!r}")
        return np.array(value, "<f4" if parameter.type == "f32" else "<f8").tobytes()
    if parameter.pointer and not isinstance(value, (int, np.integer)):
        raise LaunchError(f"{where}: a device array is wanted, not {type(value).__name__}")
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, np.integer)):
        raise LaunchError(f"{where}: an integer is wanted, not {value!r}")
    low, high = _RANGES[f"s{8 * parameter.size}"] if parameter.size in (1, 2, 4, 8) else (0, -1)
    if parameter.type.startswith("u"):
        low = 0
    if not low <= int(value) <= high:
        raise LaunchError(f"{where}: {value} does not fit")
    return (int(value) % (1 << 8 * parameter.size)).to_bytes(parameter.size, "little")
