"""The records of `RtlTransport.record_timeline`: changes in SMs and queues, and counters at regular intervals."""

from __future__ import annotations

import enum

import numpy as np

__all__ = ["EVENT", "SAMPLE", "EventKind", "READERS", "WRITERS"]

READERS = ("instruction fetch", "constants", "loads", "atomics (read)", "restore")
"""Readers by AXI id."""
WRITERS = ("stores", "atomics (write)", "save")
"""Writers by AXI id. The preemption unit's few writes during a resume (entries it marks) count as `save`."""


class EventKind(enum.IntEnum):
    """Kinds of `EVENT`."""

    VALID = 0
    """New vector (`value`, one bit per warp slot): slots that hold a warp."""
    ACTIVE = 1
    """New vector: started, and neither out of lanes nor killed."""
    WAITING = 2
    """New vector: at a barrier."""
    STOPPED = 3
    """New vector: stopped for a preempt, with nothing outstanding."""
    STATES = 4
    """New `hw.arch.registers.KernelState` of some kernel slot; `hw.sm.STATE_BITS` of `value` a slot."""
    DRAINING = 5
    """`value` is 1 from this cycle on: nothing can be saved because warps still run; or 0."""
    INIT = 6
    """Warp `warp` of TB `launch` of `kernel` was put into `slot`; VALID follows."""
    PREEMPT = 7
    """The preemption engine took the command to preempt `kernel`; its cycle counters count from here."""
    RESUME = 8
    """The same, of a resume."""
    DROPPED = 9
    """The preempt is done with a TB."""
    STARTED = 10
    """The resume has started a TB."""
    DISPATCHED = 11
    """The dispatcher of a device of several SMs hands TB `launch` of `kernel` out to the SM."""
    CODE = 12
    """Kernel slot `kernel` is described: `value` is the address of its code."""
    COMMAND = 13
    """The host has written `value` into register ``command``; `slot` is the `CommandError`, 0 if it was taken."""
    QUEUE = 14
    """New state of a hardware queue, in `value`. Bits 0 to 31 hold the index of the next packet to begin. Bit 32 tells
    whether the packet before it is a barrier that has not completed. Bit 33 tells whether no more may be in flight. The
    `QueueState` stands from bit 40 on."""
    DOORBELL = 15
    """New count of packets that were put into a hardware queue."""
    FLIGHT = 16
    """New state of a place for a kernel in flight. `unit` counts the places, queue by queue. Bits 0 to 31 of `value`
    hold the index of its packet, bit 32 tells whether there is one, and its kernel slot stands from bit 33 on."""


EVENT = np.dtype([("cycle", "<u8"), ("value", "<u8"), ("launch", "<u4"), ("kind", "u1"), ("slot", "u1"),
                  ("kernel", "u1"), ("warp", "u1"), ("unit", "u1"), ("pad", "u1", (3,))])
"""numpy dtype of an event; `unit` is the number of the SM, of QUEUE and DOORBELL that of the queue. `value` of VALID to
DRAINING and of QUEUE to FLIGHT holds from `cycle` on, and is 0 before the first event."""

SAMPLE = np.dtype([("cycle", "<u8"), ("read", "<u8", (8,)), ("written", "<u8", (8,)), ("instructions", "<u8"),
                   ("tbs", "<u8"), ("unit", "<u8")])
"""numpy dtype of a sample of an SM, or of the queues, whose `unit` is the number of SMs: bytes moved since the start by
AXI id, instructions retired while recording, TBs resident; all just before `cycle`."""
