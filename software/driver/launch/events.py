"""The event register, whose events end every wait, and the fault that is recorded until software reads it."""

from __future__ import annotations

from collections.abc import Mapping

from caesura.hw.arch.faults import Fault
from caesura.software.compiler import disassemble_word

from ..machine.bounds import monitor_of
from ..machine.errors import FaultRecord
from ..machine.host_interface import HostInterface
from ..machine.lock import FairLock, whole
from .launch import Launch

__all__ = ["Events"]


class Events:
    """Events of an SM.

    Parameters
    ----------
    host : HostInterface
    launches : mapping of int to Launch
        The launches by kernel slot.

    Attributes
    ----------
    taken : int
        Number of events taken so far. A thread that waits looks again when it changes.
    """

    def __init__(self, host: HostInterface, launches: Mapping[int, Launch]):
        self._host, self._launches = host, launches
        self.taken = 0

    @property
    def lock(self) -> FairLock:
        """The lock of the device."""
        return self._host.lock

    @whole
    def take(self) -> None:
        """Clear the events, each of which would end every wait, and keep a fault with its launch."""
        event = self._host.fields("event")
        if event["fault"]:
            launch = self._launches.get(self._host.fields("fault_kind")["kernel"])
            if launch and launch.fault is None:
                launch.fault = self._fault()
        self._host.write("event", **event)
        self.taken += any(event.values())

    def note(self) -> None:
        """Count something that has happened and is no event of the machine."""
        self.taken += 1

    def _fault(self) -> FaultRecord:
        host = self._host
        kind, monitor, pc = host.fields("fault_kind"), monitor_of(host.transport), host.read("fault_pc")
        launch = self._launches.get(kind["kernel"])
        code = launch.kernel.image if launch else None
        line = code.lines[pc] if code and pc < len(code.lines) else 0
        text = disassemble_word(code.words[pc], code.registers) if code and pc < len(code.words) else ""
        return FaultRecord(Fault(kind["kind"]), code.name if code else f"slot {kind['kernel']}", host.read("fault_tb"),
                           kind["warp"], pc, host.read("fault_address"), line, code.source if code else "", text,
                           code.origin(pc) if code else None, monitor.violation() if monitor else None)
