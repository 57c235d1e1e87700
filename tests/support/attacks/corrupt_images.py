"""Kernel images that are damaged, as made in Python: a driver refuses each with one message, or loads it unharmed."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

from caesura.hw.arch.isa.formats import FIELDS, Format
from caesura.hw.arch.isa.liveness import LIVE_BITS
from caesura.hw.arch.isa.opcodes import OPCODES
from caesura.software.compiler import KernelImage

__all__ = ["DAMAGE", "corrupt"]

_FIELDS = tuple(KernelImage.__dataclass_fields__)
_EXTREMES: tuple[Any, ...] = (0, 1, -1, 2, 3, 7, 63, 64, 65, 255, 4096, 65535, 65536, 1 << 20, (1 << 31) - 1, 1 << 31,
                              1 << 32, 1 << 63, 1 << 64, 10 ** 30)
_STRANGE: tuple[Any, ...] = (None, True, 1.5, float("nan"), "", "x", "\x00", "é" * 5000, b"", b"abc", (), (0,), [1, 2],
                             {}, ((),), (None,), ("a", 1), object())
_LIVENESS = frozenset(op.code for op in OPCODES if op.format is Format.L)


def _replaced(image: KernelImage, **facts: Any) -> KernelImage:
    return KernelImage(**{name: getattr(image, name) for name in _FIELDS} | facts)


def _with_words(image: KernelImage, words: Sequence[int]) -> KernelImage:
    """Return an image with other words, as many of them its own as before."""
    own = len(image.code)
    return _replaced(image, code=tuple(words[:own]), traps=tuple(words[own:]))


def _bits(rng: random.Random, image: KernelImage, images: Sequence[KernelImage]) -> KernelImage:
    words = list(image.words)
    for _ in range(rng.randrange(1, 4)):
        words[rng.randrange(len(words))] ^= 1 << rng.randrange(64)
    return _with_words(image, words)


def _random_words(rng: random.Random, image: KernelImage, images: Sequence[KernelImage]) -> KernelImage:
    """Words of known opcodes and of any, one or many."""
    words = list(image.words)
    for _ in range(rng.choice((1, 1, 2, 5, len(words)))):
        known = rng.choice(OPCODES).code << LIVE_BITS | rng.getrandbits(LIVE_BITS)
        words[rng.randrange(len(words))] = rng.choice((known, known, rng.getrandbits(64)))
    return _with_words(image, words)


def _targets(rng: random.Random, image: KernelImage, images: Sequence[KernelImage]) -> KernelImage:
    """Where a branch leads, or a reconvergence point, mostly among the words that there are."""
    words = list(image.words)
    for at, word in enumerate(words):
        form = Format.B if word >> LIVE_BITS == 0x180 else Format.C if word >> LIVE_BITS == 0x185 else None
        if form and rng.random() < 0.5:
            low, width = FIELDS[form]["target" if form is Format.C else rng.choice(("target", "reconv"))]
            to = rng.choice((rng.randrange(len(words)), rng.randrange(len(words)), len(words), rng.getrandbits(width)))
            words[at] = word & ~((1 << width) - 1 << low) | to << low
    return _with_words(image, words)


def _vectors(rng: random.Random, image: KernelImage, images: Sequence[KernelImage]) -> KernelImage:
    """Liveness vectors exchanged, changed, and moved among other words."""
    words = list(image.words)
    points = [at for at, word in enumerate(words) if word >> LIVE_BITS in _LIVENESS]
    if not points:
        return image
    at, other = rng.choice(points), rng.choice(points)
    payload = (1 << LIVE_BITS) - 1
    kind = rng.randrange(4)
    if kind == 0:
        change = (words[at] ^ words[other]) & payload
        words[at], words[other] = words[at] ^ change, words[other] ^ change
    elif kind == 1:
        words[at], words[other] = words[other], words[at]
    elif kind == 2:
        words[at] = words[at] & ~payload | rng.getrandbits(LIVE_BITS)
    else:
        to = rng.randrange(len(words))
        words[at], words[to] = words[to], words[at]
    return _with_words(image, words)


def _truncated(rng: random.Random, image: KernelImage, images: Sequence[KernelImage]) -> KernelImage:
    cut = rng.randrange(len(image.code))
    return rng.choice((
        lambda: _replaced(image, code=image.code[:cut]), lambda: _replaced(image, code=image.code[cut:]),
        lambda: _replaced(image, code=image.code[:cut], lines=image.lines[:cut], points=(), origins=(),
                          origin_numbers=(), traps=()),
        lambda: _replaced(image, lines=image.lines[:cut]), lambda: _replaced(image, traps=image.traps[cut:]),
        lambda: _replaced(image, constants=image.constants[:cut])))()


def _spliced(rng: random.Random, image: KernelImage, images: Sequence[KernelImage]) -> KernelImage:
    other = rng.choice(images)
    head, tail = rng.randrange(len(image.code)), rng.randrange(len(other.code))
    return _replaced(image, code=image.code[:head] + other.code[tail:], lines=(), points=(), origins=(),
                     origin_numbers=(), traps=rng.choice(((), other.traps)))


def _fact(rng: random.Random, image: KernelImage, images: Sequence[KernelImage]) -> KernelImage:
    """A field that is another image's, a number beyond, or of a kind that it cannot have."""
    name = rng.choice(_FIELDS)
    value = rng.choice((lambda: rng.choice(_EXTREMES), lambda: rng.choice(_STRANGE),
                        lambda: getattr(rng.choice(images), name), lambda: _near(rng, getattr(image, name))))()
    return _replaced(image, **{name: value})


def _near(rng: random.Random, value: Any) -> Any:
    """Return a value of the same kind that differs somewhere."""
    if isinstance(value, int):
        return value + rng.choice((-1, 1, 2, -4, 4))
    if isinstance(value, tuple) and value:
        at = rng.randrange(len(value))
        item = value[at]
        if hasattr(item, "__dataclass_fields__"):
            field = rng.choice(tuple(item.__dataclass_fields__))
            old = getattr(item, field)
            values = {name: getattr(item, name) for name in item.__dataclass_fields__}
            item = type(item)(**values | {field: rng.choice((*_EXTREMES, *_STRANGE, _near(rng, old)))})
        else:
            item = rng.choice((_near(rng, item), *_EXTREMES))
        return value[:at] + (item,) + value[at + 1:]
    if isinstance(value, (str, bytes)):
        return value * 2 if value else type(value)()
    return None


DAMAGE: dict[str, Callable[[random.Random, KernelImage, Sequence[KernelImage]], KernelImage]] = {
    "bits of words": _bits, "random words": _random_words, "branch targets": _targets, "liveness vectors": _vectors,
    "truncated": _truncated, "spliced": _spliced, "facts": _fact}
"""Kinds of damage."""


def corrupt(images: Sequence[KernelImage], seed: int) -> tuple[str, KernelImage]:
    """Return a kind of damage, and one of the images with it; the same for the same seed."""
    rng = random.Random(f"image {seed}")
    kind = tuple(DAMAGE)[seed % len(DAMAGE)]
    return kind, DAMAGE[kind](rng, rng.choice(images), images)
