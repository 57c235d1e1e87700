"""What is handed out runs by itself: wheel and source archive, installed where nothing else is."""

import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKED = {".py", ".rdl", ".lark", ".ptx", ".cu", ".cpp", ".h", ".html", ".css", ".js", ".toml"}
"""Suffixes of the files of the package."""
EXAMPLE = "window_sum.ptx", "window_sum.toml"


def run(*command, cwd, **environment):
    """Run a command without the checkout's environment; return what it printed."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "CAESURA", "VIRTUAL"))}
    done = subprocess.run([str(part) for part in command], cwd=cwd, env=kept | environment, capture_output=True,
                          text=True, timeout=600)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return done.stdout


@pytest.fixture(scope="module")
def archives(tmp_path_factory):
    """Source archive and, made of it, the wheel."""
    folder = tmp_path_factory.mktemp("packaging") / "a checkout"
    ignored = shutil.ignore_patterns("__pycache__", "*.egg-info")
    for name in ("hw", "sim", "software", "src"):
        shutil.copytree(ROOT / name, folder / name, symlinks=True, ignore=ignored)
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, folder)
    run(sys.executable, "-m", "build", ".", cwd=folder)
    (source,), (wheel,) = (folder / "dist").glob("*.tar.gz"), (folder / "dist").glob("*.whl")
    return source, wheel


def package_files():
    """Every file of the package, by its path in it."""
    for name in ("hw", "sim", "software"):
        for path in (ROOT / name).rglob("*"):
            if path.suffix in PACKED and path.is_file():
                yield f"caesura/{path.relative_to(ROOT)}"
    yield from (f"caesura/{path.name}" for path in (ROOT / "src" / "caesura").glob("*.py"))


@pytest.mark.full
def test_archives_hold_the_whole_package(archives):
    source, wheel = archives
    wanted = {*package_files(), "caesura/py.typed"}
    with zipfile.ZipFile(wheel) as packed:
        assert wanted <= {*packed.namelist()}, sorted(wanted - {*packed.namelist()})[:10]
    with tarfile.open(source) as packed:
        names = {name.partition("/src/")[2] for name in packed.getnames()}
        assert wanted <= names, sorted(wanted - names)[:10]
        assert not any(member.issym() for member in packed)


@pytest.mark.full
def test_installed_in_an_empty_environment_it_runs_a_file_outside_the_checkout(archives, tmp_path):
    home = tmp_path / "some where"
    home.mkdir()
    run(sys.executable, "-m", "venv", tmp_path / "environment", cwd=tmp_path)
    programs = tmp_path / "environment" / "bin"
    for name in EXAMPLE:
        shutil.copy(ROOT / "examples" / name, home)
    for archive, options in zip(reversed(archives), ([], ["--force-reinstall", "--no-deps"]), strict=True):
        run(programs / "python", "-m", "pip", "install", "--quiet", "--no-compile", *options, archive, cwd=home)
        out = run(programs / "caesura", "run", EXAMPLE[0], "--job", EXAMPLE[1], "--backend", "golden", "--json",
                  cwd=home, HOME=str(home))
        assert '"correct": true' in out
        where = run(programs / "python", "-c", "import caesura, caesura.hw; print(caesura.__version__, caesura.hw)",
                    cwd=home, HOME=str(home))
        assert str(tmp_path / "environment") in where and str(ROOT) not in where
