"""TB selection: whether a TB drains, gets a base or is saved (PEP III-D 2, Fig. 7)."""

from collections.abc import Sequence
from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ..arch.geometry import REGISTER_BANKS, SEGMENT_BYTES, Geometry
from ..arch.proactive import (
    ARRIVED,
    CASES,
    SETTLED_INSTRUCTIONS,
    UNKNOWN,
    WAITING,
    Case,
    Choice,
    Rule,
    bus_sixteenths,
)
from ..interfaces.payloads import below, tb_event
from ..interfaces.port import Port
from ..interfaces.preemption import resident_tb
from ..lib.bits import lowest_number, popcount, spread
from ..lib.divider import Divider
from .footprint import footprint
from .tb_profile import kernel_profile, tb_age
from .tb_table import entries_of

__all__ = ["SelectionPort", "TbSelection", "selection_counts"]


def selection_counts() -> data.StructLayout:
    """Counts since reset, named as in the register map: TBs by their `Case` at the arrival, bases
    saved for announcements, and bases whose TB ended before the launch arrived."""
    return data.StructLayout({**{f"case_{case.name.lower()}": 32 for case in Case},
                              "bases": 32, "bases_wasted": 32})


class SelectionPort(wiring.Signature):
    """Announcements to the selection, and its choices. Directions are those of the command
    processor.

    Attributes
    ----------
    victims : Signal(kernel_slots), out
        Vector: running kernels that are to give way to what is announced.
    announced, arrived : Signal(kernel_slots), out
        Vectors: `victims` begins for these kernels; a preempt of these is taken. Each is high for
        one cycle.
    due : Signal(32), out
        Cycles until the predicted arrival.
    bases_saved : Signal(context_entries), out; bases_kernel : Signal, out
        Entries of a kernel whose TBs have been saved as bases, for one cycle; others may have
        ended meanwhile.
    checkpoint : array of Signal(context_entries), in
        Vector per kernel: entries whose TBs are to be saved as bases; none of other kernels than
        `victims`.
    drain : array of Signal(context_entries), in
        Vector per kernel: entries whose TBs are left to end by a preempt that selects.
    """

    def __init__(self, g: Geometry):
        entries = data.ArrayLayout(g.context_entries, g.kernel_slots)
        super().__init__({
            **{name: Out(g.kernel_slots) for name in ("victims", "announced", "arrived")},
            "due": Out(32), "bases_saved": Out(g.context_entries),
            "bases_kernel": Out(below(g.kernel_slots)),
            "checkpoint": In(entries), "drain": In(entries)})


class TbSelection(wiring.Component):
    """Decides for each TB on the SM, one after the other, over and over.

    A TB has left the mean time of those that have ended less its own. The mean is that of its
    launch; while none has ended it is what the descriptor says of earlier launches
    (``usual_cycles``), and a TB without either counts as long. A switch takes what all TBs of
    the kernel have allocated, at the pace of the bus.

    Timing
    ------
    A kernel takes ``2 * tb_slots + 1`` cycles, and is decided upon again when all others have been.
    One that is announced is next, so its choices stand 1 to ``2 * tb_slots + 2`` cycles after
    `announced`. A mean is renewed within ``35 * kernel_slots`` cycles.

    Parameters
    ----------
    g : Geometry
        One with `Geometry.proactive`.

    Attributes
    ----------
    port : SelectionPort, in
        The command processor.
    resident : array of resident_tb, in; ages : array of tb_age, in
        The TB table; how far TBs are.
    profiles : array of kernel_profile, in; usual : array of Signal(32), in
        Costs of TBs that have ended, by kernel; mean cycles of earlier launches, 0 if not known.
    footprints : array of footprint, in
        Sizes of a TB, by kernel.
    start : tb_event, in
        The warps of a TB run from the next cycle on.
    remove : Signal(tb_slots), in
        The TB that leaves the SM, at most one bit.
    clear : Signal(kernel_slots), in
        Vector: the kernel begins anew.
    counts : selection_counts, out
    """

    port: Port
    resident: data.View
    ages: data.View
    profiles: data.View
    usual: data.View
    footprints: data.View
    start: data.View
    remove: Signal
    clear: Signal
    counts: data.View

    def __init__(self, g: Geometry):
        self.geometry = g
        slots, kernels = g.tb_slots, g.kernel_slots
        super().__init__({
            "port": In(SelectionPort(g)),
            "resident": In(data.ArrayLayout(resident_tb(g), slots)),
            "ages": In(data.ArrayLayout(tb_age(), slots)),
            "profiles": In(data.ArrayLayout(kernel_profile(), kernels)),
            "usual": In(data.ArrayLayout(32, kernels)),
            "footprints": In(data.ArrayLayout(footprint(g), kernels)),
            "start": In(tb_event(g)), "remove": In(slots), "clear": In(kernels),
            "counts": Out(selection_counts()),
        })

    def elaborate(self, platform: Any):
        m = Module()
        g, port = self.geometry, self.port
        rows = [self.resident[t] for t in range(g.tb_slots)]
        vectors = {name: Signal(g.tb_slots, name=name) for name in (
            "successor", "based", "checkpoint", "drain")}
        kernel = Signal(below(g.kernel_slots))
        choosing = Signal()
        self._decide(m, rows, vectors, kernel, choosing, self._mean(m, kernel))
        saved = Cat(row.valid & row.started & (row.kernel == port.bases_kernel)
                    & port.bases_saved.bit_select(row.entry, 1) for row in rows)
        of_kernel = [Cat(row.valid & row.started & (row.kernel == k) for row in rows)
                     for k in range(g.kernel_slots)]
        for t, row in enumerate(rows):
            victim = port.victims.bit_select(row.kernel, 1)
            with m.If(port.announced.bit_select(row.kernel, 1)):
                m.d.sync += [vectors["successor"][t].eq(0), vectors["based"][t].eq(0),
                             vectors["checkpoint"][t].eq(0)]
            with m.If(saved[t]):
                m.d.sync += [vectors["based"][t].eq(1), vectors["checkpoint"][t].eq(0)]
            with m.If(self.start.valid & (self.start.tb == t)):
                m.d.sync += [vectors["successor"][t].eq(victim), vectors["based"][t].eq(0),
                             vectors["checkpoint"][t].eq(0), vectors["drain"][t].eq(0)]
        for k in range(g.kernel_slots):
            # Bases are asked for once all TBs are decided upon: one command saves them all.
            shown = spread(port.victims[k] & ~(choosing & (kernel == k)), g.tb_slots)
            drain = of_kernel[k] & vectors["drain"]
            checkpoint = of_kernel[k] & vectors["checkpoint"] & shown
            m.d.comb += [port.drain[k].eq(entries_of(g, rows, [*drain])),
                         port.checkpoint[k].eq(entries_of(g, rows, [*checkpoint]))]
        self._count(m, of_kernel, vectors, saved)
        return m

    def _mean(self, m: Module, kernel: Value) -> Value:
        """Keep the mean of each kernel; return that of `kernel`, `UNKNOWN` if there is none."""
        g = self.geometry
        m.submodules.divider = divider = Divider(32, 32)
        means = Signal(data.ArrayLayout(32, g.kernel_slots))
        known = Signal(g.kernel_slots)
        divided = Signal(below(g.kernel_slots))  # the kernel whose mean is being computed
        begun = Signal()
        stale = Signal()  # that kernel has begun anew since
        following = Mux(divided == g.kernel_slots - 1, 0, divided + 1)
        profile = self.profiles[divided]
        m.d.comb += [divider.dividend.eq(profile.cycles), divider.divisor.eq(profile.tbs)]
        with m.If(~begun):
            m.d.comb += divider.start.eq(1)
            m.d.sync += [begun.eq(1), stale.eq(profile.tbs == 0)]
        with m.Elif(divider.done):
            m.d.sync += [begun.eq(0), divided.eq(following)]
            with m.If(~stale):
                m.d.sync += [means[divided].eq(divider.quotient),
                             known.eq(known | (1 << divided)[:g.kernel_slots])]
        with m.If(self.clear.any()):
            m.d.sync += known.eq(known & ~self.clear)
            with m.If(self.clear.bit_select(divided, 1)):
                m.d.sync += stale.eq(1)
        usual = self.usual[kernel]
        return Mux(known.bit_select(kernel, 1), means[kernel], Mux(usual == 0, UNKNOWN, usual))

    def _decide(self, m: Module, rows: Sequence[data.View], vectors: dict[str, Signal],
                kernel: Signal, choosing: Signal, mean: Value):
        """Look at the TBs of one kernel after the other: count what a switch takes, then choose."""
        g, port = self.geometry, self.port
        tb = Signal(below(g.tb_slots))  # the TB slot that is looked at
        switch = Signal(28)  # in sixteenths of a cycle
        left = Signal(32)
        size = self.footprints[kernel]
        here = Cat(row.valid & row.started & (row.kernel == kernel) for row in rows)
        at_last = Signal()
        age = self.ages[tb]
        m.d.comb += [at_last.eq(tb == g.tb_slots - 1),
                     left.eq(Mux(mean == UNKNOWN, UNKNOWN,
                                 Mux(mean > age.cycles, mean - age.cycles, 0)))]
        tests = {"based": vectors["based"].bit_select(tb, 1), "ends_before": left <= port.due,
                 "drains_sooner": left <= (switch >> 4) + g.memory_latency,
                 "unsettled": vectors["successor"].bit_select(tb, 1)
                 & (age.instructions < SETTLED_INSTRUCTIONS), "otherwise": Value.cast(1)}
        m.d.sync += tb.eq(tb + 1)
        with m.If(~choosing):
            with m.If(here.bit_select(tb, 1)):
                m.d.sync += switch.eq(
                    switch + size.rows * bus_sixteenths(g, REGISTER_BANKS * g.vector_bytes)
                    + size.lines * bus_sixteenths(g, SEGMENT_BYTES))
            with m.If(at_last):
                m.d.sync += [choosing.eq(1), tb.eq(0)]
        with m.Else():
            with m.If(here.bit_select(tb, 1)):
                for name, table, choice in (("checkpoint", WAITING, Choice.CHECKPOINT),
                                            ("drain", ARRIVED, Choice.DRAIN)):
                    m.d.sync += vectors[name].bit_select(tb, 1).eq(_chosen(table, tests, choice))
            with m.If(at_last):
                m.d.sync += [choosing.eq(0), tb.eq(0), switch.eq(0), kernel.eq(
                    Mux(kernel == g.kernel_slots - 1, 0, kernel + 1))]
        # A kernel that is announced cannot wait for its turn.
        with m.If(port.announced.any()):
            m.d.sync += [choosing.eq(0), tb.eq(0), switch.eq(0),
                         kernel.eq(lowest_number(port.announced))]

    def _count(self, m: Module, of_kernel: Sequence[Value], vectors: dict[str, Signal],
               saved: Value):
        """Count cases at the arrival, one in each cycle after it, and bases."""
        g, port, counts = self.geometry, self.port, self.counts
        names = ("drain", "based", "successor")
        drain, based, successor = (Signal(g.tb_slots, name=f"arrived_{name}") for name in names)
        members = Signal(g.tb_slots)
        pending = Signal(range(len(Case) + 1))  # cases still to be counted
        arrived = Signal(g.tb_slots)
        for k, tbs in enumerate(of_kernel):
            with m.If(port.arrived[k]):
                m.d.comb += arrived.eq(tbs)
        with m.If(port.arrived.any()):
            m.d.sync += [members.eq(arrived), drain.eq(vectors["drain"]),
                         based.eq(vectors["based"]), successor.eq(vectors["successor"]),
                         pending.eq(len(Case))]
        with m.Elif(pending != 0):
            m.d.sync += pending.eq(pending - 1)
        number = Signal(range(g.tb_slots + 1))
        which = Signal(g.tb_slots)
        m.d.comb += number.eq(popcount(which))
        for case in Case:
            with m.If(pending == case):
                m.d.comb += which.eq(members & Cat(
                    Cat((successor[t] == s) & (based[t] == b) & (drain[t] == d)
                        for (s, b, d), each in CASES.items() if each is case).any()
                    for t in range(g.tb_slots)))
                name = f"case_{case.name.lower()}"
                m.d.sync += counts[name].eq(counts[name] + number)
        wasted = self.remove & vectors["based"] & Cat(
            port.victims.bit_select(self.resident[t].kernel, 1) for t in range(g.tb_slots))
        m.d.sync += [counts.bases.eq(counts.bases + popcount(saved)),
                     counts.bases_wasted.eq(counts.bases_wasted + wasted.any())]


def _chosen(table: tuple[Rule, ...], tests: dict[str, Value], choice: Choice) -> Value:
    """Return whether a table makes a choice."""
    result: Value = Value.cast(0)
    for rule in reversed(table):
        result = Mux(tests[rule.test], int(rule.choice is choice), result)
    return result
