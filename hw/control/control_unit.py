"""The control unit: the commands of one SM, its dispatcher and its preemption engine, connected."""

from typing import Any

from amaranth.hdl import Module, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ..arch.commands import KernelState
from ..arch.geometry import Geometry
from ..interfaces import payloads as payload
from ..interfaces.core_ports import HostPort, ResidencyPort
from ..interfaces.gpu_ports import ReportPort, TbSupplyPort, written_event
from ..interfaces.port import Port
from ..interfaces.preemption import activity
from ..interfaces.preemption_port import PreemptionPort, WarpWindow
from ..interfaces.yielding import YieldPort, watch_event
from ..memory.guaranteed_share import SHARE_BITS
from ..memory.ports import ReadInterface, ReadPort, WriteInterface, WritePort
from ..preempt.engine import PreemptEngine
from .command_processor import CommandProcessor
from .dispatcher import Dispatcher
from .dispatcher_ports import EngineTbPort
from .kernel_table import KernelTable
from .register_block import RegisterBlock
from .status_registers import StatusRegisters

__all__ = ["ControlUnit"]


class ControlUnit(wiring.Component):
    """Register block, kernel table, command processor, dispatcher and preemption engine.

    ::

        host --> registers --command--> commands --start, eligible--> dispatcher --> residency
                  ^   |                    |                              ^
                  | kernel_table           +--command--> engine --admit---+
                  |                                        |
                status <-- commands, dispatcher, engine    +--> core, memory

    Attributes
    ----------
    host : HostPort, in
        Software's side.
    kernels, tbs : arrays, out
        `payloads.kernel_info` of the kernel slots, `payloads.tb_info` of the TB slots.
    residency : ResidencyPort, out
        Warps that are launched, freed, killed and forgotten.
    core : PreemptionPort, out
        The engine's side of the core.
    inspect : WarpWindow, out
        The inspect registers look at a warp.
    cycle : Signal(64), out
        Cycles since reset.
    clear : out
        A warp is put into its slot in this cycle.
    clear_lines : out
        Lines of shared memory given to a TB in this cycle.
    reports : payloads.fault_reports, in
        Faults of the core's blocks; of those in one cycle one is recorded.
    read_port : ReadPort, out; write_port : WritePort, out
        Contexts in memory.
    bus_share : Signal, out
        Beats of 256 guaranteed to them.
    activity, states, tb_count : out
        `preemption.activity`, for simulations: the `KernelState` of each slot, TBs resident.
    supply : TbSupplyPort, out; report : ReportPort, out
        The device of which this is one of several SMs; exists only there.
    yields : YieldPort, in; watch : watch_event, in; written : written_event, in
        TBs that wait for memory to change; the segments that they watch; the segments that were
        written. All exist only with `Geometry.watches`.
    """

    host: Port
    kernels: data.View
    tbs: data.View
    residency: Port
    core: Port
    inspect: Port
    cycle: Signal
    clear: data.View
    clear_lines: data.View
    reports: data.View
    read_port: ReadInterface
    write_port: WriteInterface
    bus_share: Signal
    activity: data.View
    states: data.View
    tb_count: Signal
    supply: Port
    report: Port
    yields: Port
    watch: data.View
    written: data.View

    def __init__(self, g: Geometry):
        self.geometry = g
        super().__init__({
            "host": In(HostPort()),
            "kernels": Out(data.ArrayLayout(payload.kernel_info(g), g.kernel_slots)),
            "tbs": Out(data.ArrayLayout(payload.tb_info(g), g.tb_slots)),
            "residency": Out(ResidencyPort(g)), "core": Out(PreemptionPort(g)),
            "inspect": Out(WarpWindow(g)),
            "cycle": Out(64),
            "clear": Out(payload.warp_clear(g)),
            "clear_lines": Out(payload.line_range(g)),
            "reports": In(payload.fault_reports(g)),
            "read_port": Out(ReadPort(g)), "write_port": Out(WritePort(g)),
            "bus_share": Out(SHARE_BITS), "activity": Out(activity(g)),
            "states": Out(data.ArrayLayout(KernelState, g.kernel_slots)),
            "tb_count": Out(range(g.tb_slots + 1)),
            **({"supply": Out(TbSupplyPort(g)), "report": Out(ReportPort(g))}
               if g.has_uncore else {}),
            **({"yields": In(YieldPort(g)), "watch": In(watch_event(g)),
                "written": In(written_event())} if g.watches else {}),
        })

    def elaborate(self, platform: Any):
        m = Module()
        g = self.geometry
        m.submodules.registers = registers = RegisterBlock(g)
        m.submodules.kernel_table = table = KernelTable(g)
        m.submodules.commands = commands = CommandProcessor(g)
        m.submodules.dispatcher = dispatcher = Dispatcher(g)
        m.submodules.engine = engine = PreemptEngine(g)
        m.submodules.status = status = StatusRegisters(g)
        for one, other in (
                (wiring.flipped(self.host), registers.host), (registers.table, table.registers),
                (registers.commands, commands.registers),
                (commands.dispatch, dispatcher.commands),
                (commands.status, status.commands), (dispatcher.status, status.dispatch),
                (dispatcher.residency, wiring.flipped(self.residency)),
                (status.inspect, wiring.flipped(self.inspect)),
                *((getattr(engine, name), wiring.flipped(getattr(self, name)))
                  for name in ("core", "read_port", "write_port"))):
            wiring.connect(m, one, other)
        m.d.comb += [
            self.kernels.eq(table.kernels),
            *(part.kernels.eq(table.kernels) for part in (commands, dispatcher, engine)),
            dispatcher.exited.eq(self.core.stop.exited), dispatcher.reports.eq(self.reports),
            self.tbs.eq(dispatcher.tbs), self.clear.eq(dispatcher.clear),
            self.clear_lines.eq(dispatcher.clear_lines),
            registers.values.eq(status.values), status.select.eq(registers.inspect),
            status.issued.eq(self.core.stop.issued), self.cycle.eq(status.cycle),
            self.bus_share.eq(registers.bus_share.beats), self.activity.eq(engine.activity),
            self.states.eq(commands.status.states), self.tb_count.eq(dispatcher.status.tb_count),
        ]
        if g.profile:
            m.d.comb += [dispatcher.issued.eq(self.core.stop.issued),
                         dispatcher.issuer.eq(self.core.stop.issuer)]
        if g.watches:
            wiring.connect(m, wiring.flipped(self.yields), dispatcher.yields)
            wiring.connect(m, dispatcher.leaves, commands.yields)
            m.d.comb += [dispatcher.watch.eq(self.watch), dispatcher.written.eq(self.written),
                         dispatcher.notice.eq(registers.notice)]
        self._events(m, registers, commands, dispatcher)
        self._engine(m, engine, commands, dispatcher, status)
        if g.has_uncore:
            wiring.connect(m, dispatcher.supply, wiring.flipped(self.supply))
            self._report(m, registers, commands, dispatcher, engine)
        return m

    def _events(self, m: Module, registers: RegisterBlock, commands: CommandProcessor,
                dispatcher: Dispatcher):
        """Gather the bits of register ``event``."""
        events, fault = registers.events, dispatcher.fault_event
        m.d.comb += [
            *(events.set[name].eq(commands.events[name])
              for name in commands.events.shape().members),
            events.set.fault.eq(fault.set), fault.pending.eq(events.pending.fault),
            fault.clear.eq(events.clear.fault),
        ]

    def _engine(self, m: Module, engine: PreemptEngine, commands: CommandProcessor,
                dispatcher: Dispatcher, status: StatusRegisters):
        """Connect the preemption engine, whose ports are not grouped by peer."""
        orders, tbs = commands.engine, dispatcher.engine
        wiring.connect(m, orders.command, engine.command)
        for name, member in EngineTbPort(self.geometry).members.items():
            inner, outer = getattr(engine, name), getattr(tbs, name)
            if member.is_signature:
                wiring.connect(m, inner, outer)
            else:
                m.d.comb += outer.eq(inner) if member.flow is Out else inner.eq(outer)
        m.d.comb += [
            orders.result.eq(engine.result), orders.flushing.eq(engine.flushing),
            orders.saved.eq(engine.kept), orders.in_memory.eq(engine.recorded),
            orders.staying.eq(engine.staying), engine.withdraw.eq(orders.withdraw),
            engine.cancel.eq(orders.cancel), engine.hasten.eq(orders.hasten),
            engine.start.eq(commands.dispatch.start), engine.discard.eq(commands.dispatch.discard),
            status.counters.eq(engine.counters), status.staying.eq(engine.staying),
        ]

    def _report(self, m: Module, registers: RegisterBlock, commands: CommandProcessor,
                dispatcher: Dispatcher, engine: PreemptEngine):
        """Tell the device that this is one of several SMs of."""
        report, status = self.report, commands.status
        m.d.comb += [
            *(getattr(report, name).eq(getattr(status, name))
              for name in ("states", "errors", "recorded", "switched")),
            report.accepted.eq(registers.commands.command.valid & ~commands.events.refused),
            report.start.eq(commands.dispatch.start), report.idle.eq(dispatcher.idle),
            report.adopted.eq(engine.adopted), report.fault.eq(registers.events.pending.fault),
            report.share.eq(registers.bus_share.beats),
            *(report.grids[k][name].eq(self.kernels[k][f"grid_{name}"])
              for k in range(self.geometry.kernel_slots) for name in "xyz"),
        ]
