"""The table of commands and states: what the page says is what hardware and golden model do."""

import re

from caesura.hw.arch.commands import REFUSED, Command, KernelState
from caesura.hw.arch.faults import CommandError
from support.checkout import ROOT


def rows():
    """Return the cells of the page's table by state."""
    text = (ROOT / "docs/preemption.md").read_text()
    section = text.partition("## Commands and states")[2].partition("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("|")]
    head, _, *body = ([cell.strip() for cell in line.strip("|").split("|")] for line in lines)
    assert head == ["state", *(f"`{op.name.lower()}`" for op in Command)]
    return {state: cells for state, *cells in body}


def test_the_page_says_what_is_refused():
    table = rows()
    assert list(table) == [state.name.lower() for state in KernelState]
    for state, cells in table.items():
        for op, cell in zip(Command, cells, strict=True):
            error = REFUSED[op].get(KernelState[state.upper()])
            refusal = re.fullmatch(r"`([A-Z_]+)`", cell)
            assert (refusal and CommandError[refusal.group(1)]) == error, (state, op)


def test_every_state_can_be_left_by_some_command_or_by_itself():
    leading = Command.START, Command.PREEMPT, Command.RESUME, Command.KILL  # to another state at once
    by_itself = {KernelState.RUNNING, KernelState.PREEMPTING, KernelState.RESUMING, KernelState.KILLING}
    for state in KernelState:
        assert state in by_itself or any(state not in REFUSED[op] for op in leading)
