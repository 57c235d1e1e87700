"""From PTX text to kernel images: the passes in their order, the verifier between them."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Collection, Iterator

from caesura.hw.arch.geometry import MAX_BLOCK_THREADS
from caesura.software.names import alternatives

from .analysis.pointers import mark_pointers
from .codegen.block_layout import lay_out
from .codegen.emit import emit
from .compiled import Compiled
from .errors import CompileError
from .garbage_collection import collect_seldom
from .image.kernel_image import KernelImage
from .ir.kernel import Kernel
from .ir.spec import verify
from .lower.expand import expand
from .lower.kernel import lower
from .lower.legalize import legalize
from .optimize.condition_chains import chain_conditions
from .optimize.fixpoint import optimize
from .optimize.if_conversion import convert_ifs
from .optimize.select_immediates import select_immediates
from .optimize.simplify_cfg import simplify_cfg
from .optimize.sink import sink
from .optimize.unify_loop_exits import unify_loop_exits
from .options import CompileOptions
from .preemption.check import check_image
from .preemption.placement import place_points, set_barrier_liveness
from .ptx.parser import parse
from .ptx.syntax import Function, Module
from .registers.allocate import allocate
from .routines import Leaves
from .uniform.scalarize import use_uniform_registers

__all__ = ["compile_ptx", "compile_module", "compile_function", "entries"]


def compile_ptx(text: str, filename: str = "<ptx>", options: CompileOptions | None = None,
                kernels: Collection[str] | None = None) -> dict[str, KernelImage]:
    """Compile kernels of a PTX module; one that is refused refuses all of them.

    Parameters
    ----------
    text : str
        PTX, as ``nvcc -ptx`` writes it.
    filename : str
        For messages and `KernelImage.source`.
    options : CompileOptions, optional
    kernels : collection of str, optional
        Entry names; every kernel unless given.

    Returns
    -------
    dict of str to KernelImage
        By entry name, in the order of the file.

    Raises
    ------
    CompileError
        If the text is not PTX, has no kernel of a name, or a kernel uses something that is not supported, or needs
        too many registers.
    """
    images = {}
    for name, found in _each(text, filename, options, kernels):
        if isinstance(found, CompileError):
            raise found
        images[name] = found
    return images


def compile_module(text: str, filename: str = "<ptx>", options: CompileOptions | None = None,
                   kernels: Collection[str] | None = None) -> Compiled:
    """Compile those kernels of a PTX module that can be compiled, and say of the others why they cannot.

    Parameters are those of `compile_ptx`.

    Raises
    ------
    CompileError
        If the text is not PTX, or has no kernel of a name.
    """
    found = dict(_each(text, filename, options, kernels))
    return Compiled(tuple(found), {name: image for name, image in found.items() if isinstance(image, KernelImage)},
                    {name: error for name, error in found.items() if isinstance(error, CompileError)})


@collect_seldom()
def entries(text: str, filename: str = "<ptx>") -> dict[str, tuple[Module, Function]]:
    """Return the kernels of a PTX module by name, each with the module, as `compile_function` takes them.

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


def _each(text: str, filename: str, options: CompileOptions | None, kernels: Collection[str] | None
          ) -> Iterator[tuple[str, KernelImage | CompileError]]:
    """Yield each kernel asked for, or why it is refused, in the order of the file."""
    known = entries(text, filename)
    for name in kernels if kernels is not None else ():
        if name not in known:
            raise CompileError(f"no kernel {name!r} in the file; {alternatives(name, known)}", filename)
    for name, (module, function) in known.items():
        if kernels is None or name in kernels:
            try:
                yield name, compile_function(module, function, options)
            except CompileError as error:
                yield name, error


def _check_block(function: Function, filename: str) -> None:
    """Refuse thread blocks that no SM has."""
    for name in ("maxntid", "reqntid"):
        sizes = function.attributes.get(name, ())
        wanted = "positive" if any(n < 1 for n in sizes) else \
            f"at most {MAX_BLOCK_THREADS} threads" if math.prod(sizes) > MAX_BLOCK_THREADS else ""
        if wanted:
            raise CompileError(f".{name} of kernel {function.name} must be {wanted}", filename, function.line,
                               column=function.column)


@collect_seldom()
def compile_function(module: Module, function: Function, options: CompileOptions | None = None) -> KernelImage:
    """Compile one entry of a parsed module; errors as `compile_ptx`, those of the whole kernel at its name."""
    try:
        return _compile(module, function, options or CompileOptions())
    except CompileError as error:
        if not error.line:
            error = CompileError(error.message, error.file, function.line, supported=error.supported,
                                 column=function.column)
        raise error.from_origin(module.lines.at(error.line)) from None


def _compile(module: Module, function: Function, options: CompileOptions) -> KernelImage:
    _check_block(function, module.file)
    leaves = Leaves(module, options)
    kernel = lower(module, expand(module, function, leaves.wanted), leaves.routine, options.check_addresses)
    _verify(kernel, "wide", options)
    mark_pointers(kernel)
    legalize(kernel)
    _verify(kernel, "narrow", options)
    optimize(kernel)
    if convert_ifs(kernel):
        optimize(kernel)
    _verify(kernel, "narrow", options)
    if unify_loop_exits(kernel):
        simplify_cfg(kernel)
        _verify(kernel, "narrow", options)
    chain_conditions(kernel)
    select_immediates(kernel)
    sink(kernel)
    if options.uniform:
        use_uniform_registers(kernel)
        _verify(kernel, "narrow", options)
    try:
        allocate(kernel, options.max_registers)
    except CompileError:
        if not kernel.routines or options.calls != "auto":
            raise
        return _compile(module, function, dataclasses.replace(options, calls="never"))  # inlined, it may be spilled
    simplify_cfg(kernel)
    lay_out(kernel)
    _verify(kernel, "machine", options)
    set_barrier_liveness(kernel)
    placed = []
    if options.preemption_points:
        placed = place_points(kernel, options.interval)
        _verify(kernel, "machine", options)
    image = emit(kernel, placed).with_origins(module.lines.at)
    if options.verify and options.preemption_points:
        check_image(image)
    return image


def _verify(kernel: Kernel, stage: str, options: CompileOptions) -> None:
    if options.verify:
        verify(kernel, stage)
