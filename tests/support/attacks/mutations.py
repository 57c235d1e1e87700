"""Mutations of files of any kind: what a reader must take or refuse with one clear message, and never choke on."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

__all__ = ["EXTREMES", "mutate_bytes", "mutate_text"]

EXTREMES = ("0", "-1", "1", "255", "65536", "4294967295", "4294967296", "18446744073709551616", "1e999", "-1e308",
            "nan", "inf", "9" * 400, "9" * 5000, "0x" + "f" * 40, '""', '"' + "x" * 5000 + '"', "[]", "{}", "[" * 300,
            "true", "null", "\x00", "é", "\u2028", "\ud7ff", "../" * 50, "a." * 2000)
"""Replacements of a value or a character."""
_PLACES = "0123456789abcdefxyzABCR {}[]()<>=:;,.\"'#\\/-+\n\t"


def mutate_text(texts: Sequence[str], seed: int) -> str:
    """Return one of the texts with one to four mutations; the same for the same seed."""
    rng = random.Random(f"text {seed}")
    text = rng.choice(texts)
    for _ in range(rng.randrange(1, 5)):
        text = rng.choice(_MUTATIONS)(rng, text, texts)
    return text


def mutate_bytes(files: Sequence[bytes], seed: int) -> bytes:
    """Return one of the files with one to eight bytes changed, or a part lost, doubled or filled; repeatable."""
    rng = random.Random(f"bytes {seed}")
    file = bytearray(rng.choice(files))
    for _ in range(rng.randrange(1, 9)):
        if not file:
            break
        at = rng.randrange(len(file))
        length = min(len(file) - at, rng.choice((1, 1, 1, 2, 4, 8, 64)))
        kind = rng.randrange(8)
        if kind < 4:
            file[at] ^= 1 << rng.randrange(8)
        elif kind == 4:
            file[at:at + length] = rng.randbytes(length)
        elif kind == 5:
            file[at:at + length] = bytes([rng.choice((0, 0xff, 0x7f, 0x80))]) * length
        elif kind == 6:
            del file[at:at + length]
        else:
            file[at:at] = file[at:at + length]
    return bytes(file)


def _span(rng: random.Random, text: str, longest: int) -> tuple[int, int]:
    at = rng.randrange(len(text) + 1)
    return at, min(len(text), at + rng.randrange(1, longest))


def _drop(rng: random.Random, text: str, _: Sequence[str]) -> str:
    start, end = _span(rng, text, 20)
    return text[:start] + text[end:]


def _double(rng: random.Random, text: str, _: Sequence[str]) -> str:
    start, end = _span(rng, text, 60)
    return text[:end] + text[start:end] + text[end:]


def _character(rng: random.Random, text: str, _: Sequence[str]) -> str:
    at = rng.randrange(len(text) + 1)
    return text[:at] + rng.choice(_PLACES) + text[at + 1:]


def _words(text: str) -> list[tuple[int, int]]:
    spans, start = [], None
    for at, c in enumerate(text + " "):
        inside = c.isalnum() or c in "_.$%"
        if inside and start is None:
            start = at
        elif not inside and start is not None:
            spans.append((start, at))
            start = None
    return spans


def _extreme(rng: random.Random, text: str, _: Sequence[str]) -> str:
    words = _words(text)
    start, end = rng.choice(words) if words else (0, 0)
    return text[:start] + rng.choice(EXTREMES) + text[end:]


def _foreign(rng: random.Random, text: str, texts: Sequence[str]) -> str:
    words, other = _words(text), rng.choice(texts)
    others = _words(other)
    if not words or not others:
        return text
    (start, end), (first, last) = rng.choice(words), rng.choice(others)
    return text[:start] + other[first:last] + text[end:]


def _lines(rng: random.Random, text: str, texts: Sequence[str]) -> str:
    lines, other = text.split("\n"), rng.choice(texts).split("\n")
    at = rng.randrange(len(lines))
    lines[at:at + rng.randrange(2)] = rng.sample(other, min(len(other), rng.randrange(1, 3)))
    return "\n".join(lines)


Mutation = Callable[[random.Random, str, Sequence[str]], str]
_MUTATIONS: tuple[Mutation, ...] = (_drop, _double, _character, _extreme, _extreme, _foreign, _lines)
