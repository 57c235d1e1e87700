"""Kernels compiled at first use and kept in the cache; the key of an image hashes everything it depends on.

::

    cache_directory() / "kernels" / <PTX, its path, compiler and instruction set, options>.<kernel>.elf
                                    <PTX, its path, compiler and instruction set>.names

The ``.names`` file lists the kernels of a PTX file, as JSON behind its own hash.

A damaged entry, or one of another version, is ignored. Code was judged when it was compiled. If the folder cannot be
written, nothing is kept.
"""

from __future__ import annotations

import contextlib
import functools
import json
from collections.abc import Callable, Collection, Sequence
from pathlib import Path

from caesura.cache import cache_directory, digest, write_atomically
from caesura.hw.arch import isa

from .codegen.elf import load_elf, write_elf
from .compiled import Compiled
from .errors import ImageError
from .image.kernel_image import KernelImage
from .options import CompileOptions

__all__ = ["kernel_names", "stored_module"]


def stored_module(text: str, filename: str = "<ptx>", options: CompileOptions | None = None,
                  kernels: Collection[str] | None = None, progress: Callable[[str], None] = lambda text: None
                  ) -> Compiled:
    """Compile as `compile_module`, but take from the cache what has been compiled before.

    Parameters
    ----------
    text, filename, options, kernels
        Arguments of `compile_ptx`.
    progress : callable
        Called before something is compiled.

    Raises
    ------
    CompileError
        If the text is not PTX, or has no kernel of a name.
    """
    options = options or CompileOptions()
    folder, key = _folder(), digest([text, repr(filename), repr(options), _compiler()])
    known = list(kernels) if kernels is not None else _read_names(folder, text, filename)
    images = {name: image for name in known or () if (image := _image(folder, key, name)) is not None}
    missing = None if known is None else [name for name in known if name not in images]
    if missing == []:
        return Compiled(tuple(images), images, {})
    from .pipeline import compile_module  # takes long to import: only where it is needed

    progress(f"compiling {filename}")
    compiled = compile_module(text, filename, options, missing)
    for name, image in compiled.images.items():
        _store(folder, _file(key, name), write_elf([image]))
    if known is None:
        _store_names(folder, text, filename, compiled.names)
    images |= compiled.images
    names = known or compiled.names
    return Compiled(tuple(names), {name: images[name] for name in names if name in images}, compiled.refusals)


def kernel_names(text: str, filename: str = "<ptx>") -> list[str]:
    """Return the names of a PTX module's kernels, in the order of the file; the cache keeps them too.

    Raises
    ------
    CompileError
        If the text is not PTX, or has no kernel.
    """
    folder = _folder()
    names = _read_names(folder, text, filename)
    if names is None:
        from .pipeline import entries  # likewise

        names = list(entries(text, filename))
        _store_names(folder, text, filename, names)
    return names


@functools.cache
def _compiler() -> str:
    """Return the hash of the compiler and of the instruction set that it compiles for."""
    folders = [Path(__file__).resolve().parent, Path(str(isa.__file__)).resolve().parents[1]]
    return digest(f"{path.relative_to(folder.parents[1])}\0{path.read_text()}" for folder in folders
                  for path in sorted(folder.rglob("*")) if path.suffix in (".py", ".lark", ".ptx", ".rdl"))


def _folder() -> Path | None:
    """Return the folder of the images; None where there can be no such folder."""
    try:
        folder = cache_directory() / "kernels"
        folder.mkdir(exist_ok=True)
        return folder
    except OSError:
        return None


def _file(key: str, name: str) -> str:
    """Return the file name of a kernel; the kernel's own name may be too long for one."""
    return f"{key}.{name if len(name) < 64 else digest([name])}.elf"


def _index(text: str, filename: str) -> str:
    """Return the file name of the list of a module's kernels."""
    return f"{digest([text, repr(filename), _compiler()])}.names"


def _read_names(folder: Path | None, text: str, filename: str) -> list[str] | None:
    try:
        checksum, names = (folder / _index(text, filename)).read_text().split("\n") if folder else ("", "")
    except (OSError, ValueError):
        return None
    return json.loads(names) if checksum == digest([names]) else None


def _store_names(folder: Path | None, text: str, filename: str, names: Sequence[str]) -> None:
    listed = json.dumps(list(names))
    _store(folder, _index(text, filename), f"{digest([listed])}\n{listed}".encode())


def _image(folder: Path | None, key: str, name: str) -> KernelImage | None:
    try:
        if folder is None:
            return None
        return load_elf(folder / _file(key, name), check=False).get(name)  # the compiler has judged it
    except (OSError, ImageError):
        return None


def _store(folder: Path | None, name: str, data: bytes) -> None:
    """Write a file; skip it where that is impossible."""
    if folder is not None:
        with contextlib.suppress(OSError):
            write_atomically(folder / name, data)
