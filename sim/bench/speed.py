"""Simulation speed of the SM under Verilator, next to that of the first version, in one run.

``caesura bench speed`` runs the same kernels on three simulators in turn. It prints cycles and warp instructions per
second and their ratios:

- *first*: the first SystemVerilog of `gtx480`, kept packed in ``data/``, compiled without a profile. Other geometries
  have none, and use today's in its place.
- *plain*: today's SystemVerilog, compiled without a profile.
- *optimised*: today's SystemVerilog, compiled with a profile (`sim.rtl.optimise`).

Time is processor time, so other work on the machine only counts by its use of the caches. Absolute rates depend on the
machine. They change by a factor of five with the fit of a cycle's code in the second-level cache of a core, so both
sizes are printed. An idle SM shows the bound of the speed, since all logic is evaluated in every cycle.
"""

from __future__ import annotations

import contextlib
import dataclasses
import lzma
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection
from rich.table import Table

from caesura.hw.arch.geometry import Geometry
from caesura.progress import Progress, report
from caesura.sim.rtl.optimise import TRAINING_KERNELS, optimised_library
from caesura.sim.rtl.recipe import recipe
from caesura.sim.rtl.transport import RtlTransport
from caesura.sim.rtl.verilator import built, library
from caesura.sim.scenario import differences, start_job
from caesura.software.driver import Device
from caesura.software.kernels import kernel
from caesura.software.report.console import report_console

__all__ = ["GOAL", "KERNELS", "Speed", "code_bytes", "measure", "measure_idle", "run", "print_report", "simulators"]

KERNELS = "pathfinder", "matmul", "hotspot", "nbody"
GOAL = 4.0
"""Goal for the optimised rate over the first rate, on a machine with 512 KB of second-level cache."""
IDLE_CYCLES = 20_000
MEMORY_BYTES = 64 << 20
FIRST = Path(__file__).resolve().parent / "data" / "gtx480-first.sv.xz"
_CACHE_SIZE = Path("/sys/devices/system/cpu/cpu0/cache/index2/size")
_CYCLE_CODE = re.compile(r"___(nba|ico|act)_")
assert not set(KERNELS) & set(TRAINING_KERNELS)  # the measured kernels are not the trained ones


@dataclass(frozen=True)
class Speed:
    """One measurement.

    Attributes
    ----------
    name : str
        Kernel, or ``"idle"``.
    cycles : int
        Number of simulated cycles.
    instructions : int
        Number of retired warp instructions.
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
        """Simulated cycles per second."""
        return self.cycles / self.seconds


def simulators(g: Geometry, progress: Progress = report) -> dict[str, Path]:
    """Return the libraries to compare; build those that the cache lacks."""
    first = None
    if g.name == "gtx480" and FIRST.exists():
        made = recipe(g, progress=progress)
        text = lzma.decompress(FIRST.read_bytes()).decode()
        first = built(dataclasses.replace(made, name=f"{g.name} as it was first", text=text), progress)
    plain = library(g, plain=True, progress=progress)
    return {"first": first or plain, "plain": plain, "optimised": optimised_library(g, progress=progress)}


def code_bytes(simulator: Path) -> int:
    """Return the bytes of the functions that a cycle executes, without the parts that a profile marks as cold."""
    with open(simulator, "rb") as file:
        symbols = ELFFile(file).get_section_by_name(".symtab")
        assert isinstance(symbols, SymbolTableSection), f"{simulator} has no symbols"
        return sum(s["st_size"] for s in symbols.iter_symbols()
                   if s["st_info"]["type"] == "STT_FUNC" and _CYCLE_CODE.search(s.name) and ".cold" not in s.name)


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
    launch, arrays = start_job(device, device.load([shipped.image()])[name], job)
    first, retired = transport.cycle, device.read("retired")
    started = time.process_time()
    device.wait(launch)
    seconds = time.process_time() - started
    return Speed(name, transport.cycle - first, (device.read("retired") - retired) % (1 << 32), seconds,
                 not any(differences(job, arrays).values()))


def run(g: Geometry, size: str = "small", kernels: Sequence[str] = KERNELS, rounds: int = 3,
        progress: Progress = report) -> dict:
    """Measure kernels and the idle SM on each simulator in turn; keys are documented in `docs/keys.md`."""
    libraries = simulators(g, progress)
    rows = []
    for name in ("idle", *kernels):
        found: dict[str, list[Speed]] = {which: [] for which in libraries}
        for number in range(rounds):
            for which, path in libraries.items():
                progress(f"{name} on the {which} simulator, round {number + 1} of {rounds}")
                transport = RtlTransport(g, MEMORY_BYTES, simulator=path)
                found[which].append(measure_idle(transport) if name == "idle" else measure(transport, name, size))
        rows.append(_row(name, found))
    ratios = [row["ratio"]["optimised"] for row in rows[1:]]
    return {"preset": g.name, "size": size, "rounds": rounds, "goal": GOAL, "cache_bytes": _cache_bytes(),
            "code_bytes": {which: code_bytes(path) for which, path in libraries.items()}, "runs": rows,
            "least_ratio": min(ratios, default=None), "correct": all(row["correct"] for row in rows),
            "met": all(row["correct"] for row in rows) and min(ratios, default=0) >= GOAL}


def _row(name: str, found: Mapping[str, Sequence[Speed]]) -> dict:
    """Return a row from the fastest round of a kernel on each simulator."""
    best = {which: min(speeds, key=lambda speed: speed.seconds) for which, speeds in found.items()}
    cycles = {speed.cycles for speeds in found.values() for speed in speeds}
    return {"name": name, "cycles": best["plain"].cycles, "instructions": best["plain"].instructions,
            "cycles_per_second": {which: round(speed.rate) for which, speed in best.items()},
            "instructions_per_second": {which: round(speed.instructions / speed.seconds)
                                        for which, speed in best.items()},
            "ratio": {which: round(speed.rate / best["first"].rate, 2) for which, speed in best.items()},
            "same_cycles": len(cycles) == 1,
            "correct": all(speed.correct for speeds in found.values() for speed in speeds)}


def _cache_bytes() -> int | None:
    """Return the size of a core's second-level cache, None if the system does not say."""
    with contextlib.suppress(OSError, ValueError):
        return int(_CACHE_SIZE.read_text().strip().removesuffix("K")) << 10
    return None


def print_report(result: dict) -> None:
    """Print the result of `run`, with the ratio next to the goal."""
    table = Table("run", "cycles", title=f"{result['preset']} under Verilator, one core, jobs of size "
                  f"{result['size']}; thousands a second: first / plain / optimised", box=None)
    for column in ("cycles", "warp instructions", "plain over first", "optimised over first", "result"):
        table.add_column(column, justify="right")
    for row in result["runs"]:
        rates = [" / ".join(f"{rate / 1000:,.1f}" for rate in row[key].values())
                 for key in ("cycles_per_second", "instructions_per_second")]
        verdict = "right" if row["correct"] else "WRONG"
        table.add_row(row["name"], f"{row['cycles']:,}", *rates, *(f"{row['ratio'][which]:.2f}"
                      for which in ("plain", "optimised")), verdict if row["same_cycles"] else f"{verdict}, other RTL")
    console = report_console(140)
    console.print(table)
    code = " / ".join(f"{size / 1000:,.0f}" for size in result["code_bytes"].values())
    cache = result["cache_bytes"]
    console.print(f"code of a cycle, kB: {code}; second-level cache of a core: "
                  f"{'not known' if cache is None else f'{cache / 1000:,.0f} kB'}")
    if result["least_ratio"] is not None:
        console.print(f"least ratio {result['least_ratio']:.2f}, goal {result['goal']:g} (where the cache has 512 KB): "
                      f"{'met' if result['met'] else 'MISSED'}")
