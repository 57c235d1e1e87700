"""Runs a bench: ``python -m caesura.sim.cocotb my_bench.py``."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from caesura.hw.arch.errors import UserError


def _parameter(text: str) -> tuple[str, Any]:
    """Return a parameter's name and value, a number if it is one."""
    name, found, value = text.partition("=")
    if not found or not name.isidentifier():
        raise argparse.ArgumentTypeError(f"{text!r} is not of the form name=value")
    return name, int(value) if value.lstrip("-").isdigit() else value


def main(arguments: list[str] | None = None) -> int:
    """Run the bench that the command line names; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m caesura.sim.cocotb", description=__doc__)
    parser.add_argument("bench", type=Path, help="a Python file with `block` and tests (docs/cocotb.md)")
    parser.add_argument("parameters", nargs="*", type=_parameter, metavar="name=value", help="what `block` is given")
    parser.add_argument("--seed", type=int, default=1, help="of everything random (default: 1)")
    parser.add_argument("--waves", type=Path, metavar="FILE", help="where a waveform is written, as VCD")
    options = parser.parse_args(arguments)
    if not options.bench.is_file():
        parser.error(f"there is no file {options.bench}")
    sys.path[:] = [str(options.bench.parent.absolute()), *(str(Path(each).absolute()) for each in sys.path)]
    try:
        from .run import check_bench

        outcome = check_bench(options.bench.stem, dict(options.parameters), seed=options.seed, waves=options.waves)
    except ImportError as error:
        print(f"{error}; benches need `pip install 'caesura[cocotb]'`", file=sys.stderr)
        return 1
    except UserError as error:
        print(error, file=sys.stderr)
        return 1
    print("\n".join(f"passed: {name}" for name in outcome.passed))
    return 0


if __name__ == "__main__":
    sys.exit(main())
