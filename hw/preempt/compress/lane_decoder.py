"""Lane decoder, an inverse of `register_encoder`: the lanes of a register of each of which
something is kept."""

from amaranth.hdl import Cat, Module, Mux, Signal, Value

from ...arch.geometry import Geometry
from ...arch.image.encodings import Encoding, plane_bits

__all__ = ["lane_values"]


def lane_values(m: Module, g: Geometry, code: Value, shared: Value, low: Value) -> Value:
    """Return the words of a beat, combinational: one multiplexer per plane and lane, else wires.

    Parameters
    ----------
    m : Module
    g : Geometry
    code : Value
        An `Encoding` of which something is kept of each lane.
    shared : Value, 32 bits
        The word that has the upper bits of all lanes.
    low : Value, ``32 * lanes`` bits
        The words that were kept, in their first ones.
    """
    thick, code = plane_bits(g.lanes), Value.cast(code)
    own = Signal(32 // thick)  # planes that each lane has for itself
    m.d.comb += own.eq(Cat(code > thick // 4 * k for k in range(32 // thick)))
    lanes = Cat(Mux(own[k], low[thick * (k * g.lanes + lane):][:thick],
                    shared[thick * k:thick * k + thick])
                for lane in range(g.lanes) for k in range(32 // thick))
    return Mux(code == Encoding.RANDOM, low, lanes)
