"""Mutations of PTX texts: what a compiler must take or refuse with one clear message, and never choke on."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence

__all__ = ["mutate"]

_TOKEN = re.compile(r"\"[^\"\n]*\"|[%$A-Za-z_.][\w$.]*|0[fFdDxX][0-9a-fA-F]+|\d+|[^\s\w]")
_NUMBERS = ("0", "1", "-1", "3", "4", "7", "31", "32", "33", "63", "64", "255", "65535", "65536", "2147483647",
            "2147483648", "-2147483648", "4294967295", "4294967296", "9223372036854775807", "18446744073709551615",
            "18446744073709551616", "0x7fffffff", "0f7F800000", "0fFFFFFFFF", "0d7FF8000000000000", "1e9", "09", "0b2")
_CHARACTERS = " \t\n;,:.@!{}()[]<>+-*/%$_0123456789abcxyzABCXYZ\"'\\#~^&|=?\x00\x7fé\u2028"

Mutation = Callable[[random.Random, str, Sequence[str]], str]


def _tokens(text: str) -> list[re.Match[str]]:
    return list(_TOKEN.finditer(text))


def _splice(text: str, start: int, end: int, new: str) -> str:
    return text[:start] + new + text[end:]


def _drop_token(rng: random.Random, text: str, _: Sequence[str]) -> str:
    token = rng.choice(_tokens(text))
    return _splice(text, *token.span(), "")


def _double_token(rng: random.Random, text: str, _: Sequence[str]) -> str:
    token = rng.choice(_tokens(text))
    return _splice(text, token.end(), token.end(), " " + token[0])


def _swap_tokens(rng: random.Random, text: str, _: Sequence[str]) -> str:
    tokens = _tokens(text)
    first, second = sorted(rng.sample(range(len(tokens)), 2))
    a, b = tokens[first], tokens[second]
    return text[:a.start()] + b[0] + text[a.end():b.start()] + a[0] + text[b.end():]


def _foreign_token(rng: random.Random, text: str, corpus: Sequence[str]) -> str:
    token, other = rng.choice(_tokens(text)), rng.choice(_tokens(rng.choice(corpus)))
    return _splice(text, *token.span(), other[0])


def _other_number(rng: random.Random, text: str, _: Sequence[str]) -> str:
    numbers = [token for token in _tokens(text) if token[0][0].isdigit()]
    return _splice(text, *rng.choice(numbers).span(), rng.choice(_NUMBERS)) if numbers else text


def _other_suffix(rng: random.Random, text: str, corpus: Sequence[str]) -> str:
    """Change one part of a dotted word: a type, a rounding mode, a space."""
    words = [token for token in _tokens(text) if "." in token[0][1:]]
    pool = [part for token in _tokens(rng.choice(corpus)) for part in token[0].split(".")[1:] if part]
    if not words or not pool:
        return text
    word = rng.choice(words)
    parts = word[0].split(".")
    parts[rng.randrange(1, len(parts))] = rng.choice(pool)
    return _splice(text, *word.span(), ".".join(parts))


def _line(rng: random.Random, text: str, corpus: Sequence[str]) -> str:
    lines = text.splitlines(keepends=True)
    at = rng.randrange(len(lines))
    kind = rng.randrange(4)
    if kind == 0:
        del lines[at]
    elif kind == 1:
        lines.insert(at, lines[rng.randrange(len(lines))])
    elif kind == 2:
        lines.insert(at, rng.choice(rng.choice(corpus).splitlines(keepends=True)))
    else:
        other = rng.randrange(len(lines))
        lines[at], lines[other] = lines[other], lines[at]
    return "".join(lines)


def _character(rng: random.Random, text: str, _: Sequence[str]) -> str:
    at = rng.randrange(len(text))
    return _splice(text, at, at + rng.randrange(2), rng.choice(_CHARACTERS) if rng.random() < 0.8 else "")


def _cut(rng: random.Random, text: str, _: Sequence[str]) -> str:
    start = rng.randrange(len(text))
    return text[:start] if rng.random() < 0.5 else _splice(text, start, start + rng.randrange(200), "")


_MUTATIONS: tuple[Mutation, ...] = (_drop_token, _double_token, _swap_tokens, _foreign_token, _other_number,
                                    _other_suffix, _other_suffix, _line, _character, _cut)


def mutate(corpus: Sequence[str], seed: int) -> str:
    """Return one of the texts with one to three changes.

    Parameters
    ----------
    corpus : sequence of str
        PTX texts; short ones are taken more often.
    seed : int

    Returns
    -------
    str
        Tokens dropped, doubled, exchanged or taken from another text, extreme numbers, other types and rounding modes,
        lines moved, characters changed, parts cut off.
    """
    rng = random.Random(seed)
    text = rng.choices(corpus, [1 / len(text) for text in corpus])[0]
    for _ in range(rng.choice((1, 1, 2, 3))):
        if text.strip():
            text = rng.choice(_MUTATIONS)(rng, text, corpus)
    return text
