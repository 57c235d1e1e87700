"""One preemption in detail, for a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from caesura.hw.arch.geometry import Geometry
from caesura.software.driver import PreemptReport

from ..scenario import Limit, PreemptionResult

__all__ = ["patience_note", "print_phases"]


def _time(g: Geometry, cycles: int) -> str:
    return f"{cycles:,}" + (f"  ({cycles / g.clock_mhz:.2f} us)" if g.clock_mhz else "")


def _limit_row(limit: Limit | None) -> str:
    if limit is None:
        return ""
    verdict = "met" if limit.met else "MISSED"
    others = f" with {limit.regular_cycles:,.0f} of other traffic" if limit.regular_cycles else ""
    return f"bus {limit.bus_cycles:,.0f}, limit {limit.limit:,.0f}{others}: {verdict}"


def patience_note(saved: PreemptReport) -> str:
    """Return in words how much patience a preempt used; empty if it had none."""
    if saved.way.patience is None:
        return ""
    if saved.patience_over is None:
        return f"patience {saved.way.patience}"
    if saved.way.patience == 0:
        return "patience 0: warps stopped where they were"
    over = "used up: warps stopped where they were" if saved.patience_over else "not used up"
    return f"patience {saved.way.patience}, {over}"


def _cycles(g: Geometry, result: PreemptionResult, bases: Sequence[PreemptReport]) -> Table:
    saved, resumed = result.preempt, result.resume
    clock = f" at {g.clock_mhz:g} MHz" if g.clock_mhz else ""
    table = Table("phase", "cycles", f"against ({g.name}{clock})", box=None)
    assert saved is not None and resumed is not None
    for base in bases:
        table.add_row("checkpoint before", _time(g, base.save_cycles), "")
    table.add_row("preempt requested at", f"{result.at:,}", "")
    if saved.way.grace:
        table.add_row("grace", _time(g, saved.grace_cycles), f"of {saved.way.grace}")
    table.add_row("preemption latency", _time(g, saved.save_cycles), "")
    table.add_row("  drain", _time(g, saved.drain_cycles), patience_note(saved))
    table.add_row("  save", _time(g, saved.save_cycles - saved.drain_cycles), _limit_row(result.save_limit))
    table.add_row("other kernel", _time(g, result.other_cycles), "")
    table.add_row("restore", _time(g, resumed.restore_cycles), _limit_row(result.restore_limit))
    table.add_row("resume latency", _time(g, resumed.resume_cycles), "")
    table.add_row("rest of the kernel", _time(g, result.rest_cycles), "")
    return table


def _bytes(result: PreemptionResult, bases: Sequence[PreemptReport]) -> Table:
    saved = result.preempt
    assert saved is not None
    table = Table("context", "bytes", "of occupied", box=None)
    total = saved.saved_bytes + result.stored_bytes
    table.add_row("occupied (registers, shared)", f"{saved.occupied_bytes:,}", "")
    before = [("base", base.saved_bytes) for base in bases]
    stored = [("written: by routines", result.stored_bytes)] if result.stored_bytes else []
    rows = (*before, ("live where the warps stood", result.live_bytes), ("written: data", saved.data_bytes), *stored,
            ("written: metadata", saved.metadata_bytes), ("written in all", total))
    for name, value in rows:
        table.add_row(name, f"{value:,}", f"{100 * value / max(1, saved.occupied_bytes):.1f} %")
    table.add_row("TBs, warps", f"{saved.tbs}, {saved.warps}", "")
    return table


def print_phases(console: Console, g: Geometry, result: PreemptionResult, bases: Sequence[PreemptReport] = ()) -> None:
    """Print the phases of a preemption with their limits, and its bytes, then the same for earlier checkpoints."""
    console.print(_cycles(g, result, bases))
    console.print()
    console.print(_bytes(result, bases))
