"""Assembly of AMD's GPUs (gfx906) as LLVM 19 prints it, for context flashback.

The front end reads text (`text`, `metadata`, `module`) and looks each opcode up in a table (`opcodes`, `accesses`,
`operands`). Then it finds control flow (`flow`), masks and liveness by lane (`masks`, `liveness`), effects on memory
(`memory`), and reversible instructions (`reversing`). It gives the basic blocks that the analysis takes (`front_end`).
"""

from .front_end import program
from .module import Kernel, Module, is_assembly, parse, read
from .text import AssemblyError

__all__ = ["AssemblyError", "Kernel", "Module", "is_assembly", "parse", "program", "read"]
