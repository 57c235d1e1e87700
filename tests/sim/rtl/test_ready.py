"""SystemVerilog that comes with a release is used for the sources it was made of, and for no others."""

import pytest

from caesura.hw import export
from caesura.hw.arch.geometry import PRESETS
from caesura.hw.sm import Sm
from caesura.progress import quiet
from caesura.sim.rtl import design, ready

TINY = PRESETS["tiny"]


@pytest.fixture
def folder(monkeypatch, tmp_path):
    """An empty cache, an empty folder of ready-made texts, and a design that is not elaborated."""
    monkeypatch.setenv("CAESURA_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(ready, "READY", tmp_path / "ready")
    monkeypatch.setattr(export, "systemverilog", lambda component, reset: f"elaborated {component.geometry.name}")
    return tmp_path / "ready"


def test_the_command_writes_each_preset_which_then_is_not_elaborated(folder, monkeypatch, tmp_path, capsys):
    stale = folder / "sm-0123.sv.xz"
    stale.parent.mkdir()
    stale.touch()
    ready.main()
    assert len(list(folder.iterdir())) == len(PRESETS) and not stale.exists()
    assert [line.split()[-1] for line in capsys.readouterr().out.splitlines()] == list(PRESETS)
    monkeypatch.setenv("CAESURA_CACHE", str(tmp_path / "another"))
    monkeypatch.setattr(export, "systemverilog", lambda *_, **__: pytest.fail("elaborated"))
    assert design.design_text(TINY, Sm, quiet) == "elaborated tiny"


def test_other_sources_and_other_geometries_are_elaborated(folder, monkeypatch):
    ready.main()
    sources = design.hardware_sources()
    assert ready.ready_text(TINY, sources) == "elaborated tiny"
    assert ready.ready_text(TINY.replace(memory_latency=99), sources) is None
    assert ready.ready_text(TINY, [*sources[:-1], sources[-1] + "\n"]) is None


def test_a_damaged_file_is_not_used(folder):
    ready.main()
    path = ready.ready_path(TINY, design.hardware_sources())
    path.write_bytes(path.read_bytes()[:-9])
    assert ready.ready_text(TINY, design.hardware_sources()) is None
    assert design.design_text(TINY, Sm, quiet) == "elaborated tiny"


@pytest.mark.full
@pytest.mark.parametrize("g", PRESETS.values(), ids=PRESETS)
def test_what_came_with_the_package_is_what_the_sources_make(g):
    path = ready.ready_path(g, design.hardware_sources())
    if not path.exists():
        pytest.skip(f"no SystemVerilog of {g.name} came with these sources; `make verilog` makes it")
    assert ready.ready_text(g, design.hardware_sources()) == export.systemverilog(Sm(g), reset=False)
