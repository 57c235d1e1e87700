"""Prints all results of the compiler for some kernels, one per line with its hash, for `test_hash_seeds`.

Run as ``python -m support.software.everything_compiled CASE...``. A case is ``ptx:NAME`` (a shipped kernel, its IR
after each pass, also with few registers), ``plans:NAME`` (its explanation, flashback plans and preemption routines),
``file:PATH`` (any PTX; refusals count), or ``gfx906:NAME`` (plans of an OpenCL kernel).
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from caesura.cache import digest
from caesura.errors import UserError
from caesura.hw.arch.geometry import PRESETS
from caesura.software.compiler import CompileError, CompileOptions, amdgpu, compile_module
from caesura.software.compiler.codegen.elf import write_elf
from caesura.software.compiler.codegen.listing import listing
from caesura.software.compiler.explain import explain
from caesura.software.compiler.flashback import machine_code
from caesura.software.compiler.flashback.costs import Objective
from caesura.software.compiler.flashback.kernel import flashback
from caesura.software.compiler.flashback.kinds import ROUTINES
from caesura.software.compiler.flashback.traps import with_routines
from caesura.software.compiler.ir.text import show
from caesura.software.compiler.passes import Observer
from caesura.software.compiler.preemption.restartable import spoilers
from caesura.software.kernels import KERNELS, opencl
from caesura.software.report.flashback import flashback_json

Fact = tuple[str, object]
_OPTIONS = {"": CompileOptions(), "few": CompileOptions(max_registers=16, interval=40)}
_MACHINE = PRESETS["gtx480"]


def compiled(text: str, source: str, options: CompileOptions) -> Iterator[Fact]:
    """Yield IR after each pass, images and refusals of a PTX text."""
    found: list[Fact] = []
    observer = Observer(lambda name, kernel: found.append((f"{kernel.name} after {name}", show(kernel))),
                        lambda kernel, reason: found.append((f"{kernel.name} again", str(reason))))
    try:
        result = compile_module(text, source, options, observer=observer)
    except CompileError as error:
        yield "refused", str(error)
        return
    yield from found
    for name, image in result.images.items():
        yield f"{name} image", write_elf([image]).hex()
        yield f"{name} listing", listing(image)
    yield from ((f"{name} refused", str(error)) for name, error in result.refusals.items())


def plans(program: machine_code.Program) -> Iterator[Fact]:
    """Yield the flashback plans of a kernel."""
    for objective in Objective:
        found = flashback(program, objective)
        yield f"plans by {objective.value}", flashback_json(found)
        yield f"routines by {objective.value}", found.sharing


def _explained(name: str) -> Iterator[Fact]:
    image = KERNELS[name].image()
    yield "explanation", explain(image, _MACHINE)
    yield "spoilers", spoilers(image)
    yield from plans(machine_code.program(image, _MACHINE))
    for routines, (kind, form) in ROUTINES.items():
        try:
            yield f"traps {routines}", write_elf([with_routines(image, _MACHINE, kind, form=form)]).hex()
        except UserError as error:
            yield f"traps {routines}", str(error)


def facts(case: str) -> Iterator[Fact]:
    """Yield all that is made of a case: what it is, and a value whose text is the same if it is."""
    kind, _, name = case.partition(":")
    if kind == "gfx906":
        one, = (each for each in opencl.KERNELS if each.name == name)
        yield from plans(amdgpu.program(amdgpu.read(one.assembly).kernel(name)))
    elif kind == "plans":
        yield from _explained(name)
    else:
        path = KERNELS[name].ptx_path if kind == "ptx" else Path(name)
        for label, options in _OPTIONS.items():
            for what, value in compiled(path.read_text(errors="replace"), path.name, options):
                yield f"{what} {label}", value


if __name__ == "__main__":
    for case in sys.argv[1:]:
        for number, (what, value) in enumerate(facts(case)):
            print(case, number, what, digest([str(value)]))
