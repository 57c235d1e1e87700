"""The compiler: PTX to machine code with preemption points, and the assembler and ELF tools around it."""

from .codegen.assemble import AssemblerError, assemble
from .codegen.disassemble import disassemble, disassemble_word
from .codegen.elf import load_elf, save_elf
from .codegen.image import KernelImage, Parameter
from .codegen.listing import listing
from .errors import CompileError, ImageError
from .options import CompileOptions
from .pipeline import Compiled, compile_module, compile_ptx
from .source import read_source
from .stored import kernel_names, stored_module

__all__ = ["AssemblerError", "CompileError", "CompileOptions", "Compiled", "ImageError", "KernelImage", "Parameter",
           "assemble", "compile_module", "compile_ptx", "disassemble", "disassemble_word", "kernel_names", "listing",
           "load_elf", "read_source", "save_elf", "stored_module"]
