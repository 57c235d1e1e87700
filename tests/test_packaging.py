"""What is handed out runs by itself: wheel and source archive, installed where nothing else is."""

import email
import json
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from support.checkout import PACKED, PARTS, ROOT

pytestmark = [pytest.mark.full, pytest.mark.depends_on(
    "src", "hw", "sim", "software", "constraints", "tests", "docs", "examples", "tools", ".ci",
    "pyproject.toml", "requirements.lock", "README.md", "LICENSE", "Makefile", ".gitignore")]

FOLDERS = "src", *PACKED, "tests", "docs", "examples", "tools", ".ci"
FILES = "pyproject.toml", "requirements.lock", "README.md", "LICENSE", "Makefile", ".gitignore"
PREBUILT = "sim/rtl/prebuilt/sm-0.sv.xz"
"""Stands for the ready-made SystemVerilog, which git ignores."""
EXAMPLE = "window_sum.ptx", "window_sum.toml"
MISTAKE = '''from caesura import Geometry, preset
from caesura.cache import cache_directory
from caesura.hw.sm import Sm
from caesura.sim import open_device
from caesura.software.driver import Device

right: Geometry = preset("tiny")
a: int = preset("tiny")
b: int = cache_directory()
c: int = Sm
d: int = open_device()
e: int = Device
'''
"""What only a type checker that sees all parts of the package finds wrong."""


def run(*command, cwd, code=0, **environment):
    """Run a command without the checkout's environment; return what it printed."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "CAESURA", "VIRTUAL"))}
    done = subprocess.run([str(part) for part in command], cwd=cwd, env=kept | environment, capture_output=True,
                          text=True, timeout=600)
    assert done.returncode == code, done.stdout[-2000:] + done.stderr[-2000:]
    return done.stdout


@pytest.fixture(scope="module")
def archives(tmp_path_factory):
    """Source archive and, made of it, the wheel."""
    folder = tmp_path_factory.mktemp("packaging") / "a checkout"
    ignored = shutil.ignore_patterns("__pycache__", "*.egg-info", "prebuilt")
    for name in FOLDERS:
        shutil.copytree(ROOT / name, folder / name, ignore=ignored)
    for name in FILES:
        shutil.copy(ROOT / name, folder)
    (folder / PREBUILT).parent.mkdir()
    (folder / PREBUILT).touch()
    run(sys.executable, "-m", "build", ".", cwd=folder)
    (source,), (wheel,) = (folder / "dist").glob("*.tar.gz"), (folder / "dist").glob("*.whl")
    return source, wheel


def files(*folders):
    """Return the files of folders of the checkout by their paths in it, and the one that stands for ready ones."""
    found = {str(path.relative_to(ROOT)) for name in folders for path in (ROOT / name).rglob("*")
             if path.is_file() and path.suffix != ".pyc" and path.parent.name != "prebuilt"}
    return found | {PREBUILT}


def test_the_source_archive_holds_everything(archives):
    source, _ = archives
    with tarfile.open(source) as packed:
        assert not any(member.issym() for member in packed)
        names = {name.partition("/")[2] for name in packed.getnames()}
    assert names == files(*FOLDERS) | {*FILES, "PKG-INFO"}


def test_the_wheel_holds_the_package_and_nothing_else(archives):
    _, wheel = archives
    with zipfile.ZipFile(wheel) as packed:
        names = {name for name in packed.namelist() if ".dist-info/" not in name}
    package = {name.removeprefix("src/") for name in files("src")} | {f"caesura/{name}" for name in files(*PACKED)}
    package.remove(PREBUILT)
    assert names == package


def test_the_metadata_is_whole(archives):
    _, wheel = archives
    with zipfile.ZipFile(wheel) as packed:
        (name,) = (name for name in packed.namelist() if name.endswith("/METADATA"))
        told = email.message_from_bytes(packed.read(name))
        assert any(name.endswith("/licenses/LICENSE") for name in packed.namelist())
    assert (told["Name"], told["License-Expression"], told["License-File"]) == ("caesura", "BSD-2-Clause", "LICENSE")
    assert told["Requires-Python"] == ">=3.11" and told["Description-Content-Type"] == "text/markdown"
    assert told["Summary"] and told["Author"] and told["Keywords"]
    assert {"Typing :: Typed", "Programming Language :: Python :: 3.11"} <= {*told.get_all("Classifier")}
    assert told.get_payload().strip() == (ROOT / "README.md").read_text().strip()


@pytest.fixture(scope="module")
def environment(archives, tmp_path_factory):
    """An environment with nothing but the wheel and what it needs."""
    folder = tmp_path_factory.mktemp("installed") / "environment"
    run(sys.executable, "-m", "venv", folder, cwd=folder.parent)
    run(folder / "bin" / "python", "-m", "pip", "install", "--quiet", "--no-compile", archives[1], cwd=folder.parent)
    return folder


@pytest.fixture(scope="module", params=["wheel", "source", "git", "editable"])
def installed(request, archives, environment, tmp_path_factory):
    """The environment's programs, with the package installed in one way, and where its modules lie then."""
    source, wheel = archives
    what, place = [wheel if request.param == "wheel" else source], environment
    if request.param in ("editable", "git"):
        folder = tmp_path_factory.mktemp("un packed")
        with tarfile.open(source) as packed:
            packed.extractall(folder, filter="data")
        (unpacked,) = folder.iterdir()
    if request.param == "editable":
        what, place = ["--editable", unpacked], unpacked
    if request.param == "git":
        if shutil.which("git") is None:
            pytest.skip("there is no git (Debian: apt-get install git)")
        for command in (["init", "--quiet"], ["add", "."], ["-c", "user.name=a", "-c", "user.email=a@b", "commit",
                                                            "--quiet", "--message", "All"]):
            run("git", *command, cwd=unpacked)
        what = [f"git+{unpacked.as_uri()}"]
    run(environment / "bin" / "python", "-m", "pip", "install", "--quiet", "--no-compile", "--force-reinstall",
        "--no-deps", *what, cwd=environment)
    return environment / "bin", place


def test_installed_in_an_empty_environment_it_runs_a_file_outside_the_checkout(installed, tmp_path):
    programs, place = installed
    home = tmp_path / "some where"
    home.mkdir()
    for name in EXAMPLE:
        shutil.copy(ROOT / "examples" / name, home)
    out = run(programs / "caesura", "run", EXAMPLE[0], "--job", EXAMPLE[1], "--backend", "golden", "--json",
              cwd=home, HOME=str(home))
    assert '"correct": true' in out
    script = ROOT / "tests" / "support" / "every_module.py"
    found = json.loads(run(programs / "python", script, cwd=home, HOME=str(home)))
    own = {path.stem for path in (ROOT / "src" / "caesura").iterdir()} - {"__init__", "__pycache__", "py"}
    assert {name.split(".")[1] for name in found["files"]} == {*PARTS, *own} and found["version"]
    assert [file for file in found["files"].values() if not Path(file).is_relative_to(place)] == []
    assert {*found["lacking"].values()} == {"cocotb"}, "benches need an extra"


def test_installed_it_is_seen_whole_by_a_type_checker(installed, tmp_path):
    (tmp_path / "mistake.py").write_text(MISTAKE)
    told = run(sys.executable, "-m", "basedpyright", "--level", "error", "--outputjson", "--pythonpath",
               installed[0] / "python", "mistake.py", cwd=tmp_path, code=1)
    errors = json.loads(told)["generalDiagnostics"]
    assert [error["range"]["start"]["line"] for error in errors] == [7, 8, 9, 10, 11], told


def test_installed_it_has_the_constraints(installed):
    told = run(installed[0] / "python", "-c", "from caesura.sim.synth.targets import TARGETS\n"
               "print(*(target.constraints_file.read_text()[:1] for target in TARGETS.values()))", cwd=installed[0])
    assert len(told.split()) == 3
