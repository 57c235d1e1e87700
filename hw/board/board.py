"""A board: the machine, a host on a line of bytes, and a memory that both use.

::

    received, sent --- HostBridge --AXI4-Lite--> AxiLiteHost --- host --> Sm, or Gpu
                            |                                               |
                            +--AXI4--> FairJoin <---------- axi ------------+
                                          |
                                          +---> BlockMemory, or LiteDramMemory --- port
"""

from typing import Any

from amaranth.hdl import Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ..arch.board_protocol import Identity
from ..arch.geometry import Geometry
from ..arch.registers import ADDRESS_BITS, DEVICE_ADDRESS_BITS
from ..control.axi_lite import AxiLiteHost
from ..device.device import machine
from ..device.uncore import device_id_bits
from ..interfaces.core_ports import HostPort
from ..interfaces.port import Port
from ..lib.resets import ResetInserter
from ..memory.axi import ID_BITS, Axi4
from ..memory.axi_join import FairJoin
from .block_memory import BlockMemory
from .bridge import HostBridge
from .litedram import LiteDramMemory

__all__ = ["Board", "BoardShell", "machine_id_bits"]


def machine_id_bits(g: Geometry) -> int:
    """Return the AXI id bits of a machine: an SM, or a device of several."""
    return ID_BITS if g.sms == 1 else device_id_bits(g)


class BoardShell(wiring.Component):
    """All parts on a board's FPGA except the machine, the pins, the clock and the line itself.

    The host's writes are in memory before they are answered. So a kernel that is started afterwards
    finds them, and the host reads what a finished kernel has stored.

    Parameters
    ----------
    identity : Identity
        Geometry and memory are those that are built.
    patience : int
        Cycles without a byte after which a frame that has begun is given up.
    litedram : bool
        Memory is behind a native port of LiteDRAM rather than on the chip.

    Attributes
    ----------
    received : stream of 8, in; sent : stream of 8, out
        Bytes from the line; bytes to the line.
    host : HostPort, out; read : Signal(1), out
        The machine's registers.
    axi : Axi4, in
        Its memory.
    reset : Signal(1), out
        Reset of the machine.
    port : NativePort, out
        Exists only with `litedram`.
    """

    received: stream.Interface
    sent: stream.Interface
    host: Port
    read: Signal
    axi: Port
    reset: Signal
    port: Port

    def __init__(self, identity: Identity, patience: int, litedram: bool = False):
        g = identity.geometry
        self.identity, self.patience = identity, patience
        self.id_bits = id_bits = machine_id_bits(g)
        self.address_bits = ADDRESS_BITS if g.sms == 1 else DEVICE_ADDRESS_BITS
        kind = LiteDramMemory if litedram else BlockMemory
        self.memory: Any = kind(g, identity.memory_bytes, id_bits + 1)
        more = {"port": self.memory.signature.members["port"]} if litedram else {}
        super().__init__({
            "received": In(stream.Signature(8)), "sent": Out(stream.Signature(8)),
            "host": Out(HostPort(self.address_bits)), "read": Out(1), "axi": In(Axi4(g, id_bits)),
            "reset": Out(1)} | more)

    def elaborate(self, platform: Any):
        m = Module()
        g = self.identity.geometry
        m.submodules.bridge = bridge = HostBridge(g, self.identity.packed(), self.patience,
                                                  self.address_bits)
        reset = ResetInserter(bridge.reset)
        host, join = AxiLiteHost(self.address_bits), FairJoin(g, 2, self.id_bits)
        m.submodules.host, m.submodules.join = reset(host), reset(join)
        m.submodules.memory = reset(self.memory)
        wiring.connect(m, wiring.flipped(self.received), bridge.received)
        wiring.connect(m, bridge.sent, wiring.flipped(self.sent))
        wiring.connect(m, bridge.registers, host.axi)
        wiring.connect(m, host.host, wiring.flipped(self.host))
        wiring.connect(m, join.axi, self.memory.axi)
        for master, into in zip((self.axi, bridge.axi), join.masters, strict=True):
            for name, member in Axi4(g, self.id_bits).members.items():  # the bridge's ids are short
                mine, other = getattr(master, name), getattr(into, name)
                m.d.comb += other.eq(mine) if member.flow is Out else mine.eq(other)
        m.d.comb += [self.read.eq(host.read), self.reset.eq(bridge.reset),
                     bridge.interrupt.eq(host.interrupt)]
        if "port" in self.signature.members:
            wiring.connect(m, self.memory.port, wiring.flipped(self.port))
        return m


class Board(wiring.Component):
    """A board with its machine, an SM or several.

    Parameters
    ----------
    identity : Identity
    patience : int
    litedram : bool
        All as of `BoardShell`.

    Attributes
    ----------
    received : stream of 8, in; sent : stream of 8, out
        Bytes from the line; bytes to the line.
    interrupt : Signal(1), out
        Interrupt of the machine, for a light.
    port : NativePort, out
        Exists only with `litedram`.
    """

    received: stream.Interface
    sent: stream.Interface
    interrupt: Signal
    port: Port

    def __init__(self, identity: Identity, patience: int, litedram: bool = False):
        self.machine: Any = machine(identity.geometry)
        self.shell = BoardShell(identity, patience, litedram)
        shown = ("received", "sent", *(("port",) if litedram else ()))
        super().__init__({name: self.shell.signature.members[name] for name in shown}
                         | {"interrupt": Out(1)})

    def elaborate(self, platform: Any):
        m = Module()
        m.submodules.shell = shell = self.shell
        m.submodules.machine = ResetInserter(shell.reset)(self.machine)
        for name in self.signature.members:
            if name != "interrupt":
                outer, own = wiring.flipped(getattr(self, name)), getattr(shell, name)
                wiring.connect(m, outer, own)
        wiring.connect(m, self.machine.axi, shell.axi)
        m.d.comb += [getattr(self.machine, name).eq(getattr(shell.host, name))
                     for name in ("address", "write", "write_data")]
        m.d.comb += [shell.host.read_data.eq(self.machine.read_data), self.interrupt.eq(
            self.machine.interrupt), shell.host.interrupt.eq(self.machine.interrupt)]
        if "read" in self.machine.signature.members:
            m.d.comb += self.machine.read.eq(shell.read)
        return m
