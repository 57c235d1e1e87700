"""A shipped kernel on the golden model, looked at before each instruction of each warp."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from caesura.hw.arch.geometry import PRESETS
from caesura.sim.golden.transport import GoldenTransport
from caesura.sim.scenario import CompiledJob, differences, start_job
from caesura.software.driver import Device

if TYPE_CHECKING:
    from caesura.sim.golden.state.thread_block import Warp

__all__ = ["single_step"]

_LIMIT = 2_000_000


def single_step(work: CompiledJob) -> Iterator[tuple[Warp, int, int]]:
    """Run a job; before each instruction yield the warp, its PC and its active lanes, as bits.

    The SM is a `gtx480` with the deepest stack there can be, so that it holds every kernel.

    Raises
    ------
    AssertionError
        If the job's results are wrong, or it does not end.
    """
    transport = GoldenTransport(PRESETS["gtx480"].replace(stack_depth=64), 64 << 20)
    device, machine = Device(transport), transport.machine
    launch, arrays = start_job(device, device.load([work.image])[work.image.name], work.job)
    for _ in range(_LIMIT):
        if machine.attention:
            machine.attention = False
            machine.manage()
        if not machine.ready:
            break
        warp = machine.ready[0]
        entry = warp.stack[-1]
        yield warp, entry.pc, entry.mask & warp.live
        machine.advance(1)
    device.wait(launch, 1000)
    assert not any(differences(work.job, arrays).values())
