"""Area of an SM on a Lattice ECP5, with and without the preemption unit.

Further tables give the area of each optional mechanism, and the parts of the engine for hasten, abort and kill.

``caesura bench area`` synthesises each part by itself (`caesura.sim.synth`; nothing is placed). It judges the sum of
the parts, which must leave a tenth of the device free. *Without the preemption unit* is the same SM without the engine
and without the logic that serves only the engine.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from amaranth.lib import wiring
from rich.table import Table

from caesura.hw.arch.geometry import Geometry
from caesura.progress import Progress, quiet
from caesura.sim.report.markdown import markdown_table, replace_markdown
from caesura.sim.synth.blocks import INHERENT, SM_PARTS, block, part, priced, unpreempted, without
from caesura.sim.synth.measure import synthesise
from caesura.sim.synth.report import cells
from caesura.sim.synth.targets import COLUMNS, TARGETS
from caesura.software.report.console import report_console

__all__ = ["AIMS", "BEGIN", "END", "SECTIONS", "SPARE", "print_report", "run", "update_markdown"]

BEGIN, END = "<!-- caesura bench area -->", "<!-- end of caesura bench area -->"
"""Marks around the page's tables."""
SPARE = 0.1
"""Share of the device that must stay free."""
AIMS = {"LUT": 15000, "flip-flops": 7000}
"""Most that the preemption engine should take at 8 lanes, without any optional mechanism."""
SECTIONS = ("machine", "mechanisms")
"""Sections of the measurement: the SM, and the optional mechanisms of its preemption engine."""
_TARGET = TARGETS["ecp5"]


def _measure(name: str, made: wiring.Component, progress: Progress) -> dict[str, Any]:
    row = synthesise(made, _TARGET, place=False, progress=progress, name=name)
    return {"block": name} | {column: row[column] for column in COLUMNS}


def _sum(name: str, rows: Sequence[dict]) -> dict[str, Any]:
    return {"block": name} | {column: sum(row[column] for row in rows) for column in COLUMNS}


def _difference(name: str, more: dict, less: dict) -> dict[str, Any]:
    return {"block": name} | {column: more[column] - less[column] for column in COLUMNS}


def _machine(g: Geometry, progress: Progress) -> dict[str, Any]:
    """Return the area of the parts of an SM, with the preemption unit and without it."""
    def rows(make: Callable[[str, Geometry], wiring.Component], note: str) -> list[dict]:
        return [_measure(name, make(name, g), lambda text, detail="": progress(f"{text}{note}", detail))
                for name in SM_PARTS]

    parts, bare = rows(part, ""), rows(unpreempted, " without preemption")
    whole, without = _sum("SM", parts), _sum("SM without preemption", bare)
    room = {column: int(there * (1 - SPARE)) for column, there in _TARGET.available.items()}
    taken = {column: _TARGET.luts(whole) if column == "LUT" else whole[column] for column in room}
    return {"parts": parts, "without": bare, "sum": whole, "sum_without": without,
            "price": _difference("preemption", whole, without), "taken": taken, "room": room,
            "fits": all(taken[column] <= room[column] for column in room)}


def _mechanisms(g: Geometry, progress: Progress) -> dict[str, Any]:
    """Return the area of the engine without optional mechanisms, and the area that each mechanism adds."""
    def engine(name: str, made: wiring.Component) -> dict[str, Any]:
        return _measure(name, made, lambda text, detail="": progress(f"{text}, engine", detail))

    rows = {name: engine(name, block(made, variant)) for name, (made, variant) in priced(g).items()}
    least: dict[str, Any] = rows.pop("none") | {"block": "engine without optional mechanisms"}
    inherent = [_difference(name, least, engine(f"without {name}", without(name, g))) for name in INHERENT]
    return {"least": least, "aims": AIMS, "mechanisms": [_difference(name, row, least) for name, row in rows.items()],
            "inherent": inherent,
            "aims_met": {column: least[column] <= most for column, most in AIMS.items()}}


def run(g: Geometry, sections: Sequence[str] = SECTIONS, progress: Progress = quiet) -> dict:
    """Measure the sections named; keys are documented in `docs/keys.md`.

    Raises
    ------
    SynthesisError
        If Yosys is missing or fails.
    """
    result: dict[str, Any] = {"preset": g.name, "lanes": g.lanes, "device": _TARGET.device,
                              "available": _TARGET.available, "spare": SPARE, "met": True}
    if "machine" in sections:
        result |= {"machine": _machine(g, progress)}
        result["met"] &= result["machine"]["fits"]
    if "mechanisms" in sections:
        result |= {"engine": _mechanisms(g, progress)}
        result["met"] &= all(result["engine"]["aims_met"].values())
    return result


def _tables(result: dict) -> list[tuple[str, list[list[str]]]]:
    """Return title and rows of each table."""
    of = f"preset {result['preset']}, {result['lanes']} lanes"
    has = [f"{result['device']} has", *cells(result["available"])]
    tables = []
    if "machine" in result:
        found = result["machine"]
        other = [row | {"block": f"{row['block']} without preemption"}
                 for row, whole in zip(found["without"], found["parts"], strict=True) if cells(row) != cells(whole)]
        rows = [*found["parts"], found["sum"], *other, found["sum_without"], found["price"]]
        tables.append((f"An SM, {of}", [*([row["block"], *cells(row)] for row in rows), has]))
    if "engine" in result:
        found = result["engine"]
        rows = [[row["block"], *cells(row)] for row in (
            found["least"], *({**row, "block": f"of these for {row['block']}"} for row in found["inherent"]),
            *({**row, "block": f"+ {row['block']}"} for row in found["mechanisms"]))]
        aims = ["at most", *(f"{found['aims'][column]:,}" if column in found["aims"] else "" for column in COLUMNS)]
        tables.append((f"The preemption engine, {of}", [*rows, aims]))
    return tables


def _verdicts(result: dict) -> list[str]:
    """Return a sentence for each aim."""
    def said(what: str, taken: int, most: int) -> str:
        return f"{what} {taken:,}, at most {most:,}: {'met' if taken <= most else 'missed'}"

    sentences = []
    if "machine" in result:
        found = result["machine"]
        sentences += [said(f"{column} of the SM, a tenth of an {result['device']} spared:",
                           found["taken"][column], most)
                      for column, most in found["room"].items()]
    if "engine" in result:
        found = result["engine"]
        sentences += [said(f"{column} of the engine without optional mechanisms:", found["least"][column], most)
                      for column, most in found["aims"].items()]
    return sentences


def print_report(result: dict) -> None:
    """Print the result of `run`, and which aims are met."""
    console = report_console(120)
    for title, rows in _tables(result):
        table = Table("", *COLUMNS, title=title, box=None)
        for row in rows:
            table.add_row(*row)
        console.print(table)
    for sentence in _verdicts(result):
        console.print(sentence, markup=False)


def update_markdown(path, result: dict) -> None:
    """Write the tables into a page, between its marks; errors as in `split_markdown`."""
    replace_markdown(path, BEGIN, END, lambda: "\n\n".join([
        *(markdown_table(title, ["", *COLUMNS], rows, 1) for title, rows in _tables(result)),
        "\n".join(f"* {sentence}" for sentence in _verdicts(result))]))
