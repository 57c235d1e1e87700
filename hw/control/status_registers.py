"""The status registers: those that software reads and hardware drives."""

from typing import Any

from amaranth.hdl import Module, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ..arch.geometry import Geometry
from ..arch.registers import IDENTIFICATION, register_map
from ..dispatch.tb_profile import kernel_profile
from ..dispatch.tb_selection import selection_counts
from ..interfaces.port import Port
from ..interfaces.preemption import counters
from ..interfaces.preemption_port import WarpWindow
from ..interfaces.staying import staying_report
from .command_ports import StatusPort
from .dispatcher_ports import DispatchStatusPort, kernel_counts
from .register_block import value_layout
from .register_ports import register_layout
from .switch_counters import SwitchCounters, kernel_switches

__all__ = ["StatusRegisters"]


class StatusRegisters(wiring.Component):
    """Puts the state of the blocks into the fields of registers, and counts cycles, instructions
    and switches.

    Parameters
    ----------
    g : Geometry

    Attributes
    ----------
    values : value_layout, out
        The registers, by path.
    commands : StatusPort, in
        The command processor.
    dispatch : DispatchStatusPort, in
        The dispatcher.
    counters : preemption.counters, in; staying : staying_report, in
        The preemption engine.
    issued : Signal, in
        A warp retires an instruction.
    select : struct, in
        The inspect register: a warp slot and an entry of its stack.
    inspect : WarpWindow, out
        Looks at that warp.
    cycle : Signal(64), out
        Cycles since reset.
    """

    values: data.View
    commands: Port
    dispatch: Port
    counters: data.View
    staying: data.View
    issued: Signal
    select: data.View
    inspect: Port
    cycle: Signal

    def __init__(self, g: Geometry):
        self.geometry = g
        super().__init__({
            "values": Out(value_layout(g)), "commands": In(StatusPort(g)),
            "dispatch": In(DispatchStatusPort(g)), "counters": In(counters()),
            "staying": In(staying_report(g)), "issued": In(1),
            "select": In(register_layout(register_map()["inspect"])),
            "inspect": Out(WarpWindow(g)), "cycle": Out(64),
        })

    def elaborate(self, platform: Any):
        m = Module()
        self._machine(m)
        self._kernels(m)
        self._fault(m)
        inspected = self._inspect(m)
        if self.geometry.profile:
            self._profile(m, inspected)
        if self.geometry.proactive:
            values, counts = self.values, self.dispatch.selections
            m.d.comb += [values["announced"].victims.eq(self.commands.announced),
                         values["base_cycles"].value.eq(self.commands.base_cycles),
                         *(values[name].value.eq(counts[name])
                           for name in selection_counts().members)]
        return m

    def _machine(self, m: Module):
        """Identification, status, time and the engine's counters."""
        values, commands = self.values, self.commands
        retired = Signal(32)
        m.d.sync += [self.cycle.eq(self.cycle + 1), retired.eq(retired + self.issued)]
        m.d.comb += [
            values["id"].value.eq(IDENTIFICATION),
            values["geometry_hash"].value.eq(self.geometry.hash),
            values["status"].busy.eq(commands.busy), values["status"].error.eq(commands.error),
            values["status"].resident.eq(self.dispatch.tb_count),
            values["status"].warps.eq(self.dispatch.warp_count),
            values["cycle_low"].value.eq(self.cycle[:32]),
            values["cycle_high"].value.eq(self.cycle[32:]), values["retired"].value.eq(retired),
            *(values[name].value.eq(self.counters[name]) for name in counters().members),
        ]

    def _kernels(self, m: Module):
        """State of each kernel."""
        g, commands, dispatch = self.geometry, self.commands, self.dispatch
        for k in range(g.kernel_slots):
            values = self._of_kernel(k)
            m.d.comb += [
                values("state").state.eq(commands.states[k]),
                values("state").error.eq(commands.errors[k]),
                values("state").recorded.eq(commands.recorded[k]),
                *(values(name).value.eq(dispatch.kernels[k][name])
                  for name in kernel_counts().members)]
            if g.in_place:
                m.d.comb += [values("registers_stay").value.eq(self.staying.registers[k]),
                             values("lines_stay").value.eq(self.staying.lines[k])]
            if g.watches:
                m.d.comb += [values("yields").value.eq(dispatch.yields[k]),
                             values("away").value.eq(dispatch.away[k])]

    def _of_kernel(self, k: int):
        """Return a function that returns a register of kernel slot `k` by its name."""
        return lambda name: self.values[f"kernel[{k}].{name}"]

    def _fault(self, m: Module):
        """The fault registers."""
        values, record, kind = self.values, self.dispatch.fault, self.values["fault_kind"]
        m.d.comb += [
            kind.kind.eq(record.kind), kind.kernel.eq(record.kernel), kind.warp.eq(record.warp),
            values["fault_tb"].value.eq(record.tb), values["fault_pc"].value.eq(record.pc),
            values["fault_address"].value.eq(record.address),
            values["fault_count"].value.eq(self.dispatch.fault_count),
        ]

    def _inspect(self, m: Module):
        """The inspect registers; a slot or stack entry that does not exist reads 0.

        Returns whether there is a warp in the slot.
        """
        # A signal of its own: read from the registers it would look like a loop to simulators.
        inspected = Signal()
        view, select, values = self.inspect.view, self.inspect.select, self.values
        state, tb = values["inspect_state"], self.dispatch.resident[view.tb]
        m.d.comb += [select.warp.eq(self.select.warp), select.entry.eq(self.select.entry),
                     inspected.eq((self.select.warp < self.geometry.warps) & view.valid)]
        with m.If(inspected):
            m.d.comb += [state[name].eq(view[name]) for name in (
                "valid", "waiting", "parked", "exited", "kernel", "depth", "barrier")]
            m.d.comb += [state.warp.eq(view.block_warp), values["inspect_live"].value.eq(view.live),
                         values["inspect_tb"].value.eq(tb.launch_id),
                         values["inspect_ccb_entry"].value.eq(tb.entry)]
            with m.If(self.select.entry < view.depth):
                m.d.comb += [values["inspect_pc"].value.eq(view.pc),
                             values["inspect_mask"].value.eq(view.mask)]
        return inspected

    def _profile(self, m: Module, inspected: Value):
        """Profiles of TBs, and counts of switches."""
        values, dispatch = self.values, self.dispatch
        m.submodules.switches = switches = SwitchCounters(self.geometry)
        m.d.comb += [switches.switched.eq(self.commands.switched),
                     switches.clear.eq(dispatch.renewed)]
        for k in range(self.geometry.kernel_slots):
            of_kernel = self._of_kernel(k)
            m.d.comb += [of_kernel(f"{group}_{name}").value.eq(counts[k][name])
                         for group, counts, layout in (
                             ("profile", dispatch.profiles, kernel_profile()),
                             ("switches", switches.counts, kernel_switches()))
                         for name in layout.members]
        tb = self.inspect.view.tb
        age = dispatch.ages[tb]
        with m.If(inspected & dispatch.resident[tb].started):
            m.d.comb += [values["inspect_tb_cycles"].value.eq(age.cycles),
                         values["inspect_tb_instructions"].value.eq(age.instructions),
                         values["inspect_state"].whole.eq(age.whole)]
