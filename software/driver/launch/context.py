"""A saved context as the driver shows it (`hw.arch.image.context` defines its format in memory)."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import numpy as np

from caesura.hw.arch.image.context import Mechanism, State
from caesura.hw.arch.image.encodings import Encoding

from ..machine.display import html_table

__all__ = ["StackEntry", "WarpContext", "TbContext", "Contexts"]


@dataclass(frozen=True)
class StackEntry:
    """A SIMT stack entry: next PC, active mask, reconvergence PC (in instruction words)."""

    pc: int
    mask: int
    reconv: int


@dataclass(frozen=True)
class WarpContext:
    """A saved warp.

    Attributes
    ----------
    warp : int
        Warp of the TB.
    live_lanes, launched_lanes : int
        One bit per lane.
    barrier : int or None
        Barrier it waits at.
    stack : tuple of StackEntry
        SIMT stack from the bottom up; the warp goes on at the last entry.
    predicates : dict of int to int
        Written predicates, one bit per lane.
    uniforms : dict of int to int
        Written uniform registers.
    registers : dict of int to numpy.ndarray
        Saved registers, decompressed: one 32-bit word per lane. Lanes that are not live may hold anything.
    encodings : dict of int to hw.arch.image.encodings.Encoding
        Encoding of each allocated register. Dead registers were not saved; `FOLLOWS` has no bytes of its own.
    metadata_bytes, data_bytes : int
        Bytes of its record and its row of the encoding table, and of its registers as saved.
    """

    warp: int
    live_lanes: int
    launched_lanes: int
    barrier: int | None
    stack: tuple[StackEntry, ...]
    predicates: dict[int, int]
    uniforms: dict[int, int]
    registers: dict[int, np.ndarray]
    encodings: dict[int, Encoding]
    metadata_bytes: int
    data_bytes: int

    def __repr__(self):
        waiting = "" if self.barrier is None else f", at barrier {self.barrier}"
        return (f"WarpContext(warp {self.warp}, PC {self.pc}, {self.live_lanes.bit_count()} lanes, "
                f"{len(self.registers)} registers{waiting})")

    @property
    def pc(self) -> int:
        """PC at which the warp goes on."""
        return self.stack[-1].pc


@dataclass(frozen=True)
class TbContext:
    """A saved TB.

    Attributes
    ----------
    state : hw.arch.image.context.State
    launch_id : int
    ctaid : tuple of int
    mechanism : hw.arch.image.context.Mechanism
    generation : int
    allocated_registers : int
        Vector registers per thread.
    warps : tuple of WarpContext
        The warps that had not exited.
    local_base : int
        Address of its local memory, which stays where it is.
    shared_lines : dict of int to bytes
        Saved 128-byte lines of shared memory by number.
    length, data_bytes, metadata_bytes : int
        Bytes of the stream, and its two parts.
    base : TbContext or None
        Base of an increment, which supplies the state that the increment lacks (`whole`).
    registers_stay, lines_stay : bool
        Whether its registers, or its shared memory, are still on the SM and not in this context.
    evicted : TbContext or None
        State that had stayed on the SM and was written later; `whole` includes it.
    """

    state: State
    launch_id: int
    ctaid: tuple[int, int, int]
    mechanism: Mechanism
    generation: int
    allocated_registers: int
    warps: tuple[WarpContext, ...]
    local_base: int
    shared_lines: dict[int, bytes]
    length: int
    data_bytes: int
    metadata_bytes: int
    base: TbContext | None = None
    registers_stay: bool = False
    lines_stay: bool = False
    evicted: TbContext | None = None

    def __repr__(self):
        notes = [", increment"] * (self.base is not None) + [", evicted"] * (self.evicted is not None)
        notes += [", registers on the SM"] * self.registers_stay + [", shared memory on the SM"] * self.lines_stay
        return (f"TbContext(TB {self.launch_id}, {self.mechanism.label}, {len(self.warps)} warps, "
                f"{len(self.shared_lines)} shared lines, {self.length:,} bytes{''.join(notes)})")

    @property
    def whole(self) -> TbContext:
        """The TB as it will be resumed, without the state on the SM. An increment gets the registers and shared lines
        of its base, and those that were evicted."""
        rest = self.base or self.evicted
        if rest is None:
            return self
        before = {warp.warp: warp for warp in rest.warps}
        warps = tuple(dataclasses.replace(
            warp, registers=before[warp.warp].registers | warp.registers,
            encodings=before[warp.warp].encodings | {r: warp.encodings[r] for r in warp.registers})
            for warp in self.warps)
        return dataclasses.replace(self, warps=warps, shared_lines=rest.shared_lines | self.shared_lines,
                                   base=None, evicted=None)


class Contexts(list[TbContext]):
    """The saved TBs of a launch: a list whose printed form is short, and a table in a notebook."""

    def __repr__(self):
        return f"[{', '.join(map(repr, self))}]"

    def _repr_html_(self) -> str:
        rows = [(tb.launch_id, str(tb.ctaid), w.warp, w.pc, len(w.stack), w.live_lanes.bit_count(),
                 "" if w.barrier is None else w.barrier, len(w.registers), w.data_bytes, w.metadata_bytes)
                for tb in self for w in tb.warps]
        return html_table(("TB", "ctaid", "warp", "PC", "stack", "lanes", "barrier", "registers", "data bytes",
                           "metadata bytes"), rows)
