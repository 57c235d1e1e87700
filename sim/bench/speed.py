"""Simulation speed: simulated cycles a second of the `gtx480` SM under Verilator, and the build time.

``caesura bench speed`` runs the shipped kernels and an idle SM on one core and prints each rate
next to the floor and the aim. Time is processor time, so that other work on the machine does not count. The
idle SM shows what bounds the speed: all logic is evaluated in every cycle, whether anything happens or not, and
what activity adds (memory model, data moved) is the difference to the kernels. ``--trace`` records the retire
trace meanwhile, as lockstep tests do.
"""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass

from rich.console import Console
from rich.table import Table

from caesura.hw.arch.geometry import Geometry
from caesura.sim.rtl.transport import RtlTransport
from caesura.sim.rtl.verilator import build_seconds, library
from caesura.sim.scenario import differences, start_job
from caesura.software.driver import Device
from caesura.software.kernels import KERNELS, kernel

__all__ = ["FLOOR", "AIM", "Speed", "measure", "measure_idle", "run", "print_report"]

FLOOR = 40_000
"""Cycles a second that must be reached with a kernel running."""
AIM = 100_000
"""Cycles a second aimed at."""
IDLE_CYCLES = 100_000
MEMORY_BYTES = 64 << 20


@dataclass(frozen=True)
class Speed:
    """One measurement.

    Attributes
    ----------
    name : str
        Kernel, or ``"idle"``.
    cycles : int
        Simulated.
    instructions : int
        Warp instructions retired.
    seconds : float
        Processor time of the simulation alone.
    correct : bool
        The kernel's results were right.
    """

    name: str
    cycles: int
    instructions: int
    seconds: float
    correct: bool = True

    @property
    def rate(self) -> float:
        """Simulated cycles a second."""
        return self.cycles / self.seconds


def measure_idle(transport: RtlTransport, cycles: int = IDLE_CYCLES) -> Speed:
    """Return the speed of an SM that runs nothing."""
    started = time.process_time()
    transport.advance(cycles)
    return Speed("idle", cycles, 0, time.process_time() - started)


def measure(transport: RtlTransport, name: str, size: str) -> Speed:
    """Run a shipped kernel to its end and return the speed."""
    device = Device(transport)
    shipped = kernel(name)
    job = shipped.job(size)
    launch, arrays = start_job(device, device.load_ptx(shipped.ptx_path)[name], job)
    first, retired = transport.cycle, device.read("retired")
    started = time.process_time()
    device.wait(launch)
    seconds = time.process_time() - started
    return Speed(name, transport.cycle - first, (device.read("retired") - retired) % (1 << 32), seconds,
                 not any(differences(job, arrays).values()))


def run(g: Geometry, size: str = "medium", trace: bool = False) -> dict:
    """Measure the idle SM and every shipped kernel; keys are documented in `docs/cli.md`."""
    built = build_seconds(library(g))
    speeds = [measure_idle(RtlTransport(g, MEMORY_BYTES, trace))]
    speeds += [measure(RtlTransport(g, MEMORY_BYTES, trace), name, size) for name in KERNELS]
    slowest = min(speed.rate for speed in speeds)
    rows = [asdict(speed) | {"cycles_per_second": round(speed.rate)} for speed in speeds]
    return {"preset": g.name, "build_seconds": built, "floor": FLOOR, "aim": AIM, "slowest": round(slowest),
            "met": slowest >= FLOOR, "idle_share": round(slowest / speeds[0].rate, 3), "runs": rows}


def print_report(result: dict) -> None:
    """Print what `run` returned, each rate next to the floor and the aim."""
    table = Table("run", "cycles", "instructions a cycle", "cycles/s", "of floor", "of aim", "result",
                  title=f"{result['preset']} under Verilator, one core", box=None)
    for row in result["runs"]:
        rate = row["cycles_per_second"]
        table.add_row(row["name"], f"{row['cycles']:,}", f"{row['instructions'] / row['cycles']:.2f}", f"{rate:,}",
                      f"{rate / FLOOR:.1f}", f"{rate / AIM:.1f}", "right" if row["correct"] else "WRONG")
    console = Console(width=110, highlight=False)
    console.print(table)
    built, slowest = result["build_seconds"], result["slowest"]
    console.print(f"build: {'not known' if built is None else f'{built:.0f} s'}; floor {FLOOR:,}, aim {AIM:,} "
                  f"cycles/s: {'aim met' if slowest >= AIM else 'floor met' if slowest >= FLOOR else 'MISSED'}")
    console.print("what bounds it: the whole SM is evaluated in every cycle, which alone is "
                  f"{result['idle_share']:.0%} of the slowest run's time")
