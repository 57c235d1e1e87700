"""Exports blocks as SystemVerilog for use in another design.

::

    Block --make--> component --netlist--> name__netlist, name__part, ...   } name.sv
              `--ports--> wrapper (names, types) -------------> name        }
                             `--structures-------------------> name_pkg       name_pkg.sv

Simulators compile the output of `verilog`. The rest of this room gives the same blocks ports that
people can read.
"""

from .catalogue import Block, block, blocks
from .write import Exported, export_block

__all__ = ["Block", "Exported", "block", "blocks", "export_block"]
