"""The example of docs/cocotb.md runs as it stands there, and notices a fault."""

import re
import subprocess
import sys

import pytest

from caesura.sim.cocotb.__main__ import main
from caesura.sim.cocotb.run import run_bench
from support.checkout import ROOT


@pytest.fixture
def example(tmp_path, monkeypatch):
    """Write the example into a file; return it."""
    blocks = re.findall(r"^```python\n(.*?)^```", (ROOT / "docs" / "cocotb.md").read_text(), re.MULTILINE | re.DOTALL)
    text = next(block for block in blocks if "def block()" in block)
    assert len(text.splitlines()) <= 20
    (tmp_path / "packer_bench.py").write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield tmp_path / "packer_bench.py"
    sys.modules.pop("packer_bench", None)


def test_the_example_runs(example):
    done = subprocess.run([sys.executable, "-m", "caesura.sim.cocotb", example.name], cwd=example.parent,
                          capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "passed: words_stay_in_order\n"), done.stdout + done.stderr
    assert [path.name for path in example.parent.iterdir() if path.name != "__pycache__"] == [example.name]


@pytest.mark.full
def test_a_wrong_word_is_told(example):
    """The bench says which group differs; the command line ends with one message."""
    text = example.read_text().replace("bench.beat, lambda beat: scoreboard.receive(beat.words)",
                                       "bench.beat, lambda beat: scoreboard.receive(beat.words[::-1])")
    example.write_text(text)
    done = subprocess.run([sys.executable, "-m", "caesura.sim.cocotb", example.name], cwd=example.parent,
                          capture_output=True, text=True)
    assert done.returncode == 1 and "groups of four words: item 0 is" in done.stderr


@pytest.mark.full
def test_the_example_notices_a_fault(example):
    """A packer that puts each chunk a word too far."""
    outcome = run_bench("packer_bench", change=lambda text: text.replace(" + ", " - ", 1))
    assert outcome.failed == ("words_stay_in_order",) or not outcome.passed


def test_no_file_is_one_line(tmp_path):
    done = subprocess.run([sys.executable, "-m", "caesura.sim.cocotb", "none.py"], cwd=tmp_path, capture_output=True,
                          text=True)
    assert done.returncode == 2 and done.stderr.splitlines()[-1].endswith("there is no file none.py")


@pytest.mark.parametrize("name, text, arguments, message", [
    ("queue", "", (), "needs another name: Python has a module of this name"),
    ("my.bench", "", (), "needs another name: letters, digits and _"),
    ("mine", "def block(:\n", (), "mine.py:1: invalid syntax"),
    ("mine", "import nosuch\n", (), "No module named 'nosuch'"),
    ("mine", "", (), "has no function `block`"),
    ("mine", "def block(words=4):\n    return None\n", ("foo=3",), "block(words=4): got an unexpected keyword"),
    ("mine", "", ("--waves", "nosuch/x.vcd"), "--waves: there is no folder"),
    ("mine", "", ("foo",), "is not of the form name=value")])
def test_a_mistake_is_one_line(name, text, arguments, message, tmp_path, monkeypatch, capsys):
    (tmp_path / f"{name}.py").write_text(text)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.delitem(sys.modules, "mine", raising=False)
    try:
        code = main([f"{name}.py", *arguments])
    except SystemExit as ended:
        code = ended.code
    told = capsys.readouterr().err
    assert code in (1, 2) and message in told.splitlines()[-1], told
    assert "Traceback" not in told and "pip install" not in told
