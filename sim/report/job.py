"""The report of a run, for a terminal."""

from __future__ import annotations

from rich.markup import escape
from rich.table import Table

from caesura.hw.arch.geometry import Geometry
from caesura.software.driver import Switches
from caesura.software.job import Verdict
from caesura.software.report.console import report_console

from ..job import JobResult, Preempted
from ..scenario import Limit
from .preemption import patience_note, print_phases

__all__ = ["print_job"]


def _against(cycles: int, limit: Limit | None) -> str:
    return f"{cycles:,}" + (f" / {limit.limit:,.0f}" + ("" if limit.met else " MISSED") if limit else "")


def _preemption_rows(table: Table, preemptions: list[Preempted], depth: int = 0) -> None:
    for p in preemptions:
        saved, resumed = p.result.preempt, p.result.resume
        assert saved is not None and resumed is not None
        table.add_row(
            "  " * depth + f"{p.result.at:,}", p.spec.way.mechanism.label, escape(p.spec.other), f"{saved.tbs}",
            f"{saved.occupied_bytes:,}", f"{saved.saved_bytes:,}",
            f"{saved.grace_cycles:,}", f"{saved.drain_cycles:,}",
            _against(saved.save_cycles - saved.drain_cycles, p.result.save_limit), f"{p.result.other_cycles:,}",
            _against(resumed.restore_cycles, p.result.restore_limit), f"{p.result.rest_cycles:,}",
            {True: "right", False: "[bold red]WRONG[/]", None: "not compared"}[p.correct])
        _preemption_rows(table, p.nested, depth + 1)


def _in_place(preemptions: list[Preempted]) -> list[str]:
    lines = []
    for p in preemptions:
        if p.spec.way.in_place:
            result = p.result
            registers, shared = (sum(getattr(tb, name) for tb in result.saved_tbs)
                                 for name in ("registers_stay", "lines_stay"))
            lines.append(f"in place at cycle {result.at:,}: registers of {registers} TBs and shared memory of {shared} "
                         f"stayed on the SM; {result.evicted_tbs} TBs evicted later, {result.evicted_bytes:,} bytes")
        lines += _in_place(p.nested)
    return lines


def _impatient(preemptions: list[Preempted]) -> list[str]:
    """Return a line for each preemption whose patience was used up."""
    lines = []
    for p in preemptions:
        if p.result.preempt and p.result.preempt.patience_over:
            lines.append(f"at cycle {p.result.at:,}: {patience_note(p.result.preempt)}")
        lines += _impatient(p.nested)
    return lines


def _switches(switches: Switches) -> str:
    told = {"at_points": "saved at points and barriers", "at_once": "saved with warps stopped at once",
            "drained": "drained", "finished": "finished meanwhile", "checkpointed": "checkpoints",
            "resumed": "resumed"}
    counts = [f"{getattr(switches, name)} {what}" for name, what in told.items() if getattr(switches, name)]
    return f"the machine counted: {', '.join(counts)}"


def _missed(preemptions: list[Preempted], missed: list[int], name: str) -> list[str]:
    lines = [f"{name} finished before anything could be saved at cycle {at:,}: not preempted there" for at in missed]
    for p in preemptions:
        lines += _missed(p.nested, p.missed, f"{escape(p.spec.other)}, which ran at cycle {p.result.at:,},")
    return lines


def _verdict(v: Verdict) -> str:
    if v.undisturbed:
        if v.wrong == 0:
            return f"as after the undisturbed run, to the bit ({v.elements:,} elements)"
        index = ", ".join(map(str, v.first_wrong or ()))
        return (f"[bold red]{v.wrong:,} of {v.elements:,} elements differ from the undisturbed run[/]; first at "
                f"\\[{index}]: {v.got}, undisturbed {v.expected}")
    if v.judged:
        wrong = f"[bold red]{v.wrong:,} of {v.elements:,} elements wrong[/]"
        return f"{wrong if v.wrong else f'as expected ({v.elements:,} elements)'}, in whatever order atomics took place"
    how = "to the bit" if v.atol is None and v.rtol is None else f"within atol {v.atol or 0:g}, rtol {v.rtol or 0:g}"
    error = "a NaN or an infinity" if v.max_error is None else f"{v.max_error:g}"
    if v.wrong == 0:
        return f"as expected, {how} ({v.elements:,} elements; largest error {error})"
    index = ", ".join(map(str, v.first_wrong or ()))
    return (f"[bold red]{v.wrong:,} of {v.elements:,} elements wrong[/] ({how}); first at \\[{index}]: {v.got}, "
            f"expected {v.expected}; largest error {error}")


def print_job(g: Geometry, name: str, backend: str, result: JobResult) -> None:
    """Print cycles, preemptions with their limits (a single one in detail), and the verdict of each array."""
    console = report_console(140)
    time = f" ({result.cycles / g.clock_mhz:.2f} us)" if g.clock_mhz and backend != "golden" else ""
    console.print(f"[bold]{name}[/] on {escape(g.name)} ({backend}): {result.cycles:,} cycles{time}, "
                  f"{result.run_cycles:,} of them its own; {result.instructions:,} warp instructions, "
                  f"{result.tbs:,} TBs")
    if len(result.preemptions) == 1 and not result.preemptions[0].nested:
        (only,) = result.preemptions
        console.print(f"preempted by [bold]{escape(only.spec.other)}[/], mechanism "
                      f"[bold]{only.spec.way.mechanism.label}[/]\n")
        print_phases(console, g, only.result, only.bases)
        if not only.result.differences:
            console.print(f"  {escape(only.spec.other)}: not compared, since nothing is expected of its arrays",
                          soft_wrap=True)
        for array, count in only.result.differences.items():
            verdict = f"[bold red]{count:,} elements wrong[/]" if count else "as expected"
            console.print(f"  {escape(array)}: {verdict}", soft_wrap=True)
    elif result.preemptions:
        table = Table("preempted at", "mechanism", "meanwhile", "TBs", "occupied B", "written B", "grace", "drain",
                      "save / limit", "other", "restore / limit", "ran on", "other's result", box=None)
        _preemption_rows(table, result.preemptions)
        console.print()
        console.print(table)
        for line in _impatient(result.preemptions):
            console.print(line, soft_wrap=True)
    if result.switches is not None and result.preemptions:
        console.print(_switches(result.switches), soft_wrap=True)
    for line in _in_place(result.preemptions):
        console.print(line)
    for line in _missed(result.preemptions, result.missed, name):
        console.print(line)
    console.print()
    for v in result.verdicts:
        console.print(f"  {escape(v.name)}: {_verdict(v)}", soft_wrap=True)
    if result.uncompared:
        names = escape(", ".join(result.uncompared))
        console.print(f"  written and not compared, since nothing is expected of them: {names}", soft_wrap=True)
    if result.correct is False:
        console.print("[bold red]WRONG[/]: see above")
    elif result.correct is None:
        console.print("[bold yellow]nothing was compared[/]: say in the job file what arrays should hold (expected), "
                      "or take `caesura preempt` without --at, which compares with an undisturbed run", soft_wrap=True)
    else:
        console.print("[bold green]correct[/]")
