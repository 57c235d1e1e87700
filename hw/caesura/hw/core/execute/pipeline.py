"""Execution pipeline: operand collection, integer and floating-point lanes, predicates, write back.

::

    cycle 0   issue transfers
    cycle 1   OperandCollector reads the banks of RegisterFile and the valid bits
              (more cycles on conflicts)
    cycle 2   bank data -> operand registers;
              ScalarSource gives immediates, parameters, special registers
    cycle 3   operands -> IntegerUnit stage 1, FloatUnit stage 1    or  a memory unit, or F64Unit,
                                                         SpecialFunctionUnit, ExchangeUnit
    cycle 4                           stage 2,           stage 2
    cycle 5                           stage 3,           stage 3    (ThreadIndex beside them)
    cycle 6                                              stage 4
    cycle 7                                              stage 5
    cycle 8   WriteBack, PredicateFile, releases    (cycle 2 + alu_latency)

Integer results wait for the stages that only floating point has, so that every ALU operation takes
as long and the write port needs no arbitration among them.

A released register or predicate can be read from the next cycle. Operations of other units leave at
cycle 3; while the unit does not take one, the stages before it stand still and ALU operations
behind it go on to complete. Those units write registers and predicates when the ALU does not.
"""

from amaranth.hdl import Module, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ...arch.faults import Fault
from ...arch.geometry import MAX_REGISTERS, PREDICATES, Geometry
from ...arch.isa import PT, AluOp, Unit
from ...interfaces import payloads as payload
from ...lib.delay import delayed
from ..units.exchange import ExchangeUnit
from ..units.f64 import F64Unit
from ..units.floating import FloatUnit
from ..units.integer import IntegerLane, IntegerUnit
from ..units.sfu import SpecialFunctionUnit
from .operands import OperandCollector, operation
from .predicates import PredicateFile, PredicateWriteBack
from .register_file import RegisterFile
from .special_registers import ScalarSource, ThreadIndex
from .valid_dirty import ValidDirty
from .writeback import WriteBack

__all__ = ["ExecutePipeline"]

MEMORY_UNITS = {Unit.GLOBAL: "global", Unit.SHARED: "shared", Unit.CONSTANT: "constant"}
"""Units behind a port ``<name>_op``, whose loads come back through ``<name>_write``."""
SIDE_UNITS = {Unit.F64: "f64", Unit.SFU: "sfu", Unit.EXCHANGE: "exchange"}
"""Units that take a warp instruction for several cycles."""


class ExecutePipeline(wiring.Component):
    """Executes issued warp instructions, holds registers, predicates and their valid bits.

    The front end's scoreboard guarantees that no issued instruction reads or writes a register or
    predicate that is still to be written. A conflict-free instruction is taken every `beats`
    cycles; every ALU operation writes its result ``alu_latency`` cycles after its operands were
    read.

    Parameters
    ----------
    g : Geometry

    Attributes
    ----------
    kernels, tbs : arrays, in
        `payloads.kernel_info` of the kernel slots, `payloads.tb_info` of the TB slots.
    issue : stream of interfaces.issue, in
        `ready` does not depend on what is offered. Low while registers that share a bank are read
        in turn, and while an operation waits for its unit.
    throttle : Signal(1), out
        Write back is behind: no ALU instruction is to issue in this cycle. Combinational.
    param_select : out; param_value : Signal(32), in
        A word of a kernel's parameters, combinational.
    cycle : Signal(32), in
        What ``s2r`` of the clock reads.
    predicate_select : in; predicate_guard, predicate_pa, predicate_pb : Signal(warp_size), out
        Predicates of a warp in all lanes, combinational; number 7 reads all ones.
    release_register, release_predicate : out
        `valid` for one cycle: the scoreboard frees it, and it can be read from the next cycle.
    global_op, shared_op, constant_op : stream of interfaces.memory_op, out
        Beats for the memory units, 3 cycles after issue if nothing is in the way.
    global_write, shared_write, constant_write : stream of interfaces.register_write, in
        What these units load.
    uniform_predicate : stream of interfaces.predicate_write, in
        Predicates set by the uniform data path.
    f64_room, sfu_room, exchange_room : Signal(1), out
        One cycle: the unit has its place for an instruction free again.
    clear : in
        A warp slot is initialised: from the next cycle its registers are invalid and clean, its
        predicates unwritten.
    flags_select : Signal, in; flags_valid, flags_dirty, flags_predicates : Signal, out
        Of a warp: valid and dirty bits of its registers, predicates written. Combinational.
    save_predicate_select : Signal, in; save_predicate : Signal(warp_size), out
        A predicate of warp `flags_select`, combinational.
    restore_predicate : in
        A whole predicate, written with `valid`.
    save_read : stream, in; save_data : out
        A beat of a register, when no instruction reads its bank; the data one cycle after the
        transfer, 0 if the register is invalid.
    restore_write : stream of interfaces.register_write, in; mark_clean : Signal(1), in
        Beats that are written when nobody else writes; with `mark_clean` the register stays clean.
    fault : interfaces.fault_report, out
        `Fault.PARAM_BOUND`.
    trace_write, trace_predicate : out
        For simulations: beats written to registers, but by restores, and to predicates.
    """

    kernels: data.View
    tbs: data.View
    issue: stream.Interface
    throttle: Signal
    param_select: data.View
    param_value: Signal
    cycle: Signal
    predicate_select: data.View
    predicate_guard: Signal
    predicate_pa: Signal
    predicate_pb: Signal
    release_register: data.View
    release_predicate: data.View
    global_op: stream.Interface
    shared_op: stream.Interface
    constant_op: stream.Interface
    global_write: stream.Interface
    shared_write: stream.Interface
    constant_write: stream.Interface
    uniform_predicate: stream.Interface
    f64_room: Signal
    sfu_room: Signal
    exchange_room: Signal
    clear: data.View
    flags_select: Signal
    flags_valid: Signal
    flags_dirty: Signal
    flags_predicates: Signal
    save_predicate_select: Signal
    save_predicate: Signal
    restore_predicate: data.View
    save_read: stream.Interface
    save_data: data.View
    restore_write: stream.Interface
    mark_clean: Signal
    fault: data.View
    trace_write: data.View
    trace_predicate: data.View

    def __init__(self, g: Geometry):
        self.geometry = g
        index = payload.index
        super().__init__({
            "kernels": In(data.ArrayLayout(payload.kernel_info(g), g.kernel_slots)),
            "tbs": In(data.ArrayLayout(payload.tb_info(g), g.tb_slots)),
            "issue": In(stream.Signature(payload.issue(g))),
            "throttle": Out(1),
            "param_select": Out(data.StructLayout({"kernel": index(g.kernel_slots),
                                                   "word": index(g.param_words)})),
            "param_value": In(32),   # combinational
            "cycle": In(32),         # for s2r CLOCK
            # predicates, read by the front end
            "predicate_select": In(data.StructLayout({
                "warp": index(g.warps), "guard": 3, "pa": 3, "pb": 3})),
            "predicate_guard": Out(g.warp_size),
            "predicate_pa": Out(g.warp_size),
            "predicate_pb": Out(g.warp_size),
            "release_register": Out(data.StructLayout({"valid": 1, "warp": index(g.warps),
                                                       "register": 6})),
            "release_predicate": Out(data.StructLayout({
                "valid": 1, "warp": index(g.warps), "predicate": range(PREDICATES + 1)})),
            # memory units, uniform data path
            **{f"{name}_op": Out(stream.Signature(self._memory_op(unit)))
               for unit, name in MEMORY_UNITS.items()},
            **{f"{name}_write": In(stream.Signature(payload.register_write(g)))
               for name in MEMORY_UNITS.values()},
            "uniform_predicate": In(stream.Signature(payload.predicate_write(g))),
            # the place of one instruction in a unit is free again
            **{f"{name}_room": Out(1) for name in SIDE_UNITS.values()},
            # preemption unit
            # a warp slot is initialised: registers become invalid and clean, predicates unwritten
            "clear": In(data.StructLayout({"valid": 1, "warp": index(g.warps)})),
            "flags_select": In(index(g.warps)),
            # valid bits of the selected warp, combinational
            "flags_valid": Out(MAX_REGISTERS),
            "flags_dirty": Out(MAX_REGISTERS),
            "flags_predicates": Out(PREDICATES),     # predicates written
            "save_predicate_select": In(range(PREDICATES + 1)),
            "save_predicate": Out(g.warp_size),      # of warp `flags_select`, combinational
            "restore_predicate": In(data.StructLayout({
                "valid": 1, "warp": index(g.warps), "predicate": range(PREDICATES + 1),
                "value": g.warp_size})),
            "save_read": In(stream.Signature(data.StructLayout({  # lowest priority reader
                "warp": index(g.warps), "base": payload.physical(g), "register": 6,
                "beat": index(g.beats)}))),
            "save_data": Out(data.StructLayout({     # one cycle after the transfer of `save_read`
                "valid": 1, "data": data.ArrayLayout(32, g.lanes)})),
            # lowest priority writer
            "restore_write": In(stream.Signature(payload.register_write(g))),
            "mark_clean": In(1),     # with restore_write: leave the dirty bit clear
            "fault": Out(payload.fault_report(g)),   # PARAM_BOUND
            "trace_write": Out(data.StructLayout({"valid": 1, "write": payload.register_write(g)})),
            "trace_predicate": Out(data.StructLayout({"valid": 1,
                                                      "write": payload.predicate_write(g)})),
        })

    def _memory_op(self, unit):
        """Layout of the beats for a memory unit; constants are only loaded."""
        return payload.memory_op(self.geometry, words=0 if unit is Unit.CONSTANT else 4)

    def elaborate(self, platform):
        m = Module()
        g = self.geometry
        m.submodules.operands = operands = OperandCollector(g)
        m.submodules.registers = registers = RegisterFile(g)
        m.submodules.flags = flags = ValidDirty(g)
        m.submodules.predicates = predicates = PredicateFile(g)
        m.submodules.predicate_write_back = predicate_back = PredicateWriteBack(g)
        m.submodules.write_back = write_back = WriteBack(g)
        self._connect_reads(m, operands, registers, flags)
        self._connect_writes(m, write_back, registers, flags)
        self._connect_predicates(m, predicates, predicate_back)
        self._memory_operations(m, operands.output)
        self._side_units(m, operands.output, write_back, predicate_back)
        m.d.comb += [write_back.accepting.eq(self.issue.ready),
                     predicate_back.accepting.eq(self.issue.ready),
                     self.throttle.eq(write_back.throttle | predicate_back.throttle)]

        faulty = self._scalars_and_fault(m, operands)
        stage = self._stages(m, operands.output, faulty)
        result, predicate = self._results(m, operands)
        tested = predicate_back.result
        m.d.comb += [
            write_back.result.valid.eq(stage.valid & stage.writes_d),
            write_back.result.kept.eq(~stage.faulty),
            write_back.result.write.eq(self._register_write(m, stage, result)),
            tested.valid.eq(stage.valid & stage.writes_pd & (stage.pd != PT)),
            tested.write.warp.eq(stage.warp),
            tested.write.predicate.eq(stage.pd), tested.write.beat.eq(stage.beat),
            tested.write.last.eq(stage.last), tested.write.mask.eq(stage.mask),
            tested.write.value.eq(predicate & stage.mask),
        ]
        return m

    def _connect_reads(self, m, operands, registers, flags):
        """Connect issue, register reads and valid bits, and the preemption unit's reads."""
        wiring.connect(m, wiring.flipped(self.issue), operands.issue)
        wiring.connect(m, wiring.flipped(self.save_read), registers.save_read)
        wanted = self.save_read.payload
        m.d.comb += [
            registers.reads.eq(operands.reads), registers.hold.eq(operands.hold),
            operands.bank_data.eq(registers.data),
            flags.read_warp.eq(operands.valid_warp), operands.valid_row.eq(flags.read_row),
            flags.save_warp.eq(wanted.warp),
            registers.save_masked.eq(~flags.save_row.bit_select(wanted.register, 1)),
            self.save_data.eq(registers.save_data),
            flags.clear.eq(self.clear), flags.flags_select.eq(self.flags_select),
            self.flags_valid.eq(flags.flags_valid), self.flags_dirty.eq(flags.flags_dirty),
        ]

    def _connect_writes(self, m, write_back, registers, flags):
        """Connect register writes, valid bits and releases."""
        for name in (*MEMORY_UNITS.values(), "restore"):
            wiring.connect(m, wiring.flipped(getattr(self, f"{name}_write")),
                           getattr(write_back, f"{name}_write"))
        m.d.comb += [
            write_back.mark_clean.eq(self.mark_clean), registers.write.eq(write_back.write),
            flags.write.eq(write_back.flag), write_back.flag_valid.eq(flags.write_valid),
            self.release_register.eq(write_back.release), self.trace_write.eq(write_back.trace),
        ]

    def _connect_predicates(self, m, predicates, write_back):
        """Connect predicate writes and releases, the front end's and the preemption unit's side of
        the predicates."""
        wiring.connect(m, wiring.flipped(self.uniform_predicate), write_back.uniform_predicate)
        m.d.comb += [
            predicates.write.eq(write_back.write), self.trace_predicate.eq(write_back.write),
            self.release_predicate.valid.eq(write_back.write.valid & write_back.write.write.last),
            self.release_predicate.warp.eq(write_back.write.write.warp),
            self.release_predicate.predicate.eq(write_back.write.write.predicate),
            predicates.select.eq(self.predicate_select), self.predicate_guard.eq(predicates.guard),
            self.predicate_pa.eq(predicates.pa), self.predicate_pb.eq(predicates.pb),
            predicates.restore.eq(self.restore_predicate), predicates.clear.eq(self.clear),
            predicates.save_warp.eq(self.flags_select),
            predicates.save_select.eq(self.save_predicate_select),
            self.save_predicate.eq(predicates.save_value),
            self.flags_predicates.eq(predicates.written),
        ]

    def _memory_operations(self, m, output):
        """Offer beats of loads, stores and atomics to their unit, with the address of each lane."""
        op, operands = output.payload.operation, output.payload.operands
        address = Signal(data.ArrayLayout(32, self.geometry.lanes))
        m.d.comb += [address[lane].eq(operands[0][lane] + op.imm)
                     for lane in range(self.geometry.lanes)]
        m.d.comb += output.ready.eq(1)
        for unit, name in MEMORY_UNITS.items():
            port = getattr(self, f"{name}_op")
            beat = port.payload
            fields = beat.shape().members
            m.d.comb += [beat[field].eq(op[field]) for field in fields
                         if field not in ("address", "data")]
            m.d.comb += [beat.address.eq(address), port.valid.eq(output.valid & (op.unit == unit))]
            if "data" in fields:
                m.d.comb += [words.eq(operands[1 + k]) for k, words in enumerate(beat.data)]
            with m.If(op.unit == unit):
                m.d.comb += output.ready.eq(port.ready)

    def _side_units(self, m, output, write_back, predicate_back):
        """Instantiate the units that take an instruction for several cycles,
        and offer them beats with operands."""
        g, op, operands = self.geometry, output.payload.operation, output.payload.operands
        m.submodules.f64 = f64 = F64Unit(g)
        m.submodules.sfu = sfu = SpecialFunctionUnit(g)
        m.submodules.exchange = exchange = ExchangeUnit(g)
        words = dict(zip(("a", "b", "c", "high_b", "high_c", "high_a"), operands, strict=True))
        for (unit, name), block in zip(SIDE_UNITS.items(), (f64, sfu, exchange), strict=True):
            beat = block.op.payload
            m.d.comb += [beat[field].eq(words[field] if field in words else op[field])
                         for field in beat.shape().members]
            m.d.comb += [block.op.valid.eq(output.valid & (op.unit == unit)),
                         getattr(self, f"{name}_room").eq(block.room)]
            with m.If(op.unit == unit):
                m.d.comb += output.ready.eq(block.op.ready)
            wiring.connect(m, block.write, getattr(write_back, f"{name}_write"))
        wiring.connect(m, f64.predicate, predicate_back.f64_predicate)
        wiring.connect(m, exchange.predicate, predicate_back.exchange_predicate)

    def _scalars_and_fault(self, m, operands):
        """Give operand b its constants; report parameter faults;
        return "faulty", beside the operands."""
        m.submodules.scalars = scalars = ScalarSource(self.geometry)
        op = operands.output.payload.operation
        faulty = Signal()
        m.d.comb += [
            scalars.kernels.eq(self.kernels),
            scalars.tbs.eq(self.tbs), scalars.cycle.eq(self.cycle),
            scalars.operation.eq(operands.arriving), self.param_select.eq(scalars.param_select),
            scalars.param_value.eq(self.param_value), operands.immediate.eq(scalars.value),
            self.fault.valid.eq(operands.output.valid & faulty & (op.beat == 0)),
            self.fault.kind.eq(Fault.PARAM_BOUND), self.fault.warp.eq(op.warp),
            self.fault.pc.eq(op.pc), self.fault.address.eq(op.imm),
        ]
        with m.If(operands.arriving_last):
            m.d.sync += faulty.eq(scalars.fault & (operands.arriving.unit == Unit.ALU))
        return faulty

    def _stages(self, m, output, faulty):
        """Carry what write back needs beside the lanes; return it as it is at write back."""
        g, op = self.geometry, output.payload.operation
        names = ("warp", "base", "d", "writes_d", "pd", "writes_pd", "beat", "last", "mask")
        layout = data.StructLayout({"valid": 1, "faulty": 1}
                                   | {name: operation(g)[name].shape for name in names})
        stage = Signal(layout)
        m.d.comb += [stage.valid.eq(output.valid & (op.unit == Unit.ALU)), stage.faulty.eq(faulty)]
        m.d.comb += [stage[name].eq(op[name]) for name in names]
        return delayed(m, "stage", stage, g.alu_latency - 1)

    def _results(self, m, operands):
        """Instantiate the lanes and the thread index;
        return register and predicate results at write back."""
        g, collected = self.geometry, operands.output.payload
        op = collected.operation
        m.submodules.integer = integer = IntegerUnit(g)
        m.submodules.float = floating = FloatUnit(g)
        m.submodules.threads = threads = ThreadIndex(g)
        m.d.comb += [
            integer.pa.eq(op.pa), integer.pb.eq(op.pb),
            threads.kernels.eq(self.kernels), threads.operation.eq(operands.arriving),
            threads.enable.eq(operands.arriving_last),
        ]
        for unit in (integer, floating):
            m.d.comb += [unit.op.eq(op.alu),
                         unit.valid.eq(operands.output.valid & (op.unit == Unit.ALU))]
            m.d.comb += [getattr(unit, name).eq(words)
                         for name, words in zip("abc", collected.operands, strict=False)]
        chosen = Signal(data.ArrayLayout(32, g.lanes))
        m.d.comb += chosen.eq(integer.result)
        with m.If(threads.selected):
            m.d.comb += [chosen[lane].eq(threads.result[lane]) for lane in range(g.lanes)]

        wait = FloatUnit.LATENCY - IntegerLane.LATENCY
        result = Signal(data.ArrayLayout(32, g.lanes))
        predicate = Signal(g.lanes)
        is_float = Signal()
        m.d.comb += [
            is_float.eq(op.alu >= AluOp.FADD_RN),
            result.eq(delayed(m, "integer_result", chosen, wait)),
            predicate.eq(delayed(m, "integer_predicate", integer.predicate, wait)),
        ]
        with m.If(delayed(m, "is_float", is_float, FloatUnit.LATENCY)):
            m.d.comb += [result.eq(floating.result), predicate.eq(floating.predicate)]
        extra = g.alu_latency - 1 - FloatUnit.LATENCY
        return delayed(m, "result", result, extra), delayed(m, "predicate", predicate, extra)

    def _register_write(self, m, stage, result):
        """Return the register write of an ALU result."""
        write = Signal(payload.register_write(self.geometry))
        m.d.comb += [write[name].eq(stage[name])
                     for name in ("warp", "base", "beat", "last", "mask")]
        m.d.comb += [write.register.eq(stage.d),
                     write.release.eq(stage.last), write.data.eq(result)]
        return write
