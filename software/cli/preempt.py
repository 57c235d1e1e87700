"""``caesura preempt``: a shipped kernel is interrupted, another runs, the first returns."""

from __future__ import annotations

import importlib
import json
import sys
from contextlib import ExitStack
from pathlib import Path

import click

from caesura.hw.arch.context import Mechanism
from caesura.hw.arch.geometry import preset
from caesura.software.kernels import SIZES

from .common import EXIT_WRONG, backend_option, json_option, preset_option, progress_lines

__all__ = ["preempt_command"]

PREEMPT_MEMORY = 64 << 20
"""Device memory; the contexts of two kernels that fill the largest SM fit."""

_output = click.Path(dir_okay=False, writable=True, path_type=Path)


def _opener(backend, g, vcd, progress):
    """Return a function that opens a device, with waveforms if they are to be written."""
    if vcd is None:
        sim = importlib.import_module("caesura.sim")
        return lambda: sim.open_device(backend, g, PREEMPT_MEMORY)
    if backend != "rtl":
        raise ValueError(f"no waveforms of the back end {backend!r}: --vcd needs --backend rtl")
    waveform = importlib.import_module("caesura.sim.report.waveform")
    return lambda: waveform.WaveformDevice(g, vcd, PREEMPT_MEMORY, progress)


@click.command("preempt")
@click.argument("name", metavar="KERNEL")
@click.option("--with", "other", default="hostile", show_default=True,
              help="The kernel that takes the SM meanwhile; `hostile` overwrites all registers and shared memory.")
@click.option("--at", type=click.IntRange(0), help="Cycle of the request  [default: the middle of the run]")
@click.option("--mechanism", default="live", show_default=True,
              type=click.Choice([m.label for m in Mechanism]))
@click.option("--size", default="small", show_default=True, type=click.Choice(SIZES))
@click.option("--seed", default=1, show_default=True, type=click.IntRange(0))
@click.option("--scramble", is_flag=True, help="Registers that are not saved come back as random bits.")
@click.option("--gang", is_flag=True, help="TBs start together when all are back, rather than each when it is.")
@click.option("--max-cycles", default=5_000_000, show_default=True, type=click.IntRange(1))
@click.option("--timeline", type=_output, help="Write the run as a timeline for ui.perfetto.dev.")
@click.option("--vcd", type=_output,
              help="Write waveforms of the preemption engine, from the request to the end of the resume.")
@preset_option
@backend_option
@json_option
def preempt_command(name, other, at, mechanism, size, seed, scramble, gang, max_cycles, timeline, vcd, preset_name,
                    backend, as_json):
    """Run KERNEL, take the SM away from it, run another kernel, bring it back, and check every result."""
    scenario = importlib.import_module("caesura.sim.scenario")
    report = importlib.import_module("caesura.sim.report.preemption")
    if at is not None and at > max_cycles:
        raise click.BadParameter(f"{at} is beyond --max-cycles, which is {max_cycles}", param_hint="'--at'")
    g = preset(preset_name)
    work = scenario.shipped_work(name, g, size, seed)
    neighbour = scenario.shipped_work(other, g, size, seed + 1)
    with progress_lines() as progress, ExitStack() as stack:
        open_device = _opener(backend, g, vcd, progress)
        progress(f"building the {backend} back end for {g.name}")
        device = open_device()
        if at is None:
            progress(f"{name}: running undisturbed")
            launch, _ = scenario.start_job(device, device.load([work.image])[work.image.name], work.job)
            at = device.wait(launch, max_cycles) // 2
            device = open_device()
        if vcd is not None:
            stack.callback(device.finish)
        if timeline is not None:
            recording = importlib.import_module("caesura.sim.report.timeline").recording
            stack.enter_context(recording(device, timeline))
        result = scenario.run_preemption(device, work, neighbour, at, Mechanism.of(mechanism),
                                         scramble=scramble, gang=gang, max_cycles=max_cycles, progress=progress)
    if as_json:
        head = {"kernel": name, "with": other, "preset": g.name, "mechanism": mechanism, "backend": backend}
        click.echo(json.dumps(head | scenario.as_json(result), indent=2))
    else:
        report.print_preemption(g, name, other, mechanism, result)
    sys.exit(0 if result.correct else EXIT_WRONG)
