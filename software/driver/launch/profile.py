"""Costs of the TBs of a kernel that have ended, as the SMs count them (`hw/dispatch/tb_profile.py`)."""

from __future__ import annotations

from ..machine.host_interface import HostInterface

__all__ = ["profile"]


def profile(host: HostInterface, slot: int, *names: str) -> list[int]:
    """Return sums over all SMs of what they count of the TBs of a kernel slot that have ended by themselves.

    Parameters
    ----------
    host : HostInterface
    slot : int
    names : str
        Counts that are read: ``tbs``, ``cycles``, ``instructions``.
    """
    sums = [0] * len(names)
    for sm in range(host.geometry.sms):
        with host.of_sm(sm):
            for i, name in enumerate(names):
                sums[i] += host.read(f"kernel[{slot}].profile_{name}")
    return sums
