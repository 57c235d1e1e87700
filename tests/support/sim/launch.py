"""Runs machine code on any transport through registers and memory alone, for tests below the driver."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from caesura.hw.arch.commands import Command, KernelState
from caesura.hw.arch.faults import CommandError, Fault
from caesura.hw.arch.geometry import INSTRUCTION_BYTES, SEGMENT_BYTES
from caesura.hw.arch.image import context
from caesura.hw.arch.image.context import Mechanism
from caesura.hw.arch.registers import register_map
from caesura.hw.arch.tb_footprint import local_region_bytes
from caesura.software.compiler import KernelImage

if TYPE_CHECKING:
    from caesura.software.driver.machine.transport import Transport

__all__ = ["Bench", "Loaded", "FaultReport", "argument_words"]

RECIPROCAL_ONE = 1 << 20


@dataclass(frozen=True)
class Loaded:
    """A kernel in memory and in a kernel slot.

    Attributes
    ----------
    slot : int
    image : KernelImage
    warps : int
        Of a TB.
    code_base, ccb_base, area_bytes : int
    local_base, local_end, const_base, param_base : int
        Local memory of all TBs, the constant bank, the parameters.
    """

    slot: int
    image: KernelImage
    warps: int
    code_base: int
    ccb_base: int
    area_bytes: int
    local_base: int
    local_end: int
    const_base: int
    param_base: int


@dataclass(frozen=True)
class FaultReport:
    """The machine's fault record."""

    kind: Fault
    kernel: int
    warp: int
    tb: int
    pc: int
    address: int


def argument_words(image: KernelImage, *arguments: int) -> list[int]:
    """Return the parameter words of integer `arguments`, in the order of the kernel's parameters.

    Raises
    ------
    ValueError
        If their number is not the kernel's, or it needs global variables or textures, which the driver provides.
    """
    if image.bindings:
        raise ValueError(f"{image.name} needs what the driver binds: {', '.join(b.kind for b in image.bindings)}")
    if len(arguments) != len(image.parameters):
        raise ValueError(f"{image.name} takes {len(image.parameters)} arguments, not {len(arguments)}")
    space = bytearray(-(-image.parameter_bytes // 4) * 4)
    for parameter, value in zip(image.parameters, arguments, strict=True):
        bits = value & (1 << 8 * parameter.size) - 1
        space[parameter.offset:parameter.offset + parameter.size] = bits.to_bytes(parameter.size, "little")
    return [int.from_bytes(space[k:k + 4], "little") for k in range(0, len(space), 4)]


class Bench:
    """A transport with a bump allocator and the register protocol.

    Parameters
    ----------
    transport : Transport
    first : int
        Lowest byte address to allocate from.
    """

    def __init__(self, transport: Transport, first: int = 0x1000):
        self.transport = transport
        self.geometry = transport.geometry
        self._map = register_map()
        self._next = first

    # Registers and memory

    def get(self, path: str) -> int:
        """Read a register by path."""
        return self.transport.read_register(self._map[path].address)

    def fields(self, path: str) -> dict[str, int]:
        """Read a register's fields."""
        return self._map[path].unpack(self.get(path))

    def peek(self, path: str) -> dict[str, int]:
        """Read a register's fields, in no time if the transport can (`peek_register`)."""
        register = self._map[path]
        value = self.transport.peek_register(register.address)
        return self.fields(path) if value is None else register.unpack(value)

    def set(self, path: str, value: int | None = None, **fields: int) -> None:
        """Write a register, as a whole or by fields."""
        register = self._map[path]
        self.transport.write_register(register.address, register.pack(**fields) if value is None else value)

    def allocate(self, size: int, align: int = SEGMENT_BYTES) -> int:
        """Return the address of `size` fresh bytes, rounded up to whole segments.

        Raises
        ------
        ValueError
            If memory is full.
        """
        address = -(-self._next // align) * align
        end = address + -(-size // SEGMENT_BYTES) * SEGMENT_BYTES
        if end > self.transport.memory_bytes:
            raise ValueError(f"{size} bytes do not fit the memory")
        self._next = end
        return address

    def store(self, data: bytes, align: int = SEGMENT_BYTES) -> int:
        """Allocate, write `data` and return its address."""
        address = self.allocate(max(len(data), 1), align)
        self.transport.write_memory(address, data)
        return address

    # Kernels

    def load(self, slot: int, image: KernelImage, grid: Sequence[int], block: Sequence[int],
             params: Sequence[int] = (), windows: Sequence[tuple[int, int]] | None = None,
             shared_bytes: int | None = None, area_bytes: int | None = None, entries: int = 0) -> Loaded:
        """Write code, constants, CCB and descriptor of a kernel; nothing runs yet.

        Parameters
        ----------
        slot : int
            Kernel slot.
        image : KernelImage
        grid, block : sequence of int
            One to three sizes.
        params : sequence of int
            Words of the parameter space (`argument_words`).
        windows : sequence of (int, int), optional
            First byte and first byte beyond, multiples of 128; without it all of memory.
        shared_bytes : int, optional
            Of a TB; the image's without it.
        area_bytes : int, optional
            Of each save area; what is needed without it.
        entries : int, optional
            Of the CCB, that the kernel may use; as many as there are TB slots without it.
        """
        g, transport = self.geometry, self.transport
        grid, block = ((*sizes, 1, 1)[:3] for sizes in (grid, block))
        threads = block[0] * block[1] * block[2]
        warps = -(-threads // g.warp_size)
        shared = image.shared_bytes if shared_bytes is None else shared_bytes
        shared = -(-shared // 4) * 4
        area = context.area_bound(g, warps, image.registers, shared) if area_bytes is None else area_bytes
        code = b"".join(word.to_bytes(INSTRUCTION_BYTES, "little") for word in image.words)
        code_base = self.store(code)
        ccb_base = self.store(bytes(context.ccb_bytes(g, area, entries)))
        region = local_region_bytes(g, warps, image.all_local_bytes)
        regions = (entries or g.tb_slots) * region
        local_base = self.allocate(regions) if region else 0
        const_base = self.store(image.constants)
        param_base = self.store(np.array([word & 0xFFFF_FFFF for word in params], "<u4").tobytes())
        windows = [(0, transport.memory_bytes)] if windows is None else list(windows)
        whole = {"code_base": code_base, "code_words": len(image.words), "trap_base": image.trap_base,
                 "grid_x": grid[0], "grid_y": grid[1], "grid_z": grid[2],
                 "reciprocal_x": -(-RECIPROCAL_ONE // block[0]),
                 "reciprocal_y": -(-RECIPROCAL_ONE // block[1]), "shared_bytes": shared, "ccb_base": ccb_base,
                 "area_bytes": area, "local_base": local_base, "local_bytes": image.all_local_bytes,
                 "const_base": const_base, "const_bytes": len(image.constants),
                 "param_base": param_base, "param_bytes": 4 * len(params),
                 **({"entries": entries} if g.spare_entries else {})}
        for w in range(g.windows):
            whole[f"window_base[{w}]"], whole[f"window_end[{w}]"] = windows[w] if w < len(windows) else (0, 0)
        for name, value in whole.items():
            self.set(f"kernel[{slot}].{name}", value)
        self.set(f"kernel[{slot}].block", x=block[0], y=block[1], z=block[2])
        self.set(f"kernel[{slot}].sizes", threads=threads, registers=image.registers, warps=warps)
        return Loaded(slot, image, warps, code_base, ccb_base, area, local_base, local_base + regions,
                      const_base, param_base)

    def state(self, slot: int) -> KernelState:
        """Return the state of a kernel slot."""
        return KernelState(self.fields(f"kernel[{slot}].state")["state"])

    def refusal(self) -> CommandError:
        """Return why the last command was refused, `NONE` if it was taken."""
        return CommandError(self.fields("status")["error"])

    def error(self, slot: int) -> CommandError:
        """Return how the last preempt, resume or adoption of a kernel ended."""
        return CommandError(self.fields(f"kernel[{slot}].state")["error"])

    def command(self, op: Command, slot: int, mechanism: Mechanism = Mechanism.OCCUPIED, scramble: bool = False,
                gang: bool = False, restart: bool = False, checkpoint: bool = False, incremental: bool = False,
                in_place: bool = False):
        """Write the command register."""
        self.set("command", op=op, kernel=slot, mechanism=mechanism, scramble=int(scramble), gang=int(gang),
                 restart=int(restart), checkpoint=int(checkpoint), incremental=int(incremental),
                 in_place=int(in_place))

    def start(self, slot: int) -> None:
        """Start a loaded kernel.

        Raises
        ------
        RuntimeError
            If the machine refuses.
        """
        self.command(Command.START, slot)
        self._check()

    def preempt(self, slot: int, mechanism: Mechanism, scramble: bool = False, limit: int = 1_000_000,
                incremental: bool = False, in_place: bool = False, newcomer: tuple[int, int] = (0, 0)) -> None:
        """Preempt a kernel and wait until its TBs are in memory (or have finished).

        With `scramble`, live registers that were never written are saved too; `resume` is then to scramble as well.
        With `incremental`, only what is not in the base of a TB that has one. If `in_place`, registers and shared
        memory stay on the SM, but for what is in the way of a `newcomer`: kernel slot and TBs.
        """
        if in_place:
            self.set("newcomer", kernel=newcomer[0], tbs=newcomer[1])
        self.command(Command.PREEMPT, slot, mechanism, scramble, incremental=incremental, in_place=in_place)
        self._until("preempted", slot, limit)

    def checkpoint(self, slot: int, mechanism: Mechanism, scramble: bool = False, limit: int = 1_000_000) -> None:
        """Save the TBs of a kernel as bases and wait until they are in memory."""
        self.command(Command.PREEMPT, slot, mechanism, scramble, checkpoint=True)
        self._until("preempted", slot, limit)

    def resume(self, slot: int, scramble: bool = False, gang: bool = False, limit: int = 1_000_000) -> None:
        """Resume a kernel and wait until its TBs are back."""
        self.command(Command.RESUME, slot, scramble=scramble, gang=gang)
        self._until("resumed", slot, limit)

    def adopt(self, slot: int, limit: int = 1_000_000) -> CommandError:
        """Take a kernel over from memory, whose descriptor is in the slot; return why it was refused, if it was."""
        self.command(Command.ADOPT, slot)
        self._check()
        passed = 0
        while not self.fields("event")["adopted"]:
            if passed >= limit:
                raise TimeoutError(f"not adopted after {passed} cycles")
            passed += max(1, self.transport.advance(1))
        self.set("event", adopted=1)
        return self.error(slot)

    def finish(self, slot: int, limit: int = 10_000_000) -> int:
        """Wait until a kernel has finished; return the cycles passed.

        Raises
        ------
        TimeoutError
            If it has not after `limit` cycles.
        """
        passed = 0
        while self.state(slot) is not KernelState.FINISHED:
            if passed >= limit:
                raise TimeoutError(f"kernel {slot} is {self.state(slot).name} after {passed} cycles")
            events = self._map["event"].unpack(self.get("event"))
            self.set("event", finished=events["finished"], preempted=events["preempted"], resumed=events["resumed"])
            if events["fault"]:  # it stays set for `fault`, and would end every wait at once
                passed += self.transport.advance(min(100, limit - passed))
            else:
                passed += max(1, self.transport.wait(limit - passed))
        self.set("event", finished=1 << slot)
        return passed

    def fault(self) -> FaultReport | None:
        """Return the fault record and clear its event, None if there is none."""
        if not self.fields("event")["fault"]:
            return None
        kind = self.fields("fault_kind")
        report = FaultReport(Fault(kind["kind"]), kind["kernel"], kind["warp"], self.get("fault_tb"),
                             self.get("fault_pc"), self.get("fault_address"))
        self.set("event", fault=1)
        return report

    def _until(self, event: str, slot: int, limit: int) -> None:
        passed = 0
        while not self.fields("event")[event]:
            self._check()
            if passed >= limit:
                raise TimeoutError(f"not {event} after {passed} cycles")
            passed += max(1, self.transport.advance(1))
        self.set("event", **{event: 1})
        if (error := self.error(slot)) is not CommandError.NONE:
            raise RuntimeError(f"the machine answers {error.name}")

    def _check(self) -> None:
        self.set("event", refused=1)
        if (error := self.refusal()) is not CommandError.NONE:
            raise RuntimeError(f"the machine answers {error.name}")
