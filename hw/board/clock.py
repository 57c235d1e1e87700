"""The clock of an ECP5 board: its oscillator, or what a phase-locked loop makes of it."""

from dataclasses import dataclass

from amaranth.hdl import ClockDomain, ClockSignal, Instance, Module, Signal
from amaranth.lib.cdc import ResetSynchronizer

from caesura.errors import InputError

__all__ = ["PllSetting", "pll_clock", "pll_setting"]

_LEAST_PHASE, _MOST_PHASE = 3.125, 400.0
"""Megahertz at the phase detector (Lattice FPGA-DS-02012, sysCLOCK PLL Timing)."""
_LEAST_VCO, _MOST_VCO = 400.0, 800.0
_LEAST_OUT = 3.125
_MOST_DIVISOR = 128


@dataclass(frozen=True)
class PllSetting:
    """Divisors of an EHXPLLL whose feedback is its first output.

    Attributes
    ----------
    reference, feedback, output : int
        The clock is that of the reference times `feedback` over `reference`; the oscillator runs
        `output` times as fast.
    """

    reference: int
    feedback: int
    output: int

    def mhz(self, reference: float) -> float:
        """Return the clock, megahertz, from that of the reference."""
        return reference * self.feedback / self.reference


def pll_setting(reference: float, wanted: float) -> PllSetting:
    """Return the setting that gives the clock nearest to the wanted one that is not above it.

    Parameters
    ----------
    reference, wanted : float
        Megahertz.

    Raises
    ------
    InputError
        If the loop cannot give 3.125 MHz or what is wanted.
    """
    found: list[tuple[float, int, PllSetting]] = []
    for divisor in range(1, _MOST_DIVISOR + 1):
        phase = reference / divisor
        if not _LEAST_PHASE <= phase <= _MOST_PHASE:
            continue
        feedback = int(wanted / phase + 1e-9)
        clock = feedback * phase
        outputs = [n for n in range(1, _MOST_DIVISOR + 1) if _LEAST_VCO <= clock * n <= _MOST_VCO]
        if 1 <= feedback <= _MOST_DIVISOR and clock >= _LEAST_OUT and outputs:
            best = min(outputs, key=lambda n: abs(clock * n - (_LEAST_VCO + _MOST_VCO) / 2))
            found.append((clock, -divisor, PllSetting(divisor, feedback, best)))
    if not found:
        raise InputError(f"a clock of {wanted:g} MHz cannot be made of {reference:g} MHz; the "
                         f"least is {_LEAST_OUT} MHz")
    return max(found, key=lambda each: each[:2])[2]


def pll_clock(m: Module, oscillator: Signal, reference: float, setting: PllSetting) -> Signal:
    """Make the domain ``sync`` run with a loop's clock, in reset until that is steady.

    Parameters
    ----------
    m : Module
    oscillator : Signal
    reference : float
        Its megahertz.
    setting : PllSetting

    Returns
    -------
    Signal
        The loop's clock is steady.
    """
    m.domains += ClockDomain("sync")
    locked = Signal()
    out = ClockSignal("sync")
    m.submodules.pll = Instance(
        "EHXPLLL", a_FREQUENCY_PIN_CLKI=str(reference),
        a_FREQUENCY_PIN_CLKOP=str(setting.mhz(reference)), a_ICP_CURRENT="12",
        a_LPF_RESISTOR="8", p_PLLRST_ENA="DISABLED", p_INTFB_WAKE="DISABLED",
        p_STDBY_ENABLE="DISABLED", p_DPHASE_SOURCE="DISABLED", p_OUTDIVIDER_MUXA="DIVA",
        p_CLKI_DIV=setting.reference, p_CLKFB_DIV=setting.feedback, p_CLKOP_DIV=setting.output,
        p_CLKOP_ENABLE="ENABLED", p_CLKOP_CPHASE=setting.output // 2, p_CLKOP_FPHASE=0,
        p_FEEDBK_PATH="CLKOP", i_RST=0, i_STDBY=0, i_CLKI=oscillator, i_CLKFB=out,
        i_PHASESEL0=0, i_PHASESEL1=0, i_PHASEDIR=1, i_PHASESTEP=1, i_PHASELOADREG=1,
        i_PLLWAKESYNC=0, i_ENCLKOP=0, o_CLKOP=out, o_LOCK=locked)
    m.submodules.steady = ResetSynchronizer(~locked, domain="sync")
    return locked
