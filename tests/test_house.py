"""`make house` finds what it counts, and nothing else."""

import importlib.util

import pytest

from support.checkout import ROOT

BAD = '''"""Of that which is wrong, all is here."""


class Block:
    """What is wired."""

    def __init__(self, g: int):
        """Parameters

        g : int
            Of the block.
        """
        self.kept = g

    def elaborate(self, platform):
        self.late = self.kept = 1
        self.kept.eq(1)
        connect(1, 2)


def wide(a: int, b: int, c: int, d: int, e: int, f: int, g: int) -> None:
    """One two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen
    eighteen nineteen twenty one two three four five six seven eight nine ten eleven."""
    # A mask has two parts: a bit a lane: the lower ones.
'''
REPEATED = "\n".join(f"    line_{k} = {k}" for k in range(6))


@pytest.fixture
def house(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    spec = importlib.util.spec_from_file_location("house", ROOT / "tools" / "house.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "ROOT", tmp_path)
    for part in (*module.PARTS, "tests", "docs"):
        (tmp_path / part).mkdir()
    (tmp_path / "README.md").write_text("Short.\n")
    return module


def test_each_measure_finds_what_it_counts_and_nothing_else(house, tmp_path):
    assert {name: measure() for name, measure in house.MEASURES.items()} == {name: [] for name in house.MEASURES}
    for cached in (house.files, house.tree):
        cached.cache_clear()
    (tmp_path / "hw" / "bad.py").write_text(BAD)
    (tmp_path / "sim" / "long.py").write_text("def long():\n" + "".join(f"    x = {n}\n" for n in range(460)))
    for name in ("one", "two"):
        (tmp_path / "software" / f"{name}.py").write_text(f"def {name}():\n{REPEATED}\n")
    for number in range(21):
        (tmp_path / "tests" / f"test_{number}.py").touch()
    found = {name: len(measure()) for name, measure in house.MEASURES.items()}
    assert found == {
        "files over 450 lines": 1, "rooms over 20 files": 1, "functions over 80 lines": 1,
        "functions of hw with over 6 parameters": 1, "functions of software with over 6 parameters": 0,
        "functions of sim with over 6 parameters": 0, "parameters of hw without a type": 1,
        "attributes of hw set outside __init__": 1, "calls of .eq in hw": 1, "calls of connect in hw": 1,
        "lines in repeated runs of 6": 12, "prose: sentence over 30 words": 1, "prose: 'Of ...,' before the subject": 1,
        "prose: 'What' or 'Who' as subject": 1, "prose: note without a verb": 1, "prose: 'a ... a ...' for 'per'": 1,
        "prose: two colons in a sentence": 1}
