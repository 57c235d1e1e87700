"""The Python of README and documents, as it stands there."""

from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.parametrize("backend", ["golden", pytest.param("rtl", marks=pytest.mark.full)])
def test_example_runs(backend, capsys):
    example = (ROOT / "README.md").read_text().split("```python\n")[1].split("```")[0]
    assert example.count('open_device("rtl"') == 1
    names = {}
    exec(example.replace('open_device("rtl"', f'open_device("{backend}"'), names)
    saved = names["saved"]
    assert saved.tbs > 0 and str(saved.data_bytes) in capsys.readouterr().out.split()


def test_two_kernels_share_an_sm_as_the_document_shows():
    names = {}
    exec((ROOT / "docs" / "sharing.md").read_text().split("```python\n")[1].split("```")[0], names)
    assert names["saved"].tbs > 0
    assert all(launch.finished for launch in names["launches"].values())


def test_streams_and_tenants_as_the_document_shows(capsys):
    names = {}
    for example in (ROOT / "docs" / "streams.md").read_text().split("```python\n")[1:]:
        exec(example.split("```")[0], names)
    assert capsys.readouterr().out == "the batch has ended\n"
    assert names["alice"].closed and (names["other"].get() == 2).all()


def test_a_machine_is_used_as_the_document_shows():
    names = {}
    exec((ROOT / "docs" / "schedulers.md").read_text().split("```python\n")[1].split("```")[0], names)
    urgent, running = names["urgent"], names["running"]
    assert urgent.done and running.done and urgent.ended < running.ended and running.counts.preempts == 1
