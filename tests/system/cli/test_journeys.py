"""The pages of journeys, of the Python API and of resets, as they stand: files are written, commands and Python run."""

import re
import shlex
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from caesura.cli import main

ROOT = Path(__file__).resolve().parents[3]
PAGE = (ROOT / "docs" / "journeys.md").read_text()
JOURNEYS = {title: text for title, text in re.findall(r"^## (.*?)\n(.*?)(?=^## |\Z)", PAGE, re.DOTALL | re.MULTILINE)}
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```", re.DOTALL | re.MULTILINE)


@pytest.fixture
def examples(tmp_path, monkeypatch):
    shutil.copytree(ROOT / "examples", tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("title", JOURNEYS)
def test_journey_arrives(title, examples, capsys):
    blocks = BLOCK.findall(JOURNEYS[title])
    assert blocks and {kind for kind, _ in blocks} <= {"", "python", "toml"}
    for kind, text in blocks:
        if kind == "toml":
            (examples / re.match(r"# (\S+\.toml)\n", text)[1]).write_text(text)
        elif kind == "python":
            exec(compile(text, f"journey {title!r}", "exec"), {"__name__": "journey"})
        for line in text.splitlines() if not kind else []:
            program, *arguments = shlex.split(line)
            assert program == "caesura"
            done = CliRunner().invoke(main, arguments)
            assert done.exit_code == 0, f"{line}: {done.output}{done.exception!r}"
    assert capsys.readouterr().out


def run_page(name):
    """Run the Python of a page, which has nothing else in such blocks."""
    names, blocks = {"__name__": "page"}, BLOCK.findall((ROOT / "docs" / name).read_text())
    assert blocks
    for kind, text in blocks:
        assert kind == "python"
        exec(compile(text, name, "exec"), names)


def test_python_page_runs(capsys):
    run_page("python.md")
    assert "Device(golden, gtx480" in capsys.readouterr().out


@pytest.mark.full
def test_page_of_resets_runs():
    run_page("reset.md")


def test_page_has_the_journeys_and_their_commands():
    assert [*JOURNEYS] == ["Your own kernel", "Your own geometry", "A scheduler in 40 lines", "Reading a context"]
    scheduler = next(text for kind, text in BLOCK.findall(JOURNEYS["A scheduler in 40 lines"]) if kind == "python")
    assert len([line for line in scheduler.splitlines() if line.strip()]) <= 40
    assert PAGE.count("\ncaesura ") == 6


def test_own_kernel_writes_what_it_says(examples):
    for line in re.findall(r"^caesura .*window_sum.*$", PAGE, re.MULTILINE):
        assert CliRunner().invoke(main, shlex.split(line)[1:]).exit_code == 0
    assert (examples / "results" / "out.npy").exists() and (examples / "window_sum.html").stat().st_size > 10_000
