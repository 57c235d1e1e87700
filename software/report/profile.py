"""The context of a warp along the code, as one SVG picture."""

from __future__ import annotations

from xml.sax.saxutils import escape

from caesura.software.compiler.explain import KernelFacts

__all__ = ["WIDTH", "HEIGHT", "profile"]

WIDTH, HEIGHT = 1200, 84
_CHART = 66
"""Height of the chart alone; loops are drawn below it."""


def profile(facts: KernelFacts) -> str:
    """Return an ``<svg>`` element of live bytes, with and without divergence, over the address, with points and loops.

    The top of the chart is the occupied bytes. If a kernel has more instructions than pixels, each pixel shows its
    maximum.
    """
    count = len(facts.instructions)
    columns = min(count, WIDTH)
    edges = [k * count // columns for k in range(columns + 1)]
    series = {"diverged": [], "live": []}
    for a, z in zip(edges, edges[1:], strict=False):
        series["diverged"].append(max(row.divergent_bytes for row in facts.instructions[a:z]))
        series["live"].append(max(row.live_bytes for row in facts.instructions[a:z]))
    parts = [f'<svg class="profile" viewBox="0 0 {WIDTH} {HEIGHT}" preserveAspectRatio="none" role="img" '
             f'aria-label="{escape(_summary(facts))}">']
    parts += [f'<path class="{name}" d="{_area(values, facts.occupied_bytes)}"/>' for name, values in series.items()]
    parts.append(f'<path class="occupied" d="M0 .5H{WIDTH}"/>')
    marks = "".join(f"M{_x(point.pc + .5, count)} 0V{_CHART}" for point in facts.points)
    parts.append(f'<path class="points" d="{marks}"/>')
    for loop in facts.loops:
        y = _CHART + 3 + 4 * min(loop.depth, 3)
        strokes = "".join(f"M{_x(a, count)} {y}H{_x(z, count)}" for a, z in loop.spans)
        parts.append(f'<path class="loop" d="{strokes}"/>')
    parts.append(f'<path class="cursor" d="M0 0V{HEIGHT}"/></svg>')
    return "".join(parts)


def _summary(facts: KernelFacts) -> str:
    rows = facts.instructions
    return (f"Live context along {len(rows)} instructions: at most {rows[facts.largest].divergent_bytes} of "
            f"{facts.occupied_bytes} bytes, {len(facts.points)} preemption points, {len(facts.loops)} loops")


def _x(place: float, count: int) -> str:
    return f"{WIDTH * place / count:.1f}".removesuffix(".0")


def _area(values: list[int], top: int) -> str:
    """Return the outline of a step chart, closed at the bottom."""
    path, last = f"M0 {_CHART}", None
    for k, value in enumerate(values):
        if value != last:
            path += f"H{_x(k, len(values))}V{_CHART - _CHART * value / top:.1f}"
            last = value
    return f"{path}H{WIDTH}V{_CHART}Z"
