"""The facts about a kernel that `explain` gathers. Bytes are those of one warp unless said otherwise."""

from __future__ import annotations

from dataclasses import dataclass

from ..image.kernel_image import KernelImage, PreemptionPoint
from ..origins import Origin

__all__ = ["InstructionFacts", "PointFacts", "LoopFacts", "RegionFacts", "KernelFacts"]


@dataclass(frozen=True)
class InstructionFacts:
    """What a warp that stands before an instruction has to keep, and how it could be stopped there.

    Attributes
    ----------
    pc : int
        Address in instruction words.
    label : str
        Label of the address, empty if none.
    text : str
        Assembly.
    line : int
        Line of the PTX it comes from, 0 if unknown.
    live : tuple of int
        Vector registers live before it.
    waiting : tuple of int
        Further ones that lanes waiting elsewhere may need if the warp has diverged.
    predicates, uniforms : tuple of int
        Predicates and uniform registers live before it, or needed by waiting lanes.
    live_bytes, divergent_bytes : int
        Of the vector registers `live`, and of those and `waiting`.
    compressed_bytes : int
        Most that mechanism ``live+cp`` writes for `live`, going by `shapes` alone, if no lane waits elsewhere or has
        exited.
    shapes : tuple of (int, str)
        Of the registers `live`, those known to be uniform or strided (`analysis.patterns`), and how.
    loops : tuple of int
        Loops it is in, as indices of `KernelFacts.loops`, the outermost first.
    regions : tuple of int
        Idempotent regions it may be executed in, as indices of `KernelFacts.regions`.
    point : int or None
        Index in `KernelFacts.points` if it is the word of a preemption point at which a warp stops.
    stops : tuple of int
        Points, as indices, that a warp stopped by mechanism ``live`` here may come to first; the point itself if it is
        one.
    may_end : bool
        The kernel may end before it comes to one.
    least_drain, most_drain : int or None
        Instructions on the way there (or to the end), the point not counted. `most_drain` is None if there is no bound,
        `least_drain` as well if the warp comes to nothing.
    target, reconvergence : int or None
        Of a branch.
    origin : Origin or None
        What the line was compiled from, where the PTX says so.
    """

    pc: int
    label: str
    text: str
    line: int
    live: tuple[int, ...]
    waiting: tuple[int, ...]
    predicates: tuple[int, ...]
    uniforms: tuple[int, ...]
    live_bytes: int
    divergent_bytes: int
    compressed_bytes: int
    shapes: tuple[tuple[int, str], ...]
    loops: tuple[int, ...]
    regions: tuple[int, ...]
    point: int | None
    stops: tuple[int, ...]
    may_end: bool
    least_drain: int | None
    most_drain: int | None
    target: int | None
    reconvergence: int | None
    origin: Origin | None = None


@dataclass(frozen=True)
class PointFacts:
    """A preemption point.

    Attributes
    ----------
    pc : int
    kind : str
        ``"pp"`` or ``"barrier"``.
    saved, saved_diverged : tuple of int
        Vector registers that the liveness words in the code save there: normally, and if the warp has diverged.
    live_bytes, divergent_bytes : int
        The same in bytes.
    chosen : PreemptionPoint or None
        Why the compiler put it there; None for barriers, and for words written in assembly.
    """

    pc: int
    kind: str
    saved: tuple[int, ...]
    saved_diverged: tuple[int, ...]
    live_bytes: int
    divergent_bytes: int
    chosen: PreemptionPoint | None


@dataclass(frozen=True)
class LoopFacts:
    """A loop.

    Attributes
    ----------
    header : int
        Address of its first block.
    spans : tuple of (int, int)
        Its code as address ranges, first and one past the last.
    depth : int
        Loops around it.
    points : tuple of int
        Preemption points in it, as indices of `KernelFacts.points`.
    """

    header: int
    spans: tuple[tuple[int, int], ...]
    depth: int
    points: tuple[int, ...]


@dataclass(frozen=True)
class RegionFacts:
    """The start of an idempotent region (`preemption.idempotence`).

    Attributes
    ----------
    pc : int
    reason : str
        ``"start"``, ``"barrier"``, ``"atomic"`` or ``"overwrite"``.
    load : int or None
        Address of the load that the store at `pc` may overwrite, of reason ``"overwrite"``.
    """

    pc: int
    reason: str
    load: int | None


@dataclass(frozen=True)
class KernelFacts:
    """Everything `explain` knows about a kernel.

    Attributes
    ----------
    image : KernelImage
    warp_size : int
    register_bytes : int
        Of one vector register of a warp.
    block : tuple of int or None
        Shape of a TB that the facts hold for; None: any whose x is a multiple of 8, or that has one dimension.
    occupied_bytes : int
        All vector registers of a warp.
    uniforms : int
        Uniform registers the code names.
    metadata_bytes : int
        What a warp's record has besides its vector registers, at most (`hw.arch.image.context`).
    instructions : tuple of InstructionFacts
    points : tuple of PointFacts
    loops : tuple of LoopFacts
        By header.
    regions : tuple of RegionFacts
    smallest, largest : int
        Addresses of the smallest context CKPT could choose (CTXBack V-A: in a loop, if the kernel has any), with
        divergence, and of the largest one.
    longest_interval : int or None
        Most instructions without a preemption point; None if there is no bound.
    spoiler, spoiler_restrict : tuple of int or None
        Addresses of a load and of a store (or twice that of an atomic) that keep the kernel from being idempotent; None
        if it is. With `_restrict`, provided that its pointer parameters do not overlap.
    """

    image: KernelImage
    warp_size: int
    register_bytes: int
    block: tuple[int, int, int] | None
    occupied_bytes: int
    uniforms: int
    metadata_bytes: int
    instructions: tuple[InstructionFacts, ...]
    points: tuple[PointFacts, ...]
    loops: tuple[LoopFacts, ...]
    regions: tuple[RegionFacts, ...]
    smallest: int
    largest: int
    longest_interval: int | None
    spoiler: tuple[int, int | None] | None
    spoiler_restrict: tuple[int, int | None] | None
