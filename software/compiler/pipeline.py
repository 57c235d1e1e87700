"""Compiles PTX text to kernel images: a module's kernels go through the passes (`passes`)."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import TypeVar

from caesura.errors import InputError
from caesura.hw.arch.geometry import MAX_BLOCK_THREADS
from caesura.software.names import alternatives

from .compiled import Compiled
from .errors import CompileError
from .garbage_collection import collect_seldom
from .image.kernel_image import KernelImage
from .ir.kernel import Kernel
from .lower.expand import expand
from .lower.kernel import lower
from .options import CompileOptions
from .passes import UNOBSERVED, Compilation, Observer, check_order
from .ptx.parser import parse
from .ptx.syntax import Function, Module
from .routines import Leaves

__all__ = ["compile_ptx", "compile_module", "compile_function", "entries", "run_passes"]

Result = TypeVar("Result")


def _check_arguments(text: object, filename: object, options: object, kernels: object) -> None:
    """Refuse arguments that are not a text, options or names."""
    names = (isinstance(kernels, Collection) and not isinstance(kernels, str)
             and all(isinstance(each, str) for each in kernels))
    for name, value, right, wanted in (
            ("text", text, isinstance(text, str), "PTX, a text"),
            ("filename", filename, isinstance(filename, str), "a text"),
            ("options", options, options is None or isinstance(options, CompileOptions), "CompileOptions or None"),
            ("kernels", kernels, kernels is None or names,
             "a collection of names of kernels, or None")):
        if not right:
            raise InputError(f"{name} must be {wanted}, not {repr(value)[:80]}")


def compile_ptx(text: str, filename: str = "<ptx>", options: CompileOptions | None = None,
                kernels: Collection[str] | None = None) -> dict[str, KernelImage]:
    """Compile kernels of a PTX module; one that is refused refuses all of them.

    Parameters
    ----------
    text : str
        PTX as ``nvcc -ptx`` writes it.
    filename : str
        Name of the source, for messages and `KernelImage.source`.
    options : CompileOptions, optional
    kernels : collection of str, optional
        Entry names; every kernel unless given.

    Returns
    -------
    dict of str to KernelImage
        Images by entry name, in the order of the file.

    Raises
    ------
    CompileError
        If the text is not PTX, has no kernel of a name, or a kernel uses something that is not supported, or needs
        too many registers.
    """
    _check_arguments(text, filename, options, kernels)
    images = {}
    for name, found in _each(text, filename, kernels, lambda module, f: compile_function(module, f, options)):
        if isinstance(found, CompileError):
            raise found
        images[name] = found
    return images


def compile_module(text: str, filename: str = "<ptx>", options: CompileOptions | None = None,
                   kernels: Collection[str] | None = None, observer: Observer = UNOBSERVED) -> Compiled:
    """Compile all kernels of a PTX module that can be compiled, and say why the others cannot.

    Parameters
    ----------
    text, filename, options, kernels
        Arguments of `compile_ptx`.
    observer : Observer, optional

    Raises
    ------
    CompileError
        If the text is not PTX, or has no kernel of a name.
    """
    found = dict(_each(text, filename, kernels, lambda module, f: compile_function(module, f, options, observer)))
    return Compiled(tuple(found), {name: image for name, image in found.items() if isinstance(image, KernelImage)},
                    {name: error for name, error in found.items() if isinstance(error, CompileError)})


def run_passes(text: str, filename: str, passes: Sequence[str], options: CompileOptions | None = None,
               kernels: Collection[str] | None = None, observer: Observer = UNOBSERVED
               ) -> dict[str, KernelImage | Kernel | CompileError]:
    """Run chosen passes on the kernels of a PTX module, and return what they make of them.

    Parameters
    ----------
    text, filename, options, kernels
        Arguments of `compile_ptx`.
    passes : sequence of str
        Names of passes, in their order (`passes.PASSES`).
    observer : Observer, optional

    Returns
    -------
    dict of str to KernelImage, Kernel or CompileError
        Results by entry name: the image if ``emit`` is the last pass, else the IR; or the error.

    Raises
    ------
    InputError
        If there is no such pass, or one takes IR of another stage.
    CompileError
        If the text is not PTX, or has no kernel of a name.
    """
    check_order(passes)
    chosen = options or CompileOptions()
    return dict(_each(text, filename, kernels, lambda module, function: _run(
        module, function, chosen, observer, lambda compilation: compilation.run_only(passes))))


@collect_seldom()
def entries(text: str, filename: str = "<ptx>") -> dict[str, tuple[Module, Function]]:
    """Return the kernels of a PTX module by name, each with the module; `compile_function` takes such pairs.

    Raises
    ------
    CompileError
        If the text is not PTX, or has none.
    """
    module = parse(text, filename)
    found = {f.name: (module, f) for f in module.functions if f.kind == "entry" and f.defined}
    if not found:
        lines = text.split("\n")
        raise CompileError("no kernel in the file, which ends here", filename, len(lines),
                           supported=".visible .entry name(...) { ... }", column=len(lines[-1]) + 1)
    return found


def _each(text: str, filename: str, kernels: Collection[str] | None, work: Callable[[Module, Function], Result]
          ) -> Iterator[tuple[str, Result | CompileError]]:
    """Yield the result of `work` for each requested kernel, or its refusal, in the order of the file."""
    known = entries(text, filename)
    for name in kernels if kernels is not None else ():
        if name not in known:
            raise CompileError(f"no kernel {name!r} in the file; {alternatives(name, known)}", filename)
    for name, (module, function) in known.items():
        if kernels is None or name in kernels:
            try:
                yield name, work(module, function)
            except CompileError as error:
                yield name, error


def _check_block(function: Function, filename: str) -> None:
    """Refuse thread blocks that do not fit any SM."""
    for name in ("maxntid", "reqntid"):
        sizes = function.attributes.get(name, ())
        wanted = "positive" if any(n < 1 for n in sizes) else \
            f"at most {MAX_BLOCK_THREADS} threads" if math.prod(sizes) > MAX_BLOCK_THREADS else ""
        if wanted:
            raise CompileError(f".{name} of kernel {function.name} must be {wanted}", filename, function.line,
                               column=function.column)


def compile_function(module: Module, function: Function, options: CompileOptions | None = None,
                     observer: Observer = UNOBSERVED) -> KernelImage:
    """Compile one entry of a parsed module; raises as `compile_ptx`, for a whole kernel at the line of its name."""
    return _run(module, function, options or CompileOptions(), observer, Compilation.run)


@collect_seldom()
def _run(module: Module, function: Function, options: CompileOptions, observer: Observer,
         work: Callable[[Compilation], Result]) -> Result:
    """Return the result of `work` for an entry, after lowering it."""
    try:
        _check_block(function, module.file)
        compilation = _lowered(module, function, options, observer)
        try:
            return work(compilation)
        except CompileError as error:
            if not compilation.kernel.routines or options.calls != "auto":
                raise
            observer.restarted(compilation.kernel, error)
        inlined = dataclasses.replace(options, calls="never")  # what is inlined may be spilled
        return work(_lowered(module, function, inlined, observer))
    except CompileError as error:
        if not error.line:
            error = CompileError(error.message, error.file, function.line, supported=error.supported,
                                 column=function.column)
        raise error.from_origin(module.lines.at(error.line)) from None


def _lowered(module: Module, function: Function, options: CompileOptions, observer: Observer) -> Compilation:
    leaves = Leaves(module, options)
    kernel = lower(module, expand(module, function, leaves.wanted), leaves.routine, options.check_addresses)
    return Compilation(kernel, options, module.lines.at, observer)
