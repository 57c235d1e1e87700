"""TB dispatcher of several SMs: which TB each SM gets."""

from collections.abc import Callable
from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.data import View
from amaranth.lib.wiring import In, Out

from ..arch.geometry import Geometry
from ..control.grid_walker import GridWalker
from ..interfaces.gpu_ports import TbSupplyPort, grid_size
from ..interfaces.port import Port
from ..interfaces.preemption import adoption
from ..lib.bits import lowest, one_hot, select
from ..lib.vectors import LeastRecent, RoundRobin

__all__ = ["Policy", "LeastLoaded", "TakingTurns", "TbDispatcher"]


class Policy(wiring.Component):
    """Chooses the SM whose claim is answered in a cycle; base of those that there are.

    Attributes
    ----------
    claims : Signal(sms), in
        Vector: SMs that have room for a TB.
    warps : array of Signal, in
        Warps on each SM.
    choice : Signal(sms), out
        One of `claims`, if there is any; combinational.
    """

    claims: Signal
    warps: data.View
    choice: Signal

    def __init__(self, g: Geometry):
        self.geometry = g
        super().__init__({"claims": In(g.sms),
                          "warps": In(data.ArrayLayout(range(g.warps + 1), g.sms)),
                          "choice": Out(g.sms)})

    def elaborate(self, platform: Any):
        raise NotImplementedError


class LeastLoaded(Policy):
    """The SM with the fewest warps; of equals the one whose last TB is longest ago."""

    def elaborate(self, platform: Any):
        m = Module()
        sms = range(self.geometry.sms)
        least = Signal(self.geometry.sms)  # claims with no smaller one
        for i in sms:
            m.d.comb += least[i].eq(self.claims[i] & ~Cat(
                self.claims[j] & (self.warps[j] < self.warps[i]) for j in sms if j != i).any())
        m.submodules.turns = turns = LeastRecent(self.geometry.sms)
        m.d.comb += [turns.requests.eq(least), self.choice.eq(turns.grant)]
        return m


class TakingTurns(Policy):
    """SMs take turns, whatever is on them."""

    def elaborate(self, platform: Any):
        m = Module()
        m.submodules.turns = turns = RoundRobin(self.geometry.sms)
        m.d.comb += [turns.requests.eq(self.claims), self.choice.eq(turns.grant)]
        return m


class TbDispatcher(wiring.Component):
    """Hands out the TBs of the grids to the SMs, one per cycle, when an SM has found room for one.

    An SM looks for room as soon as a kernel has TBs left, and claims a TB when it has found room.
    So its allocation tables are asked before a TB is its own, and no TB waits on an SM that is
    full. The answer comes one cycle after the claim was chosen. A kernel is done when all its TBs
    have been launched, and no launched TB is left on its SMs.

    An adopted kernel goes on behind all TBs that its SMs have launched. The saved state of each SM
    says how many these were, and which TB was next.

    Parameters
    ----------
    g : Geometry
    policy : callable
        Makes the `Policy`.

    Attributes
    ----------
    supplies : list of TbSupplyPort, in
        The SMs.
    grids : array of array of grid_size, in
        Grid sizes by SM; only those of an SM that has the kernel count.
    starts : array of Signal(kernel_slots), in
        Vector per SM: the kernel begins anew there, or is to be adopted.
    adopted : array of preemption.adoption, in
        One adoption per SM.
    idle : array of Signal(kernel_slots), in
        Vector per SM: nothing that it has launched of the kernel is left.
    members : array of Signal(sms), out
        Vector per kernel: SMs that have it.
    launched : array, out
        TBs launched of each kernel.
    """

    supplies: list[Port]
    grids: View
    starts: View
    adopted: View
    idle: View
    members: View
    launched: View

    def __init__(self, g: Geometry, policy: Callable[[Geometry], Policy] = LeastLoaded):
        self.geometry, self.policy = g, policy
        per_sm = data.ArrayLayout(g.kernel_slots, g.sms)
        super().__init__({
            "supplies": In(TbSupplyPort(g)).array(g.sms),
            "grids": In(data.ArrayLayout(data.ArrayLayout(grid_size(), g.kernel_slots), g.sms)),
            "starts": In(per_sm), "adopted": In(data.ArrayLayout(adoption(g), g.sms)),
            "idle": In(per_sm), "members": Out(data.ArrayLayout(g.sms, g.kernel_slots)),
            "launched": Out(data.ArrayLayout(32, g.kernel_slots)),
        })

    def elaborate(self, platform: Any):
        m = Module()
        g = self.geometry
        m.submodules.walker = walker = GridWalker(g)
        m.submodules.policy = policy = self.policy(g)
        fresh = walker.fresh
        offered = Signal(g.kernel_slots)
        done = Signal(g.kernel_slots)
        answered = Signal(g.sms)  # claims whose answer the SM sees in this cycle
        kernel = Signal(fresh.advance.kernel.shape())
        claims = Cat(supply.claim.valid for supply in self.supplies)
        m.d.comb += [
            offered.eq(~walker.exhausted), policy.claims.eq(claims & ~answered),
            kernel.eq(select(policy.choice, [s.claim.kernel for s in self.supplies])),
            fresh.request.eq(one_hot(kernel, g.kernel_slots)),
            fresh.advance.valid.eq(policy.choice.any() & fresh.next_valid),
            fresh.advance.kernel.eq(kernel), self.launched.eq(walker.launched),
        ]
        m.d.sync += answered.eq(policy.choice)
        for i, supply in enumerate(self.supplies):
            m.d.comb += [policy.warps[i].eq(supply.warps), supply.offered.eq(offered),
                         supply.exhausted.eq(walker.exhausted), supply.places.eq(walker.places),
                         supply.done.eq(done)]
            m.d.sync += [
                supply.grant.valid.eq(policy.choice[i]), supply.grant.none.eq(~fresh.next_valid),
                supply.grant.launch_id.eq(fresh.next.launch_id),
                *(supply.grant.place[name].eq(fresh.next[f"ctaid_{name}"]) for name in "xyz")]
        for k in range(g.kernel_slots):
            starting = Cat(vector[k] for vector in self.starts)
            m.d.comb += [walker.start[k].eq(starting.any()), *(
                walker.kernels[k][f"grid_{name}"].eq(select(
                    lowest(self.members[k]), [grids[k][name] for grids in self.grids]))
                for name in "xyz")]
            with m.If(starting.any()):
                m.d.sync += self.members[k].eq(starting)
            idle = Cat(vector[k] for vector in self.idle)
            m.d.comb += done[k].eq(walker.exhausted[k] & ~(self.members[k] & ~idle).any())
        self._adopt(m, walker)
        return m

    def _adopt(self, m: Module, walker: GridWalker):
        """Add up the TBs that the SMs have launched of a kernel, and find the last TB. One SM is
        handled per cycle."""
        g = self.geometry
        waiting = Signal(g.sms)
        held = [Signal(adoption(g), name=f"adoption_{i}") for i in range(g.sms)]
        first = Signal(g.sms)
        at = Signal(adoption(g))
        m.d.comb += [first.eq(lowest(waiting)), at.eq(select(first, held))]
        for i, adoption_of in enumerate(held):
            with m.If(self.adopted[i].valid):
                m.d.sync += [adoption_of.eq(self.adopted[i]), waiting[i].eq(1)]
            with m.Elif(first[i]):
                m.d.sync += waiting[i].eq(0)
        known = walker.places[at.kernel]
        there = Cat(known.as_value(), walker.exhausted.bit_select(at.kernel, 1))
        progress, new = walker.adopted.progress, at.progress
        found = Cat(new.next_x, new.next_y, new.next_z, new.exhausted)
        m.d.comb += [
            walker.adopted.valid.eq(waiting.any()), walker.adopted.kernel.eq(at.kernel),
            progress.launched.eq(walker.launched[at.kernel] + new.launched),
            Cat(progress.next_x, progress.next_y, progress.next_z, progress.exhausted).eq(
                Mux(found > there, found, there)),
        ]
