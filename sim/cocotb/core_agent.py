"""A core at the preemption port, with random pauses.

It stops its warps, shows their state and takes writes by the port's contract (`hw.interfaces.preemption_port`).
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import cocotb
from cocotb.triggers import ReadWrite, RisingEdge

from .bench import Bench
from .core_state import CoreState, Warp
from .ports import PortGroup

__all__ = ["CoreAgent"]

_INPUTS = (
    ("stop", "stopped"), ("stop", "exited"), ("shared", "valid"), ("shared", "dirty"), ("shared", "row_data"),
    ("registers", "read_data"), ("registers", "flags", "valid"), ("registers", "flags", "dirty"),
    ("registers", "flags", "predicates_written"), ("registers", "flags", "predicate_value"),
    ("warps", "save", "window", "view"), ("warps", "save", "uniforms_written"), ("warps", "save", "uniform_values"))
_OUTPUTS = (
    ("registers", "clean"), ("registers", "flags", "warp"), ("registers", "flags", "predicate_select"),
    ("warps", "restore_uniform"), ("warps", "save", "window", "select"), ("warps", "save", "uniform_select"))
SETTLES = 3
"""Cycles for the outstanding operations of a warp that is stopped at once."""


class CoreAgent:
    """Models the core at a preemption port and a launch port, or at the part of them that a block has.

    Warps run until they must stop, and some write registers meanwhile. Each stops at its point after its own time, or a
    few cycles after a command to stop at once. A warp without live lanes has exited.

    Parameters
    ----------
    bench : Bench
    state : CoreState
    stall : float
        Share of the cycles in which each stream is not ready, in [0, 1).
    core, launch : PortGroup, optional
        Ports; by default the block's ports of these names.

    Attributes
    ----------
    stall : float
        The parameter; a bench may change it at any time. With 1, the core takes nothing.
    cycle : int
    pending : AbsentPort or Port
        TBs that must stop. If the block lacks this port, the bench sets its `bits`.
    reads, writes : int
        Number of register beats that were read, and written.
    """

    def __init__(self, bench: Bench, state: CoreState, stall: float = 0.0, core: PortGroup | None = None,
                 launch: PortGroup | None = None):
        ports, launches, self._clock = core or bench.core, launch or bench.launch, bench.clock
        self.state, self._rng, self.stall = state, bench.generator(), stall
        streams = {"read": ports.at("registers", "read"), "restore_write": ports.at("registers", "restore_write"),
                   "restore_predicate": ports.at("registers", "restore_predicate"),
                   "row": ports.at("shared", "row"), "warp_init": launches.at("warp_init"),
                   "stack_push": launches.at("stack_push")}
        self._streams = {name: each for name, each in streams.items() if isinstance(each, PortGroup)}
        self.pending, self._at_once = ports.at("stop", "pending"), ports.at("stop", "stop_now")
        self._inputs: dict[tuple[str, ...], Any] = {path: ports.at(*path) for path in _INPUTS}
        self._outputs = {path[-1]: ports.at(*path) for path in _OUTPUTS}
        self._clean_lines = ports.at("shared", "clean")
        self.cycle = self.reads = self.writes = 0
        self._since: dict[int, int] = {}  # by TB that must stop: cycle of the request
        self._halted: dict[int, int] = {}  # by TB: cycle of the request to stop at once
        self._answers: dict[str, Any] = {}
        self._beats: dict[int, Counter[int]] = {}  # by warp slot: beats written of each register since its return
        self._drive()
        cocotb.start_soon(self._run())

    async def _run(self) -> None:
        edge = RisingEdge(self._clock)
        while True:
            await edge
            self._observe()
            await ReadWrite()  # the outputs of the next cycle
            self.cycle += 1
            self._drive()

    # --- the outputs of the block at the end of a cycle ---

    def _observe(self) -> None:
        """Carry out the transfers of this cycle."""
        self._answers = {}
        for name, stream in self._streams.items():
            if stream.valid.bits and stream.ready.bits:
                getattr(self, f"_take_{name}")(stream.payload.value)
        outputs = self._outputs
        if outputs["restore_uniform"].bits & 3:
            written = outputs["restore_uniform"].value
            values = {2 * written.pair + half: written.values[half] for half in range(2) if written.valid >> half & 1}
            uniforms = self.state.warps[written.warp].uniforms
            assert not values.keys() & uniforms.keys(), f"of uniform registers {list(values)} one is written twice"
            uniforms |= values
        self._clean(outputs["clean"].bits, self._clean_lines.value if self._clean_lines.bits & 1 else None)

    def _take_read(self, read: Any) -> None:
        """Take the read of a register beat; the warp must have stopped."""
        warp, lanes = self.state.warps[read.warp], self.state.g.lanes
        assert warp.stopped, f"a register of warp {read.warp} is read while it runs"
        assert read.base == warp.base, f"registers of warp {read.warp} begin at {warp.base}, not {read.base}"
        values = self.state.file[warp.base + read.register][read.beat * lanes:(read.beat + 1) * lanes]
        valid = warp.valid >> read.register & 1
        self._answers["read"] = {"valid": 1, "data": values if valid else [0] * lanes}
        self.reads += 1

    def _take_row(self, access: Any) -> None:
        """Take a read or a write of a row of shared memory."""
        state, banks = self.state, self.state.g.shared_banks
        at = access.row * banks
        if access.write:
            state.shared[at:at + banks] = access.data
            state.lines_valid |= 1 << at // 32
            state.lines_dirty |= 1 << at // 32
        else:
            valid = state.lines_valid >> at // 32 & 1
            self._answers["row"] = {"valid": 1, "data": state.shared[at:at + banks] if valid else [0] * banks}

    def _take_warp_init(self, init: Any) -> None:
        """Put a warp into a free slot of a TB with room."""
        block = self.state.blocks[init.tb]
        assert init.warp not in self.state.warps, f"warp slot {init.warp} is taken"
        assert not block.started and block.slots[init.block_warp] == init.warp
        assert init.base == block.base + init.block_warp * self.state.kernels[block.kernel].registers
        self._beats[init.warp] = Counter()
        self.state.warps[init.warp] = Warp(
            init.tb, init.block_warp, init.base, init.launched, init.live,
            barrier=init.barrier if init.waiting else None, live_vector=init.live_vector, reaches=1 << 30)

    def _take_stack_push(self, push: Any) -> None:
        """Push an entry of a stack."""
        self.state.warps[push.warp].stack.append((push.pc, push.mask, push.reconv))

    def _take_restore_predicate(self, written: Any) -> None:
        """Take the write of a predicate, which comes once."""
        predicates = self.state.warps[written.warp].predicates
        assert written.predicate not in predicates, f"predicate {written.predicate} is written twice"
        predicates[written.predicate] = written.value

    def _take_restore_write(self, write: Any) -> None:
        """Take the write of a register beat; beats come once and in order, and the warp must not run yet."""
        g, warp, beats = self.state.g, self.state.warps[write.warp], self._beats[write.warp]
        assert write.beat == beats[write.register], f"beat {write.beat} of register {write.register} is not its next"
        beats[write.register] += 1
        assert not self.state.blocks[warp.tb].started, f"a register of warp {write.warp} is written while it runs"
        assert write.base == warp.base and write.mask == (1 << g.lanes) - 1 and write.last == (
            write.beat == g.beats - 1)
        assert write.register < self.state.kernels[self.state.blocks[warp.tb].kernel].registers
        self.state.file[warp.base + write.register][write.beat * g.lanes:(write.beat + 1) * g.lanes] = write.data
        warp.valid |= 1 << write.register
        warp.dirty |= 1 << write.register
        self.writes += 1

    def _clean(self, warps: int, lines: Any) -> None:
        """Mark registers of warps, and lines, as clean."""
        for slot, warp in self.state.warps.items():
            if warps >> slot & 1:
                assert warp.stopped or not self.state.blocks[warp.tb].started, f"warp {slot} runs and becomes clean"
                warp.dirty = 0
        if lines is not None:
            self.state.lines_dirty &= ~((1 << lines.count) - 1 << lines.first)

    # --- the inputs of the block in the next cycle ---

    def _drive(self) -> None:
        """Set the inputs of this cycle."""
        self._stop()
        state, warps = self.state, self.state.warps.items()
        self._show({
            ("stop", "stopped"): sum(1 << slot for slot, warp in warps if warp.stopped and warp.live),
            ("stop", "exited"): sum(1 << slot for slot, warp in warps if not warp.live),
            ("shared", "valid"): state.lines_valid, ("shared", "dirty"): state.lines_dirty,
            ("registers", "read_data"): self._answers.get("read", 0),
            ("shared", "row_data"): self._answers.get("row", 0), **self._windows()})
        for stream in self._streams.values():
            stream.ready.value = int(self._rng.random() >= self.stall)

    def _show(self, values: dict[tuple[str, ...], Any]) -> None:
        """Set inputs by path."""
        for path, value in values.items():
            self._inputs[path].value = value

    def _stop(self) -> None:
        """Let warps of TBs that must stop come to their points, and let the others run."""
        pending, at_once = self.pending.bits, self._at_once.bits
        assert not at_once & ~pending, "warps of a TB that is not pending are to stop at once"
        for tb in range(self.state.g.tb_slots):
            for since, now in ((self._since, pending), (self._halted, at_once)):
                if now >> tb & 1:
                    since.setdefault(tb, self.cycle)
                else:
                    since.pop(tb, None)
        for warp in self.state.warps.values():
            if warp.tb not in self._since or not self.state.blocks[warp.tb].started:
                warp.stopped = False
            elif not warp.stopped:
                self._advance(warp)

    def _advance(self, warp: Warp) -> None:
        """Let a warp that must stop reach its point, stop it elsewhere, or let it go on."""
        point = self.cycle >= self._since[warp.tb] + warp.reaches
        halted = self.cycle >= self._halted.get(warp.tb, 1 << 40) + SETTLES
        warp.stopped = point or halted or not warp.live
        warp.between = halted and not point and warp.barrier is None
        if not warp.stopped and self._rng.random() < 0.2:
            self.state.write(warp, self._rng.randrange(
                self.state.kernels[self.state.blocks[warp.tb].kernel].registers))

    def _windows(self) -> dict[tuple[str, ...], Any]:
        """Return the data that the windows select."""
        save, outputs = ("warps", "save"), self._outputs
        select = outputs["select"].value
        warp = self.state.warps.get(select.warp) if select else None
        uniforms = {} if warp is None else warp.uniforms
        pair = outputs["uniform_select"].bits
        flagged = self.state.warps.get(outputs["warp"].bits)
        predicates = {} if flagged is None else flagged.predicates
        flags = ("registers", "flags")
        return {
            (*save, "window", "view"): 0 if warp is None else self._view(warp, select.entry),
            (*save, "uniforms_written"): sum(1 << number for number in uniforms),
            (*save, "uniform_values"): [uniforms.get(2 * pair + half, 0) for half in range(2)],
            (*flags, "valid"): 0 if flagged is None else flagged.valid,
            (*flags, "dirty"): 0 if flagged is None else flagged.dirty,
            (*flags, "predicates_written"): sum(1 << number for number in predicates),
            (*flags, "predicate_value"): predicates.get(outputs["predicate_select"].bits, 0)}

    def _view(self, warp: Warp, entry: int) -> dict[str, int]:
        """Return the control state of a warp and an entry of its stack."""
        pc, mask, reconv = warp.stack[entry] if entry < len(warp.stack) else (0, 0, 0)
        kernel = self.state.blocks[warp.tb].kernel
        return {"valid": 1, "tb": warp.tb, "kernel": kernel, "block_warp": warp.block_warp, "base": warp.base,
                "registers": self.state.kernels[kernel].registers, "launched": warp.launched, "live": warp.live,
                "waiting": int(warp.barrier is not None), "barrier": warp.barrier or 0,
                "parked": int(warp.stopped), "between": int(warp.between), "exited": int(not warp.live),
                "live_vector": warp.live_vector, "depth": len(warp.stack), "pc": pc, "mask": mask, "reconv": reconv}
