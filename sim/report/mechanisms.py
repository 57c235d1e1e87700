"""The report of ``caesura bench mechanisms``: tables for a terminal and for Markdown, and a picture."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from rich.table import Table

from caesura.sim.register_classes import CLASSES
from caesura.software.report.console import report_console

from .cells import percent
from .markdown import markdown_table, replace_markdown
from .pictures import check_picture, kernel_rows, save

__all__ = ["BEGIN", "END", "tables", "print_report", "markdown", "update_markdown", "picture"]

BEGIN = "<!-- begin: caesura bench mechanisms -->"
END = "<!-- end: caesura bench mechanisms -->"
"""Marks in a Markdown file; the text between them is replaced."""
_NONE = "-"

Rows = list[list[str]]


def _number(value: float) -> str:
    return f"{value:,.0f}"


def _several(values: dict | None, *keys: str) -> str:
    return " / ".join(_number(values[key]) for key in keys) if values else _NONE


def _verdict(correct: bool, met: bool = True) -> str:
    return "WRONG" if not correct else "met" if met else "MISSED"


def _measured(rows: list[dict]) -> list[dict]:
    return [row for row in rows if "error" not in row]


def _failures(result: dict) -> list[str]:
    """Return a line for each part that could not be measured."""
    return [f"{row['kernel']}, {row.get('mechanism', 'overhead of preemption points')}: {row['error']}"
            for row in (*result["runs"], *result["overhead"]) if "error" in row]


def _context_rows(result: dict) -> Iterator[list[str]]:
    for row in _measured(result["runs"]):
        size = row["bytes"]
        if size is None:
            yield [row["kernel"], row["mechanism"], *[_NONE] * 6, "right" if row["correct"] else "WRONG"]
            continue
        yield [row["kernel"], row["mechanism"],
               " / ".join(_number(size[f"warp_{kind}"]) for kind in ("occupied", "live", "written")),
               percent(1 - size["warp_written"] / size["warp_occupied"]), _number(size["warp_metadata"]),
               " / ".join(_number(size[f"sm_{kind}"]) for kind in ("occupied", "live", "written")),
               _number(size["sm_metadata"]), f"{size['tbs']:.1f}, {size['warps']:.1f}",
               "right" if row["correct"] else "WRONG"]


def _time_rows(result: dict) -> Iterator[list[str]]:
    for row in _measured(result["runs"]):
        limits = [row[key] for key in ("save", "restore") if row[key]]
        yield [row["kernel"], row["mechanism"], f"{row['preemptions']}, {row['saved']}",
               _several(row["latency"], "median", "p99", "max"), _several(row["drain"], "median"),
               *(_several(row[key], "median", "bus_median", "limit_median") for key in ("save", "restore")),
               f"{max(limit['worst_share'] for limit in limits):.2f}" if limits else _NONE,
               _verdict(row["correct"], all(limit["met"] for limit in limits)) if limits else "nothing to save"]


def _overhead_rows(result: dict) -> Iterator[list[str]]:
    for row in _measured(result["overhead"]):
        yield [row["kernel"], _number(row["cycles_without"]), _number(row["cycles"]), f"{row['percent']:+.2f} %",
               f"{row['limit']:g} %", _verdict(row["correct"], row["met"])]


def _class_rows(result: dict) -> Iterator[list[str]]:
    paper = result["paper"]
    for row in result["runs"]:
        shares = row.get("classes")
        if not shares:
            continue
        live = max(1e-9, 1 - shares["dead"])
        yield [row["kernel"], *(percent(shares[name]) for name in (*CLASSES, "dead")),
               *(percent(shares[name] / live) for name in CLASSES)]
        if row["kernel"] == paper["kernel"]:
            yield ["BP of Lin et al.", *[_NONE] * 5,
                   *(percent(paper[name]) if name in paper else _NONE for name in CLASSES)]


def _average_rows(result: dict) -> Iterator[list[str]]:
    paper = {"live": result["paper"]["saved_by_liveness"], "live+cp": result["paper"]["saved_by_both"]}
    for mechanism, share in result["saved_share"].items():
        yield [mechanism, percent(share), percent(paper[mechanism]) if mechanism in paper else _NONE]


def tables(result: dict) -> list[tuple[str, list[str], Rows]]:
    """Return the tables of a result of `sim.bench.mechanisms.run`: title, columns and rows; none without rows."""
    clock = f" at {result['clock_mhz']:g} MHz" if result["clock_mhz"] else ""
    found = [
        ("Context in bytes, mean of all preemptions; registers of a warp, and the SM with its shared memory",
         ["kernel", "mechanism", "warp: occupied / live / written", "saved", "metadata",
          "SM: occupied / live / written", "metadata", "TBs, warps", "result"], list(_context_rows(result))),
        (f"Time in cycles{clock}, at {result['preemptions']} random moments each",
         ["kernel", "mechanism", "preempted, saved", "latency: median / p99 / max", "drain",
          "save: median / bus / limit", "restore: median / bus / limit", "worst of limit", "limits"],
         list(_time_rows(result))),
        ("Preemption points that are never taken, in cycles",
         ["kernel", "without", "with", "overhead", "limit", ""], list(_overhead_rows(result))),
        ("Registers by encoding: of all allocated, and of the live ones alone",
         ["kernel", *CLASSES, "dead", f"live: {CLASSES[0]}", *CLASSES[1:]], list(_class_rows(result))),
        ("Register context not written, mean over the kernels",
         ["mechanism", "here", "Lin et al."], list(_average_rows(result))),
    ]
    return [table for table in found if table[2]]


def print_report(result: dict) -> None:
    """Print all tables."""
    console = report_console(170)
    console.print(f"[bold]{result['preset']}[/], jobs of size {result['size']}, moments drawn with seed "
                  f"{result['seed']}")
    for title, columns, rows in tables(result):
        table = Table(*columns, box=None)
        for row in rows:
            table.add_row(*row)
        console.print(f"\n[bold]{title}[/]")
        console.print(table)
    for line in _failures(result):
        console.print(line, markup=False, style="red")
    console.print("\n[bold red]WRONG[/]: see above" if not result["correct"] else
                  "\n[bold green]everything correct and within its limits[/]" if result["met"] else
                  "\n[bold red]NOT everything could be measured[/]" if _failures(result) else
                  "\neverything correct, [bold red]but a limit is missed[/]")


def markdown(result: dict) -> str:
    """Return all tables as Markdown."""
    parts = [f"Preset `{result['preset']}`, jobs of size `{result['size']}`, moments drawn with seed {result['seed']}."]
    parts += [markdown_table(title, columns, rows, left=len(columns)) for title, columns, rows in tables(result)]
    parts += [f"- {line}" for line in _failures(result)]
    return "\n\n".join(parts) + "\n"


def update_markdown(path: Path, result: dict) -> None:
    """Put the tables between the marks of a file; errors as in `sim.report.markdown.split_markdown`."""
    replace_markdown(path, BEGIN, END, lambda: markdown(result))


def picture(result: dict, path: Path) -> None:
    """Draw bytes per warp by mechanism for each kernel, and the latencies; errors as in `check_picture`."""
    check_picture(path)
    rows = [row for row in _measured(result["runs"]) if row["latencies"]]
    kernels = list(dict.fromkeys(row["kernel"] for row in rows))
    mechanisms = list(dict.fromkeys(row["mechanism"] for row in rows))
    figure, (sizes, times) = kernel_rows(kernels, 0.2 * len(mechanisms) + 0.1)
    width = 0.86 / max(1, len(mechanisms))
    for number, mechanism in enumerate(mechanisms):
        mine = [row for row in rows if row["mechanism"] == mechanism]
        places = [kernels.index(row["kernel"]) + (number - (len(mechanisms) - 1) / 2) * width for row in mine]
        written = [row["bytes"]["warp_written"] if row["bytes"] else 0 for row in mine]
        bars = sizes.barh(places, written, 0.9 * width, label=mechanism, color=f"C{number}")
        sizes.bar_label(bars, fmt="{:,.0f}", fontsize=8, padding=2)
        boxes = times.boxplot([row["latencies"] for row in mine], positions=places, widths=0.8 * width,
                              orientation="horizontal", manage_ticks=False, patch_artist=True, whis=(0, 100),
                              medianprops={"color": "black"})
        for box in boxes["boxes"]:
            box.set(facecolor=f"C{number}", alpha=0.7)
    sizes.margins(x=0.14)
    sizes.set(title="Register context written", xlabel=f"bytes a warp ({result['preset']})")
    times.set(title="Preemption latency: least, quartiles, most", xscale="log",
              xlabel=f"cycles, at {result['preemptions']} random moments")
    figure.legend(*sizes.get_legend_handles_labels(), loc="outside upper center", ncols=len(mechanisms))
    save(figure, path)
