"""The timing diagrams of the documents are drawn from the sources beside them, and show every signal of these."""

import importlib.util
import json

import pytest

from support.checkout import ROOT

WAVES = sorted((ROOT / "docs" / "waves").glob("*.json"))


@pytest.fixture(scope="module")
def drawn():
    """Return what `tools/render_waves.py` draws of a source."""
    spec = importlib.util.spec_from_file_location("render_waves", ROOT / "tools" / "render_waves.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.drawn


@pytest.mark.parametrize("source", WAVES, ids=lambda path: path.stem)
def test_picture_is_drawn_from_its_source(source, drawn):
    picture = source.with_suffix(".svg").read_text()
    assert drawn(source) == picture
    signals = [each for each in json.loads(source.read_text())["signal"] if each]
    assert len({len(each["wave"]) for each in signals}) == 1, "signals of different lengths"
    assert all(f">{each['name']}<" in picture for each in signals)


def test_every_picture_is_shown():
    page = (ROOT / "docs" / "adding-preemption.md").read_text()
    assert len(WAVES) >= 4 and all(f"(waves/{source.stem}.svg)" in page for source in WAVES)
