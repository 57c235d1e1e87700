"""Waveforms of the preemption engine, from the request of a preempt to the end of the resume (VCD, for GTKWave).

The engine's ports, and so its whole handshake with the SM and the bus, are its signals in scope
``TOP.top.control.engine``; scope ``TOP`` has the ports of the SM. Beside each state register ``fsm_state`` stands a
signal ``state`` with the name of the state, as text. A cycle is 1 ns.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from amaranth.hdl import Fragment
from amaranth.lib import wiring

from caesura.hw.arch.geometry import Geometry
from caesura.hw.preempt.engine import PreemptEngine
from caesura.progress import Progress, report
from caesura.sim import MEMORY_BYTES
from caesura.sim.rtl.transport import RtlTransport
from caesura.software.driver import Device

__all__ = ["ENGINE", "WaveformDevice", "state_names", "annotate"]

ENGINE = "control.engine"
"""The preemption engine, below the top."""
PICOSECONDS = 500
"""Half a cycle: a unit of time in what Verilator writes."""
_SCOPE = re.compile(r"\s*\$scope module (\S+) \$end")
_VARIABLE = re.compile(r"\s*\$var \S+ \d+ (\S+) (\S+)")
_TRACE_PORTS = re.compile(r"trace_(write|predicate|retire|init)_")
"""Ports of the SM for other tools: wide, busy, and not the preemption engine's."""

States = dict[tuple[str, ...], dict[int, str]]


def state_names(component: wiring.Component) -> States:
    """Return the names of the states of every state machine in a component, by the path of its block."""
    found: States = {}

    def walk(fragment, path: tuple[str, ...]) -> None:
        for machine in fragment.generated.values():
            found[path] = {number: name for number, name in machine.decoding.items()}
        for block, name, *_ in fragment.subfragments:
            walk(block, (*path, name))

    walk(Fragment.get(component, None), ())
    return found


class _Header:
    """Reads the header of a VCD, says what stays, and adds signals for named states."""

    def __init__(self, states: States):
        self._states, self._scopes = states, []
        self.named: dict[str, dict[int, str]] = {}  # by code of the state register
        self._kept: set[str] = set()
        self._dropped: set[str] = set()

    @property
    def dropped(self) -> set[str]:
        """Codes of signals that no remaining variable has."""
        return self._dropped - self._kept

    def lines(self, line: str) -> Iterator[str]:
        """Yield what a line of the header becomes."""
        if scope := _SCOPE.match(line):
            plain = re.sub(r"\$\d+$", "", scope[1])  # a block called as a signal beside it has a number
            self._scopes.append(plain)
            line = line.replace(scope[1], plain)
        elif line.split()[:1] == ["$upscope"]:
            self._scopes.pop()
        elif variable := _VARIABLE.match(line):
            code, name = variable.groups()
            if name.startswith("$") or self._scopes == ["TOP"] and _TRACE_PORTS.match(name):
                self._dropped.add(code)
                return
            self._kept.add(code)
            path = tuple(self._scopes[2 + ENGINE.count(".") + 1:])
            if name == "fsm_state" and path in self._states:
                self.named[code] = self._states[path]
                yield f"$var string 1 {text_code(code)} state $end\n"
        yield line


def text_code(code: str) -> str:
    """Return the code of a state's name; longer than any code that Verilator gives."""
    return "~~~~" + code


def annotate(lines: Iterable[str], states: States) -> Iterator[str]:
    """Yield a VCD with the states' names beside them, without nameless signals, in picoseconds."""
    header, body = _Header(states), False
    for line in lines:
        if not body:
            body = line.startswith("$enddefinitions")
            yield from header.lines(line)
            dropped = header.dropped if body else set()
        elif line.startswith("#"):
            yield f"#{PICOSECONDS * int(line[1:])}\n"
        else:
            value, code = line.split() if line.startswith("b") else (line[:1], line[1:].rstrip())
            if code in dropped:
                continue
            yield line
            if code in header.named:
                number = int(value.removeprefix("b"), 2)
                yield f"s{header.named[code].get(number, number)} {text_code(code)}\n"


class WaveformDevice(Device):
    """A device that writes waveforms of its preemption engine from the first preempt to the end of the next resume.

    Parameters
    ----------
    g : Geometry
    path : path
        The VCD.
    memory_bytes : int
    progress : callable
        Told about each step of a build; waveforms need one of their own.
    """

    def __init__(self, g: Geometry, path: str | Path, memory_bytes: int = MEMORY_BYTES,
                 progress: Progress = report):
        self._path = Path(path)
        self._path.write_text("")  # complains before the run, not after it
        self._raw = self._path.with_name(self._path.name + ".raw")
        self._begun = self._ended = False
        self._machine = RtlTransport(g, memory_bytes, waves=ENGINE, progress=progress)
        super().__init__(self._machine)

    def _recorded(self, action: Callable):
        if not self._begun:
            self._machine.open_vcd(self._raw)
            self._begun = True
        return action()

    def preempt(self, launch, *arguments, **options):
        """As `Device.preempt`; the first one begins the waveforms."""
        return self._recorded(lambda: super(WaveformDevice, self).preempt(launch, *arguments, **options))

    def resume(self, launch, **options):
        """Resume a launch as `Device.resume` does, and complete the file."""
        try:
            return super().resume(launch, **options)
        finally:
            self.finish()

    def finish(self) -> None:
        """Complete the file, if that has not been done."""
        if not self._begun or self._ended:
            return
        self._ended = True
        self._machine.close_vcd()
        with open(self._raw) as raw, open(self._path, "w") as target:
            target.writelines(annotate(raw, state_names(PreemptEngine(self.geometry))))
        self._raw.unlink()
