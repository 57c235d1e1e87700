"""Orders to restore a TB, and the reports on them."""

from amaranth.lib import data

from ...arch.geometry import Geometry
from ...interfaces.payloads import below
from ...interfaces.preemption import admitted
from ..formats.packer import WORD_COUNT_BITS

__all__ = ["restore_job", "restored"]


def restore_job(g: Geometry) -> data.StructLayout:
    """A TB to be rebuilt from CCB entry `entry` in the room `place`; its stream has `words` words.

    `skip` words come before its encoding table, the table before the rest of the stream. The
    checksums are those of its entry. The stream is that of the `base` of an image that is an
    `increment`; the one of the increment comes next. Likewise that of a second image, which is
    taken for the base of the first. The registers of the TB may be `elsewhere`; if they have
    `stayed` on the SM, those of its warps are in row `staying` of the `StayingMasks`.
    """
    return data.StructLayout({"entry": below(g.context_entries), "place": admitted(g),
                              "live_warps": g.max_block_warps,
                              "words": WORD_COUNT_BITS, "skip": range(g.chunk_words),
                              "stream_crc": 32, "table_crc": 32, "base": 1, "increment": 1,
                              "elsewhere": 1, "stayed": 1, "staying": below(g.tb_slots)})


def restored(g: Geometry) -> data.StructLayout:
    """All of the TB of `entry` is in place, or of its base that has an `increment`, or it is `bad`;
    `valid` for one cycle. `clean`: nothing of it has been written since its base."""
    return data.StructLayout({"valid": 1, "entry": below(g.context_entries), "bad": 1, "base": 1,
                              "clean": 1})
