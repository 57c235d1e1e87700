"""The words of a warp record that are made of several fields: its header and a stack entry."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data

from ...arch.geometry import PC_BITS, PC_NONE, Geometry
from ...arch.image.context import HEADER_WORDS, STACK_ENTRY, WARP_HEADER, Reconvergence
from ...lib.bits import popcount

__all__ = ["words_of_header", "words_of_entry"]


def words_of_header(m: Module, g: Geometry, view: data.View, exited: Value, predicates: Value,
                    uniforms: Value, repeats: Value) -> tuple[Value, Value]:
    """Return the first words of a record, which say what of it follows, and their number.

    Parameters
    ----------
    m : Module
    g : Geometry
    view : data.View
        Control state of the warp.
    exited : Value
        Not all of its lanes are live.
    predicates, uniforms : Value
        Vectors of those that follow.
    repeats : Value
        It has the uniform registers of the record before besides.
    """
    header = Signal(WARP_HEADER)
    m.d.comb += [
        header.warp.eq(view.block_warp), header.launched.eq(popcount(view.launched) - 1),
        header.depth.eq(view.depth), header.predicates.eq(predicates),
        header.barrier.eq(Mux(view.waiting, view.barrier, 0)), header.waiting.eq(view.waiting),
        header.exited.eq(exited), header.uniforms.eq(uniforms.any()), header.repeats.eq(repeats)]
    live = Cat(view.live, Const(0, 32 - g.warp_size))
    words = Signal(32 * HEADER_WORDS, name="header_words")
    m.d.comb += words.eq(Cat(header, Mux(exited, Cat(live, uniforms), uniforms)))
    return words, 1 + exited + header.uniforms


def words_of_entry(m: Module, g: Geometry, view: data.View, below: data.View
                   ) -> tuple[Value, Value]:
    """Return the words of a stack entry and their number.

    Parameters
    ----------
    m : Module
    g : Geometry
    view : data.View
        Control state of the warp, with the entry.
    below : data.View
        `pc` and `reconv` of the entry below.
    """
    entry = Signal(STACK_ENTRY)
    mask = Cat(view.mask, Const(0, 32 - g.warp_size))
    reconv = Cat(view.reconv, Const(0, 32 - PC_BITS))
    m.d.comb += [
        entry.pc.eq(view.pc), entry.whole.eq(view.mask == view.live),
        entry.reconv.eq(Mux(
            view.reconv == PC_NONE, Reconvergence.NONE, Mux(
                view.reconv == below.pc, Reconvergence.BELOW, Mux(
                    view.reconv == below.reconv, Reconvergence.SAME, Reconvergence.OWN))))]
    words = Cat(entry, Mux(entry.whole, reconv, Cat(mask, reconv)))
    return words, 1 + ~entry.whole + (entry.reconv == Reconvergence.OWN)
