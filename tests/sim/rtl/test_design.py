"""The texts of a design: found the second time, without anything being made for them."""

import gc
import warnings

import pytest
from amaranth.hdl import Fragment

from caesura.hw.arch.geometry import preset
from caesura.hw.device.device import machine
from caesura.progress import quiet
from caesura.sim.rtl import design

TWO = preset("tiny").replace(sms=2)


@pytest.fixture
def elaborations(tmp_path, monkeypatch):
    """A cache of its own, and exports that elaborate and write nothing down; returns what is elaborated."""
    found = []

    def systemverilog(component, **_):
        Fragment.get(component, None)
        found.append(type(component).__name__)
        return f"module of {type(component).__name__}"

    monkeypatch.setenv("CAESURA_CACHE", str(tmp_path))
    monkeypatch.setattr(design.export, "systemverilog", systemverilog)
    monkeypatch.setattr(design, "prebuilt_text", lambda *_: "module of the SM")
    return found


def opened():
    """Return the texts of a device of two SMs, and the warnings that came with them."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")  # what pyproject ignores, too
        texts = design.design_texts(TWO, machine, quiet)
        gc.collect()
    return texts, [str(warning.message) for warning in told]


@pytest.mark.full
def test_the_second_opening_of_a_device_warns_of_nothing(elaborations):
    gc.collect()
    first, second = opened(), opened()
    assert elaborations == ["Uncore"] and first[1] == second[1] == []
    assert first[0] == second[0]
    text, ((name, sm),), ((header, ports),) = first[0]
    assert (text, name, sm, header) == ("module of Uncore", "sm", "module of the SM", "device_ports.h")
    assert "const Copy to_sm[]" in ports
