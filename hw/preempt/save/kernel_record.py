"""The kernel's record: written when all of it has left the SM, void when it is to run again."""

from typing import Any

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from ...arch.geometry import Geometry
from ...arch.image.context import CCB_RECORD, ENTRY_BYTES, VERSION, State, places
from ...interfaces.payloads import kernel_info
from ...interfaces.port import Port
from ...interfaces.preemption import kernel_progress
from ...lib.bits import pick
from ..formats.accepted_command import accepted_command
from ..formats.checksum import ChecksumPort, checksum_of
from ..formats.packer import CHUNK_WORDS
from .segment_writer import data_burst, write_data

__all__ = ["RECORD_ROWS", "KernelRecordWriter"]

RECORD_BYTES = CCB_RECORD.size // 8
RECORD_ROWS = CCB_RECORD.size // (32 * CHUNK_WORDS)
"""Rows of four words of a record."""


def _part(vector: Value, number: Value, width: int) -> Value:
    """Return the part with a number of a vector; the number of an only part has no bits."""
    parts = [vector[low:low + width] for low in range(0, len(vector), width)]
    return pick(parts, number) if len(number) else parts[0]


class KernelRecordWriter(wiring.Component):
    """Writes `arch.context.CCB_RECORD` in one burst, or only the state byte of an old record.

    The burst is offered `RECORD_ROWS` + 1 cycles after `write`, and in the cycle after `void`.

    Parameters
    ----------
    g : Geometry
    shared : bool
        Use a checksum outside, which the block has a port for, not one of its own.

    Attributes
    ----------
    accepted : in
    kernel, progress : in
        Description and progress of the kernel in hand; constant from `write` until not `busy`.
    saved, sides : Signal(context_entries), in; generations : Signal(32), in
        Entries that are complete, on which sides, and the checksum of their generations; constant
        as `kernel` is.
    write, void : Signal, in
        Begin to write a record; write `State.DEMOTED` over the state of one.
    busy : Signal, out
        A record is being written; high from the next cycle until the last beat is taken.
    burst, data : stream, out
        Bursts for the `Committer`.
    checksum : ChecksumPort, out
        If `shared`.
    """

    accepted: data.View
    kernel: data.View
    progress: data.View
    saved: Signal
    sides: Signal
    generations: Signal
    write: Signal
    void: Signal
    busy: Signal
    burst: stream.Interface
    data: stream.Interface
    checksum: Port

    def __init__(self, g: Geometry, *, shared: bool = False):
        self.geometry, self.shared = g, shared
        super().__init__({
            **({"checksum": Out(ChecksumPort(CHUNK_WORDS))} if shared else {}),
            "accepted": In(accepted_command(g)), "kernel": In(kernel_info(g)),
            "progress": In(kernel_progress()), "saved": In(g.context_entries),
            "sides": In(g.context_entries), "generations": In(32),
            "write": In(1), "void": In(1), "busy": Out(1),
            "burst": Out(stream.Signature(data_burst(g))),
            "data": Out(stream.Signature(write_data(g))),
        })

    def elaborate(self, platform: Any):
        m = Module()
        g = self.geometry
        checksum = checksum_of(m, self, CHUNK_WORDS)
        record = Signal(CCB_RECORD)  # without its checksum
        whole = Signal(CCB_RECORD)
        beats = -(-RECORD_BYTES // g.bus_bytes)
        row = Signal(range(RECORD_ROWS))
        voids = Signal()
        beat = Signal(range(beats))
        last = Signal()
        checks = Signal()  # a row is taken into the checksum
        # One multiplexer chooses rows and beats of the record: it is as wide as the wider of both.
        size = max(32 * CHUNK_WORDS, 8 * g.bus_bytes)
        rows, parts = size // (32 * CHUNK_WORDS), size // (8 * g.bus_bytes)
        chosen = Signal(size)
        burst, out = self.burst.payload, self.data.payload
        m.d.comb += [
            record.state.eq(State.COMPLETE), record.version.eq(VERSION),
            record.saved.eq(self.saved),
            record.sides.eq(self.sides & self.saved), record.generations.eq(self.generations),
            record.geometry_hash.eq(g.hash), record.generation.eq(self.accepted.generation),
            *(record[name].eq(self.progress[name]) for name in kernel_progress().members),
            *(record[name].eq(self.kernel[name])
              for name in ("grid_x", "grid_y", "grid_z", "code_base", "const_base")),
            whole.eq(record), whole.crc.eq(Mux(checks, 0, checksum.crc)),
            checksum.start.eq(self.write),
            chosen.eq(whole.as_value().word_select(
                Mux(checks, row >> exact_log2(rows), beat >> exact_log2(parts)), size)),
            checksum.data.eq(_part(chosen, row[:exact_log2(rows)], 32 * CHUNK_WORDS)),
            burst.address.eq(self.accepted.ccb_base + ENTRY_BYTES * places(g)),
            burst.extra_beats.eq(Mux(voids, 0, beats - 1)),
            last.eq(voids | (beat == beats - 1)),
            out.data.eq(Mux(voids, State.DEMOTED,
                            _part(chosen, beat[:exact_log2(parts)], 8 * g.bus_bytes))),
            out.strobe.eq(Mux(voids, 1, (1 << min(g.bus_bytes, RECORD_BYTES)) - 1)),
        ]
        with m.FSM() as fsm:
            m.d.comb += self.busy.eq(~fsm.ongoing("IDLE"))
            with m.State("IDLE"):
                m.d.sync += [row.eq(0), beat.eq(0), voids.eq(self.void)]
                with m.If(self.void):
                    m.next = "BURST"
                with m.Elif(self.write):
                    m.next = "CHECK"
            # The checksum stands in front of the words that it covers: it is computed first.
            with m.State("CHECK"):
                m.d.comb += [checks.eq(1), checksum.valid.eq(1)]
                m.d.sync += row.eq(row + 1)
                with m.If(row == RECORD_ROWS - 1):
                    m.next = "BURST"
            with m.State("BURST"):
                m.d.comb += self.burst.valid.eq(1)
                with m.If(self.burst.ready):
                    m.next = "DATA"
            with m.State("DATA"):
                m.d.comb += self.data.valid.eq(1)
                with m.If(self.data.ready):
                    m.d.sync += beat.eq(beat + 1)
                    with m.If(last):
                        m.next = "IDLE"
        return m
