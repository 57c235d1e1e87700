"""The page of the kernels of a file: one HTML document without external resources."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterable, Sequence

import jinja2
from markupsafe import Markup

from caesura.software.compiler.codegen.syntax import show_registers
from caesura.software.compiler.explain import InstructionFacts, KernelFacts

from . import sentences
from .cuda import CudaSources
from .gutter import gutters, width
from .profile import profile

__all__ = ["CHUNK", "coloured", "page_environment", "render_page"]

CHUNK = 128
"""Number of instructions per group; the browser skips the layout of groups that are out of sight."""
_TOKENS = re.compile(  # label, register or predicate, number: the elements that mark them
    r"(?P<u>\bL\d+\b)|(?P<i>\b[RUP](?:\d+|T)\b|\b[vs](?:\d+\b|\[\d+:\d+\]))|(?P<em>(?<![\w.])-?(?:0x[0-9a-f]+|\d+)\b)")


def render_page(kernels: Sequence[KernelFacts], title: str, source: Sequence[str] = (),
                cuda: CudaSources | None = None) -> str:
    """Return the page.

    Parameters
    ----------
    kernels : sequence of KernelFacts
    title : str
        Name of the kernels' file.
    source : sequence of str
        Lines of the PTX; empty if it is not available.
    cuda : CudaSources, optional
        Sources from which the PTX was compiled.
    """
    return page_environment().get_template("page.html").render(
        title=title, say=sentences,
        kernels=[{"facts": facts, "id": f"k{k}", "profile": Markup(profile(facts)),
                  "chunks": _chunks(facts, source, cuda), "nested": width(facts),
                  "data": Markup(_data(facts, cuda))} for k, facts in enumerate(kernels)])


def page_environment() -> jinja2.Environment:
    """Return the environment of the templates."""
    environment = jinja2.Environment(loader=jinja2.PackageLoader("caesura.software.report"), autoescape=True,
                                     trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined)
    environment.filters["registers"] = show_registers
    environment.filters["thousands"] = lambda number: f"{number:,}"
    return environment


def _chunks(facts: KernelFacts, source: Sequence[str], cuda: CudaSources | None) -> Iterable[list[dict]]:
    brackets = gutters(facts)
    headers = {loop.header: loop for loop in reversed(facts.loops)}
    cuts = {region.pc: region for region in facts.regions}
    rows, line, origin = [], 0, None
    for row in facts.instructions:
        new = row.line != line and row.line
        line = row.line or line
        moved = row.origin if row.origin != origin else None
        origin = row.origin
        rows.append({
            "row": row, "code": coloured(row.text), "brackets": brackets[row.pc], "loop": headers.get(row.pc),
            "point": None if row.point is None else facts.points[row.point], "cut": cuts.get(row.pc),
            "bar": _bar(facts, row), "line": row.line if new else 0,
            "ptx": " ".join(source[row.line - 1].split()) if new and row.line <= len(source) else "",
            "origin": moved, "cuda": cuda.text(moved) if cuda and moved else ""})
        if len(rows) == CHUNK:
            yield rows
            rows = []
    if rows:
        yield rows


def _bar(facts: KernelFacts, row: InstructionFacts) -> str:
    """Return the lengths of a row's bar in per cent of the occupied bytes, as CSS variables."""
    parts = {"l": row.live_bytes, "d": row.divergent_bytes, "c": row.compressed_bytes}
    return ";".join(f"--{name}:{100 * size / facts.occupied_bytes:.3g}%" for name, size in parts.items())


def coloured(text: str) -> Markup:
    """Return an instruction with markup of its mnemonic, registers, numbers and labels."""
    text = html.escape(text, quote=False)
    guard, _, rest = text.partition(" ") if text.startswith("@") else ("", "", text)
    name, _, operands = rest.partition(" ")
    operands = _TOKENS.sub(lambda match: f"<{match.lastgroup}>{match[0]}</{match.lastgroup}>", operands)
    return Markup(f"<i>{guard}</i> " * bool(guard) + f"<b>{name}</b> {operands}")


class _Table:
    """Table of values that rows share; each value is stored once."""

    def __init__(self):
        self.places: dict = {}

    def __call__(self, value) -> int:
        return self.places.setdefault(value, len(self.places))

    @property
    def values(self) -> list:
        """The stored values, in order."""
        return list(self.places)


def _data(facts: KernelFacts, cuda: CudaSources | None) -> str:
    """Return the data of each instruction for the page's script, as JSON that is safe in a ``<script>``.

    Register sets are hexadecimal bit masks. Patterns are changes from the instruction before, as pairs of a register
    and an index of `shapes`, where 0 means not known. Sets of regions, places to stop and lines of CUDA are shared.
    """
    shapes, regions, ahead, origins = _Table(), _Table(), _Table(), _Table()
    shapes("")
    rows, last = [], {}
    for row in facts.instructions:
        known = dict(row.shapes)
        changes = [x for r in sorted(known.keys() | last.keys()) if known.get(r, "") != last.get(r, "")
                   for x in (r, shapes(known.get(r, "")))]
        last = known
        rows.append([_mask(row.live), _mask(row.waiting), _mask(row.predicates), _mask(row.uniforms),
                     row.compressed_bytes, changes, regions(row.regions), ahead(sentences.drain(facts, row)),
                     -1 if row.target is None else row.target, -1 if row.point is None else row.point,
                     -1 if row.origin is None else origins(row.origin)])
    record = {
        "registers": facts.image.registers, "size": facts.register_bytes, "occupied": facts.occupied_bytes,
        "rows": rows, "shapes": shapes.values, "regions": [list(value) for value in regions.values],
        "drains": ahead.values,
        "origins": [[str(origin), cuda.text(origin) if cuda else ""] for origin in origins.values],
        "why": [sentences.why(point) for point in facts.points],
        "points": [point.pc for point in facts.points], "loops": [loop.header for loop in facts.loops],
        "restarts": [[region.pc, sentences.restart(region)] for region in facts.regions]}
    return json.dumps(record, separators=(",", ":")).replace("<", "\\u003c")


def _mask(numbers: Iterable[int]) -> str:
    return f"{sum(1 << number for number in numbers):x}"
