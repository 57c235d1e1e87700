"""The facts about a kernel that `explain` gathers. Bytes are those of one warp unless said otherwise."""

from __future__ import annotations

from dataclasses import dataclass

from ..image.kernel_image import KernelImage, PreemptionPoint
from ..origins import Origin

__all__ = ["InstructionFacts", "PointFacts", "LoopFacts", "RegionFacts", "KernelFacts"]


@dataclass(frozen=True)
class InstructionFacts:
    """The state that a warp before an instruction has to keep, and the ways to stop it there.

    Attributes
    ----------
    pc : int
        Address of the instruction, in instruction words.
    label : str
        Label of the address, empty if none.
    text : str
        Assembly of the instruction.
    line : int
        Line of the PTX it comes from, 0 if unknown.
    live : tuple of int
        Vector registers live before it.
    waiting : tuple of int
        More registers, which lanes waiting elsewhere may need if the warp has diverged.
    predicates, uniforms : tuple of int
        Predicates and uniform registers live before it, or needed by waiting lanes.
    live_bytes, divergent_bytes : int
        Size of the vector registers `live`, and of `live` and `waiting` together.
    compressed_bytes : int
        Most bytes that mechanism ``live+cp`` writes for `live`, from `shapes` alone, if no lane waits elsewhere or has
        exited.
    shapes : tuple of (int, str)
        Registers of `live` known to be uniform or strided (`analysis.patterns`), each with its shape.
    loops : tuple of int
        Loops it is in, as indices of `KernelFacts.loops`, the outermost first.
    regions : tuple of int
        Idempotent regions it may be executed in, as indices of `KernelFacts.regions`.
    point : int or None
        Index in `KernelFacts.points` if the instruction is the word of a preemption point at which a warp stops.
    stops : tuple of int
        Indices of the points that a warp stopped by mechanism ``live`` here may reach first; the point itself if it is
        one.
    may_end : bool
        Whether the kernel may end before it reaches one.
    least_drain, most_drain : int or None
        Instructions on the way to a point or to the end, the point not counted. `most_drain` is None if there is no
        bound; both are None if the warp reaches neither.
    target, reconvergence : int or None
        Addresses that a branch names; None for other instructions.
    origin : Origin or None
        Source that the line was compiled from, where the PTX names it.
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
        The same two sets in bytes.
    chosen : PreemptionPoint or None
        Reason why the compiler put it there; None for barriers, and for words written in assembly.
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
        Address ranges of its code, first and one past the last.
    depth : int
        Number of loops around it.
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
        Address of the load that the store at `pc` may overwrite, if the reason is ``"overwrite"``.
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
        Bytes of one vector register of a warp.
    block : tuple of int or None
        Shape of a TB that the facts hold for; None: any shape whose x is a multiple of 8, or with one dimension.
    occupied_bytes : int
        Bytes of all vector registers of a warp.
    uniforms : int
        Uniform registers that the code names.
    metadata_bytes : int
        Most bytes that a warp's record has besides its vector registers (`hw.arch.image.context`).
    instructions : tuple of InstructionFacts
    points : tuple of PointFacts
    loops : tuple of LoopFacts
        Loops by header.
    regions : tuple of RegionFacts
    smallest, largest : int
        Addresses of the largest context, and of the smallest context that CKPT could choose, with divergence (CTXBack
        V-A: in a loop, if the kernel has any).
    longest_interval : int or None
        Most instructions without a preemption point; None if there is no bound.
    spoiler, spoiler_restrict : tuple of int or None
        Addresses of a load and of a store that keep the kernel from being idempotent, or twice the address of an
        atomic; None if it is idempotent. `spoiler_restrict` assumes that its pointer parameters do not overlap.
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
