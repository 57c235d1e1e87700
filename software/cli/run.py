"""``caesura run``: a kernel of the user's own, as a job file says."""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path

import click
import numpy as np

from caesura.hw.arch.geometry import PRESETS, preset
from caesura.software.compiler import CompileOptions, compile_ptx, read_source
from caesura.software.job import JobError, load_job

from .common import BACKENDS, EXIT_WRONG, json_option, progress_lines

__all__ = ["run_command"]

_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


def _write(directory: Path, arrays: dict, names: list[str]) -> list[str]:
    directory.mkdir(parents=True, exist_ok=True)
    paths = [directory / f"{name}.npy" for name in names]
    for name, path in zip(names, paths, strict=True):
        np.save(path, arrays[name])
    return [str(path) for path in paths]


@click.command("run")
@click.argument("source", metavar="FILE.ptx", type=_FILE)
@click.option("--job", "job_path", required=True, type=_FILE, help="Job file (TOML; docs/jobs.md).")
@click.option("--output", type=click.Path(file_okay=False, path_type=Path),
              help="Directory for the arrays the job file marks with `output`.")
@click.option("--preset", "preset_name", type=click.Choice(list(PRESETS)),
              help="Geometry of the SM  [default: the job file's, else gtx480]")
@click.option("--backend", type=click.Choice(BACKENDS), help="Where it runs  [default: the job file's, else rtl]")
@click.option("--max-cycles", type=click.IntRange(1, 2**31 - 1),
              help="Limit for the whole job  [default: the job file's]")
@json_option
def run_command(source, job_path, output, preset_name, backend, max_cycles, as_json):
    """Run a kernel of your own: arguments, expected results and preemptions are in a job file."""
    job = load_job(job_path)
    g, backend = preset(preset_name or job.preset), backend or job.backend
    options = CompileOptions(max_registers=g.regs_per_thread)
    images = compile_ptx(read_source(source), str(source), options)
    image = job.choose(images)
    marked = [name for name, argument in job.bind(image).items() if argument.output]
    if output and not marked:
        raise JobError(f"{job_path}: --output is given, but no argument has 'output = true'")
    sim, report = importlib.import_module("caesura.sim.job"), importlib.import_module("caesura.sim.report.job")
    with progress_lines() as progress:
        result = sim.run_job(job, images, g, backend, max_cycles, progress)
    written = _write(output, result.arrays, marked) if output else []
    if as_json:
        head = {"kernel": image.name, "source": str(source), "job": str(job_path), "preset": g.name,
                "backend": backend}
        click.echo(json.dumps(head | sim.result_json(result) | {"written": written}, indent=2))
    else:
        report.print_job(g, image.name, backend, result)
        for path in written:
            click.echo(f"written: {path}")
    sys.exit(0 if result.correct else EXIT_WRONG)
