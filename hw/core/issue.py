"""Issue stage: one warp instruction a cycle; resolves branches, exits, barriers and preemption points itself."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ..arch.faults import Fault
from ..arch.geometry import BARRIERS, PC_BITS, PREDICATES, Geometry
from ..arch.isa import LIVE_BITS, Unit
from . import interfaces as payload
from .buffer import fetched
from .decode import OPCODE_BITS, Decoder
from .scoreboard import register_masks
from .simt_stack import StackCommand, command, stack_top
from .vectors import RoundRobin, spread
from .warps import identity

__all__ = ["IssueStage"]


class IssueStage(wiring.Component):
    """Picks a ready warp (round robin) and retires its instruction in the same cycle.

    ALU and memory instructions with at least one lane whose guard holds go down `issue`; everything else ends here.
    A faulting instruction has no effect but `fault`.

    Parameters
    ----------
    g : Geometry

    Attributes
    ----------
    ready : Signal(warps), in
        Warps that hold an instruction that has nothing to wait for but room in its unit.
    uses_alu, uses_global, uses_shared : Signal(warps), in
        Which of them need which unit.
    hold : Signal(), in
        No issue in this cycle.
    armed, pending_warps : Signal(warps), in
        Of the warp table.
    throttle, global_room, shared_room, issue, predicate_select, predicate_guard, predicate_pa, predicate_pb, trace
        As in `FrontEnd`. `issue.ready` and `throttle` must not depend on `issue.valid` or its payload within the
        cycle: they take part in the choice of the warp.
    warp : Signal, out
        The warp chosen; selects `instruction`, `identity` and `top`, which are read in the same cycle.
    command, overflow
        Of the SIMT stack.
    retire : Signal(warps), out
        The warp whose instruction retires, one-hot.
    faults : Signal(warps), out
        The warp whose instruction faults, one-hot.
    fault : Out(kind, pc)
        Of that warp.
    waits, parks, arms : Signal(warps), out
        The warp that arrives at barrier `barrier`; passes a `pp.div` that stops it; passes a `pp` that stops it.
    live : Out(valid, vector)
        New live vector of `warp`.
    reserve : Out(valid, registers, predicates)
        What the issued instruction will write.
    loads, stores, shared : Signal(warps), out
        The warp that issues such an instruction, one-hot.
    """

    ready: Signal
    uses_alu: Signal
    uses_global: Signal
    uses_shared: Signal
    armed: Signal
    pending_warps: Signal
    hold: Signal
    throttle: Signal
    global_room: Signal
    shared_room: Signal
    warp: Signal
    instruction: data.View
    identity: data.View
    top: data.View
    predicate_select: data.View
    predicate_guard: Signal
    predicate_pa: Signal
    predicate_pb: Signal
    command: data.View
    overflow: Signal
    retire: Signal
    faults: Signal
    waits: Signal
    parks: Signal
    arms: Signal
    loads: Signal
    stores: Signal
    shared: Signal
    barrier: Signal
    live: data.View
    fault: data.View
    reserve: data.View
    issue: stream.Interface
    trace: data.View

    def __init__(self, g: Geometry):
        self.geometry = g
        index = payload.index
        warp = index(g.warps)
        super().__init__({
            **{name: In(g.warps) for name in ("ready", "uses_alu", "uses_global", "uses_shared", "armed",
                                              "pending_warps")},
            "hold": In(1), "throttle": In(1), "global_room": In(1), "shared_room": In(1),
            "warp": Out(warp), "instruction": In(fetched()), "identity": In(identity(g)), "top": In(stack_top(g)),
            "predicate_select": Out(data.StructLayout({"warp": warp, "guard": 3, "pa": 3, "pb": 3})),
            **{f"predicate_{name}": In(g.warp_size) for name in ("guard", "pa", "pb")},
            "command": Out(command(g)), "overflow": In(1),
            **{name: Out(g.warps) for name in ("retire", "faults", "waits", "parks", "arms", "loads", "stores",
                                               "shared")},
            "barrier": Out(index(BARRIERS)),
            "live": Out(data.StructLayout({"valid": 1, "vector": LIVE_BITS})),
            "fault": Out(data.StructLayout({"kind": Fault, "pc": PC_BITS})),
            "reserve": Out(data.StructLayout({"valid": 1, "registers": g.regs_per_thread, "predicates": PREDICATES})),
            "issue": Out(stream.Signature(payload.issue(g))),
            "trace": Out(data.StructLayout({
                "valid": 1, "warp": warp, "pc": PC_BITS, "mask": g.warp_size, "op": OPCODE_BITS})),
        })

    def elaborate(self, platform):
        m = Module()
        size = self.geometry.warp_size
        m.submodules.arbiter = self._arbiter = RoundRobin(self.geometry.warps)
        m.submodules.decoder = decoder = Decoder()
        m.d.comb += [decoder.word.eq(self.instruction.word), self.warp.eq(self._arbiter.index)]
        op = decoder.decoded
        active, execute = Signal(size), Signal(size)  # active lanes; those whose guard holds
        m.d.comb += [
            self.predicate_select.warp.eq(self.warp), self.predicate_select.guard.eq(op.guard),
            self.predicate_select.pa.eq(op.pa), self.predicate_select.pb.eq(op.pb),
            active.eq(self.top.mask),
            execute.eq(active & (self.predicate_guard ^ spread(op.guard_not, size))),
        ]
        armed, pending, retire = Signal(), Signal(), Signal()
        grant = self._arbiter.grant
        m.d.comb += [armed.eq((grant & self.armed).any()), pending.eq((grant & self.pending_warps).any())]
        fault = self._fault(m, op, active, execute, armed)
        m.d.comb += [retire.eq(self._arbiter.valid & ~fault),
                     self.retire.eq(grant & spread(retire, self.geometry.warps))]
        self._stack(m, op, active, execute, fault)
        self._control(m, op, armed, pending, retire)
        self._send(m, op, execute, retire)
        self._schedule(m)
        m.d.comb += [
            self.trace.valid.eq(retire & (op.unit != Unit.CONTROL) | retire & (
                op.is_bra | op.is_exit | op.is_bar | op.is_membar | op.is_trap
                | pending & (op.is_pp | op.is_pp_div & armed))),
            self.trace.warp.eq(self.warp), self.trace.pc.eq(self.top.pc), self.trace.mask.eq(execute),
            self.trace.op.eq(self.instruction.word[LIVE_BITS:]),
        ]
        return m

    def _schedule(self, m: Module):
        """Warps whose unit has room; places left in the memory units."""
        g = self.geometry
        shut = {"alu": self.throttle | ~self.issue.ready}
        for unit, room, used in (("global", self.global_room, self.loads | self.stores),
                                 ("shared", self.shared_room, self.shared)):
            places = Signal(range(g.unit_queue + 1), init=g.unit_queue, name=f"{unit}_places")
            m.d.sync += places.eq(places + room - used.any())
            shut[unit] = ~places.any() | ~self.issue.ready
        blocked = (self.uses_alu & spread(shut["alu"], g.warps) | self.uses_global & spread(shut["global"], g.warps)
                   | self.uses_shared & spread(shut["shared"], g.warps))
        m.d.comb += self._arbiter.requests.eq(self.ready & ~blocked & ~spread(self.hold, g.warps))

    def _fault(self, m: Module, op, active, execute, armed):
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
        fault = kind != Fault.NONE
        m.d.comb += [self.fault.kind.eq(kind), self.fault.pc.eq(self.top.pc),
                     self.faults.eq(self._arbiter.grant & spread(fault, self.geometry.warps))]
        return fault

    def _stack(self, m: Module, op, active, execute, fault):
        """Where the warp goes on."""
        do = self.command
        jump = op.is_bra & execute.any()
        diverge = jump & (execute != active)
        m.d.comb += [
            do.pc.eq(Mux(jump, op.target, self.top.pc + 1)), do.mask.eq(execute), do.reconv.eq(op.reconv),
            do.live.eq(Mux(op.is_exit, self.top.live & ~execute, self.top.live)),
        ]
        with m.If(self._arbiter.valid & ~fault):
            m.d.comb += do.kind.eq(Mux(diverge, StackCommand.DIVERGE, StackCommand.JUMP))

    def _control(self, m: Module, op, armed, pending, retire):
        """Barriers and preemption points."""
        warps = self.geometry.warps
        stops_at_pp, stops_at_div = Signal(), Signal()
        m.d.comb += [
            stops_at_pp.eq(op.is_pp & pending), stops_at_div.eq(op.is_pp_div & armed & pending),
            self.waits.eq(self.retire & spread(op.is_bar, warps)), self.barrier.eq(op.barrier),
            self.arms.eq(self.retire & spread(stops_at_pp, warps)),
            self.parks.eq(self.retire & spread(stops_at_div, warps)),
            self.live.valid.eq(retire & (op.is_bar | stops_at_pp | stops_at_div & (self.top.depth > 1))),
            self.live.vector.eq(op.live),
        ]

    def _send(self, m: Module, op, execute, retire):
        """Hand ALU and memory instructions on."""
        warps, size = self.geometry.warps, self.geometry.warp_size
        out, who = self.issue.payload, self.identity
        send = Signal()
        m.d.comb += [
            send.eq(retire & (op.unit != Unit.CONTROL) & execute.any()), self.issue.valid.eq(send),
            out.op.eq(op), out.warp.eq(self.warp), out.tb.eq(who.tb), out.kernel.eq(who.kernel),
            out.block_warp.eq(who.block_warp), out.base.eq(who.base), out.pc.eq(self.top.pc), out.mask.eq(execute),
            out.pa.eq(self.predicate_pa ^ spread(op.pa_not, size)),
            out.pb.eq(self.predicate_pb ^ spread(op.pb_not, size)),
        ]
        _, _, registers, predicates = register_masks(self.geometry, op)
        m.d.comb += [self.reserve.valid.eq(send), self.reserve.registers.eq(registers),
                     self.reserve.predicates.eq(predicates)]
        is_global = op.unit == Unit.GLOBAL
        for vector, kind in ((self.loads, is_global & ~op.store), (self.stores, is_global & op.store),
                             (self.shared, op.unit == Unit.SHARED)):
            m.d.comb += vector.eq(self.retire & spread(send & kind, warps))
