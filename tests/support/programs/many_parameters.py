"""A kernel with a large structure by value among its parameters, which reads members of all sizes many times."""

import numpy as np

from caesura.software.compiler import KernelImage, compile_ptx

from .shared_counters import HEAD

__all__ = ["BLOCK", "BLOCKS", "SIZES", "ManyParameters", "reader"]

SIZES = (272, 4096, 32764)
"""Bytes of all parameters: one word more than registers once had, as many as CUDA takes, and from 12.1 on."""
BLOCKS, BLOCK = 5, 16
OTHERS = 12
"""Bytes of the parameters beside the structure."""
_MEMBERS = (("u8", 1), ("s16", 2), ("u32", 4), ("u64", 8))
_WORD = 1 << 32
_FACTOR = 1664525


def _places(size: int) -> list[tuple[str, int]]:
    """Return types and offsets of the members that are read: at both ends, and spread between."""
    last = size - OTHERS
    places = [("u8", 0), ("u8", last - 1), ("u32", last - 4 & ~3)]
    for k in range(20):
        name, width = _MEMBERS[k % len(_MEMBERS)]
        places.append((name, (last - width) * k // 20 // width * width))
    return places


def reader(size: int) -> KernelImage:
    """Return the kernel with `size` bytes of parameters."""
    lines = []
    for name, offset in _places(size):
        if name == "u64":
            lines += [f"ld.param.u64 %a2, [table+{offset}];", "cvt.u32.u64 %r3, %a2;", "shr.u64 %a2, %a2, 32;",
                      "cvt.u32.u64 %r4, %a2;", "xor.b32 %r3, %r3, %r4;"]
        else:
            lines.append(f"ld.param.{name} %r3, [table+{offset}];")
        lines.append(f"mad.lo.u32 %r1, %r1, {_FACTOR}, %r3;")
    body = "\n    ".join(lines)
    image, = compile_ptx(HEAD + f"""
.visible .entry reader(.param .u64 output, .param .align 8 .b8 table[{size - OTHERS}], .param .u32 rounds)
{{
    .reg .pred %p<2>;
    .reg .b32 %r<8>;
    .reg .b64 %a<4>;
    ld.param.u64 %a0, [output];
    ld.param.u32 %r0, [rounds];
    mov.u32 %r1, %tid.x;
    mov.u32 %r2, %ctaid.x;
    mad.lo.u32 %r1, %r2, {BLOCK}, %r1;
    mul.wide.u32 %a1, %r1, 4;
    add.u64 %a0, %a0, %a1;
    mov.u32 %r5, 0;
LOOP:
    {body}
    bar.sync 0;
    add.u32 %r5, %r5, 1;
    setp.lt.u32 %p0, %r5, %r0;
    @%p0 bra LOOP;
    st.global.u32 [%a0], %r1;
    ret;
}}
""").values()
    return image


class ManyParameters:
    """A launch of it, as a launch, in a stream or in a queue."""

    def __init__(self, owner, size: int, rounds: int = 2, seed: int = 1):
        self.size, self.rounds, self.owner = size, rounds, owner
        self.table = np.random.default_rng(seed).bytes(size - OTHERS)
        self.output = owner.zeros(BLOCKS * BLOCK, np.uint32)
        self.image = reader(size)
        self.kernel = owner.load([self.image])["reader"]

    @property
    def arguments(self) -> list:
        return [self.output, self.table, self.rounds]

    def start(self):
        """Launch it."""
        self.launch = self.kernel(BLOCKS, BLOCK, self.arguments)
        return self

    def expected(self) -> np.ndarray:
        """Return what it computes."""
        terms = []
        for name, offset in _places(self.size):
            width = dict(_MEMBERS)[name]
            value = int.from_bytes(self.table[offset:offset + width], "little", signed=name[0] == "s")
            terms.append((value ^ value >> 32 if name == "u64" else value) % _WORD)
        results = []
        for thread in range(BLOCKS * BLOCK):
            value = thread
            for _ in range(self.rounds):
                for term in terms:
                    value = (value * _FACTOR + term) % _WORD
            results.append(value)
        return np.array(results, np.uint32)

    def check(self, output=None) -> None:
        """Compare its results."""
        assert np.array_equal((self.output if output is None else output).get(), self.expected())
