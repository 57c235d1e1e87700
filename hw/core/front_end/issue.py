"""Issue stage: one warp instruction a cycle;
resolves branches, exits, barriers and preemption points itself."""

from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ...arch.faults import Fault
from ...arch.geometry import BARRIERS, PC_BITS, PC_NONE, PREDICATES, UNIFORMS, Geometry
from ...arch.isa.liveness import LIVE_BITS
from ...arch.isa.opcodes import UNWATCH_CODE, VECTOR_WORDS, YIELD_BIT, Unit
from ...interfaces import payloads as payload
from ...interfaces.core_ports import PredicatePort
from ...interfaces.port import Port
from ...lib.bits import spread
from ...lib.vectors import RoundRobin
from ..execution_units import EXECUTION_UNITS
from .decode import OPCODE_BITS, Decoder
from .instruction_buffer import fetched
from .scoreboard import register_masks
from .simt_stack import StackCommand, command, stack_top
from .warp_table import identity

__all__ = ["IssueStage", "UNITS"]

UNITS = ("alu", *(row.name for row in EXECUTION_UNITS), "uniform")
"""Units that an instruction is issued to only when they can take it."""


class IssueStage(wiring.Component):
    """Picks a ready warp (round robin) and retires its instruction in the same cycle.

    Instructions with at least one lane whose guard holds go down `issue`, those of the uniform data
    path to `uniform_op`; what `Unit.CONTROL` executes ends here. A uniform register that operand b
    or the address of another unit's instruction needs is put into, or added to, the immediate. A
    ``call`` jumps here, and is a move of its return address for the uniform unit; a ``bru`` faults
    if no PC can be what it reads, a ``rejoin`` where nothing ends. A faulting instruction has no
    effect but `fault`.

    Parameters
    ----------
    g : Geometry
    observed : bool
        With ports `requests` and `grant`, for simulations.

    Attributes
    ----------
    ready : Signal(warps), in
        Warps that hold an instruction that has nothing to wait for but room in its unit.
    uses : in
        Of each of the `UNITS` a vector: which of them need it.
    hold : Signal(), in
        No issue in this cycle.
    armed, pending_warps : Signal(warps), in
        Of the warp table.
    room : in
        A bit for each of the `EXECUTION_UNITS`: for one cycle, it gives a place back.
    issue : stream of payloads.issue, out; throttle : Signal(1), in; predicates : PredicatePort, out
        As in `IssuePort`. `issue.ready`, `uniform_op.ready` and `throttle` must not depend on what
        is issued within the cycle: they take part in the choice of the warp.
    trace : out
        For simulations: the instruction that retires.
    requests, grant : Signal(warps), out
        The warps that it can choose from; the one chosen.
    uniform_select, uniform_a, uniform_b, uniform_c : out, in
        Uniform registers of the instruction, combinational.
    uniform_op : out stream
        `payloads.uniform_op`.
    warp : Signal, out
        The warp chosen; selects `instruction`, `identity` and `top`, which are read in the same
        cycle.
    instruction, identity, top : in
        Of `warp`: what it holds (`fetched`), which warp it is (`identity`), and the
        top of its stack (`simt_stack.stack_top`).
    command_kind, command, overflow
        Of the SIMT stack.
    trapping : Signal(warps), in; trap_base : Signal, in
        With `Geometry.traps`, of the warp table, and of the kernel of `warp`. A warp that is
        `trapping` goes on, instead of executing its instruction, in a new entry of its stack at the
        instruction's trap vector; the entry ends where the instruction stands. Not trapped are
        points, barriers, ``exit``, a fetch that failed, and a warp whose stack is full.
    traps, routines : Signal(warps), out
        With `Geometry.traps`: the warp that is trapped; the one that retires an instruction of a
        routine.
    retire : Signal(warps), out
        The warp whose instruction retires, one-hot.
    faults : Signal(warps), out
        The warp whose instruction faults, one-hot.
    fault : Out(kind, pc)
        Of that warp.
    waits, parks, arms : Signal(warps), out
        The warp that arrives at barrier `barrier`; passes a `pp.div` that stops it; passes a `pp`
        that stops it.
    barrier : Signal, out
        Id of the barrier that `waits` arrives at.
    yields, cancels : Signal(warps), out
        With `Geometry.watches`: the warp that arrives there by a ``bar.yield``; the one that
        retires an ``unwatch``.
    live : Out(valid, vector)
        New live vector of `warp`.
    reserve : Out(valid, registers, predicates, remote)
        What the issued instruction will write; its registers come over the bus if `remote`.
    loads, stores, atomics, shared, uniform_writes : Signal(warps), out
        The warp that issues such an instruction (a global load, store or atomic; a shared access;
        one that writes a uniform register), one-hot.
    """

    ready: Signal
    uses: data.View
    armed: Signal
    pending_warps: Signal
    hold: Signal
    throttle: Signal
    room: data.View
    warp: Signal
    instruction: data.View
    identity: data.View
    top: data.View
    predicates: Port
    uniform_select: data.View
    uniform_a: Signal
    uniform_b: Signal
    uniform_c: Signal
    uniform_op: stream.Interface
    command_kind: Signal
    command: data.View
    overflow: Signal
    trapping: Signal
    trap_base: Signal
    traps: Signal
    routines: Signal
    retire: Signal
    faults: Signal
    waits: Signal
    parks: Signal
    arms: Signal
    loads: Signal
    stores: Signal
    atomics: Signal
    shared: Signal
    uniform_writes: Signal
    barrier: Signal
    yields: Signal
    cancels: Signal
    live: data.View
    fault: data.View
    reserve: data.View
    issue: stream.Interface
    trace: data.View
    requests: Signal
    grant: Signal

    def __init__(self, g: Geometry, observed: bool = False):
        self.geometry, self.observed = g, observed
        below = payload.below
        warp = below(g.warps)
        super().__init__({
            **{name: In(g.warps) for name in ("ready", "armed", "pending_warps")},
            "uses": In(data.StructLayout(dict.fromkeys(UNITS, g.warps))),
            "hold": In(1), "throttle": In(1),
            "room": In(data.StructLayout({row.name: 1 for row in EXECUTION_UNITS})),
            "warp": Out(warp), "instruction": In(fetched(g)),
            "identity": In(identity(g)), "top": In(stack_top(g)),
            "predicates": Out(PredicatePort(g)),
            "uniform_select": Out(data.StructLayout({"warp": warp,
                                                     **{x: range(UNIFORMS) for x in "abc"}})),
            **{f"uniform_{x}": In(32) for x in "abc"},
            "uniform_op": Out(stream.Signature(payload.uniform_op(g))),
            "command_kind": Out(StackCommand), "command": Out(command(g)), "overflow": In(1),
            **({"trapping": In(g.warps), "trap_base": In(PC_BITS), "traps": Out(g.warps),
                "routines": Out(g.warps)} if g.traps else {}),
            **{name: Out(g.warps)
               for name in ("retire", "faults", "waits", "parks", "arms", "loads", "stores",
                            "atomics", "shared", "uniform_writes")},
            **(dict.fromkeys(("yields", "cancels"), Out(g.warps)) if g.watches else {}),
            "barrier": Out(below(BARRIERS)),
            "live": Out(data.StructLayout({"valid": 1, "vector": LIVE_BITS})),
            "fault": Out(data.StructLayout({"kind": Fault, "pc": PC_BITS})),
            "reserve": Out(data.StructLayout({"valid": 1, "registers": g.regs_per_thread,
                                              "predicates": PREDICATES, "remote": 1})),
            "issue": Out(stream.Signature(payload.issue(g))),
            "trace": Out(data.StructLayout({
                "valid": 1, "warp": warp, "pc": PC_BITS, "mask": g.warp_size, "op": OPCODE_BITS})),
            **({"requests": Out(g.warps), "grant": Out(g.warps)} if observed else {}),
        })

    def elaborate(self, platform: Any):
        m = Module()
        size = self.geometry.warp_size
        m.submodules.arbiter = self._arbiter = RoundRobin(self.geometry.warps)
        m.submodules.decoder = decoder = Decoder(self.geometry.watches > 0)
        m.d.comb += [decoder.word.eq(self.instruction.word), self.warp.eq(self._arbiter.index)]
        op, select = decoder.decoded, self.predicates.select
        active = Signal(size)  # active lanes
        execute = Signal(size)  # those whose guard holds
        m.d.comb += [
            select.warp.eq(self.warp), select.guard.eq(op.guard),
            select.pa.eq(op.pa), select.pb.eq(op.pb),
            active.eq(self.top.mask),
            execute.eq(Mux(op.all_lanes, self.top.live,
                           active & (self.predicates.guard ^ spread(op.guard_not, size)))),
        ]
        armed = Signal()
        pending = Signal()
        retire = Signal()
        grant = self._arbiter.grant
        m.d.comb += [armed.eq((grant & self.armed).any()),
                     pending.eq((grant & self.pending_warps).any())]
        trapped = self._trap(m, op, armed)
        fault = self._fault(m, op, active, execute, armed) & ~trapped
        m.d.comb += [retire.eq(self._arbiter.valid & ~fault & ~trapped),
                     self.faults.eq(grant & spread(fault, self.geometry.warps)),
                     self.retire.eq(grant & spread(retire, self.geometry.warps))]
        self._stack(m, op, active, execute, fault, trapped)
        self._control(m, op, armed, pending, retire)
        if self.geometry.watches:
            cancel = ((op.unit == Unit.CONTROL) & execute.any()
                      & (op.function == UNWATCH_CODE % (1 << len(op.function))))
            m.d.comb += [
                self.yields.eq(self.waits & spread(op.function[YIELD_BIT], len(self.waits))),
                self.cancels.eq(self.retire & spread(cancel, len(self.retire)))]
        send = Signal()
        m.d.comb += send.eq(retire & (op.unit != Unit.CONTROL) & execute.any())
        self._send(m, op, execute, send)
        self._send_uniform(m, op, execute, send)
        self._schedule(m, op, send)
        m.d.comb += [
            self.trace.valid.eq(retire & (op.unit != Unit.CONTROL) | retire & (
                op.is_bra | op.is_bru | op.is_rejoin | op.is_exit | op.is_bar | op.is_membar
                | op.is_trap | pending & (op.is_pp | op.is_pp_div & armed))),
            self.trace.warp.eq(self.warp), self.trace.pc.eq(self.top.pc),
            self.trace.mask.eq(execute), self.trace.op.eq(self.instruction.word[LIVE_BITS:]),
        ]
        if self.observed:
            m.d.comb += [self.requests.eq(self._arbiter.requests), self.grant.eq(grant)]
        return m

    def _schedule(self, m: Module, op: data.View, send: Value):
        """Warps whose unit has room; places left in the units."""
        g = self.geometry
        shut = {"alu": self.throttle | ~self.issue.ready, "uniform": ~self.uniform_op.ready}
        for row in EXECUTION_UNITS:
            most = row.places(g)
            places = Signal(range(most + 1), init=most, name=f"{row.name}_places")
            m.d.sync += places.eq(places + self.room[row.name] - (send & (op.unit == row.unit)))
            shut[row.name] = ~places.any() | ~self.issue.ready
        blocked = Const(0, g.warps)
        for name in UNITS:
            blocked = blocked | self.uses[name] & spread(shut[name], g.warps)
        m.d.comb += self._arbiter.requests.eq(self.ready & ~blocked & ~spread(self.hold, g.warps))

    def _fault(self, m: Module, op: data.View, active: Value, execute: Value, armed: Value):
        """Find out whether the instruction faults."""
        kind = Signal(Fault)
        with m.If(self.instruction.bound):
            m.d.comb += kind.eq(Fault.FETCH_BOUND)
        with m.Elif(self.instruction.bus_error):
            m.d.comb += kind.eq(Fault.BUS_ERROR)
        with m.Elif(op.illegal):
            m.d.comb += kind.eq(Fault.ILLEGAL_OPCODE)
        with m.Elif(op.uses_registers & (op.top_register >= self.identity.registers)):
            m.d.comb += kind.eq(Fault.REGISTER_BOUND)
        with m.Elif(armed & ~op.is_pp_div):
            m.d.comb += kind.eq(Fault.ILLEGAL_OPCODE)
        with m.Elif(op.is_trap & execute.any()):
            m.d.comb += kind.eq(Fault.TRAP)
        with m.Elif(op.is_bar & (active != self.top.live)):
            m.d.comb += kind.eq(Fault.BARRIER_DIVERGENT)
        with m.Elif(op.is_bra & execute.any() & (execute != active) & self.overflow):
            m.d.comb += kind.eq(Fault.STACK_OVERFLOW)
        with m.Elif(op.is_bru & (self.uniform_a >= PC_NONE)
                    | op.is_rejoin & (self.top.reconv == PC_NONE)):
            m.d.comb += kind.eq(Fault.FETCH_BOUND)
        fault = kind != Fault.NONE
        m.d.comb += [self.fault.kind.eq(kind), self.fault.pc.eq(self.top.pc)]
        return fault

    def _trap(self, m: Module, op: data.View, armed: Value):
        """Find out whether the warp is trapped rather than executing its instruction."""
        g, held = self.geometry, self.instruction
        if not g.traps:
            return Const(0)
        trapped = Signal()
        grant = self._arbiter.grant
        m.d.comb += [
            trapped.eq((grant & self.trapping).any() & ~held.routine & ~armed
                       & ~(held.bound | held.bus_error | op.is_pp | op.is_pp_div | op.is_bar
                           | op.is_exit) & (self.top.depth != g.stack_depth)),
            self.traps.eq(grant & spread(trapped, g.warps)),
            self.routines.eq(self.retire & spread(held.routine, g.warps)),
        ]
        return trapped

    def _stack(self, m: Module, op: data.View, active: Value, execute: Value, fault: Value,
               trapped: Value):
        """Where the warp goes on."""
        do = self.command
        branch = op.is_bra & execute.any()
        diverge = branch & (execute != active)
        straight = Mux(branch | op.is_call, op.target, self.top.pc + 1)
        m.d.comb += [
            do.pc.eq(Mux(op.is_bru, self.uniform_a,
                         Mux(op.is_rejoin, self.top.reconv, straight))),
            do.mask.eq(execute), do.reconv.eq(op.reconv),
            do.live.eq(Mux(op.is_exit, self.top.live & ~execute, self.top.live)),
        ]
        with m.If(self._arbiter.valid & ~fault):
            m.d.comb += self.command_kind.eq(Mux(diverge, StackCommand.DIVERGE, StackCommand.JUMP))
        if self.geometry.traps:
            with m.If(self._arbiter.valid & trapped):
                m.d.comb += [self.command_kind.eq(StackCommand.PUSH),
                             do.pc.eq(self.trap_base + self.top.pc * VECTOR_WORDS),
                             do.mask.eq(active), do.reconv.eq(self.top.pc)]

    def _control(self, m: Module, op: data.View, armed: Value, pending: Value, retire: Value):
        """Barriers and preemption points."""
        warps = self.geometry.warps
        stops_at_pp = Signal()
        stops_at_div = Signal()
        # entries of the stack that say nothing of divergence
        plain = 1 + self.instruction.routine if self.geometry.traps else 1
        m.d.comb += [
            stops_at_pp.eq(op.is_pp & pending), stops_at_div.eq(op.is_pp_div & armed & pending),
            self.waits.eq(self.retire & spread(op.is_bar, warps)), self.barrier.eq(op.barrier),
            self.arms.eq(self.retire & spread(stops_at_pp, warps)),
            self.parks.eq(self.retire & spread(stops_at_div, warps)),
            self.live.valid.eq(retire
                               & (op.is_bar | stops_at_pp | stops_at_div
                                  & (self.top.depth > plain))),
            self.live.vector.eq(op.live),
        ]

    def _send(self, m: Module, op: data.View, execute: Value, send: Value):
        """Hand instructions on to the execution pipeline, and note what they will write."""
        warps, size = self.geometry.warps, self.geometry.warp_size
        out, who = self.issue.payload, self.identity
        to_uniform = op.unit == Unit.UNIFORM
        immediate = Mux(op.b_uniform, self.uniform_b,
                        op.imm + Mux(op.base_uniform, self.uniform_a, 0))
        m.d.comb += [
            self.issue.valid.eq(send & ~to_uniform), out.op.eq(op), out.op.imm.eq(immediate),
            out.op.use_imm.eq(op.use_imm | op.b_uniform), out.warp.eq(self.warp), out.tb.eq(who.tb),
            out.kernel.eq(who.kernel), out.block_warp.eq(who.block_warp), out.base.eq(who.base),
            out.pc.eq(self.top.pc), out.mask.eq(execute),
            out.pa.eq(self.predicates.pa ^ spread(op.pa_not, size)),
            out.pb.eq(self.predicates.pb ^ spread(op.pb_not, size)),
        ]
        _, _, registers, predicates = register_masks(self.geometry, op)
        m.d.comb += [self.reserve.valid.eq(send), self.reserve.registers.eq(registers),
                     self.reserve.predicates.eq(predicates),
                     self.reserve.remote.eq(Cat(op.unit == row.unit for row in EXECUTION_UNITS
                                                if row.remote).any())]
        is_global = op.unit == Unit.GLOBAL
        for vector, kind in (
            (self.loads, is_global & ~op.store & ~op.atomic), (self.stores, is_global & op.store),
            (self.atomics, is_global & op.atomic), (self.shared, op.unit == Unit.SHARED),
            (self.uniform_writes, op.writes_u)):
            m.d.comb += vector.eq(self.retire & spread(send & kind, warps))

    def _send_uniform(self, m: Module, op: data.View, execute: Value, send: Value):
        """Read uniform registers, and hand instructions on to the uniform unit."""
        out, who, select = self.uniform_op.payload, self.identity, self.uniform_select
        m.d.comb += [
            select.warp.eq(self.warp), select.a.eq(op.a), select.b.eq(op.b), select.c.eq(op.c),
            self.uniform_op.valid.eq(send & (op.unit == Unit.UNIFORM)), out.warp.eq(self.warp),
            out.mask.eq(execute), out.a.eq(self.uniform_a),
            out.b.eq(Mux(op.is_call, self.top.pc + 1, Mux(op.use_imm, op.imm, self.uniform_b))),
            out.c.eq(self.uniform_c),
        ]
        m.d.comb += [out[name].eq(op[name])
                     for name in ("alu", "d", "writes_u", "pd", "writes_pd", "imm")]
        m.d.comb += [out[name].eq(who[name]) for name in ("tb", "kernel", "block_warp")]
