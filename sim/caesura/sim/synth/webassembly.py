"""Runs a program of a YoWASP package, with room on its stack: ``python webassembly.py PACKAGE PROGRAM ARGUMENTS...``.

Yosys sorts a netlist by recursion; a preemption engine in one piece is deeper than the 2 MB that wasmtime gives a
program, and it dies of that ("call stack exhausted").
"""

from __future__ import annotations

import ctypes
import sys
import threading

import wasmtime
import yowasp_runtime
from wasmtime import _ffi

STACK = 1 << 27
"""Bytes of a program's stack; twice as many are reserved, which costs nothing until they are used."""


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


def main(package: str, program: str, *arguments: str) -> int:
    """Run a program, and return its exit status."""
    threading.stack_size(4 * STACK)
    wasmtime.Config = _Deep
    return yowasp_runtime.run_wasm(package, program, resources=["share"], argv=[program, *arguments])


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
