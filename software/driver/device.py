"""The device: memory, modules, launches, preemption; the same on every transport."""

from __future__ import annotations

import gc
import operator
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from pathlib import Path
from typing import cast

import numpy as np
from numpy.typing import DTypeLike

from caesura.hw.arch import context as image
from caesura.hw.arch.faults import CommandError, Fault
from caesura.hw.arch.geometry import PC_NONE, SEGMENT_BYTES, Geometry
from caesura.hw.arch.registers import Command, KernelState, Register, register_map
from caesura.software.compiler import CompileOptions, KernelImage, disassemble_word, read_source
from caesura.software.compiler.ir.spaces import WINDOWS

from .bounds import GUARD_BYTES, declare, monitor_of
from .closed import ClosedTransport
from .context import Contexts, StackEntry
from .errors import Closed, CommandRefused, CycleLimit, DriverError, FaultRecord, KernelFault, LaunchError, OutOfMemory
from .fit import check_fit
from .launch import Launch, PreemptReport, ResumeReport, WarpState
from .memory import Allocation, DeviceArray, Region
from .module import Kernel, Module
from .pace import Pace, uninterrupted
from .saved import read_context
from .transport import Transport

__all__ = ["Device", "SYSTEM_BASE"]

SYSTEM_BASE = 0x1000
"""First byte used; addresses below are never mapped, so that a null pointer faults."""
HEAP_END = min(WINDOWS.values())
"""First address that is no global memory for generic accesses, so no array lies there, however large the memory."""
CLEAR_BYTES = 1 << 20
"""Memory is cleared in pieces of this size."""
DEFAULT_CYCLES = 10_000_000
"""Cycle limit of `wait` unless given."""
OBSERVER_SECONDS = 0.1
"""Least time between two calls of an observer."""

Observer = Callable[["Launch | None", int], None]
"""Told what goes on: the launch that is waited for, None if time just passes, and the device's cycle."""


class Device:
    """One SM with its memory, driven through registers; a context manager that closes itself.

    One thread uses it at a time.

    Parameters
    ----------
    transport : Transport
        The machine.
    system_fraction : float
        Share of the memory for code and contexts; the rest holds arrays, and is the kernels' global window.

    Attributes
    ----------
    observer : callable or None
        Called as ``observer(launch, cycle)`` ten times a second at most while time passes. Reading the device takes
        simulated time, `peek` and `Launch.peek_progress` do not: with them what is observed is what would happen
        anyway.

    Notes
    -----
    An interrupt (Ctrl-C) ends what waits within a fraction of a second, between two cycles: the device goes on where
    it stands, for example with another `wait`.

    Examples
    --------
    >>> device = caesura.sim.open_device("rtl", "gtx480")           # doctest: +SKIP
    >>> module = device.load_ptx("pathfinder.ptx")                  # doctest: +SKIP
    >>> launch = module["pathfinder"](12, 256, arguments)           # doctest: +SKIP
    >>> device.advance(4000); device.preempt(launch)                # doctest: +SKIP
    """

    def __init__(self, transport: Transport, system_fraction: float = 0.5):
        self.transport = transport
        self.geometry: Geometry = transport.geometry
        end = min(transport.memory_bytes, HEAP_END) // SEGMENT_BYTES * SEGMENT_BYTES
        split = int(end * system_fraction) // SEGMENT_BYTES * SEGMENT_BYTES
        self.system = Region(SYSTEM_BASE, split, SEGMENT_BYTES, "system memory")
        gap = GUARD_BYTES if monitor_of(transport) else 0
        self.heap = Region(split, end, 2 * SEGMENT_BYTES, "device memory", gap)
        self._registers: dict[str, Register] = register_map()
        self.launches: dict[int, Launch] = {}
        self.observer: Observer | None = None
        self._observed = 0.0
        self._pace = Pace()
        expected = self.geometry.hash
        if self.read("geometry_hash") != expected:
            raise DriverError(f"the device has another geometry than {self.geometry.name!r}")

    def __repr__(self):
        what = f"{self.transport.name}, {self.geometry.name}, {self.transport.memory_bytes:,} bytes"
        return f"Device({what}, {'closed' if self.closed else f'cycle {self.cycle:,}'})"

    # The end

    @property
    def closed(self) -> bool:
        """Whether `close` has been called."""
        return isinstance(self.transport, ClosedTransport)

    def close(self) -> None:
        """End the machine and give its memory back; any later use of it is a `Closed` error. Safe to repeat."""
        if self.closed:
            return
        machine, self.transport = self.transport, cast(Transport, ClosedTransport(self.transport))
        for launch in self.launches.values():
            launch.held = []
        if end := getattr(machine, "close", None):
            end()

    def __enter__(self) -> Device:
        if self.closed:
            raise Closed("this device has been closed; open another")
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # Registers

    def read(self, path: str) -> int:
        """Return a register by path, for example ``"kernel[0].state"``."""
        return self.transport.read_register(self._registers[path].address)

    def peek(self, path: str) -> int | None:
        """Return a register without time passing, None on a machine that cannot (Amaranth's simulator)."""
        return self.transport.peek_register(self._registers[path].address)

    def write(self, path: str, value: int | None = None, **fields: int) -> None:
        """Write a register as a whole or by fields."""
        register = self._registers[path]
        self.transport.write_register(register.address, register.pack(**fields) if value is None else value)

    def fields(self, path: str) -> dict[str, int]:
        """Return a register's fields."""
        return self._registers[path].unpack(self.read(path))

    # Memory and code

    def array(self, values) -> DeviceArray:
        """Return a device array with a copy of a numpy array."""
        values = np.asarray(values)
        array = DeviceArray(self, values.shape, values.dtype, clear=False)
        array.set(values)
        return array

    def zeros(self, shape, dtype: DTypeLike = np.float64) -> DeviceArray:
        """Return a device array of zeros."""
        return DeviceArray(self, shape, dtype)

    def empty(self, shape, dtype: DTypeLike = np.float64, *, clear: bool = True) -> DeviceArray:
        """Return a device array for results: zeros unless `clear` is False, then whatever the memory holds."""
        return DeviceArray(self, shape, dtype, clear)

    def reserve(self, size: int, region: Region | None = None) -> Allocation:
        """Return memory, from the heap unless another region is given; it is free again when nobody holds it.

        Raises
        ------
        OutOfMemory
            If there is no room, not even once what has been dropped and what has finished gave theirs back.
        """
        if self.closed:
            raise Closed("this device has been closed; open another")
        region = region or self.heap
        try:
            return region.lend(size)
        except OutOfMemory:
            _ = [launch.finished for launch in self.launches.values() if launch.held]
            gc.collect()
            return region.lend(size)

    def clear(self, address: int, size: int) -> None:
        """Fill memory with zeros."""
        zeros = bytes(min(size, CLEAR_BYTES))
        for start in range(0, size, CLEAR_BYTES):
            self.transport.write_memory(address + start, zeros[:size - start])

    def load(self, images: Iterable[KernelImage]) -> Module:
        """Put compiled kernels into device memory."""
        return Module(self, images)

    def load_ptx(self, path: str | Path, kernels: Collection[str] | None = None) -> Module:
        """Compile a PTX file for this SM, or take from the cache what has been compiled before, and load it.

        Parameters
        ----------
        path : path
        kernels : collection of str, optional
            Entry names; every kernel unless given.

        Raises
        ------
        software.compiler.CompileError
            If one of them cannot be compiled, or is not there.
        """
        from caesura.software.compiler import stored_module  # takes long to import: only where it is needed

        options = CompileOptions(max_registers=self.geometry.regs_per_thread)
        return self.load(stored_module(read_source(path), str(path), options, kernels).all_images().values())

    # Launch

    @uninterrupted()
    def launch(self, kernel: Kernel, grid, block, arguments: Sequence, shared_bytes: int = 0) -> Launch:
        """Start a kernel; see `Kernel.__call__`."""
        g = self.geometry
        words = kernel.parameter_words(arguments)
        shared = kernel.image.shared_bytes + self._count(shared_bytes, "shared_bytes")
        threads = check_fit(g, kernel.image, grid, block, shared)
        slot = next((k for k in range(g.kernel_slots) if k not in self.launches or self.launches[k].finished), None)
        if slot is None:
            raise LaunchError(f"all {g.kernel_slots} kernel slots are in use; wait for a launch to finish")
        self._take_events()
        self._free_local()
        if old := self.launches.get(slot):
            old.leave_slot()
            del self.launches[slot]
            self.system.free(old.ccb_base)
        warps = -(-threads // g.warp_size)
        area = image.area_bound(g, warps, kernel.image.registers, shared)
        ccb = self.system.allocate(image.ccb_bytes(g, area))
        launch = Launch(self, kernel, slot, grid, block, shared, ccb, area)
        launch.held = kernel.holdings(arguments)
        try:
            self.transport.write_memory(ccb, bytes(image.ENTRY_BYTES * g.tb_slots))
            self._take_local(launch)
            self._describe(launch, threads, warps, words)
            if monitor := monitor_of(self.transport):
                declare(monitor, slot, kernel, arguments)
            self._command(Command.START, launch)
        except BaseException:
            self.system.free(ccb)
            if launch.local_base:
                self.system.free(launch.local_base)
            raise
        self.launches[slot] = launch
        return launch

    def _take_local(self, launch: Launch) -> None:
        """Allocate a region of local memory for each TB slot; zeros, so that nothing of a former owner shows."""
        g = self.geometry
        if size := g.tb_slots * launch.local_region_bytes:
            launch.local_base = self.system.allocate(size)
            self.clear(launch.local_base, size)

    def _free_local(self) -> None:
        """Give back the local memory of launches that have finished."""
        for launch in self.launches.values():
            if launch.local_base and launch.finished:
                self.system.free(launch.local_base)
                launch.local_base = 0

    @staticmethod
    def _count(value: int, what: str) -> int:
        try:
            count = operator.index(value)
        except TypeError:
            count = -1
        if count < 0:
            raise LaunchError(f"{what} must be a whole number from 0, not {value!r}")
        return count

    def _check_device(self, launch: Launch) -> None:
        """Refuse a launch of another device."""
        if launch.device is not self:
            raise DriverError(f"kernel {launch.kernel.image.name!r} was launched on another device; use that one")

    def _check_own(self, launch: Launch) -> None:
        """Refuse a launch of another device, or one that has given its slot to another launch."""
        self._check_device(launch)
        if self.launches.get(launch.slot) is not launch:
            raise DriverError(f"this launch of kernel {launch.kernel.image.name!r} has finished, and its slot holds "
                              "another launch; launch the kernel again")

    def _describe(self, launch: Launch, threads: int, warps: int, words: list[int]) -> None:
        at = f"kernel[{launch.slot}]."
        code = launch.kernel.image
        plain = {
            "code_base": launch.kernel.address, "code_words": len(code.code),
            "grid_x": launch.grid[0], "grid_y": launch.grid[1], "grid_z": launch.grid[2],
            "reciprocal_x": -(-(1 << 20) // launch.block[0]), "reciprocal_y": -(-(1 << 20) // launch.block[1]),
            "shared_bytes": -(-launch.shared_bytes // 4) * 4, "ccb_base": launch.ccb_base,
            "area_bytes": launch.area_bytes,
            "local_base": launch.local_base, "local_bytes": code.local_bytes,
            "const_base": launch.kernel.bank.address, "const_bytes": launch.kernel.bank.size,
            "window_base[0]": self.heap.base, "window_end[0]": self.heap.end,
        }
        for window in range(1, self.geometry.windows):
            plain |= {f"window_base[{window}]": 0, f"window_end[{window}]": 0}
        for name, value in plain.items():
            self.write(at + name, value)
        self.write(at + "block", x=launch.block[0], y=launch.block[1], z=launch.block[2])
        self.write(at + "sizes", threads=threads, registers=code.registers, warps=warps)
        for k in range(self.geometry.param_words):  # all of them: a former kernel's must not be readable
            self.write(f"{at}param[{k}]", words[k] if k < len(words) else 0)

    @uninterrupted()
    def _command(self, command: Command, launch: Launch, **fields: int) -> None:
        self.write("event", refused=1)
        self.write("command", op=command, kernel=launch.slot, **fields)
        if self.fields("event")["refused"]:
            error = CommandError(self.fields("status")["error"])
            raise CommandRefused(f"{command.name.lower()} of kernel {launch.kernel.image.name!r}", error)

    # Time

    @property
    def cycle(self) -> int:
        """Cycles since the start of the machine; asking takes none."""
        return self.transport.cycle

    def advance(self, cycles: int) -> int:
        """Let `cycles` cycles pass.

        Raises
        ------
        LaunchError
            If `cycles` is not a whole number from 0.
        """
        return self._pass(self.transport.advance, self._count(cycles, "cycles"), None)

    def run(self, launch: Launch, cycles: int) -> int:
        """Let `cycles` cycles pass, fewer if a launch finishes; return the cycles passed. A fault is left to `wait`.

        Raises
        ------
        LaunchError
            If `cycles` is not a whole number from 0.
        """
        self._check_device(launch)
        return self._wait_event(lambda: launch.finished, self._count(cycles, "cycles"), launch)

    def wait(self, launch: Launch, max_cycles: int = DEFAULT_CYCLES) -> int:
        """Let time pass until a launch has finished; return the cycles passed.

        Raises
        ------
        KernelFault
            If a TB of the launch faulted (after the launch has finished).
        CycleLimit
            If it has not finished after `max_cycles`.
        LaunchError
            If `max_cycles` is not a whole number from 0; also `preempt` and `resume`.
        DriverError
            If it is preempted.
        """
        self._check_device(launch)
        limit = self._count(max_cycles, "max_cycles")
        if launch.state is KernelState.PREEMPTED:
            raise DriverError(f"kernel {launch.kernel.image.name!r} is preempted and will not go on; resume it first")
        passed = self._wait_event(lambda: launch.finished, limit, launch)
        self._take_events()
        self._free_local()
        if tbs := launch.faulted_tbs:
            raise KernelFault(launch.fault, launch.kernel.image.name, tbs)
        if not launch.finished:
            done, total = launch.progress
            raise CycleLimit(f"kernel {launch.kernel.image.name!r} has not finished after {passed} cycles "
                             f"({done} of {total} TBs done)\n" + self.describe_warps())
        return passed

    def _wait_event(self, done: Callable[[], bool], max_cycles: int, launch: Launch) -> int:
        passed = 0
        while not done() and passed < max_cycles:
            passed += self._pass(self.transport.wait, max_cycles - passed, launch)
            self._take_events()
        return passed

    def _pass(self, call: Callable[[int], int], cycles: int, launch: Launch | None) -> int:
        """Let time pass in slices, and tell the observer."""
        return self._pace.run(call, cycles, (lambda: self._observe(launch)) if self.observer else None)

    def _observe(self, launch: Launch | None) -> None:
        now = time.monotonic()
        if self.observer and now - self._observed >= OBSERVER_SECONDS:
            self._observed = now
            self.observer(launch, self.cycle)

    @uninterrupted()
    def _take_events(self) -> None:
        """Clear the events, each of which would end every wait; keep a fault with the launch it belongs to."""
        event = self.fields("event")
        if event["fault"]:
            launch = self.launches.get(self.fields("fault_kind")["kernel"])
            if launch and launch.fault is None:
                launch.fault = self._fault()
        self.write("event", **event)

    def _fault(self) -> FaultRecord:
        kind = self.fields("fault_kind")
        monitor = monitor_of(self.transport)
        pc = self.read("fault_pc")
        launch = self.launches.get(kind["kernel"])
        code = launch.kernel.image if launch else None
        line = code.lines[pc] if code and pc < len(code.lines) else 0
        text = disassemble_word(code.code[pc]) if code and pc < len(code.code) else ""
        return FaultRecord(Fault(kind["kind"]), code.name if code else f"slot {kind['kernel']}", self.read("fault_tb"),
                           kind["warp"], pc, self.read("fault_address"), line, code.source if code else "", text,
                           code.origin(pc) if code else None, monitor.violation() if monitor else None)

    # Preemption

    def preempt(self, launch: Launch, mechanism: image.Mechanism | str = image.Mechanism.LIVE, *,
                scramble: bool = False, max_cycles: int = DEFAULT_CYCLES) -> PreemptReport | None:
        """Take a running launch off the SM and save it.

        Parameters
        ----------
        launch : Launch
        mechanism : hw.arch.context.Mechanism or str
            Or its name: ``"occupied"``, ``"live"``, ``"live+cp"``.
        scramble : bool
            Test mode: registers that are not saved come back as random bits.
        max_cycles : int

        Returns
        -------
        PreemptReport or None
            None if the launch finished before anything was saved.

        Raises
        ------
        CommandRefused
            If the launch does not run, or the memory failed.
        CycleLimit
            If it takes longer than `max_cycles`.
        """
        self._check_device(launch)
        limit = self._count(max_cycles, "max_cycles")
        mechanism = _mechanism(mechanism)
        if launch.finished:
            return None
        self._check_own(launch)
        before, launch.scramble = launch.scramble, scramble
        try:
            self._command(Command.PREEMPT, launch, mechanism=mechanism, scramble=int(scramble))
        except CommandRefused:
            launch.scramble = before
            if launch.finished:  # meanwhile: asking takes time too
                return None
            raise
        self._finish("preempt", launch, limit)
        if launch.finished:
            return None
        counter = {n: self.read(f"save_{n}") for n in
                   ("cycles", "data_bytes", "metadata_bytes", "registers", "lines", "tbs", "warps")}
        return PreemptReport(mechanism, counter["cycles"], self.read("drain_cycles"), counter["data_bytes"],
                             counter["metadata_bytes"], counter["registers"], counter["lines"], counter["tbs"],
                             counter["warps"], counter["tbs"] * launch.occupied_tb_bytes)

    def resume(self, launch: Launch, *, gang: bool = False, max_cycles: int = DEFAULT_CYCLES) -> ResumeReport:
        """Bring a preempted launch back; it runs on as time passes.

        Parameters
        ----------
        launch : Launch
        gang : bool
            TBs start together, when all for which there is room are back, rather than each when it is. The first
            instruction comes later; the restore has the bus to itself.
        max_cycles : int

        Raises
        ------
        CommandRefused
            If the launch is not preempted or its context cannot be read.
        CycleLimit
            If it takes longer than `max_cycles`.
        """
        self._check_own(launch)
        limit = self._count(max_cycles, "max_cycles")
        self._command(Command.RESUME, launch, scramble=int(launch.scramble), gang=int(gang))
        self._finish("resume", launch, limit)
        return ResumeReport(self.read("restore_cycles"), self.read("resume_cycles"), self.read("restore_bytes"))

    def _finish(self, what: str, launch: Launch, max_cycles: int) -> None:
        passed = self._wait_event(lambda: not self.fields("status")["busy"], max_cycles, launch)
        status = self.fields("status")
        if status["busy"]:
            raise CycleLimit(f"{what} of kernel {launch.kernel.image.name!r} has not ended after {passed} cycles\n"
                             + self.describe_warps())
        if status["error"]:
            raise CommandRefused(f"{what} of kernel {launch.kernel.image.name!r}", CommandError(status["error"]))

    # Inspection

    def context(self, launch: Launch) -> Contexts:
        """Return the saved TBs of a preempted launch, a list: PCs, masks, registers, sizes of every warp.

        Raises
        ------
        ContextError
            If what lies there is no context of this launch: something has written over it.
        """
        self._check_own(launch)
        return read_context(self.transport, launch)

    def warps(self) -> list[WarpState]:
        """Return where every warp on the SM stands."""
        found = []
        for slot in range(self.geometry.warps):
            self.write("inspect", warp=slot, entry=0)
            state = self.fields("inspect_state")
            if not state["valid"]:
                continue
            stack = []
            for entry in range(state["depth"]):
                self.write("inspect", warp=slot, entry=entry)
                pc = self.read("inspect_pc")
                stack.append(StackEntry(pc, self.read("inspect_mask"), PC_NONE))
            word = next((name for name in ("exited", "waiting", "parked") if state[name]), "running")
            found.append(WarpState(slot, state["kernel"], self.read("inspect_tb"), state["warp"], word,
                                   state["barrier"] if state["waiting"] else None, self.read("inspect_live"),
                                   tuple(stack)))
        return found

    def describe_warps(self) -> str:
        """Return a few lines that say where every warp on the SM stands."""
        lines = []
        for warp in self.warps():
            launch = self.launches.get(warp.kernel)
            code = launch.kernel.image if launch else None
            top = warp.stack[-1] if warp.stack else None
            where = f"PC {top.pc}, lanes {top.mask:#x}" if top else "no lanes"
            if code and top and top.pc < len(code.code):
                where += f": {disassemble_word(code.code[top.pc])}"
                if source := code.where(top.pc):
                    where += f" ({source})"
            barrier = f" at barrier {warp.barrier}" if warp.barrier is not None else ""
            lines.append(f"  TB {warp.launch_id} warp {warp.warp}: {warp.state}{barrier}, {where}")
        return "\n".join(lines) or "  no warp is on the SM"

    # Forks

    def host_state(self) -> tuple:
        """Return the driver's own state (launches, allocations), to go with a snapshot of the machine."""
        launches = {slot: (launch, launch.fault, launch.local_base, launch.held)
                    for slot, launch in self.launches.items()}
        return launches, self.system.state(), self.heap.state()

    def set_host_state(self, state: tuple) -> None:
        """Put back what `host_state` returned."""
        launches, system, heap = state
        self.launches = {slot: launch for slot, (launch, *_) in launches.items()}
        for launch, fault, local_base, held in launches.values():
            launch.fault, launch.local_base, launch.held = fault, local_base, held
        self.system.set_state(system)
        self.heap.set_state(heap)


def _mechanism(given: image.Mechanism | str) -> image.Mechanism:
    try:
        return image.Mechanism.of(given) if isinstance(given, str) else image.Mechanism(given)
    except ValueError:
        names = ", ".join(repr(m.label) for m in image.Mechanism)
        raise DriverError(f"no mechanism {given!r}; there are {names}") from None
