"""Facts about a kernel as coloured text; plain where the output is not a terminal."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from caesura.software.compiler.codegen.syntax import show_registers
from caesura.software.compiler.explain import InstructionFacts, KernelFacts

from . import sentences
from .cuda import CudaSources
from .gutter import gutters

__all__ = ["print_kernel"]

_BAR = 24
"""Characters of a full bar, which stands for the occupied bytes."""
_TEXT = 44
"""Width of an instruction in columns."""
_ROOM = 130
"""Least columns of a terminal for a full listing. Narrower ones get a third of the bar and half of the text."""
_INDENT = 12
"""Indent of registers that do not fit a row."""


def print_kernel(console: Console, facts: KernelFacts, cuda: CudaSources | None = None) -> None:
    """Print everything about a kernel: summary, listing, preemption points, idempotent regions.

    Lines of CUDA stand in front of the instructions compiled from them, with their text if `cuda` has it. Sentences are
    wrapped at the width of a terminal, and registers that do not fit a row stand below it.
    """
    narrow = console.is_terminal and console.width < _ROOM
    bar, most = (_BAR // 3, _TEXT // 2) if narrow else (_BAR, None)
    for line in _summary(facts):
        _print_sentence(console, line)
    for row, registers in _listing(facts, bar, most, cuda):
        if console.is_terminal and len(row) + len(registers) > console.width:
            console.print(row, highlight=False, no_wrap=True)
            _print_sentence(console, Text(" " * _INDENT) + registers)
        else:
            console.print(row + registers, highlight=False, soft_wrap=True)
    for line in (*_points(facts), *_regions(facts)):
        _print_sentence(console, line)


def _print_sentence(console: Console, line: Text) -> None:
    if not console.is_terminal:
        console.print(line, highlight=False, soft_wrap=True)
        return
    indent = " " * (len(line.plain) - len(line.plain.lstrip()))
    body = line[len(indent):]
    for part in body.wrap(console, max(20, console.width - len(indent))):
        part.rstrip()
        console.print(Text(indent) + part, highlight=False, no_wrap=True)


def _summary(facts: KernelFacts) -> list[Text]:
    image, rows = facts.image, facts.instructions
    interval = "no bound on the way to one" if facts.longest_interval is None else \
        f"at most {facts.longest_interval} instructions apart"
    where = " (in loops)" if facts.loops else ""
    return [
        Text.assemble(("kernel ", "dim"), (image.name, "bold"), f"  {image.source}"),
        Text(f"  occupied        {facts.occupied_bytes:,} B a warp: {image.registers} registers of "
             f"{facts.register_bytes} B; metadata at most {facts.metadata_bytes} B"),
        Text(f"  smallest        {rows[facts.smallest].divergent_bytes:,} B at {facts.smallest}{where}; largest "
             f"{rows[facts.largest].divergent_bytes:,} B at {facts.largest}"),
        Text(f"  points          {len(facts.points)}, {interval}"),
        Text(f"  memory          {image.shared_bytes} B shared a TB, {image.local_bytes} B local a thread"
             f"{f' ({image.spill_bytes} B for spilled registers)' if image.spill_bytes else ''}, "
             f"{len(image.constants)} B of constants"),
        Text(f"  idempotent      {sentences.verdict(facts)}"),
        Text(f"  {sentences.assumption(facts)}", "dim"),
        Text("")]


def _listing(facts: KernelFacts, bar: int, most: int | None, cuda: CudaSources | None) -> list[tuple[Text, Text]]:
    """Return rows with some characters of the instruction, and the registers behind each row."""
    origin = None
    brackets = gutters(facts)
    width = min(most or _TEXT, max(len(row.text) for row in facts.instructions))
    cuts = {region.pc for region in facts.regions}
    lines = [(Text(f"{'at':>5}   {'':{len(brackets[0])}} {'instruction':<{width}} {'context of a warp'[:bar]:<{bar}} "
                   f"{'live':>6} {'more':>5} {'cp':>6}  line  ", "dim"), Text("registers", "dim"))]
    for row, loops in zip(facts.instructions, brackets, strict=True):
        mark = " " if row.point is None else "◆" if facts.points[row.point].kind == "pp" else "▮"
        more = f"+{row.divergent_bytes - row.live_bytes}" if row.waiting else ""
        style = "bold" if row.point is not None else ""
        if row.origin and row.origin != origin:
            text = cuda.text(row.origin) if cuda else ""
            lines.append((Text.assemble("      ", (str(row.origin), "dim"), "  ", (text, "italic")), Text("")))
        origin = row.origin
        lines.append((Text.assemble(
            (f"{row.pc:5d}", "red" if row.label else "dim"), ("⟲" if row.pc in cuts else " ", "green"), (mark, "red"),
            " ", (loops, "magenta"), " ", (_cut(row.text, most).ljust(width), style), " ", *_bar(facts, row, bar), " ",
            f"{row.live_bytes:6d} ", (f"{more:>5}", "yellow"), (f" {row.compressed_bytes:6d}", "cyan"),
            (f" {row.line or '':>5}  ", "dim")), _registers(row)))
    return [*lines, (Text(""), Text(""))]


def _cut(text: str, most: int | None) -> str:
    return text if most is None or len(text) <= most else text[:most - 1] + "…"


def _bar(facts: KernelFacts, row: InstructionFacts, most: int) -> list[tuple[str, str]]:
    live, both = (round(most * size / facts.occupied_bytes) for size in (row.live_bytes, row.divergent_bytes))
    return [("█" * live, "blue"), ("▒" * (both - live), "yellow"), ("·" * (most - both), "dim")]


def _registers(row: InstructionFacts) -> Text:
    """Return the live registers by pattern: not known, uniform, strided; then the registers of waiting lanes."""
    known = dict(row.shapes)
    strided = [r for r in row.live if known.get(r, "").startswith("stride")]
    uniform = [r for r in row.live if r in known and r not in strided]
    other = [r for r in row.live if r not in known]
    parts = [(other, "", "blue"), (uniform, "uniform ", "green"), (strided, "strided ", "magenta"),
             (row.waiting, "+ ", "yellow")]
    return Text(" ").join(Text(name + show_registers(found), style) for found, name, style in parts if found)


def _points(facts: KernelFacts) -> list[Text]:
    if not facts.points:
        return []
    lines = [Text("preemption points", "bold")]
    for point in facts.points:
        more = f" ({point.divergent_bytes} B diverged)" if point.divergent_bytes > point.live_bytes else ""
        lines.append(Text.assemble((f"{point.pc:5d} ", "red"), f"{point.kind:<7} {point.live_bytes:5d} B{more}  ",
                                   (sentences.why(point), "dim")))
    return [*lines, Text("")]


def _regions(facts: KernelFacts) -> list[Text]:
    lines = [Text("idempotent regions", "bold")]
    lines += [Text.assemble((f"{region.pc:5d} ", "green"), (sentences.restart(region), "dim"))
              for region in facts.regions]
    return [*lines, Text("")]
