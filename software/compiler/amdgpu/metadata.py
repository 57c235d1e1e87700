"""The metadata of the kernels of a file: the little YAML that LLVM writes.

The reader takes the entries of each kernel that are plain words or lists of them. It skips deeper entries (the
arguments).
"""

from __future__ import annotations

import re

from .text import AssemblyError

__all__ = ["Metadata", "metadata"]

Metadata = dict[str, str | list[str]]
_ENTRY = re.compile(r"( *)(- )?(\.?[A-Za-z_][\w.]*):(?:\s+(.*))?$")
_ITEM = re.compile(r"( *)- ([^:]*)$")
_KERNEL_INDENT = 4
"""Indentation of a kernel's entries, its dash included."""


def metadata(text: str, file: str) -> dict[str, Metadata]:
    """Return the metadata of each kernel by its name.

    Raises
    ------
    AssemblyError
        If there is no metadata, or it has another form.
    """
    lines = text.split("\n")
    begin = next((k for k, line in enumerate(lines) if line.strip() == ".amdgpu_metadata"), None)
    end = next((k for k, line in enumerate(lines) if line.strip() == ".end_amdgpu_metadata"), None)
    if begin is None or end is None:
        raise AssemblyError(file, len(lines), "no .amdgpu_metadata: registers and shared memory of the kernels are not "
                                              "known; compile with `-target amdgcn-amd-amdhsa -S`")
    found: list[Metadata] = []
    inside = False
    entry = ""
    for number, line in enumerate(lines[begin + 1:end], begin + 2):
        words = line.rstrip()
        item = _ITEM.match(words)
        match = _ENTRY.match(words)
        if match is not None and not match[1] and not match[2]:
            inside, entry = match[3] == "amdhsa.kernels", ""
        elif inside and match is not None:
            indent = len(match[1]) + len(match[2] or "")
            if indent == _KERNEL_INDENT:
                if match[2]:
                    found.append({})
                entry = match[3]
                found[-1][entry] = _plain(match[4]) if match[4] else []
        elif inside and item is not None and entry and len(item[1]) > _KERNEL_INDENT:
            values = found[-1][entry]
            if isinstance(values, list) and entry != ".args":
                values.append(_plain(item[2]))
        elif words not in ("---", "...", "") and inside:
            raise AssemblyError(file, number, f"metadata of a form that is not known: {words.strip()}")
    return {str(kernel[".name"]): kernel for kernel in found if ".name" in kernel}


def _plain(word: str) -> str:
    return word[1:-1] if len(word) > 1 and word[0] == word[-1] and word[0] in "'\"" else word
