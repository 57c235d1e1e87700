"""Save pipeline: from stopped warps to bursts of a context image (Lin et al. Fig. 13, spilling)::

    RecordWriter --chunks--> Packer ----> queue ------------------------+
      |      |                                                           |
      |      +-- lines --> LineFetch ------------------------------------+
      |      +-- registers --> RegisterFetch --> RegisterEncoder         |
      |                                          (TbCompressor)          |
      |                                              Collector ----------+--> Merge
      |                                                 |                |      |
      +--------- TBs listed ------------------------> Closer ------------+   Packer(bus)
                                                                                |
                                                              SegmentWriter <-- Sealer
                                                                    |
                                                                  bursts
"""

from typing import Any

from amaranth.hdl import Module, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ...arch.geometry import MAX_REGISTERS, Geometry
from ...arch.image.context import Capability, has
from ...interfaces.payloads import register_data, register_read, row_access, row_data
from ...interfaces.port import Port
from ...interfaces.preemption_port import RegisterFlagsPort, WarpSavePort
from ...interfaces.staying import staying_mask, staying_warp
from ...lib.stream_queue import StreamQueue
from ..compress.register_encoder import RegisterEncoder
from ..compress.tb_compressor import TbCompressor
from ..formats.accepted_command import accepted_command
from ..formats.checksum import ChecksumPort
from ..formats.packer import CHUNK_WORDS, Packer, packed
from .closer import Closer, closing_tag, save_tally
from .collector import Collector
from .line_fetch import LineFetch
from .merge import Merge
from .records import RecordWriter, piece, save_target
from .register_fetch import RegisterFetch, register_tag
from .sealer import Sealer
from .segment_writer import SegmentWriter, data_burst, write_data, write_job

__all__ = ["PIECES_AHEAD", "SavePipeline"]

PIECES_AHEAD = 16
"""Groups of metadata prepared while data is written."""
UNITS_AHEAD = 4
"""Units (streams and entry bodies) whose address is known while earlier ones are written."""


class SavePipeline(wiring.Component):
    """Writes the streams and the entry bodies of TBs, back to back, as bursts.

    Throughput is one bus beat or one register beat per cycle, whichever takes longer. That holds as
    long as the data of each warp takes no fewer cycles than its metadata (see `RecordWriter`).
    While shared lines of a TB are on the bus, registers of the next TB are read.

    Parameters
    ----------
    g : Geometry
    shared : bool
        Use a checksum outside, which the block has a port for, not one of its own.

    Attributes
    ----------
    accepted : in
        The command; constant while `idle` is low.
    target : stream of records.save_target, in
        The next TB.
    done : closing.save_tally, out
        A TB's stream has been closed, and what was saved of it; `valid` for one cycle.
    stopped, exited, lines_valid, lines_dirty : Signal, in; warps : WarpSavePort, out
    flags : RegisterFlagsPort, out; mask_write, mask_select, mask
        The ports of the `RecordWriter`.
    save_read, row : stream, out; save_data, row_data : in
        Read ports of the register file and of shared memory, as in `RegisterFetch` and
        `LineFetch`.
    burst, data : stream, out
        The ports of the `SegmentWriter`.
    warps_awaited : Signal, out
        The TB in hand has only running warps left.
    data_flowing : Signal, out
        Data is on its way to the bus, as opposed to waiting for warps to stop.
    idle : Signal, out
        Nothing is in hand.
    checksum : ChecksumPort, out
        If `shared`.
    """

    accepted: data.View
    target: stream.Interface
    done: data.View
    stopped: Signal
    exited: Signal
    warps: Port
    flags: Port
    mask_write: data.View
    mask_select: data.View
    mask: Signal
    lines_valid: Signal
    lines_dirty: Signal
    save_read: stream.Interface
    save_data: data.View
    row: stream.Interface
    row_data: data.View
    burst: stream.Interface
    data: stream.Interface
    warps_awaited: Signal
    data_flowing: Signal
    idle: Signal
    checksum: Port

    def __init__(self, g: Geometry, *, shared: bool = False):
        self.geometry, self.shared = g, shared
        super().__init__({
            **({"checksum": Out(ChecksumPort(CHUNK_WORDS))} if shared else {}),
            "accepted": In(accepted_command(g)), "target": In(stream.Signature(save_target(g))),
            "done": Out(save_tally(g)),
            "mask_write": Out(staying_mask(g)), "mask_select": Out(staying_warp(g)),
            "mask": In(MAX_REGISTERS),
            "stopped": In(g.warps), "exited": In(g.warps),
            "warps": Out(WarpSavePort(g)), "flags": Out(RegisterFlagsPort(g)),
            "lines_valid": In(g.shared_lines), "lines_dirty": In(g.shared_lines),
            "save_read": Out(stream.Signature(register_read(g))), "save_data": In(register_data(g)),
            "row": Out(stream.Signature(row_access(g))), "row_data": In(row_data(g)),
            "burst": Out(stream.Signature(data_burst(g))),
            "data": Out(stream.Signature(write_data(g))),
            "warps_awaited": Out(1), "data_flowing": Out(1), "idle": Out(1),
        })

    def elaborate(self, platform: Any):
        m = Module()
        g = self.geometry
        m.submodules.records = records = RecordWriter(g)
        m.submodules.registers = registers = RegisterFetch(g)
        m.submodules.lines = lines = LineFetch(g)
        m.submodules.encoder = encoder = RegisterEncoder(g, register_tag(g))
        m.submodules.collector = collector = Collector(g)
        m.submodules.closer = closer = Closer(g, shared=self.shared)
        if self.shared:
            wiring.connect(m, closer.checksum, wiring.flipped(self.checksum))
        m.submodules.metadata = metadata = Packer(g.chunk_words, piece(g))
        m.submodules.pieces = pieces = StreamQueue(packed(g.chunk_words, piece(g)),
                                                    PIECES_AHEAD)
        m.submodules.jobs = jobs = StreamQueue(write_job(g), UNITS_AHEAD)
        m.submodules.merge = merge = Merge(g)
        m.submodules.packer = packer = Packer(g.bus_words, closing_tag(), g.window_words)
        m.submodules.sealer = sealer = Sealer(g)
        m.submodules.writer = writer = SegmentWriter(g)

        wiring.connect(m, wiring.flipped(self.target), records.target)
        wiring.connect(m, records.chunk, metadata.chunk)
        wiring.connect(m, metadata.beat, pieces.input)
        wiring.connect(m, pieces.output, merge.pieces)
        wiring.connect(m, records.registers, registers.item)
        wiring.connect(m, registers.output, encoder.input)
        wiring.connect(m, records.lines, lines.item)
        wiring.connect(m, lines.output, merge.lines)
        following = self._follow(m, encoder, collector)
        for name in ("rows", "words", "items"):
            wiring.connect(m, getattr(collector, name), getattr(merge, name))
        wiring.connect(m, records.close, closer.job)
        wiring.connect(m, closer.chunk, merge.closing)
        wiring.connect(m, merge.chunk, packer.chunk)
        wiring.connect(m, packer.beat, sealer.input)
        wiring.connect(m, sealer.output, writer.beat)
        wiring.connect(m, records.job, jobs.input)
        wiring.connect(m, jobs.output, writer.job)
        for name in ("burst", "data"):
            wiring.connect(m, getattr(writer, name), wiring.flipped(getattr(self, name)))
        wiring.connect(m, registers.save_read, wiring.flipped(self.save_read))
        wiring.connect(m, lines.row, wiring.flipped(self.row))
        m.d.comb += [
            registers.save_data.eq(self.save_data),
            lines.row_data.eq(self.row_data), records.accepted.eq(self.accepted),
            self.mask_write.eq(records.mask_write), self.mask_select.eq(records.mask_select),
            records.mask.eq(self.mask),
            closer.accepted.eq(self.accepted), closer.origin.eq(records.origin),
            collector.select.eq(closer.select), closer.vector.eq(collector.vector),
            closer.collected.eq(collector.collected), collector.clear.eq(closer.clear),
            sealer.bounded.eq(closer.bounded), sealer.stream_words.eq(closer.stream_words),
            closer.stream_crc.eq(sealer.stream_crc), writer.crc.eq(sealer.entry_crc),
            self.done.eq(closer.done), self.warps_awaited.eq(records.warps_awaited),
            records.stopped.eq(self.stopped), records.exited.eq(self.exited),
            records.lines_valid.eq(self.lines_valid), records.lines_dirty.eq(self.lines_dirty),
        ]
        wiring.connect(m, records.warps, wiring.flipped(self.warps))
        wiring.connect(m, records.flags, wiring.flipped(self.flags))
        moving = (metadata.beat.valid | pieces.output.valid | registers.busy | lines.busy
                  | encoder.busy | collector.busy | following
                  | closer.busy | packer.beat.valid | sealer.output.valid | writer.burst.valid)
        m.d.comb += [self.data_flowing.eq(moving | ~(records.idle | records.warps_awaited)),
                     self.idle.eq(records.idle & ~moving)]
        return m

    def _follow(self, m: Module, encoder: RegisterEncoder, collector: Collector):
        """Let registers follow those of the warp before, on machines that can; return whether one
        is held for that."""
        if not self.geometry.tb_compressor:
            wiring.connect(m, encoder.output, collector.input)
            return 0
        m.submodules.tb_compressor = compressor = TbCompressor(self.geometry,
                                                               register_tag(self.geometry))
        wiring.connect(m, encoder.output, compressor.input)
        wiring.connect(m, compressor.output, collector.input)
        m.d.comb += compressor.enable.eq(has(self.accepted.options.mechanism, Capability.FOLLOWS))
        return compressor.busy
