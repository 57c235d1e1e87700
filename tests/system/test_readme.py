"""The README's Python, as it stands there."""

from pathlib import Path

import pytest

README = Path(__file__).resolve().parents[2] / "README.md"


@pytest.mark.parametrize("backend", ["golden", "rtl"])
def test_example_runs(backend, capsys):
    example = README.read_text().split("```python\n")[1].split("```")[0]
    assert example.count('open_device("rtl"') == 1
    names = {}
    exec(example.replace('open_device("rtl"', f'open_device("{backend}"'), names)
    saved = names["saved"]
    assert saved.tbs > 0 and str(saved.data_bytes) in capsys.readouterr().out.split()
