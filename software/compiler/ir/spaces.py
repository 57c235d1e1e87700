"""The state spaces of memory: their places in the generic space, and their largest sizes.

Like all addresses, generic ones have 32 bits. Local, shared and constant memory have a window of 16 MB each at the end
of the generic space. An address in a window is the window's base plus the address in the space. Everything below is
global memory.
"""

from __future__ import annotations

__all__ = ["WINDOWS", "WINDOW_BITS", "HIGH_WORD", "MAX_CONSTANT_BYTES", "MAX_GLOBAL_BYTES", "MAX_LOCAL_BYTES",
           "MAX_SHARED_BYTES"]

WINDOWS: dict[str, int] = {"const": 0xFD00_0000, "local": 0xFE00_0000, "shared": 0xFF00_0000}
"""First generic address of each space that has a window."""
WINDOW_BITS = 24
"""Bits of an address in a window."""
HIGH_WORD = 0xFCFF_FF00
"""Target of an access whose 64-bit address has an upper word, in code that checks it; no memory is there."""
MAX_CONSTANT_BYTES = 1 << 16
"""Bytes a constant bank can have."""
MAX_GLOBAL_BYTES = 1 << 31
"""Bytes of global variables a module can have."""
MAX_LOCAL_BYTES = (1 << 16) - 4
"""Bytes of local memory a thread can have."""
MAX_SHARED_BYTES = (1 << 20) - 1
"""Bytes of shared memory a kernel can declare; the launch checks the size that an SM has."""
