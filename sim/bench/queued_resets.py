"""Resets of packets in a queue, at moments of their run, for `sim.bench.kill`."""

from __future__ import annotations

from typing import Any

import numpy as np

from caesura.hw.arch.geometry import Geometry
from caesura.progress import Progress, quiet
from caesura.sim.rtl.transport import RtlTransport
from caesura.software.compiler import CompileOptions, compile_ptx
from caesura.software.driver import Device

__all__ = ["PACKETS", "queued_rows"]

PACKETS = 4
"""Capacity of the queue, as in REEF (4.1)."""
MEMORY_BYTES = 1 << 20
MAX_CYCLES = 1_000_000
ROUNDS = 200
_STEP = """
.version 8.0
.target sm_70
.address_size 64
.visible .entry step(.param .u64 output, .param .u64 input, .param .u32 rounds)
{
    .reg .pred %p<2>;
    .reg .b32 %r<8>;
    .reg .b64 %a<4>;
    ld.param.u64 %a0, [output];
    ld.param.u64 %a1, [input];
    ld.param.u32 %r0, [rounds];
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, %ntid.x;
    mov.u32 %r3, %tid.x;
    mad.lo.u32 %r4, %r1, %r2, %r3;
    mul.wide.u32 %a2, %r4, 4;
    add.u64 %a0, %a0, %a2;
    add.u64 %a1, %a1, %a2;
    ld.global.u32 %r5, [%a1];
    mov.u32 %r6, 0;
LOOP:
    mad.lo.u32 %r5, %r5, 5, 1;
    add.u32 %r6, %r6, 1;
    setp.lt.u32 %p0, %r6, %r0;
    @%p0 bra LOOP;
    st.global.u32 [%a0], %r5;
    ret;
}
"""


class _Packets:
    """A work of packets in a queue of a device. Each packet reads the output of the packet before."""

    def __init__(self, g: Geometry, progress: Progress):
        device_geometry = g.replace(sms=2, queues=3)
        self.device = Device(RtlTransport(device_geometry, MEMORY_BYTES, progress=progress))
        options = CompileOptions(max_registers=g.regs_per_thread, eviction_check=True)
        self.kernel = self.device.load(compile_ptx(_STEP, options=options).values())["step"]
        self.block, self.blocks = 2 * g.warp_size, 4 * g.tb_slots
        count = self.block * self.blocks
        self.values = np.arange(count, dtype=np.uint32)
        self.arrays = [self.device.array(self.values), *(self.device.zeros(count, np.uint32) for _ in range(PACKETS))]
        self.queue = self.device.queue([self.kernel], self.block, packets=2 * PACKETS)
        self.work = self.device.work()

    def fill(self) -> None:
        """Put all packets."""
        for source, target in zip(self.arrays, self.arrays[1:], strict=False):
            target.set(np.zeros_like(self.values))
            self.work.launch(self.kernel, self.blocks, self.block, [target, source, ROUNDS], queue=self.queue)

    def correct(self) -> bool:
        """Return whether the last packet has written the right output."""
        values = self.values
        for _ in range(PACKETS * ROUNDS):
            values = values * np.uint32(5) + np.uint32(1)
        return np.array_equal(self.arrays[-1].get(), values)

    def length(self) -> int:
        """Return the cycles of all packets."""
        began = self.device.cycle
        self.fill()
        self.work.wait(MAX_CYCLES)
        return self.device.cycle - began

    def reset(self, at: int, withdraw: bool) -> dict[str, Any]:
        """Reset the work some cycles after its first packet was put, launch it again, and check its end."""
        self.fill()
        self.device.advance(at)
        report = self.work.reset(withdraw=withdraw, max_cycles=MAX_CYCLES)
        self.work.relaunch()
        self.work.wait(MAX_CYCLES)
        return {"at": at, "withdraw": withdraw, "free": report.free_cycles, "kill": report.kill_cycles,
                "whole": len(report.whole), "killed": len(report.killed), "withdrawn": len(report.withdrawn),
                "left": len(report.left), "correct": self.correct()}


def queued_rows(g: Geometry, moments: int, progress: Progress = quiet) -> list[dict[str, Any]]:
    """Return the times of resets of `PACKETS` packets in a queue of a device of two SMs, at moments spread evenly.

    Parameters
    ----------
    g : Geometry
        Geometry of each SM.
    moments : int
    progress : callable
    """
    packets = _Packets(g, progress)
    length, rows = packets.length(), []
    for withdraw in (False, True):
        for k in range(moments):
            progress(f"queue, {'withdrawn' if withdraw else 'left to leave'}: moment {k + 1} of {moments}")
            rows.append(packets.reset(length * (2 * k + 1) // (2 * moments), withdraw))
    return rows
