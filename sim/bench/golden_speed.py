"""Speed of the golden model's two engines in warp instructions per second, next to GPGPU-Sim's functional mode.

``caesura bench golden`` runs each kernel on the numpy engine, then on the compiled one, and compares memory. Time is
processor time, so that other work on the machine does not count. The compiled engine is built anew in its own folder,
so that its rate can also include the compiler's time.
"""

from __future__ import annotations

import resource
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from rich.table import Table

from caesura.hw.arch.geometry import Geometry
from caesura.sim.golden.native.build import Build
from caesura.sim.golden.transport import GoldenTransport
from caesura.sim.scenario import differences, start_job
from caesura.software.driver import Device
from caesura.software.kernels import kernel
from caesura.software.report.console import report_console

__all__ = ["KERNELS", "GPGPU_SIM", "Speed", "build_seconds", "measure", "run", "print_report"]

KERNELS = "pathfinder", "matmul", "hotspot", "nbody"
GPGPU_SIM = 179_000, 215_000
"""Slowest and fastest warp instructions per second of GPGPU-Sim 4's functional mode on these kernels' PTX. It simulated
one SM of a GTX480. It was measured once, on another machine, on which the numpy engine did 29,000 to 74,000.
"""
MEMORY_BYTES = 64 << 20


@dataclass(frozen=True)
class Speed:
    """A kernel on both engines.

    Attributes
    ----------
    name : str
    instructions : int
        Number of warp instructions, equal on both engines.
    numpy_seconds, compiled_seconds : float
        Processor time from the launch to the end.
    correct : bool
        Both engines computed the right results, and left the same memory.
    """

    name: str
    instructions: int
    numpy_seconds: float
    compiled_seconds: float
    correct: bool


def build_seconds(warp_size: int) -> float:
    """Return the processor time of a build of the compiled engine."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with tempfile.TemporaryDirectory() as folder:
        Build(warp_size, target=Path(folder) / "engine.so").finish()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _run(g: Geometry, name: str, size: str, engine: str) -> tuple[float, int, bool, bytes]:
    """Return seconds, instructions, whether the result is right, and memory."""
    device = Device(GoldenTransport(g, MEMORY_BYTES, engine=engine))
    shipped = kernel(name)
    job = shipped.job(size)
    launch, arrays = start_job(device, device.load_ptx(shipped.ptx_path)[name], job)
    started = time.process_time()
    device.wait(launch)
    seconds = time.process_time() - started
    right = not any(differences(job, arrays).values())
    return seconds, device.read("retired"), right, device.transport.read_memory(0, MEMORY_BYTES)


def measure(g: Geometry, name: str, size: str) -> Speed:
    """Run a shipped kernel on both engines."""
    slow, instructions, right, memory = _run(g, name, size, "numpy")
    fast, again, also_right, also_memory = _run(g, name, size, "compiled")
    return Speed(name, instructions, slow, fast,
                 right and also_right and instructions == again and memory == also_memory)


def run(g: Geometry, size: str = "medium", kernels: Sequence[str] = KERNELS) -> dict:
    """Measure; keys are documented in `docs/keys.md`."""
    built = build_seconds(g.warp_size)
    rows = []
    for speed in (measure(g, name, size) for name in kernels):
        n = speed.instructions
        rows.append(asdict(speed) | {
            "numpy_rate": round(n / speed.numpy_seconds), "compiled_rate": round(n / speed.compiled_seconds),
            "rate_with_build": round(n / (speed.compiled_seconds + built)),
            "ratio": round(speed.numpy_seconds / speed.compiled_seconds, 1)})
    met = all(row["correct"] and row["compiled_rate"] >= GPGPU_SIM[1] for row in rows)
    return {"preset": g.name, "size": size, "build_seconds": round(built, 2), "gpgpu_sim": GPGPU_SIM, "met": met,
            "runs": rows}


def print_report(result: dict) -> None:
    """Print the result of `run`."""
    table = Table("kernel", "warp instructions", "numpy", "compiled", "ratio", "with g++", "of GPGPU-Sim", "result",
                  title=f"golden model, {result['preset']}, size {result['size']}: warp instructions/s", box=None)
    slowest, fastest = result["gpgpu_sim"]
    for row in result["runs"]:
        table.add_row(row["name"], f"{row['instructions']:,}", f"{row['numpy_rate']:,}", f"{row['compiled_rate']:,}",
                      f"{row['ratio']:.1f}", f"{row['rate_with_build']:,}", f"{row['compiled_rate'] / fastest:.1f}",
                      "right, equal" if row["correct"] else "WRONG")
    console = report_console(110)
    console.print(table)
    console.print(f"g++ takes {result['build_seconds']:.1f} s of processor time, once; GPGPU-Sim's functional mode did "
                  f"{slowest:,} to {fastest:,}, on another machine")
