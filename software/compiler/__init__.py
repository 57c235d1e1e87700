"""The compiler: PTX to machine code with preemption points, and the assembler and ELF tools around it.

Modules that take long to import are imported at first use: a kernel that has been compiled before needs no compiler.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from .compiled import Compiled
from .errors import CompileError, ImageError
from .image.kernel_image import KernelImage
from .ir.variables import Parameter
from .options import CompileOptions
from .source import read_source

if TYPE_CHECKING:
    from .codegen.assemble import AssemblerError, assemble
    from .codegen.disassemble import disassemble, disassemble_word
    from .codegen.elf import load_elf, save_elf
    from .codegen.listing import listing
    from .kernel_cache import kernel_names, stored_module
    from .pipeline import compile_module, compile_ptx

__all__ = ["AssemblerError", "CompileError", "CompileOptions", "Compiled", "ImageError", "KernelImage", "Parameter",
           "assemble", "compile_module", "compile_ptx", "disassemble", "disassemble_word", "kernel_names", "listing",
           "load_elf", "read_source", "save_elf", "spoilers", "stored_module"]

_PLACES = {
    "AssemblerError": ".codegen.assemble", "assemble": ".codegen.assemble",
    "disassemble": ".codegen.disassemble", "disassemble_word": ".codegen.disassemble",
    "load_elf": ".codegen.elf", "save_elf": ".codegen.elf",
    "listing": ".codegen.listing", "spoilers": ".preemption.restartable",
    "compile_module": ".pipeline", "compile_ptx": ".pipeline",
    "kernel_names": ".kernel_cache", "stored_module": ".kernel_cache",
}


def __getattr__(name: str):
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_PLACES[name], __name__), name)
