"""Execution pipeline: operand collection, integer and floating-point lanes, predicates, write back.

::

    cycle 0   issue transfers
    cycle 1   OperandCollector reads the banks of RegisterFile and the valid bits
              (more cycles on conflicts)
    cycle 2   bank data -> operand registers;
              ScalarSource gives immediates, special registers
    cycle 3   operands -> IntegerUnit stage 1, FloatUnit stage 1    or  a memory unit, or F64Unit,
                                                         SpecialFunctionUnit, ExchangeUnit
    cycle 4                           stage 2,           stage 2
    cycle 5                           stage 3,           stage 3    (ThreadIndex beside them)
    cycle 6                                              stage 4
    cycle 7                                              stage 5
    cycle 8   WriteBack, PredicateFile, releases    (cycle 2 + alu_latency)

Integer results wait for the stages that only floating point has. So all ALU operations take the
same time, and the write port needs no arbitration among them.

A released register or predicate can be read from the next cycle. Operations of other units leave at
cycle 3. While the unit does not take one, the stages before it stand still, and ALU operations
behind it go on to complete. Those units write registers and predicates when the ALU does not.
"""

from typing import Any

from amaranth.hdl import Const, Module, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ...arch.geometry import Geometry
from ...arch.isa.opcodes import PT, AluOp, Unit
from ...interfaces import payloads as payload
from ...interfaces.core_ports import IssuePort, MemoryAccessPort
from ...interfaces.gpu_ports import sm_number
from ...interfaces.port import Port
from ...interfaces.preemption_port import RegisterStatePort
from ...lib.delay import delayed
from ..execution_units import MEMORY_UNITS, SIDE_UNITS
from ..units.floating import FloatUnit
from ..units.integer import IntegerLane, IntegerUnit
from .operands import OperandCollector, operation
from .predicates import PredicateFile, PredicateWriteBack
from .register_file import RegisterFile
from .special_registers import ScalarSource, ThreadIndex
from .valid_dirty import ValidDirty
from .writeback import WriteBack

__all__ = ["ExecutePipeline"]


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
    issue : IssuePort, in
        Instructions, predicates, releases. ``op.ready`` does not depend on what is offered. It is
        low while registers that share a bank are read in turn, and while an operation waits for its
        unit.
    global_access, shared_access, constant_access : MemoryAccessPort, out
        Operations to the memory units.
    cycle : Signal(64), in
        Value that ``s2r`` of the clock reads.
    sm_index : Signal(SM_BITS), in
        Value that ``s2r`` of the SM's number reads; only with `Geometry.has_uncore`.
    clear : in
        A warp slot is initialised: from the next cycle its registers are invalid and clean, its
        predicates unwritten.
    state : RegisterStatePort, in
        Reads and writes of registers and predicates. `restore_write` is taken when there is
        no other write.
    trace_write, trace_predicate : out
        Beats written to registers, except by restores, and to predicates; for simulations.
    """

    kernels: data.View
    tbs: data.View
    issue: Port
    global_access: Port
    shared_access: Port
    constant_access: Port
    cycle: Signal
    sm_index: Signal
    clear: data.View
    state: Port
    trace_write: data.View
    trace_predicate: data.View

    def __init__(self, g: Geometry):
        self.geometry = g
        super().__init__({
            "kernels": In(data.ArrayLayout(payload.kernel_info(g), g.kernel_slots)),
            "tbs": In(data.ArrayLayout(payload.tb_info(g), g.tb_slots)),
            "issue": In(IssuePort(g, (row.name for row in SIDE_UNITS))),
            **{f"{row.name}_access": Out(MemoryAccessPort(g, row.words)) for row in MEMORY_UNITS},
            "cycle": In(64), **sm_number(g),
            "clear": In(payload.warp_clear(g)),
            "state": In(RegisterStatePort(g)),
            "trace_write": Out(data.StructLayout({"valid": 1, "write": payload.register_write(g)})),
            "trace_predicate": Out(data.StructLayout({"valid": 1,
                                                      "write": payload.predicate_write(g)})),
        })

    def elaborate(self, platform: Any):
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
        m.d.comb += [write_back.accepting.eq(self.issue.op.ready),
                     predicate_back.accepting.eq(self.issue.op.ready),
                     self.issue.throttle.eq(write_back.throttle | predicate_back.throttle)]

        m.d.comb += self.issue.holding.eq(operands.holding)
        self._scalars(m, operands)
        stage = self._stages(m, operands.output)
        result, predicate = self._results(m, operands)
        tested = predicate_back.result
        m.d.comb += [
            write_back.result.valid.eq(stage.valid & stage.writes_d),
            write_back.result.write.eq(self._register_write(m, stage, result)),
            tested.valid.eq(stage.valid & stage.writes_pd & (stage.pd != PT)),
            tested.write.warp.eq(stage.warp),
            tested.write.predicate.eq(stage.pd), tested.write.beat.eq(stage.beat),
            tested.write.last.eq(stage.last), tested.write.mask.eq(stage.mask),
            tested.write.value.eq(predicate & stage.mask),
        ]
        return m

    def _connect_reads(self, m: Module, operands: OperandCollector, registers: RegisterFile,
                       flags: ValidDirty):
        """Connect issue, register reads and valid bits, and the preemption unit's reads."""
        state = self.state
        wiring.connect(m, wiring.flipped(self.issue.op), operands.issue)
        wiring.connect(m, wiring.flipped(state.load), flags.load)
        wanted = state.read.payload
        masked = ~wanted.stays if self.geometry.in_place else Const(1)
        m.d.comb += [
            registers.save_read.valid.eq(state.read.valid),
            state.read.ready.eq(registers.save_read.ready),
            *(registers.save_read.payload[name].eq(wanted[name])
              for name in ("warp", "base", "register", "beat")),
            registers.reads.eq(operands.reads), registers.hold.eq(operands.hold),
            operands.bank_data.eq(registers.data), operands.pause.eq(registers.overdue),
            flags.read_warp.eq(operands.valid_warp), operands.valid_row.eq(flags.read_row),
            flags.save_warp.eq(wanted.warp),
            registers.save_masked.eq(masked & ~flags.save_row.bit_select(wanted.register, 1)),
            state.read_data.eq(registers.save_data),
            flags.clear.valid.eq(self.clear.valid & ~self.clear.kept),
            flags.clear.warp.eq(self.clear.warp), flags.flags_select.eq(state.flags.warp),
            state.flags.valid.eq(flags.flags_valid), state.flags.dirty.eq(flags.flags_dirty),
        ]

    def _connect_writes(self, m: Module, write_back: WriteBack, registers: RegisterFile,
                        flags: ValidDirty):
        """Connect register writes, valid bits and releases."""
        for row in MEMORY_UNITS:
            wiring.connect(m, wiring.flipped(getattr(self, f"{row.name}_access").write),
                           getattr(write_back, f"{row.name}_write"))
        wiring.connect(m, wiring.flipped(self.state.restore_write), write_back.restore_write)
        m.d.comb += [
            flags.clean.eq(self.state.clean), registers.write.eq(write_back.write),
            flags.write.eq(write_back.flag), write_back.flag_valid.eq(flags.write_valid),
            self.issue.release_register.eq(write_back.release),
            self.trace_write.eq(write_back.trace),
        ]

    def _connect_predicates(self, m: Module, predicates: PredicateFile,
                            write_back: PredicateWriteBack):
        """Connect predicate writes and releases, the front end's and the preemption unit's side of
        the predicates."""
        released, written = self.issue.release_predicate, write_back.write
        flags = self.state.flags
        wiring.connect(m, wiring.flipped(self.issue.uniform_predicate),
                       write_back.uniform_predicate)
        wiring.connect(m, wiring.flipped(self.state.restore_predicate), write_back.restore)
        wiring.connect(m, wiring.flipped(self.issue.predicates), predicates.read)
        m.d.comb += [
            predicates.write.eq(written), self.trace_predicate.eq(written),
            released.valid.eq(written.valid & written.write.last),
            released.warp.eq(written.write.warp),
            released.predicate.eq(written.write.predicate),
            predicates.restore.eq(write_back.restored),
            predicates.clear.valid.eq(self.clear.valid), predicates.clear.warp.eq(self.clear.warp),
            predicates.save_warp.eq(flags.warp),
            predicates.save_select.eq(flags.predicate_select),
            flags.predicate_value.eq(predicates.save_value),
            flags.predicates_written.eq(predicates.written),
        ]

    def _memory_operations(self, m: Module, output: stream.Interface):
        """Offer beats of loads, stores and atomics to their unit, with the address of each lane."""
        op, operands = output.payload.operation, output.payload.operands
        address = Signal(data.ArrayLayout(32, self.geometry.lanes))
        m.d.comb += [address[lane].eq(operands[0][lane] + op.imm)
                     for lane in range(self.geometry.lanes)]
        m.d.comb += output.ready.eq(1)
        for row in MEMORY_UNITS:
            unit, port = row.unit, getattr(self, f"{row.name}_access").op
            beat = port.payload
            fields = beat.shape().members
            m.d.comb += [beat[field].eq(op[field]) for field in fields
                         if field not in ("address", "data")]
            m.d.comb += [beat.address.eq(address), port.valid.eq(output.valid & (op.unit == unit))]
            if "data" in fields:
                m.d.comb += [words.eq(operands[1 + k]) for k, words in enumerate(beat.data)]
            with m.If(op.unit == unit):
                m.d.comb += output.ready.eq(port.ready)

    def _side_units(self, m: Module, output: stream.Interface, write_back: WriteBack,
                    predicate_back: PredicateWriteBack):
        """Instantiate the units that take an instruction for several cycles,
        and offer them beats with operands."""
        g, op, operands = self.geometry, output.payload.operation, output.payload.operands
        words = dict(zip(("a", "b", "c", "high_b", "high_c", "high_a"), operands, strict=True))
        for row in SIDE_UNITS:
            m.submodules[row.name] = block = row.block(g)
            beat = block.op.payload
            m.d.comb += [beat[field].eq(words[field] if field in words else op[field])
                         for field in beat.shape().members]
            m.d.comb += [block.op.valid.eq(output.valid & (op.unit == row.unit)),
                         self.issue.room[row.name].eq(block.room)]
            with m.If(op.unit == row.unit):
                m.d.comb += output.ready.eq(block.op.ready)
            wiring.connect(m, block.write, getattr(write_back, f"{row.name}_write"))
            if row.writes_predicates:
                wiring.connect(m, block.predicate, getattr(predicate_back, f"{row.name}_predicate"))

    def _scalars(self, m: Module, operands: OperandCollector):
        """Give operand b its constants."""
        m.submodules.scalars = scalars = ScalarSource(self.geometry)
        m.d.comb += [
            scalars.kernels.eq(self.kernels),
            scalars.tbs.eq(self.tbs), scalars.cycle.eq(self.cycle),
            *([scalars.sm_index.eq(self.sm_index)] if self.geometry.has_uncore else []),
            scalars.operation.eq(operands.arriving),
            operands.immediate.eq(scalars.value),
        ]

    def _stages(self, m: Module, output: stream.Interface):
        """Carry what write back needs beside the lanes; return it as it is at write back."""
        g, op = self.geometry, output.payload.operation
        names = ("warp", "base", "d", "writes_d", "pd", "writes_pd", "beat", "last", "mask")
        layout = data.StructLayout({"valid": 1}
                                   | {name: operation(g)[name].shape for name in names})
        stage = Signal(layout)
        m.d.comb += stage.valid.eq(output.valid & (op.unit == Unit.ALU))
        m.d.comb += [stage[name].eq(op[name]) for name in names]
        return delayed(m, "stage", stage, g.alu_latency - 1)

    def _results(self, m: Module, operands: OperandCollector):
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

    def _register_write(self, m: Module, stage: data.View, result: data.View):
        """Return the register write of an ALU result."""
        write = Signal(payload.register_write(self.geometry))
        m.d.comb += [write[name].eq(stage[name])
                     for name in ("warp", "base", "beat", "last", "mask")]
        m.d.comb += [write.register.eq(stage.d),
                     write.release.eq(stage.last), write.data.eq(result)]
        return write
