"""The counts of context switches of a launch, as the machine keeps them (registers ``kernel[k].switches_*``)."""

from __future__ import annotations

from dataclasses import dataclass, fields

from ..machine.host_interface import HostInterface

__all__ = ["Switches"]


@dataclass(frozen=True)
class Switches:
    """Context switches of a launch since it was started or adopted from another device. Switches that failed or were
    withdrawn do not count.

    Attributes
    ----------
    at_points : int
        Preempts that saved thread blocks, each warp at a preemption point or a barrier.
    at_once : int
        Preempts that saved thread blocks after the warps were told to stop at their next instruction.
    drained : int
        Preempts that saved nothing, since each thread block ended by itself or was spared.
    finished : int
        Preempts during which the kernel finished.
    checkpointed : int
        Checkpoints.
    resumed : int
        Resumes after which none of its state was saved any more.
    """

    at_points: int
    at_once: int
    drained: int
    finished: int
    checkpointed: int
    resumed: int

    def __add__(self, other: Switches) -> Switches:
        return Switches(*(getattr(self, field.name) + getattr(other, field.name) for field in fields(self)))

    @classmethod
    def read(cls, host: HostInterface, slot: int) -> Switches | None:
        """Return the counts of the launch in a slot; None on a machine that does not count (``profile = false``). If
        possible no time passes."""
        def count(name: str) -> int:
            path = f"kernel[{slot}].switches_{name}"
            value = host.peek(path)
            return host.read(path) if value is None else value

        return cls(*(count(field.name) for field in fields(cls))) if host.geometry.profile else None
