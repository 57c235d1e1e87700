"""The parts that commands share: exit codes, options, progress, and parsing."""

from __future__ import annotations

import math
from typing import Any

import click

from caesura.hw.arch.waiting import UNLIMITED, WANTED, waiting_cycles
from caesura.progress import display as progress_lines
from caesura.software.names import alternatives

from .errors import EXIT_FAULT, EXIT_INPUT, EXIT_WRONG, Group
from .outputs import JSON_FLAG, JsonTarget, check_outputs, json_option

__all__ = ["EXIT_WRONG", "EXIT_INPUT", "EXIT_FAULT", "Choice", "Command", "CommandGroup", "Group",
           "JsonTarget", "Range", "examples", "progress_lines", "check_option", "json_option", "patience_option",
           "grace_option", "eviction_option"]


check_option = click.option(
    "--check/--no-check", "check", default=True, show_default=True,
    help="Refuse code whose liveness vectors, branches or stack depth are wrong.")


def examples(*lines: str) -> str:
    """Return the end of a command's help: lines that can be typed as they stand."""
    return "\b\n" + "\n".join([f"Example{'s' * (len(lines) > 1)}:", *(f"  {line}" for line in lines)])


class Choice(click.Choice):
    """One of several names; of a wrong one, the one that was probably meant is told."""

    def get_invalid_choice_message(self, value: Any, ctx: click.Context | None) -> str:
        """Return the message."""
        return f"there is no {str(value)[:60]!r}; {alternatives(str(value), [str(c) for c in self.choices])}"


_MOST_DIGITS = 20
"""Limit for the digits of a number that may be a number of cycles."""


class Range(click.FloatRange):
    """A number in a range, in which there is no NaN."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the number."""
        number = super().convert(value, param, ctx)
        if math.isnan(number):
            self.fail(f"{str(value)[:60]!r}: a number is wanted", param, ctx)
        return number


class Waiting(click.ParamType):
    """A number of cycles, or ``unlimited``."""

    name = f"cycles|{UNLIMITED}"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int | str:
        """Return what `Device.preempt` takes."""
        text = str(value)
        given = int(text) if text.isdecimal() and len(text) <= _MOST_DIGITS else value
        if waiting_cycles(given) is None:
            self.fail(f"{str(value)[:60]!r}: {WANTED}", param, ctx)
        return given


patience_option = click.option(
    "--patience", type=Waiting(),
    help="Cycles of drain after which warps stop where they are, rather than at a preemption point  [default: 0 with "
         "mechanisms that compress; else it follows what the kernel holds of the SM]")
grace_option = click.option(
    "--grace", type=Waiting(),
    help="Cycles that thread blocks are given to run to their end before the rest is stopped and saved  [default: 0]")


eviction_option = click.option(
    "--eviction-check", is_flag=True,
    help="Thread blocks leave when they begin if their work has been reset (docs/reset.md).")


class Command(click.Command):
    """A command whose ``--json`` may stand alone before the argument, too: ``caesura disasm --json a.elf``."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse; where an argument is missing because ``--json`` took it as its file, give it back."""
        rest = self._parsed(ctx, args)
        if not ctx.resilient_parsing:
            check_outputs(ctx)
        return rest

    def _parsed(self, ctx: click.Context, args: list[str]) -> list[str]:
        given = list(args)
        try:
            return super().parse_args(ctx, args)
        except click.UsageError:
            if JSON_FLAG not in given or given[-1] == JSON_FLAG or not self._has_argument():
                raise
            ctx.params.clear()
            again = [f"{JSON_FLAG}=-" if word == JSON_FLAG else word for word in given]
            try:
                return super().parse_args(ctx, again)
            except click.UsageError:
                pass
            raise

    def _has_argument(self) -> bool:
        return any(isinstance(param, click.Argument) for param in self.params)


class CommandGroup(Group):
    """A group within the group, of such commands."""

    command_class = Command
