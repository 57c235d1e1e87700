"""The dispatcher of one SM: takes thread blocks (TBs) in, and lets them go."""

from typing import Any

from amaranth.hdl import Cat, Module, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ..arch.geometry import Geometry
from ..dispatch.admission import Admission
from ..dispatch.completion import Completion
from ..dispatch.faults import FaultUnit
from ..dispatch.launch_priority import LaunchPriority
from ..dispatch.launcher import Launcher
from ..dispatch.room_planner import RoomPlanner
from ..dispatch.tb_profile import TbProfile
from ..dispatch.tb_selection import TbSelection
from ..dispatch.tb_supply import TbSupply
from ..dispatch.tb_table import TbTable
from ..dispatch.yield_control import YieldControl
from ..interfaces import payloads as payload
from ..interfaces.core_ports import ResidencyPort
from ..interfaces.dispatch_ports import FaultEventPort
from ..interfaces.gpu_ports import TbSupplyPort, written_event
from ..interfaces.port import Port
from ..interfaces.yielding import LeavePort, YieldPort, notice, watch_event
from .command_ports import DispatchPort
from .dispatcher_ports import DispatchStatusPort, EngineTbPort
from .grid_walker import GridWalker

__all__ = ["Dispatcher"]


class Dispatcher(wiring.Component):
    """Grid walker, admission, launcher, TB table, completion and fault unit.

    ::

        commands --start, eligible--> grid --next--> admission --fresh--> launcher
                                                     ^      |                |
                        engine --admit---------------+      +--> tb_table    |
                           |                                        ^        v
                           +---warp_init, stack_push, start---------|-> launches --> core
                           +---release--> completion --remove-------+  (engine first)
                                            faults --kill--> core

    Parameters
    ----------
    g : Geometry

    Attributes
    ----------
    kernels : array of kernel_info, in
        The kernel slots.
    commands : DispatchPort, in
        The command processor.
    engine : EngineTbPort, in
        The preemption engine.
    residency : ResidencyPort, out
        Warps that are launched, freed, killed and forgotten.
    exited : Signal(warps), in
        Vector: warps that have ended, and of which nothing is outstanding.
    issued, issuer : Signal, in
        A warp retires an instruction; its number. Both exist only with `Geometry.profile`.
    reports : payloads.fault_reports, in
        Faults of the core's blocks; of those in one cycle one is recorded.
    fault_event : FaultEventPort, out
        The bit of register ``event`` for faults.
    tbs : array of tb_info, out
        The TB slots as the core sees them.
    clear : warp_clear, out
        A warp is put into its slot in this cycle.
    clear_lines : line_range, out
        Lines of shared memory given to a TB in this cycle.
    status : DispatchStatusPort, out
        State of the TBs and kernels for registers.
    supply : TbSupplyPort, out; idle : Signal(kernel_slots), out
        Source of fresh TBs. Vector: nothing that the SM has launched of the kernel is left, on it
        or saved. Both exist only on one of several SMs.
    yields : YieldPort, in; watch : watch_event, in
        TBs that yield; what they watch. Both exist only with `Geometry.watches`.
    written : written_event, in; notice : notice, in
        Likewise: what the SMs and the host have written.
    leaves : LeavePort, out
        Likewise: the command processor, which has TBs saved and brought back.
    """

    kernels: data.View
    commands: Port
    engine: Port
    residency: Port
    exited: Signal
    issued: Signal
    issuer: Signal
    reports: data.View
    fault_event: Port
    tbs: data.View
    clear: data.View
    clear_lines: data.View
    status: Port
    supply: Port
    idle: Signal
    yields: Port
    watch: data.View
    written: data.View
    notice: data.View
    leaves: Port

    def __init__(self, g: Geometry):
        self.geometry = g
        super().__init__({
            "kernels": In(data.ArrayLayout(payload.kernel_info(g), g.kernel_slots)),
            "commands": In(DispatchPort(g)), "engine": In(EngineTbPort(g)),
            "residency": Out(ResidencyPort(g)), "exited": In(g.warps),
            **({"issued": In(1), "issuer": In(payload.below(g.warps))} if g.profile else {}),
            "reports": In(payload.fault_reports(g)), "fault_event": Out(FaultEventPort()),
            "tbs": Out(data.ArrayLayout(payload.tb_info(g), g.tb_slots)),
            "clear": Out(payload.warp_clear(g)), "clear_lines": Out(payload.line_range(g)),
            "status": Out(DispatchStatusPort(g)),
            **({"supply": Out(TbSupplyPort(g)), "idle": Out(g.kernel_slots)}
               if g.has_uncore else {}),
            **({"yields": In(YieldPort(g)), "watch": In(watch_event(g)),
                "written": In(written_event()), "notice": In(notice()), "leaves": Out(LeavePort(g))}
               if g.watches else {}),
        })

    def elaborate(self, platform: Any):
        m = Module()
        g = self.geometry
        m.submodules.grid = grid = TbSupply(g) if g.has_uncore else GridWalker(g)
        m.submodules.admission = admission = Admission(g)
        m.submodules.launcher = launcher = Launcher(g)
        m.submodules.launches = launches = LaunchPriority(g)
        m.submodules.tb_table = table = TbTable(g)
        m.submodules.completion = completion = Completion(g)
        m.submodules.faults = faults = FaultUnit(g)
        self._launch(m, grid, admission, launcher, launches)
        self._residents(m, table, admission, completion, faults)
        self._end(m, completion, faults, launches)
        self._engine(m, admission, completion, faults, table)
        self._progress(m, grid, admission, completion, faults, table)
        if g.in_place:
            m.submodules.planner = planner = RoomPlanner(g)
            m.d.comb += [planner.kernels.eq(self.kernels),
                         planner.registers.eq(admission.registers),
                         planner.lines.eq(admission.lines),
                         planner.evictable.eq(self.engine.staying.evictable),
                         planner.request.eq(self.engine.plan_request),
                         self.engine.plan.eq(planner.plan)]
        if g.watches:
            self._yield(m, grid, admission, completion, table)
        if g.profile:
            self._profile(m, launches, completion, faults, table)
        return m

    def _launch(self, m: Module, grid: GridWalker | TbSupply, admission: Admission,
                launcher: Launcher, launches: LaunchPriority):
        """Lead TBs from the grid, and from the engine, to the core."""
        commands = self.commands
        wiring.connect(m, admission.grid, grid.fresh)
        wiring.connect(m, wiring.flipped(self.engine.admit), admission.admit)
        wiring.connect(m, admission.fresh, launcher.tb)
        wiring.connect(m, wiring.flipped(self.engine.launch), launches.restored)
        wiring.connect(m, launcher.launch, launches.fresh)
        wiring.connect(m, launches.merged, wiring.flipped(self.residency.launch))
        warp = launches.merged.warp_init
        m.d.comb += [
            launcher.hold.eq(launches.hold), grid.start.eq(commands.start),
            admission.kernels.eq(self.kernels), admission.footprints.eq(commands.footprints),
            admission.eligible.eq(commands.eligible), admission.start.eq(commands.start),
            commands.launching.eq(admission.launching), commands.evict.eq(admission.evict),
            self.residency.invalidate.eq(commands.invalidate),
            self.clear_lines.eq(admission.clear_lines),
            self.clear.valid.eq(warp.valid & warp.ready), self.clear.warp.eq(warp.payload.warp),
            self.clear.kept.eq(warp.payload.kept),
        ]
        if isinstance(grid, GridWalker):
            m.d.comb += grid.kernels.eq(self.kernels)
        if self.geometry.in_place:
            m.d.comb += [commands.hopeless.eq(admission.hopeless),
                         admission.stuck.eq(commands.stuck)]

    def _residents(self, m: Module, table: TbTable, admission: Admission, completion: Completion,
                   faults: FaultUnit):
        """Connect the TB table to the blocks that read and change it."""
        wiring.connect(m, table.room, admission.room)
        for part in (admission, faults, table):
            m.d.comb += part.remove.eq(completion.remove)
        for part in (completion, faults, self.status, self.engine):
            m.d.comb += part.resident.eq(table.resident)
        m.d.comb += [
            table.start.eq(self.residency.launch.start), self.tbs.eq(table.tbs),
            self.commands.present.eq(table.present), self.commands.running.eq(table.running),
            self.status.tb_count.eq(table.tb_count),
            self.status.warp_count.eq(table.room.warp_count),
        ]

    def _end(self, m: Module, completion: Completion, faults: FaultUnit, launches: LaunchPriority):
        """Connect the blocks that end TBs."""
        commands, residency = self.commands, self.residency
        warp, clear = launches.merged.warp_init.payload, self.clear
        wiring.connect(m, faults.event, wiring.flipped(self.fault_event))
        m.d.comb += [
            completion.exited.eq(self.exited), completion.losable.eq(residency.losable),
            completion.forsaken.eq(faults.forsaken), completion.discard.eq(commands.discard),
            completion.start.eq(commands.start), faults.start.eq(commands.start),
            faults.kill_kernels.eq(commands.kill), faults.reports.eq(self.reports),
            faults.init.valid.eq(clear.valid), faults.init.warp.eq(warp.warp),
            faults.init.block_warp.eq(warp.block_warp),
            residency.free.eq(completion.free), residency.forget.eq(completion.forget),
            residency.kill.eq(faults.kill),
            commands.accesses_outstanding.eq(residency.lingering),
            commands.room_freed.eq(completion.remove.any() | (
                self.engine.staying.release.any() if self.geometry.in_place else 0)),
        ]

    def _engine(self, m: Module, admission: Admission, completion: Completion, faults: FaultUnit,
                table: TbTable):
        """Connect the TBs that the engine saves and restores."""
        engine = self.engine
        m.d.comb += [
            engine.admitted.eq(admission.admitted), engine.ended.eq(completion.ended),
            admission.ended.eq(completion.ended), admission.staying.eq(engine.staying),
            completion.claim.eq(engine.claim), faults.claim.eq(engine.claim),
            completion.release.eq(engine.release), completion.adopted.eq(engine.adopted),
            admission.adopted.eq(engine.adopted),
        ]

    def _progress(self, m: Module, grid: GridWalker | TbSupply, admission: Admission,
                  completion: Completion, faults: FaultUnit, table: TbTable):
        """Tell the progress of the kernels."""
        commands, engine, status = self.commands, self.engine, self.status
        m.d.comb += [
            grid.adopted.eq(engine.adopted), status.fault.eq(faults.record),
            status.fault_count.eq(faults.count), status.renewed.eq(
                commands.start | engine.adopted.valid << engine.adopted.kernel)]
        over = [grid.launched[k] == completion.completed[k]
                for k in range(self.geometry.kernel_slots)]
        for k, progress in enumerate(engine.progress):
            m.d.comb += [
                progress.launched.eq(grid.launched[k]), progress.exhausted.eq(grid.exhausted[k]),
                progress.completed.eq(completion.completed[k]),
                *(progress[f"next_{name}"].eq(grid.places[k][name]) for name in "xyz"),
                status.kernels[k].launched.eq(grid.launched[k]),
                status.kernels[k].completed.eq(completion.completed[k]),
                status.kernels[k].faults.eq(faults.faults[k])]
        if isinstance(grid, TbSupply):
            self._supply(m, grid, admission, table, Cat(over))
        else:
            m.d.comb += [commands.done[k].eq(grid.exhausted[k] & over[k])
                         for k in range(len(over))]

    def _supply(self, m: Module, grid: TbSupply, admission: Admission, table: TbTable, over: Value):
        """Connect the device that this is one of several SMs of."""
        supply, launching = self.supply, admission.launching
        m.d.comb += [
            *(getattr(grid.port, name).eq(getattr(supply, name))
              for name in ("offered", "exhausted", "places")),
            supply.claim.eq(admission.claim), admission.grant.eq(supply.grant),
            supply.warps.eq(table.room.warp_count), self.commands.done.eq(supply.done),
            self.idle.eq(over & ~(launching.valid << launching.kernel)),
        ]

    def _yield(self, m: Module, grid: GridWalker | TbSupply, admission: Admission,
               completion: Completion, table: TbTable):
        """Connect the TBs that leave the SM by themselves."""
        g, commands = self.geometry, self.commands
        m.submodules.yields = yields = YieldControl(g)
        wiring.connect(m, wiring.flipped(self.yields), yields.core)
        wiring.connect(m, yields.leaves, wiring.flipped(self.leaves))
        m.d.comb += [
            *(getattr(yields, name).eq(getattr(self, name))
              for name in ("watch", "written", "notice")),
            yields.resident.eq(table.resident), yields.started.eq(table.running),
            yields.insert.eq(table.room.insert), yields.remove.eq(completion.remove),
            yields.running.eq(commands.running_kernels),
            yields.resuming.eq(commands.resuming_kernels),
            yields.forget.eq(commands.forget), yields.start.eq(commands.start),
            yields.exhausted.eq(Cat(grid.exhausted[k] for k in range(g.kernel_slots))),
            yields.blocked.eq(admission.blocked), yields.crowded.eq(admission.crowded),
            yields.fresh_launched.eq(admission.grid.advance.valid),
            self.engine.away.eq(yields.away), self.status.away.eq(yields.away),
            self.status.yields.eq(yields.yields),
        ]

    def _profile(self, m: Module, launches: LaunchPriority, completion: Completion,
                 faults: FaultUnit, table: TbTable):
        """Count what TBs take."""
        m.submodules.profile = profile = TbProfile(self.geometry)
        m.d.comb += [
            profile.resident.eq(table.resident), profile.start.eq(launches.merged.start),
            profile.fresh.eq(~launches.hold), profile.issued.eq(self.issued),
            profile.issuer.eq(self.issuer), profile.remove.eq(completion.remove),
            profile.ended.eq(completion.ended.valid
                             & ~(completion.remove & faults.killed).any()),
            profile.clear.eq(self.status.renewed), self.status.ages.eq(profile.ages),
            self.status.profiles.eq(profile.profiles),
        ]
        if self.geometry.proactive:
            self._select(m, launches, completion, table)

    def _select(self, m: Module, launches: LaunchPriority, completion: Completion, table: TbTable):
        """Choose what becomes of TBs once a launch is announced."""
        m.submodules.selection = selection = TbSelection(self.geometry)
        wiring.connect(m, wiring.flipped(self.commands.selection), selection.port)
        m.d.comb += [
            selection.resident.eq(table.resident), selection.ages.eq(self.status.ages),
            selection.profiles.eq(self.status.profiles),
            *(selection.usual[k].eq(self.kernels[k].usual_cycles)
              for k in range(self.geometry.kernel_slots)),
            selection.footprints.eq(self.commands.footprints),
            selection.start.eq(launches.merged.start), selection.remove.eq(completion.remove),
            selection.clear.eq(self.status.renewed), self.status.selections.eq(selection.counts),
        ]
