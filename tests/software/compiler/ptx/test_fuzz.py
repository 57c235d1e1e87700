"""The front end on mutated kernels: each is compiled, or refused with one message that has line and column."""

import signal
from pathlib import Path

import pytest

from caesura.software.compiler import CompileError, KernelImage, compile_ptx
from caesura.software.kernels import KERNELS
from support.ptx.fuzz import mutate

HERE = Path(__file__).parents[1]
INPUTS = 10_000
SHARDS = 20
QUICK = 60
SECONDS = 60
"""A single input may take, on a busy machine."""
LONGEST = 500
"""Most characters of a message."""


def corpus():
    files = [*(kernel.ptx_path for kernel in KERNELS.values()), *sorted((HERE / "data").glob("*.ptx"))]
    return [path.read_text() for path in files]


def outcome(text):
    """Compile; return what came of it, or what is wrong with that."""
    try:
        images = compile_ptx(text, "fuzz.ptx")
    except CompileError as error:
        message = str(error)
        if "\n" in message or not message.isprintable() or len(message) > LONGEST:
            return f"not one printable line of at most {LONGEST} characters: {message!r}"
        if not (error.line and error.column):
            return f"no line and column: {message}"
        return "refused"
    except Exception as error:  # noqa: BLE001
        return f"{type(error).__name__}: {error}"
    return "compiled" if images and all(isinstance(image, KernelImage) for image in images.values()) else "no kernel"


def check(seeds):
    def late(*_):
        raise TimeoutError(f"no end within {SECONDS} s")

    texts = corpus()
    counts = {"compiled": 0, "refused": 0}
    failures = {}
    before = signal.signal(signal.SIGALRM, late)
    try:
        for seed in seeds:
            signal.alarm(SECONDS)
            result = outcome(mutate(texts, seed))
            if result in counts:
                counts[result] += 1
            else:
                failures[seed] = result
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
    assert not failures, failures
    return counts


def test_mutants_are_compiled_or_refused():
    counts = check(range(QUICK))
    assert min(counts.values()) > QUICK // 10, counts


def test_mutations_are_repeatable_and_change_the_text():
    texts = corpus()
    mutants = [mutate(texts, seed) for seed in range(60)]
    assert mutants == [mutate(texts, seed) for seed in range(60)]
    assert sum(mutant not in texts for mutant in mutants) > 54


@pytest.mark.full
@pytest.mark.timeout(3600)
@pytest.mark.depends_on("software/compiler", "software/names.py", "software/kernels", "hw/arch",
                        "tests/support/ptx/fuzz.py")
@pytest.mark.parametrize("shard", range(SHARDS))
def test_many_mutants(shard):
    check(range(shard * INPUTS // SHARDS, (shard + 1) * INPUTS // SHARDS))
