"""The report of ``caesura bench contexts``: tables for a terminal and for Markdown, and a picture."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from caesura.sim.register_classes import CLASSES
from caesura.software.kernels import KERNELS

from .cells import percent
from .markdown import markdown_table, replace_markdown
from .pictures import check_picture, kernel_rows, save
from .tables import print_tables

__all__ = ["BEGIN", "END", "tables", "print_report", "markdown", "update_markdown", "picture"]

BEGIN = "<!-- begin: caesura bench contexts -->"
END = "<!-- end: caesura bench contexts -->"
"""Marks in a Markdown file; the text between them is replaced."""
_NONE = "-"
_GROUPS = ("all measured", "mean"), ("kernels of Lin et al. Table II", "mean_of_table_ii")

Rows = list[list[str]]


def _shares(shares: dict | None) -> list[str]:
    return [percent(shares[name]) if shares and name in shares else _NONE for name in CLASSES]


def _sizes(size: dict) -> list[str]:
    """Return the cells of occupied, live, compressed and followed bytes, and of the savings of the three steps."""
    steps = "live", "compressed", "followed"
    return [*(f"{size[key]:,.0f}" if key in size else _NONE for key in ("occupied", *steps)),
            *(percent(1 - size[key] / size["occupied"]) if key in size else _NONE for key in steps)]


def _kernel_rows(result: dict) -> Iterator[list[str]]:
    paper = result["paper"]
    for row in result["runs"]:
        shipped = KERNELS.get(row["kernel"])
        label = shipped.paper.label if shipped and shipped.paper else _NONE
        if "error" in row:
            yield [row["kernel"], label, *[_NONE] * 11, *_shares(None)]
            continue
        if row["bytes"] is None:
            yield [row["kernel"], label, "0", *[_NONE] * 10, *_shares(None)]
            continue
        error = row["standard_error"]
        yield [row["kernel"], label, f"{row['warps']:,}", *_sizes(row["bytes"]),
               _NONE if error is None else f"{100 * error:.1f}", f"{row['bytes']['metadata']:,.0f}",
               f"{row['bytes']['followed_metadata']:,.0f}", *_shares(row["classes"])]
        if row["kernel"] == paper["kernel"]:
            yield ["Lin et al.", label, _NONE, *_sizes(paper), *[_NONE] * 3, *_shares(paper)]


def _mean_rows(result: dict) -> Iterator[list[str]]:
    for title, key in _GROUPS:
        mean = result[key]
        if mean:
            keys = ("saved_by_liveness", "saved_by_both", "saved_with_metadata", "saved_by_tb",
                    "saved_by_tb_with_metadata")
            yield [title, str(mean["kernels"]), *(percent(mean[key]) for key in keys),
                   *(percent(mean[f"{key}_geometric"]) for key in keys),
                   *(percent(mean[f"saved_by_{key}_as_vectors"]) for key in ("liveness", "both")),
                   *_shares(mean)]
    paper = result["paper"]
    yield ["Lin et al.", "23", percent(paper["saved_by_liveness"]), percent(paper["saved_by_both"]), *[_NONE] * 10,
           *_shares(None)]


def _encoding_rows(result: dict) -> Iterator[list[str]]:
    for row in result["runs"]:
        if row.get("bytes"):
            yield [row["kernel"], *(percent(1 - size / row["bytes"]["occupied"]) for size in row["encodings"].values())]
    for title, key in _GROUPS:
        mean = result[key]
        if mean:
            yield [title, *map(percent, mean["saved_by_encodings"].values())]


def tables(result: dict) -> list[tuple[str, list[str], Rows]]:
    """Return the tables of a result of `sim.bench.contexts.run`: title, columns and rows."""
    return [
        ("Register context of a warp in bytes, mean of all warps stopped; live registers by encoding",
         ["kernel", "paper", "warps", "occupied", "live", "live+cp", "live+tb", "saved by liveness", "by live+cp",
          "by live+tb", "+- (standard error)", "metadata", "of live+tb", *CLASSES], list(_kernel_rows(result))),
        ("Register context saved, mean over kernels; live registers by encoding",
         ["kernels", "number", "by liveness", "by live+cp", "with metadata", "by live+tb", "with metadata",
          "geometric: by liveness", "by live+cp", "with metadata", "by live+tb", "with metadata",
          "uniform registers counted: by liveness", "by live+cp", *CLASSES],
         list(_mean_rows(result))),
        ("Register context saved, without metadata: encodings of live registers, step by step up to those of live+tb",
         ["kernel", "as Lin et al.", "exited lanes do not count", "width of groups a register", "upper bits once",
          "follows the warp before"], list(_encoding_rows(result))),
    ]


def _heading(result: dict) -> str:
    return (f"preset {result['preset']}, jobs of size {result['size']}, {result['samples']} random times each, drawn "
            f"with seed {result['seed']}")


def _failures(result: dict) -> list[str]:
    """Return a line for each kernel without figures."""
    return [f"{row['kernel']}: {row['error']}" if "error" in row else
            f"{row['kernel']}: ends before a preemption point wherever it is stopped"
            for row in result["runs"] if "error" in row or row["bytes"] is None]


def print_report(result: dict) -> None:
    """Print all tables."""
    console = print_tables(_heading(result), tables(result), 160)
    for line in _failures(result):
        console.print(line)
    console.print("\nevery kernel measured" if result["met"] else "\nNOT every kernel could be measured")


def markdown(result: dict) -> str:
    """Return all tables as Markdown."""
    heading = _heading(result)
    parts = [f"{heading[0].upper()}{heading[1:]}."]
    parts += [markdown_table(title, columns, rows, left=1) for title, columns, rows in tables(result)]
    parts += [f"- {line}" for line in _failures(result)]
    return "\n\n".join(parts) + "\n"


def update_markdown(path: Path, result: dict) -> None:
    """Replace the text between the marks of a file; errors as in `sim.report.markdown.split_markdown`."""
    replace_markdown(path, BEGIN, END, lambda: markdown(result))


def picture(result: dict, path: Path) -> None:
    """Draw the remaining share of the context and the live registers by encoding, as in Figs. 6 and 8 of Lin et al.

    Errors are those of `pictures.check_picture`.
    """
    check_picture(path)
    rows = [row for row in result["runs"] if row.get("bytes")]
    names = [*(row["kernel"] for row in rows), "mean"]
    places = range(len(names))
    figure, (sizes, classes) = kernel_rows(names, 0.28)
    paper, mean = result["paper"], result["mean"] or {}
    for shift, what, label, saved, color in ((-0.26, "live", "live", "saved_by_liveness", "C0"),
                                             (0.0, "compressed", "live+cp", "saved_by_both", "C1"),
                                             (0.26, "followed", "live+tb", "saved_by_tb", "C3")):
        left = [row["bytes"][what] / row["bytes"]["occupied"] for row in rows] + [1 - mean.get(saved, 1.0)]
        sizes.barh([y + shift for y in places], left, 0.25, label=label, color=color)
        if saved in paper:
            sizes.axvline(1 - paper[saved], color=color, linestyle=":",
                          label=f"mean of Lin et al.: {1 - paper[saved]:.1%}")
    start = [0.0] * len(names)
    for name, color in zip(CLASSES, ("C2", "C4", "C8", "C7"), strict=True):
        shares = [(row["classes"] or {}).get(name, 0.0) for row in rows] + [mean.get(name, 0.0)]
        classes.barh(places, shares, 0.7, left=start, label=name, color=color)
        start = [low + share for low, share in zip(start, shares, strict=True)]
    sizes.set(title="Register context left", xlim=(0, 1), xlabel=f"share of what is occupied ({result['preset']})")
    classes.set(title="Live registers by encoding", xlim=(0, 1), xlabel="share of live registers")
    of_sizes, of_classes = (axes.get_legend_handles_labels() for axes in (sizes, classes))
    figure.legend(of_sizes[0] + of_classes[0], of_sizes[1] + of_classes[1], loc="outside upper center",
                  ncols=4, fontsize=9)
    save(figure, path)
