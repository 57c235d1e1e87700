"""Front end of the SM: fetch, decode, scoreboard, SIMT stack, issue, barriers, uniform data path.

::

    FetchUnit (cache, decoder, idle pp) --fill--> InstructionBuffer --> IssueStage --issue-->
        ^   |                                 Scoreboard --hazard-->  ^   |   |   ExecutePipeline
        |   |              UniformRegisters <--> UniformUnit <--------+   |   |
        |   +---------skip----> SimtStack <---------command-----------|---+   |
        +---alive--- WarpTable <---waits, parks, faults ... ----------+-------+
                       ^  `--waiting--> BarrierUnit --release--> WarpTable
                       warp_init, start, free, kill, pending, stop_now
"""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ...arch.faults import Fault
from ...arch.geometry import PC_BITS, PREDICATES, UNIFORMS, Geometry
from ...interfaces import payloads as payload
from ...lib.vectors import one_hot
from ...memory.ports import ReadInterface, ReadPort
from .barriers import BarrierUnit
from .fetch import FetchUnit
from .instruction_buffer import InstructionBuffer
from .issue import PLACES, UNITS, IssueStage
from .scoreboard import OutstandingOperations, Scoreboard, register_masks
from .simt_stack import SimtStack, StackCommand
from .uniform import UniformRegisters, UniformUnit
from .warp_table import WarpTable

__all__ = ["FrontEnd"]


class FrontEnd(wiring.Component):
    """Everything of the SM before the operands are read: all per-warp control state, one issue slot
    a cycle.

    A warp has at most one instruction between fetch and issue, so nothing is speculative. Fetch
    takes 2 cycles with a cache hit, issue 1: a warp by itself issues every third cycle.
    Initialising a warp or pushing a stack entry takes the issue slot of its cycle.

    Parameters
    ----------
    g : Geometry

    Attributes
    ----------
    kernels, tbs : arrays, in
        `payloads.kernel_info` of the kernel slots, `payloads.tb_info` of the TB slots.
    warp_init, stack_push : streams, in; start : in
        Launch and restore: any number of warps are initialised and their stacks pushed, bottom
        first; then their TB is started (`valid` for one cycle).
    free, kill : Signal(warps), in
        Vectors: slots that become empty, whose warps are exited, stopped or killed; warps that
        issue nothing more and become `exited` when nothing of them is outstanding.
    pending, stop_now : Signal(kernel_slots), in
        Vectors: kernels whose warps stop at preemption points and whose full barriers are held;
        those of them whose warps stop at the next instruction.
    stopped, exited : Signal(warps), out
        Vectors, of warps of which nothing is outstanding: parked, or at a barrier while pending;
        out of lanes or killed.
    valid, waiting, active : Signal(warps), out
        Vectors: slots that hold a warp; warps at a barrier; started, and neither out of lanes nor
        killed.
    save_select, inspect_select : in; save_view, inspect_view : interfaces.warp_view, out
        A warp and an entry of its stack, and what is held of them. Combinational.
    invalidate : Signal(1), in
        The instruction cache forgets everything.
    issued : Signal(1), out
        An instruction retires in this cycle.
    issue : stream of interfaces.issue, out; throttle : Signal(1), in
        To `ExecutePipeline`; with `throttle` no ALU instruction issues in this cycle.
    predicate_select : out; predicate_guard, predicate_pa, predicate_pb : Signal(warp_size), in
        Predicates of the warp about to issue, combinational.
    release_register, release_predicate : in
        `valid` for one cycle: written, no longer pending.
    global_room, shared_room, constant_room, f64_room, sfu_room, exchange_room : Signal(1), in
        One cycle: the unit gives a place back. At reset a memory unit has `unit_queue`, the others
        one.
    load_done, store_done, atomic_done, shared_done : interfaces.completion, in
        A global load has written its data; a global store is acknowledged; a global atomic, a
        shared access is complete.
    cycle : Signal(32), in
        What ``us2r`` of the clock reads.
    uniform_param_select : out; uniform_param_value : Signal(32), in
        A word of a kernel's parameters, combinational.
    uniform_write : stream of interfaces.uniform_write, in
        Constants for uniform registers.
    uniform_predicate : stream of interfaces.predicate_write, out
        Predicates set by the uniform data path.
    save_uniforms : Signal(UNIFORMS), out; save_uniform_select : Signal, in
    save_uniform : Signal(32), out
        Of warp `save_select.warp`: uniform registers written, and the value of one. Combinational.
    restore_uniform : in
        A uniform register, written with `valid`.
    fault : interfaces.fault_report, out
        One a cycle.
    icache_port : ReadPort, out
        Of the instruction cache.
    trace, trace_uniform : out
        For simulations: an instruction that left the issue stage, a uniform register that was
        written.

    Notes
    -----
    `issue.ready`, `throttle` and the predicates read through `predicate_select` are used within the
    cycle; the first two must not depend on `issue.valid` or its payload. A warp has one write of a
    uniform register outstanding at most: whatever touches its uniform registers waits for it
    (`UniformUnit.LATENCY` cycles). A global atomic waits for the warp's global loads, stores and
    atomics, and they wait for it. Faults are reported one cycle after the instruction would have
    issued (of ``uldp`` three), one a cycle; a faulted warp issues nothing more, and is `exited`
    only once it is killed. A barrier mismatch is reported with the PC of the barrier that one of
    the waiting warps is at.
    """

    kernels: data.View
    tbs: data.View
    warp_init: stream.Interface
    stack_push: stream.Interface
    start: data.View
    free: Signal
    kill: Signal
    pending: Signal
    stop_now: Signal
    stopped: Signal
    exited: Signal
    valid: Signal
    waiting: Signal
    active: Signal
    save_select: data.View
    save_view: data.View
    inspect_select: data.View
    inspect_view: data.View
    invalidate: Signal
    issued: Signal
    issue: stream.Interface
    throttle: Signal
    predicate_select: data.View
    predicate_guard: Signal
    predicate_pa: Signal
    predicate_pb: Signal
    release_register: data.View
    release_predicate: data.View
    global_room: Signal
    shared_room: Signal
    constant_room: Signal
    f64_room: Signal
    sfu_room: Signal
    exchange_room: Signal
    load_done: data.View
    store_done: data.View
    atomic_done: data.View
    shared_done: data.View
    cycle: Signal
    uniform_param_select: data.View
    uniform_param_value: Signal
    uniform_write: stream.Interface
    uniform_predicate: stream.Interface
    save_uniforms: Signal
    save_uniform_select: Signal
    save_uniform: Signal
    restore_uniform: data.View
    fault: data.View
    icache_port: ReadInterface
    trace: data.View
    trace_uniform: data.View

    def __init__(self, g: Geometry):
        self.geometry = g
        index = payload.index
        uniform = data.StructLayout({"valid": 1, "warp": index(g.warps),
                                     "register": range(UNIFORMS), "value": 32})
        super().__init__({
            # the kernels and TBs
            "kernels": In(data.ArrayLayout(payload.kernel_info(g), g.kernel_slots)),
            "tbs": In(data.ArrayLayout(payload.tb_info(g), g.tb_slots)),
            # launch and restore: any number of warps are initialised, their stacks pushed, then
            # their TB is started
            "warp_init": In(stream.Signature(payload.warp_init(g))),
            "stack_push": In(stream.Signature(payload.stack_push(g))),
            "start": In(data.StructLayout({"valid": 1, "tb": index(g.tb_slots)})),
            # vector: these slots become empty (their warps are exited, stopped or killed)
            "free": In(g.warps),
            # vector: these warps issue nothing more and become `exited` when quiet
            "kill": In(g.warps),
            # preemption
            "pending": In(g.kernel_slots),   # stop at preemption points; full barriers are held
            "stop_now": In(g.kernel_slots),  # stop at the next instruction (implies pending)
            "stopped": Out(g.warps),  # vector: parked or held at a barrier while pending, and quiet
            "exited": Out(g.warps),   # vector: no live lane (or killed), and quiet
            "valid": Out(g.warps),    # vector: slots that hold a warp
            "waiting": Out(g.warps),  # vector: at a barrier
            "active": Out(g.warps),   # vector: started, and neither out of lanes nor killed
            "save_select": In(data.StructLayout({"warp": index(g.warps), "entry": 6})),
            "save_view": Out(payload.warp_view(g)),
            "inspect_select": In(data.StructLayout({"warp": index(g.warps), "entry": 6})),
            "inspect_view": Out(payload.warp_view(g)),
            "invalidate": In(1),      # instruction cache: forget everything
            "issued": Out(1),         # an instruction issued (retired) this cycle
            # to the execution pipeline
            "issue": Out(stream.Signature(payload.issue(g))),
            # write back is behind: do not issue an ALU instruction this cycle
            "throttle": In(1),
            "predicate_select": Out(data.StructLayout({
                "warp": index(g.warps), "guard": 3, "pa": 3, "pb": 3})),
            "predicate_guard": In(g.warp_size),  # combinational; index 7 reads all ones
            "predicate_pa": In(g.warp_size),
            "predicate_pb": In(g.warp_size),
            "release_register": In(data.StructLayout({"valid": 1, "warp": index(g.warps),
                                                      "register": 6})),
            "release_predicate": In(data.StructLayout({
                "valid": 1, "warp": index(g.warps), "predicate": range(PREDICATES + 1)})),
            # from the units: one gives back a place (at reset: `unit_queue` in a memory unit, one
            # in the others)
            **{f"{unit}_room": In(1) for unit in PLACES},
            "load_done": In(payload.completion(g)),    # global load complete (all data written)
            "store_done": In(payload.completion(g)),   # global store acknowledged
            "atomic_done": In(payload.completion(g)),  # global atomic complete
            "shared_done": In(payload.completion(g)),  # shared load, store or atomic complete
            # uniform data path
            "cycle": In(32),         # for us2r CLOCK
            "uniform_param_select": Out(data.StructLayout({
                "kernel": index(g.kernel_slots), "word": index(g.param_words)})),
            "uniform_param_value": In(32),  # combinational
            "uniform_write": In(stream.Signature(payload.uniform_write(g))),  # constants
            "uniform_predicate": Out(stream.Signature(payload.predicate_write(g))),
            # uniform registers written, of warp `save_select.warp`
            "save_uniforms": Out(UNIFORMS),
            "save_uniform_select": In(range(UNIFORMS)),
            "save_uniform": Out(32),                 # of the same warp, combinational
            "restore_uniform": In(uniform),
            "fault": Out(payload.fault_report(g)),
            "icache_port": Out(ReadPort(g)),
            "trace": Out(data.StructLayout({
                "valid": 1, "warp": index(g.warps), "pc": PC_BITS, "mask": g.warp_size, "op": 10})),
            "trace_uniform": Out(uniform),  # an instruction wrote a uniform register
        })

    def elaborate(self, platform):
        m = Module()
        g = self.geometry
        m.submodules.fetch = fetch = FetchUnit(g)
        m.submodules.buffer = buffer = InstructionBuffer(g)
        m.submodules.scoreboard = scoreboard = Scoreboard(g)
        m.submodules.outstanding = outstanding = OutstandingOperations(g)
        m.submodules.issue = issue = IssueStage(g)
        m.submodules.stack = stack = SimtStack(g)
        m.submodules.table = table = WarpTable(g)
        m.submodules.barriers = barriers = BarrierUnit(g)
        m.submodules.uniforms = uniforms = UniformRegisters(g)
        m.submodules.uniform = uniform = UniformUnit(g)
        self._fetch(m, fetch, buffer, scoreboard, stack, table)
        self._issue(m, issue, buffer, stack, table)
        self._dependences(m, issue, buffer, scoreboard, outstanding, table, uniforms)
        self._uniform(m, issue, uniforms, uniform)
        self._launch(m, issue, stack, table, uniform)
        self._barriers(m, barriers, issue, stack, table)
        self._report(m, barriers, issue, stack, table, uniform)
        self._views(m, stack, table)

        quiet = Signal(g.warps)
        m.d.comb += [
            quiet.eq(~(scoreboard.pending | outstanding.loads | outstanding.stores
                       | outstanding.shared
                       | outstanding.atomics | uniforms.outstanding | stack.settling)),
            self.exited.eq(table.ended & quiet),
            self.stopped.eq((table.parked | table.waiting & table.pending_warps) & quiet
                            & ~table.ended),
            self.valid.eq(table.valid), self.waiting.eq(table.waiting),
            self.active.eq(table.active),
        ]
        return m

    def _fetch(self, m: Module, fetch, buffer, scoreboard, stack, table):
        """Fetch unit, and what a fetched instruction fills."""
        wiring.connect(m, wiring.flipped(self.icache_port), fetch.icache_port)
        reads, predicates, writes, predicates_written = register_masks(self.geometry, fetch.op)
        m.d.comb += [
            fetch.kernels.eq(self.kernels), fetch.invalidate.eq(self.invalidate),
            fetch.alive.eq(table.alive), fetch.armed.eq(table.armed),
            fetch.pending_warps.eq(table.pending_warps),
            fetch.wanting.eq(table.alive & ~buffer.held & ~stack.settling),
            table.fetch_warp.eq(fetch.fetch_warp), fetch.fetch_kernel.eq(table.fetch_kernel),
            stack.fetch_warp.eq(fetch.fetch_warp), fetch.fetch_pc.eq(stack.fetch_pc),
            stack.decode_warp.eq(fetch.decode_warp), fetch.decode_reconv.eq(stack.decode_reconv),
            stack.skip.eq(fetch.skip),
            buffer.fill.eq(fetch.fill), buffer.op.eq(fetch.op),
            scoreboard.fill.valid.eq(fetch.fill.valid), scoreboard.fill.warp.eq(fetch.fill.warp),
            scoreboard.fill.registers.eq(reads | writes),
            scoreboard.fill.predicates.eq(predicates | predicates_written),
        ]

    def _issue(self, m: Module, issue, buffer, stack, table):
        """Issue stage, and what it picks an instruction from."""
        wiring.connect(m, wiring.flipped(self.issue), issue.issue)
        m.d.comb += [
            issue.uses_global.eq(buffer.load | buffer.store | buffer.atomic),
            issue.armed.eq(table.armed), issue.pending_warps.eq(table.pending_warps),
            issue.throttle.eq(self.throttle),
            issue.overflow.eq(stack.overflow), issue.top.eq(stack.top),
            buffer.warp.eq(issue.warp), issue.instruction.eq(buffer.instruction),
            buffer.drop.eq(~table.alive | issue.retire | issue.faults),
            table.issue_warp.eq(issue.warp), issue.identity.eq(table.issue_identity),
            self.predicate_select.eq(issue.predicate_select),
            issue.predicate_guard.eq(self.predicate_guard),
            issue.predicate_pa.eq(self.predicate_pa), issue.predicate_pb.eq(self.predicate_pb),
            self.trace.eq(issue.trace), self.issued.eq(issue.trace.valid),
        ]
        m.d.comb += [getattr(issue, f"uses_{unit}").eq(getattr(buffer, unit)) for unit in UNITS
                     if unit != "global"]
        m.d.comb += [getattr(issue, f"{unit}_room").eq(getattr(self, f"{unit}_room"))
                     for unit in PLACES]

    def _dependences(self, m: Module, issue, buffer, scoreboard, outstanding, table, uniforms):
        """What the instructions held depend on, and what an issued one leaves behind."""
        loads, stores, atomics = outstanding.loads, outstanding.stores, outstanding.atomics
        blocked = (buffer.load & (stores | atomics | outstanding.loads_full)
                   | buffer.store & (loads | atomics | outstanding.stores_full)
                   | buffer.atomic & (loads | stores | atomics)
                   | buffer.shared & outstanding.shared_full
                   | buffer.uses_u & uniforms.outstanding
                   | buffer.sync & (loads | stores | atomics | outstanding.shared))
        m.d.comb += [
            issue.ready.eq(buffer.held & table.alive & ~scoreboard.hazard & ~blocked),
            scoreboard.reserve.valid.eq(issue.reserve.valid),
            scoreboard.reserve.warp.eq(issue.warp),
            scoreboard.reserve.registers.eq(issue.reserve.registers),
            scoreboard.reserve.predicates.eq(issue.reserve.predicates),
            scoreboard.release_register.eq(self.release_register),
            scoreboard.release_predicate.eq(self.release_predicate),
            outstanding.issue_load.eq(issue.loads), outstanding.issue_store.eq(issue.stores),
            outstanding.issue_shared.eq(issue.shared), outstanding.issue_atomic.eq(issue.atomics),
            outstanding.load_done.eq(self.load_done), outstanding.store_done.eq(self.store_done),
            outstanding.shared_done.eq(self.shared_done),
            outstanding.atomic_done.eq(self.atomic_done), uniforms.reserve.eq(issue.uniform_writes),
        ]

    def _uniform(self, m: Module, issue, uniforms, uniform):
        """Uniform registers and their unit."""
        wiring.connect(m, issue.uniform_op, uniform.op)
        wiring.connect(m, uniform.result, uniforms.result)
        wiring.connect(m, wiring.flipped(self.uniform_write), uniforms.constant)
        wiring.connect(m, uniform.predicate, wiring.flipped(self.uniform_predicate))
        m.d.comb += [
            uniforms.select.eq(issue.uniform_select), issue.uniform_a.eq(uniforms.a),
            issue.uniform_b.eq(uniforms.b), issue.uniform_c.eq(uniforms.c),
            uniform.kernels.eq(self.kernels),
            uniform.tbs.eq(self.tbs), uniform.cycle.eq(self.cycle),
            self.uniform_param_select.eq(uniform.param_select),
            uniform.param_value.eq(self.uniform_param_value),
            uniforms.clear.valid.eq(self.warp_init.valid & self.warp_init.ready),
            uniforms.clear.warp.eq(self.warp_init.payload.warp),
            uniforms.restore.eq(self.restore_uniform),
            uniforms.save_warp.eq(self.save_select.warp),
            uniforms.save_select.eq(self.save_uniform_select),
            self.save_uniforms.eq(uniforms.written), self.save_uniform.eq(uniforms.save_value),
            self.trace_uniform.eq(uniforms.trace),
        ]

    def _launch(self, m: Module, issue, stack, table, uniform):
        """Commands to the SIMT stack: of `warp_init` and `stack_push`, else of the issue stage."""
        init, push, do = self.warp_init, self.stack_push, stack.command
        starting = Signal()
        m.d.comb += [
            init.ready.eq(~stack.busy), push.ready.eq(~stack.busy & ~init.valid),
            starting.eq(init.valid | push.valid),
            issue.hold.eq(stack.busy | starting | uniform.fault.valid),
            table.init.eq(init.payload), table.init_valid.eq(init.valid & init.ready),
            table.start.eq(self.start), table.free.eq(self.free), table.kill.eq(self.kill),
            table.pending.eq(self.pending), table.stop_now.eq(self.stop_now),
        ]
        with m.If(init.valid):
            m.d.comb += [stack.warp.eq(init.payload.warp), do.kind.eq(StackCommand.INIT),
                         do.live.eq(init.payload.live)]
        with m.Elif(push.valid):
            m.d.comb += [stack.warp.eq(push.payload.warp),
                         do.kind.eq(StackCommand.PUSH), do.pc.eq(push.payload.pc),
                         do.mask.eq(push.payload.mask), do.reconv.eq(push.payload.reconv)]
        with m.Else():
            m.d.comb += [stack.warp.eq(issue.warp), do.eq(issue.command)]

    def _barriers(self, m: Module, barriers, issue, stack, table):
        """Warp states that instructions change, and barriers."""
        m.d.comb += [
            barriers.active.eq(table.active), barriers.waiting.eq(table.waiting),
            barriers.faulted.eq(table.faulted), barriers.pending.eq(table.pending_warps),
            table.waits.eq(issue.waits), table.barrier.eq(issue.barrier),
            table.releases.eq(barriers.release),
            table.parks.eq(issue.parks), table.arms.eq(issue.arms), table.disarms.eq(issue.retire),
            table.live.valid.eq(issue.live.valid), table.live.warp.eq(issue.warp),
            table.live.vector.eq(issue.live.vector), table.emptied.eq(stack.emptied),
            stack.waiter_warp.eq(barriers.mismatch_index),
        ]
        m.d.comb += [mine.eq(theirs)
                     for mine, theirs in zip(barriers.members, table.members, strict=True)]
        m.d.comb += [mine.eq(theirs)
                     for mine, theirs in zip(barriers.barriers, table.barriers, strict=True)]

    def _report(self, m: Module, barriers, issue, stack, table, uniform):
        """Fault reports: the uniform unit's (nothing issues in that cycle), the issue stage's,
        a barrier mismatch."""
        warps, fault = self.geometry.warps, issue.faults.any()
        mismatch = barriers.mismatch.any() & ~fault & ~uniform.fault.valid
        report = Signal.like(self.fault)
        with m.If(uniform.fault.valid):
            m.d.comb += [report.eq(uniform.fault),
                         table.faults.eq(one_hot(uniform.fault.warp, warps))]
        with m.Else():
            m.d.comb += [
                report.valid.eq(mismatch | fault),
                table.faults.eq(Mux(mismatch, barriers.mismatch, issue.faults)),
                report.kind.eq(Mux(mismatch, Fault.BARRIER_MISMATCH, issue.fault.kind)),
                report.warp.eq(Mux(mismatch, barriers.mismatch_index, issue.warp)),
                report.pc.eq(Mux(mismatch, stack.waiter_pc - 1, issue.fault.pc)),
            ]
        m.d.sync += self.fault.eq(report)

    def _views(self, m: Module, stack, table):
        """The two windows on a warp's state."""
        ports = ((self.save_select, self.save_view), (self.inspect_select, self.inspect_view))
        for number, (select, view) in enumerate(ports):
            entry, who = stack.view[number], table.view_identity[number]

            def bit(vector, warp=select.warp):
                return vector.bit_select(warp, 1)

            m.d.comb += [
                stack.view_select[number].eq(select), table.view_warp[number].eq(select.warp),
                view.valid.eq(bit(table.valid)), view.waiting.eq(bit(table.waiting)),
                view.parked.eq(bit(table.parked)), view.exited.eq(bit(self.exited)),
                view.live_vector.eq(table.view_live[number]),
                view.depth.eq(entry.depth), view.live.eq(entry.live), view.pc.eq(entry.pc),
                view.mask.eq(entry.mask), view.reconv.eq(entry.reconv),
            ]
            m.d.comb += [view[name].eq(who[name]) for name in ("tb", "kernel", "block_warp", "base",
                                                               "registers", "launched")]
            m.d.comb += [view.barrier[plane].eq(bit(vector))
                         for plane, vector in enumerate(table.barriers)]
