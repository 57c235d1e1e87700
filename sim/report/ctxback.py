"""Tables and picture of context flashback's static context sizes (CTXBack Fig. 7)."""

from __future__ import annotations

from pathlib import Path

from caesura.software.compiler.flashback.costs import Objective
from caesura.software.report.console import report_console

from .markdown import markdown_table, replace_markdown
from .pictures import kernel_rows, save

__all__ = ["COLUMNS", "OURS", "PAPER", "marks", "markdown", "picture", "print_report", "update_markdown"]

OURS = "caesura"
"""Caesura's instruction set."""
PAPER = {"live": 0.378, "flashback": 0.610, "combined": 0.621}
"""Share of the baseline that is not saved, as CTXBack reports for its kernels on an AMD Radeon VII (V-A, Fig. 7). Its
objective is latency.
"""
LEAST = 1.09
"""CTXBack's ratio of flashback to the least size, that of CKPT's point (I, V-A)."""
COLUMNS = ("live", "strict", "relaxed", "reverting", "flashback", "defer", "combined", "checkpoint")
_DRAWN = {"live": "#b9c2d0", "flashback": "#3f74d1", "defer": "#e0912f", "combined": "#15917c", "checkpoint": "#8455c9"}
"""Techniques of the picture, with their colours."""


def marks(isa: str) -> tuple[str, str]:
    """Return the marks in a Markdown file; the text between them is replaced."""
    begin, end = (f"<!-- {word}: caesura bench ctxback --isa {isa} -->" for word in ("begin", "end"))
    return begin, end


def _cells(row: dict) -> list[str]:
    return [row["kernel"], *(f"{row[column]:,.0f}" for column in ("occupied", *COLUMNS)), str(row["copies"]),
            f"{row['live_latency']:,.0f}", f"{row['latency']:,.0f}", f"{1 - row['flashback'] / row['occupied']:.1%}"]


def _table(result: dict, objective: Objective) -> str:
    rows = [_cells(row) for row in result["rows"] if row["objective"] == objective.value]
    for title, key in (("*not saved, mean*", "saved"), ("*by loops*", "saved_in_loops")):
        shares = result[key][objective.value]
        rows.append([title, "", *(f"{shares[column]:.1%}" for column in COLUMNS), *[""] * 4])
    title = f"Mean context of a warp in bytes, by instruction; objective: {objective.value}"
    return markdown_table(title, ("kernel", "occupied", *COLUMNS, "copies", "cycles, live", "cycles",
                                  "not saved"), rows, 1)


def _notes(result: dict) -> list[str]:
    paper = ", ".join(f"{name} {share:.1%}" for name, share in PAPER.items())
    normalised, in_bytes = (", ".join(f"{name} -" if ratio is None else f"{name} {ratio:.3f}"
                                      for name, ratio in result[key].items())
                            for key in ("over_least", "over_least_bytes"))
    return [f"Flashback over the least there is in a block, means of normalised sizes, as CTXBack takes them: by "
            f"{normalised}; CTXBack {LEAST} by latency. Sums of bytes: by {in_bytes}.",
            f"CTXBack reports of its own kernels, on another machine, by latency: {paper} not saved.",
            f"Window {result['window']}; twice of it changes the mean size by {result['doubled']:+.2%}."]


def markdown(result: dict) -> str:
    """Return the tables."""
    machine = "gfx906" if result["preset"] is None else f"Preset `{result['preset']}`"
    return "\n\n".join([f"{machine}.", *(_table(result, objective) for objective in Objective),
                        *_notes(result)])


def print_report(result: dict) -> None:
    """Print the tables."""
    console = report_console(140)
    for line in (markdown(result)).split("\n"):
        console.print(line, highlight=False, markup=False, soft_wrap=True)


def update_markdown(path: Path, result: dict) -> None:
    """Replace the text between the marks of a file; errors as in `sim.report.markdown.split_markdown`."""
    replace_markdown(path, *marks(result["isa"]), lambda: markdown(result))


def picture(result: dict, path: Path) -> None:
    """Draw the saved share of the occupied bytes for each kernel and technique (CTXBack Fig. 7).

    The objective is size on the left, and latency on the right.
    """
    names = list(dict.fromkeys(row["kernel"] for row in result["rows"]))
    figure, panels = kernel_rows(names, 0.42)
    for axes, objective in zip(panels, Objective, strict=True):
        rows = {row["kernel"]: row for row in result["rows"] if row["objective"] == objective.value}
        for number, (column, colour) in enumerate(_DRAWN.items()):
            shares = [100 * rows[name][column] / rows[name]["occupied"] for name in names]
            places = [place + 0.15 * (number - 2) for place in range(len(names))]
            axes.barh(places, shares, 0.14, color=colour, label="CKPT's point" if column == "checkpoint" else column)
        axes.set_xlim(0, 100)
        axes.set_xlabel("context, % of occupied")
        axes.set_title(f"by {objective.value}", fontsize=10)
    panels[0].legend(*panels[0].get_legend_handles_labels(), fontsize=8, loc="lower right")
    save(figure, path)
