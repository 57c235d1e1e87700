"""Warp records: what is written is read back, and nothing stands in one that can be inferred."""

import random

import numpy as np
import pytest

from caesura.hw.arch.geometry import PREDICATES, UNIFORMS, preset
from caesura.hw.arch.image.image_reader import BadImage, ImageReader
from caesura.hw.arch.image.image_writer import record_words, stack_words
from support.hw.stacks import random_stack

TINY, WIDE = preset("tiny"), preset("gtx480")


def reader(g, words):
    """A reader of a stream of one record; the kernel has a register, so that the table has a word."""
    return ImageReader(np.array([*words, 0], np.uint32), g, 1, 1)


@pytest.mark.parametrize("g", [TINY, WIDE], ids=lambda g: g.name)
def test_records_come_back(g):
    rng = random.Random(g.name)
    for _ in range(300):
        launched = (2 << rng.randrange(g.warp_size)) - 1
        live = launched & rng.choice([launched, rng.getrandbits(g.warp_size) | 1])
        barrier = rng.choice([None, rng.randrange(16)])
        predicates = {p: rng.getrandbits(g.warp_size) for p in range(PREDICATES) if rng.random() < 0.4}
        uniforms = {u: rng.getrandbits(32) for u in range(UNIFORMS) if rng.random() < rng.choice([0, 0.3])}
        stack, warp = random_stack(rng, rng.randint(1, g.stack_depth), live), rng.randrange(g.max_block_warps)
        words = record_words(warp, launched, live, barrier, predicates, uniforms, stack)
        image = reader(g, words)
        record = image.record()
        assert image.position == len(words)
        assert (record.predicates, record.uniforms, record.stack) == (predicates, uniforms, stack)
        assert record.header == {
            "warp": warp, "launched_lanes": launched, "live_lanes": live, "waiting": int(barrier is not None),
            "barrier": barrier or 0, "predicates": sum(1 << p for p in predicates),
            "uniforms": sum(1 << u for u in uniforms)}


def test_a_warp_that_has_not_diverged_takes_two_words():
    full = (1 << 32) - 1
    assert len(record_words(0, full, full, None, {}, {}, [(77, full, (1 << 25) - 1)])) == 2


def test_an_entry_has_no_word_for_what_the_one_below_says():
    none, full = (1 << 25) - 1, 0xFF
    assert len(stack_words([(9, full, none), (5, 0xF8, 9), (8, 0x07, 9)], full)) == 1 + 2 + 2
    assert len(stack_words([(9, 0x3F, none), (5, 0x38, 8)], full)) == 2 + 3
    assert len(stack_words([(9, full, none), (5, full, 9)], full)) == 2


@pytest.mark.parametrize("depth", [0, TINY.stack_depth + 1])
def test_a_depth_that_cannot_be_is_refused(depth):
    words = record_words(0, 0xFF, 0xFF, None, {}, {}, [(1, 0xFF, 2)] * depth)
    with pytest.raises(BadImage, match=f"stack {depth} deep"):
        reader(TINY, words).record()


def test_words_that_end_early_are_refused():
    words = record_words(3, 0xFF, 0x0F, 2, {1: 5}, {7: 9}, [(1, 0xF, 2), (3, 0x3, 4)])
    for end in range(len(words)):
        with pytest.raises(BadImage, match="ends early"):
            reader(TINY, words[:end]).record()
