"""Amaranth's `ResetInserter`, which keeps the names of the states of what it resets."""

from amaranth import hdl
from amaranth.hdl import Fragment

__all__ = ["ResetInserter"]


class ResetInserter(hdl.ResetInserter):
    """Resets a block, as Amaranth's does, and lets `sim.report.waveform` name its states."""

    def on_fragment(self, fragment: Fragment) -> Fragment:
        """Return the block with its reset."""
        copy = super().on_fragment(fragment)
        copy.generated.update(fragment.generated)
        return copy
