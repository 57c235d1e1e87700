"""Queue packets, kernel objects and signals in memory.

Packets and signals are those of HSA (*HSA Platform System Architecture Specification* 1.2, 2.9
Architected Queuing Language, and AMD's ``amd_signal_t``), little endian; addresses have 64 bits, of
which the upper 32 are 0. HSA leaves open what a kernel object is; here it is `KERNEL_OBJECT`.
"""

from __future__ import annotations

import enum

from amaranth.lib import data

from .geometry import ALIGNED

__all__ = ["PACKET_BYTES", "PACKET_WORDS", "PacketType", "VendorFormat", "HEADER", "DISPATCH",
           "BARRIER_AND", "VENDOR_PACKET", "DEPENDENCIES", "KERNEL_OBJECT", "KERNARG_ALIGNMENT",
           "KERNEL_OBJECT_MAGIC", "BARRIER_BIT", "SIGNAL_BYTES", "SIGNAL_VALUE",
           "SIGNAL_START", "SIGNAL_END", "QueueError", "QueueState"]

PACKET_BYTES = 64
"""Bytes of a packet; it lies at a multiple of this."""
PACKET_WORDS = PACKET_BYTES // 4
"""32-bit words of a packet."""
DEPENDENCIES = 5
"""Signals that a barrier packet can wait for."""


class PacketType(enum.IntEnum):
    """Values of ``HEADER.type``."""

    VENDOR = 0
    """One of ours: `VENDOR_PACKET`."""
    INVALID = 1
    """The packet is not written yet; it is looked at again later."""
    DISPATCH = 2
    """A kernel."""
    BARRIER_AND = 3
    """Waits until all its signals are 0."""
    AGENT = 4
    """Not for us."""
    BARRIER_OR = 5
    """Waits until one of its signals is 0; one that has no signal does not wait."""


class VendorFormat(enum.IntEnum):
    """Values of ``VENDOR_PACKET.format``, which stand where AMD's vendor packets have theirs."""

    CHECKPOINT = 1
    """The early word of a launch (PEP III-D): kernels of queues with a lower priority are
    checkpointed while they run, so that less is left to be saved when they are preempted."""


HEADER = data.StructLayout({"type": 8, "barrier": 1, "acquire": 2, "release": 2, "none": 3})
"""First 16 bits of every packet. With `barrier` the packet is begun when all packets before it in
its queue have completed. The fences ask for nothing more, since nothing but instructions and
constants is cached between kernels."""

DISPATCH = data.StructLayout({
    "header": HEADER, "dimensions": 2, "none": 14,
    "block_x": 16, "block_y": 16, "block_z": 16, "reserved": 16,
    "threads_x": 32, "threads_y": 32, "threads_z": 32,      # of the grid
    "private_bytes": 32,                                    # local memory of a thread
    "group_bytes": 32,                                      # shared memory of a thread block
    "kernel_object": 64, "kernarg_address": 64, "reserved_2": 64, "completion_signal": 64,
})
"""A kernel dispatch; the thread blocks at the edges of a grid are whole ones."""

VENDOR_PACKET = data.StructLayout({
    "header": HEADER, "format": 8, "reserved": 8, "reserved_2": data.ArrayLayout(32, 13),
    "completion_signal": 64,
})
"""A packet of our own; it completes as soon as it has been taken."""

BARRIER_AND = data.StructLayout({
    "header": HEADER, "reserved": 48, "signals": data.ArrayLayout(64, DEPENDENCIES),
    "reserved_2": 64, "completion_signal": 64,
})
"""A barrier, of either kind; a signal with address 0 is none."""

KERNEL_OBJECT_MAGIC = int.from_bytes(b"CKRN", "little")
KERNEL_OBJECT = data.StructLayout({
    "magic": 32,                                            # word 0
    "code_base": 32, "code_words": 32,                      # words 1 and 2
    "registers": 32,                                        # word 3: of a thread
    "const_base": 32, "const_bytes": 32,                    # words 4 and 5
    "trap_base": 32,                                        # word 6
    "kernarg_words": 32,                                    # word 7: of its parameters
    "reserved": 8 * 32,
})
"""A loaded kernel, whatever it is launched with; 64 bytes at a multiple of 64."""

KERNARG_ALIGNMENT = ALIGNED["param_base"]
"""Alignment of a dispatch's parameters, HSA's least; they stay in place while its kernel runs."""
BARRIER_BIT = 1 << 4
"""Bit of ``queue[q].control.discard`` and ``queue[q].status.uncertain`` for the barrier before the
packet that is begun next. The bits below it are for kernels in flight."""
SIGNAL_BYTES = 64
"""Bytes of a signal; it lies at a multiple of this."""
SIGNAL_VALUE = 8
"""Offset of its value, 64 bits, which a completion takes 1 from."""
SIGNAL_START = 32
"""Offset of the cycle at which the kernel was started, 64 bits."""
SIGNAL_END = 40
"""Offset of the cycle at which it had finished."""


class QueueState(enum.IntEnum):
    """Values of ``queue[q].status.state``."""

    STOPPED = 0
    """It is not enabled."""
    WAITING = 1
    """It has nothing to do, or waits for a packet, a signal, a kernel slot or its turn."""
    RUNNING = 2
    """A kernel of it is in a kernel slot."""
    FAILED = 3
    """A packet cannot be carried out; `QueueError` says why."""
    PREEMPTED = 4
    """Its kernels are saved, and come back when no queue with a higher priority has one."""


class QueueError(enum.IntEnum):
    """Values of ``queue[q].status.error``."""

    NONE = 0
    BAD_PACKET = 1
    """Its type is not taken, or no grid has its shape. Or a number does not fit the registers of a
    kernel slot, or its signal is not aligned. Or its arguments or signal lie outside the memory
    that its queue was given, or it asks for more local memory than that. Or a barrier waits for a
    signal that is not aligned or lies outside. Or an address has bits beyond the lower 32."""
    BAD_OBJECT = 2
    """Its kernel object is none, or has numbers that do not fit the registers of a kernel slot. Or
    the object, its code or its constants lie outside the memory that its queue was given."""
    REFUSED = 3
    """No SM takes the kernel: a thread block of it does not fit, for example."""
    BUS_ERROR = 4
    """Memory answered with an error."""
    BAD_CONTEXT = 5
    """Its kernel was preempted, and what memory holds of it cannot be read."""
    BAD_SIGNAL = 6
    """Memory answers with an error where its completion signal is: it is completed again and again
    until memory takes it, and the queue begins nothing meanwhile."""
    UNCERTAIN = 7
    """Memory refused the write of a completion signal's value, and does not say whether it was
    done. The queue has stopped; register ``status`` says which packets it is of."""
