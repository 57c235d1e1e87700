"""Which engine executes: numpy's, or the compiled one where it is ready or pays."""

from __future__ import annotations

import ctypes
import functools
import time
from pathlib import Path

from caesura.cache import whole
from caesura.errors import InputError, ToolError

from .build import Build, build, compiler, library_path
from .compiled import load_library

__all__ = ["ENGINES", "Engine"]

ENGINES = ("auto", "numpy", "compiled")
FEW_CYCLES = 64
"""Fewer cycles than this are executed by numpy sooner than state is moved."""
BUILD_AFTER = 0.5
"""Seconds in numpy after which the engine is built beside it: only then does it pay."""


class Engine:
    """How a machine executes.

    Parameters
    ----------
    kind : str
        ``"numpy"``, ``"compiled"`` or ``"auto"``. ``"compiled"`` builds the engine at once if necessary. ``"auto"``
        uses the compiled engine if it is in the cache. Otherwise it uses numpy; once the run turns out to be long, a
        build begins beside it, and the engine is used after the build. Without a compiler it uses numpy.
    warp_size : int

    Attributes
    ----------
    library : CDLL or None
        The compiled engine, once it is there.

    Raises
    ------
    InputError
        If there is no such engine.
    ToolError
        If `kind` is ``"compiled"`` and it cannot be built.
    """

    def __init__(self, kind: str, warp_size: int):
        if kind not in ENGINES:
            raise InputError(f"no engine {kind!r} of the golden model; there are {', '.join(ENGINES)}")
        self.kind, self.warp_size = kind, warp_size
        self.library: ctypes.CDLL | None = None
        self._build: Build | None = None
        self._given_up = kind == "numpy"
        self._slow_seconds, self._since = 0.0, 0.0
        if kind == "compiled":
            self.library = load_library(build(warp_size, target=self._path)[0])
        elif kind == "auto" and whole(self._path):
            self.library = load_library(self._path)

    @functools.cached_property
    def _path(self) -> Path:
        """Where the library is, or will be; its name costs a look at the sources and the compiler."""
        return library_path(self.warp_size)

    def pays(self, cycles: int) -> bool:
        """Return whether `cycles` cycles, which now begin, are for the compiled engine."""
        self._since = time.perf_counter()
        return self.library is not None and (self.kind == "compiled" or cycles >= FEW_CYCLES)

    def lap(self) -> None:
        """Learn that numpy has executed until now: begin a build if that pays, end one that is over."""
        if self._given_up or self.library is not None:
            return
        now = time.perf_counter()
        self._slow_seconds, self._since = self._slow_seconds + now - self._since, now
        try:
            if self._build is None and self._slow_seconds > BUILD_AFTER:
                self._given_up = compiler() is None
                self._build = None if self._given_up else self._begin()
            elif self._build is not None and not self._build.running:
                self.library = load_library(self._build.finish())
        except (ToolError, OSError):
            self._given_up = True  # numpy computes the same

    def _begin(self) -> Build | None:
        """Begin a build; None where another process builds, or has built meanwhile."""
        if whole(self._path):
            self.library = load_library(self._path)
            return None
        begun = Build(self.warp_size, target=self._path, unless_elsewhere=True)
        self._slow_seconds = 0.0  # if another process builds, look again after some time
        return None if begun.elsewhere else begun
