"""The counters of the preemption engine: what of its two sides' progress they count."""

from typing import Any

from amaranth.hdl import Cat, Const, Module, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ..arch.geometry import Geometry
from ..interfaces.port import Port
from ..interfaces.preemption import counters
from .sequence.counters import PreemptCounters
from .sequence.ports import CommandState, RestoreProgress, SaveProgress

__all__ = ["EngineCounters"]


class EngineCounters(wiring.Component):
    """Counts preempts, resumes and evictions that are commanded, neither TBs that yield nor bases
    for announcements.

    Timing
    ------
    Counters are registers: they show an event in the cycle after it.

    Parameters
    ----------
    g : Geometry

    Attributes
    ----------
    command : CommandState, in
        The command in hand.
    save : SaveProgress, in; restore : RestoreProgress, in
        Progress of the two sides.
    stop_pending : Signal, in
        The TBs of a kernel stop.
    issued : Signal, in
        An instruction retires in this cycle.
    counters : preemption.counters, out
        The counters, named as in the register map.
    """

    command: Port
    save: Port
    restore: Port
    stop_pending: Signal
    issued: Signal
    counters: data.View

    def __init__(self, g: Geometry):
        self.geometry = g
        super().__init__({
            "command": In(CommandState(g)), "save": In(SaveProgress(g)),
            "restore": In(RestoreProgress()), "stop_pending": In(1), "issued": In(1),
            "counters": Out(counters()),
        })

    def elaborate(self, platform: Any):
        m = Module()
        command, save, restore = self.command, self.save, self.restore
        accepted = command.accepted
        m.submodules.counts = counts = PreemptCounters(self.geometry)
        preempts = command.clear & ~command.resume & ~accepted.adopt & ~accepted.evict
        # The second pass of a preempt that selects counts on.
        again = accepted.again if self.geometry.proactive else Const(0)
        m.d.comb += [
            counts.begin_save.eq(preempts & ~again), counts.goes_on.eq(preempts & again),
            counts.begin_restore.eq(command.clear & command.resume & ~accepted.again),
            counts.grace_used.eq(accepted.grace_used),
            counts.saving.eq(command.saving), counts.evicting.eq(command.evicting),
            counts.row_evicted.eq(save.evicted), counts.tally.eq(save.tally),
            counts.head_event.eq(save.head_event),
            counts.claim_dropped.eq(save.claim_dropped | save.evicted & self.stop_pending),
            counts.tb_committed.eq(save.committed), counts.draining.eq(save.draining),
            counts.tb_started.eq(restore.started), counts.instruction_issued.eq(self.issued),
            counts.read_valid.eq(restore.read_valid), counts.read_words.eq(restore.read_words),
            self.counters.eq(counts.counters),
        ]
        apart = [*([accepted.yields] if self.geometry.watches else []),
                 *([accepted.announced] if self.geometry.proactive else [])]
        if apart:
            with m.If(Cat(apart).any()):
                m.d.comb += [getattr(counts, name).eq(0) for name in (
                    "begin_save", "saving", "begin_restore", "claim_dropped", "draining",
                    "tb_started", "read_valid")]
                m.d.comb += counts.tally.valid.eq(0)
        return m
