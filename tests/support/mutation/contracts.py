"""The contracts of blocks, from their docstrings: legal inputs, and bits of outputs that have a meaning.

The compressors are those of warps of 16 lanes.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from amaranth.hdl import Cat, Mux, Value
from amaranth.lib import data, wiring

from caesura.hw.arch.commands import Switch
from caesura.hw.arch.image.encodings import Encoding
from caesura.hw.export.ports import ports_of

from .equivalence import Contract

__all__ = ["COMPRESSOR", "DECOMPRESSOR", "ENCODER", "GROUP_DECODER", "PACKER", "TB_COMPRESSOR", "within"]


def _first(words: Any, count: Value) -> list[Value]:
    """Return the first words of an array; the others are zero."""
    return [Mux(count > k, Value.cast(words[k]), 0) for k in range(len(words))]


def _written(beat: Any, ports: SimpleNamespace) -> Value:
    """Words of a packer that are written, and the tag of a flush."""
    words = [Mux(beat.strobe[k], Value.cast(beat.words[k]), 0) for k in range(len(beat.words))]
    return Cat(*words, beat.strobe, beat.flush, Mux(beat.flush, Value.cast(beat.tag), 0))


def _pattern(out: Any, ports: SimpleNamespace) -> Value:
    """The words that a beat of a compressor has."""
    return Cat(*_first(out.words, out.count), out.count, out.code, out.last, Value.cast(out.tag))


def _encoded(out: Any, ports: SimpleNamespace) -> Value:
    """The words that a beat of an encoder has, with the one that its lanes share in front."""
    code = Value.cast(out.code)
    shared = out.first & (code > Encoding.DEAD) & (code < Encoding.RANDOM)
    return Cat(*_first(out.words, out.count), out.count, code, out.first, out.last, Value.cast(out.tag),
               Mux(shared, out.shared, 0))


def _prefix(launched: Value) -> Value:
    """Return whether lanes are a prefix of a beat's."""
    return (launched & (launched + 1)) == 0


def _grouped(code: Value) -> Value:
    """Return whether an encoding is one of groups of up to 16 lanes, or dead."""
    groups = [each for each in Encoding if 0 < each.group <= 16]
    return Cat(code == each for each in (Encoding.DEAD, *groups)).any()


def within(ports: SimpleNamespace, block: wiring.Component) -> list[Value]:
    """Numbers of entries, TBs, kernels and warps that a block is told are of some that there are; the way in which a
    preempt or resume has ended is a `Switch`.

    A block without a geometry is told of none.
    """
    g: Any = getattr(block, "geometry", None)
    if g is None:
        return []
    limits: dict[str, int] = {
        **{name: g.context_entries for name in ("entry", "select", "ahead", "chosen")},
        "tb": g.tb_slots, "staying": g.tb_slots, "kernel": g.kernel_slots, "warp": g.warps}
    given: list[Value] = []

    def walk(name: Any, value: Any) -> None:
        if isinstance(value, data.View):
            for part, field in value.shape():
                walk(part, value[part])
                if field.shape is Switch:
                    given.append(Cat(Value.cast(value[part]) == each for each in Switch).any())
        elif name in limits and limits[name] < 1 << len(Value.cast(value)):
            given.append(Value.cast(value) < limits[name])

    for port in ports_of(block):
        if not port.output:
            walk(port.path[-1], getattr(ports, port.inner))
    return given


PACKER = Contract(lambda ports: [ports.chunk_payload.count <= len(ports.chunk_payload.words)],
                  {"beat_payload": _written})
COMPRESSOR = Contract(lambda ports: [(ports.pag == 8) | (ports.pag == 16), _prefix(ports.input_payload.launched)],
                      {"output_payload": _pattern}, constant=("pag",))
DECOMPRESSOR = Contract(lambda ports: [(ports.pag == 8) | (ports.pag == 16)], constant=("pag",))
ENCODER = Contract(matters={"output_payload": _encoded})
GROUP_DECODER = Contract(lambda ports: [_grouped(Value.cast(ports.input_payload.code))])
TB_COMPRESSOR = Contract(matters={"output_payload": _encoded}, constant=("enable",))
