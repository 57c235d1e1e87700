"""Context flashback: a stopped warp saves a smaller context if a resume may execute part of its basic block again.

Source: CTXBack (Ji and Wang, IPDPS 2021).

The analysis takes a basic block (`blocks`), whatever the instruction set. It finds a plan for each instruction
(`search`, `backup`), and the steps of a plan's routines (`routines`). `machine_code` reads our own instruction set.
"""
