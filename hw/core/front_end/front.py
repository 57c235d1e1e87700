"""Front end of the SM: fetch, decode, scoreboard, SIMT stack, issue, barriers, uniform data path.

::

    FetchUnit (cache, decoder, idle pp) --fill--> InstructionBuffer --> IssueStage --issue-->
        ^   |                                 Scoreboard --hazard-->  ^   |   |   ExecutePipeline
        |   |              UniformRegisters <--> UniformUnit <--------+   |   |
        |   +---------skip----> SimtStack <---------command-----------|---+   |
        +---alive--- WarpTable <---waits, parks, faults ... ----------+-------+
                       ^  `--waiting--> BarrierUnit --release--> WarpTable
                       warp_init, start, free, kill, pending, stop_now

    WarpGenerations --generations--> LoadStore, ConstantUnit   (forget: all blocks of a warp's slot)
"""

from typing import Any

from amaranth.hdl import Array, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ...arch.faults import Fault
from ...arch.geometry import PC_BITS, Geometry
from ...interfaces import payloads as payload
from ...interfaces.core_ports import CompletionPort, IssuePort, ResidencyPort
from ...interfaces.gpu_ports import sm_number
from ...interfaces.observation import cache_lookup, observation
from ...interfaces.port import Port
from ...interfaces.preemption_port import StopPort, WarpStatePort, WarpWindow
from ...interfaces.yielding import YieldPort
from ...memory.ports import ReadInterface, ReadPort
from ..execution_units import MEMORY_UNITS, SIDE_UNITS
from .barriers import BarrierUnit
from .decode import OPCODE_BITS
from .fetch import FetchUnit
from .generations import WarpGenerations
from .instruction_buffer import InstructionBuffer
from .issue import UNITS, IssueStage
from .scoreboard import OutstandingOperations, Scoreboard, register_masks
from .simt_stack import SimtStack, StackCommand
from .uniform import UniformUnit
from .uniform_registers import UniformRegisters
from .warp_table import WarpTable

__all__ = ["FrontEnd"]


class FrontEnd(wiring.Component):
    """The part of the SM before the operands are read: all per-warp control state, one issue slot
    per cycle.

    A warp has at most one instruction between fetch and issue, so nothing is speculative. Fetch
    takes 2 cycles with a cache hit, issue 1: a warp by itself issues every third cycle.
    Initialising a warp or pushing a stack entry takes the issue slot of its cycle.

    Parameters
    ----------
    g : Geometry
    observed : bool
        The front end has ports `observation` and `lookup`, for simulations.

    Attributes
    ----------
    kernels, tbs : arrays, in
        `payloads.kernel_info` of the kernel slots, `payloads.tb_info` of the TB slots.
    residency : ResidencyPort, in
        Launches warps, frees their slots, kills and forgets them.
    stop : StopPort, in
        Stops the warps of kernels.
    state : WarpStatePort, in
        Reads what a warp holds, and writes its uniform registers.
    inspect : WarpWindow, in
        A second window on the control state of a warp.
    occupancy : out
        Vectors: slots that hold a warp (`valid`); warps at a barrier (`waiting`); started, and
        neither out of lanes nor killed (`active`).
    execute : IssuePort, out
        Instructions to `ExecutePipeline`.
    global_completion, shared_completion, constant_completion : CompletionPort, in
        Completions of `LoadStore`, `SharedMemory` and `ConstantUnit`.
    constant : stream of payloads.uniform_write, in
        Constants for uniform registers.
    cycle : Signal(64), in
        Value that ``us2r`` of the clock reads.
    sm_index : Signal(SM_BITS), in
        Value that ``us2r`` of the SM's number reads; only with `Geometry.has_uncore`.
    fault : payloads.fault_report, out
        At most one fault is reported per cycle.
    icache_port : ReadPort, out
        Fills of the instruction cache.
    yields : YieldPort, out
        Thread blocks that wait for memory to change; exists only with `Geometry.watches`.
    trace, trace_uniform : out
        An instruction that left the issue stage, and a uniform register that was written; for
        simulations.
    observation : observation, out
        State of each warp in this cycle.
    lookup : cache_lookup, out
        Lookup of an instruction.

    Notes
    -----
    A warp has one write of a uniform register outstanding at most: any use of its uniform registers
    waits for it (`UniformUnit.LATENCY` cycles). A global atomic waits for the warp's global loads,
    stores and atomics, and they wait for it. Faults are reported one cycle after the instruction
    would have issued, one per cycle. A faulted warp issues nothing more, and is ``stop.exited``
    only once it is killed. A barrier mismatch is reported with the PC of the barrier that one of
    the waiting warps is at.
    """

    kernels: data.View
    tbs: data.View
    residency: Port
    stop: Port
    state: Port
    inspect: Port
    occupancy: data.View
    execute: Port
    global_completion: Port
    shared_completion: Port
    constant_completion: Port
    constant: stream.Interface
    cycle: Signal
    sm_index: Signal
    fault: data.View
    icache_port: ReadInterface
    yields: Port
    trace: data.View
    trace_uniform: data.View
    observation: data.View
    lookup: data.View

    def __init__(self, g: Geometry, observed: bool = False):
        self.geometry, self.observed = g, observed
        super().__init__({
            "kernels": In(data.ArrayLayout(payload.kernel_info(g), g.kernel_slots)),
            "tbs": In(data.ArrayLayout(payload.tb_info(g), g.tb_slots)),
            "residency": In(ResidencyPort(g)), "stop": In(StopPort(g)),
            "state": In(WarpStatePort(g)), "inspect": In(WarpWindow(g)),
            "occupancy": Out(data.StructLayout(dict.fromkeys(("valid", "waiting", "active"),
                                                             g.warps))),
            "execute": Out(IssuePort(g, (row.name for row in SIDE_UNITS))),
            **{f"{row.name}_completion": In(CompletionPort(g, row.completions, row.remote))
               for row in MEMORY_UNITS},
            "constant": In(stream.Signature(payload.uniform_write(g))),
            "cycle": In(64), **sm_number(g),
            "fault": Out(payload.fault_report(g)), "icache_port": Out(ReadPort(g)),
            **({"yields": Out(YieldPort(g))} if g.watches else {}),
            "trace": Out(data.StructLayout({
                "valid": 1, "warp": payload.below(g.warps), "pc": PC_BITS, "mask": g.warp_size,
                "op": OPCODE_BITS})),
            "trace_uniform": Out(payload.uniform_trace(g)),
            **({"observation": Out(observation(g)), "lookup": Out(cache_lookup())} if observed
               else {}),
        })

    def elaborate(self, platform: Any):
        m = Module()
        g = self.geometry
        m.submodules.fetch = fetch = FetchUnit(g, self.observed)
        m.submodules.buffer = buffer = InstructionBuffer(g)
        m.submodules.scoreboard = scoreboard = Scoreboard(g, self.observed)
        m.submodules.outstanding = outstanding = OutstandingOperations(g)
        m.submodules.issue = issue = IssueStage(g, self.observed)
        m.submodules.stack = stack = SimtStack(g)
        m.submodules.table = table = WarpTable(g)
        m.submodules.barriers = barriers = BarrierUnit(g)
        m.submodules.uniforms = uniforms = UniformRegisters(g)
        m.submodules.uniform = uniform = UniformUnit(g)
        m.submodules.generations = generations = WarpGenerations(g)
        self._fetch(m, fetch, buffer, scoreboard, stack, table)
        self._issue(m, issue, buffer, stack, table)
        self._dependences(m, issue, buffer, scoreboard, outstanding, table, uniforms)
        self._uniform(m, issue, uniforms, uniform)
        self._launch(m, issue, stack, table, uniform)
        self._barriers(m, barriers, issue, stack, table)
        self._report(m, barriers, issue, stack, table)
        self._views(m, stack, table)
        self._forget(m, generations, fetch, scoreboard, outstanding, uniforms)

        quiet = Signal(g.warps)
        settled = Signal(g.warps)  # nothing is outstanding but accesses over the bus
        m.d.comb += [
            settled.eq(~(scoreboard.near | outstanding.shared | uniforms.near | stack.settling
                         | self.execute.holding)),
            self.residency.losable.eq(table.ended & settled & generations.able),
            quiet.eq(~(scoreboard.pending | outstanding.loads | outstanding.stores
                       | outstanding.shared
                       | outstanding.atomics | uniforms.outstanding | stack.settling)),
            self.stop.exited.eq(table.ended & quiet),
            self.stop.stopped.eq((table.parked | table.waiting & table.pending_warps) & quiet
                                 & ~table.ended),
            self.occupancy.valid.eq(table.valid), self.occupancy.waiting.eq(table.waiting),
            self.occupancy.active.eq(table.active),
        ]
        if self.observed:
            self._observe(m, issue, buffer, scoreboard, table, uniforms, fetch)
        return m

    def _observe(self, m: Module, issue: IssueStage, buffer: InstructionBuffer,
                 scoreboard: Scoreboard, table: WarpTable, uniforms: UniformRegisters,
                 fetch: FetchUnit):
        """Tell what each warp does."""
        shown = self.observation
        held, ready = buffer.held & table.alive, issue.conditions.ready
        near = ~scoreboard.far & (scoreboard.hazard | buffer.uses_u & uniforms.near)
        m.d.comb += [
            shown.issued.eq(issue.grant), shown.passed_over.eq(issue.requests & ~issue.grant),
            shown.issue.eq(ready & ~issue.requests),
            shown.scoreboard.eq(held & ~ready & near), shown.memory.eq(held & ~ready & ~near),
            shown.fetch.eq(table.alive & ~held), shown.barrier.eq(table.active & table.waiting),
            shown.stopped.eq(table.active & ~table.waiting & ~table.alive),
            self.lookup.eq(fetch.lookup),
        ]

    def _forget(self, m: Module, generations: WarpGenerations, fetch: FetchUnit,
                scoreboard: Scoreboard, outstanding: OutstandingOperations,
                uniforms: UniformRegisters):
        """Let every block begin anew with the slots of forgotten warps."""
        residency, lingering = self.residency, fetch.lingering
        for block in (generations, fetch, scoreboard, outstanding, uniforms):
            m.d.comb += block.forget.eq(residency.forget)
        for row in MEMORY_UNITS:
            if row.remote:
                port = getattr(self, f"{row.name}_completion")
                m.d.comb += [port.forget.eq(residency.forget.any()),
                             port.generations.eq(generations.generations)]
                lingering = lingering | port.lingering
        m.d.comb += [residency.lingering.eq(lingering),
                     generations.lingering.eq(residency.lingering)]

    def _fetch(self, m: Module, fetch: FetchUnit, buffer: InstructionBuffer, scoreboard: Scoreboard,
               stack: SimtStack, table: WarpTable):
        """Fetch unit, and what a fetched instruction fills."""
        wiring.connect(m, wiring.flipped(self.icache_port), fetch.icache_port)
        wiring.connect(m, fetch.table, table.fetch)
        wiring.connect(m, fetch.stack, stack.fetch)
        reads, predicates, writes, predicates_written = register_masks(self.geometry, fetch.op)
        m.d.comb += [
            fetch.kernels.eq(self.kernels), fetch.invalidate.eq(self.residency.invalidate),
            fetch.wanting.eq(table.alive & ~buffer.held & ~stack.settling),
            buffer.fill.eq(fetch.fill), buffer.op.eq(fetch.op),
            scoreboard.fill.valid.eq(fetch.fill.valid), scoreboard.fill.warp.eq(fetch.fill.warp),
            scoreboard.fill.registers.eq(reads | writes),
            scoreboard.fill.predicates.eq(predicates | predicates_written),
        ]

    def _issue(self, m: Module, issue: IssueStage, buffer: InstructionBuffer, stack: SimtStack,
               table: WarpTable):
        """Issue stage, and what it picks an instruction from."""
        wiring.connect(m, issue.issue, wiring.flipped(self.execute.op))
        wiring.connect(m, issue.predicates, wiring.flipped(self.execute.predicates))
        wiring.connect(m, issue.instructions, buffer.read)
        wiring.connect(m, issue.table, table.issue)
        conditions = issue.conditions
        m.d.comb += [
            conditions.uses["global"].eq(buffer.load | buffer.store | buffer.atomic),
            conditions.throttle.eq(self.execute.throttle),
            issue.stack.overflow.eq(stack.work.overflow), issue.stack.top.eq(stack.work.top),
            buffer.drop.eq(~table.alive | issue.table.retires | issue.fault.warps
                           | (issue.traps if self.geometry.traps else 0)),
            self.trace.eq(issue.trace), self.stop.issued.eq(issue.trace.valid),
            self.stop.issuer.eq(issue.trace.warp),
        ]
        if self.geometry.traps:
            bases = Array(kernel.trap_base for kernel in self.kernels)
            m.d.comb += [table.trap.eq(self.stop.trap),
                         issue.trap_base.eq(bases[table.issue.identity.kernel])]
        m.d.comb += [conditions.uses[unit].eq(getattr(buffer, unit)) for unit in UNITS
                     if unit != "global"]
        m.d.comb += [conditions.room[row.name].eq(self.execute.room[row.name])
                     for row in SIDE_UNITS]
        m.d.comb += [conditions.room[row.name].eq(getattr(self, f"{row.name}_completion").room)
                     for row in MEMORY_UNITS]

    def _dependences(self, m: Module, issue: IssueStage, buffer: InstructionBuffer,
                     scoreboard: Scoreboard, outstanding: OutstandingOperations, table: WarpTable,
                     uniforms: UniformRegisters):
        """Connect the dependences of the instructions held, and the effects of an issued one."""
        loads, stores, atomics = outstanding.loads, outstanding.stores, outstanding.atomics
        # Loads, stores and atomics of one warp are not outstanding together: this orders them.
        blocked = (buffer.load & (stores | atomics | outstanding.loads_full)
                   | buffer.store & (loads | atomics | outstanding.stores_full)
                   | buffer.atomic & (loads | stores | atomics)
                   | buffer.shared & outstanding.shared_full
                   | buffer.uses_u & uniforms.outstanding
                   | buffer.sync & (loads | stores | atomics | outstanding.shared))
        wiring.connect(m, issue.operations, outstanding.issued)
        m.d.comb += [
            issue.conditions.ready.eq(buffer.held & table.alive & ~scoreboard.hazard & ~blocked),
            scoreboard.reserve.eq(issue.reserve),
            scoreboard.release_register.eq(self.execute.release_register),
            scoreboard.release_predicate.eq(self.execute.release_predicate),
            outstanding.load_done.eq(self.global_completion.load),
            outstanding.store_done.eq(self.global_completion.store),
            outstanding.shared_done.eq(self.shared_completion.shared),
            outstanding.atomic_done.eq(self.global_completion.atomic),
            uniforms.reserve.eq(issue.uniform_writes), uniforms.remote.eq(issue.reserve.remote),
        ]

    def _uniform(self, m: Module, issue: IssueStage, uniforms: UniformRegisters,
                 uniform: UniformUnit):
        """Uniform registers and their unit."""
        init, save = self.residency.launch.warp_init, self.state.save
        wiring.connect(m, issue.uniform_op, uniform.op)
        wiring.connect(m, issue.uniforms, uniforms.read)
        wiring.connect(m, uniform.result, uniforms.result)
        wiring.connect(m, wiring.flipped(self.constant), uniforms.constant)
        wiring.connect(m, uniform.predicate, wiring.flipped(self.execute.uniform_predicate))
        m.d.comb += [
            uniform.kernels.eq(self.kernels), uniform.tbs.eq(self.tbs),
            uniform.cycle.eq(self.cycle),
            *([uniform.sm_index.eq(self.sm_index)] if self.geometry.has_uncore else []),
            uniforms.clear.valid.eq(init.valid & init.ready),
            uniforms.clear.warp.eq(init.payload.warp),
            uniforms.restore.eq(self.state.restore_uniform),
            uniforms.save_warp.eq(save.window.select.warp),
            uniforms.save_select.eq(save.uniform_select),
            save.uniforms_written.eq(uniforms.written),
            save.uniform_values.eq(uniforms.save_values),
            self.trace_uniform.eq(uniforms.trace),
        ]

    def _launch(self, m: Module, issue: IssueStage, stack: SimtStack, table: WarpTable,
                uniform: UniformUnit):
        """Give the SIMT stack the commands of a launch; without one, those of the issue stage."""
        launch, work, do = self.residency.launch, stack.work, stack.work.command
        init, push = launch.warp_init, launch.stack_push
        starting = Signal()
        m.d.comb += [
            init.ready.eq(~stack.busy), push.ready.eq(~stack.busy & ~init.valid),
            starting.eq(init.valid | push.valid),
            issue.conditions.hold.eq(stack.busy | starting),
            table.init.eq(init.payload), table.init_valid.eq(init.valid & init.ready),
            table.start.eq(launch.start), table.free.eq(self.residency.free),
            table.kill.eq(self.residency.kill),
            table.pending.eq(self.stop.pending), table.stop_now.eq(self.stop.stop_now),
        ]
        with m.If(init.valid):
            m.d.comb += [work.warp.eq(init.payload.warp), work.kind.eq(StackCommand.INIT),
                         do.live.eq(init.payload.live)]
        with m.Elif(push.valid):
            m.d.comb += [work.warp.eq(push.payload.warp),
                         work.kind.eq(StackCommand.PUSH), do.pc.eq(push.payload.pc),
                         do.mask.eq(push.payload.mask), do.reconv.eq(push.payload.reconv)]
        with m.Else():
            m.d.comb += [work.warp.eq(issue.stack.warp), work.kind.eq(issue.stack.kind),
                         do.eq(issue.stack.command)]

    def _barriers(self, m: Module, barriers: BarrierUnit, issue: IssueStage, stack: SimtStack,
                  table: WarpTable):
        """Warp states that instructions change, and barriers."""
        m.d.comb += [
            barriers.active.eq(table.active), barriers.waiting.eq(table.waiting),
            barriers.faulted.eq(table.faulted), barriers.pending.eq(table.pending_warps),
            table.releases.eq(barriers.release), table.emptied.eq(stack.emptied),
            stack.waiter_warp.eq(barriers.mismatch_index),
        ]
        if self.geometry.watches:
            m.d.comb += [barriers.yields.eq(table.yielding), barriers.held.eq(self.yields.hold),
                         self.yields.waits.eq(barriers.yielding),
                         self.yields.cancel.eq(issue.cancels)]
        m.d.comb += [warps.eq(members)
                     for warps, members in zip(barriers.members, table.members, strict=True)]
        m.d.comb += [plane.eq(bits)
                     for plane, bits in zip(barriers.barriers, table.barriers, strict=True)]

    def _report(self, m: Module, barriers: BarrierUnit, issue: IssueStage, stack: SimtStack,
                table: WarpTable):
        """Report faults of the issue stage, and barrier mismatches."""
        fault = issue.fault.warps.any()
        # One report per cycle: a mismatch stays until it has been reported.
        mismatch = barriers.mismatch.any() & ~fault
        report = Signal.like(self.fault)
        m.d.comb += [
            report.valid.eq(mismatch | fault),
            table.faults.eq(Mux(mismatch, barriers.mismatch, issue.fault.warps)),
            report.kind.eq(Mux(mismatch, Fault.BARRIER_MISMATCH, issue.fault.kind)),
            report.warp.eq(Mux(mismatch, barriers.mismatch_index, issue.fault.warp)),
            report.pc.eq(Mux(mismatch, stack.waiter_pc - 1, issue.fault.pc)),
        ]
        m.d.sync += self.fault.eq(report)

    def _views(self, m: Module, stack: SimtStack, table: WarpTable):
        """The two windows on a warp's state."""
        for number, window in enumerate((self.state.save.window, self.inspect)):
            select, view = window.select, window.view
            entry, identity = stack.view[number], table.view_identity[number]

            def bit(vector: Value, warp: Value = select.warp):
                return vector.bit_select(warp, 1)

            m.d.comb += [
                stack.view_select[number].eq(select), table.view_warp[number].eq(select.warp),
                view.valid.eq(bit(table.valid)), view.waiting.eq(bit(table.waiting)),
                view.parked.eq(bit(table.parked)), view.between.eq(bit(table.between)),
                view.exited.eq(bit(self.stop.exited)),
                view.live_vector.eq(table.view_live[number]),
                view.depth.eq(entry.depth), view.live.eq(entry.live), view.pc.eq(entry.pc),
                view.mask.eq(entry.mask), view.reconv.eq(entry.reconv),
            ]
            m.d.comb += [view[name].eq(identity[name]) for name in (
                "tb", "kernel", "block_warp", "base", "registers", "launched")]
            m.d.comb += [view.barrier[plane].eq(bit(vector))
                         for plane, vector in enumerate(table.barriers)]
