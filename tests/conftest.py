"""Long tests go on where they stopped: one marked ``full`` is not run again on the same sources once it has passed.

Its sources are what a ``depends_on`` mark names; without one, all parts of the package but `support.sources.unused`.
All parts need `src`, so it counts always, but for `unused`.
"""

import functools
import hashlib
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.checkout import PACKED, ROOT
from support.sources import SHARED, support, unused

os.environ.setdefault("HYPOTHESIS_STORAGE_DIRECTORY", str(ROOT / "build" / "hypothesis"))
PASSED = Path(os.environ.get("CAESURA_CACHE", ROOT / "build" / "cache")) / "passed"


@functools.cache
def _digest(path: Path, without: frozenset[Path] = frozenset()) -> bytes:
    """Hash of the files at a path and below it, but for other tests and some folders."""
    if not path.exists():
        raise FileNotFoundError(f"{path}, named by a `depends_on` mark")
    digest = hashlib.sha256()
    for file in sorted(path.rglob("*")) if path.is_dir() else (path,):
        if (file.is_file() and file.suffix != ".pyc" and not (path.is_dir() and file.name.startswith("test_"))
                and without.isdisjoint(file.parents)):
            digest.update(f"{file.relative_to(ROOT)}\0".encode() + file.read_bytes())
    return digest.digest()


def _record(item: pytest.Item) -> Path | None:
    """Where a long test leaves its mark: named by the test and by what it depends on, its support included."""
    if item.get_closest_marker("full") is None:
        return None
    sources = item.get_closest_marker("depends_on")
    digest = hashlib.sha256(item.nodeid.encode())
    for name in sources.args if sources else PACKED:
        digest.update(_digest(ROOT / name, frozenset() if sources else unused(item.path)))
    digest.update(_digest(SHARED, unused(item.path)))
    for path in (*sorted(support(item.path)), item.path, *([] if sources else [item.path.parent])):
        digest.update(_digest(path))
    return PASSED / digest.hexdigest()[:32]


def pytest_runtest_setup(item: pytest.Item):
    """Leave out what has passed."""
    record = _record(item)
    if record is not None and record.exists():
        pytest.skip(f"passed before on the same sources; to run it again, remove {record}")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo) -> Iterator[Any]:
    """Remember what passes."""
    report = yield
    record = _record(item) if report.when == "call" and report.passed else None
    if record is not None:
        record.parent.mkdir(parents=True, exist_ok=True)
        record.touch()
    return report


@pytest.fixture(autouse=True)
def no_terminal(monkeypatch: pytest.MonkeyPatch):
    """Reports are as wide as they like: what runs the tests may have set the width of a terminal that nobody sees."""
    monkeypatch.delenv("COLUMNS", raising=False)


@pytest.fixture
def interruptible() -> Iterator[None]:
    """An interrupt arrives, here and in what is started, also where the tests run in the background of a script."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
