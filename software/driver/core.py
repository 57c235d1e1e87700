"""The parts of a device that all owners of memory share: its registers, its time, and its kernel slots."""

from __future__ import annotations

from .launch.inspection import Inspection
from .launch.launcher import Launcher
from .machine.host_interface import HostInterface
from .machine.transport import Transport
from .preemption.announcement import Announcer
from .preemption.anticipation import Anticipator
from .preemption.preemption import Preemption
from .queues.queues import Queues
from .streams import Streams
from .time.simulated_time import SimulatedTime

__all__ = ["DeviceCore"]


class DeviceCore:
    """The parts that exist once per device.

    Parameters
    ----------
    transport : Transport

    Attributes
    ----------
    host : HostInterface
    launcher : Launcher
    inspection : Inspection
    time : SimulatedTime
    preemption : Preemption
    anticipator : Anticipator
    announcer : Announcer
    queues : Queues
    streams : Streams
    """

    def __init__(self, transport: Transport):
        self.host = HostInterface(transport)
        self.launcher = Launcher(self.host)
        self.inspection = Inspection(self.host, self.launcher.launches)
        self.time = SimulatedTime(self.launcher, self.inspection)
        self.preemption = Preemption(self.launcher, self.time, self.inspection)
        self.anticipator = Anticipator(self.preemption, self.time)
        self.announcer = Announcer(self.launcher)
        self.queues = Queues(self.launcher, self.time)
        self.streams = Streams(self.launcher, self.time, self.preemption)
        self.time.pump, self.time.busy = self.streams.pump, lambda: self.streams.busy
        self.time.behind = lambda: self.streams.behind
