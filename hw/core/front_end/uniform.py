"""The unit of the uniform data path: it computes with uniform registers, once per warp.

::

    cycle 0   IssueStage reads U[a], U[b], U[c]; a uniform instruction transfers (vector and memory
              instructions that use a uniform register get it as their immediate, and go elsewhere)
    cycle 1   ScalarSource -> operand b; IntegerUnit stage 1
    cycle 2   stage 2
    cycle 3   stage 3
    cycle 4   result -> queue
    cycle 5   queue -> UniformRegisters, or beats of a predicate write
    cycle 6   the warp may issue an instruction that touches uniform registers
"""

from typing import Any

import numpy as np
from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ...arch.geometry import UNIFORMS, Geometry
from ...arch.isa.opcodes import AluOp
from ...interfaces import payloads as payload
from ...interfaces.gpu_ports import sm_number
from ...lib.bits import spread
from ...lib.stream_queue import StreamQueue
from ..execute.operands import operation
from ..execute.special_registers import ScalarSource
from ..units.integer import IntegerLane, IntegerUnit

__all__ = ["UniformUnit"]


class UniformUnit(wiring.Component):
    """Executes the instructions of the uniform data path in order, one operation per cycle.

    The arithmetic is `IntegerLane`'s. ``us2r`` reads what ``s2r`` reads (`ScalarSource`). A
    register can be read `LATENCY` cycles after the operation was taken (later while a restore
    writes). A predicate is offered as `beats` beats, the first one `LATENCY` - 1 cycles after.

    Parameters
    ----------
    g : Geometry

    Attributes
    ----------
    kernels, tbs, cycle, sm_index
        As in `ScalarSource`.
    op : in stream
        `payloads.uniform_op`; `ready` depends on registers only.
    result : out stream
        `payloads.uniform_write`, with `keep`.
    predicate : out stream
        `payloads.predicate_write`: every lane of the mask gets the result.
    """

    kernels: data.View
    tbs: data.View
    cycle: Signal
    sm_index: Signal
    op: stream.Interface
    result: stream.Interface
    predicate: stream.Interface

    LATENCY = 3 + IntegerLane.LATENCY

    def __init__(self, g: Geometry):
        self.geometry = g
        below = payload.below
        super().__init__({
            "kernels": In(data.ArrayLayout(payload.kernel_info(g), g.kernel_slots)),
            "tbs": In(data.ArrayLayout(payload.tb_info(g), g.tb_slots)), "cycle": In(64),
            **sm_number(g), "op": In(stream.Signature(payload.uniform_op(g))),
            "result": Out(stream.Signature(payload.uniform_write(g))),
            "predicate": Out(stream.Signature(payload.predicate_write(g))),
        })
        self._entry = data.StructLayout({"warp": below(g.warps), "d": range(UNIFORMS),
                                         "writes_u": 1, "pd": 3, "writes_pd": 1,
                                         "mask": g.warp_size, "value": 32, "test": 1})

    @staticmethod
    def compute(op: AluOp, a: int = 0, b: int = 0, c: int = 0) -> tuple[int, bool]:
        """Return the register and the predicate result of an operation.

        Parameters
        ----------
        op : AluOp
            Operation of a uniform instruction; ``S2R`` passes operand b, the value that it reads.
        a, b, c : int
            32-bit operands.

        Returns
        -------
        tuple of int and bool
            0 and False where the operation has none.
        """
        name = AluOp.MOV if op is AluOp.S2R else op
        value, test = IntegerLane.compute(name, np.uint32(a), np.uint32(b),
                                          np.uint32(c), False, False)
        return int(value[0]), bool(test[0])

    def elaborate(self, platform: Any):
        m = Module()
        m.submodules.queue = queue = StreamQueue(self._entry, self.LATENCY)
        op_accepted = Signal()
        entry_done = Signal()
        # Operations between `op` and the end of the queue: never more than it holds, so that each
        # result finds a place.
        in_flight = Signal(range(queue.depth + 1))
        m.d.comb += [self.op.ready.eq(in_flight != queue.depth),
                     op_accepted.eq(self.op.valid & self.op.ready)]
        m.d.sync += in_flight.eq(in_flight + op_accepted - entry_done)
        self._execute(m, op_accepted, queue.input)
        m.d.comb += entry_done.eq(self._write(m, queue.output))
        return m

    def _execute(self, m: Module, op_accepted: Value, output: stream.Interface):
        """Cycles 1 to 4: operand b, the integer lane and what goes beside it."""
        m.submodules.scalars = scalars = ScalarSource(self.geometry)
        m.submodules.integer = integer = IntegerUnit(self.geometry, lanes=1)
        op = Signal(payload.uniform_op(self.geometry))
        busy = Signal()
        m.d.sync += busy.eq(op_accepted)
        with m.If(op_accepted):
            m.d.sync += op.eq(self.op.payload)
        source = Signal(operation(self.geometry))
        m.d.comb += [source[name].eq(op[name]) for name in ("alu", "kernel", "tb", "block_warp")]
        m.d.comb += [
            source.imm.eq(op.b), scalars.operation.eq(source), scalars.kernels.eq(self.kernels),
            scalars.tbs.eq(self.tbs), scalars.cycle.eq(self.cycle),
            *([scalars.sm_index.eq(self.sm_index)] if self.geometry.has_uncore else []),
            integer.op.eq(op.alu), integer.valid.eq(busy),
            integer.a[0].eq(op.a), integer.b[0].eq(scalars.value), integer.c[0].eq(op.c),
        ]
        valid = busy
        stage = Signal(self._entry)
        m.d.comb += [stage[name].eq(op[name])
                     for name in ("warp", "d", "writes_u", "pd", "writes_pd", "mask")]
        for number in range(IntegerLane.LATENCY):
            later = Signal(self._entry, name=f"stage_{number + 1}")
            still = Signal(name=f"valid_{number + 1}")
            m.d.sync += still.eq(valid)
            with m.If(valid):
                m.d.sync += later.eq(stage)
            stage, valid = later, still
        m.d.comb += [output.payload.eq(stage), output.payload.value.eq(integer.result[0]),
                     output.payload.test.eq(integer.predicate[0]), output.valid.eq(valid)]

    def _write(self, m: Module, queue: stream.Interface):
        """Cycle 5: offer the oldest result; return whether all of it was accepted."""
        g, entry = self.geometry, queue.payload
        result, predicate = self.result.payload, self.predicate.payload
        beat = Signal(payload.below(g.beats))
        mask = Signal(g.lanes)
        m.d.comb += [
            self.result.valid.eq(queue.valid & entry.writes_u), result.warp.eq(entry.warp),
            result.register.eq(entry.d), result.keep.eq(1), result.data.eq(entry.value),
            self.predicate.valid.eq(queue.valid & entry.writes_pd), predicate.warp.eq(entry.warp),
            predicate.predicate.eq(entry.pd), predicate.beat.eq(beat),
            predicate.last.eq(beat == g.beats - 1),
            mask.eq(entry.mask.word_select(beat, g.lanes)), predicate.mask.eq(mask),
            predicate.value.eq(mask & spread(entry.test, g.lanes)),
        ]
        with m.If(self.predicate.valid & self.predicate.ready):
            m.d.sync += beat.eq(Mux(predicate.last, 0, beat + 1))
        entry_done = Signal()
        m.d.comb += [entry_done.eq(queue.valid & (~entry.writes_u | self.result.ready) & (
            ~entry.writes_pd | predicate.last & self.predicate.ready)), queue.ready.eq(entry_done)]
        return entry_done
