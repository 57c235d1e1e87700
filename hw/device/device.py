"""The device: several SMs that share a memory, and look like one to software."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring

from ..arch.geometry import Geometry
from ..memory.axi import AxiInterface
from ..sm import Sm
from .tb_dispatcher import LeastLoaded, Policy
from .uncore import Uncore, device_ports

__all__ = ["Gpu", "machine"]


def machine(g: Geometry) -> wiring.Component:
    """Return the machine of a geometry: an SM, or a device."""
    return Gpu(g) if g.has_uncore else Sm(g)


class Gpu(wiring.Component):
    """A device of several SMs, or of one behind hardware queues: an `Uncore`, and they.

    Parameters
    ----------
    g : Geometry
        Geometry with `has_uncore`.
    policy : callable
        Makes the `Policy` by which TBs are handed out.

    Attributes
    ----------
    address : Signal(14), in
        Byte address of a register (`hw.arch.registers.device_register_map`).
    read : Signal(1), in
        `read_data` is wanted of it.
    write : Signal(1), in
        `write_data` is taken into the register at `address` in this cycle.
    write_data : Signal(32), in
    read_data : Signal(32), out
        The register at `address`, one cycle later.
    interrupt : Signal(1), out
        The OR of the bits of register ``event``.
    axi : Axi4, out
        Memory.
    """

    address: Signal
    read: Signal
    write: Signal
    write_data: Signal
    read_data: Signal
    interrupt: Signal
    axi: AxiInterface

    def __init__(self, g: Geometry, policy: Callable[[Geometry], Policy] = LeastLoaded):
        self.geometry, self.policy = g, policy
        super().__init__(device_ports(g))

    def elaborate(self, platform: Any):
        m = Module()
        m.submodules.uncore = uncore = Uncore(self.geometry, self.policy)
        for i, port in enumerate(uncore.sms):
            m.submodules[f"sm_{i}"] = sm = Sm(self.geometry)
            for name in port.signature.members:
                member, inner = getattr(port, name), getattr(sm, name)
                if isinstance(member, Signal):
                    m.d.comb += (inner.eq(member) if name != "read_data" else member.eq(inner))
                else:
                    wiring.connect(m, inner, member)
        m.d.comb += [uncore.address.eq(self.address), uncore.read.eq(self.read),
                     uncore.write.eq(self.write),
                     uncore.write_data.eq(self.write_data), self.read_data.eq(uncore.read_data),
                     self.interrupt.eq(uncore.interrupt)]
        wiring.connect(m, uncore.axi, wiring.flipped(self.axi))
        return m
