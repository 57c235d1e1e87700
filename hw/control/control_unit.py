"""The control unit: what belongs to the device, the dispatcher of one SM and its preemption engine,
connected."""

from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ..arch.commands import KernelState
from ..arch.geometry import Geometry
from ..arch.registers import IDENTIFICATION
from ..dispatch.admission import Admission
from ..dispatch.completion import Completion
from ..dispatch.faults import FaultUnit
from ..dispatch.launcher import Launcher
from ..dispatch.room_planner import RoomPlanner
from ..dispatch.tb_profile import TbProfile, kernel_profile
from ..dispatch.tb_supply import TbSupply
from ..dispatch.tb_table import TbTable
from ..dispatch.watch_table import WatchTable
from ..dispatch.yield_unit import YieldUnit
from ..interfaces import payloads as payload
from ..interfaces.core_ports import HostPort, ResidencyPort
from ..interfaces.gpu_ports import ReportPort, TbSupplyPort, written_event
from ..interfaces.port import Port
from ..interfaces.preemption import activity, counters
from ..interfaces.preemption_port import PreemptionPort, WarpWindow
from ..interfaces.yielding import YieldPort, watch_event
from ..lib.bits import one_hot
from ..lib.stream_priority import StreamPriority
from ..memory.guaranteed_share import SHARE_BITS
from ..memory.ports import ReadInterface, ReadPort, WriteInterface, WritePort
from ..preempt.engine import PreemptEngine
from .command_processor import CommandProcessor
from .grid_walker import GridWalker
from .kernel_table import KernelTable
from .register_block import RegisterBlock
from .switch_counters import SwitchCounters, kernel_switches

__all__ = ["ControlUnit"]

class ControlUnit(wiring.Component):
    """Register block, kernel table, grid walker, allocation tables, fault records, save and
    restore.

    ::

        registers --command--> commands --start--> grid --next--> admission --fresh--> launcher
            |                      |                               ^     |                 |
        kernel_table            engine ------admit-----------------+     +--> tb_table     v
                                   |  |                                          ^   warp_init,
                                   |  `-------warp_init, stack_push, start ------|-> stack_push,
                                   `--release--> completion --remove-------------'   start
                                                 faults --kill                  (engine first)

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
        What the inspect registers look at.
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
        For simulations: `preemption.activity`, the `KernelState` of each slot, TBs resident.
    supply : TbSupplyPort, out; report : ReportPort, out
        The device, of one of several SMs.
    yields : YieldPort, in; watch : watch_event, in; written : written_event, in
        With `Geometry.watches`: TBs that wait for memory to change; what they watch; what was
        written.
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
        m.submodules.tb_table = tb_table = TbTable(g)
        m.submodules.grid = grid = TbSupply(g) if g.has_uncore else GridWalker(g)
        m.submodules.admission = admission = Admission(g)
        m.submodules.launcher = launcher = Launcher(g)
        m.submodules.completion = completion = Completion(g)
        m.submodules.faults = faults = FaultUnit(g)
        m.submodules.engine = engine = PreemptEngine(g)

        m.d.comb += [self.kernels.eq(table.kernels),
                     self.tbs.eq(tb_table.tbs), self.residency.free.eq(completion.free),
                     self.residency.kill.eq(faults.kill),
                     self.residency.forget.eq(completion.forget),
                     faults.kill_kernels.eq(commands.kill), faults.claim.eq(engine.claim),
                     commands.outstanding.eq(self.residency.lingering),
                     completion.forsaken.eq(faults.forsaken),
                     completion.losable.eq(self.residency.losable),
                     self.residency.invalidate.eq(commands.invalidate),
                     self.clear_lines.eq(admission.clear_lines),
                     self.bus_share.eq(registers.bus_share.beats)]
        self._software(m, registers, table, commands)
        self._kernels(m, table, commands, grid, completion, tb_table, admission, faults, engine)
        self._residents(m, tb_table, admission, completion, faults)
        self._warps(m, engine, launcher, tb_table, faults)
        self._engine(m, engine, commands, completion, admission)
        if g.in_place:
            m.submodules.planner = planner = RoomPlanner(g)
            m.d.comb += [planner.kernels.eq(table.kernels),
                         planner.registers.eq(admission.registers),
                         planner.lines.eq(admission.lines),
                         planner.evictable.eq(engine.staying.evictable),
                         planner.request.eq(engine.plan_request), engine.plan.eq(planner.plan)]
        if g.watches:
            self._yield(m, registers, commands, grid, tb_table, admission, completion, engine)
        wiring.connect(m, admission.fresh, launcher.tb)
        m.d.comb += [registers.event_set.fault.eq(faults.event),
                     faults.pending.eq(registers.event.fault),
                     faults.clear.eq(registers.event_clear.fault),
                     faults.reports.eq(self.reports)]
        m.d.comb += [self.activity.eq(engine.activity), self.states.eq(commands.states),
                     self.tb_count.eq(tb_table.tb_count)]

        self._status(m, registers.values, commands, tb_table, engine)
        self._progress(m, registers.values, commands, grid, completion, faults)
        self._fault_record(m, registers.values, faults)
        inspected = self._inspect(m, registers, tb_table)
        if g.has_uncore:
            m.d.comb += [self.report.adopted.eq(engine.adopted),
                         self.report.accepted.eq(registers.command.valid & ~commands.refused),
                         self.report.errors.eq(commands.errors),
                         self.report.recorded.eq(commands.recorded),
                         self.report.switched.eq(commands.switched),
                         self.report.fault.eq(registers.event.fault),
                         self.report.share.eq(registers.bus_share.beats)]
        if g.profile:
            self._profile(m, registers.values, tb_table, completion, faults, commands, engine,
                          inspected)
            self._switches(m, registers.values, commands, engine)
        return m

    def _yield(self, m: Module, registers: RegisterBlock, commands: CommandProcessor,
               grid: GridWalker | TbSupply, tb_table: TbTable, admission: Admission,
               completion: Completion, engine: PreemptEngine):
        """TBs that leave the SM by themselves, and come back when memory has changed."""
        g = self.geometry
        m.submodules.watches = watches = WatchTable(g)
        m.submodules.yield_unit = unit = YieldUnit(g)
        running = commands.running_kernels
        fresh = Signal(g.kernel_slots)  # have TBs to be launched
        m.d.comb += [
            fresh.eq(running & ~Cat(grid.exhausted[k] for k in range(g.kernel_slots))
                     & ~admission.crowded),
            unit.wanted.eq((fresh & admission.blocked).any() | commands.tried),
            unit.fresh.eq(fresh.any()), unit.launched.eq(admission.advance.valid),
            unit.resident.eq(tb_table.resident), unit.waits.eq(self.yields.waits),
            self.yields.hold.eq(unit.hold), unit.set.eq(watches.set),
            unit.fired.eq(watches.fired), unit.full.eq(watches.full),
            unit.wakes.eq(watches.wakes), unit.running.eq(running),
            unit.keeping.eq(commands.keeping),
            unit.resuming.eq(commands.resuming_kernels), unit.start.eq(commands.start),
            engine.away.eq(unit.away), commands.stays.eq(unit.stays),
            unit.insert.eq(Mux(tb_table.insert.valid,
                               one_hot(tb_table.insert.tb, g.tb_slots), 0)),
            unit.remove.eq(completion.remove), unit.back.eq(tb_table.running),
            unit.forget.eq(commands.forget), commands.leave.eq(unit.leave),
            unit.taken.eq(commands.leaves), unit.ended.eq(commands.left),
            commands.next.eq(unit.next), unit.woken.eq(commands.woken),

            watches.resident.eq(tb_table.resident), watches.watch.eq(self.watch),
            watches.cancel.eq(self.yields.cancel), watches.written.eq(self.written),
            watches.noticed.eq(registers.notice), watches.clear.eq(unit.clear),
            watches.leave.eq(unit.watch_leaves), watches.away.eq(unit.away),
        ]
        for k in range(g.kernel_slots):
            m.d.comb += [registers.values[f"kernel[{k}].yields"].value.eq(unit.yields[k]),
                         registers.values[f"kernel[{k}].away"].value.eq(unit.away[k])]

    def _software(self, m: Module, registers: RegisterBlock, table: KernelTable,
                  commands: CommandProcessor):
        """The bus, the kernel slots, commands and events."""
        event, host = registers.event_set, self.host
        m.d.comb += [
            registers.address.eq(host.address), registers.write.eq(host.write),
            registers.write_data.eq(host.write_data), host.read_data.eq(registers.read_data),
            host.interrupt.eq(registers.interrupt), commands.command.eq(registers.command),
            *(getattr(commands, name).eq(getattr(registers, name))
              for name in ("patience", "grace", "spared", "newcomer")),
            table.write.eq(registers.table_write), table.select.eq(registers.table_select),
            registers.table_data.eq(table.read_data),
            *(event[name].eq(getattr(commands, name))
              for name in ("finished", "preempted", "resumed", "killed", "adopted", "refused")),
        ]

    def _kernels(self, m: Module, table: KernelTable, commands: CommandProcessor,
                 grid: GridWalker | TbSupply, completion: Completion, tb_table: TbTable,
                 admission: Admission, faults: FaultUnit, engine: PreemptEngine):
        """Progress of the kernels, and the next TB to launch."""
        for part in (commands, admission):
            m.d.comb += part.kernels.eq(table.kernels)
        over = [grid.launched[k] == completion.completed[k]
                for k in range(self.geometry.kernel_slots)]
        if isinstance(grid, GridWalker):
            m.d.comb += [grid.kernels.eq(table.kernels), *(
                commands.done[k].eq(grid.exhausted[k] & over[k]) for k in range(len(over)))]
        else:
            self._of_device(m, table, commands, grid, admission, tb_table, Cat(over))
        for k in range(self.geometry.kernel_slots):
            done = engine.progress[k]
            m.d.comb += [done.launched.eq(grid.launched[k]), done.exhausted.eq(grid.exhausted[k]),
                         done.completed.eq(completion.completed[k]),
                         *(done[f"next_{name}"].eq(grid.places[k][name]) for name in "xyz")]
        m.d.comb += [
            commands.present.eq(tb_table.present), commands.running.eq(tb_table.running),
            commands.launching.eq(admission.launching),
            grid.start.eq(commands.start), grid.adopted.eq(engine.adopted),
            completion.adopted.eq(engine.adopted), admission.adopted.eq(engine.adopted),
            engine.ended.eq(completion.ended),
            completion.start.eq(commands.start),
            faults.start.eq(commands.start), admission.start.eq(commands.start),
            admission.eligible.eq(commands.eligible), admission.footprints.eq(commands.footprints),
            grid.request.eq(admission.request), admission.next_valid.eq(grid.valid),
            admission.next.eq(grid.next), grid.advance.eq(admission.advance),
        ]

    def _of_device(self, m: Module, table: Any, commands: CommandProcessor, grid: TbSupply,
                   admission: Admission, tb_table: TbTable, over: Value):
        """What one of several SMs and its device tell each other of kernels and TBs."""
        supply, report, launching = self.supply, self.report, admission.launching
        m.d.comb += [
            *(getattr(grid.port, name).eq(getattr(supply, name))
              for name in ("offered", "exhausted", "places")),
            supply.claim.eq(admission.claim), admission.grant.eq(supply.grant),
            supply.warps.eq(tb_table.warp_count), commands.done.eq(supply.done),
            report.states.eq(commands.states), report.start.eq(commands.start), report.idle.eq(
                over & ~(launching.valid << launching.kernel)),
            *(report.grids[k][name].eq(kernel[f"grid_{name}"])
              for k, kernel in enumerate(table.kernels) for name in "xyz"),
        ]

    def _residents(self, m: Module, tb_table: TbTable, admission: Admission, completion: Completion,
                   faults: FaultUnit):
        """The TB table and those who read and change it."""
        for part in (admission, faults, tb_table):
            m.d.comb += part.remove.eq(completion.remove)
        m.d.comb += [
            tb_table.insert.eq(admission.insert), admission.occupied.eq(tb_table.occupied),
            admission.warps_taken.eq(tb_table.warps_taken),
            admission.warp_count.eq(tb_table.warp_count),
            completion.resident.eq(tb_table.resident), faults.resident.eq(tb_table.resident),
            completion.exited.eq(self.core.stop.exited), admission.ended.eq(completion.ended),
        ]

    def _warps(self, m: Module, engine: PreemptEngine, launcher: Launcher, tb_table: TbTable,
               faults: FaultUnit):
        """Warps put into their slots by the engine or, after it, the launcher."""
        launch = self.residency.launch
        for name in ("warp_init", "stack_push"):
            merge = StreamPriority(getattr(launch, name).payload.shape())
            m.submodules[f"{name}_priority"] = merge
            wiring.connect(m, getattr(engine.launch, name), merge.first)
            wiring.connect(m, getattr(launcher.launch, name), merge.second)
            wiring.connect(m, merge.merged, wiring.flipped(getattr(launch, name)))
        started = Signal()
        init = launch.warp_init.payload
        m.d.comb += [
            started.eq(launch.warp_init.valid & launch.warp_init.ready),
            self.clear.valid.eq(started), self.clear.warp.eq(init.warp),
            self.clear.kept.eq(init.kept),
            faults.init.valid.eq(started), faults.init.warp.eq(init.warp),
            faults.init.block_warp.eq(init.block_warp),
            launch.start.eq(launcher.launch.start),
            launcher.hold.eq(engine.launch.start.valid), tb_table.start.eq(launch.start),
        ]
        with m.If(engine.launch.start.valid):
            m.d.comb += launch.start.eq(engine.launch.start)

    def _engine(self, m: Module, engine: PreemptEngine, commands: CommandProcessor,
                completion: Completion, admission: Admission):
        """The preemption engine: its commands, its TBs, and the core and memory."""
        wiring.connect(m, commands.engine, engine.command)
        wiring.connect(m, engine.admit, admission.admit)
        m.d.comb += [
            commands.result.eq(engine.result), commands.saved.eq(engine.kept),
            commands.in_memory.eq(engine.recorded),
            commands.flushing.eq(engine.flushing), commands.room.eq(
                completion.remove.any()
                | (engine.staying.release.any() if self.geometry.in_place else 0)),
            engine.withdraw.eq(commands.withdraw), engine.cancel.eq(commands.cancel),
            engine.hasten.eq(commands.hasten), engine.start.eq(commands.start),
            completion.discard.eq(commands.discard), engine.discard.eq(commands.discard),
            commands.staying.eq(engine.staying), admission.staying.eq(engine.staying),
            commands.evict.eq(admission.evict),
            *((commands.hopeless.eq(admission.hopeless), admission.stuck.eq(commands.stuck))
              if self.geometry.in_place else ()),
            completion.claim.eq(engine.claim), completion.release.eq(engine.release),
            engine.admitted.eq(admission.admitted),
            engine.kernels.eq(self.kernels), engine.resident.eq(completion.resident),
        ]
        for inner, outer in ((engine.core, self.core), (engine.read_port, self.read_port),
                             (engine.write_port, self.write_port)):
            wiring.connect(m, inner, wiring.flipped(outer))

    def _status(self, m: Module, values: data.View, commands: CommandProcessor, tb_table: TbTable,
                engine: PreemptEngine):
        """Identification, status, time and the engine's counters."""
        cycle = Signal(64)
        retired = Signal(32)
        m.d.sync += [cycle.eq(cycle + 1), retired.eq(retired + self.core.stop.issued)]
        m.d.comb += [
            values["id"].value.eq(IDENTIFICATION),
            values["geometry_hash"].value.eq(self.geometry.hash),
            values["status"].busy.eq(commands.busy), values["status"].error.eq(commands.error),
            values["status"].resident.eq(tb_table.tb_count),
            values["status"].warps.eq(tb_table.warp_count),
            self.cycle.eq(cycle), values["cycle_low"].value.eq(cycle[:32]),
            values["cycle_high"].value.eq(cycle[32:]), values["retired"].value.eq(retired),
            *(values[name].value.eq(engine.counters[name]) for name in counters().members),
        ]

    def _progress(self, m: Module, values: data.View, commands: CommandProcessor,
                  grid: GridWalker | TbSupply, completion: Completion, faults: FaultUnit):
        """State of each kernel."""
        for k in range(self.geometry.kernel_slots):
            m.d.comb += [values[f"kernel[{k}].state"].state.eq(commands.states[k]),
                         values[f"kernel[{k}].state"].error.eq(commands.errors[k]),
                         values[f"kernel[{k}].state"].recorded.eq(commands.recorded[k]),
                         values[f"kernel[{k}].launched"].value.eq(grid.launched[k]),
                         values[f"kernel[{k}].completed"].value.eq(completion.completed[k]),
                         values[f"kernel[{k}].faults"].value.eq(faults.faults[k])]
            if self.geometry.in_place:
                m.d.comb += [values[f"kernel[{k}].registers_stay"].value.eq(
                                 commands.staying.registers[k]),
                             values[f"kernel[{k}].lines_stay"].value.eq(commands.staying.lines[k])]

    def _profile(self, m: Module, values: data.View, tb_table: TbTable, completion: Completion,
                 faults: FaultUnit, commands: CommandProcessor, engine: PreemptEngine,
                 inspected: Value):
        """What TBs take."""
        m.submodules.profile = profile = TbProfile(self.geometry)
        stop, view = self.core.stop, self.inspect.view
        adopted = engine.adopted.valid << engine.adopted.kernel
        m.d.comb += [
            profile.resident.eq(tb_table.resident), profile.start.eq(self.residency.launch.start),
            profile.fresh.eq(~engine.launch.start.valid), profile.issued.eq(stop.issued),
            profile.issuer.eq(stop.issuer), profile.remove.eq(completion.remove),
            profile.ended.eq(completion.ended.valid
                             & ~(completion.remove & faults.killed).any()),
            profile.clear.eq(commands.start | adopted),
        ]
        for k in range(self.geometry.kernel_slots):
            m.d.comb += [values[f"kernel[{k}].profile_{name}"].value.eq(profile.profiles[k][name])
                         for name in kernel_profile().members]
        age = profile.ages[view.tb]
        with m.If(inspected & tb_table.resident[view.tb].started):
            m.d.comb += [values["inspect_tb_cycles"].value.eq(age.cycles),
                         values["inspect_tb_instructions"].value.eq(age.instructions),
                         values["inspect_state"].whole.eq(age.whole)]

    def _switches(self, m: Module, values: data.View, commands: CommandProcessor,
                  engine: PreemptEngine):
        """How often the kernels were switched."""
        m.submodules.switches = switches = SwitchCounters(self.geometry)
        m.d.comb += [switches.switched.eq(commands.switched), switches.clear.eq(
            commands.start | engine.adopted.valid << engine.adopted.kernel)]
        for k in range(self.geometry.kernel_slots):
            m.d.comb += [values[f"kernel[{k}].switches_{name}"].value.eq(switches.counts[k][name])
                         for name in kernel_switches().members]

    def _fault_record(self, m: Module, values: data.View, faults: FaultUnit):
        """The fault registers."""
        record, kind = faults.record, values["fault_kind"]
        m.d.comb += [
            kind.kind.eq(record.kind), kind.kernel.eq(record.kernel), kind.warp.eq(record.warp),
            values["fault_tb"].value.eq(record.tb), values["fault_pc"].value.eq(record.pc),
            values["fault_address"].value.eq(record.address),
            values["fault_count"].value.eq(faults.count),
        ]

    def _inspect(self, m: Module, registers: RegisterBlock, tb_table: TbTable):
        """The inspect registers; a slot or stack entry that does not exist reads 0.

        Returns whether there is a warp in the slot.
        """
        inspected = Signal()  # not read from the registers, which would be a loop to simulators
        view, select, values = self.inspect.view, self.inspect.select, registers.values
        state = values["inspect_state"]
        m.d.comb += [select.warp.eq(registers.inspect.warp),
                     select.entry.eq(registers.inspect.entry)]
        m.d.comb += inspected.eq((registers.inspect.warp < self.geometry.warps) & view.valid)
        with m.If(inspected):
            m.d.comb += [state[name].eq(view[name]) for name in (
                "valid", "waiting", "parked", "exited", "kernel", "depth", "barrier")]
            m.d.comb += [state.warp.eq(view.block_warp), values["inspect_live"].value.eq(view.live),
                         values["inspect_tb"].value.eq(tb_table.resident[view.tb].launch_id),
                         values["inspect_ccb_entry"].value.eq(tb_table.resident[view.tb].entry)]
            with m.If(registers.inspect.entry < view.depth):
                m.d.comb += [values["inspect_pc"].value.eq(view.pc),
                             values["inspect_mask"].value.eq(view.mask)]
        return inspected
