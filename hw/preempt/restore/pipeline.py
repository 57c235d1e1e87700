"""Restore pipeline: the words of a context image become warps with their state, registers and
shared lines.

The inverse of the save pipeline (Lin et al. Fig. 13, restoring; image in `arch.context`)::

    words --> StreamParser --+--> warps
                |            +--> StateWriter --> predicates, uniform registers, stacks
                |            +--> words of uniform and strided registers --> Expander --+
                |            +--> rows of other registers, shared lines --> RowWriter <-+
                |                                                               +--> rows
                +---------------> Completion --> done
"""

from typing import Any

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ...arch.geometry import MAX_REGISTERS, Geometry
from ...interfaces.payloads import (
    predicate_restore,
    register_flags,
    register_write,
    row_access,
    stack_push,
    uniform_restore,
    warp_init,
)
from ...interfaces.port import Port
from ...interfaces.staying import staying_warp
from ...lib.resets import ResetInserter
from ..formats.accepted_command import accepted_command
from ..formats.checksum import ChecksumPort
from ..formats.packer import CHUNK_WORDS
from .completion import Completion
from .expander import Expander
from .jobs import restore_job, restored
from .parser import StreamParser
from .row_writer import RowWriter
from .state_writer import StateWriter

__all__ = ["RestorePipeline"]


class RestorePipeline(wiring.Component):
    """Parses streams one after the other, four words or a bus beat a cycle, whichever is more,
    while what came before is written.

    Throughput is that, a row, and a predicate, uniform register or stack entry a cycle,
    whichever takes longest. A TB is done when all of it is written; the next is parsed meanwhile.
    With ``options.scramble`` every dead register is written with pseudo-random bits.

    A TB is bad if `failed` was set before its end, if a checksum is not that of its entry, or if
    its stream makes no sense (`StreamParser`).

    Parameters
    ----------
    g : Geometry
    shared : bool
        Use a checksum outside, which the block has a port for, not one of its own.

    Attributes
    ----------
    accepted : in
    job : stream, in
    words, level : Signal, in
    take : Signal, out
        The words of the streams, from an `Unpacker`.
    failed : Signal, in
        The words cannot be trusted.
    crc : stream, in
        The checksum of each stream up to its table, from a `StreamChecker`.
    warp_init, load, stack_push, restore_predicate, restore_uniform, restore_write, row
        Ports of the core.
    mask_select : staying_warp, out; mask : Signal(MAX_REGISTERS), in
        The `StayingMasks`.
    done : out
    idle : Signal, out
    checksum : ChecksumPort, out
        If `shared`.
    """

    accepted: data.View
    job: stream.Interface
    words: data.View
    level: Signal
    take: Signal
    failed: Signal
    crc: stream.Interface
    warp_init: stream.Interface
    load: stream.Interface
    mask_select: data.View
    mask: Signal
    stack_push: stream.Interface
    restore_predicate: stream.Interface
    restore_uniform: data.View
    restore_write: stream.Interface
    row: stream.Interface
    done: data.View
    idle: Signal
    checksum: Port

    def __init__(self, g: Geometry, *, shared: bool = False):
        self.geometry, self.shared = g, shared
        super().__init__({
            **({"checksum": Out(ChecksumPort(CHUNK_WORDS))} if shared else {}),
            "accepted": In(accepted_command(g)), "job": In(stream.Signature(restore_job(g))),
            "words": In(data.ArrayLayout(32, g.window_words)),
            "level": In(range(g.window_words + 1)), "take": Out(range(g.window_words + 1)),
            "failed": In(1),
            "crc": In(stream.Signature(32)),
            "warp_init": Out(stream.Signature(warp_init(g))),
            "load": Out(stream.Signature(register_flags(g))),
            "mask_select": Out(staying_warp(g)), "mask": In(MAX_REGISTERS),
            "stack_push": Out(stream.Signature(stack_push(g))),
            "restore_predicate": Out(stream.Signature(predicate_restore(g))),
            "restore_uniform": Out(uniform_restore(g)),
            "restore_write": Out(stream.Signature(register_write(g))),
            "row": Out(stream.Signature(row_access(g))),
            "done": Out(restored(g)), "idle": Out(1),
        })

    def elaborate(self, platform: Any):
        m = Module()
        g = self.geometry
        m.submodules.parser = parser = StreamParser(g, shared=self.shared)
        if self.shared:
            wiring.connect(m, parser.checksum, wiring.flipped(self.checksum))
        state, expander, rows = StateWriter(g), Expander(g), RowWriter(g)
        m.submodules.state = ResetInserter(parser.drop)(state)
        m.submodules.expander = ResetInserter(parser.drop)(expander)
        m.submodules.rows = rows
        m.submodules.completion = completion = Completion(g)

        for one, other in (
                (wiring.flipped(self.job), parser.job), (wiring.flipped(self.crc), completion.crc),
                (parser.warp_init, wiring.flipped(self.warp_init)),
                (parser.load, wiring.flipped(self.load)),
                (state.stack_push, wiring.flipped(self.stack_push)),
                (rows.restore_write, wiring.flipped(self.restore_write)),
                (state.restore_predicate, wiring.flipped(self.restore_predicate)),
                (rows.row, wiring.flipped(self.row)), (parser.state, state.job),
                (parser.state_words, state.words),
                (parser.expansion, expander.job), (parser.expansion_words, expander.words),
                (expander.output, rows.extra), (parser.row, rows.chunk),
                (parser.parsed, completion.parsed)):
            wiring.connect(m, one, other)
        waiting = Cat(port.valid & ~port.ready
                      for port in (rows.restore_write, rows.row, state.stack_push,
                                   state.restore_predicate))
        m.d.comb += [
            parser.accepted.eq(self.accepted), parser.words.eq(self.words),
            self.mask_select.eq(parser.mask_select), parser.mask.eq(self.mask),
            parser.level.eq(self.level), self.take.eq(parser.take), parser.failed.eq(self.failed),
            parser.writers_quiet.eq(~waiting.any() & ~rows.pending.any()),
            parser.writes_done.eq(completion.parsed.ready & ~completion.pending.any()),
            self.restore_uniform.eq(state.restore_uniform),
            completion.pending.eq(state.pending | expander.pending | rows.pending),
            completion.failed.eq(self.failed), self.done.eq(completion.done),
            self.idle.eq(parser.idle & completion.parsed.ready),
        ]
        return m
