"""The reactions of a reader to a damaged input: it accepts it, or refuses it with one readable line."""

from __future__ import annotations

import signal
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

from caesura.errors import UserError

__all__ = ["LONGEST", "outcome", "survey"]

LONGEST = 1000
"""Most characters of a message."""
SECONDS = 60
"""A single input may take, on a busy machine."""


def outcome(read: Callable[[], object]) -> str:
    """Return ``taken``, ``refused``, or what is wrong with how the input was refused."""
    try:
        read()
    except UserError as error:
        message = str(error)
        if message and message.isprintable() and len(message) <= LONGEST:
            return "refused"
        return f"not one printable line of at most {LONGEST} characters: {message[:3 * LONGEST]!r}"
    except MemoryError:
        return "refused"  # the command line says so in one line
    except Exception as error:  # noqa: BLE001 - any other is what is looked for
        return f"{type(error).__name__}: {str(error)[:LONGEST]}"
    return "taken"


@contextmanager
def _alarm() -> Iterator[None]:
    def late(*_):
        raise TimeoutError(f"no end within {SECONDS} s")

    before = signal.signal(signal.SIGALRM, late)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def survey(read: Callable[[int], object], seeds: Iterable[int]) -> Counter[str]:
    """Read an input for each seed; return how many were taken and refused.

    Raises
    ------
    AssertionError
        If one was refused otherwise than with a `UserError` of one printable line, or took too long: with its seed.
    """
    counts: Counter[str] = Counter()
    failures = {}
    with _alarm():
        for seed in seeds:
            signal.alarm(SECONDS)
            result = outcome(lambda seed=seed: read(seed))
            counts[result] += 1
            if result not in ("taken", "refused"):
                failures[seed] = result
    assert not failures, failures
    return counts
