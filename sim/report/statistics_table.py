"""The statistics of a run, for a terminal and as plain data."""

from __future__ import annotations

from dataclasses import asdict

from caesura.hw.arch.geometry import Geometry
from caesura.hw.interfaces.observation import WARP_STATES

from ..trace.statistics import BUS, CacheUse, KernelUse, SmUse, Statistics
from .tables import TitledTable, print_tables

__all__ = ["print_statistics", "statistics_json", "tables"]


def _share(value: float | None) -> str:
    return "-" if value is None else f"{value:.1%}"


def _hits(use: CacheUse) -> str:
    return f"{_share(use.hit_rate)} of {use.lookups:,}"


def _sms(found: Statistics) -> TitledTable:
    rows = []
    for sm in found.sms:
        caches = [_hits(sm.caches[name]) for name in sm.caches] or ["-", "-"]
        issued = None if sm.issue_cycles is None else sm.issue_cycles / max(1, sm.cycles)
        rows.append([f"SM {sm.sm}", f"{sm.busy_cycles:,}", f"{sm.instructions:,}", f"{sm.ipc:.3f}", _share(issued),
                     _share(sm.occupancy), _share(sm.tb_occupancy), *caches])
    return "SMs", ["", "cycles with warps", "instructions", "IPC", "issue slots used", "warp slots used",
                   "TB slots used", "icache hits", "constant hits"], rows


def _label(found: Statistics, use: KernelUse) -> str:
    """Return the name of a kernel, with its slot if it held several slots on its SM."""
    slots = {other.slot for other in found.kernels if (other.name, other.sm) == (use.name, use.sm)}
    return f"{use.name} (slot {use.slot})" if len(slots) > 1 else use.name


def _kernels(found: Statistics) -> TitledTable:
    rows = []
    for use in found.kernels:
        threads = use.thread_instructions / use.instructions if use.instructions else 0.0
        rows.append([_label(found, use), f"SM {use.sm}", f"{use.cycles:,}", f"{use.instructions:,}", f"{use.ipc:.3f}",
                     f"{use.warps:.1f}", f"{threads:.1f}"])
    return "kernels", ["", "", "cycles there", "instructions", "IPC", "warps", "threads an instruction"], rows


def _states(found: Statistics) -> TitledTable:
    def row(name: str, use: SmUse | KernelUse) -> list[str]:
        return [name, f"SM {use.sm}", *(_share(use.states[state]) for state in WARP_STATES)]

    rows = [row("all", sm) for sm in found.sms if sm.states] + [
        row(_label(found, use), use) for use in found.kernels if use.states]
    return ("what warps that had started did, share of their cycles",
            ["", "", *(state.replace("_", " ") for state in WARP_STATES)], rows)


def _bus(found: Statistics) -> TitledTable:
    rows = [[f"SM {sm.sm}", *(f"{sm.bus[kind]:,}" for kind in BUS)] for sm in found.sms]
    if found.queue_bytes:
        rows.append(["queues", f"{found.queue_bytes:,}", *([""] * (len(BUS) - 1))])
    return f"bus, bytes ({found.bus_use:.1%} of what the memory can move)", ["", *BUS], rows


def tables(found: Statistics) -> list[TitledTable]:
    """Return the tables of a report."""
    return [table for table in (_sms(found), _kernels(found), _states(found), _bus(found)) if table[2]]


def print_statistics(g: Geometry, found: Statistics) -> None:
    """Print the counters."""
    print_tables(f"\nstatistics of {g.name}, {found.cycles:,} cycles: {found.ipc:.3f} instructions a cycle",
                 tables(found), 140)


def statistics_json(found: Statistics) -> dict:
    """Return the counters as plain data; `docs/keys.md` documents the keys."""
    head = {"cycles": found.cycles, "ipc": found.ipc, "bus_use": found.bus_use, "queue_bytes": found.queue_bytes}
    return head | {"sms": [asdict(sm) | {"ipc": sm.ipc} for sm in found.sms],
                   "kernels": [asdict(use) | {"ipc": use.ipc} for use in found.kernels]}
