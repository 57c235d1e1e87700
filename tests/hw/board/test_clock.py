"""Clocks of an ECP5's phase-locked loop; lines that can be made of them; what is missing is told."""

import sys

import pytest

from caesura.errors import InputError, ToolError
from caesura.hw.arch.board_protocol import Identity
from caesura.hw.arch.geometry import preset
from caesura.hw.board.clock import PllSetting, pll_setting
from caesura.hw.board.ulx3s import Ulx3s, board_clock, platform


@pytest.mark.parametrize("wanted, clock", [(12.5, 12.5), (50, 50), (25, 25), (10, 10), (6.25, 6.25), (3.125, 3.125),
                                           (100, 100), (12, 10.714), (33, 32.143), (3.5, 3.125), (7, 6.25)])
def test_the_nearest_clock_that_is_not_above(wanted, clock):
    assert board_clock(wanted) == pytest.approx(clock, abs=0.001)


def test_every_setting_is_within_the_limits_of_the_loop():
    """Lattice FPGA-DS-02012: phase detector 3.125 to 400 MHz, oscillator 400 to 800 MHz, divisors 1 to 128."""
    for tenths in range(32, 1500):
        setting = pll_setting(25.0, tenths / 10)
        clock = setting.mhz(25.0)
        assert 3.125 <= clock <= tenths / 10 + 1e-6
        assert 3.125 <= 25.0 / setting.reference and 400 <= clock * setting.output <= 800
        assert all(1 <= number <= 128 for number in (setting.reference, setting.feedback, setting.output))


def test_the_smallest_divisor_is_taken():
    assert pll_setting(25.0, 50.0) == PllSetting(1, 2, 12)


@pytest.mark.parametrize("wanted", [0.1, 3.0])
def test_a_clock_that_cannot_be_made(wanted):
    with pytest.raises(InputError, match=f"a clock of {wanted:g} MHz cannot be made of 25 MHz"):
        pll_setting(25.0, wanted)


@pytest.mark.parametrize("mhz, baud", [(12.5, 500_000), (25, 1_000_000), (50, 115_200), (3.125, 625_000)])
def test_a_line(mhz, baud):
    design = Ulx3s(Identity("ulx3s", preset("tiny"), 4096, round(mhz * 1e6)), baud)
    assert abs(mhz * 1e6 / design.divisor / baud - 1) <= 0.02


@pytest.mark.parametrize("mhz, baud", [(12.5, 4_000_000), (12.5, 1_000_000), (3.125, 1_000_000)])
def test_a_line_that_cannot_be_made(mhz, baud):
    with pytest.raises(InputError, match=f"a line of {baud} baud cannot be made of a clock of {mhz:g} MHz"):
        Ulx3s(Identity("ulx3s", preset("tiny"), 4096, round(mhz * 1e6)), baud)


def test_the_pins_of_boards_are_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "amaranth_boards.ulx3s", None)
    with pytest.raises(ToolError, match=r"amaranth-boards is missing.*pip install 'caesura\[board\]'"):
        platform()


def test_the_platform_is_the_board_s():
    found = platform()
    assert (found.device, found.package, found.speed) == ("LFE5U-85F", "BG381", "6")
    assert found.default_clk_frequency == 25e6
