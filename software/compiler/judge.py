"""Checks whether an image can be loaded; every image is checked before its code gets into device memory.

The checks cover the facts of the image (`image.validate`), then each of its words (`image.code_check`). They take time
linear in the number of words. An image does not change, so each object is judged once. An object that
`dataclasses.replace` makes of it is another one.
"""

from __future__ import annotations

import weakref

from caesura.hw.arch.isa.words import decode

from .errors import ImageError
from .image.code_check import Problem, find_problem
from .image.kernel_image import KernelImage
from .image.validate import check_facts

__all__ = ["judge"]

_judged: dict[int, tuple[weakref.ref[KernelImage], bool]] = {}
"""Images that were found right, by identity while they live, and whether their code was judged too."""


def judge(image: KernelImage, check: bool = True) -> None:
    """Judge an image, unless it has been judged.

    Parameters
    ----------
    image : KernelImage
    check : bool
        Judge its words too, not only its facts. The machine survives any words: where it meets an illegal one, it ends
        the thread block with a fault.

    Raises
    ------
    ImageError
        The message has the kernel, the word, the instruction, where it was written, what is wrong and what to do.
    """
    key = id(image)
    if key in _judged and _judged[key][0]() is image and _judged[key][1] >= check:
        return
    check_facts(image, f"kernel {name_of(image)}")
    if check and (problem := find_problem(image)):
        raise ImageError(_message(image, problem))
    _judged[key] = weakref.ref(image, lambda _: _judged.pop(key, None)), check


def name_of(image: object) -> str:
    """Return a name for messages; the argument may not be an image at all."""
    name = getattr(image, "name", None)
    return name if isinstance(name, str) and name.isprintable() else repr(name)[:60]


def _message(image: KernelImage, problem: Problem) -> str:
    from .codegen.disassemble import instruction_text  # takes long to import: only where something is wrong

    pc, where = problem.pc, image.where(problem.pc)
    try:
        shown = instruction_text(decode(image.words[pc]), registers=image.registers)
    except (ValueError, IndexError):
        shown = f".word {image.words[pc]:#018x}"
    place = f" ({where})" if where else ""
    return f"kernel {image.name}, pc {pc}{place}: {shown}: {problem.what}; {problem.remedy}"
