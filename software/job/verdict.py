"""An array against what it should be."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

__all__ = ["Verdict", "compare"]


@dataclass(frozen=True)
class Verdict:
    """How an array compares.

    Attributes
    ----------
    name : str
    elements, wrong : int
    first_wrong : tuple of int or None
        Index of the first wrong element in C order.
    got, expected : int, float or None
        The values there.
    max_error : int, float or None
        Largest absolute difference, of right elements too; None if a NaN or an infinity stands against something else.
    atol, rtol : float or None
        Both None if every bit was to be equal.
    judged : bool
        Found by a judge of the kernel's own, which counts wrong elements and tells no more.
    undisturbed : bool
        Compared with what the array held after a run without a preemption, since nothing is said to be expected of it.
    """

    name: str
    elements: int
    wrong: int
    first_wrong: tuple[int, ...] | None
    got: int | float | None
    expected: int | float | None
    max_error: int | float | None
    atol: float | None
    rtol: float | None
    judged: bool = False
    undisturbed: bool = False


def _bits(values: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(values).view(f"u{values.dtype.itemsize}")


def _largest_error(got: np.ndarray, expected: np.ndarray) -> int | float | None:
    different = got != expected
    if got.dtype.kind != "f":
        pairs = zip(got[different].tolist(), expected[different].tolist(), strict=True)
        return max((abs(int(a) - int(b)) for a, b in pairs), default=0)
    different &= ~(np.isnan(got) & np.isnan(expected))
    a, b = got[different].astype(np.float64), expected[different].astype(np.float64)
    if not (np.isfinite(a) & np.isfinite(b)).all():
        return None
    with np.errstate(over="ignore"):
        error = float(np.abs(a - b).max(initial=0))
    return error if np.isfinite(error) else None


def _within(got: np.ndarray, expected: np.ndarray, atol: float, rtol: float) -> np.ndarray:
    if got.dtype.kind == "f":
        return np.isclose(got.astype(np.float64), expected.astype(np.float64), float(rtol), float(atol),
                          equal_nan=True)
    a, b = got.astype(object), expected.astype(object)
    return (abs(a - b) <= atol + float(rtol) * abs(b)).astype(bool)


def compare(name: str, got: np.ndarray, expected: np.ndarray, atol: float | None = None, rtol: float | None = None
            ) -> Verdict:
    """Compare two arrays of one shape and type.

    Parameters
    ----------
    name : str
    got, expected : ndarray
    atol, rtol : float, optional
        An element is right if ``|got - expected| <= atol + rtol * |expected|``; a NaN equals a NaN, an infinity
        itself. With neither every bit has to be equal: -0.0 is then not 0.0, and NaNs differ by their payload.

    Raises
    ------
    ValueError
        If shapes or types differ.
    """
    if got.shape != expected.shape or got.dtype != expected.dtype:
        raise ValueError(f"{name}: {got.shape} {got.dtype} cannot be compared with {expected.shape} {expected.dtype}")
    if atol is None and rtol is None:
        right = _bits(got) == _bits(expected)
    else:
        right = _within(got, expected, atol or 0, rtol or 0)
    wrong = np.flatnonzero(~right)
    first = tuple(map(int, np.unravel_index(wrong[0], got.shape))) if wrong.size else None
    return Verdict(name, got.size, int(wrong.size), first, got[first].item() if first else None,
                   expected[first].item() if first else None, _largest_error(got, expected), atol, rtol)
