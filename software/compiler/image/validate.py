"""Checks of the facts of a kernel image from any source: kinds, ranges, and places within their bounds.

An image from any source is trusted only after `check_facts`. `code_check` judges its words, and `preemption.check`
judges other facts that a preemption relies on.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from caesura.hw.arch.geometry import (
    INSTRUCTION_BYTES,
    MAX_BLOCK_THREADS,
    MAX_PARAM_BYTES,
    MAX_REGISTERS,
    PC_NONE,
    PREDICATES,
)
from caesura.hw.arch.isa.opcodes import VECTOR_WORDS

from ..errors import ImageError
from ..ir.spaces import MAX_CONSTANT_BYTES, MAX_GLOBAL_BYTES, MAX_LOCAL_BYTES, MAX_SHARED_BYTES
from ..ir.variables import EVICTION, LAUNCH, Binding, Parameter, Relocation, Symbol
from ..origins import Origin
from ..source import is_line
from .kernel_image import KernelImage, PreemptionPoint

__all__ = ["RANGES", "check_facts"]

RANGES = {"registers": (1, MAX_REGISTERS), "predicates": (0, PREDICATES), "shared_bytes": (0, MAX_SHARED_BYTES),
          "local_bytes": (0, MAX_LOCAL_BYTES), "routine_bytes": (0, MAX_LOCAL_BYTES),
          "spill_bytes": (0, MAX_LOCAL_BYTES), "stack_depth": (1, 64), "max_threads": (0, MAX_BLOCK_THREADS),
          "barrier_threads": (0, MAX_BLOCK_THREADS), "global_bytes": (0, MAX_GLOBAL_BYTES)}
"""Least and greatest value of each number of an image."""
_MOST_LINE = (1 << 31) - 1
_LISTS = {"code": int, "lines": int, "traps": int, "parameters": Parameter, "symbols": Symbol, "bindings": Binding,
          "relocations": Relocation, "points": PreemptionPoint, "origins": Origin, "origin_numbers": int}
"""Fields that are tuples, and the type of their elements."""


class _Checker:
    """Raises at the first error, with the field's name."""

    def __init__(self, where: str):
        self.where = where

    def need(self, condition: bool, field: str, wanted: str, value: Any) -> None:
        if not condition:
            shown = repr(value)
            raise ImageError(f"{self.where}: bad kernel record: {field} must be {wanted}, not "
                             f"{shown if len(shown) < 60 else shown[:57] + '...'}")

    def integer(self, value: Any, field: str, low: int, high: int) -> None:
        self.need(type(value) is int and low <= value <= high, field, f"an integer from {low} to {high}", value)

    def text(self, value: Any, field: str, empty: bool = True) -> None:
        fine = isinstance(value, str) and (empty or bool(value)) and is_line(value)
        self.need(fine, field, "text without control characters", value)

    def choice(self, value: Any, field: str, names: tuple[str, ...]) -> None:
        self.need(isinstance(value, str) and value in names, field, f"one of {', '.join(names)}", value)

    def integers(self, values: Iterable[Any], field: str, high: int) -> None:
        for value in values:
            if not (type(value) is int and 0 <= value <= high):
                self.integer(value, field, 0, high)

    def within(self, item: Any, field: str, size: int, bytes_of: int) -> None:
        """Check that `item.offset` and `size` bytes from there lie in `bytes_of` bytes."""
        self.integer(item.offset, f"{field}.offset", 0, bytes_of)
        self.integer(size, f"{field} size", 0, bytes_of - item.offset)


def check_facts(image: KernelImage, where: str) -> None:
    """Check all facts of an image but its code.

    Raises
    ------
    ImageError
        The message names the wrong field; `where` begins the message.
    """
    check = _Checker(where)
    _check_kinds(check, image)
    check.text(image.name, "name", empty=False)
    for field, (low, high) in RANGES.items():
        check.integer(getattr(image, field), field, low, high)
    for field in ("local_bytes", "routine_bytes"):
        check.need(getattr(image, field) % 4 == 0, field, "a multiple of 4", getattr(image, field))
    check.need(image.spill_bytes <= image.local_bytes, "spill_bytes", f"at most {image.local_bytes} (local_bytes)",
               image.spill_bytes)
    check.need(image.all_local_bytes <= MAX_LOCAL_BYTES, "routine_bytes",
               f"at most {MAX_LOCAL_BYTES - image.local_bytes}", image.routine_bytes)
    check.text(image.source, "source")
    check.need(len(image.constants) <= MAX_CONSTANT_BYTES, "constants", f"at most {MAX_CONSTANT_BYTES} bytes",
               len(image.constants))
    check.need(len(image.global_data) <= image.global_bytes, "global_data", f"at most {image.global_bytes} bytes",
               len(image.global_data))
    block = image.required_block
    check.need(block is None or len(block) == 3 and all(type(n) is int and n > 0 for n in block)
               and math.prod(block) <= MAX_BLOCK_THREADS, "required_block",
               f"three sizes of at most {MAX_BLOCK_THREADS} threads", block)
    check.need(len(image.lines) in (0, len(image.code)), "lines", f"none or {len(image.code)}", len(image.lines))
    check.integers(image.lines, "lines", _MOST_LINE)
    check.need(len(image.origin_numbers) in (0, len(image.code)), "origin_numbers", f"none or {len(image.code)}",
               len(image.origin_numbers))
    check.integers(image.origin_numbers, "origin_numbers", len(image.origins))
    vectors = VECTOR_WORDS * len(image.code)
    check.need(not image.traps or len(image.traps) >= vectors, "traps", f"none or {vectors} words at least",
               len(image.traps))
    _check_lists(check, image)


def _check_kinds(check: _Checker, image: KernelImage) -> None:
    """Check the types of the fields; an image with these types is immutable."""
    check.need(type(image) is KernelImage, "it", "a KernelImage", type(image).__name__)
    for field, kind in _LISTS.items():
        value = getattr(image, field)
        check.need(type(value) is tuple and all(type(item) is kind for item in value), field,
                   f"a tuple of {kind.__name__}", value)
    for field in ("constants", "global_data"):
        check.need(type(getattr(image, field)) is bytes, field, "bytes", getattr(image, field))
    check.need(bool(image.code), "code", "one instruction at least", image.code)
    most = (1 << 8 * INSTRUCTION_BYTES) - 1
    check.integers(image.code, "code", most)
    check.integers(image.traps, "traps", most)
    check.need(len(image.words) < PC_NONE, "code and traps", f"fewer than {PC_NONE} words", len(image.words))
    block = image.required_block
    check.need(block is None or type(block) is tuple, "required_block", "a tuple or None", block)


def _check_lists(check: _Checker, image: KernelImage) -> None:
    for parameter in image.parameters:
        check.text(parameter.name, "parameters.name", empty=False)
        check.text(parameter.type, "parameters.type", empty=False)
        check.within(parameter, "parameters", parameter.size, MAX_PARAM_BYTES)
        for field in ("pointer", "texture"):
            value = getattr(parameter, field)
            check.need(type(value) is bool, f"parameters.{field}", "true or false", value)
    names = [parameter.name for parameter in image.parameters]
    check.need(len(set(names)) == len(names), "parameters", "named differently", names)
    spaces = {"const": len(image.constants), "global": image.global_bytes}
    for symbol in image.symbols:
        check.text(symbol.name, "symbols.name", empty=False)
        check.text(symbol.type, "symbols.type", empty=False)
        check.choice(symbol.space, "symbols.space", tuple(spaces))
        check.within(symbol, "symbols", symbol.size, spaces[symbol.space])
    for relocation in image.relocations:
        check.choice(relocation.space, "relocations.space", tuple(spaces))
        check.integer(relocation.width, "relocations.width", 1, 8)
        check.within(relocation, "relocations", relocation.width, spaces[relocation.space])
        check.integer(relocation.addend, "relocations.addend", -(1 << 63), (1 << 64) - 1)
        check.integer(relocation.shift, "relocations.shift", 0, 63)
    for binding in image.bindings:
        check.choice(binding.kind, "bindings.kind", ("global", "texture", EVICTION, LAUNCH))
        check.text(binding.name, "bindings.name")
        check.within(binding, "bindings", 4 * binding.words, MAX_PARAM_BYTES)
        check.need(binding.offset % 4 == 0, "bindings.offset", "a multiple of 4", binding.offset)
    for point in image.points:
        check.integer(point.pc, "points.pc", 0, len(image.code) - 1)
        check.choice(point.rule, "points.rule", ("loop", "interval"))
        if point.loop is not None:
            check.integer(point.loop, "points.loop", 0, len(image.code) - 1)
        _check_counts(check, (point.candidates, point.live, point.most))


def _check_counts(check: _Checker, counts: Iterable[Any]) -> None:
    for count in counts:
        check.integer(count, "points", 0, _MOST_LINE)
