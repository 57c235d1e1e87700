"""The compiled engine of the golden model: warp instructions in C++, everything else in Python.

::

    Machine.advance --> Engine.compiled --none--> Machine.step (numpy)
                              |
                              v
       push: warps, blocks, kernels --> arrays --> engine.cpp, an instruction a cycle --> pull
                                                      |
              never met, faults, a thread block ends, a warp stops for a preempt: Python does it

The numpy model is the judge: what the engine does not know, and every instruction that faults, it leaves to that model
before anything has changed. Between two calls of `advance` all state is Python's, so a machine may change from one
engine to the other at any cycle.
"""
