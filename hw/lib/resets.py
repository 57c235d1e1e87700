"""Amaranth's `ResetInserter`, extended to keep the names of states of the reset block."""

from typing import Any

from amaranth import hdl

__all__ = ["ResetInserter"]


class ResetInserter(hdl.ResetInserter):
    """Resets a block, as Amaranth's does; `sim.trace.waveform` can still name its states."""

    def on_fragment(self, fragment: Any) -> Any:
        """Return the block with its reset.

        A block is Amaranth's ``Fragment``, whose stub lacks the names.
        """
        copy = super().on_fragment(fragment)
        copy.generated.update(fragment.generated)
        return copy
