"""The ULX3S: an LFE5U-85F with an oscillator of 25 MHz and a serial line over USB (FT231X)."""

from typing import Any

from amaranth.hdl import Elaboratable, Module, Signal
from amaranth.lib import io, wiring

from caesura.errors import InputError, ToolError

from ..arch.board_protocol import Identity
from .board import Board
from .clock import pll_clock, pll_setting
from .uart import LEAST_DIVISOR, Uart

__all__ = ["BAUD", "OSCILLATOR_MHZ", "Ulx3s", "board_clock", "platform"]

OSCILLATOR_MHZ = 25.0
BAUD = 500_000
"""Bits a second of the line unless told otherwise."""
_PATIENCE_SECONDS = 0.25
"""Without a byte, after which a frame that has begun is given up."""
_MOST_ERROR = 0.02
"""Tolerance of the line's speed. Ten bits may be off by half a bit, for both sides together."""


def platform() -> Any:
    """Return the platform of amaranth-boards.

    Raises
    ------
    ToolError
        If that is missing.
    """
    try:
        from amaranth_boards.ulx3s import ULX3S_85F_Platform
    except ImportError:
        raise ToolError("amaranth-boards is missing, which knows the pins of boards; install it "
                        "with `pip install 'caesura[board]'`") from None
    return ULX3S_85F_Platform()


def board_clock(wanted_mhz: float) -> float:
    """Return the clock, megahertz, that the board has where this one is wanted: the nearest that is
    not above it.

    Raises
    ------
    InputError
        If it cannot be made.
    """
    if wanted_mhz == OSCILLATOR_MHZ:
        return OSCILLATOR_MHZ
    return pll_setting(OSCILLATOR_MHZ, wanted_mhz).mhz(OSCILLATOR_MHZ)


class Ulx3s(Elaboratable):
    """The whole FPGA. Lights: 0 the interrupt line, 1 the clock is steady.

    Parameters
    ----------
    identity : Identity
        Its clock is that of `board_clock`.
    baud : int

    Raises
    ------
    InputError
        If the line cannot have this speed with this clock.
    """

    def __init__(self, identity: Identity, baud: int = BAUD):
        self.identity = identity
        self.divisor = round(identity.clock_hz / baud)
        off = abs(identity.clock_hz / max(self.divisor, 1) / baud - 1)
        if self.divisor < LEAST_DIVISOR or off > _MOST_ERROR:
            raise InputError(f"a line of {baud} baud cannot be made of a clock of "
                             f"{identity.clock_hz / 1e6:g} MHz; take one that divides it into "
                             f"{LEAST_DIVISOR} or more")

    def elaborate(self, platform: Any):
        m = Module()
        lights = [self._out(m, f"light_{k}", platform.request("led", k, dir="-")) for k in range(2)]
        m.d.comb += lights[1].eq(1)
        clock_mhz = self.identity.clock_hz / 1e6
        if clock_mhz != OSCILLATOR_MHZ:  # otherwise the platform makes the domain
            pin = platform.request(platform.default_clk, dir="-")
            m.submodules.oscillator = oscillator = io.Buffer(io.Direction.Input, pin)
            setting = pll_setting(OSCILLATOR_MHZ, clock_mhz)
            m.d.comb += lights[1].eq(pll_clock(m, oscillator.i, OSCILLATOR_MHZ, setting))
        patience = int(self.identity.clock_hz * _PATIENCE_SECONDS)
        m.submodules.block = board = Board(self.identity, patience)
        m.submodules.uart = uart = Uart(self.divisor)
        line = platform.request("uart", dir="-")
        m.submodules.rx = rx = io.Buffer(io.Direction.Input, line.rx)
        wiring.connect(m, uart.received, board.received)
        wiring.connect(m, board.sent, uart.sent)
        m.d.comb += [uart.rx.eq(rx.i), self._out(m, "tx", line.tx).eq(uart.tx),
                     lights[0].eq(board.interrupt)]
        return m

    def _out(self, m: Module, name: str, pin: io.PortLike) -> Signal:
        """Return what drives a pin."""
        m.submodules[name] = buffer = io.Buffer(io.Direction.Output, pin)
        return buffer.o
