"""The report of ``caesura bench kill``, for a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.table import Table

from caesura.software.report.console import report_console

__all__ = ["print_report"]


def print_report(result: dict) -> None:
    """Print the result of `sim.bench.kill.run`."""
    console, clock = report_console(150), result["clock_mhz"]
    tables = [_kills(result), _check(result["kernels"])] if result["kernels"] else []
    for table in (*tables, *([_queued(result["queued"], clock)] if result["queued"] else [])):
        console.print(table)
        console.print()
    paper = ", ".join(f"{what} {limit:g} us" for what, limit in result["paper"].items())
    console.print(f"REEF on a Radeon Instinct MI50, at most: {paper}; of the check it gives no figure of its own.",
                  soft_wrap=True)
    bound = result["bound"]
    console.print(f"Bound of a kill: {bound['left']:,} cycles until thread blocks have left; {bound['idle']:,}"
                  f"{_us(bound['idle'], clock)} until slot and memory are free, if memory answers all within "
                  f"{bound['memory']:,}: {'met' if result['met'] else 'MISSED'}.", soft_wrap=True)


def _us(cycles: float, clock: float | None) -> str:
    return f" ({cycles / clock:.2f} us)" if clock else ""


def _spread(values: Iterable[int | None]) -> str:
    """Return mean and worst value as a cell."""
    known = [value for value in values if value is not None]
    return f"{sum(known) / len(known):,.0f} / {max(known):,}" if known else "-"


def _kills(result: dict) -> Table:
    rows, clock = result["kernels"], result["clock_mhz"]
    names = list(dict.fromkeys(name for row in rows for each in row["moments"] for name in each["preempts"]))
    table = Table("kernel", "TBs left", "slot free", *(["worst, us"] if clock else []), *names, box=None,
                  title=f"{result['preset']}: cycles from a kill, mean / worst of the moments; of preempts, until the "
                  "SM is free")
    for row in rows:
        moments = row["moments"]
        worst = max((each["idle"] for each in moments), default=0)
        preempts = [_spread(each["preempts"].get(name) for each in moments) for name in names]
        kills = [_spread(each[key] for each in moments) for key in ("left", "idle")]
        table.add_row(row["kernel"], *kills, *([f"{worst / clock:.2f}"] if clock else []), *preempts)
    return table


def _check(rows: Sequence[dict]) -> Table:
    table = Table("kernel", "instructions", "TBs", "warps a TB", "cycles without", "with", "more", "cycles a TB",
                  box=None, title="The check at the entry: instructions of a warp, and cycles of the whole run")
    for row in rows:
        more = row["cycles"] - row["plain_cycles"]
        table.add_row(row["kernel"], str(row["instructions"]), f"{row['tbs']:,}", str(row["warps"]),
                      f"{row['plain_cycles']:,}", f"{row['cycles']:,}", f"{100 * more / row['plain_cycles']:+.1f} %",
                      f"{more / row['tbs']:+.1f}")
    return table


def _queued(rows: Sequence[dict], clock: float | None) -> Table:
    table = Table("packets", "until all is free, mean / worst", "the kill", "packets that left", "withdrawn", "result",
                  box=None, title="A work of four packets in a queue, two SMs: cycles of a reset")
    for withdraw, name in ((False, "leave by themselves"), (True, "are withdrawn")):
        mine = [row for row in rows if row["withdraw"] is withdraw]
        worst = max(row["free"] for row in mine)
        table.add_row(name, _spread(row["free"] for row in mine) + _us(worst, clock),
                      _spread(row["kill"] for row in mine if row["killed"]), str(sum(row["left"] for row in mine)),
                      str(sum(row["withdrawn"] for row in mine)),
                      "right" if all(row["correct"] for row in mine) else "WRONG")
    return table
