"""Files of the cache that are damaged at random, in every way that a disk, a crash or a user has."""

import contextlib
import ctypes
import os
import random
import shutil

__all__ = ["DAMAGES", "damage", "permissions_count"]

DAC_OVERRIDE, DAC_READ_SEARCH = 1 << 1, 1 << 2
"""What lets root read a file whatever its permissions say."""
VERSION_3 = 0x2008_0522


class _Header(ctypes.Structure):
    _fields_ = (("version", ctypes.c_uint32), ("pid", ctypes.c_int))


class _Capabilities(ctypes.Structure):
    _fields_ = (("effective", ctypes.c_uint32), ("permitted", ctypes.c_uint32), ("inheritable", ctypes.c_uint32))


@contextlib.contextmanager
def permissions_count():
    """Have permissions of files count for this thread, also if it is root's."""
    libc, header, data = ctypes.CDLL(None, use_errno=True), _Header(VERSION_3, 0), (_Capabilities * 2)()
    assert not libc.capget(ctypes.byref(header), data)
    kept = data[0].effective
    data[0].effective &= ~(DAC_OVERRIDE | DAC_READ_SEARCH)
    assert not libc.capset(ctypes.byref(header), data)
    try:
        yield
    finally:
        data[0].effective = kept
        assert not libc.capset(ctypes.byref(header), data)


def _flip(path, rng, others):
    data = bytearray(path.read_bytes())
    for _ in range(rng.choice((1, 1, 5))):
        if data:
            data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    path.write_bytes(bytes(data))


def _truncate(path, rng, others):
    path.write_bytes(path.read_bytes()[:rng.randrange(path.stat().st_size or 1)])


def _empty(path, rng, others):
    path.write_bytes(b"")


def _longer(path, rng, others):
    path.write_bytes(path.read_bytes() + rng.randbytes(rng.randint(1, 100)))


def _zeros(path, rng, others):
    """Blocks that a crash has left without content."""
    data = bytearray(path.read_bytes())
    start = rng.randrange(len(data) or 1)
    part = data[start:start + 512]
    data[start:start + 512] = bytes(len(part)) if any(part) else b"\1" * len(part)
    path.write_bytes(bytes(data))


def _noise(path, rng, others):
    path.write_bytes(rng.randbytes(rng.randint(1, 300)))


def _gone(path, rng, others):
    path.unlink()


def _link_to_nothing(path, rng, others):
    path.unlink()
    path.symlink_to(path.with_name("nothing"))


def _folder(path, rng, others):
    path.unlink()
    path.mkdir()


def _unreadable(path, rng, others):
    path.chmod(0)


def _of_another(path, rng, others):
    """What belongs to another file stands there."""
    shutil.copyfile(rng.choice(others), path)


DAMAGES = {"flip": _flip, "truncate": _truncate, "empty": _empty, "longer": _longer, "zeros": _zeros, "noise": _noise,
           "gone": _gone, "link to nothing": _link_to_nothing, "folder": _folder, "unreadable": _unreadable,
           "of another": _of_another}
"""What becomes of a file, given its path, random numbers, and others of its kind."""


def damage(kind, path, seed, others):
    """Damage a file; return a function that ends what a program cannot mend by itself."""
    rng, copy = random.Random(f"{kind} {seed}"), path.with_name(path.name + ".copy")
    os.replace(shutil.copyfile(path, copy), path)  # who has loaded the file keeps what he has
    DAMAGES[kind](path, rng, [other for other in others if other != path])

    def mend():
        if path.is_dir() and not path.is_symlink():
            os.rmdir(path)

    return mend
