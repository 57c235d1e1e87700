"""Faults of warps, and the record that the SM keeps of the first."""

from __future__ import annotations

from caesura.hw.arch.faults import Fault

__all__ = ["WarpFault", "FaultRecord"]


class WarpFault(Exception):
    """The instruction faults; it has no effect (stores of earlier segments excepted)."""

    def __init__(self, kind: Fault, address: int = 0):
        super().__init__(kind.name)
        self.kind = kind
        self.address = address


class FaultRecord:
    """Where and why a TB was ended."""

    def __init__(self, kind: Fault = Fault.NONE, kernel: int = 0, warp: int = 0, launch: int = 0, pc: int = 0,
                 address: int = 0):
        self.kind, self.kernel, self.warp, self.launch = kind, kernel, warp, launch
        self.pc, self.address = pc, address
