"""SystemVerilog that comes with a release is used for the sources it was made of, and for no others."""

import pytest

from caesura.hw.arch.geometry import PRESETS
from caesura.hw.export import verilog
from caesura.hw.sm import Sm
from caesura.progress import quiet
from caesura.sim.rtl import design, prebuilt, write_prebuilt

TINY = PRESETS["tiny"]


@pytest.fixture
def folder(monkeypatch, tmp_path):
    """An empty cache, an empty folder of ready-made texts, and a design that is not elaborated."""
    monkeypatch.setenv("CAESURA_CACHE", str(tmp_path / "cache"))
    for module in (prebuilt, write_prebuilt):
        monkeypatch.setattr(module, "PREBUILT", tmp_path / "prebuilt")
    monkeypatch.setattr(verilog, "systemverilog",
                        lambda component, name, reset: f"elaborated {component.geometry.name}")
    return tmp_path / "prebuilt"


def test_the_command_writes_each_preset_which_then_is_not_elaborated(folder, monkeypatch, tmp_path, capsys):
    stale = folder / "sm-0123.sv.xz"
    stale.parent.mkdir()
    stale.touch()
    write_prebuilt.main()
    assert len(list(folder.iterdir())) == len(PRESETS) and not stale.exists()
    assert [line.split()[-1] for line in capsys.readouterr().out.splitlines()] == list(PRESETS)
    monkeypatch.setenv("CAESURA_CACHE", str(tmp_path / "another"))
    monkeypatch.setattr(verilog, "systemverilog", lambda *_, **__: pytest.fail("elaborated"))
    assert design.design_text(TINY, Sm, quiet) == "elaborated tiny"


def test_other_sources_and_other_geometries_are_elaborated(folder, monkeypatch):
    write_prebuilt.main()
    sources = design.hardware_sources()
    assert prebuilt.prebuilt_text(TINY, sources) == "elaborated tiny"
    assert prebuilt.prebuilt_text(TINY.replace(memory_latency=99), sources) is None
    assert prebuilt.prebuilt_text(TINY, [*sources[:-1], sources[-1] + "\n"]) is None


def test_a_damaged_file_is_not_used(folder):
    write_prebuilt.main()
    path = prebuilt.prebuilt_path(TINY, design.hardware_sources())
    path.write_bytes(path.read_bytes()[:-9])
    assert prebuilt.prebuilt_text(TINY, design.hardware_sources()) is None
    assert design.design_text(TINY, Sm, quiet) == "elaborated tiny"


@pytest.mark.full
@pytest.mark.parametrize("g", PRESETS.values(), ids=PRESETS)
def test_what_came_with_the_package_is_what_the_sources_make(g):
    path = prebuilt.prebuilt_path(g, design.hardware_sources())
    if not path.exists():
        pytest.skip(f"no SystemVerilog of {g.name} came with these sources; `make verilog` makes it")
    assert prebuilt.prebuilt_text(g, design.hardware_sources()) == verilog.systemverilog(Sm(g), reset=False)
