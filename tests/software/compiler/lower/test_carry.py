"""Every instruction that takes a carry behind every one that gives it, and `__int128` division as nvcc writes it."""

import itertools
import random
from pathlib import Path

import numpy as np
import pytest

from caesura.sim import open_device
from support.selection import quick
from support.software.operand_patterns import patterns
from support.software.ptx_bench import THREADS, check

PREFIX = {32: "%r", 64: "%rd"}
GIVERS = ("add.cc", "addc.cc", "sub.cc", "subc.cc", "mad.lo.cc", "mad.hi.cc", "madc.lo.cc", "madc.hi.cc")
TAKERS = ("addc", "subc", "madc.lo", "madc.hi", "addc.cc", "subc.cc", "madc.lo.cc", "madc.hi.cc")
KINDS = [(bits, sign) for bits in (32, 64) for sign in "us"]


def outcome(opcode, sign, bits, a, b, c, flag):
    """Return result and flag of an instruction: those of one adder, which adds ~b to subtract."""
    mask = (1 << bits) - 1
    base = opcode.split(".")[0]
    takes = base.endswith("c")
    if base.startswith("mad"):
        x, y = (v - (v >> bits - 1 << bits) if sign == "s" else v for v in (a, b))
        left, right = x * y >> (bits if ".hi" in opcode else 0) & mask, c
    else:
        left, right = a, b if base.startswith("add") else ~b & mask
    carry = flag if takes else int(base.startswith("sub"))
    total = left + right + carry
    return total & mask, total >> bits if ".cc" in opcode else flag


def written(opcode, sign, bits, dest, *operands):
    """Return the instruction, with as many of the operands as it takes."""
    count = 3 if opcode.startswith("mad") else 2
    return f"{opcode}.{sign}{bits} {dest}, {', '.join(operands[:count])}; "


def values(bits, x, y, n):
    """Return the registers 1, 2 and 3 of the bench: a, b, and n, which is widened to 64 bits."""
    mask = (1 << bits) - 1
    return x & mask, y & mask, n if bits == 32 else n << 32 | ~n & 0xFFFF_FFFF


def program(steps, bits):
    """Return the text of a chain: `steps` are ``(opcode, sign, operand numbers, guard)``, 4 and 5 earlier results."""
    p = PREFIX[bits]
    text = f"mov.u32 %r30, 0; add.cc.u32 %r30, %r2, %r3; mov.b{bits} {p}4, 0; mov.b{bits} {p}5, 0; "
    text += f"setp.lt.u32 %p1, %r1, %r3; {'mov.b64 %rd3, {%r31, %r3};' if bits == 64 else ''}"
    for k, (opcode, sign, numbers, guard) in enumerate(steps):
        instruction = written(opcode, sign, bits, f"{p}{4 + k % 2}", *(f"{p}{i}" for i in numbers))
        if guard == "branch":
            text += f"@!%p1 bra OVER{k}; {instruction} OVER{k}: "
        elif guard == "arms":  # the flag comes from one of two sides
            other = written(_other(opcode), sign, bits, f"{p}{4 + k % 2}", *(f"{p}{i}" for i in numbers))
            text += f"@%p1 bra ODD{k}; {other} bra BOTH{k}; ODD{k}: {instruction} BOTH{k}: "
        else:
            text += guard + instruction
    return "{ not.b32 %r31, %r3; " + text + f"addc.u32 %r6, 0, 0; }} xor.b{bits} {p}4, {p}4, {p}5; " \
        + ("add.u32 %r4, %r4, %r6;" if bits == 32 else "cvt.u64.u32 %rd6, %r6; add.u64 %rd4, %rd4, %rd6;")


def _other(opcode):
    return {"a": "sub.cc", "s": "add.cc", "m": "subc.cc"}[opcode[0]]


def meaning(steps, bits):
    """Return what `program` computes."""
    def of(x, y, n):
        registers = [0, *values(bits, x, y, n), 0, 0]
        flag = (y & 0xFFFF_FFFF) + n >> 32
        holds = (x & 0xFFFF_FFFF) < n
        for k, (opcode, sign, numbers, guard) in enumerate(steps):
            operands = [registers[i] for i in numbers]
            if guard == "arms" and not holds:
                opcode = _other(opcode)
            elif guard not in ("", "arms") and holds != (guard != "@!%p1 "):
                continue
            registers[4 + k % 2], flag = outcome(opcode, sign, bits, *operands, flag)
        return (registers[4] ^ registers[5]) + flag
    return of


def run(chains, bits, seed):
    rng = random.Random(seed)
    edges = (0, 1, 0xFFFF_FFFF, 1 << 31, 0x7FFF_FFFF)
    n = [rng.choice((*edges, rng.getrandbits(32))) for _ in range(THREADS)]
    a, b = patterns(seed + 1, THREADS), patterns(seed + 2, THREADS)
    for k in range(0, THREADS, 5):
        b[k] = a[k]  # a borrow hangs on one bit here
    check([(program(steps, bits), bits, meaning(steps, bits)) for steps in chains], a, b, n)


@pytest.mark.parametrize(("bits", "sign"), quick(KINDS, [(32, "u")]))
def test_every_pair(bits, sign):
    """The flag of each giver, with either flag before it, into each taker."""
    run([[(giver, sign, (1, 2, 3), ""), (taker, sign, (2, 1, 4), "")]
         for giver, taker in itertools.product(GIVERS, TAKERS)], bits, 3)


@pytest.mark.parametrize("guard", quick(["@%p1 ", "@!%p1 ", "branch", "arms"], ["@!%p1 ", "arms"]))
@pytest.mark.parametrize("bits", quick([32, 64], [32]))
def test_pairs_under_guards_and_across_branches(bits, guard):
    """Where the giver does not execute the flag stays; where the paths meet it is that of the lane's own path."""
    run([[("add.cc", "u", (2, 3, 1), ""), (giver, "u", (1, 2, 3), guard), (taker, "u", (2, 1, 4), "")]
         for giver, taker in itertools.product(GIVERS, ("addc", "subc", "madc.hi.cc"))], bits, 5)


def random_chain(rng):
    guards = ["", "", "", "@%p1 ", "@!%p1 ", "branch", "arms"]
    return [(rng.choice((*GIVERS, *TAKERS)), rng.choice("us"), [rng.randrange(1, 6) for _ in range(3)],
             rng.choice(guards)) for _ in range(rng.randrange(2, 9))]


@pytest.mark.parametrize("seed", quick(range(40), (0,)))
def test_random_chains(seed):
    rng = random.Random(seed)
    bits = 32 << seed % 2
    run([random_chain(rng) for _ in range(20)], bits, seed)


@pytest.mark.parametrize("count", quick((6, 48, 2000), (6,)))
def test_division_of_128_bits(count):
    """As nvcc 13.0 compiles `div128.cu`: quotients of unsigned numbers, remainders of signed ones."""
    rng = random.Random(count)
    mask = (1 << 64) - 1

    def number():
        return rng.getrandbits(rng.randrange(1, 129))
    with open_device("golden", "gtx480", memory_bytes=1 << 20) as device:
        module = device.load_ptx(Path(__file__).parents[1] / "data/div128.ptx")
        for k in range(count):
            a, b = (100, 7) if k == 0 else (number(), number() | 1)
            x, y = (v - (v >> 127 << 128) for v in (a, b))
            remainder = abs(x) % abs(y) * (-1 if x < 0 else 1) & (1 << 128) - 1
            for name, expected in (("udiv", a // b), ("srem", remainder)):
                out = device.zeros(2, np.uint64)
                device.wait(module[name](1, 1, [out, a >> 64, a & mask, b >> 64, b & mask]))
                assert [int(v) for v in out.get()] == [expected >> 64, expected & mask], (name, a, b)
