"""The benches of `sim.testing` on blocks and simulators that are kept from test to test."""

from functools import partial
from unittest import mock

from simulation import Simulator, component

from caesura.hw.core.front import FrontEnd
from caesura.sim.testing import front_end, side_units

__all__ = ["FrontEndBench", "SideBench"]


class FrontEndBench(front_end.FrontEndBench):
    """As `sim.testing.front_end.FrontEndBench`."""

    def __init__(self, *arguments, **options):
        with mock.patch.object(front_end, "FrontEnd", partial(component, FrontEnd)):
            super().__init__(*arguments, **options)

    def run(self, test):
        """Simulate the coroutine function `test`, which is given the simulator's context."""
        with mock.patch.object(front_end, "Simulator", Simulator):
            super().run(test)


class SideBench(side_units.SideBench):
    """As `sim.testing.side_units.SideBench`; the unit is kept if it comes from `component`."""

    def run(self, *others, **options):
        """Simulate until every operation has been written, with `others` as further testbenches beside it."""
        with mock.patch.object(side_units, "Simulator", Simulator):
            super().run(*others, **options)
