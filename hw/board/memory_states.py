"""States of the host bridge that move bytes between the buffer and memory."""

from amaranth.hdl import Array, Module, Signal

from ..arch.board_protocol import Status
from ..memory.ports import ReadInterface, WriteInterface
from .transfer import Transfer

__all__ = ["MemoryStates"]


class MemoryStates:
    """States that write and read memory, in bursts within a segment, a byte every two cycles.

    Parameters
    ----------
    transfer : Transfer
        The request.

    Attributes
    ----------
    word, strobe : Signal
        The beat that is put together, or taken apart.
    lane : Signal
        Next byte of the beat.
    beats : Signal
        Beats of the burst that follow this one.
    """

    def __init__(self, transfer: Transfer):
        g = transfer.geometry
        self.transfer = transfer
        self.lane = Signal(range(g.bus_bytes), name="lane")
        self.word = Signal(8 * g.bus_bytes, name="word")
        self.strobe = Signal(g.bus_bytes, name="strobe")
        self.beats = Signal(range(g.burst_beats), name="beats")

    def write(self, m: Module, port: WriteInterface) -> None:
        """Put bytes of the buffer together to beats."""
        transfer, lane, beat, ack = self.transfer, self.lane, port.beat, port.ack
        last_lane = transfer.geometry.bus_bytes - 1
        with m.State("WRITE"):
            transfer.burst(m, port.request, lane, self.strobe, self.beats, "TAKE")
        with m.State("TAKE"):
            m.next = "FILL"
        with m.State("FILL"):
            lanes = Array(self.word[8 * k:8 * k + 8] for k in range(last_lane + 1))
            m.d.sync += [lanes[lane].eq(transfer.buffer.byte), lane.eq(lane + 1),
                         self.strobe.bit_select(lane, 1).eq(1)]
            transfer.advance(m)
            transfer.go(m, "TAKE")
            with m.If((lane == last_lane) | (transfer.remaining == 1)):
                transfer.go(m, "BEAT")
        with m.State("BEAT"):
            m.d.comb += [beat.valid.eq(1), beat.payload.data.eq(self.word),
                         beat.payload.strobe.eq(self.strobe),
                         beat.payload.last.eq(self.beats == 0)]
            transfer.watch_bus(m)
            with m.If(beat.ready):
                m.d.sync += [self.beats.eq(self.beats - 1), self.strobe.eq(0), lane.eq(0)]
                transfer.go(m, "TAKE")
                with m.If(self.beats == 0):
                    transfer.go(m, "ACK")
        with m.State("ACK"):
            m.d.comb += ack.ready.eq(1)
            transfer.watch_bus(m)
            with m.If(ack.valid):
                with m.If(ack.payload.error):
                    m.d.sync += transfer.status.eq(Status.BUS_ERROR)
                transfer.go(m, "WRITE")
                with m.If(transfer.remaining == 0):
                    m.next = "RECORD"

    def read(self, m: Module, port: ReadInterface) -> None:
        """Take beats apart into the buffer."""
        transfer, lane, beat = self.transfer, self.lane, port.beat
        last = Signal()
        with m.State("READ"):
            transfer.burst(m, port.request, lane, self.strobe, self.beats, "GET")
        with m.State("GET"):
            m.d.comb += beat.ready.eq(1)
            transfer.watch_bus(m)
            with m.If(beat.valid):
                m.d.sync += [self.word.eq(beat.payload.data), last.eq(beat.payload.last)]
                with m.If(beat.payload.error):
                    m.d.sync += transfer.status.eq(Status.BUS_ERROR)
                m.next = "UNPACK"
        with m.State("UNPACK"):
            m.d.comb += [transfer.buffer.write.eq(1),
                         transfer.buffer.write_byte.eq(self.word.word_select(lane, 8))]
            m.d.sync += lane.eq(lane + 1)
            transfer.advance(m)
            with m.If((lane == transfer.geometry.bus_bytes - 1) | (transfer.remaining == 1)):
                m.d.sync += lane.eq(0)
                transfer.go(m, "GET")
                with m.If(last):
                    transfer.go(m, "READ")
                    with m.If(transfer.remaining == 1):
                        m.next = "RECORD"
