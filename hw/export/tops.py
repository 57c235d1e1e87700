"""Blocks with the buses of a system on chip at their edges, in the names that tools know.

::

    s_axi (AXI4-Lite) --> AxiLiteHost --> registers      memory ports --> AxiMaster --> m_axi (AXI4)

An AXI4 master also has ``awlock``, ``awcache``, ``awprot``, ``awqos`` (and the same for reads).
They are constant: normal, unprivileged, secure accesses to normal memory without caches.
"""

from typing import Any

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..arch.geometry import Geometry
from ..arch.registers import DEVICE_ADDRESS_BITS
from ..control.axi_lite import AxiLiteHost, AxiLitePort
from ..control.control_unit import ControlUnit
from ..control.register_block import RegisterBlock
from ..device.device import Gpu
from ..interfaces.port import Port
from ..memory.axi import ID_BITS, Axi4, AxiMaster
from ..preempt.engine import PreemptEngine
from ..sm import Sm

__all__ = ["AxiBus", "AxiControlUnit", "AxiDevice", "AxiRegisters", "AxiSm", "PreemptionUnit"]

ATTRIBUTES = {"lock": (1, 0), "cache": (4, 0b0011), "prot": (3, 0b000), "qos": (4, 0)}
"""Width and value of the signals for the kind of memory access (AXI4, A4.4, A4.7, A7.4, A8.1)."""
HOST = ("address", "write", "write_data", "read_data", "interrupt")
"""Members of a `HostPort`."""


class AxiBus(wiring.Signature):
    """An AXI4 master with all signals of the standard but region and user, in its order.

    Parameters
    ----------
    g : Geometry
        Geometry that gives the width of the bus.
    id_bits : int
    """

    def __init__(self, g: Geometry, id_bits: int = ID_BITS):
        members: dict[str, Any] = {}
        for name, member in Axi4(g, id_bits).members.items():
            members[name] = member
            if name.endswith("burst"):
                members |= {f"{name[:2]}{what}": Out(width)
                            for what, (width, _) in ATTRIBUTES.items()}
        super().__init__(members)


class _Top(wiring.Component):
    """A block with some ports replaced by buses; the others are led out unchanged.

    Parameters
    ----------
    g : Geometry
    inner : wiring.Component
    buses : dict
        Members that replace the left-out ones.
    left_out : sequence of str
        Names of members of `inner`.
    """

    s_axi: Port
    m_axi: Port
    interrupt: Signal

    def __init__(self, g: Geometry, inner: wiring.Component, buses: dict[str, Any],
                 left_out: tuple[str, ...]):
        self.geometry, self.left_out = g, left_out
        self.inner: Any = inner  # the stubs know of no `elaborate` of a component
        super().__init__(buses | {name: member for name, member in inner.signature.members.items()
                                  if name not in left_out})

    def elaborate(self, platform: Any):
        m = Module()
        m.submodules.inner = inner = self.inner
        for name, member in inner.signature.members.items():
            if name in self.left_out:
                continue
            outer, own = getattr(self, name), getattr(inner, name)
            if member.is_signature:
                wiring.connect(m, wiring.flipped(outer), own)
            elif member.flow is Out:
                m.d.comb += outer.eq(own)
            else:
                m.d.comb += own.eq(outer)
        self._connect(m, inner)
        return m

    def _connect(self, m: Module, inner: Any) -> None:
        """Connect the buses."""
        raise NotImplementedError

    def _host(self, m: Module, host: Any) -> None:
        """Turn registers into an AXI4-Lite slave."""
        m.submodules.host = bridge = AxiLiteHost(len(host.address))
        if "read" in host.signature.members:
            m.d.comb += host.read.eq(bridge.read)
        wiring.connect(m, wiring.flipped(self.s_axi), bridge.axi)
        m.d.comb += [getattr(host, name).eq(getattr(bridge.host, name)) for name in HOST[:3]]
        m.d.comb += [getattr(bridge.host, name).eq(getattr(host, name)) for name in HOST[3:]]
        m.d.comb += self.interrupt.eq(bridge.interrupt)

    def _bus(self, m: Module, axi: Any) -> None:
        """Lead an `Axi4` out."""
        for name, member in Axi4(self.geometry).members.items():
            inner, outer = getattr(axi, name), getattr(self.m_axi, name)
            m.d.comb += outer.eq(inner) if member.flow is Out else inner.eq(outer)
        m.d.comb += [getattr(self.m_axi, f"{channel}{what}").eq(value)
                     for channel in ("aw", "ar") for what, (_, value) in ATTRIBUTES.items()]

    def _memory(self, m: Module, inner: Any) -> None:
        """Give one reader and one writer an AXI4 bus of their own."""
        m.submodules.bus = bus = AxiMaster(self.geometry, 1, 1)
        wiring.connect(m, inner.read_port, bus.readers[0])
        wiring.connect(m, inner.write_port, bus.writers[0])
        self._bus(m, bus.axi)


class PreemptionUnit(_Top):
    """The preemption engine with an AXI4 bus to memory, for use in another GPU.

    Its port ``core`` is the preemption port (`PreemptionPort`), ``launch`` puts restored warps back
    (`WarpLaunchPort`), ``command``, ``result``, ``admit`` and the like are the dispatcher's side
    (`PreemptEngine`).

    Timing
    ------
    Same as the `PreemptEngine`, behind an `AxiMaster`.

    Parameters
    ----------
    g : Geometry

    Attributes
    ----------
    m_axi : AxiBus, out
        Contexts in memory; id 0.
    """

    INNER = PreemptEngine

    def __init__(self, g: Geometry):
        super().__init__(g, PreemptEngine(g), {"m_axi": Out(AxiBus(g))},
                         ("read_port", "write_port"))

    def _connect(self, m: Module, inner: Any) -> None:
        self._memory(m, inner)


class AxiRegisters(_Top):
    """The register block behind AXI4-Lite.

    Timing
    ------
    Same as the `AxiLiteHost`: an access in each cycle.

    Parameters
    ----------
    g : Geometry

    Attributes
    ----------
    s_axi : AxiLitePort, in
        Software's side, with the register map (docs/export.md).
    interrupt : Signal, out
        Level-sensitive.
    """

    INNER = RegisterBlock

    def __init__(self, g: Geometry):
        super().__init__(g, RegisterBlock(g), {"s_axi": In(AxiLitePort()), "interrupt": Out(1)},
                         ("host",))

    def _connect(self, m: Module, inner: Any) -> None:
        self._host(m, inner.host)


class AxiControlUnit(_Top):
    """Registers, dispatcher and preemption engine of an SM, on standard buses.

    Timing
    ------
    Registers take an access in each cycle. The launch of a TB takes as many cycles as it has warps,
    and some for its allocation (`Admission`). Preempts and resumes take as long as in the
    `PreemptEngine`.

    Parameters
    ----------
    g : Geometry
        Geometry of one SM.

    Attributes
    ----------
    s_axi : AxiLitePort, in
        Software's side, with the register map.
    interrupt : Signal, out
        Level-sensitive.
    m_axi : AxiBus, out
        Contexts in memory; id 0.
    """

    INNER = ControlUnit

    def __init__(self, g: Geometry):
        super().__init__(g, ControlUnit(g), {"s_axi": In(AxiLitePort()), "interrupt": Out(1),
                                             "m_axi": Out(AxiBus(g))},
                         ("host", "read_port", "write_port", "states", "tb_count"))

    def _connect(self, m: Module, inner: Any) -> None:
        self._host(m, inner.host)
        self._memory(m, inner)


class AxiSm(_Top):
    """One SM on standard buses: AXI4-Lite for its registers, AXI4 for memory.

    Timing
    ------
    Registers take an access in each cycle. Each cycle can issue a warp instruction, read a bus beat
    and write one.

    Parameters
    ----------
    g : Geometry
        Geometry of one SM.

    Attributes
    ----------
    s_axi : AxiLitePort, in
        Software's side, with the register map.
    interrupt : Signal, out
        Level-sensitive.
    m_axi : AxiBus, out
        Memory; `Sm` describes each id.
    """

    def __init__(self, g: Geometry):
        super().__init__(g, Sm(g), {"s_axi": In(AxiLitePort()), "interrupt": Out(1),
                                    "m_axi": Out(AxiBus(g))}, (*HOST, "axi"))

    def _connect(self, m: Module, inner: Any) -> None:
        self._host(m, inner)
        self._bus(m, inner.axi)


class AxiDevice(_Top):
    """A device of several SMs on standard buses: AXI4-Lite for its registers, AXI4 for memory.

    Timing
    ------
    Each SM has its own timing. Their interconnect takes a beat each way in each cycle.

    Parameters
    ----------
    g : Geometry
        Geometry with `has_uncore`.

    Attributes
    ----------
    s_axi : AxiLitePort, in
        Software's side, with the register map of a device.
    interrupt : Signal, out
        Level-sensitive.
    m_axi : AxiBus, out
        Memory.

    Raises
    ------
    ValueError
        If the geometry has one SM.
    """

    def __init__(self, g: Geometry):
        if not g.has_uncore:
            raise ValueError("a device has two SMs or more, or queues; say sms=2, or export the sm")
        inner = Gpu(g)
        super().__init__(g, inner, {"s_axi": In(AxiLitePort(DEVICE_ADDRESS_BITS)),
                                    "interrupt": Out(1),
                                    "m_axi": Out(AxiBus(g, len(inner.axi.awid)))},
                         (*HOST, "read", "axi"))

    def _connect(self, m: Module, inner: Any) -> None:
        self._host(m, inner)
        self._bus(m, inner.axi)
