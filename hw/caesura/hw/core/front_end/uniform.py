"""Uniform data path: the scalar registers of each warp, and the unit that computes with them once a
warp.

::

    cycle 0   IssueStage reads U[a], U[b], U[c]; a uniform instruction transfers (vector and memory
              instructions that use a uniform register get it as their immediate, and go elsewhere)
    cycle 1   ScalarSource -> operand b; IntegerUnit stage 1
    cycle 2   stage 2   (a fault of ``uldp`` is reported)
    cycle 3   stage 3
    cycle 4   result -> queue
    cycle 5   queue -> UniformRegisters, or beats of a predicate write
    cycle 6   the warp may issue an instruction that touches uniform registers
"""

import numpy as np
from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from ...arch.faults import Fault
from ...arch.geometry import UNIFORMS, Geometry
from ...arch.isa import AluOp
from ...interfaces import payloads as payload
from ...lib.bits import one_hot, spread
from ...lib.stream_queue import StreamQueue
from ..execute.operands import operation
from ..execute.special_registers import ScalarSource
from ..units.integer import IntegerLane, IntegerUnit

__all__ = ["UniformRegisters", "UniformUnit"]


class UniformRegisters(wiring.Component):
    """The uniform registers of all warp slots, with a "written" bit each; every read is
    combinational.

    A register that was not written since `clear` reads 0. One write a cycle: a restore, else the
    unit's, else the constant unit's.

    Parameters
    ----------
    g : Geometry

    Attributes
    ----------
    select, a, b, c : in, out
        Three registers of one warp, for the issue stage.
    result, constant : in stream
        `payloads.uniform_write` of `UniformUnit` and of the constant unit; visible from the next
        cycle.
    restore : In(valid, warp, register, value)
        Written by the preemption unit.
    clear : In(valid, warp)
        Makes the registers of a warp unwritten.
    reserve : Signal(warps), in
        The warp that issues an instruction which will write a register, one-hot.
    remote : Signal(1), in
        With `reserve`: what is written comes over the bus.
    forget : Signal(warps), in
        Vector: no write is to come any more.
    outstanding : Signal(warps), out
        That write is still to come.
    near : Signal(warps), out
        It is, and not over the bus.
    save_warp, save_select, save_value : in, out
        One register of a warp, for the preemption unit.
    written : Signal(UNIFORMS), out
        Registers of warp `save_warp` that have been written.
    trace : Out(valid, warp, register, value)
        Each write of an instruction.
    """

    select: data.View
    a: Signal
    b: Signal
    c: Signal
    result: stream.Interface
    constant: stream.Interface
    restore: data.View
    clear: data.View
    reserve: Signal
    remote: Signal
    forget: Signal
    outstanding: Signal
    near: Signal
    save_warp: Signal
    save_select: Signal
    save_value: Signal
    written: Signal
    trace: data.View

    def __init__(self, g: Geometry):
        self.geometry = g
        warp, number = payload.below(g.warps), range(UNIFORMS)
        write = payload.uniform_restore(g)
        super().__init__({
            "select": In(data.StructLayout({"warp": warp, "a": number, "b": number, "c": number})),
            "a": Out(32), "b": Out(32), "c": Out(32),
            "result": In(stream.Signature(payload.uniform_write(g))),
            "constant": In(stream.Signature(payload.uniform_write(g))),
            "restore": In(write), "clear": In(payload.warp_event(g)),
            "reserve": In(g.warps), "remote": In(1), "forget": In(g.warps),
            "outstanding": Out(g.warps), "near": Out(g.warps),
            "save_warp": In(warp), "save_select": In(number),
            "save_value": Out(32), "written": Out(UNIFORMS), "trace": Out(write),
        })

    def elaborate(self, platform):
        m = Module()
        warps = self.geometry.warps
        write = self._choose(m)
        m.submodules.values = values = Memory(shape=32, depth=UNIFORMS * warps, init=[])
        m.submodules.written = written = Memory(shape=UNIFORMS, depth=warps, init=[])
        fresh = Signal(warps, init=(1 << warps) - 1)  # nothing written, whatever the memory holds

        def row(warp, name):
            port = written.read_port(domain="comb")
            bits = Signal(UNIFORMS, name=f"{name}_row")
            m.d.comb += [port.addr.eq(warp), bits.eq(Mux(fresh.bit_select(warp, 1), 0, port.data))]
            return bits

        def read(warp, number, bits, value):
            port = values.read_port(domain="comb")
            m.d.comb += [port.addr.eq(Cat(number, warp)),
                         value.eq(Mux(bits.bit_select(number, 1), port.data, 0))]

        issuing, saving = row(self.select.warp, "select"), row(self.save_warp, "save")
        for name, value in (("a", self.a), ("b", self.b), ("c", self.c)):
            read(self.select.warp, self.select[name], issuing, value)
        read(self.save_warp, self.save_select, saving, self.save_value)
        m.d.comb += self.written.eq(saving)

        port = values.write_port()
        flags = written.write_port()
        used = Signal(warps)
        cleared = Signal(warps)
        m.d.comb += [
            port.addr.eq(Cat(write.register, write.warp)),
            port.data.eq(write.value), port.en.eq(write.valid),
            flags.addr.eq(write.warp), flags.en.eq(write.valid),
            flags.data.eq(row(write.warp, "write") | one_hot(write.register, UNIFORMS)),
            used.eq(one_hot(write.warp, warps) & spread(write.valid, warps)),
            cleared.eq(one_hot(self.clear.warp, warps) & spread(self.clear.valid, warps)),
        ]
        m.d.sync += fresh.eq(fresh & ~used | cleared)
        return m

    def _choose(self, m: Module):
        """Choose the write of this cycle, and keep account of those to come."""
        g, restore = self.geometry, self.restore
        write = Signal.like(self.trace)
        unit, constant = self.result, self.constant
        chosen = Signal(payload.uniform_write(g))
        taken = Signal()
        m.d.comb += [
            unit.ready.eq(~restore.valid), constant.ready.eq(~restore.valid & ~unit.valid),
            taken.eq(~restore.valid & (unit.valid | constant.valid)),
            chosen.eq(Mux(unit.valid, unit.payload, constant.payload)),
            self.trace.valid.eq(taken & chosen.keep), self.trace.warp.eq(chosen.warp),
            self.trace.register.eq(chosen.register), self.trace.value.eq(chosen.data),
            write.eq(Mux(restore.valid, restore, self.trace)),
        ]
        far = Signal(g.warps)  # the last write that was reserved comes over the bus
        m.d.sync += [
            self.outstanding.eq((self.outstanding | self.reserve) & ~self.forget
                                & ~(one_hot(chosen.warp, g.warps) & spread(taken, g.warps))),
            far.eq(far & ~self.reserve | self.reserve & spread(self.remote, g.warps)),
        ]
        m.d.comb += self.near.eq(self.outstanding & ~far)
        return write


class UniformUnit(wiring.Component):
    """Executes the instructions of the uniform data path: an operation a cycle, in order.

    The arithmetic is `IntegerLane`'s. ``us2r`` and ``uldp`` read what ``s2r`` and ``ldp`` read
    (`ScalarSource`). A register can be read `LATENCY` cycles after the operation was taken (later
    while a restore writes); a predicate is offered as `beats` beats, the first one `LATENCY` - 1
    cycles after. An ``uldp`` that faults writes nothing.

    Parameters
    ----------
    g : Geometry

    Attributes
    ----------
    kernels, tbs, cycle, param_select, param_value
        As in `ScalarSource`.
    op : in stream
        `payloads.uniform_op`; `ready` depends on registers only.
    result : out stream
        `payloads.uniform_write`; without `keep` after a fault.
    predicate : out stream
        `payloads.predicate_write`: every lane of the mask gets the result.
    fault : out
        `payloads.fault_report`, two cycles after the operation was taken.
    """

    kernels: data.View
    tbs: data.View
    cycle: Signal
    param_select: data.View
    param_value: Signal
    op: stream.Interface
    result: stream.Interface
    predicate: stream.Interface
    fault: data.View

    LATENCY = 3 + IntegerLane.LATENCY

    def __init__(self, g: Geometry):
        self.geometry = g
        below = payload.below
        super().__init__({
            "kernels": In(data.ArrayLayout(payload.kernel_info(g), g.kernel_slots)),
            "tbs": In(data.ArrayLayout(payload.tb_info(g), g.tb_slots)), "cycle": In(32),
            "param_select": Out(data.StructLayout({"kernel": below(g.kernel_slots),
                                                   "word": below(g.param_words)})),
            "param_value": In(32), "op": In(stream.Signature(payload.uniform_op(g))),
            "result": Out(stream.Signature(payload.uniform_write(g))),
            "predicate": Out(stream.Signature(payload.predicate_write(g))),
            "fault": Out(payload.fault_report(g)),
        })
        self._entry = data.StructLayout({"warp": below(g.warps), "d": range(UNIFORMS),
                                         "writes_u": 1, "keep": 1, "pd": 3, "writes_pd": 1,
                                         "mask": g.warp_size, "value": 32, "test": 1})

    @staticmethod
    def compute(op: AluOp, a: int = 0, b: int = 0, c: int = 0) -> tuple[int, bool]:
        """Return the register and the predicate result of an operation.

        Parameters
        ----------
        op : AluOp
            Of a uniform instruction; ``S2R`` and ``LDP`` pass operand b, the value that they read.
        a, b, c : int
            32-bit operands.

        Returns
        -------
        tuple of int and bool
            0 and False where the operation has none.
        """
        name = AluOp.MOV if op in (AluOp.S2R, AluOp.LDP) else op
        value, test = IntegerLane.compute(name, np.uint32(a), np.uint32(b),
                                          np.uint32(c), False, False)
        return int(value[0]), bool(test[0])

    def elaborate(self, platform):
        m = Module()
        m.submodules.queue = queue = StreamQueue(self._entry, self.LATENCY)
        taken = Signal()
        left = Signal()
        # operations between `op` and the end of the queue
        in_flight = Signal(range(queue.depth + 1))
        m.d.comb += [self.op.ready.eq(in_flight != queue.depth),
                     taken.eq(self.op.valid & self.op.ready)]
        m.d.sync += in_flight.eq(in_flight + taken - left)
        self._execute(m, taken, queue.input)
        m.d.comb += left.eq(self._write(m, queue.output))
        return m

    def _execute(self, m: Module, taken, output):
        """Cycles 1 to 4: operand b, the integer lane and what goes beside it."""
        m.submodules.scalars = scalars = ScalarSource(self.geometry)
        m.submodules.integer = integer = IntegerUnit(self.geometry, lanes=1)
        op = Signal(payload.uniform_op(self.geometry))
        busy = Signal()
        m.d.sync += busy.eq(taken)
        with m.If(taken):
            m.d.sync += op.eq(self.op.payload)
        source = Signal(operation(self.geometry))
        m.d.comb += [source[name].eq(op[name]) for name in ("alu", "kernel", "tb", "block_warp")]
        m.d.comb += [
            source.imm.eq(op.b), scalars.operation.eq(source), scalars.kernels.eq(self.kernels),
            scalars.tbs.eq(self.tbs), scalars.cycle.eq(self.cycle),
            self.param_select.eq(scalars.param_select),
            scalars.param_value.eq(self.param_value), integer.op.eq(op.alu), integer.valid.eq(busy),
            integer.a[0].eq(op.a), integer.b[0].eq(scalars.value), integer.c[0].eq(op.c),
        ]
        m.d.sync += self.fault.valid.eq(busy & scalars.fault)
        with m.If(busy):
            m.d.sync += [self.fault.kind.eq(Fault.PARAM_BOUND), self.fault.warp.eq(op.warp),
                         self.fault.pc.eq(op.pc), self.fault.address.eq(op.b)]
        valid = busy
        stage = Signal(self._entry)
        m.d.comb += [stage[name].eq(op[name])
                     for name in ("warp", "d", "writes_u", "pd", "writes_pd", "mask")]
        m.d.comb += stage.keep.eq(~scalars.fault)
        for number in range(IntegerLane.LATENCY):
            later = Signal(self._entry, name=f"stage_{number + 1}")
            still = Signal(name=f"valid_{number + 1}")
            m.d.sync += still.eq(valid)
            with m.If(valid):
                m.d.sync += later.eq(stage)
            stage, valid = later, still
        m.d.comb += [output.payload.eq(stage), output.payload.value.eq(integer.result[0]),
                     output.payload.test.eq(integer.predicate[0]), output.valid.eq(valid)]

    def _write(self, m: Module, queue):
        """Cycle 5: offer the oldest result; return whether it is gone."""
        g, entry = self.geometry, queue.payload
        result, predicate = self.result.payload, self.predicate.payload
        beat = Signal(payload.below(g.beats))
        mask = Signal(g.lanes)
        m.d.comb += [
            self.result.valid.eq(queue.valid & entry.writes_u), result.warp.eq(entry.warp),
            result.register.eq(entry.d), result.keep.eq(entry.keep), result.data.eq(entry.value),
            self.predicate.valid.eq(queue.valid & entry.writes_pd), predicate.warp.eq(entry.warp),
            predicate.predicate.eq(entry.pd), predicate.beat.eq(beat),
            predicate.last.eq(beat == g.beats - 1),
            mask.eq(entry.mask.word_select(beat, g.lanes)), predicate.mask.eq(mask),
            predicate.value.eq(mask & spread(entry.test, g.lanes)),
        ]
        with m.If(self.predicate.valid & self.predicate.ready):
            m.d.sync += beat.eq(Mux(predicate.last, 0, beat + 1))
        gone = Signal()
        m.d.comb += [gone.eq(queue.valid & (~entry.writes_u | self.result.ready) & (
            ~entry.writes_pd | predicate.last & self.predicate.ready)), queue.ready.eq(gone)]
        return gone
