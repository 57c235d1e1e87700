"""Assembly of AMD's GPUs (gfx906) as LLVM 19 prints it, for context flashback.

From text (`text`, `metadata`, `module`) by a table of opcodes (`opcodes`, `accesses`, `operands`) to control flow
(`flow`), masks and liveness by lane (`masks`, `liveness`), memory (`memory`), what can be reverted (`reversing`), and
the basic blocks that the analysis takes (`front_end`).
"""

from .front_end import program
from .module import Kernel, Module, is_assembly, parse, read
from .text import AssemblyError

__all__ = ["AssemblyError", "Kernel", "Module", "is_assembly", "parse", "program", "read"]
