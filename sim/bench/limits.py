"""Save and restore time of every shipped kernel against the limit of the bus (design: what counts as shown).

``caesura bench limits`` preempts each kernel in the middle of its run, lets a kernel that overwrites everything run,
brings the first back, checks all results, and prints both times next to their limits.
"""

from __future__ import annotations

from collections.abc import Callable

from rich.console import Console
from rich.table import Table

from caesura.hw.arch.context import Mechanism
from caesura.hw.arch.geometry import Geometry
from caesura.sim import open_device
from caesura.sim.scenario import PreemptionResult, Work, as_json, run_preemption, start_job
from caesura.software.compiler import CompileOptions, compile_ptx
from caesura.software.kernels import KERNELS, hostile, kernel

__all__ = ["middle_preemption", "run", "print_report"]


def middle_preemption(g: Geometry, name: str, mechanism: Mechanism, size: str = "small") -> PreemptionResult:
    """Preempt a shipped kernel in the middle of its run on the RTL."""
    shipped = kernel(name)
    images = compile_ptx(shipped.ptx_path.read_text(), shipped.ptx_path.name,
                         CompileOptions(max_registers=g.regs_per_thread))
    work = Work(images[name], shipped.job(size))
    device = open_device("rtl", g)
    launch, _ = start_job(device, device.load([work.image])[name], work.job)
    middle = device.wait(launch) // 2
    return run_preemption(open_device("rtl", g), work, Work(*hostile(g)), middle, mechanism)


def run(g: Geometry, size: str = "small", progress: Callable[[str], None] = lambda text: None) -> dict:
    """Measure every shipped kernel with every mechanism; keys are documented in `docs/cli.md`."""
    rows = []
    for name in KERNELS:
        for mechanism in Mechanism:
            progress(f"{name}, {mechanism.name.lower()}")
            result = as_json(middle_preemption(g, name, mechanism, size))
            del result["saved_tbs"]
            rows.append({"kernel": name, "mechanism": mechanism.name.lower()} | result)
    met = all(row["correct"] and all(row[key] is None or row[key]["met"] for key in ("save_limit", "restore_limit"))
              for row in rows)
    return {"preset": g.name, "size": size, "met": met, "runs": rows}


def print_report(result: dict) -> None:
    """Print what `run` returned: bytes, and times next to their limits."""
    table = Table("kernel", "mechanism", "occupied B", "data B", "metadata B", "drain", "save", "limit", "restore",
                  "limit", "result", title=f"{result['preset']}: cycles, and bytes of the SM's context", box=None)
    for row in result["runs"]:
        saved, save, restore = row["preempt"], row["save_limit"], row["restore_limit"]
        verdict = "right" if row["correct"] else "WRONG"
        if saved is None:
            table.add_row(row["kernel"], row["mechanism"], *["-"] * 8, verdict + ", had finished")
            continue
        if not (save["met"] and restore["met"]):
            verdict += ", limit MISSED"
        table.add_row(row["kernel"], row["mechanism"], f"{saved['occupied_bytes']:,}", f"{saved['data_bytes']:,}",
                      f"{saved['metadata_bytes']:,}", f"{saved['drain_cycles']:,}", f"{save['cycles']:,}",
                      f"{save['limit']:,.0f}", f"{restore['cycles']:,}", f"{restore['limit']:,.0f}", verdict)
    Console(width=130, highlight=False).print(table)
