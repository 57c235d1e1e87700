"""Every instruction of PTX ISA 9.0 and its outcome here, for messages and for the table in docs/ptx.md.

``python -m caesura.software.compiler.ptx.instruction_set docs/ptx.md`` writes the table into the page.
"""

from __future__ import annotations

import functools
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

__all__ = ["Outcome", "Section", "SECTIONS", "instructions", "page_with_table", "reason_of"]


class Outcome(StrEnum):
    """The outcome of an instruction."""

    RUNS = "runs"
    NO_EFFECT = "no effect"
    REFUSED = "refused"


@dataclass(frozen=True)
class Section:
    """A section of the PTX ISA.

    Attributes
    ----------
    number, title : str
    runs : str
        Names of supported instructions, with blanks between; at least in the forms of the page.
    no_effect : str
        Names of instructions that are accepted, and change no result.
    refused : mapping of str to str
        Reasons of refusals, each with the names of its instructions.
    """

    number: str
    title: str
    runs: str = ""
    no_effect: str = ""
    refused: Mapping[str, str] = field(default_factory=dict)


_CLUSTERS = "no clusters of thread blocks"
_BULK = "no engine that copies by itself"
_ACROSS = "no memory of several devices"
_TEXTURE = "no textures but linear memory"
_MATRIX = "no matrix unit"

SECTIONS: tuple[Section, ...] = (
    Section("9.7.1", "Integer arithmetic", "add sub mul mad mul24 mad24 sad div rem abs neg min max popc clz bfind fns "
            "brev bfe bfi szext bmsk dp4a dp2a"),
    Section("9.7.2", "Extended precision", "add.cc addc sub.cc subc mad.cc madc"),
    Section("9.7.3", "Floating point", "testp copysign add.f32 sub.f32 mul.f32 fma mad.f32 div.f32 abs.f32 neg.f32 "
            "min.f32 max.f32 rcp rcp.approx.ftz.f64 sqrt rsqrt rsqrt.approx.ftz.f64 sin cos lg2 ex2 tanh"),
    Section("9.7.4", "Half precision", "add.f16 sub.f16 mul.f16 fma.f16 neg.f16 abs.f16 min.f16 max.f16 "
            "tanh.f16 ex2.f16"),
    Section("9.7.5", "Mixed precision", "add.f32.f16 sub.f32.f16 fma.f32.f16"),
    Section("9.7.6", "Comparison and selection", "set setp selp slct"),
    Section("9.7.7", "Comparison of half precision", "set.f16 setp.f16"),
    Section("9.7.8", "Logic and shift", "and or xor not cnot lop3 shf shl shr"),
    Section("9.7.9", "Data movement and conversion", "mov shfl shfl.sync prmt ld ld.global.nc ldu st isspacep cvta cvt "
            "cvt.pack", "prefetch prefetchu applypriority discard createpolicy",
            {_CLUSTERS: "st.async mapa getctarank", _BULK: "st.bulk",
             _ACROSS: "multimem.ld_reduce multimem.st multimem.red"}),
    Section("9.7.9.25", "Asynchronous copies",
            "cp.async cp.async.commit_group cp.async.wait_group cp.async.wait_all", refused={
        _BULK: "cp.async.bulk cp.reduce.async.bulk cp.async.bulk.prefetch cp.async.bulk.tensor "
               "cp.reduce.async.bulk.tensor cp.async.bulk.prefetch.tensor cp.async.bulk.commit_group "
               "cp.async.bulk.wait_group tensormap.replace"}),
    Section("9.7.10", "Textures", "tex", refused={_TEXTURE: "tld4 txq istypep"}),
    Section("9.7.11", "Surfaces", refused={"no surfaces": "suld sust sured suq"}),
    Section("9.7.12", "Control flow", "bra brx.idx call ret exit"),
    Section("9.7.13", "Synchronisation and communication", "bar.sync bar.red bar.warp.sync barrier barrier.red membar "
            "fence atom red vote vote.sync match.sync activemask",
            refused={"no split barriers": "bar.arrive", _CLUSTERS: "barrier.cluster red.async",
                     "no unit for it; reduce with shfl": "redux.sync",
                     "no unit for it; compare %laneid": "elect.sync",
                     "no launches from kernels": "griddepcontrol"}),
    Section("9.7.13.15", "Barriers in memory",
            "mbarrier.init mbarrier.inval mbarrier.expect_tx mbarrier.complete_tx mbarrier.arrive mbarrier.arrive_drop "
            "mbarrier.test_wait mbarrier.try_wait mbarrier.pending_count cp.async.mbarrier.arrive", refused={
        _BULK: "tensormap.cp_fenceproxy",
        _CLUSTERS: "clusterlaunchcontrol.try_cancel clusterlaunchcontrol.query_cancel"}),
    Section("9.7.14", "Matrices of a warp", "ldmatrix stmatrix movmatrix",
            refused={_MATRIX: "wmma.load wmma.store wmma.mma mma mma.sp"}),
    Section("9.7.15", "Matrices of four warps", refused={
        _MATRIX: "wgmma.fence wgmma.mma_async wgmma.mma_async.sp wgmma.commit_group wgmma.wait_group"}),
    Section("9.7.16", "Tensor memory", refused={
        _MATRIX: "tcgen05.alloc tcgen05.dealloc tcgen05.relinquish_alloc_permit tcgen05.ld tcgen05.st tcgen05.wait "
                 "tcgen05.cp tcgen05.shift tcgen05.mma tcgen05.mma.sp tcgen05.mma.ws tcgen05.mma.ws.sp tcgen05.fence "
                 "tcgen05.commit"}),
    Section("9.7.17", "Stack", refused={"arrays have constant sizes": "stacksave stackrestore alloca"}),
    Section("9.7.18", "Video", "vadd vsub vabsdiff vmin vmax vshl vshr vmad vset vadd2 vsub2 vavrg2 vabsdiff2 vmin2 "
            "vmax2 vset2 vadd4 vsub4 vavrg4 vabsdiff4 vmin4 vmax4 vset4"),
    Section("9.7.19", "Miscellaneous", "brkpt trap", "nanosleep pmevent",
            {"registers are given at launch": "setmaxnreg"}),
)
"""Sections in the order of the PTX ISA; an instruction of several types stands in the section of each."""


def instructions() -> Iterator[tuple[str, Outcome, str]]:
    """Yield each instruction: name, outcome, and the reason of a refusal."""
    for section in SECTIONS:
        for names, outcome in ((section.runs, Outcome.RUNS), (section.no_effect, Outcome.NO_EFFECT)):
            yield from ((name, outcome, "") for name in names.split())
        for reason, names in section.refused.items():
            yield from ((name, Outcome.REFUSED, reason) for name in names.split())


@functools.cache
def _reasons() -> dict[str, str]:
    return {name: reason for name, _, reason in instructions()}


def reason_of(opcode: str) -> str | None:
    """Return why an instruction of the PTX ISA is refused, by its opcode with modifiers; None if it is not refused."""
    parts = opcode.split(".")
    known = _reasons()
    for count in range(len(parts), 0, -1):
        if (name := ".".join(parts[:count])) in known:
            return known[name]
    return next((reason for name, reason in known.items() if name.split(".")[0] == parts[0]), None)


_BEGIN, _END = "<!-- every instruction -->\n", "<!-- end -->\n"


def _table() -> str:
    def shown(names: str) -> str:
        return f"`{names}`" if names else ""

    lines = ["| section | runs | no effect | refused |", "|---|---|---|---|"]
    for section in SECTIONS:
        refused = "; ".join(f"{shown(names)}: {reason}" for reason, names in section.refused.items())
        lines.append(f"| {section.number} {section.title} | {shown(section.runs)} | {shown(section.no_effect)} | "
                     f"{refused} |")
    return "\n".join(lines) + "\n"


def page_with_table(page: str) -> str:
    """Return a page with the table as it is now between its two marks.

    Raises
    ------
    ValueError
        If the page has no marks.
    """
    made, count = re.subn(f"{_BEGIN}.*?{_END}", lambda _: f"{_BEGIN}{_table()}{_END}", page, flags=re.DOTALL)
    if count != 1:
        raise ValueError(f"the page must have {_BEGIN.strip()} and {_END.strip()} once, around the table")
    return made


if __name__ == "__main__":
    path = Path(sys.argv[1])
    path.write_text(page_with_table(path.read_text()))
