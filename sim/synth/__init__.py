"""Blocks on FPGAs, out of context: synthesised by Yosys, placed and routed by nextpnr, both as WebAssembly (YoWASP).

::

    block --Harness--> RTLIL --Yosys (targets.py)--> cells of the block; netlist --nextpnr--> Fmax, critical path
"""
