"""`RtlTransport`: the machine under Verilator as a machine for the driver, with snapshots and a retire trace."""

from __future__ import annotations

import ctypes
import threading
import weakref
from collections.abc import Callable
from pathlib import Path

import numpy as np
from amaranth.lib import wiring

from caesura.errors import InputError
from caesura.hw.arch.geometry import Geometry
from caesura.hw.device.device import machine
from caesura.progress import Progress, report
from caesura.sim.memory import ErrorRange, MemoryTiming, ProtocolError
from caesura.sim.rtl.verilator import library
from caesura.sim.trace.changes import EVENT, SAMPLE
from caesura.sim.trace.counts import COUNTED
from caesura.sim.trace.retired import TRACE

__all__ = ["RtlTransport", "Snapshot", "Traffic"]

DEFAULT_MEMORY = 32 << 20
"""Bytes of memory unless told otherwise."""
AXI_IDS = 8
"""AXI ids the traffic counters tell apart."""
REGULAR_READERS, REGULAR_WRITERS = 4, 2
"""The first ids are those of running kernels, the next one is the control unit's."""

_POINTER, _WORD, _LONG, _TEXT = ctypes.c_void_p, ctypes.c_uint32, ctypes.c_uint64, ctypes.c_char_p
_FUNCTIONS = {
    "new": (_POINTER, _LONG), "delete": (None, _POINTER), "error": (_TEXT, _POINTER),
    "timing": (None, _POINTER, _LONG, _LONG, _LONG),
    "error_range": (None, _POINTER, _LONG, _LONG, ctypes.c_int, ctypes.c_int),
    "clear_errors": (None, _POINTER), "traffic": (None, _POINTER, _POINTER),
    "unit_traffic": (None, _POINTER, _WORD, _POINTER),
    "digest_beats": (None, _POINTER), "beat_digest": (None, _POINTER, _POINTER),
    "threads": (None, _POINTER, _WORD),
    "cycle": (_LONG, _POINTER), "advance": (None, _POINTER, _LONG), "wait": (_LONG, _POINTER, _LONG),
    "write_register": (None, _POINTER, _WORD, _WORD), "read_register": (_WORD, _POINTER, _WORD),
    "peek_register": (_WORD, _POINTER, _WORD),
    "read_memory": (None, _POINTER, _LONG, _POINTER, _LONG),
    "write_memory": (None, _POINTER, _LONG, _TEXT, _LONG),
    "trace": (None, _POINTER, ctypes.c_int), "trace_count": (_LONG, _POINTER),
    "take_trace": (None, _POINTER, _POINTER),
    "timeline": (None, _POINTER, _LONG), "timeline_end": (None, _POINTER, _POINTER),
    "take_timeline": (None, _POINTER, _POINTER, _POINTER),
    "count": (None, _POINTER, ctypes.c_int), "counted": (_LONG, _POINTER, _POINTER, _LONG),
    "snapshot": (_POINTER, _POINTER), "restore": (None, _POINTER, _POINTER),
    "snapshot_bytes": (_LONG, _POINTER), "snapshot_delete": (None, _POINTER),
    "open_vcd": (None, _POINTER, _TEXT), "close_vcd": (None, _POINTER),
}


class _Library:
    """The harness's C functions, without their common prefix."""

    def __init__(self, path: Path):
        handle = ctypes.CDLL(str(path))
        self.path = path
        for name, (result, *arguments) in _FUNCTIONS.items():
            function = getattr(handle, f"caesura_{name}")
            function.restype, function.argtypes = result, arguments
            setattr(self, name, function)

    def __getattr__(self, name: str) -> Callable:
        raise AttributeError(name)


class _Simulation:
    """The C functions of one simulation, one at a time; once it has ended, each is refused.

    Attributes
    ----------
    pointer : int
    """

    def __init__(self, library: _Library, pointer: int):
        self.pointer = pointer
        self._library = library
        self._lock = threading.RLock()
        self._ended = False

    def __getattr__(self, name: str) -> Callable:
        function = getattr(self._library, name)

        def call(*arguments):
            with self._lock:
                if self._ended:
                    raise InputError("this simulation has been closed")
                return function(self.pointer, *arguments)

        setattr(self, name, call)
        return call

    def end(self, close: Callable[[], object]) -> None:
        """End it; safe to repeat."""
        with self._lock:
            self._ended = True
            close()


def _of_one_sm(g: Geometry, what: str) -> None:
    if g.has_uncore:
        raise InputError(f"{what} of one SM by itself, and {g.name!r} has {g.sms} (sms) and {g.queues} hardware queues "
                         "(queues); take a geometry of one, without queues")


class Snapshot:
    """The whole state of a simulation at one cycle; kept by the library until this object goes.

    Attributes
    ----------
    cycle : int
        When it was taken.
    nbytes : int
        Bytes it occupies, without the memory pages that it shares.
    """

    def __init__(self, library: _Library, pointer: int, cycle: int, memory_bytes: int):
        self._pointer = pointer
        self._memory_bytes = memory_bytes
        self._library = library
        self.cycle = cycle
        self.nbytes = library.snapshot_bytes(pointer)
        weakref.finalize(self, library.snapshot_delete, pointer)


class Traffic:
    """Bytes moved on the bus since the start, by AXI id; a beat counts its full width.

    Attributes
    ----------
    read, written : tuple of int
        Bytes by AXI id. Reads have 0 instruction cache, 1 constant cache, 2 loads, 3 atomics, 4 control unit. Writes
        have 0 stores, 1 atomics, 2 control unit.
    drain : int
        Bytes that all ids but the control unit moved in cycles that a preempt counts as drain.
    """

    def __init__(self, read: tuple[int, ...], written: tuple[int, ...], drain: int = 0):
        self.read = read
        self.written = written
        self.drain = drain

    @property
    def regular(self) -> int:
        """Bytes that all but the control unit moved."""
        return sum(self.read[:REGULAR_READERS]) + sum(self.written[:REGULAR_WRITERS])

    def __repr__(self) -> str:
        return f"Traffic(read={self.read}, written={self.written}, drain={self.drain})"


class RtlTransport:
    """The RTL of a machine under Verilator, with its memory: a `software.driver.machine.transport.Transport`.

    A register access takes one simulated cycle, memory access from outside none. Two objects of one
    configuration share the library and are otherwise independent. Threads that use one take turns, call by call.

    Parameters
    ----------
    geometry : Geometry
    memory_bytes : int
        Size of the memory; pages that were never written take no room.
    trace : bool
        Record a retire trace from the start (see `take_trace`).
    vcd : path, optional
        Write waveforms there from the start until `close_vcd` or `close`; needs its own build.
    waves : str, optional
        Build with waveforms of one block only (a path below the top, for example ``"control.engine"``), for `vcd` or
        `open_vcd`.
    design : callable
        Makes the top; another one with the ports of `hw.sm.Sm` can be run instead.
    threads : int
        Number of threads that simulate a device of several SMs, if they are faster than one.
    observed : bool
        Run a simulator, built for it, whose SMs also show what each warp does (`count`).
    simulator : Path, optional
        A shared library to run instead of the one that is kept for the design.
    progress : callable
        Told about each step of a build.

    Raises
    ------
    BuildError
        If the simulation cannot be built.
    ValueError
        If `memory_bytes` is not a positive multiple of 4096.
    """

    name = "rtl"

    def __init__(self, geometry: Geometry, memory_bytes: int = DEFAULT_MEMORY, trace: bool = False, *,
                 vcd: str | Path | None = None, waves: str | None = None,
                 design: Callable[[Geometry], wiring.Component] = machine, threads: int = 1,
                 observed: bool = False, simulator: Path | None = None, progress: Progress = report):
        if memory_bytes <= 0 or memory_bytes % 4096 or memory_bytes > 1 << 32:
            raise InputError(f"memory_bytes must be a positive multiple of 4096 up to 4 GiB, not {memory_bytes}")
        if vcd is not None or waves is not None:
            _of_one_sm(geometry, "waveforms are")
            if observed:
                raise InputError("a simulator with waveforms does not count what warps do; leave vcd or observed out")
        if not 1 <= threads <= 64:
            raise InputError(f"threads must be 1 to 64, not {threads}")
        self.geometry = geometry
        self.memory_bytes = memory_bytes
        waves = waves or ("" if vcd is not None else None)
        self._library = _Library(simulator or library(geometry, design, waves=waves, observed=observed,
                                                      progress=progress))
        self._simulation = _Simulation(self._library, self._library.new(memory_bytes))
        self._close = weakref.finalize(self, self._library.delete, self._simulation.pointer)
        self._simulation.threads(threads)
        self.set_timing(MemoryTiming.of(geometry))
        self.observed = observed
        self._counting = False
        self.tracing = trace
        self.record_timeline(0)
        self._waves = waves
        if vcd is not None:
            self.open_vcd(vcd)

    def _check(self) -> None:
        message = self._simulation.error()
        if message:
            raise ProtocolError(message.decode())

    def read_register(self, address: int) -> int:
        """Return the 32-bit register at a byte address; takes one cycle."""
        value = self._simulation.read_register(address)
        self._check()
        return value

    def write_register(self, address: int, value: int) -> None:
        """Write a 32-bit register; takes one cycle."""
        self._simulation.write_register(address, value)
        self._check()

    def peek_register(self, address: int) -> int:
        """Return the 32-bit register at a byte address; takes no time, the machine stays as it is."""
        return self._simulation.peek_register(address)

    def _check_range(self, address: int, size: int) -> None:
        if address < 0 or size < 0 or address + size > self.memory_bytes:
            raise InputError(f"{size} bytes at {address:#x} are not within the memory of {self.memory_bytes} bytes")

    def read_memory(self, address: int, size: int) -> bytes:
        """Return `size` bytes of global memory; takes no simulated time.

        Raises
        ------
        ValueError
            If they are not within the memory; also `write_memory`.
        """
        self._check_range(address, size)
        buffer = np.empty(size, np.uint8)
        self._simulation.read_memory(address, buffer.ctypes.data, size)
        return buffer.tobytes()

    def write_memory(self, address: int, data: bytes) -> None:
        """Write global memory; takes no simulated time."""
        self._check_range(address, len(data))
        self._simulation.write_memory(address, bytes(data), len(data))

    def advance(self, cycles: int) -> int:
        """Let exactly `cycles` cycles pass and return them.

        Raises
        ------
        ProtocolError
            If the SM breaks a rule of AXI4 that the memory checks; also `wait` and the register accesses.
            The simulation then stands still until it is restored from a snapshot.
        """
        self._simulation.advance(cycles)
        self._check()
        return cycles

    def wait(self, cycles: int) -> int:
        """Let time pass until the interrupt line is high, at most `cycles` cycles; return the cycles passed."""
        passed = self._simulation.wait(cycles)
        self._check()
        return passed

    @property
    def cycle(self) -> int:
        """Cycles since the start."""
        return self._simulation.cycle()

    @property
    def tracing(self) -> bool:
        """Whether retired instructions and writes are recorded."""
        return self._tracing

    @tracing.setter
    def tracing(self, enabled: bool) -> None:
        self._tracing = bool(enabled)
        self._simulation.trace(int(enabled))

    def take_trace(self) -> np.ndarray:
        """Return the records since the last call and forget them: shape ``(n,)``, dtype `sim.trace.retired.TRACE`.

        Those of several SMs are in the order of their cycles.
        """
        records = np.empty(self._simulation.trace_count(), TRACE)
        self._simulation.take_trace(records.ctypes.data)
        return records[np.argsort(records["cycle"], kind="stable")] if self.geometry.has_uncore else records

    def record_timeline(self, interval: int) -> None:
        """Record from now on what warps, kernels, preemption engines and queues do, and the bus every `interval`
        cycles.

        0 ends it. A restored snapshot brings back what was recorded when it was taken.
        """
        if interval < 0:
            raise InputError(f"the interval must be 0 or more cycles, not {interval}")
        self._timeline = interval
        self._simulation.timeline(interval)

    def take_timeline(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the events and samples (`sim.trace.changes.EVENT`, `SAMPLE`) since the last call, and forget them.

        The first sample is of the moment at which recording began, the last is of this one.
        """
        counts = np.empty(2, np.uint64)
        self._simulation.timeline_end(counts.ctypes.data)
        events, samples = np.empty(int(counts[0]), EVENT), np.empty(int(counts[1]), SAMPLE)
        self._simulation.take_timeline(events.ctypes.data, samples.ctypes.data)
        return events, samples

    def count(self, enabled: bool) -> None:
        """Count from now on what SMs and kernels do in each cycle, from nothing; or end it.

        A restored snapshot brings back what was counted when it was taken.
        """
        self._counting = bool(enabled)
        self._simulation.count(0)
        self._simulation.count(int(enabled))

    def counted(self) -> np.ndarray:
        """Return what has been counted, of dtype `sim.trace.counts.COUNTED`: a row for each SM, and one for each kernel
        that had warps on it."""
        counts = np.empty(self._simulation.counted(None, 0), COUNTED)
        self._simulation.counted(counts.ctypes.data, len(counts))
        return counts

    def snapshot(self) -> Snapshot:
        """Return the state of everything: SM, bus, memory, error ranges, counters and untaken trace records.

        Memory pages are shared with the snapshot until one side writes them.
        """
        return Snapshot(self._library, self._simulation.snapshot(), self.cycle, self.memory_bytes)

    def restore(self, snapshot: Snapshot) -> None:
        """Return to a snapshot, of this simulation or of another one of the same build and memory size."""
        if snapshot._library.path != self._library.path:
            raise InputError("the snapshot is of another build")
        if snapshot._memory_bytes != self.memory_bytes:
            raise InputError(f"the snapshot has {snapshot._memory_bytes} bytes of memory, not {self.memory_bytes}")
        self._simulation.restore(snapshot._pointer)
        self.tracing = self._tracing
        self.record_timeline(self._timeline)
        self._simulation.count(int(self._counting))

    def set_timing(self, timing: MemoryTiming) -> None:
        """Change the memory's latency and bandwidth from now on."""
        self._simulation.timing(timing.latency, timing.rate, timing.requests)

    def add_error_range(self, errors: ErrorRange) -> None:
        """Let a range of addresses answer SLVERR."""
        self._simulation.error_range(errors.start, errors.end, int(errors.reads), int(errors.writes))

    def clear_error_ranges(self) -> None:
        """Let all of memory answer normally again."""
        self._simulation.clear_errors()

    @property
    def traffic(self) -> Traffic:
        """Bus traffic so far."""
        counts = np.empty(2 * AXI_IDS + 1, np.uint64)
        self._simulation.traffic(counts.ctypes.data)
        return Traffic(tuple(map(int, counts[:AXI_IDS])), tuple(map(int, counts[AXI_IDS:-1])), int(counts[-1]))

    def traffic_of(self, unit: int) -> Traffic:
        """Bus traffic so far of an SM, by its number, or behind the last of the queues; `drain` is not told apart.

        Raises
        ------
        ValueError
            If there is none of that number.
        """
        units = self.geometry.sms + (self.geometry.queues > 0)
        if not 0 <= unit < units:
            raise InputError(f"{self.geometry.name} has {units} on its bus, from 0 on; there is no {unit}")
        counts = np.empty(2 * AXI_IDS, np.uint64)
        self._simulation.unit_traffic(unit, counts.ctypes.data)
        return Traffic(tuple(map(int, counts[:AXI_IDS])), tuple(map(int, counts[AXI_IDS:])))

    def digest_beats(self) -> None:
        """Begin a new digest of the bus: of each beat that is taken from now on, and in which cycle from now."""
        self._simulation.digest_beats()

    @property
    def beat_digest(self) -> str:
        """Digest of all AXI beats since `digest_beats`, 32 hexadecimal digits; of none before that: zeros.

        A snapshot takes it along.
        """
        lanes = np.empty(2, np.uint64)
        self._simulation.beat_digest(lanes.ctypes.data)
        return "".join(f"{lane:016x}" for lane in lanes)

    def open_vcd(self, path: str | Path) -> None:
        """Write waveforms to a file from now on; two units of its time are a cycle.

        Raises
        ------
        ValueError
            If this simulation was built without waveforms.
        OSError
            If the file cannot be written.
        """
        if self._waves is None:
            raise InputError("this simulation has no waveforms; make it with vcd=PATH or waves=BLOCK")
        open(path, "w").close()
        self._simulation.open_vcd(str(path).encode())

    def close_vcd(self) -> None:
        """Complete the waveform file."""
        self._simulation.close_vcd()

    def close(self) -> None:
        """End the simulation and complete the waveform file; safe to repeat, any other use is a `ValueError`."""
        self._simulation.end(self._close)
