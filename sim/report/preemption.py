"""The report of one preemption, for a terminal."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table

from caesura.hw.arch.geometry import Geometry

from ..scenario import Limit, PreemptionResult

__all__ = ["print_preemption"]


def _time(g: Geometry, cycles: int) -> str:
    return f"{cycles:,}" + (f"  ({cycles / g.clock_mhz:.2f} us)" if g.clock_mhz else "")


def _limit_row(limit: Limit | None) -> str:
    if limit is None:
        return ""
    verdict = "met" if limit.met else "MISSED"
    others = f" with {limit.regular_cycles:,.0f} of other traffic" if limit.regular_cycles else ""
    return f"bus {limit.bus_cycles:,.0f}, limit {limit.limit:,.0f}{others}: {verdict}"


def _cycles(g: Geometry, result: PreemptionResult) -> Table:
    saved, resumed = result.preempt, result.resume
    clock = f" at {g.clock_mhz:g} MHz" if g.clock_mhz else ""
    table = Table("phase", "cycles", f"against ({g.name}{clock})", box=None)
    if saved is None or resumed is None:
        table.add_row("preempt", "-", f"the kernel had finished before cycle {result.at:,}")
        return table
    table.add_row("preempt requested at", f"{result.at:,}", "")
    table.add_row("preemption latency", _time(g, saved.save_cycles), "")
    table.add_row("  drain", _time(g, saved.drain_cycles), "")
    table.add_row("  save", _time(g, saved.save_cycles - saved.drain_cycles), _limit_row(result.save_limit))
    table.add_row("other kernel", _time(g, result.other_cycles), "")
    table.add_row("restore", _time(g, resumed.restore_cycles), _limit_row(result.restore_limit))
    table.add_row("resume latency", _time(g, resumed.resume_cycles), "")
    table.add_row("rest of the kernel", _time(g, result.rest_cycles), "")
    return table


def _bytes(result: PreemptionResult) -> Table:
    saved = result.preempt
    assert saved is not None
    table = Table("context", "bytes", "of occupied", box=None)
    total = saved.data_bytes + saved.metadata_bytes
    table.add_row("occupied (registers, shared)", f"{saved.occupied_bytes:,}", "")
    rows = (("live where the warps stood", result.live_bytes), ("written: data", saved.data_bytes),
            ("written: metadata", saved.metadata_bytes), ("written in all", total))
    for name, value in rows:
        table.add_row(name, f"{value:,}", f"{100 * value / max(1, saved.occupied_bytes):.1f} %")
    table.add_row("TBs, warps", f"{saved.tbs}, {saved.warps}", "")
    return table


def print_preemption(g: Geometry, name: str, other: str, mechanism: str, result: PreemptionResult) -> None:
    """Print phases with their limits, bytes, and the verdict."""
    console = Console(width=110, highlight=False)
    console.print(f"[bold]{name}[/] preempted by [bold]{other}[/], mechanism [bold]{mechanism}[/], on {g.name}\n")
    console.print(_cycles(g, result))
    if result.preempt:
        console.print()
        console.print(_bytes(result))
    console.print()
    for array, count in result.differences.items():
        console.print(f"  {array}: {'equal to the reference' if not count else f'[bold red]{count} elements wrong[/]'}")
    console.print("[bold green]correct[/]: every result is what it should be" if result.correct
                  else "[bold red]WRONG[/]: see above")
