"""Counters of the last preempt and of the last resume
(register map, ``save_*`` and ``restore_*``)."""

from typing import Any

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ...arch.geometry import WORD_BYTES, Geometry
from ...arch.image.context import State
from ...interfaces.preemption import counters
from ..formats.packer import WORD_COUNT_BITS
from ..save.closer import ENTRY_BODY_BYTES, save_tally
from ..save.committer import HEAD_BYTES, head_event

__all__ = ["PreemptCounters"]


class PreemptCounters(wiring.Component):
    """Counts, from `begin_save` or `begin_restore` on, in cycles since the command was taken. Later
    passes of a resume count on.

    ``save_cycles`` is the time of the last `claim_dropped`, and ``restore_cycles`` the time of the
    last `tb_started`. ``resume_cycles`` is the time of the first instruction issued after a TB has
    started. Bytes of metadata include the heads and bodies of CCB entries.

    Parameters
    ----------
    g : Geometry

    Attributes
    ----------
    begin_save, begin_restore : Signal, in
        A command was taken (the cycle before); resets its counters.
    grace_used : Signal(32), in
        Cycles of grace that the preempt took, read in the cycle of `begin_save` or `goes_on`.
    goes_on : Signal, in
        Likewise: the second pass of a preempt was taken; its counters count on.
    saving, evicting : Signal, in
        A preempt is under way; what has stayed on the SM is being saved.
    row_evicted : Signal, in
        A row of the staying table has been saved.
    tally, head_event, claim_dropped, tb_committed, draining : in
        Progress of a preempt.
    tb_started, instruction_issued, read_valid, read_words : in
        Progress of a resume.
    counters : out
    """

    begin_save: Signal
    begin_restore: Signal
    goes_on: Signal
    grace_used: Signal
    saving: Signal
    evicting: Signal
    row_evicted: Signal
    tally: data.View
    head_event: data.View
    claim_dropped: Signal
    tb_committed: Signal
    draining: Signal
    tb_started: Signal
    instruction_issued: Signal
    read_valid: Signal
    read_words: Signal
    counters: data.View

    def __init__(self, g: Geometry):
        self.geometry = g
        super().__init__({
            "begin_save": In(1), "begin_restore": In(1), "goes_on": In(1), "grace_used": In(32),
            "saving": In(1), "evicting": In(1), "row_evicted": In(1), "tally": In(save_tally(g)),
            "head_event": In(head_event(g)), "claim_dropped": In(1), "tb_committed": In(1),
            "draining": In(1),
            "tb_started": In(1), "instruction_issued": In(1), "read_valid": In(1),
            "read_words": In(WORD_COUNT_BITS), "counters": Out(counters()),
        })

    def elaborate(self, platform: Any):
        m = Module()
        c = self.counters
        tally = Signal.like(self.tally)  # of a preempt
        m.d.comb += tally.eq(self.tally)
        saved_for = Signal(32)  # cycles since the last preempt was taken
        restored_for = Signal(32)  # and the last resume
        unresumed = Signal()
        running = Signal()
        for begin, time in ((self.begin_save, saved_for), (self.begin_restore, restored_for)):
            # `begin` comes a cycle after the command is taken: the next cycle is number 2.
            m.d.sync += time.eq(Mux(begin, 2, time + 1))

        if self.geometry.in_place:
            evicted = Signal(32)  # bytes of the TB that is being evicted
            with m.If(self.evicting):
                m.d.comb += tally.valid.eq(0)
                with m.If(self.tally.valid):
                    m.d.sync += evicted.eq(self.tally.data_bytes + self.tally.metadata_bytes
                                           + HEAD_BYTES + ENTRY_BODY_BYTES)
            with m.If(self.row_evicted):
                m.d.sync += [c.evicted_tbs.eq(c.evicted_tbs + 1),
                             c.evicted_bytes.eq(c.evicted_bytes + evicted)]
        head = self.saving & self.head_event.valid & (self.head_event.state != State.DEMOTED)
        body = tally.valid & ~tally.ended
        gains = {
            "drain_cycles": self.draining, "save_data_bytes": Mux(tally.valid, tally.data_bytes, 0),
            "save_metadata_bytes": Mux(tally.valid, tally.metadata_bytes, 0)
                                   + Mux(body, ENTRY_BODY_BYTES, 0)
                                   + Mux(head, HEAD_BYTES, 0),
            "save_registers": Mux(tally.valid, tally.registers, 0),
            "save_lines": Mux(tally.valid, tally.lines, 0),
            "save_tbs": self.tb_committed & self.saving,
            "save_warps": Mux(tally.valid, tally.warps, 0),
        }
        m.d.sync += [c[name].eq(c[name] + gain) for name, gain in gains.items()]
        with m.If(self.claim_dropped):
            m.d.sync += c.save_cycles.eq(saved_for)
        with m.If(self.begin_save):
            m.d.sync += [c[name].eq(0) for name in ("save_cycles", *gains)]
            m.d.sync += c.grace_cycles.eq(self.grace_used)

        with m.If(self.goes_on):
            m.d.sync += c.grace_cycles.eq(self.grace_used)
        with m.If(self.tb_started):
            m.d.sync += [c.restore_cycles.eq(restored_for), running.eq(1)]
        with m.If(self.read_valid):
            m.d.sync += c.restore_bytes.eq(c.restore_bytes + self.read_words * WORD_BYTES)
        with m.If(unresumed):
            with m.If(running & self.instruction_issued):
                m.d.sync += unresumed.eq(0)
            with m.Else():
                m.d.sync += c.resume_cycles.eq(c.resume_cycles + 1)
        with m.If(self.begin_restore):
            m.d.sync += [c.restore_cycles.eq(0), c.restore_bytes.eq(0),
                         c.resume_cycles.eq(2), unresumed.eq(1), running.eq(0)]
        return m
