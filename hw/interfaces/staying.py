"""Payloads about registers and shared memory of preempted TBs that stay on the SM, between the
dispatcher and the preemption engine (Lin et al. III-A, Fig. 4)."""

import enum

from amaranth.lib import data

from ..arch.geometry import MAX_REGISTERS, Geometry
from .payloads import below, physical

__all__ = ["Phase", "staying", "staying_row", "staying_warp", "staying_mask", "range_move",
           "staying_report", "plan_request", "plan"]


class Phase(enum.IntEnum):
    """Phase of a row of the staying table."""

    FREE = 0
    RESERVED = 1
    """The TB is being saved, and still owns what will stay of it."""
    STAYS = 2
    LENT = 3
    """The TB is being brought back, and has not started."""


def staying(g: Geometry) -> data.StructLayout:
    """The TB of `entry` of `kernel` has left something on the SM, and was saved by `mechanism`.

    With `registers` its registers stay, from physical register `base` on. With `lines` its shared
    memory stays, from `first_line` on."""
    return data.StructLayout({
        "kernel": below(g.kernel_slots), "entry": below(g.context_entries),
        "registers": 1, "lines": 1, "base": physical(g), "first_line": range(g.shared_lines + 1),
        "mechanism": 4, "scramble": 1})


def staying_row(g: Geometry) -> data.StructLayout:
    """A row of the staying table.

    `tb` is the TB slot that the TB was in, or is in again. `live_warps` are its warps that had not
    exited, whatever stays."""
    return data.StructLayout({"phase": Phase, "tb": below(g.tb_slots),
                              "live_warps": g.max_block_warps, "what": staying(g)})


def staying_warp(g: Geometry) -> data.StructLayout:
    """Warp `warp` of the TB in row `row` of the staying table."""
    return data.StructLayout({"row": below(g.tb_slots), "warp": below(g.max_block_warps)})


def staying_mask(g: Geometry) -> data.StructLayout:
    """A warp that is remembered, and its registers; `valid` for one cycle."""
    return data.StructLayout({"valid": 1, "of": staying_warp(g), "mask": MAX_REGISTERS})


def range_move(g: Geometry) -> data.StructLayout:
    """The range of an owner in an allocation table becomes another's. Owners are the TB slots, and
    after them the rows of the staying table."""
    owner = below(2 * g.tb_slots)
    return data.StructLayout({"valid": 1, "owner": owner, "to": owner})


def staying_report(g: Geometry) -> data.StructLayout:
    """State of the staying table, for the dispatcher.

    `move_registers`, `move_lines` and `release` (a vector of owners) go to the allocation tables.
    `evictable` has a bit for each row that stays and is not lent. `registers` has one vector per
    kernel: entries whose registers are on the SM without their TB. `lines` has the same of shared
    memory.
    """
    entries = data.ArrayLayout(g.context_entries, g.kernel_slots)
    return data.StructLayout({
        "rows": data.ArrayLayout(staying_row(g), g.tb_slots), "evictable": g.tb_slots,
        "move_registers": range_move(g), "move_lines": range_move(g),
        "release": 2 * g.tb_slots, "registers": entries, "lines": entries})


def plan_request(g: Geometry) -> data.StructLayout:
    """Asks for room for `tbs` TBs of the kernel in slot `newcomer`, while the TBs in slots
    `chosen` are preempted; `valid` for one cycle."""
    return data.StructLayout({"valid": 1, "newcomer": 4, "tbs": 6, "chosen": g.tb_slots})


def plan(g: Geometry) -> data.StructLayout:
    """Answer to a `plan_request`, right once it is `done`.

    The registers of the TBs in slots `keep_registers` can stay, and the shared memory of those in
    slots `keep_lines`."""
    return data.StructLayout({"done": 1, "keep_registers": g.tb_slots, "keep_lines": g.tb_slots})
