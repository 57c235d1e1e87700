"""A dispatcher around the preemption unit: table of thread blocks (TBs), room for returning TBs, commands."""

from __future__ import annotations

from collections import deque
from types import SimpleNamespace
from typing import Any

import cocotb
from cocotb.triggers import Event, ReadWrite, RisingEdge

from caesura.hw.arch.image.context import Mechanism
from caesura.hw.arch.registers import UNLIMITED_PATIENCE

from .bench import Bench
from .contexts import ContextScoreboard
from .core_state import Block, CoreState

__all__ = ["DispatcherAgent", "Place", "table_row"]

_LAUNCH = {"block_x": 32, "grid_x": 1 << 20, "grid_y": 300, "grid_z": 70, "code_base": 0x1200, "const_base": 0x3400}
"""Further fields of a kernel's descriptor; the kernel's record repeats some of them."""
Place = tuple[int, int, int, list[int]]
"""TB slot, first physical register, first line of shared memory, warp slots."""


def table_row(state: CoreState, tb: int) -> dict[str, int]:
    """Return the row of the dispatcher's table for a TB slot (`interfaces.preemption.resident_tb`)."""
    block = state.blocks.get(tb)
    if block is None:
        return {}
    x, y, z = block.place
    return {"valid": 1, "started": int(block.started), "kernel": block.kernel, "launch_id": block.launch_id,
            "ctaid_x": x, "ctaid_y": y, "ctaid_z": z, "base": block.base, "first_line": block.first_line,
            "lines": state.kernels[block.kernel].lines, "warps": sum(1 << slot for slot in block.slots),
            "entry": block.entry}


class DispatcherAgent:
    """Models the dispatcher, and reports TBs that leave and return to a scoreboard.

    Parameters
    ----------
    bench : Bench
    state : CoreState
    scoreboard : ContextScoreboard
    places : sequence of Place
        Places of TBs. Each TB returns to a random free place.

    Attributes
    ----------
    places : list of Place
        Places, which may be changed. A TB without a free place gets no room.
    progress : dict of int to dict of str to int
        Progress of each kernel (`interfaces.preemption.kernel_progress`), by slot.
    released, given_back, started : list of int
        Launch ids of TBs that were saved, that a resume could not start, and that a resume started, each in their
        order.
    """

    def __init__(self, bench: Bench, state: CoreState, scoreboard: ContextScoreboard, places: list[Place]):
        self._bench, self._ports, self.state, self._scoreboard = bench, bench.ports, state, scoreboard
        self._rng, self.places = bench.generator(), places
        self._asked: deque = deque()
        self._mechanism, self._scramble = Mechanism.OCCUPIED, False
        self._result, self._adopted, self._done = SimpleNamespace(), None, Event()
        self.progress: dict[int, dict[str, int]] = {}
        self.released: list[int] = []
        self.given_back: list[int] = []
        self.started: list[int] = []
        self._drive()
        cocotb.start_soon(self._run())

    async def preempt(self, kernel: int, mechanism: Mechanism, patience: int = UNLIMITED_PATIENCE,
                      **options: int) -> SimpleNamespace:
        """Preempt a kernel; return the result (`interfaces.preemption.engine_result`)."""
        self._mechanism = mechanism
        return await self._command({"kernel": kernel, "patience": patience},
                                   {"mechanism": int(mechanism), **options})

    async def resume(self, kernel: int, **options: int) -> SimpleNamespace:
        """Resume a kernel, in as many passes as it needs; return the result of the last pass."""
        result = await self.resume_once(kernel, **options)
        while result.left and not result.error:
            result = await self.resume_once(kernel, again=1, **options)
        return result

    async def resume_once(self, kernel: int, again: int = 0, **options: int) -> SimpleNamespace:
        """Resume TBs of a kernel while there is room; return the result."""
        return await self._command({"resume": 1, "kernel": kernel, "again": again}, options)

    async def adopt(self, kernel: int) -> SimpleNamespace:
        """Adopt a kernel from memory; return the result.

        Its field `adopted` has the kernel's data (`interfaces.preemption.adoption`), or None.
        """
        self._adopted = None
        result = await self._command({"adopt": 1, "kernel": kernel}, {})
        result.adopted = self._adopted
        return result

    async def pulse(self, vector: str, kernel: int) -> None:
        """Signal for a cycle that a kernel begins anew (``start``) or is killed (``discard``)."""
        port, edge = self._ports[vector], RisingEdge(self._bench.clock)
        port.value = 1 << kernel
        await edge
        port.value = 0
        await edge

    async def _command(self, fields: dict[str, int], options: dict[str, int]) -> SimpleNamespace:
        """Give a command with some options (`interfaces.preemption.preempt_options`) and wait for its result."""
        command, edge = self._ports.command, RisingEdge(self._bench.clock)
        self._scramble = bool(options.get("scramble"))
        self._done.clear()
        command.payload.value, command.valid.value = fields | {"options": options}, 1
        await edge
        while not command.ready.bits:
            await edge
        command.valid.value = 0
        await self._done.wait()
        await edge
        return self._result

    async def _run(self) -> None:
        edge = RisingEdge(self._bench.clock)
        while True:
            await edge
            self._observe()
            await ReadWrite()
            self._drive()

    def _observe(self) -> None:
        """Carry out the unit's requests in this cycle."""
        ports = self._ports
        if ports.admit.valid.bits and ports.admit.ready.bits:
            self._asked.append((self._rng.randint(1, 6), ports.admit.payload.value))
        release, start, adopted = ports.release.value, ports.launch.start.value, ports.adopted.value
        if release.valid:
            self._release(release.tb)
        if start.valid:
            assert not self.state.blocks[start.tb].started, f"TB slot {start.tb} is started twice"
            self._scoreboard.restored(start.tb, self._scramble)
            self.state.blocks[start.tb].started = True
            self.started.append(self.state.blocks[start.tb].launch_id)
        if adopted.valid:
            self._adopted = adopted
        if ports.result.value.valid:
            self._result = ports.result.value
            self._done.set()

    def _release(self, tb: int) -> None:
        """Free a TB slot; the context of its TB is complete, or still complete."""
        if not self.state.blocks[tb].started:
            self.given_back.append(self.state.remove(tb).launch_id)
            return
        self._scoreboard.saved(tb, self._mechanism, self._scramble)
        self.released.append(self.state.remove(tb).launch_id)

    def _drive(self) -> None:
        """Set the inputs of this cycle."""
        ports = self._ports
        ports.resident.value = [table_row(self.state, tb) for tb in range(self.state.g.tb_slots)]
        ports.kernels.value = [self._kernel(slot) for slot in range(self.state.g.kernel_slots)]
        ports.progress.value = [self.progress.get(slot, {}) for slot in range(self.state.g.kernel_slots)]
        ports.admit.ready.value = int(not self._asked)
        ports.admitted.value = self._answer()

    def _kernel(self, slot: int) -> dict[str, int]:
        """Return the fields of a kernel slot."""
        kernel = self.state.kernels.get(slot)
        names = "registers", "warps", "shared_bytes", "area_bytes", "ccb_base"
        return {} if kernel is None else {name: getattr(kernel, name) for name in names} | _LAUNCH

    def _answer(self) -> dict[str, Any]:
        """Return the answer to a TB's request for room when its time has come."""
        if not self._asked:
            return {}
        wait, asked = self._asked.popleft()
        if wait > 1:
            self._asked.appendleft((wait - 1, asked))
            return {}
        free = [place for place in self.places if place[0] not in self.state.blocks]
        if not free:
            return {"valid": 1, "full": 1}
        tb, base, first_line, slots = self._rng.choice(free)
        lines = self.state.kernels[asked.kernel].lines
        mine = (1 << lines) - 1 << first_line
        self.state.lines_valid &= ~mine
        self.state.lines_dirty &= ~mine
        self.state.blocks[tb] = Block(asked.kernel, asked.launch_id, asked.entry,
                                      (asked.ctaid_x, asked.ctaid_y, asked.ctaid_z), base, first_line, list(slots),
                                      started=False)
        return {"valid": 1, "tb": tb, "base": base, "first_line": first_line, "slots": slots}
