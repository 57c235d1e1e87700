"""The scripts behind `make`: what the host lacks is said in one line, setting up shows errors and no noise."""

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import caesura

ROOT = Path(__file__).resolve().parents[1]
TOOLS = ROOT / "tools"


def run(script, *arguments, path=None):
    """Run a script of `tools`; return exit code and lines of standard error."""
    done = subprocess.run([shutil.which("sh"), TOOLS / script, *map(str, arguments)], capture_output=True, text=True,
                          env=os.environ | ({"PATH": str(path)} if path is not None else {}), timeout=30)
    return done.returncode, done.stderr.splitlines()


def executable(path, text):
    """Write a shell script."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!{shutil.which('sh')}\n{text}\n")
    path.chmod(0o755)
    return path


def test_a_host_with_everything_is_fine():
    assert run("check_host.sh", sys.executable) == (0, [])


def test_all_that_is_missing_is_named_in_one_line_with_the_command(tmp_path):
    code, lines = run("check_host.sh", "python3", path=tmp_path)
    assert code == 1
    assert lines == ["missing: python3(>=3.11) g++; install with: sudo apt-get install python3 g++"]


def test_a_python_without_venv_is_told_from_one_that_is_too_old(tmp_path):
    python = executable(tmp_path / "python", 'case "$2" in *version*) exit 0;; *) exit 1;; esac')
    code, lines = run("check_host.sh", python)
    assert code == 1 and lines == ["missing: python3-venv; install with: sudo apt-get install python3-venv"]


@pytest.fixture
def venv(tmp_path):
    """A virtual environment whose pip warns, and fails if it is to install `broken`."""
    pip = 'case "$*" in *broken*) echo "ERROR: no such package"; exit 3;; esac'
    folder = tmp_path / "a venv"
    told = f'echo "$@" "$PIP_CONSTRAINT $PIP_BUILD_CONSTRAINT" > "{tmp_path}/told"'
    executable(folder / "bin" / "pip", f'echo "WARNING: the weather"\n{pip}\n{told}')
    return folder


def test_setting_up_says_how_long_it_took_and_nothing_of_pip(venv):
    code, lines = run("setup.sh", sys.executable, venv, "--editable", ".[dev]")
    assert code == 0 and lines[-1].startswith(f"setting up {venv}: ") and lines[-1].endswith(" s")
    assert not [line for line in lines if "weather" in line]
    assert (venv.parent / "told").read_text().split()[-4:] == ["--editable", ".[dev]"] + 2 * ["requirements.lock"]


def test_what_pip_cannot_do_is_shown(venv):
    code, lines = run("setup.sh", sys.executable, venv, "broken")
    assert code == 1 and "ERROR: no such package" in lines and f"setting up {venv} failed:" in lines


def test_the_version_is_one():
    project = re.search(r'^version = "(.*)"$', (ROOT / "pyproject.toml").read_text(), re.MULTILINE)
    citation = re.search(r"^version: (.*)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE)
    assert project and citation and caesura.__version__ == project[1] == citation[1]


@pytest.mark.parametrize("message, refused", [
    ("a" * 72, ""), ("a" * 73, "the subject has 73 characters, and may have 72"),
    ("", "the commit message has no subject"),
    ("subject\n\nbody", ""), ("subject\nbody", "put an empty line behind the subject"), ("subject\n# comment", "")])
def test_subjects_of_commits_are_short(message, refused):
    spec = importlib.util.spec_from_file_location("commit_subject", TOOLS / "commit_subject.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert module.refusal(message) == refused


def test_a_hook_runs_make_style_and_looks_at_the_subject(tmp_path):
    hooks = (ROOT / ".pre-commit-config.yaml").read_text()
    assert "entry: make style\n" in hooks and "repo: local" in hooks and hooks.count("repo:") == 1
    (entry,) = re.findall(r"entry: python3 (.*)", hooks)
    (tmp_path / "message").write_text("a" * 80)
    assert subprocess.run([sys.executable, ROOT / entry, tmp_path / "message"], capture_output=True,
                          timeout=30).returncode == 1
    (tmp_path / "message").write_text("a" * 20)
    assert subprocess.run([sys.executable, ROOT / entry, tmp_path / "message"], timeout=30).returncode == 0
