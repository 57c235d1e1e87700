"""How often a launch was taken off the SM and brought back, as the machine counts it (registers
``kernel[k].switches_*``)."""

from __future__ import annotations

from dataclasses import dataclass, fields

from ..machine.host_interface import HostInterface

__all__ = ["Switches"]


@dataclass(frozen=True)
class Switches:
    """Context switches of a launch, since it was started or adopted from another device; none that failed or was
    withdrawn.

    Attributes
    ----------
    at_points : int
        Preempts that saved thread blocks, each warp at a preemption point or a barrier.
    at_once : int
        Preempts that saved thread blocks, and told warps to stop at their next instruction.
    drained : int
        Preempts that had nothing to save: each thread block ended by itself, or was spared.
    finished : int
        Preempts during which the kernel finished.
    checkpointed : int
        Checkpoints.
    resumed : int
        Resumes after which nothing of it was saved any more.
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
        """Return those of the launch in a slot, None on a machine that does not count (``profile = false``); without
        time passing, where a machine can."""
        def count(name: str) -> int:
            path = f"kernel[{slot}].switches_{name}"
            value = host.peek(path)
            return host.read(path) if value is None else value

        return cls(*(count(field.name) for field in fields(cls))) if host.geometry.profile else None
