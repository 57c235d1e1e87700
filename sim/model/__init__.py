"""A discrete-event model of a GPU for schedulers, with costs that were measured on the RTL.

::

    traffic works of any number of TBs that fit a geometry costs the costs of TBs and switches of each kernel, as a file
    and as lines through measurements spans when TBs were on the SM, from a timeline calibrate measures costs, through
    the driver residents TBs on an SM, the room that they take, and how fast they are side by side flight a work that
    has a kernel slot switching how works are taken off the SMs and brought back model the machine
    (`caesura.software.sched.Machine`) opening machines by name
"""

from .costs import CostError, Costs, KernelCosts, SwitchCosts, read_costs, write_costs
from .model import ModelMachine

__all__ = ["CostError", "Costs", "KernelCosts", "SwitchCosts", "read_costs", "write_costs", "ModelMachine"]
