"""A circuit as numbers, and colours of its bits: two bits have one colour if they depend in the same way on the inputs.

Bits that are kept begin with a colour of what they are, and get in each round that of what they become::

    state --gates--> next state --> colour of the next round
      input --'  `--> outputs

When a round splits no colour any more, two bits of one colour are equal in every cycle, in one circuit or in two.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from .gates import SYMMETRIC, Gates

__all__ = ["Circuit", "Colours", "Named", "State"]

Numbers = NDArray[np.uint64]


@dataclass
class State:
    """A bit that is kept.

    Attributes
    ----------
    kind : str
    seed : str
        What it is, without its name.
    name : str
    literal, following : int
        Its value, and what it becomes.
    """

    kind: str
    seed: str
    name: str
    literal: int
    following: int = 0


@dataclass
class Named:
    """What has to be the same: an output, an assertion.

    Attributes
    ----------
    seed : str
        What it is.
    name : str
    literal : int
    """

    seed: str
    name: str
    literal: int


def _number(text: str) -> int:
    """Return a number for a text, the same in every process."""
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")


def _mixed(numbers: Numbers) -> Numbers:
    """Return numbers of which each bit depends on all bits of those given (the end of SplitMix64)."""
    numbers = (numbers ^ (numbers >> np.uint64(30))) * np.uint64(0xbf58476d1ce4e5b9)
    numbers = (numbers ^ (numbers >> np.uint64(27))) * np.uint64(0x94d049bb133111eb)
    return numbers ^ (numbers >> np.uint64(31))


@dataclass
class Colours:
    """Colours after a round.

    Attributes
    ----------
    literals : array
        Of literals, by what was known before.
    states, roots : array
        Of what is kept and of what is shown.
    """

    literals: Numbers
    states: Numbers
    roots: Numbers


@dataclass
class Circuit:
    """Gates in the order of their depth, and names.

    Attributes
    ----------
    seeds : array
        Of gates, by kind.
    bounds : array
        Of gates of each depth: the first, and behind the last depth their number.
    starts : array
        Of each gate with inputs, and behind the last: its first input.
    inputs, places : array
        Literals, and which input of the gate each is; 0 if the order is nothing.
    states, roots : array
        Literals of what is kept and of what is shown.
    following : array
        Literals of what states become.
    state_seeds, root_seeds : array
    kinds, state_names, root_names : list of str
        Of states their kinds.
    wires : dict
        Literals of signals by name, -1 where none is left.
    dropped : int
        Flip-flops that nothing depends on, and that are left out.
    """

    seeds: Numbers
    bounds: NDArray[np.int64]
    starts: NDArray[np.int64]
    inputs: NDArray[np.int32]
    places: NDArray[np.uint16]
    states: NDArray[np.int32]
    roots: NDArray[np.int32]
    following: NDArray[np.int32]
    state_seeds: Numbers
    root_seeds: Numbers
    kinds: list[str]
    state_names: list[str]
    root_names: list[str]
    wires: dict[str, NDArray[np.int32]]
    dropped: int
    _cached: dict[str, Numbers] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, gates: Gates, states: list[State], roots: list[Named], wires: dict[str, list[int]], registers: int,
           dead: bool) -> Circuit:
        """Return the circuit of gates.

        Parameters
        ----------
        gates : Gates
        states : list of State
        roots : list of Named
        wires : dict
            Literals of signals, -1 where there are none.
        registers : int
            Bits of flip-flops and registers of memories, also those that are not in `states`.
        dead : bool
            Keep all states.
        """
        alive = _alive(gates, states, roots, dead)
        kept = [state for state in states if alive[state.literal >> 1]]
        depths = np.full(len(gates.kinds), -1, np.int64)
        for gate, inputs in enumerate(gates.inputs):
            if alive[gate]:
                depths[gate] = 1 + max((depths[literal >> 1] for literal in inputs), default=-1)
        order = np.argsort(depths, kind="stable")[np.count_nonzero(depths < 0):]
        place = np.full(len(gates.kinds), -1, np.int64)
        place[order] = np.arange(len(order))

        def moved(literals: Sequence[int]) -> NDArray[np.int32]:
            found = np.array(literals, np.int64).reshape(-1)
            there = place[found >> 1]
            return np.where((found < 0) | (there < 0), -1, 2 * there + (found & 1)).astype(np.int32)

        inside = [gates.inputs[gate] for gate in order]
        widths = np.array([len(each) for each in inside], np.int64)
        starts = np.concatenate(([0], np.cumsum(widths)))
        places = [0 if gates.kinds[gate] in SYMMETRIC else number + 1
                  for gate, inputs in zip(order, inside, strict=True) for number in range(len(inputs))]
        seeds = {kind: _number(kind) for kind in {*gates.kinds}}
        return cls(
            seeds=np.array([seeds[gates.kinds[gate]] for gate in order], np.uint64),
            bounds=np.searchsorted(depths[order], np.arange(depths.max() + 2)), starts=starts,
            inputs=moved([literal for each in inside for literal in each]), places=np.array(places, np.uint16),
            states=moved([state.literal for state in kept]), roots=moved([root.literal for root in roots]),
            following=moved([state.following for state in kept]),
            state_seeds=np.array([_number(state.seed) for state in kept], np.uint64),
            root_seeds=np.array([_number(root.seed) for root in roots], np.uint64),
            kinds=[state.kind for state in kept], state_names=[state.name for state in kept],
            root_names=[root.name for root in roots],
            wires={name: moved(literals) for name, literals in wires.items()},
            dropped=registers - sum(state.kind in ("flip-flop", "read register") for state in kept))

    def depth(self, literals: NDArray[np.int32]) -> NDArray[np.int64]:
        """Return how many gates are at most between states or inputs and literals."""
        return np.searchsorted(self.bounds, literals >> 1, side="right") - 1

    def _literal_colours(self, states: Numbers) -> Numbers:
        """Return the colours of all literals for those of states."""
        found = np.empty(2 * len(self.seeds), np.uint64)
        keys = self._cached.setdefault("places", _mixed(self.places.astype(np.uint64)))
        gates = _mixed(self.seeds)
        gates[self.states >> 1] = states
        found[0::2] = gates
        found[1::2] = _mixed(~gates)
        for first, last in zip(self.bounds[1:-1], self.bounds[2:], strict=True):
            start, end = self.starts[first], self.starts[last]
            terms = _mixed(found[self.inputs[start:end]] + keys[start:end])
            values = _mixed(np.add.reduceat(terms, self.starts[first:last] - start) + self.seeds[first:last])
            found[2 * first:2 * last:2] = values
            found[2 * first + 1:2 * last:2] = _mixed(~values)
        return found

    def rounds(self) -> Iterator[Colours]:
        """Yield colours, round by round, without end."""
        states = self.state_seeds
        while True:
            literals = self._literal_colours(states)
            states = _mixed(_mixed(states) + literals[self.following])
            yield Colours(literals, states, _mixed(self.root_seeds + literals[self.roots]))


def _alive(gates: Gates, states: list[State], roots: list[Named], dead: bool) -> bytearray:
    """Return of each gate whether what is shown, or a memory, depends on it."""
    alive = bytearray(len(gates.kinds))
    alive[0] = 1
    following = {state.literal >> 1: state.following >> 1 for state in states}
    left = [root.literal >> 1 for root in roots]
    left += [state.literal >> 1 for state in states if dead or state.kind in ("memory", "instance")]
    while left:
        gate = left.pop()
        if alive[gate] and gate:
            continue
        alive[gate] = 1
        if gate in following:
            left.append(following[gate])
        left += [literal >> 1 for literal in gates.inputs[gate] if not alive[literal >> 1]]
    return alive
