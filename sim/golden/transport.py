"""The golden model behind the driver's transport: registers, memory and time."""

from __future__ import annotations

import pickle

import numpy as np

from caesura.errors import InputError
from caesura.hw.arch.commands import REFUSED, Command, KernelState, Switch
from caesura.hw.arch.faults import CommandError
from caesura.hw.arch.geometry import Geometry
from caesura.hw.arch.registers import IDENTIFICATION, Register, register_map
from caesura.hw.arch.way import Way
from caesura.sim.trace.retired import ATOMIC

from .bounds.checker import BoundsChecker
from .in_place import Newcomer, newcomer
from .machine import Machine
from .native.engine import Engine
from .semantics.atomic_order import AtomicOrder
from .state.kernel import Descriptor

__all__ = ["GoldenTransport"]

ENGINE = "auto"
"""Default engine of a transport."""


class GoldenTransport:
    """`software.driver.machine.transport.Transport` on the golden model; a cycle is one warp instruction.

    Parameters
    ----------
    geometry : Geometry
    memory_bytes : int
        A multiple of 128.
    trace : bool
        Record the retire trace, read with `take_trace`.
    seed : int
        Seed of the random bits of the scramble test mode.
    check_bounds : bool
        Check each access to global memory against the arrays of the driver that opens it.
    engine : str, optional
        One of `native.engine.ENGINES`: what executes, to the same bits at any cycle. `ENGINE` unless given;
        with `check_bounds` always numpy.
    """

    name = "golden"

    def __init__(self, geometry: Geometry, memory_bytes: int = 32 << 20, trace: bool = False, seed: int = 0,
                 check_bounds: bool = False, engine: str | None = None):
        self.geometry = geometry
        self.memory_bytes = memory_bytes
        self._engine = Engine("numpy" if check_bounds else engine or ENGINE, geometry.warp_size)
        self.machine = Machine(geometry, memory_bytes, trace, check_bounds, self._engine)
        self._map = register_map()
        self._paths = {register.address: path for path, register in self._map.items()
                       if register.exists(geometry)}
        self._values: dict[int, int] = {}
        self._random = np.random.default_rng(seed)

    @property
    def bounds(self) -> BoundsChecker | None:
        """The checker of the bounds of accesses, None if there is none."""
        return self.machine.checker

    def read_register(self, address: int) -> int:
        """Return the 32-bit register at a byte address; addresses without a register read 0."""
        path = self._paths.get(address)
        if path is None or not self._map[path].readable:
            return 0
        if path.startswith("kernel[") and not self._map[path].writable:
            index = int(path[7])
            return self._of_kernel(index, path[10:]) if index < len(self.machine.kernels) else 0
        if path.startswith("inspect_"):
            return self._inspect(path)
        return self._read(path, self._map[path])

    peek_register = read_register

    def _of_kernel(self, index: int, name: str) -> int:
        """Return what the machine says of a kernel slot."""
        kernel, (counts, _, what) = self.machine.kernels[index], name.partition("_")
        if name == "state":
            return self._map["kernel[0].state"].pack(state=kernel.state, error=kernel.error,
                                                     recorded=kernel.in_memory)
        if what == "stay":
            return sum(1 << row.tb.entry for row in self.machine.stays(kernel) if getattr(row.stay, counts))
        if counts in ("profile", "switches") and not self.geometry.profile:
            return 0
        if counts == "switches":
            return kernel.switches[Switch[what.upper()]]
        return getattr(kernel.profile, what) if counts == "profile" else int(getattr(kernel, name))

    def _read(self, path: str, register: Register) -> int:
        machine, fault = self.machine, self.machine.fault
        resident = machine.resident()
        if path == "status":
            return register.pack(busy=machine.preemption.busy, error=machine.refusal,
                                 resident=len(resident), warps=sum(len(tb.warps) for tb in resident))
        if path == "fault_kind":
            return register.pack(kind=fault.kind, kernel=fault.kernel, warp=fault.warp)
        live = {"id": IDENTIFICATION, "geometry_hash": self.geometry.hash, "event": machine.events,
                "cycle_low": machine.cycle & 0xFFFF_FFFF, "cycle_high": machine.cycle >> 32 & 0xFFFF_FFFF,
                "retired": machine.retired & 0xFFFF_FFFF, "fault_tb": fault.launch, "fault_pc": fault.pc,
                "fault_address": fault.address, "fault_count": machine.fault_count,
                "announced": sum(1 << k for k in machine.preemption.announced.victims)}
        if path in live:
            return live[path]
        counted = machine.preemption.announced.counts | machine.preemption.counters
        return counted.get(path, self._value(path))

    def _value(self, path: str) -> int:
        """Return what was written last to a register, or what it holds after a reset."""
        register = self._map[path]
        return self._values.get(register.address, register.reset)

    def _inspect(self, path: str) -> int:
        chosen = self._map["inspect"].unpack(self._values.get(self._map["inspect"].address, 0))
        slots = self.machine.slots
        warp = slots[chosen["warp"]] if chosen["warp"] < len(slots) else None
        if warp is None:
            return 0
        if path == "inspect_state":
            return self._map[path].pack(
                valid=1, waiting=warp.waiting, parked=warp.parked, exited=warp.exited, kernel=warp.tb.kernel.index,
                warp=warp.index, depth=len(warp.stack), barrier=warp.barrier if warp.waiting else 0,
                whole=warp.tb.whole and self.geometry.profile)
        if path in ("inspect_pc", "inspect_mask"):
            if chosen["entry"] >= len(warp.stack):
                return 0
            entry = warp.stack[chosen["entry"]]
            return entry.pc if path == "inspect_pc" else entry.mask & warp.live
        tb = warp.tb
        if path in ("inspect_tb_cycles", "inspect_tb_instructions"):
            age = self.machine.cycle - tb.begun if path == "inspect_tb_cycles" else tb.instructions
            return min(age, 0xFFFF_FFFF) if self.geometry.profile else 0
        return {"inspect_tb": tb.launch_id, "inspect_ccb_entry": tb.entry, "inspect_live": warp.live}[path]

    def write_register(self, address: int, value: int) -> None:
        """Write a 32-bit register; a write to ``command`` begins the command."""
        path = self._paths.get(address)
        if path is None or not self._map[path].writable:
            return
        if path == "command":
            self.command(**self._map[path].unpack(value))
        elif path == "event":
            self.machine.events &= ~value
        elif path == "announce":
            self._values[address] = value & 0xFFFF_FFFF
            self.machine.preemption.announced.announce(
                **self._map[path].unpack(value), cycles=self._value("announce_cycles"),
                expiry=self._value("announce_expiry"))
        elif path == "notify_end":
            self._values[address] = value & 0xFFFF_FFFF
            self.machine.notify(self._value("notify_begin"), self._value(path))
        else:
            self._values[address] = value & 0xFFFF_FFFF

    def command(self, op: int, kernel: int, **fields: int) -> CommandError:
        """Begin a command with the fields of register ``command``; return why it is refused, `NONE` if it is taken."""
        self.machine.refusal = self._try(op, kernel, fields)
        if self.machine.refusal:
            self.machine.raise_event("refused")
        return self.machine.refusal

    def _try(self, op: int, index: int, fields: dict[str, int]) -> CommandError:
        """Begin a command; return why it was refused, if it was."""
        machine = self.machine
        if op not in list(Command) or index >= len(machine.kernels):
            return CommandError.UNKNOWN
        way = Way.from_fields(fields, self._value("patience"), self._value("grace"))
        if op == Command.PREEMPT and (way is None or way.refusal(self.geometry)):
            return CommandError.UNKNOWN
        kernel, preemption = machine.kernels[index], machine.preemption
        if error := REFUSED[Command(op)].get(kernel.state):
            return error
        if (way is not None and op == Command.PREEMPT and kernel.state is KernelState.PREEMPTED
                and not machine.resident(kernel) and (way.in_place or way.checkpoint or kernel.recorded)):
            return CommandError.NOT_RUNNING
        if op == Command.RELEASE and not kernel.recorded:
            return CommandError.NOT_IN_MEMORY
        random = self._random if fields["scramble"] else None
        match Command(op):
            case Command.START:
                return machine.start(kernel, Descriptor.read(self.geometry, self._map, self._values, index))
            case Command.ADOPT:
                return machine.adopt(kernel, Descriptor.read(self.geometry, self._map, self._values, index))
            case Command.PREEMPT if way is not None:
                preemption.preempt(kernel, way, random, self._value("spared"),
                                   self._newcomer() if way.in_place else None)
            case Command.RESUME:
                preemption.resume(kernel, random)
            case Command.ABORT:
                preemption.abort(kernel)
            case Command.HASTEN:
                preemption.hasten(kernel)
            case Command.KILL | Command.RELEASE:
                preemption.kill(kernel)
        return CommandError.NONE

    def _newcomer(self) -> Newcomer | None:
        """Return for whom an in-place preempt is to make room."""
        named = self._map["newcomer"].unpack(self._value("newcomer"))
        if named["kernel"] >= self.geometry.kernel_slots:
            return None
        descriptor = Descriptor.read(self.geometry, self._map, self._values, named["kernel"])
        return newcomer(self.geometry, descriptor, named["tbs"])

    def read_memory(self, address: int, size: int) -> bytes:
        """Return `size` bytes of global memory.

        Raises
        ------
        ValueError
            If they are not all in memory.
        """
        self._check(address, size)
        return self.machine.memory[address:address + size].tobytes()

    def write_memory(self, address: int, data: bytes) -> None:
        """Write global memory.

        Raises
        ------
        ValueError
            If `data` does not lie in memory.
        """
        self._check(address, len(data))
        self.machine.memory[address:address + len(data)] = np.frombuffer(data, np.uint8)
        if self.machine.checker is not None:
            self.machine.checker.memory.clear(address, len(data))

    def _check(self, address: int, size: int) -> None:
        if not 0 <= address <= address + size <= self.memory_bytes:
            raise InputError(f"{size} bytes at {address:#x} are not in the {self.memory_bytes} bytes of memory")

    @property
    def cycle(self) -> int:
        """Cycles since the start."""
        return self.machine.cycle

    def advance(self, cycles: int) -> int:
        """Let exactly `cycles` cycles pass and return them."""
        return self.machine.advance(cycles)

    def wait(self, cycles: int) -> int:
        """Let time pass until an event is set, at most `cycles` cycles; return the cycles passed."""
        return self.machine.advance(cycles, until_event=True)

    def snapshot(self) -> bytes:
        """Return the whole state of machine and memory, the trace included."""
        return pickle.dumps(self.state())

    def restore(self, snapshot: bytes) -> None:
        """Put a state back; any number of times."""
        self.set_state(pickle.loads(snapshot))

    def state(self) -> tuple:
        """Return what a snapshot is made of."""
        return self.machine, self._values, self._random

    def set_state(self, state: tuple) -> None:
        """Put back a copy of what `state` returned."""
        self.machine, self._values, self._random = state
        self.machine.engine = self._engine

    def follow(self, trace: np.ndarray) -> None:
        """Do the atomics of what runs from now on in the order in which they stand in another machine's trace.

        A warp then stands at an atomic until each of its lanes had its turn. `advance` and `wait` raise
        `golden.semantics.atomic_order.OrderMismatch` if the model cannot follow.
        """
        events = trace[trace["kind"] == ATOMIC]
        lanes = [mask.bit_length() - 1 for mask in events["mask"].tolist()]
        columns = [events[name].tolist() for name in ("register", "kernel", "launch", "warp", "pc")]
        self.machine.order = AtomicOrder(zip(*columns, lanes, strict=True))

    def take_trace(self) -> np.ndarray:
        """Return the trace records (`sim.trace.retired.TRACE`) since the last call, none unless `trace` was set."""
        recorder = self.machine.recorder
        if recorder is None:
            raise InputError("the transport was made without trace=True")
        return recorder.take()
