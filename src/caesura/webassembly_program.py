"""Runs a program of a YoWASP package, with room on its stack: ``python webassembly_program.py PACKAGE PROGRAM
ARGUMENTS...``.

Yosys sorts a netlist by recursion; a preemption engine in one piece is deeper than the 2 MB that wasmtime gives a
program, and it dies of that ("call stack exhausted").

A program that is not compiled for this machine yet is not run: the exit status is `NOT_COMPILED`. With ``--compile``
before the package it is compiled, into another folder, and moved into place. YoWASP itself would write over the file
that other processes have mapped, and they would die. :mod:`caesura.webassembly` holds the lock meanwhile.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import sys
import tempfile
import threading
from importlib import resources
from pathlib import Path

import platformdirs
import wasmtime
import yowasp_runtime
from wasmtime import _ffi

STACK = 1 << 27
"""Bytes of a program's stack; twice as many are reserved, which costs nothing until they are used."""
NOT_COMPILED = 113
"""Exit status of a program that is not compiled."""
FOLDER = "YOWASP_CACHE_DIR"
"""The variable by which YoWASP is told where compiled programs lie."""


class _Deep(wasmtime.Config):
    """A configuration with a deep stack, where wasmtime lets one be set: its limit is that of the stacks of
    asynchronous calls, for which its Python binding has no method."""

    def __init__(self):
        super().__init__()
        widen = getattr(_ffi.dll, "wasmtime_config_async_stack_size_set", None)
        if widen is not None:
            widen.argtypes, widen.restype = [ctypes.c_void_p, ctypes.c_uint64], None
            widen(ctypes.cast(self.ptr(), ctypes.c_void_p), 2 * STACK)
            self.max_wasm_stack = STACK


class NotCompiledError(Exception):
    """The program would have to be compiled first."""


class _Kept(wasmtime.Module):
    """A module that is loaded from a file, and never compiled."""

    def __init__(self, engine: wasmtime.Engine, wasm: bytes):
        raise NotCompiledError


def folder() -> Path:
    """Return the folder in which YoWASP keeps compiled programs."""
    return Path(os.environ.get(FOLDER) or platformdirs.user_cache_dir("YoWASP", appauthor=False))


def main(package: str, program: str, *arguments: str) -> int:
    """Run a program, and return its exit status."""
    threading.stack_size(4 * STACK)
    wasmtime.Config = _Deep
    return yowasp_runtime.run_wasm(package, program, resources=["share"], argv=[program, *arguments])


def run(package: str, program: str, *arguments: str) -> int:
    """Run a program that is compiled, and return its exit status; `NOT_COMPILED` if it is not."""
    compiling, wasmtime.Module = wasmtime.Module, _Kept
    try:
        return main(package, program, *arguments)
    except NotCompiledError:
        return NOT_COMPILED
    finally:
        wasmtime.Module = compiling


def compile_program(package: str, program: str) -> int:
    """Compile a program unless it is, and move it into place; the caller holds the lock. Return the exit status."""
    if run(package, program, "-V") != NOT_COMPILED:
        return 0
    digest = hashlib.sha1(resources.files(package).joinpath(program).read_bytes()).hexdigest()  # as YoWASP names it
    place = folder() / package / program / digest
    place.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".compile-", dir=place.parent) as work:
        os.environ[FOLDER] = work
        main(package, program, "-V")
        (made,) = (path for path in Path(work).rglob("*") if path.is_file())
        os.replace(made, place)
    return 0


if __name__ == "__main__":
    sys.exit(compile_program(*sys.argv[2:]) if sys.argv[1] == "--compile" else run(*sys.argv[1:]))
