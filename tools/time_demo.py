"""How long `make demo` takes from a clean clone: ``tools/time_demo.py [--keep FOLDER]`` (``make time-demo``).

The checkout's last commit is cloned into a temporary folder, and the demo runs there three times: cold, cold but for
ready-made SystemVerilog (`make verilog`, as a release has it), and warm. Printed are elapsed time, processor time and
what lies in `build/` afterwards. The machine should have nothing else to do.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def timed(name: str, *command: str, folder: Path) -> str:
    """Run a command in a folder; return a line with its elapsed and processor time."""
    environment = {key: value for key, value in os.environ.items() if key not in ("CAESURA_CACHE", "PYTHONPATH")}
    before, started = os.times(), time.monotonic()
    subprocess.run(command, cwd=folder, env=environment, stdout=subprocess.DEVNULL, check=True)
    seconds, after = time.monotonic() - started, os.times()
    processor = after.children_user + after.children_system - before.children_user - before.children_system
    return (f"{name:44} {seconds:7.1f} s  {processor:7.1f} s of CPU   venv {size(folder / 'build/venv'):6.0f} MB  "
            f"cache {size(folder / 'build/cache'):5.1f} MB")


def size(folder: Path) -> float:
    """Return the size of a folder in MB."""
    return sum(file.lstat().st_size for file in folder.rglob("*") if file.is_file()) / 1e6


def measure(folder: Path) -> None:
    """Clone and run; print a line for each run."""
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(folder)], check=True)
    lines = [timed("make setup", "make", "--silent", "setup", folder=folder),
             timed("make demo, after setup", "make", "--silent", "demo", folder=folder),
             timed("make demo again", "make", "--silent", "demo", folder=folder)]
    subprocess.run(["make", "--silent", "verilog"], cwd=folder, check=True, stdout=subprocess.DEVNULL)
    shutil.rmtree(folder / "build" / "cache")
    lines.append(timed("make demo, after setup, Verilog ready-made", "make", "--silent", "demo", folder=folder))
    print("\n".join(lines))


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--keep", type=Path, help="clone into this folder, and leave it there")
    options = parser.parse_args()
    if options.keep:
        if options.keep.exists():
            sys.exit(f"{options.keep} is there already")
        measure(options.keep)
    else:
        with tempfile.TemporaryDirectory(prefix="caesura demo ") as folder:
            measure(Path(folder) / "clone")


if __name__ == "__main__":
    main()
