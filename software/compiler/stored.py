"""Kernels compiled when first asked for, and kept: images in the cache, each under the hash of all it depends on.

::

    cache_directory() / "kernels" / <PTX, its name, options, compiler, instruction set>.<kernel>.elf
                                    <the same>.names          entry names of the file, as JSON

An entry that is damaged, or of another version, is as good as none. Where nothing can be written, nothing is kept.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import os
import tempfile
from collections.abc import Callable, Collection
from pathlib import Path

from .codegen.elf import load_elf, write_elf
from .codegen.image import KernelImage
from .errors import ImageError
from .options import CompileOptions
from .pipeline import Compiled, compile_module

__all__ = ["stored_module"]


def stored_module(text: str, filename: str = "<ptx>", options: CompileOptions | None = None,
                  kernels: Collection[str] | None = None, progress: Callable[[str], None] = lambda text: None
                  ) -> Compiled:
    """Compile as `compile_module`, but take from the cache what has been compiled before.

    Parameters
    ----------
    text, filename, options, kernels
        As of `compile_ptx`.
    progress : callable
        Told before something is compiled.

    Raises
    ------
    CompileError
        If the text is not PTX, or has no kernel of a name.
    """
    options = options or CompileOptions()
    key = _digest(text, filename, repr(options), _compiler())
    folder = _folder()
    if folder is None:
        progress(f"compiling {filename}")
        return compile_module(text, filename, options, kernels)
    wanted = kernels if kernels is not None else _names(folder / f"{key}.names")
    images = {name: image for name in wanted or () if (image := _image(folder, key, name)) is not None}
    missing = None if wanted is None else [name for name in wanted if name not in images]
    if missing == []:
        return Compiled(images, {})
    progress(f"compiling {filename}")
    compiled = compile_module(text, filename, options, missing)
    for name, image in compiled.images.items():
        _store(_path(folder, key, name), write_elf([image]))
    if kernels is None and missing is None:
        _store(folder / f"{key}.names", json.dumps(compiled.names).encode())
    images |= compiled.images
    return Compiled({name: images[name] for name in wanted or compiled.names if name in images}, compiled.refusals)


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:24]


@functools.cache
def _compiler() -> str:
    """Return the hash of the compiler and of what it is made for: the instruction set."""
    here = Path(__file__).resolve().parent
    arch = here.parents[1] / "hw" / "arch"
    files = [path for folder in (here, arch) for path in sorted(folder.rglob("*"))
             if path.suffix in (".py", ".lark", ".ptx", ".rdl")]
    return _digest(*(f"{path.relative_to(here.parents[1])}\0{path.read_text()}" for path in files))


def _folder() -> Path | None:
    """Return where the images are, None where there can be no such folder."""
    from caesura.hw.export import cache_directory  # Amaranth's writer comes with it: only where it is needed

    try:
        folder = cache_directory() / "kernels"
        folder.mkdir(exist_ok=True)
        return folder
    except OSError:
        return None


def _path(folder: Path, key: str, name: str) -> Path:
    """Return the file of a kernel, whose name may be longer than a file's."""
    return folder / f"{key}.{name if len(name) < 64 else _digest(name)}.elf"


def _names(path: Path) -> list[str] | None:
    try:
        names = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return None
    return names if isinstance(names, list) and names and all(isinstance(name, str) for name in names) else None


def _image(folder: Path, key: str, name: str) -> KernelImage | None:
    try:
        return load_elf(_path(folder, key, name), check=False).get(name)  # the compiler has judged it
    except (OSError, ImageError):
        return None


def _store(path: Path, data: bytes) -> None:
    """Write a file so that no reader ever sees part of it; not at all where that is impossible."""
    with contextlib.suppress(OSError):
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix=path.name, delete=False) as file:
            file.write(data)
        os.replace(file.name, path)
