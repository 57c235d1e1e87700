"""Arrays of a job file: from a .npy file, or generated."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from .table import Table

__all__ = ["ArraySpec", "INITS", "DTYPES", "read_array"]

INITS = {"zeros": (), "full": ("value",), "arange": ("start", "step"), "integers": ("low", "high", "seed"),
         "uniform": ("low", "high", "seed")}
"""Ways to generate an array, with the keys of each."""
DTYPES = {"u8": "uint8", "s8": "int8", "u16": "uint16", "s16": "int16", "u32": "uint32", "s32": "int32",
          "u64": "uint64", "s64": "int64", "f32": "float32", "f64": "float64"}
"""PTX names of element types; numpy's are understood as well."""
MAX_BYTES = 1 << 31


@dataclass(frozen=True)
class ArraySpec:
    """A shape and an element type.

    Attributes
    ----------
    shape : tuple of int
    dtype : numpy.dtype
    """

    shape: tuple[int, ...]
    dtype: np.dtype

    def __str__(self):
        return f"{'x'.join(map(str, self.shape))} {self.dtype}"


def _spec(table: Table) -> ArraySpec:
    shape = table.sizes("shape", 8)
    names = [*DTYPES, *DTYPES.values()]
    name = table.choice("dtype", names, table.need("dtype", str))
    spec = ArraySpec(shape, np.dtype(DTYPES.get(name, name)))
    size = spec.dtype.itemsize
    for length in shape:
        size *= length
    if size > MAX_BYTES:
        raise table.error(f"{size} bytes are more than the {MAX_BYTES} an array can have", "shape")
    return spec


def _fitting(table: Table, key: str, value: int | float, spec: ArraySpec) -> int | float:
    """Return a value that the element type can hold."""
    if spec.dtype.kind == "f":
        if abs(value) > float(np.finfo(spec.dtype).max):
            raise table.error(f"{value} does not fit {spec.dtype}", key)
        return value
    limits = np.iinfo(spec.dtype)
    if isinstance(value, float) and not math.isfinite(value):
        raise table.error(f"{value} does not fit {spec.dtype}", key)
    if value != int(value):
        raise table.error(f"an integer is wanted for {spec.dtype}, not {value}", key)
    if not limits.min <= value <= limits.max:
        raise table.error(f"{int(value)} does not fit {spec.dtype} ({limits.min} to {limits.max})", key)
    return int(value)


def _arange(table: Table, spec: ArraySpec) -> np.ndarray:
    start = _fitting(table, "start", table.get("start", float, 0), spec)
    step, count = table.get("step", float, 1), int(np.prod(spec.shape, dtype=np.int64))
    if spec.dtype.kind != "f" and step != int(step):
        raise table.error(f"an integer is wanted for {spec.dtype}, not {step}", "step")
    if spec.dtype.kind == "f":
        start, step = float(start), float(step)
    else:
        start, step = int(start), int(step)
    _fitting(table, "step" if "step" in table.data else "shape", start + step * (count - 1), spec)
    if spec.dtype.kind == "f":
        return start + step * np.arange(count, dtype=np.float64)
    ramp = np.arange(count, dtype=np.uint64) * np.array(int(step) % (1 << 64), np.uint64)
    return ramp + np.array(int(start) % (1 << 64), np.uint64)


def _random(table: Table, init: str, spec: ArraySpec) -> np.ndarray:
    rng = np.random.default_rng(table.integer("seed", 1, 0, (1 << 63) - 1))
    if init == "uniform":
        if spec.dtype.kind != "f":
            raise table.error(f"'uniform' is for floating point; for {spec.dtype} take 'integers'", "init")
        low = _fitting(table, "low", table.get("low", float, 0.0), spec)
        high = _fitting(table, "high", table.get("high", float, 1.0), spec)
        if low > high:
            raise table.error(f"'low' ({low}) is above 'high' ({high})", "low")
        if not math.isfinite(float(high) - float(low)):
            raise table.error(f"from 'low' ({low}) to 'high' ({high}) is more than a float64 holds", "high")
        return rng.uniform(low, high, spec.shape)
    low = int(_fitting(table, "low", table.get("low", int, 0), spec))
    high = int(_fitting(table, "high", table.need("high", int) - 1, spec))
    if low > high:
        raise table.error(f"'high' ({high + 1}) is exclusive and must be above 'low' ({low})", "high")
    if low < -1 << 63 or high >= 1 << (63 if low < 0 else 64):
        raise table.error(f"'low' ({low}) and 'high' ({high + 1}) have to fit 64 bits together, signed or unsigned",
                          "high")
    return rng.integers(low, high, spec.shape, dtype=np.uint64 if high >= 1 << 63 else np.int64, endpoint=True)


def _generate(table: Table, init: str, spec: ArraySpec) -> np.ndarray:
    if init == "zeros":
        return np.zeros(spec.shape, spec.dtype)
    if init == "full":
        return np.full(spec.shape, _fitting(table, "value", table.need("value", float), spec), spec.dtype)
    values = _arange(table, spec) if init == "arange" else _random(table, init, spec)
    return values.astype(spec.dtype).reshape(spec.shape)


def _load(table: Table, key: str) -> np.ndarray:
    name = table.need(key, str)
    path = Path(table.path).parent / name
    try:
        values = np.load(path, allow_pickle=False)
    except FileNotFoundError:
        raise table.error(f"there is no file {path}", key) from None
    except OSError as error:
        raise table.error(f"{path}: {error.strerror or error}", key) from None
    except Exception as error:  # what numpy raises on a file that is not well formed is not a closed set
        raise table.error(f"{path} is no .npy file of plain numbers: {error}", key) from None
    if not isinstance(values, np.ndarray) or values.dtype.kind not in "biuf" or values.dtype.itemsize > 8:
        what = values.dtype if isinstance(values, np.ndarray) else "several arrays"
        raise table.error(f"{path} holds {what}; one array of integers or floating-point numbers of up to 64 bits is "
                          "wanted", key)
    if not values.size:
        raise table.error(f"{path} holds an empty array (shape {values.shape})", key)
    return np.ascontiguousarray(values, values.dtype.newbyteorder("<"))


def read_array(table: Table, spec: ArraySpec | None = None, others: tuple[str, ...] = ()) -> np.ndarray:
    """Return the array a table describes.

    Parameters
    ----------
    table : Table
        Table with ``file``, or with ``init`` and the keys of `INITS`, ``dtype`` and ``shape``.
    spec : ArraySpec, optional
        Type and shape where they are given already; the table then has neither.
    others : tuple of str
        Keys the table may have besides.

    Raises
    ------
    JobError
        If a key is missing, unknown or wrong, or a file cannot be read.
    """
    if "file" in table.data:
        table.only(("file", *others))
        return _load(table, "file")
    init = table.choice("init", INITS, table.need("init", str))
    table.only((*(() if spec else ("dtype", "shape")), "init", *INITS[init], *others))
    return _generate(table, init, spec or _spec(table))
