"""The request check: whether a request can be carried out, or was carried out before."""

from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ..arch.board_protocol import MAX_DATA, READS, Request, Status
from .frames import frame_layout, header_layout

__all__ = ["RequestCheck"]

_WORD_BYTES = 4


class RequestCheck(wiring.Component):
    """Checks a request, and remembers the last one.

    A host repeats a request whose answer it missed. A request with the number of the last one is
    not carried out again, unless it only reads: it gets the same answer.

    Parameters
    ----------
    address_bits : int
        Width of a register's address.

    Attributes
    ----------
    header : header_layout, in; stored : Signal, in
        The request, and how many bytes of data came with it.
    bus_lost : Signal(1), in
        The bus does not answer.
    record : Signal(1), in; status : Status, in
        The request becomes the last one, and this its status.
    verdict : Status, out
        `DONE` if the request can be carried out; combinational, as `repeated` is.
    repeated : Signal(1), out
        It is the last one once more.
    last_status : Status, out
        Status of the last request.
    """

    header: data.View
    stored: Signal
    bus_lost: Signal
    record: Signal
    status: Signal
    verdict: Signal
    repeated: Signal
    last_status: Signal

    def __init__(self, address_bits: int):
        self.address_bits = address_bits
        super().__init__({
            "header": In(header_layout()), "stored": In(frame_layout()["stored"].shape),
            "bus_lost": In(1), "record": In(1), "status": In(8), "verdict": Out(8),
            "repeated": Out(1), "last_status": Out(8)})

    def elaborate(self, platform: Any):
        m = Module()
        header, request, size = self.header, self.header.request, self.header.size
        last_sequence = Signal(8)
        last_valid = Signal()
        with m.If(self.record):
            m.d.sync += [self.last_status.eq(self.status), last_sequence.eq(header.sequence),
                         last_valid.eq(request != Request.IDENTIFY)]
        reads = Cat(request == each for each in READS).any()
        is_register = (request == Request.READ_REGISTER) | (request == Request.WRITE_REGISTER)
        writes = (request == Request.WRITE_MEMORY) | (request == Request.WRITE_REGISTER)
        needs_bus = is_register | (request == Request.READ_MEMORY) | (
            request == Request.WRITE_MEMORY)
        bad_size = (size > MAX_DATA) | (self.stored != Mux(writes, size, 0)) | is_register & (
            size != _WORD_BYTES)
        bad_address = is_register & (header.address[:2].any()
                                     | header.address[self.address_bits:].any())
        known = (request >= min(Request)) & (request <= max(Request))
        m.d.comb += [
            self.repeated.eq(last_valid & (last_sequence == header.sequence) & ~reads),
            self.verdict.eq(Mux(~known, Status.UNKNOWN, Mux(bad_size, Status.BAD_SIZE, Mux(
                bad_address, Status.BAD_ADDRESS, Mux(
                    needs_bus & self.bus_lost, Status.NO_ANSWER, Status.DONE)))))]
        return m
