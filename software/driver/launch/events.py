"""The event register: what ends every wait, and the fault that waits there to be read."""

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
        By kernel slot.

    Attributes
    ----------
    taken : int
        How often there was one: who waits, in whatever thread, looks again then.
    """

    def __init__(self, host: HostInterface, launches: Mapping[int, Launch]):
        self._host, self._launches = host, launches
        self.taken = 0

    @property
    def lock(self) -> FairLock:
        """Of the device."""
        return self._host.lock

    @whole
    def take(self) -> None:
        """Clear the events, each of which would end every wait; keep a fault with the launch it belongs to."""
        event = self._host.fields("event")
        if event["fault"]:
            launch = self._launches.get(self._host.fields("fault_kind")["kernel"])
            if launch and launch.fault is None:
                launch.fault = self._fault()
        self._host.write("event", **event)
        self.taken += any(event.values())

    def note(self) -> None:
        """Something has happened that is no event of the machine."""
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
