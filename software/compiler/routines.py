"""Which functions are called as leaf subroutines, and their code.

A function can be a routine if it only computes its results from its arguments, on every path. It uses no memory, no
special register, no exchange between lanes, no barrier, no loop and no exit (`ir.kernel.Routine`). So equal arguments
give equal results, in every lane. Calls inside it are inlined. Size decides whether it becomes a routine: each call
takes `CALL_WORDS`, each copy takes the whole length, and a copy is faster. It is called

1. never, if `CompileOptions.calls` is ``"never"``, and always if that is ``"always"``; else
2. if the call makes the kernel shorter by at least `LEAST_SAVED` instructions; short functions must save more, because
   a call takes a larger part of their time; and
3. if its longest path takes at most half of an interval between preemption points; and
4. if the registers of the target suffice: a routine's registers are fixed, whereas a copy can spill every value.
"""

from __future__ import annotations

import dataclasses
import functools

from caesura.hw.arch.geometry import MAX_REGISTERS

from .analysis.calls import summarise
from .codegen.block_layout import lay_out
from .errors import CompileError
from .ir.cfg import graph as flow_graph
from .ir.cfg import words
from .ir.digraph import is_acyclic
from .ir.kernel import Kernel, Op, Routine, Summary
from .ir.spec import is_convergent, is_memory, is_pure, verify
from .library import routine as library_function
from .lower.expand import routine_program
from .lower.kernel import lower
from .lower.legalize import legalize
from .optimize.condition_chains import chain_conditions
from .optimize.fixpoint import optimize
from .optimize.if_conversion import convert_ifs
from .optimize.select_immediates import select_immediates
from .optimize.simplify_cfg import simplify_cfg
from .optimize.sink import sink
from .options import CompileOptions
from .ptx.syntax import Function, Module
from .registers.allocate import allocate

__all__ = ["CALL_WORDS", "LEAST_SAVED", "LONG", "Leaves"]

CALL_WORDS = 4
"""Instructions of a call at its place: the call itself, and moves of arguments and results that stay."""
LONG = 50
"""Instructions of a long function."""
LEAST_SAVED = 100, 300
"""Instructions that calls of a long and of a short function must save before it is called."""


@dataclasses.dataclass(frozen=True)
class Leaf:
    """A function compiled as a routine.

    Attributes
    ----------
    routine : Routine
    words : int
        Length of the routine in instruction words.
    summary : Summary
    """

    routine: Routine
    words: int
    summary: Summary


class Leaves:
    """The routines that a kernel of a module may call.

    Parameters
    ----------
    module : Module
    options : CompileOptions
    """

    def __init__(self, module: Module, options: CompileOptions):
        self._module, self._options = module, options
        self._found: dict[str, Leaf | None] = {}

    def wanted(self, function: Function, uses: int) -> str:
        """Return the routine to call for `function`, of the module or the library, if it is used `uses` times.

        Empty if it is to be inlined.
        """
        mode = self._options.calls
        if mode == "never" or not uses or mode == "auto" and uses < 2:
            return ""
        own = library_function(function.name) is not function
        name = f"{function.name}`" if own else function.name
        if name not in self._found:
            self._found[name] = _compiled(self._module, function, name) if own else _library_leaf(name)
        leaf = self._found[name]
        if leaf is None or 2 * leaf.summary.most > self._options.interval:
            return ""
        saved = uses * (leaf.words - CALL_WORDS) - leaf.words
        return name if mode == "always" or saved >= LEAST_SAVED[leaf.words < LONG] else ""

    def routine(self, name: str) -> Routine:
        """Return the code of a routine that `wanted` has named."""
        leaf = self._found[name]
        assert leaf is not None
        return leaf.routine


@functools.cache
def _library_leaf(name: str) -> Leaf | None:
    function = library_function(name)
    assert function is not None
    return _compiled(Module(f"{name}.ptx"), function, name)


def _compiled(module: Module, function: Function, name: str) -> Leaf | None:
    """Return a function as a routine of that name; None if it cannot be one."""
    try:
        program = routine_program(module, function)
        if program is None:
            return None
        body = lower(module, program)
        legalize(body)
        optimize(body)
        if not _only_computes(body):
            return None
        if convert_ifs(body):
            optimize(body)
        chain_conditions(body)
        select_immediates(body)
        sink(body)
        verify(body, "narrow")
        allocate(body, MAX_REGISTERS)
    except CompileError:
        return None  # inlined, it says what is wrong, and where
    simplify_cfg(body)
    lay_out(body)
    verify(body, "machine")
    return _measured(Routine(name, body))


def _only_computes(body: Kernel) -> bool:
    """Return whether the code may be called; its longest path is then at most its length."""
    ends = [block.ops[-1:] for block in body.blocks if not block.end.targets]
    returns = len(ends) == 1 and [op.name for op in ends[0]] == ["bru"]
    return returns and is_acyclic(flow_graph(body)) and all(
        op.name in ("enter", "bru") or is_pure(op) and not is_memory(op) and not is_convergent(op) and op.name != "s2r"
        for op in body.ops())


def _measured(routine: Routine) -> Leaf | None:
    """Return a routine with its final size, without its ``enter``; None if it does not define its results."""
    blocks = routine.body.blocks
    head = blocks[0].ops[0]
    assert head.name == "enter", f"{routine.name} does not begin with its arguments"
    plain = [dataclasses.replace(block, ops=[Op("bru") if op.name == "bru" else op for op in block.ops
                                             if op is not head]) for block in blocks]
    body = Kernel(routine.name, plain)
    sizes = words(plain)
    summary = summarise(body, sizes)
    arguments = frozenset(head.written())
    if not (summary.reads <= arguments and summary.kills | arguments >= set(routine.results)):
        return None
    return Leaf(routine, sum(sizes.values()), summary)
