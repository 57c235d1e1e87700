"""Speed of the SM under Amaranth's simulator: the event-driven engine next to Amaranth's own.

``caesura bench events`` elaborates the SM for both engines, runs one thread block of `vecadd` on each, and compares
cycles and memory. Time is processor time, so that other work on the machine does not count.
"""

from __future__ import annotations

import dataclasses
import time
from dataclasses import asdict, dataclass

from amaranth import sim
from rich.table import Table

from caesura.hw.arch.geometry import Geometry
from caesura.progress import Progress, report
from caesura.sim.events import EventEngine
from caesura.sim.rtl.amaranth_sim import AmaranthTransport
from caesura.sim.scenario import start_job
from caesura.software.driver import Device
from caesura.software.kernels import kernel
from caesura.software.report.console import report_console

__all__ = ["ENGINES", "GOAL", "KERNEL", "Speed", "measure", "print_report", "run"]

KERNEL = "vecadd"
GOAL = 4.0
"""Goal for the cycles per second of the event-driven engine over those of Amaranth's engine."""
ENGINES = {"amaranth": "pysim", "events": EventEngine}
MEMORY_BYTES = 1 << 20


@dataclass(frozen=True)
class Speed:
    """A run on one engine.

    Attributes
    ----------
    ready : float
        Processor time until the first cycle, s.
    cycles : int
    seconds : float
        Processor time of the cycles.
    memory : bytes
        Memory of the device at the end.
    """

    ready: float
    cycles: int
    seconds: float
    memory: bytes = dataclasses.field(repr=False)


def measure(g: Geometry, engine: str) -> Speed:
    """Run one thread block of `KERNEL`."""
    started = time.process_time()
    transport = AmaranthTransport(g, MEMORY_BYTES, simulator=lambda top: sim.Simulator(top, engine=ENGINES[engine]))
    ready = time.process_time() - started
    device = Device(transport)
    shipped = kernel(KERNEL)
    job = dataclasses.replace(shipped.job("tiny"), grid=(1, 1, 1), block=(min(g.max_block_threads, 64), 1, 1))
    launch, _ = start_job(device, device.load([shipped.image()])[KERNEL], job)
    first, started = transport.cycle, time.process_time()
    device.wait(launch)
    seconds = time.process_time() - started
    return Speed(ready, transport.cycle - first, seconds, transport.read_memory(0, MEMORY_BYTES))


def run(g: Geometry, progress: Progress = report) -> dict:
    """Measure both engines; keys are documented in `docs/keys.md`."""
    found = {}
    for name in ENGINES:
        progress(f"a thread block of {KERNEL} on {g.name}, engine {name}")
        found[name] = measure(g, name)
    theirs, ours = found["amaranth"], found["events"]
    ratio = theirs.seconds / theirs.cycles / (ours.seconds / ours.cycles)
    rows = {name: asdict(speed) | {"cycles_per_second": round(speed.cycles / speed.seconds)}
            for name, speed in found.items()}
    for row in rows.values():
        del row["memory"]
    same = theirs.cycles == ours.cycles and theirs.memory == ours.memory
    return {"preset": g.name, "kernel": KERNEL, "goal": GOAL, "ratio": round(ratio, 2),
            "ready_ratio": round(ours.ready / theirs.ready, 2), "same": same, "met": same and ratio >= GOAL,
            "engines": rows}


def print_report(result: dict) -> None:
    """Print the result of `run`."""
    table = Table("engine", "s until the first cycle", "cycles", "cycles a second", box=None,
                  title=f"a thread block of {result['kernel']} on the SM of {result['preset']}")
    for name, row in result["engines"].items():
        table.add_row(name, f"{row['ready']:.1f}", f"{row['cycles']:,}", f"{row['cycles_per_second']:,}")
    console = report_console()
    console.print(table)
    console.print(f"event-driven over Amaranth's own: {result['ratio']:.1f} (goal: {result['goal']:.0f}); "
                  f"{'the same cycles and memory' if result['same'] else 'DIFFERENT cycles or memory'}")
