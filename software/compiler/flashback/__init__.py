"""Context flashback: which context a warp that is stopped at an instruction has to save if it may be brought back by
doing part of its basic block again (CTXBack: Ji and Wang, IPDPS 2021).

From a basic block (`blocks`), whatever the instruction set, to a plan for each instruction (`search`, `backup`), to
what the routines of a plan do (`routines`). `machine_code` reads our own instruction set.
"""
