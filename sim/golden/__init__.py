"""The golden model: the function of the SM, one instruction per cycle, without its pipeline.

::

    state  <--  semantics  <--  bounds  <--  execution  <--  preemption  <--  machine  <--  transport
    warps       what each       checked      a warp's        save and         time          registers
    blocks      instruction     accesses     next step,      restore
    kernels     does                         faults

Imports go to the left only. `native` is the compiled engine: it takes a machine's state, executes, and gives it back.
"""
