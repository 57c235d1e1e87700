"""The arguments of a launch: sizes, and numbers and structures as kernel parameters."""

from __future__ import annotations

import operator
from collections.abc import Sequence

import numpy as np

from caesura.software.compiler import Parameter

from ..machine.errors import LaunchError

__all__ = ["number_bytes", "triple", "whole_number"]


def number_bytes(parameter: Parameter, value, where: str) -> bytes:
    """Return a number, or a structure given as bytes, in its form in the parameter space.

    Parameters
    ----------
    parameter : Parameter
    value : int, float, numpy scalar or bytes
    where : str
        Name of the argument in messages.

    Raises
    ------
    LaunchError
        If the value does not fit the parameter.
    """
    if isinstance(value, (bytes, bytearray)):
        if len(value) != parameter.size:
            raise LaunchError(f"{where}: {parameter.size} bytes wanted, {len(value)} given")
        return bytes(value)
    if parameter.type in ("f32", "f64"):
        if not isinstance(value, (int, float, np.integer, np.floating)) or isinstance(value, np.timedelta64):
            raise LaunchError(f"{where}: a number is wanted, not {value!r}")
        try:
            with np.errstate(over="ignore"):
                return np.array(value, "<f4" if parameter.type == "f32" else "<f8").tobytes()
        except OverflowError:
            raise LaunchError(f"{where}: the integer is larger than any number of that type; give a float") from None
    if parameter.pointer and not isinstance(value, (int, np.integer)):
        raise LaunchError(f"{where}: a device array is wanted, not {type(value).__name__}")
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, np.integer)):
        raise LaunchError(f"{where}: an integer is wanted, not {value!r}")
    if parameter.bounds is None:
        raise LaunchError(f"{where}: {parameter.size} bytes are wanted, not {value!r}")
    low, high = parameter.bounds
    if not low <= int(value) <= high:
        raise LaunchError(f"{where}: {value} does not fit; an integer from {low} to {high} is wanted")
    return (int(value) % (1 << 8 * parameter.size)).to_bytes(parameter.size, "little")


def triple(value: int | Sequence[int], what: str) -> tuple[int, int, int]:
    """Return a grid or block size as (x, y, z).

    Raises
    ------
    LaunchError
        If it is not one to three positive integers.
    """
    values = np.atleast_1d(np.asarray(value, dtype=object))
    whole = all(isinstance(v, (int, np.integer)) and not isinstance(v, (bool, np.bool_)) and v >= 1
                for v in values.flat)
    if values.ndim != 1 or not 1 <= values.size <= 3 or not whole:
        raise LaunchError(f"{what} must be one to three positive integers, not {value!r}")
    x, y, z = [int(v) for v in values] + [1] * (3 - values.size)
    return x, y, z


def whole_number(value: int, what: str) -> int:
    """Return a whole number from 0.

    Raises
    ------
    LaunchError
        If the value is not a whole number from 0.
    """
    try:
        count = operator.index(value)
    except TypeError:
        count = -1
    if count < 0:
        raise LaunchError(f"{what} must be a whole number from 0, not {value!r}")
    return count
