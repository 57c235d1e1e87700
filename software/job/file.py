"""Reads a job file."""

from __future__ import annotations

from collections.abc import Sequence
from os.path import isfile  # which a name too long does not disturb
from pathlib import Path

import numpy as np

from caesura.hw.arch.geometry import PRESETS, Geometry
from caesura.hw.arch.image.context import Mechanism
from caesura.hw.arch.waiting import WANTED, waiting_cycles
from caesura.hw.arch.way import FLAGS, Way
from caesura.software.kernels import KERNELS, SIZES

from .arrays import INITS, ArraySpec, read_array
from .geometry import load_geometry
from .spec import DEFAULT_CYCLES, Expected, JobArgument, JobFile, PreemptionSpec
from .table import JobError, Table, read_toml

__all__ = ["load_job", "BACKENDS"]

BACKENDS = ("rtl", "golden", "amaranth")
"""Names of what `caesura.sim` can open."""
_TOP = ("entry", "grid", "block", "shared", "argument", "preempt", "preset", "geometry", "backend",
        "max_cycles")
_RESULT = ("name", "expected", "atol", "rtol", "output")
_PREEMPT = ("at", "every", "times", "mechanism", "with", "with_job", "size", "seed", "scramble", "gang", "patience",
            "grace", "restart", "incremental", "in_place", "newcomer", "checkpoint", "announced", "trap", "select",
            "preempt")


def _name(table: Table) -> str:
    name = table.get("name", str, "")
    if "name" in table.data and (not name or any(c in name for c in "/\\\0") or name.startswith(".")):
        raise table.error(f"{name!r} cannot be a name: it also names the file written with --output", "name")
    return name


def _expected(table: Table, values: np.ndarray) -> Expected | None:
    tolerance = {key: table.get(key, float) for key in ("atol", "rtol")}
    for key, value in tolerance.items():
        if value is not None and value < 0:
            raise table.error(f"must be 0 or more, not {value}", key)
        if value is not None and "expected" not in table.data:
            raise table.error("a tolerance without 'expected'", key)
    if "expected" not in table.data:
        return None
    data, spec = table.data["expected"], ArraySpec(values.shape, values.dtype)
    where = Table(table.path, f"{table.where}, expected", {"file": data} if isinstance(data, str) else data)
    if not isinstance(where.data, dict):
        raise table.error(f"the name of a .npy file or a table with 'init' is wanted, not {data!r}", "expected")
    wanted = read_array(where, spec)
    found = ArraySpec(wanted.shape, wanted.dtype)
    if found != spec:
        raise table.error(f"the array is {spec}, what it should be {found}", "expected")
    return Expected(wanted, **tolerance)


def _argument(table: Table, number: int) -> JobArgument:
    name = _name(table)
    if name:
        table.where = f"argument {number} ({name!r})"
    kinds = [key for key in ("value", "bytes", "file", "init") if key in table.data]
    if "init" in kinds and "value" in kinds:
        kinds.remove("value")  # of init = "full"
    if len(kinds) != 1:
        table.only({"value", "bytes", "file", "init", "dtype", "shape", *_RESULT, *sum(INITS.values(), ())}, _TOP)
        what = f"not {' and '.join(map(repr, kinds))}" if kinds else "and none is given"
        raise table.error(f"one of 'value', 'bytes', 'file', 'init' is wanted, {what}")
    if kinds[0] == "value":
        table.only(("name", "value"), _TOP)
        value = table.data["value"]
        return JobArgument(name, value if isinstance(value, float) else table.need("value", float))  # inf and nan too
    if kinds[0] == "bytes":
        table.only(("name", "bytes"), _TOP)
        try:
            return JobArgument(name, bytes.fromhex(table.need("bytes", str)))
        except ValueError:
            raise table.error("hexadecimal digits are wanted, two a byte", "bytes") from None
    values = read_array(table, None, _RESULT)
    return JobArgument(name, values, _expected(table, values), table.get("output", bool, False))


def _other(table: Table, within: tuple[Path, ...]) -> tuple[str, JobFile | None]:
    """Return what runs meanwhile: the name of a shipped kernel, or the path of a PTX file and its job."""
    if "with_job" not in table.data:
        name = table.get("with", str, "hostile")
        if name not in ("hostile", *KERNELS) and isfile(table.path.parent / name):
            raise table.error(f"{name} is a file, which needs a job file: name it with 'with_job'", "with")
        return table.choice("with", ("hostile", *KERNELS), "hostile"), None
    for key in ("size", "seed"):
        if key in table.data:
            raise table.error("is of shipped kernels; 'with_job' says what the kernel is given", key)
    paths = {key: table.path.parent / table.need(key, str) for key in ("with", "with_job")}
    for key, path in paths.items():
        if not isfile(path):
            raise table.error(f"there is no file {path}", key)
    return str(paths["with"]), _load(paths["with_job"], (*within, table.path))


def _preemption(table: Table, within: tuple[Path, ...]) -> PreemptionSpec:
    table.only(_PREEMPT, _TOP)
    if ("at" in table.data) == ("every" in table.data):
        raise table.error("one of 'at' and 'every' is wanted")
    if "times" in table.data and "every" not in table.data:
        raise table.error("goes with 'every'", "times")
    if "checkpoint" in table.data and "announced" in table.data:
        raise table.error("is one of 'checkpoint' and 'announced'; the latter chooses when bases are saved",
                          "announced")
    every = table.integer("every", 0, 1) if "every" in table.data else 0
    (other, job), inner = _other(table, within), table.tables("preempt", "preempt")
    spec = PreemptionSpec(
        every or table.integer("at", None, 0), every, table.integer("times", 0, 1) if "times" in table.data else
        int(not every), _way(table), other,
        table.choice("size", SIZES, "small"), table.integer("seed", 1, 0),
        table.get("gang", bool, False), tuple(_preemption(t, within) for t in inner) if inner or job is None
        else job.preemptions, job, table.get("newcomer", bool, False),
        **{key: table.integer(key, None, 0) for key in ("checkpoint", "announced") if key in table.data})
    if why := spec.clash({key: repr(key) for key in _PREEMPT}):
        raise table.error(why)
    return spec


def _way(table: Table) -> Way:
    """Return how the table says to preempt."""
    mechanism = Mechanism.of(table.choice("mechanism", [m.label for m in Mechanism], "live"))
    patience = _waiting(table, "patience") if "patience" in table.data else None
    flags = {key: table.get(key, bool, False) for key in FLAGS if key != "checkpoint"}
    return Way(mechanism, patience, _waiting(table, "grace"), **flags)


def _waiting(table: Table, key: str) -> int | str:
    given = table.data.get(key, 0)
    if waiting_cycles(given) is None:
        raise table.error(f"{WANTED}, not {given!r}", key)
    return given


def _machine(top: Table) -> Geometry | None:
    """Return the geometry of the file that the job names, None if it names none."""
    if "geometry" not in top.data:
        return None
    if "preset" in top.data:
        raise top.error("goes in place of 'preset'; give one of them", "geometry")
    path = top.path.parent / top.need("geometry", str)
    if not isfile(path):
        raise top.error(f"there is no file {path}", "geometry")
    return load_geometry(path)


def load_job(path: str | Path) -> JobFile:
    """Read a job file and the arrays it names.

    Raises
    ------
    JobError
        If it is no TOML, or a key is missing, unknown or wrong, or an array cannot be read.
    OSError
        If it cannot be read.
    """
    return _load(Path(path), ())


def _load(path: Path, within: tuple[Path, ...]) -> JobFile:
    """Read a job file that others name, from the outermost on."""
    if any(path.samefile(outer) for outer in within):
        raise JobError(f"{path}: the kernel of this job file would run while it is away itself ('with_job')")
    top = read_toml(path)
    top.only(_TOP)
    arguments: Sequence[JobArgument] = [_argument(t, k) for k, t in enumerate(top.tables("argument", "argument"), 1)]
    return JobFile(
        path, top.sizes("grid", 3), top.sizes("block", 3), top.get("entry", str, ""), top.integer("shared", 0, 0),
        tuple(arguments), tuple(_preemption(t, within) for t in top.tables("preempt", "preempt")),
        top.choice("preset", PRESETS, "gtx480"), top.choice("backend", BACKENDS, "rtl"),
        top.integer("max_cycles", DEFAULT_CYCLES, 1), _machine(top))
