"""Simulation speed of devices with 1, 2, 4, 8 and 16 SMs, measured in turns in one run.

``caesura bench devices`` fills each device with thread blocks that compute, load and store for ever, and lets time
pass. The cost of an SM is the processor time of a cycle over the number of SMs. Its ratio to the cost of a single SM
shows the growth; 1 is linear. Runs with threads are measured in elapsed time, and the gain is the ratio to one thread.
There is no gain where other work has the processors; then the simulator keeps to one thread by itself.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence

from rich.table import Table

from caesura.hw.arch.geometry import Geometry
from caesura.progress import Progress, report
from caesura.sim.rtl.transport import RtlTransport
from caesura.software.compiler import compile_ptx
from caesura.software.driver import Device
from caesura.software.report.console import report_console

__all__ = ["COUNTS", "LIMIT", "measure", "print_report", "run"]

COUNTS = 1, 2, 4, 8, 16
LIMIT = 1.0
"""Limit of the cost of an SM in a device over the cost of a single SM; 1 is linear growth."""
CYCLES = 20_000
"""Cycles per round of one SM; a device of n SMs simulates n times fewer."""
WARM_UP = 1_000
MEMORY_BYTES = 64 << 20
_BUSY = """
.version 8.0
.target sm_70
.address_size 64
.visible .entry busy(.param .u64 values)
{
    .reg .pred %p<2>;
    .reg .b32 %r<7>;
    .reg .f32 %f<4>;
    .reg .b64 %a<3>;
    ld.param.u64 %a0, [values];
    mov.u32 %r0, %ctaid.x;
    mov.u32 %r1, %ntid.x;
    mov.u32 %r2, %tid.x;
    mad.lo.u32 %r3, %r0, %r1, %r2;
    mul.wide.u32 %a1, %r3, 4;
    add.u64 %a1, %a0, %a1;
    mov.f32 %f0, 0f3F7FBE77;
LOOP:
    ld.global.f32 %f1, [%a1];
    mul.lo.u32 %r3, %r3, 1664525;
    add.u32 %r3, %r3, 1013904223;
    fma.rn.f32 %f2, %f1, %f0, %f0;
    fma.rn.f32 %f2, %f2, %f0, %f1;
    mul.f32 %f2, %f2, %f0;
    xor.b32 %r4, %r3, %r2;
    shl.b32 %r5, %r4, 3;
    add.u32 %r5, %r5, %r3;
    st.global.f32 [%a1], %f2;
    setp.ne.u32 %p0, %r5, %r4;
    @%p0 bra LOOP;
    bra LOOP;
}
"""


def filled(g: Geometry, sms: int, threads: int, progress: Progress) -> Device:
    """Return a device with some SMs that computes without an end."""
    device = Device(RtlTransport(g.replace(sms=sms), MEMORY_BYTES, threads=threads, progress=progress))
    block = min(8, g.max_block_warps) * g.warp_size
    blocks = sms * min(g.tb_slots, g.warps * g.warp_size // block)
    values = device.zeros(blocks * block, "f4")
    device.load(compile_ptx(_BUSY).values())["busy"](blocks, block, [values])
    device.advance(WARM_UP)
    return device


def measure(device: Device, cycles: int) -> tuple[float, float]:
    """Return the processor time and the elapsed time of some cycles, in seconds."""
    busy, passed = time.process_time(), time.perf_counter()
    device.advance(cycles)
    return time.process_time() - busy, time.perf_counter() - passed


def run(g: Geometry, counts: Sequence[int] = COUNTS, rounds: int = 3, progress: Progress = report) -> dict:
    """Measure devices in turn and take the fastest round of each; `docs/keys.md` documents the keys."""
    threads = len(os.sched_getaffinity(0))
    ways = [(sms, count) for sms in counts for count in sorted({1, min(threads, sms)})]
    devices = {way: filled(g, *way, progress) for way in ways}
    found: dict[tuple[int, int], list[tuple[float, float]]] = {way: [] for way in ways}
    for number in range(rounds):
        for way, device in devices.items():
            progress(f"{way[0]} SMs, {way[1]} threads, round {number + 1} of {rounds}")
            found[way].append(measure(device, CYCLES // way[0]))
    rows = []
    for sms in counts:
        cycles = CYCLES // sms
        alone = min(busy for busy, _ in found[sms, 1])
        passed = {count: min(time for _, time in found[sms, count]) for _, count in ways if (sms, count) in found}
        rows.append({"sms": sms, "cycles": cycles, "cycles_per_second": round(cycles / alone),
                     "cost": alone / (cycles * sms), "threads": max(passed),
                     "gain_of_threads": round(passed[1] / passed[max(passed)], 2)})
    single = rows[0]["cost"]
    for row in rows:
        row["cost"] = round(row["cost"] / single, 2)
    worst = max(row["cost"] for row in rows)
    return {"preset": g.name, "rounds": rounds, "limit": LIMIT, "processors": threads, "devices": rows,
            "worst_cost": worst, "met": worst <= LIMIT}


def print_report(result: dict) -> None:
    """Print the result of `run`, with the cost of an SM next to the limit."""
    table = Table("SMs", title=f"{result['preset']} under Verilator, {result['processors']} processors", box=None)
    for column in ("cycles a second", "cost of an SM over that of one", "threads", "times as fast"):
        table.add_column(column, justify="right")
    for row in result["devices"]:
        table.add_row(str(row["sms"]), f"{row['cycles_per_second']:,}", f"{row['cost']:.2f}", str(row["threads"]),
                      f"{row['gain_of_threads']:.2f}" if row["threads"] > 1 else "")
    console = report_console(120)
    console.print(table)
    console.print(f"cost of an SM, worst {result['worst_cost']:.2f}, limit {result['limit']:g}: "
                  f"{'met' if result['met'] else 'MISSED'}")
