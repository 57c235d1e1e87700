"""The f64 unit of the SM: binary64 arithmetic for all lanes, `f64_lanes` threads a cycle.

::

    op --> Serial --a, b, c of a few threads--> F64Lane, 9 stages --results--> Serial --> write,
                                                                                          predicate
"""

from __future__ import annotations

from typing import Any

import numpy as np
from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out
from numpy.typing import ArrayLike

from ....arch.geometry import Geometry
from ....arch.isa.opcodes import F64Op
from ....interfaces.payloads import lane_op, predicate_write, register_write
from ..serializer import Serial
from .lane import F64Lane
from .model import TESTS, VALUES

__all__ = ["F64Unit"]


class F64Unit(wiring.Component):
    """Executes every `F64Op`, an instruction after the other, IEEE 754 results.

    Let T be the number of groups of `f64_lanes` neighbouring threads that have an active thread.
    The first write is offered ``T + LATENCY`` cycles after the last beat. An instruction takes the
    unit for T cycles if nothing holds back its writes (`Serial` has the details).

    Parameters
    ----------
    g : Geometry

    Attributes
    ----------
    op : stream of lane_op, in
    room : Signal(1), out
        One cycle: the next instruction may come.
    write : stream of register_write, out
    predicate : stream of predicate_write, out
    """

    op: stream.Interface
    room: Signal
    write: stream.Interface
    predicate: stream.Interface

    LATENCY = F64Lane.LATENCY + 5
    OPERANDS = ("a", "b", "c", "high_a", "high_b", "high_c")

    def __init__(self, g: Geometry):
        self.geometry = g
        super().__init__({
            "op": In(stream.Signature(lane_op(g, self.OPERANDS), always_ready=True)),
            "room": Out(1), "write": Out(stream.Signature(register_write(g))),
            "predicate": Out(stream.Signature(predicate_write(g))),
        })

    @staticmethod
    def compute(op: F64Op, a: ArrayLike, b: ArrayLike,
                c: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
        """Return what the hardware computes, for arrays of threads.

        Parameters
        ----------
        op : F64Op
        a, b, c : array of uint64
            Bit patterns; of a 32-bit operand the lower half counts. An operand that the operation
            does not have is ignored.

        Returns
        -------
        tuple of numpy.ndarray
            Register result (uint64; one of 32 bits is zero-extended) and predicate result (bool),
            zeros where the operation has none.
        """
        a, b, c = np.broadcast_arrays(*(np.atleast_1d(np.asarray(x, np.uint64)) for x in (a, b, c)))
        with np.errstate(all="ignore"):
            if op in TESTS:
                return np.zeros(a.shape, np.uint64), TESTS[op](a, b)
            return VALUES[op](a, b, c), np.zeros(a.shape, bool)

    def elaborate(self, platform: Any):
        m = Module()
        threads = self.geometry.f64_lanes
        m.submodules.serial = serial = Serial(
            self.geometry, threads=threads, operands=self.OPERANDS,
            registers=2, latency=F64Lane.LATENCY, predicates=True)
        wiring.connect(m, wiring.flipped(self.op), serial.op)
        wiring.connect(m, serial.write, wiring.flipped(self.write))
        wiring.connect(m, serial.predicate, wiring.flipped(self.predicate))
        m.d.comb += self.room.eq(serial.room)
        enter = serial.enter
        for thread in range(threads):
            m.submodules[f"lane_{thread}"] = lane = F64Lane()
            m.d.comb += [
                lane.valid.eq(enter.valid & enter.active[thread]), lane.function.eq(enter.function),
                Cat(serial.result[0][thread], serial.result[1][thread]).eq(lane.result),
                serial.tested[thread].eq(lane.tested),
            ]
            m.d.comb += [getattr(lane, name).eq(Cat(
                enter[name][thread], enter[f"high_{name}"][thread])) for name in "abc"]
        return m
