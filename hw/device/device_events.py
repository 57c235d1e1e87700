"""Events of a device: what its SMs do together has ended when it has on all of them."""

from collections.abc import Mapping, Sequence
from typing import Any

from amaranth.hdl import Cat, Module, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.data import View
from amaranth.lib.wiring import In, Out

from ..arch.commands import KernelState, Switch
from ..arch.faults import CommandError
from ..arch.geometry import Geometry
from ..arch.registers import register_map
from ..control.register_ports import register_layout
from ..interfaces.preemption import switch_event

__all__ = ["DeviceEvents"]

ENDED = {KernelState.PREEMPTING: "preempted", KernelState.RESUMING: "resumed",
         KernelState.KILLING: "killed", KernelState.ADOPTING: "adopted"}
"""The event at the end of a state."""
SAVED = (Switch.AT_ONCE, Switch.AT_POINTS, Switch.CHECKPOINTED, Switch.DRAINED)
"""Ways in which a preempt can end on an SM; the device reports the first one that occurred."""


class DeviceEvents(wiring.Component):
    """The event register of a device, and how often its kernels are switched.

    A kernel has finished when it has on all SMs that have it. Something is over when no SM is in
    that state any more, one cycle later. A preempt counts as one, however many SMs take part, and
    not at all if it failed or was withdrawn on one.

    Parameters
    ----------
    g : Geometry

    Attributes
    ----------
    states, errors : array of array, in
        `KernelState` and `CommandError` by SM and kernel.
    members, takers : array of Signal(sms), in
        Vectors per kernel: SMs that have it; that took its last command.
    switched : array of switch_event, in
        One event per SM.
    faults : Signal(sms), in
        Vector: SMs with a fault record that is waiting.
    refused : Signal, in
        A command is refused.
    clear : Signal(32), in
        Events that software clears.
    event : struct, out
        The register.
    counted : switch_event, out
        A preempt or resume of a kernel has ended well.
    """

    states: View
    errors: View
    members: View
    takers: View
    switched: View
    faults: Signal
    refused: Signal
    clear: Signal
    event: View
    counted: View

    def __init__(self, g: Geometry):
        self.geometry = g
        slots, sms = g.kernel_slots, g.sms
        vectors = data.ArrayLayout(sms, slots)
        super().__init__({
            "states": In(data.ArrayLayout(data.ArrayLayout(KernelState, slots), sms)),
            "errors": In(data.ArrayLayout(data.ArrayLayout(CommandError, slots), sms)),
            "members": In(vectors), "takers": In(vectors),
            "switched": In(data.ArrayLayout(switch_event(g), sms)),
            "faults": In(sms), "refused": In(1), "clear": In(32),
            "event": Out(register_layout(register_map()["event"])), "counted": Out(switch_event(g)),
        })

    def elaborate(self, platform: Any):
        m = Module()
        g = self.geometry
        layout = register_layout(register_map()["event"])
        sticky = Signal(layout)
        happens = Signal(layout)
        over = {name: Signal(g.kernel_slots, name=name) for name in ENDED.values()}
        waiting = Signal(g.kernel_slots)  # kernels whose switch is to be counted
        for k in range(g.kernel_slots):
            self._kernel(m, k, happens, over, waiting)
        m.d.comb += [happens[name].eq(vector.any()) for name, vector in over.items()]
        m.d.comb += [happens.refused.eq(self.refused), self.event.eq(sticky),
                     self.event.fault.eq(self.faults.any())]
        m.d.sync += sticky.as_value().eq(sticky.as_value() & ~self.clear | happens.as_value())
        return m

    def _kernel(self, m: Module, k: int, happens: View, over: Mapping[str, Signal],
                waiting: Signal):
        """The events of a kernel."""
        states = [self.states[i][k] for i in range(self.geometry.sms)]
        mine = self.members[k]
        finished = Signal(name=f"finished_{k}")
        before = Signal(name=f"finished_before_{k}")
        m.d.comb += [finished.eq(mine.any() & ~(mine & ~Cat(
            state == KernelState.FINISHED for state in states)).any()),
            happens.finished[k].eq(finished & ~before)]
        m.d.sync += before.eq(finished)
        killing = Cat(state == KernelState.KILLING for state in states).any()
        for each, name in ENDED.items():
            now = Signal(name=f"{name}_later_{k}")
            was = Signal(name=f"{name}_just_now_{k}")
            m.d.comb += now.eq(Cat(state == each for state in states).any())
            m.d.sync += was.eq(now)
            m.d.comb += over[name][k].eq(was & ~now)
            if each is not KernelState.KILLING:
                with m.If(killing):
                    m.d.comb += over[name][k].eq(0)
        if self.geometry.profile:
            self._count(m, k, states, finished, over, waiting)

    def _count(self, m: Module, k: int, states: Sequence[Value], finished: Value,
               over: Mapping[str, Signal], waiting: Signal):
        """Count a switch of the kernel once, by how it ended. Kernels whose switches end in one
        cycle wait for each other."""
        g = self.geometry
        seen = Signal(len(Switch), name=f"seen_{k}")  # how it ended on SMs
        kind = Signal(Switch, name=f"kind_{k}")
        new = Cat(Cat(self.switched[i].valid & (self.switched[i].kernel == k)
                      & (self.switched[i].kind == each) for i in range(g.sms)).any()
                  for each in Switch)
        failed = (self.takers[k] & Cat(self.errors[i][k] != CommandError.NONE
                                     for i in range(g.sms))).any()
        saved = Cat(state == KernelState.PREEMPTED for state in states).any()
        ways = Cat(seen[each] for each in SAVED)
        m.d.sync += seen.eq(seen | new)
        with m.If(over["preempted"][k] | over["resumed"][k]):
            m.d.sync += seen.eq(new)
        with m.If(over["preempted"][k] & ~failed & (finished | ways.any())):
            m.d.sync += waiting[k].eq(1)
            for each in reversed(SAVED):
                with m.If(seen[each]):
                    m.d.sync += kind.eq(each)
            with m.If(finished):
                m.d.sync += kind.eq(Switch.FINISHED)
        with m.Elif(over["resumed"][k] & ~failed & ~saved & seen[Switch.RESUMED]):
            m.d.sync += [waiting[k].eq(1), kind.eq(Switch.RESUMED)]
        with m.Elif(waiting[k] & ~waiting[:k].any()):
            m.d.sync += waiting[k].eq(0)
            m.d.comb += [self.counted.valid.eq(1), self.counted.kernel.eq(k),
                         self.counted.kind.eq(kind)]
