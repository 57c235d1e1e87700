"""Amaranth's `ResetInserter`, which keeps the names of the states of what it resets."""

from typing import Any

from amaranth import hdl

__all__ = ["ResetInserter"]


class ResetInserter(hdl.ResetInserter):
    """Resets a block, as Amaranth's does, and lets `sim.trace.waveform` name its states."""

    def on_fragment(self, fragment: Any) -> Any:
        """Return the block with its reset; a block is Amaranth's ``Fragment``, whose stub lacks the
        names."""
        copy = super().on_fragment(fragment)
        copy.generated.update(fragment.generated)
        return copy
