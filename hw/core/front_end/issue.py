"""Issue stage: one warp instruction a cycle;
resolves branches, exits, barriers and preemption points itself."""

from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ...arch.faults import Fault
from ...arch.geometry import PC_BITS, PC_NONE, Geometry
from ...arch.isa.liveness import LIVE_BITS
from ...arch.isa.opcodes import UNWATCH_CODE, VECTOR_WORDS, YIELD_BIT, Unit
from ...interfaces import payloads as payload
from ...interfaces.core_ports import PredicatePort
from ...interfaces.port import Port
from ...lib.bits import spread
from ...lib.vectors import RoundRobin
from ..execution_units import EXECUTION_UNITS
from .decode import OPCODE_BITS, Decoder
from .instruction_buffer import InstructionPort
from .scoreboard import OperationsPort, register_masks, reservation
from .simt_stack import StackCommand, StackPort
from .uniform_registers import UniformReadPort
from .warp_table import WarpEventPort

__all__ = ["IssueConditions", "IssueStage", "UNITS"]

UNITS = ("alu", *(row.name for row in EXECUTION_UNITS), "uniform")
"""Units that an instruction is issued to only when they can take it."""


class IssueConditions(wiring.Signature):
    """Conditions on which the choice of a warp depends. Directions are the issue stage's.

    Attributes
    ----------
    ready : Signal(warps), in
        Vector: warps whose instruction has nothing to wait for but room in its unit.
    uses : struct, in
        Vector for each of the `UNITS`: warps whose instruction needs it.
    hold : Signal(1), in
        No instruction issues in this cycle.
    throttle : Signal(1), in
        No ALU instruction issues in this cycle. It must not depend on what issues.
    room : struct, in
        A bit for each of the `EXECUTION_UNITS`, high for one cycle: the unit gives a place back.
    """

    def __init__(self, g: Geometry):
        super().__init__({
            "ready": In(g.warps), "uses": In(data.StructLayout(dict.fromkeys(UNITS, g.warps))),
            "hold": In(1), "throttle": In(1),
            "room": In(data.StructLayout({row.name: 1 for row in EXECUTION_UNITS}))})


class IssueStage(wiring.Component):
    """Picks a ready warp (round robin) and retires its instruction in the same cycle.

    Instructions with at least one lane whose guard holds go down `issue`; those of the uniform data
    path go to `uniform_op`. Instructions of `Unit.CONTROL` end here. Another unit's instruction may
    have a uniform register as operand b or in its address. The register then replaces the
    immediate, or is added to it. A ``call`` jumps here; for the uniform unit it is a move of its
    return address. A ``bru`` faults if its register holds no PC, a ``rejoin`` if its entry ends
    nowhere. A faulting instruction has no effect but `fault`.

    A warp that is to be trapped does not execute its instruction. It goes on in a new entry of its
    stack at the instruction's trap vector, and the entry ends where the instruction stands. Points,
    barriers, ``exit`` and a fetch that failed are not trapped, nor is a warp whose stack is full.

    Parameters
    ----------
    g : Geometry
    observed : bool
        The stage has ports `requests` and `grant`, for simulations.

    Attributes
    ----------
    conditions : IssueConditions, in
        The warps that may issue, and the units that have room.
    instructions : InstructionPort, out
        Reads the instruction of the chosen warp.
    table : WarpEventPort, out
        Reads which warp was chosen, and reports its events.
    stack : StackPort, out
        Moves the chosen warp on.
    uniforms : UniformReadPort, out
        Reads the uniform registers of the instruction.
    predicates : PredicatePort, out
        Reads the predicates of the instruction.
    issue : stream of payloads.issue, out
        Described in `IssuePort`. `issue.ready` and `uniform_op.ready` must not depend on what
        issues within the cycle: they take part in the choice of the warp.
    uniform_op : stream of payloads.uniform_op, out
        Instructions of the uniform data path.
    reserve : reservation, out
        Registers and predicates that the issued instruction will write.
    operations : OperationsPort, out
        Memory operations that issue.
    uniform_writes : Signal(warps), out
        Vector: the warp that issues an instruction which writes a uniform register.
    fault : struct, out
        A fault: `warps` has the warp whose instruction faults, one-hot; `warp` is its number, with
        its `kind` and `pc`.
    trap_base : Signal, in
        First trap vector of the chosen warp's kernel; exists only with `Geometry.traps`.
    traps : Signal(warps), out
        Vector: the warp that is trapped. Exists only with `Geometry.traps`.
    cancels : Signal(warps), out
        Vector: the warp that retires an ``unwatch``. Exists only with `Geometry.watches`.
    trace : out
        Instruction that retires, for simulations.
    requests, grant : Signal(warps), out
        The warps to choose from; the one chosen.
    """

    conditions: Port
    instructions: Port
    table: Port
    stack: Port
    uniforms: Port
    predicates: Port
    issue: stream.Interface
    uniform_op: stream.Interface
    reserve: data.View
    operations: Port
    uniform_writes: Signal
    fault: data.View
    trap_base: Signal
    traps: Signal
    cancels: Signal
    trace: data.View
    requests: Signal
    grant: Signal

    def __init__(self, g: Geometry, observed: bool = False):
        self.geometry, self.observed = g, observed
        warp = payload.below(g.warps)
        super().__init__({
            "conditions": Out(IssueConditions(g)), "instructions": Out(InstructionPort(g)),
            "table": Out(WarpEventPort(g)), "stack": Out(StackPort(g)),
            "uniforms": Out(UniformReadPort(g)), "predicates": Out(PredicatePort(g)),
            "issue": Out(stream.Signature(payload.issue(g))),
            "uniform_op": Out(stream.Signature(payload.uniform_op(g))),
            "reserve": Out(reservation(g)), "operations": Out(OperationsPort(g)),
            "uniform_writes": Out(g.warps),
            "fault": Out(data.StructLayout({"warps": g.warps, "warp": warp, "kind": Fault,
                                            "pc": PC_BITS})),
            **({"trap_base": In(PC_BITS), "traps": Out(g.warps)} if g.traps else {}),
            **({"cancels": Out(g.warps)} if g.watches else {}),
            "trace": Out(data.StructLayout({
                "valid": 1, "warp": warp, "pc": PC_BITS, "mask": g.warp_size, "op": OPCODE_BITS})),
            **({"requests": Out(g.warps), "grant": Out(g.warps)} if observed else {}),
        })

    def elaborate(self, platform: Any):
        m = Module()
        size, warps = self.geometry.warp_size, self.geometry.warps
        # The warp that was chosen last comes last, so that no ready warp starves.
        m.submodules.arbiter = arbiter = RoundRobin(warps)
        m.submodules.decoder = decoder = Decoder(self.geometry.watches > 0)
        table, top = self.table, self.stack.top
        word = self.instructions.instruction.word
        m.d.comb += [port.warp.eq(arbiter.index)
                     for port in (self.instructions, table, self.stack, self.fault)]
        op, select = decoder.decoded, self.predicates.select
        active = Signal(size)  # active lanes
        execute = Signal(size)  # those whose guard holds
        m.d.comb += [
            decoder.word.eq(word), select.warp.eq(table.warp), select.guard.eq(op.guard),
            select.pa.eq(op.pa), select.pb.eq(op.pb), active.eq(top.mask),
            execute.eq(Mux(op.all_lanes, top.live,
                           active & (self.predicates.guard ^ spread(op.guard_not, size)))),
        ]
        armed = Signal()
        pending = Signal()
        retire = Signal()
        grant = arbiter.grant
        m.d.comb += [armed.eq((grant & table.armed).any()),
                     pending.eq((grant & table.pending).any())]
        trapped = self._trap(m, op, armed, grant)
        fault = self._fault(m, op, active, execute, armed) & ~trapped
        m.d.comb += [retire.eq(arbiter.valid & ~fault & ~trapped),
                     self.fault.warps.eq(grant & spread(fault, warps)),
                     table.retires.eq(grant & spread(retire, warps))]
        self._move(m, op, active, execute, arbiter.valid & ~fault, arbiter.valid & trapped)
        self._control(m, op, armed, pending, retire)
        if self.geometry.watches:
            cancel = ((op.unit == Unit.CONTROL) & execute.any()
                      & (op.function == UNWATCH_CODE % (1 << len(op.function))))
            m.d.comb += [table.yields.eq(table.waits & spread(op.function[YIELD_BIT], warps)),
                         self.cancels.eq(table.retires & spread(cancel, warps))]
        send = Signal()
        m.d.comb += send.eq(retire & (op.unit != Unit.CONTROL) & execute.any())
        self._send(m, op, execute, send)
        self._send_uniform(m, op, execute, send)
        self._reserve(m, op, send)
        m.d.comb += arbiter.requests.eq(self._requests(m, op, send))
        m.d.comb += [
            self.trace.valid.eq(retire & (op.unit != Unit.CONTROL) | retire & (
                op.is_bra | op.is_bru | op.is_rejoin | op.is_exit | op.is_bar | op.is_membar
                | op.is_trap | pending & (op.is_pp | op.is_pp_div & armed))),
            self.trace.warp.eq(table.warp), self.trace.pc.eq(top.pc),
            self.trace.mask.eq(execute), self.trace.op.eq(word[LIVE_BITS:]),
        ]
        if self.observed:
            m.d.comb += [self.requests.eq(arbiter.requests), self.grant.eq(grant)]
        return m

    def _requests(self, m: Module, op: data.View, send: Value) -> Value:
        """Count places left in the units; return the warps whose unit has room."""
        g, conditions = self.geometry, self.conditions
        full = {"alu": conditions.throttle | ~self.issue.ready, "uniform": ~self.uniform_op.ready}
        # An instruction takes its place at issue, before its operands are read.
        for row in EXECUTION_UNITS:
            most = row.places(g)
            places = Signal(range(most + 1), init=most, name=f"{row.name}_places")
            m.d.sync += places.eq(places + conditions.room[row.name]
                                  - (send & (op.unit == row.unit)))
            full[row.name] = ~places.any() | ~self.issue.ready
        blocked = Const(0, g.warps)
        for name in UNITS:
            blocked = blocked | conditions.uses[name] & spread(full[name], g.warps)
        return conditions.ready & ~blocked & ~spread(conditions.hold, g.warps)

    def _fault(self, m: Module, op: data.View, active: Value, execute: Value,
               armed: Value) -> Value:
        """Find out whether the instruction faults."""
        kind = Signal(Fault)
        # The first condition counts: a word that was not fetched cannot be judged further.
        with m.If(self.instructions.instruction.bound):
            m.d.comb += kind.eq(Fault.FETCH_BOUND)
        with m.Elif(self.instructions.instruction.bus_error):
            m.d.comb += kind.eq(Fault.BUS_ERROR)
        with m.Elif(op.illegal):
            m.d.comb += kind.eq(Fault.ILLEGAL_OPCODE)
        with m.Elif(op.uses_registers & (op.top_register >= self.table.identity.registers)):
            m.d.comb += kind.eq(Fault.REGISTER_BOUND)
        with m.Elif(armed & ~op.is_pp_div):
            m.d.comb += kind.eq(Fault.ILLEGAL_OPCODE)
        with m.Elif(op.is_trap & execute.any()):
            m.d.comb += kind.eq(Fault.TRAP)
        with m.Elif(op.is_bar & (active != self.stack.top.live)):
            m.d.comb += kind.eq(Fault.BARRIER_DIVERGENT)
        with m.Elif(op.is_bra & execute.any() & (execute != active) & self.stack.overflow):
            m.d.comb += kind.eq(Fault.STACK_OVERFLOW)
        with m.Elif(op.is_bru & (self.uniforms.a >= PC_NONE)
                    | op.is_rejoin & (self.stack.top.reconv == PC_NONE)):
            m.d.comb += kind.eq(Fault.FETCH_BOUND)
        fault = kind != Fault.NONE
        m.d.comb += [self.fault.kind.eq(kind), self.fault.pc.eq(self.stack.top.pc)]
        return fault

    def _trap(self, m: Module, op: data.View, armed: Value, grant: Value) -> Value:
        """Find out whether the warp is trapped rather than executing its instruction."""
        g, table, held = self.geometry, self.table, self.instructions.instruction
        if not g.traps:
            return Const(0)
        trapped = Signal()
        m.d.comb += [
            trapped.eq((grant & table.trapping).any() & ~held.routine & ~armed
                       & ~(held.bound | held.bus_error | op.is_pp | op.is_pp_div | op.is_bar
                           | op.is_exit) & (self.stack.top.depth != g.stack_depth)),
            self.traps.eq(grant & spread(trapped, g.warps)),
            table.routines.eq(table.retires & spread(held.routine, g.warps)),
        ]
        return trapped

    def _move(self, m: Module, op: data.View, active: Value, execute: Value, moves: Value,
              trapped: Value):
        """Move the warp on by its instruction if it `moves`, or into a routine if it is trapped."""
        do, top = self.stack.command, self.stack.top
        branch = op.is_bra & execute.any()
        diverge = branch & (execute != active)
        straight = Mux(branch | op.is_call, op.target, top.pc + 1)
        m.d.comb += [
            do.pc.eq(Mux(op.is_bru, self.uniforms.a,
                         Mux(op.is_rejoin, top.reconv, straight))),
            do.mask.eq(execute), do.reconv.eq(op.reconv),
            do.live.eq(Mux(op.is_exit, top.live & ~execute, top.live)),
        ]
        with m.If(moves):
            m.d.comb += self.stack.kind.eq(Mux(diverge, StackCommand.DIVERGE, StackCommand.JUMP))
        if self.geometry.traps:
            with m.If(trapped):
                m.d.comb += [self.stack.kind.eq(StackCommand.PUSH),
                             do.pc.eq(self.trap_base + top.pc * VECTOR_WORDS),
                             do.mask.eq(active), do.reconv.eq(top.pc)]

    def _control(self, m: Module, op: data.View, armed: Value, pending: Value, retire: Value):
        """Report barriers and preemption points to the warp table."""
        warps, table = self.geometry.warps, self.table
        stops_at_pp = Signal()
        stops_at_div = Signal()
        # A trapped warp has the entry of its routine besides the first: neither tells divergence.
        plain = 1 + self.instructions.instruction.routine if self.geometry.traps else 1
        m.d.comb += [
            stops_at_pp.eq(op.is_pp & pending), stops_at_div.eq(op.is_pp_div & armed & pending),
            table.waits.eq(table.retires & spread(op.is_bar, warps)), table.barrier.eq(op.barrier),
            table.arms.eq(table.retires & spread(stops_at_pp, warps)),
            table.parks.eq(table.retires & spread(stops_at_div, warps)),
            table.live.valid.eq(retire
                               & (op.is_bar | stops_at_pp | stops_at_div
                                  & (self.stack.top.depth > plain))),
            table.live.vector.eq(op.live),
        ]

    def _send(self, m: Module, op: data.View, execute: Value, send: Value):
        """Hand instructions on to the execution pipeline."""
        size, uniforms = self.geometry.warp_size, self.uniforms
        out, identity = self.issue.payload, self.table.identity
        to_uniform = op.unit == Unit.UNIFORM
        immediate = Mux(op.b_uniform, uniforms.b, op.imm + Mux(op.base_uniform, uniforms.a, 0))
        m.d.comb += [
            self.issue.valid.eq(send & ~to_uniform), out.op.eq(op), out.op.imm.eq(immediate),
            out.op.use_imm.eq(op.use_imm | op.b_uniform), out.warp.eq(self.table.warp),
            out.pc.eq(self.stack.top.pc), out.mask.eq(execute),
            out.pa.eq(self.predicates.pa ^ spread(op.pa_not, size)),
            out.pb.eq(self.predicates.pb ^ spread(op.pb_not, size)),
        ]
        m.d.comb += [out[name].eq(identity[name])
                     for name in ("tb", "kernel", "block_warp", "base")]

    def _reserve(self, m: Module, op: data.View, send: Value):
        """Note what an issued instruction will write, and which memory operation it is."""
        retires, operations, reserve = self.table.retires, self.operations, self.reserve
        _, _, registers, predicates = register_masks(self.geometry, op)
        m.d.comb += [reserve.valid.eq(send), reserve.warp.eq(self.table.warp),
                     reserve.registers.eq(registers), reserve.predicates.eq(predicates),
                     reserve.remote.eq(Cat(op.unit == row.unit for row in EXECUTION_UNITS
                                           if row.remote).any())]
        is_global = op.unit == Unit.GLOBAL
        for vector, kind in (
            (operations.loads, is_global & ~op.store & ~op.atomic),
            (operations.stores, is_global & op.store), (operations.atomics, is_global & op.atomic),
            (operations.shared, op.unit == Unit.SHARED), (self.uniform_writes, op.writes_u)):
            m.d.comb += vector.eq(retires & spread(send & kind, self.geometry.warps))

    def _send_uniform(self, m: Module, op: data.View, execute: Value, send: Value):
        """Read uniform registers, and hand instructions on to the uniform unit."""
        out, identity, uniforms = self.uniform_op.payload, self.table.identity, self.uniforms
        select, warp, return_pc = uniforms.select, self.table.warp, self.stack.top.pc + 1
        m.d.comb += [
            select.warp.eq(warp), select.a.eq(op.a), select.b.eq(op.b), select.c.eq(op.c),
            self.uniform_op.valid.eq(send & (op.unit == Unit.UNIFORM)), out.warp.eq(warp),
            out.mask.eq(execute), out.a.eq(uniforms.a),
            out.b.eq(Mux(op.is_call, return_pc, Mux(op.use_imm, op.imm, uniforms.b))),
            out.c.eq(uniforms.c),
        ]
        m.d.comb += [out[name].eq(op[name])
                     for name in ("alu", "d", "writes_u", "pd", "writes_pd", "imm")]
        m.d.comb += [out[name].eq(identity[name]) for name in ("tb", "kernel", "block_warp")]
