"""Hints what to do instead of parts of CUDA that kernels cannot use here, and of files that are not PTX."""

from __future__ import annotations

import re

__all__ = ["HINTS", "hint", "of_file"]

HINTS: tuple[tuple[str, str, str], ...] = (
    (r"\bvprintf\b", "printf", "write to an array that the host prints"),
    (r"\b(?:malloc|free)\b", "the heap of kernels", "pass an array that is large enough as a parameter"),
    (r"\bcudaCG\w*|%envreg\d", "the grid-wide sync of cooperative groups",
     "end the kernel there and launch a second one for the rest"),
    (r"\bcuda\w*Launch\w*|\bcudaGetParameterBuffer\w*|\bgriddepcontrol\b", "a launch from a kernel",
     "launch from the host, one kernel after the other"),
    (r"^(?:@!?\S+ )?call(?:\.\w+)* (?:\([^)]*\) ?, ?)?%", "a call through a pointer, or of a virtual function",
     "call by name, with a switch among the functions"),
    (r"^(?:@!?\S+ )?(?:su(?:ld|st|red|q)|tex\.(?!1d)|tld4|txq)", "a surface, or a texture of more than linear memory",
     "pass the array as a pointer and index it"),
    (r"^(?:@!?\S+ )?(?:wmma|mma|wgmma|tcgen05)\b", "a matrix unit",
     "compute with fma on tiles in shared memory"),
    (r"^(?:@!?\S+ )?(?:cp\.async\.bulk|cp\.reduce|tensormap)\b", "a bulk copy",
     "copy with cp.async, or load to registers, store to shared memory, then __syncthreads()"),
    (r"^(?:@!?\S+ )?(?:bar|barrier)(?:\.cta)?\.arrive\b", "a split barrier", "let all threads meet at __syncthreads()"),
    (r"^(?:@!?\S+ )?redux\b", "a reduction of a warp", "reduce with __shfl_xor_sync in five steps"),
    (r"\bbarrier\.cluster|\bmapa\b|%cluster|%is_explicit_cluster|::cluster|\bgetctarank\b",
     "a cluster of thread blocks", "exchange data in global memory, between launches"),
    (r"\.(?:tf32|e\dm\d(?:x[24])?|ue\dm\d(?:x2)?|s2f6x2)\b", "arithmetic of formats for matrix products",
     "compute in float, or in f16 and bf16"),
    (r"^(?:@!?\S+ )?(?:alloca|stacksave|stackrestore)\b", "an array on the stack of a size unknown to the compiler",
     "take an array of constant size"),
)
"""Pattern of a statement, the feature it uses, and what to do instead."""
_PATTERNS = tuple((re.compile(pattern), f"{what} is not there; {instead}") for pattern, what, instead in HINTS)

_NVCC = "PTX is what nvcc makes of the source: nvcc -ptx -arch=sm_75 -o kernel.ptx kernel.cu"
_CUDA_MACHINE = b"\xbe\x00"
"""`e_machine` of an ELF file with machine code of an NVIDIA GPU."""
_FATBIN, _FATBIN_WRAPPER = b"\x50\xed\x55\xba", b"\xb1\x43\x62\x46"
_CUDA_SOURCE = re.compile(rb"^[^\n/*]*(?:__global__|__device__|#\s*include\s*[<\"])", re.MULTILINE)
_PTX = re.compile(rb"^\s*\.(?:version|target|kernel|entry|visible)\b", re.MULTILINE)


def hint(statement: str) -> str:
    """Return what to do instead of a refused PTX statement (blanks collapsed); empty if nothing is known."""
    return next((text for pattern, text in _PATTERNS if pattern.search(statement)), "")


def of_file(raw: bytes) -> str:
    """Return what kind of CUDA file the bytes are, if it is one without readable PTX; else empty."""
    if raw.startswith(b"\x7fELF"):
        return f"machine code of an NVIDIA GPU (a cubin), not PTX; {_NVCC}" if raw[18:20] == _CUDA_MACHINE else ""
    if raw.startswith((_FATBIN, _FATBIN_WRAPPER)):
        return f"a fat binary of CUDA, not PTX; {_NVCC}, or cuobjdump -ptx"
    if _CUDA_SOURCE.search(raw) and not _PTX.search(raw):
        return f"CUDA source, not PTX; {_NVCC}"
    return ""
