"""Runs a bench: ``python -m caesura.sim.cocotb my_bench.py``."""

from __future__ import annotations

import argparse
import importlib
import inspect
import sys
from pathlib import Path
from typing import Any

from caesura.errors import UserError


def _parameter(text: str) -> tuple[str, Any]:
    """Return a parameter's name and value; numeric values become numbers."""
    name, found, value = text.partition("=")
    if not found or not name.isidentifier():
        raise argparse.ArgumentTypeError(f"{text!r} is not of the form name=value")
    return name, int(value) if value.lstrip("-").isdigit() else value


def _judge(file: Path, given: dict[str, Any]) -> None:
    """Import a bench.

    Raises
    ------
    UserError
        If the bench cannot be compiled, has no block, or its block takes other parameters.
    """
    try:
        bench = importlib.import_module(file.stem)
    except SyntaxError as error:
        raise UserError(f"{error.filename}:{error.lineno}: {error.msg}") from None
    make = getattr(bench, "source", None) or getattr(bench, "block", None)
    if make is None:
        raise UserError(f"{file} has no function `block` that returns what is to be simulated (docs/cocotb.md)")
    try:
        inspect.signature(make).bind(*["top"] * hasattr(bench, "source"), **given)
    except TypeError as error:
        raise UserError(f"{file}: {make.__name__}{inspect.signature(make)}: {error}") from None


def main(arguments: list[str] | None = None) -> int:
    """Run the bench that the command line names; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m caesura.sim.cocotb", description=__doc__)
    parser.add_argument("bench", type=Path, help="a Python file with `block` and tests (docs/cocotb.md)")
    parser.add_argument("parameters", nargs="*", type=_parameter, default=[], metavar="name=value",
                        help="an argument of `block`")
    parser.add_argument("--seed", type=int, default=1, help="seed of all random choices (default: 1)")
    parser.add_argument("--waves", type=Path, metavar="FILE", help="file for the waveform, as VCD")
    options = parser.parse_args(arguments)
    name = options.bench.stem
    if not options.bench.is_file():
        parser.error(f"there is no file {options.bench}")
    if not name.isidentifier() or name in sys.stdlib_module_names - {"test"}:
        reason = "Python has a module of this name" if name.isidentifier() else "letters, digits and _"
        parser.error(f"{options.bench.name}: a bench is imported, so it needs another name: {reason}")
    if options.waves is not None and not options.waves.absolute().parent.is_dir():
        parser.error(f"--waves: there is no folder {options.waves.absolute().parent}; create it first")
    sys.path[:] = [str(options.bench.parent.absolute()), *(str(Path(each).absolute()) for each in sys.path)]
    try:
        from .run import check_bench

        _judge(options.bench, dict(options.parameters))
        outcome = check_bench(name, dict(options.parameters), seed=options.seed, waves=options.waves)
    except ImportError as error:
        ours = (error.name or "").startswith("cocotb")
        print(f"{error}; benches need `pip install 'caesura[cocotb]'`" if ours else error, file=sys.stderr)
        return 1
    except UserError as error:
        print(error, file=sys.stderr)
        return 1
    print("\n".join(f"passed: {name}" for name in outcome.passed))
    return 0


if __name__ == "__main__":
    sys.exit(main())
