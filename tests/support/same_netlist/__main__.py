"""A command that says whether hardware is the same circuit as at another revision.

``python -m support.same_netlist save FILE`` keeps the circuits of the present tree, ``compare FILE`` tells how those of
the present tree differ from them, and ends with status 1 if they do. Names, hierarchy and signals do not count; the
ports of the whole do, a field of a structure being called as a signal of its own would be.
"""

from __future__ import annotations

import argparse
import gzip
import pickle
import re
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from amaranth.lib import wiring

from caesura.errors import InputError
from caesura.hw.arch.geometry import Geometry, preset
from caesura.hw.device.device import Gpu
from caesura.hw.export import block, blocks
from caesura.hw.sm import Sm

from .circuit import Circuit
from .comparison import compare
from .reading import circuit

WHOLE: dict[str, Callable[[Geometry], wiring.Component]] = {
    "sm": Sm, "device": lambda g: Gpu(two(g))}
"""Built if nothing is named."""
BUSES = {"sm": "axi_sm", "device": "axi_device"}
"""Names of the catalogue that are taken, and those its blocks have here."""


def two(g: Geometry) -> Geometry:
    """Return the geometry of a device of two such SMs, with hardware queues."""
    return g.replace(sms=2, queues=2)


def makers() -> dict[str, Callable[[Geometry], wiring.Component]]:
    """Return what makes each component, by name."""
    found = {BUSES.get(name, name): lambda g, each=each: each.make(g, {}) for name, each in blocks().items()}
    return WHOLE | found | {BUSES["device"]: lambda g: block("device").make(two(g), {})}


def say(text: str) -> None:
    """Print a line at once."""
    print(text, flush=True)


def read(key: str, dead: bool, changes: Sequence[tuple[str, str]] = ()) -> Circuit:
    """Return the circuit called ``preset/name``, with changes made to the names of its ports."""
    name, _, component = key.partition("/")
    begun = time.perf_counter()

    def called(port: str) -> str:
        for pattern, text in changes:
            port = re.sub(pattern, text, port)
        return port

    found = circuit(makers()[component](preset(name)), dead, called)
    say(f"{key}: {len(found.states)} bits of state, {len(found.seeds)} gates, {found.dropped} flip-flops dropped that "
        f"nothing depends on ({time.perf_counter() - begun:.1f} s)")
    return found


def save(path: Path, keys: list[str], dead: bool) -> int:
    """Keep circuits in a file."""
    found = {}
    for key in keys:
        try:
            found[key] = read(key, dead)
        except InputError as error:
            say(f"{key}: left out ({error})")
    with gzip.open(path, "wb", compresslevel=1) as file:
        pickle.dump((dead, found), file)
    say(f"{len(found)} circuits in {path}")
    return 0


def check(path: Path, keys: list[str], changes: Sequence[tuple[str, str]]) -> int:
    """Compare circuits with those in a file; return 1 if one differs, 0 otherwise."""
    with gzip.open(path) as file:
        dead, kept = pickle.load(file)
    for key in keys:
        if key not in kept:
            say(f"{key}: left out, as it is not in {path}")
    keys = [key for key in keys if key in kept]
    different = []
    for key in keys:
        now, begun = read(key, dead, changes), time.perf_counter()
        found = compare(kept[key], now)
        say(f"{key}: {'the same' if found.same else 'DIFFERENT'} after {found.rounds} rounds, {found.colours} colours "
            f"({time.perf_counter() - begun:.1f} s)")
        for title, lines in (("only before", found.before), ("only now", found.after)):
            for line in lines:
                say(f"  {title}: {line}")
        different += [] if found.same else [key]
    say(f"{len(keys)} circuits, {len(different)} different{': ' if different else ''}{', '.join(different)}")
    return int(bool(different))


def arguments(words: list[str]) -> argparse.Namespace:
    """Return what a command line says."""
    parser = argparse.ArgumentParser(prog="python -m support.same_netlist", description=__doc__)
    parser.add_argument("action", choices=("save", "compare"))
    parser.add_argument("file", type=Path)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of components; {' and '.join(WHOLE)} if none")
    parser.add_argument("--preset", action="append", help="of the geometry, tiny if none is given; may be repeated")
    parser.add_argument("--all", action="store_true", help="every block that can be exported, too")
    parser.add_argument("--dead", action="store_true", help="count flip-flops that nothing depends on (save)")
    parser.add_argument("--rename", action="append", default=[], metavar="PATTERN=TEXT",
                        help="a regular expression in the names of ports of the present tree, and its text before")
    return parser.parse_intermixed_args(words)


def main(words: list[str]) -> int:
    """Do what a command line says; return the exit status."""
    given = arguments(words)
    known = makers()
    wrong = [name for name in given.names if name not in known]
    if wrong:
        raise SystemExit(f"there is no {', '.join(wrong)}; there are {', '.join(known)}")
    names = given.names or [*(known if given.all else WHOLE)]
    keys = [f"{each}/{name}" for each in given.preset or ["tiny"] for name in names]
    if given.action == "save":
        return save(given.file, keys, given.dead)
    return check(given.file, keys, [(pattern, text) for pattern, _, text in
                                    (change.partition("=") for change in given.rename)])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
