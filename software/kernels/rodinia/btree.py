"""Queries of a B+ tree, one per TB: jobs of `find_range_k` and `find_k`."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..job import Job, PaperRow, ShippedKernel, by_size

__all__ = ["KERNELS", "Tree", "find_k_job", "find_range_k_job"]

INT32 = np.int32
SLOTS = 256
LAST, FIRST = np.iinfo(INT32).max, np.iinfo(INT32).min


@dataclass(frozen=True)
class Tree:
    """A B+ tree, its nodes numbered from the root down.

    Attributes
    ----------
    stored : ndarray
        Stored keys, ascending; their ranks are the numbers of the records.
    keys, children : ndarray, (nodes, 257)
        A slot spans the keys from its own key up to the next slot's key. Unused slots have the largest int. A child of
        a leaf is a record.
    height : int
        Number of levels above the leaves.
    leaves : int
        Number of the first leaf.
    """

    stored: np.ndarray
    keys: np.ndarray
    children: np.ndarray
    height: int
    leaves: int

    @classmethod
    def of(cls, stored: np.ndarray, fill: int) -> Tree:
        """Return the tree of ascending keys with up to `fill` used slots per node."""
        levels = [(stored, np.arange(len(stored)))]
        nodes = -(-len(stored) // fill)
        while nodes > 1 or len(levels) == 1:
            firsts = levels[-1][0][::fill].copy()
            firsts[0] = FIRST
            levels.append((firsts, np.arange(nodes)))
            nodes = -(-nodes // fill)
        levels.reverse()
        keys, children, begin = [], [], 0
        for depth, (firsts, below) in enumerate(levels):
            begin = len(keys)
            count = -(-len(firsts) // fill)
            offset = begin + count if depth < len(levels) - 1 else 0
            for k in range(count):
                part = slice(k * fill, (k + 1) * fill)
                used = len(firsts[part])
                keys.append(np.full(SLOTS + 1, LAST, INT32))
                children.append(np.zeros(SLOTS + 1, INT32))
                keys[-1][:used], children[-1][:used] = firsts[part], below[part] + offset
        return cls(stored, np.array(keys), np.array(children), len(levels) - 1, begin)

    @classmethod
    def random(cls, rng: np.random.Generator, count: int, fill: int) -> Tree:
        """Return a tree of random even keys."""
        return cls.of(np.sort(rng.choice(8 * count, count, replace=False)).astype(INT32) * 2 - 7 * count, fill)

    def leaf(self, queries: np.ndarray) -> np.ndarray:
        """Return the leaves that span the queries."""
        firsts = self.keys[self.leaves:, 0]
        return (self.leaves + np.maximum(np.searchsorted(firsts, queries, "right") - 1, 0)).astype(INT32)


def find_k_job(queries: int, stored: int, fill: int, seed: int) -> Job:
    """Return a job of `find_k`. About a fifth of the sought keys is missing, with answer -1."""
    rng = np.random.default_rng(seed)
    tree = Tree.random(rng, stored, fill)
    records = rng.integers(0, 1 << 30, stored).astype(INT32)
    asked = tree.stored[rng.integers(0, stored, queries)]
    asked[rng.random(queries) < 0.2] += 1
    rank = np.searchsorted(tree.stored, asked).clip(0, stored - 1)
    return Job((queries, 1, 1), (SLOTS, 1, 1),
               {"height": tree.height, "keys": tree.keys, "children": tree.children, "records": records,
                "node": np.zeros(queries, INT32), "queries": asked, "answers": np.full(queries, -1, INT32)},
               {"node": tree.leaf(asked),
                "answers": np.where(tree.stored[rank] == asked, records[rank], -1).astype(INT32)})


def find_range_k_job(queries: int, stored: int, fill: int, seed: int) -> Job:
    """Return a job of `find_range_k`. About a fifth of the sought ends is missing, with length 0."""
    rng = np.random.default_rng(seed)
    tree = Tree.random(rng, stored, fill)
    begin, end = np.sort(rng.integers(0, stored, (2, queries)), axis=0)
    absent = rng.random(queries) < 0.2
    first, last = tree.stored[begin], tree.stored[end] + absent.astype(INT32)
    return Job((queries, 1, 1), (SLOTS, 1, 1),
               {"height": tree.height, "keys": tree.keys, "children": tree.children,
                "first_node": np.zeros(queries, INT32), "last_node": np.zeros(queries, INT32), "first": first,
                "last": last, "start": np.zeros(queries, INT32), "length": np.zeros(queries, INT32)},
               {"first_node": tree.leaf(first), "last_node": tree.leaf(last), "start": begin.astype(INT32),
                "length": np.where(absent, 0, end - begin + 1).astype(INT32)})


def _find_k(size: str, seed: int) -> Job:
    return find_k_job(by_size(size, 2, 12, 96), by_size(size, 900, 12_000, 60_000), by_size(size, 16, 200, 256), seed)


def _find_range_k(size: str, seed: int) -> Job:
    return find_range_k_job(by_size(size, 2, 12, 96), by_size(size, 900, 12_000, 60_000),
                            by_size(size, 16, 200, 256), seed)


KERNELS = (
    ShippedKernel("find_range_k", "both ends of ranges of keys in a B+ tree",
                  "Lin et al. Table II, BT_1 (TB of 256)", _find_range_k, "rodinia",
                  PaperRow("BT_1", "findRangeK", warps=8, tbs=6, registers=10, shared_bytes=48)),
    ShippedKernel("find_k", "keys in a B+ tree, a thread a slot of the node",
                  "Lin et al. Table II, BT_2 (TB of 256)", _find_k, "rodinia",
                  PaperRow("BT_2", "findK", warps=8, tbs=6, registers=9, shared_bytes=60)),
)
