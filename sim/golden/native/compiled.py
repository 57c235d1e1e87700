"""Runs a machine in the compiled engine: state to its arrays, its calls, and back."""

from __future__ import annotations

import ctypes
from collections import deque
from pathlib import Path

import numpy as np

from caesura.hw.arch.faults import Fault
from caesura.hw.arch.geometry import INSTRUCTION_BYTES, PREDICATES
from caesura.hw.core.units.sfu.tables import FUNCTIONS, coefficients, windows
from caesura.sim.trace.retired import TRACE

from ..execution import Execution
from ..state.faults import WarpFault
from ..state.kernel import Kernel
from ..state.thread_block import StackEntry, ThreadBlock, Warp
from .encode import row
from .layout import (
    BLOCK,
    KERNEL,
    MACHINE,
    MAX_WARPS,
    OPERATION,
    STACK_WORD,
    STACK_WORDS,
    WARP,
    Handler,
    Status,
)

__all__ = ["Compiled", "load_library"]

TRACE_RECORDS = 4096
"""Trace records that the engine keeps before it hands them over."""
_WORD = 0xFFFF_FFFF
_POINTERS, _POINTER_WORDS = 2, 4
_DEPTH = STACK_WORD - 1


def load_library(path: Path) -> ctypes.CDLL:
    """Load a library of `native.build`."""
    library = ctypes.CDLL(str(path))
    library.run.argtypes = ctypes.c_void_p, ctypes.c_uint64
    library.run.restype = ctypes.c_int
    return library


def _address(array: np.ndarray) -> int:
    return array.__array_interface__["data"][0]


class Compiled:
    """The engine at work on one machine.

    Warps are *attached* while the arrays hold their state; `pull` and `pull_block` detach them. The machine calls these
    before it looks at a warp that did not execute the last instruction in Python.

    Parameters
    ----------
    machine : Execution
    library : CDLL
        Library from `load_library`, for the machine's warp size.
    """

    def __init__(self, machine: Execution, library: ctypes.CDLL):
        g = machine.g
        self.machine = machine
        self._run = library.run
        self._warps, self._blocks = np.zeros(MAX_WARPS, WARP), np.zeros(g.tb_slots, BLOCK)
        self._kernels, self._state = np.zeros(g.kernel_slots, KERNEL), np.zeros(1, MACHINE)
        self._words = self._warps.view(np.uint32).reshape(MAX_WARPS, -1)
        self._pointers = self._warps.view(np.uint64).reshape(MAX_WARPS, -1)
        self._lines = np.zeros((g.tb_slots, 2, -(-g.shared_lines // 64)), np.uint64)  # valid, dirty
        self._attached: list[Warp | None] = [None] * g.warps
        self._resident: list[ThreadBlock | None] = [None] * g.tb_slots
        self._decoded: list[tuple | None] = [None] * g.kernel_slots
        self._trace = np.zeros(TRACE_RECORDS if machine.recorder else 0, TRACE)
        self._tables: np.ndarray | None = None
        self._full = (1 << g.warp_size) - 1
        state = self._state
        for name, array in (("memory", machine.memory), ("warps", self._warps), ("blocks", self._blocks),
                            ("kernels", self._kernels)):
            state[name] = _address(array)
        state["memory_bytes"] = len(machine.memory)
        state["number"], state["sms"] = machine.number, g.sms
        state["stack_depth"], state["trace_room"] = g.stack_depth, len(self._trace)
        state["trace"] = _address(self._trace) if machine.recorder else 0
        watches = machine.watches
        table = watches.table(machine.number)
        state["watches"], state["watch_rows"] = _address(watches.words), watches.rows
        state["table_first"], state["table_end"] = table.start, table.stop

    def run(self, cycles: int) -> int:
        """Execute instructions, the first in the current cycle, and return how many (1 to `cycles`).

        Ends early where Python has something to do at the next cycle.
        """
        machine, state = self.machine, self._state
        before = machine.cycle - 1
        self._push()
        state["cycle"], state["retired"] = before, machine.retired
        state["ordered"] = machine.order is not None
        while True:
            passed = int(state["cycle"][0]) - before
            status = self._run(_address(state), cycles - passed)
            self._hand_over_trace()
            if status == Status.DECODE:
                self._decode()
            elif status != Status.LIMIT or int(state["cycle"][0]) - before == cycles or not state["count"][0]:
                break
        passed = int(state["cycle"][0]) - before
        machine.retired = int(state["retired"][0])
        machine.cycle = before + passed
        machine.attention |= bool(state["woken"][0])
        state["woken"] = 0
        self._take_ready()
        return passed + self._handle(status)

    def pull(self) -> None:
        """Bring all state back to Python."""
        for warp in self._attached:
            if warp is not None:
                self._pull_warp(warp)
        for tb in self._resident:
            if tb is not None:
                self._pull_lines(tb)

    def pull_block(self, tb: ThreadBlock) -> None:
        """Bring the state of a TB back."""
        for warp in tb.warps:
            if self._attached[warp.slot] is warp:
                self._pull_warp(warp)
        self._pull_lines(tb)

    # Reasons why the engine stopped

    def _handle(self, status: int) -> int:
        """Do what is Python's; return the instructions executed by it."""
        machine = self.machine
        if status in (Status.LIMIT, Status.DECODE, Status.WOKEN):
            return 0
        if status == Status.ATTENTION:
            machine.attention = True
            return 0
        warp, pc = machine.slots[int(self._state["slot"][0])], int(self._state["pc"][0])
        assert warp is not None
        if status == Status.PYTHON:
            self._pull_warp(warp)
            self._pull_lines(warp.tb)
            machine.cycle += 1
            machine.step(machine.ready.popleft())
            return 1
        self.pull_block(warp.tb)
        if status == Status.DONE:
            machine.complete(warp.tb)
        elif status == Status.MISMATCH:
            machine.release_barrier(warp.tb, warp, pc)
        else:
            machine.end(warp, pc, WarpFault(Fault.FETCH_BOUND))
        return 0

    def _decode(self) -> None:
        """Decode the instruction that the engine met for the first time."""
        warp, pc = self.machine.slots[int(self._state["slot"][0])], int(self._state["pc"][0])
        assert warp is not None
        kernel = warp.tb.kernel
        decoded = self._decoded[kernel.index]
        assert decoded is not None
        decoded[1][pc] = fields = row(self.machine.decoder.operation(kernel, pc))
        if fields[0] == Handler.SFU and self._tables is None:
            self._tables = np.array([coefficients(name) for name in FUNCTIONS], np.int64)
            self._state["coefficients"], self._state["angles"] = _address(self._tables), _address(windows())

    def _hand_over_trace(self) -> None:
        recorder, count = self.machine.recorder, int(self._state["trace_count"][0])
        if recorder is not None and count:
            recorder.add(self._trace[:count].copy())
            self._state["trace_count"] = 0

    # Data for the engine

    def _push(self) -> None:
        machine = self.machine
        for slot, warp in enumerate(machine.slots):
            if warp is not None and self._attached[slot] is not warp:
                self._push_warp(warp)
                if self._resident[warp.tb.slot] is not warp.tb:
                    self._push_block(warp.tb)
        for tb in machine.resident():
            self._blocks[tb.slot]["pending"] = tb.stopping
            self._blocks[tb.slot]["traps"] = tb.stopping and tb.kernel.trapping
        ready = [warp.slot for warp in machine.ready]
        self._state["ready"][0, :len(ready)] = ready
        self._state["first"], self._state["count"] = 0, len(ready)

    def _push_warp(self, warp: Warp) -> None:
        slot = warp.slot
        self._pointers[slot, :_POINTERS] = _address(warp.registers), _address(warp.uniforms)
        vectors = warp.valid, warp.dirty, warp.live_vector
        values = [*(word for each in vectors for word in (each & _WORD, each >> 32)), warp.live, warp.written,
                  warp.uniforms_written, warp.waiting, warp.barrier, warp.parked, warp.after_pp, warp.returned,
                  warp.yielding,
                  *warp.predicates, self._full, warp.index, warp.tb.slot, len(warp.stack)]
        for entry in warp.stack:
            values += (entry.pc, entry.mask, entry.reconv)
        self._words[slot, _POINTER_WORDS:_POINTER_WORDS + len(values)] = values
        self._attached[slot] = warp if warp.pending is None else None  # Python completes it whenever its turn comes

    def _push_block(self, tb: ThreadBlock) -> None:
        kernel, record, lines = tb.kernel, self._blocks[tb.slot], self._lines[tb.slot]
        decoded = self._decoded[kernel.index]
        if decoded is None or decoded[0] is not kernel.descriptor:
            self._push_kernel(kernel)
        for bits, lines_of in zip(lines, (tb.lines_valid, tb.lines_dirty), strict=True):
            bits[:] = np.frombuffer(lines_of.to_bytes(bits.nbytes, "little"), np.uint64)
        record["shared"], record["lines"], record["dirty_lines"] = map(_address, (tb.shared, *lines))
        record["kernel"], record["launch"], record["ctaid"] = kernel.index, tb.launch_id, tb.ctaid
        record["local_base"], record["warps"], record["instructions"] = tb.local_base, len(tb.warps), tb.instructions
        record["slots"][:len(tb.warps)] = [warp.slot for warp in tb.warps]
        self._resident[tb.slot] = tb

    def _push_kernel(self, kernel: Kernel) -> None:
        """Take a kernel that was loaded since; nothing of it is decoded for the engine."""
        record, descriptor = self._kernels[kernel.index], kernel.descriptor
        words = min(descriptor.code_words, len(self.machine.memory) // INSTRUCTION_BYTES)
        operations = np.zeros(words, OPERATION)
        self._decoded[kernel.index] = descriptor, operations
        record["operations"], record["code_words"] = _address(operations), words
        record["trap_base"] = descriptor.trap_base
        record["shared_bytes"], record["local_bytes"] = kernel.shared_bytes, descriptor.local_bytes
        record["const_base"], record["const_bytes"] = descriptor.const_base, descriptor.const_bytes
        record["param_base"], record["param_bytes"] = descriptor.param_base, descriptor.param_bytes
        record["block"], record["grid"], record["windows"] = kernel.block, kernel.grid, len(kernel.windows)
        for number, window in enumerate(kernel.windows):
            record["window"][number] = window

    # And back

    def _take_ready(self) -> None:
        machine = self.machine
        ring, first, count = (self._state[name][0].tolist() for name in ("ready", "first", "count"))
        machine.ready = deque(_present(machine.slots[ring[(first + k) % MAX_WARPS]]) for k in range(count))

    def _pull_lines(self, tb: ThreadBlock) -> None:
        if self._resident[tb.slot] is not tb:
            return
        tb.lines_valid, tb.lines_dirty = (int.from_bytes(bits.tobytes(), "little") for bits in self._lines[tb.slot])
        tb.instructions = int(self._blocks[tb.slot]["instructions"])
        self._resident[tb.slot] = None

    def _pull_warp(self, warp: Warp) -> None:
        words = self._words[warp.slot]
        end = STACK_WORD + STACK_WORDS * int(words[_DEPTH])
        values = words[_POINTER_WORDS:end].tolist()
        warp.valid, warp.dirty, warp.live_vector = (values[k] | values[k + 1] << 32 for k in (0, 2, 4))
        warp.live, warp.written, warp.uniforms_written, waiting, warp.barrier, *flags = values[6:15]
        warp.waiting = bool(waiting)
        warp.parked, warp.after_pp, warp.returned, warp.yielding = map(bool, flags)
        warp.predicates[:] = values[15:15 + PREDICATES]
        stack = values[STACK_WORD - _POINTER_WORDS:]
        warp.stack[:] = map(StackEntry, stack[::STACK_WORDS], stack[1::STACK_WORDS], stack[2::STACK_WORDS])
        self._attached[warp.slot] = None


def _present(warp: Warp | None) -> Warp:
    assert warp is not None
    return warp
