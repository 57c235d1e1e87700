"""A launch on a machine of its own, for what is to be compared with it."""

from caesura.sim import open_device
from caesura.sim.scenario import CompiledJob, start_job
from caesura.software.driver import Device, Launch
from support.sim.tiny_run import TINY

__all__ = ["tiny_launch"]


def tiny_launch(work: CompiledJob, at: int = 0, backend: str = "rtl") -> tuple[Device, Launch]:
    """Return a `tiny` machine with a launch of some work, so many cycles into it."""
    device = open_device(backend, TINY)
    launch, _ = start_job(device, device.load([work.image])[work.image.name], work.job)
    if at:
        device.advance(at)
    return device, launch
