"""The simulated board without its machine: the shell, the real UART, and a bypass of the UART."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from caesura.hw.arch.board_protocol import Identity
from caesura.hw.board.board import BoardShell
from caesura.hw.board.uart import Uart
from caesura.hw.interfaces.port import Port

__all__ = ["SimulatedShell"]

MACHINE = ("host", "read", "axi", "reset")
"""Members of a `BoardShell` that lead to the machine."""


class SimulatedShell(wiring.Component):
    """A board without its machine, its pins and its clock.

    Parameters
    ----------
    identity : Identity
    patience : int
        Parameters of `BoardShell`.
    divisor : int
        Cycles per bit on the line.

    Attributes
    ----------
    rx : Signal(1), in; tx : Signal(1), out
        The line, bit by bit.
    direct : Signal(1), in
        Constant. If it is 1, `received` and `sent` replace the line, byte by byte, and the UART is idle.
    received : stream of 8, in; sent : stream of 8, out
    host, read, axi, reset
        Ports of `BoardShell`.
    """

    rx: Signal
    tx: Signal
    direct: Signal
    received: stream.Interface
    sent: stream.Interface
    host: Port
    read: Signal
    axi: Port
    reset: Signal

    def __init__(self, identity: Identity, patience: int, divisor: int):
        self.shell, self.uart = BoardShell(identity, patience), Uart(divisor)
        machine = {name: self.shell.signature.members[name] for name in MACHINE}
        super().__init__({"rx": In(1), "tx": Out(1), "direct": In(1), "received": In(stream.Signature(8)),
                          "sent": Out(stream.Signature(8))} | machine)

    def elaborate(self, platform):
        m = Module()
        m.submodules.shell, m.submodules.uart = shell, uart = self.shell, self.uart
        for name in MACHINE:
            outer, own = getattr(self, name), getattr(shell, name)
            if isinstance(outer, Signal):
                m.d.comb += outer.eq(own)
            else:
                wiring.connect(m, wiring.flipped(outer), own)
        m.d.comb += [
            uart.rx.eq(self.rx), self.tx.eq(uart.tx),
            shell.received.payload.eq(Mux(self.direct, self.received.payload, uart.received.payload)),
            shell.received.valid.eq(Mux(self.direct, self.received.valid, uart.received.valid)),
            self.received.ready.eq(shell.received.ready), uart.received.ready.eq(shell.received.ready),
            uart.sent.payload.eq(shell.sent.payload), self.sent.payload.eq(shell.sent.payload),
            uart.sent.valid.eq(shell.sent.valid & ~self.direct), self.sent.valid.eq(shell.sent.valid & self.direct),
            shell.sent.ready.eq(Mux(self.direct, self.sent.ready, uart.sent.ready))]
        return m
