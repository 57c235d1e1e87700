"""The library's routines, on vectors, against the host's IEEE arithmetic and numpy's integers."""

import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from caesura.software.compiler.library import ROUTINES, routine
from support.ptx.evaluate import evaluate
from support.selection import quick

U32, U64 = np.uint32, np.uint64
COUNT = 1 << 12
FULL = 10_000_000
LONG = pytest.mark.timeout(14400)
pytestmark = [pytest.mark.filterwarnings("ignore::RuntimeWarning"),
              pytest.mark.depends_on("hw/arch", "hw/core", "hw/interfaces", "hw/lib", "sim/golden", "tests/support/ptx",
                                      "software/compiler")]


def computed(name, kind, *operands, result=0):
    """Evaluate a routine on arrays of a numpy kind of number."""
    bits = np.dtype(kind).itemsize * 8
    patterns = [np.asarray(x, kind).view(f"u{bits // 8}").astype(U64) for x in operands]
    return evaluate(routine, name, *patterns)[result].astype(f"u{bits // 8}").view(kind)


def same(got, expected, *operands):
    """Compare bit patterns, any not-a-number with any other."""
    view = f"u{got.dtype.itemsize}"
    wrong = got.view(view) != expected.view(view)
    if got.dtype.kind == "f":
        wrong &= ~(np.isnan(got) & np.isnan(expected))
    at = np.flatnonzero(wrong)[:3]
    assert not len(at), [tuple(hex(int(x[k].view(view))) for x in (*operands, got, expected)) for k in at]


class Numbers:
    """Random numbers of f32 or f64 in strata."""

    def __init__(self, kind, seed, count=COUNT):
        self.kind, self.count = kind, count
        self.fraction, self.field = (23, 8) if kind is np.float32 else (52, 11)
        self.bias = (1 << self.field - 1) - 1
        self._rng = np.random.default_rng(seed)

    def _patterns(self, exponent, fraction):
        sign = self._rng.integers(0, 2, self.count).astype(U64) << U64(self.fraction + self.field)
        pattern = sign | exponent.astype(U64) << U64(self.fraction) | fraction.astype(U64)
        return pattern.astype(U32 if self.fraction == 23 else U64).view(self.kind)

    def between(self, low, high, fractions=None):
        """Exponents from `low` to `high`, subnormals being the lowest, relative to that of 1."""
        low, high = max(low + self.bias, 0), min(high + self.bias, (1 << self.field) - 2)
        exponent = self._rng.integers(low, high + 1, self.count)
        return self._patterns(exponent, self.uniform() if fractions is None else fractions)

    def uniform(self):
        return self._rng.integers(0, 1 << self.fraction, self.count)

    def near(self, end):
        """Fractions near 0 or, with `end` 1, near all ones."""
        distance = self._rng.integers(0, 1 << self.fraction // 2, self.count)
        return distance if not end else (1 << self.fraction) - 1 - distance

    def few(self):
        """Fractions of few bits: their quotients are often exact, or midpoints of subnormals."""
        return self._rng.integers(0, 64, self.count) << self.fraction - 6

    def ones(self):
        return np.full(self.count, (1 << self.fraction) - 1)

    def patterns(self):
        return self._patterns(self._rng.integers(0, 1 << self.field, self.count), self.uniform())

    def special(self):
        """All pairs of special values: ends of every range that a routine tells apart, and beyond."""
        f, e, top = self.fraction, self.bias, (1 << self.field) - 1
        fields = [0, 1, 2, e - 1, e, e + 1, top - 3, top - 2, top - 1, top]
        fields += [65, 64, 189, 190, 26, 25] if f == 23 else [512, 513, 1533, 1534, 63, 64]
        patterns = [x << f | y for x in fields for y in (0, 1, (1 << f) - 1)] + [1 << f - 1, top << f | 1 << f - 1]
        patterns += [x | 1 << self.fraction + self.field for x in patterns]
        values = np.array(patterns, U32 if f == 23 else U64).view(self.kind)
        a, b = np.meshgrid(values, values)
        return a.ravel(), b.ravel()

    def hardest(self):
        """Quotients nearest to midpoints: with an odd midpoint M, ``M b = a 2**k + j`` for a small j."""
        rng, bits, found = random.Random(self.count), self.fraction + 1, []
        while len(found) < min(self.count, 3000):
            b, k = rng.randrange(1 << bits - 1, 1 << bits) | 1, rng.choice((bits, bits + 1))
            j = rng.choice((-3, -1, 1, 3))
            midpoint = j * pow(b, -1, 1 << k) % (1 << k)
            midpoint += (1 << k) * (midpoint < 1 << bits)
            a = midpoint * b - j >> k
            if midpoint >> bits == 1 and a >> bits - 1 == 1:
                found.append((a, b))
        a, b = (np.array(x, np.float64).astype(self.kind) for x in zip(*found, strict=True))
        return a, b

    def pairs(self):
        """Yield pairs of arrays, a stratum at a time."""
        least, most = -self.bias, self.bias
        yield self.special()
        yield self.hardest()
        yield self.patterns(), self.patterns()
        yield self.between(-most // 2, most // 2), self.between(-most // 2, most // 2)
        yield self.between(least, least + 30), self.between(-30, 30)  # quotients that are subnormal or nearly so
        yield self.between(least // 2 - 15, least // 2 + 15), self.between(most // 2 - 15, most // 2 + 15)
        yield self.between(most // 2 - 10, most), self.between(least, -most // 2 + 10)  # or overflow
        yield self.between(least, least // 2, self.few()), self.between(0, most // 2, self.few())
        for first in (0, 1):
            for second in (0, 1):
                yield self.between(-9, 9, self.near(first)), self.between(-9, 9, self.near(second))
        yield self.between(-most // 2, most // 2), self.between(-most // 2, most // 2, self.ones())


def strata(kind, seed, count) -> Iterator[tuple[Any, Any]]:
    return Numbers(kind, seed, count).pairs()


@pytest.mark.parametrize("kind, name", quick([(np.float32, "f32"), (np.float64, "f64")], [(np.float32, "f32")]))
@pytest.mark.parametrize("count", [COUNT, pytest.param(FULL // 12, marks=[pytest.mark.full, LONG])])
def test_division_and_roots_are_rounded_correctly(kind, name, count):
    for a, b in strata(kind, 1, count):
        same(computed(f"div_rn_{name}", kind, a, b), a / b, a, b)
        same(computed(f"rcp_rn_{name}", kind, b), kind(1) / b, b)
        same(computed(f"sqrt_rn_{name}", kind, b), np.sqrt(b), b)


@pytest.mark.parametrize("name, judge", [("rcp_rn_f32", lambda x: np.float32(1) / x), ("sqrt_rn_f32", np.sqrt)])
@pytest.mark.parametrize("step", [61, pytest.param(1, marks=[pytest.mark.full, LONG])])
def test_every_fraction(name, judge, step):
    """Every fraction with each exponent that makes a difference.

    A routine is exact in powers of two (for the root, of four) but at the ends of the range: with `step` 1 these are
    all f32 there are.
    """
    for exponent in (0, 1, 25, 26, 126, 127, 252, 253, 254):
        for sign in (0, 1) if name == "rcp_rn_f32" else (0,):
            for part in range(0, 1 << 23, 1 << 20):
                fraction = np.arange(part + exponent % step, part + (1 << 20), step).astype(U32)
                x = (fraction + U32(sign << 31 | exponent << 23)).view(np.float32)
                same(computed(name, np.float32, x), judge(x), x)


@pytest.mark.parametrize("end", [0, 1])
def test_reciprocals_that_are_subnormal(end):
    x = np.array([0x7ECA_6691, 0xFECA_6691, 0x7EB5_04F3, 0x7F00_0000, 0x7E80_0000], U32).view(np.float32)
    same(computed("rcp_rn_f32", np.float32, x), np.float32(1) / x, x)
    numbers = Numbers(np.float32, 3, 1 << 16)
    for fractions in (numbers.uniform(), numbers.near(end), numbers.few()):
        x = numbers.between(126, 127, fractions)
        same(computed("rcp_rn_f32", np.float32, x), np.float32(1) / x, x)


def _square_roots(d, bits):
    """Return the odd numbers below ``2**bits`` whose squares are `d` (1 modulo 8) modulo ``2**bits``."""
    found = {1, 3, 5, 7}
    for n in range(4, bits + 1):
        found = {c for m in found for c in (m, m + (1 << n - 1)) if (c * c - d) % (1 << n) == 0}
    return found


def test_roots_nearest_to_midpoints():
    """With an odd midpoint M, x = (M*M - d) / 2**k has a root that is nearer to it the smaller d is."""
    hardest = []
    for bits in (54, 55):
        for d in range(-999, 1000, 8):
            for m in _square_roots(d % (1 << bits), bits):
                for midpoint in (m, m + (1 << bits)):
                    x = midpoint * midpoint - d >> bits
                    if 1 << 53 <= midpoint < 1 << 54 and x.bit_length() == 53:
                        hardest.append(x)
    x = np.array(hardest, np.float64)
    assert len(x) > 300
    for scale in (0, -400, 500, -1100):
        y = np.ldexp(x, scale)
        same(computed("sqrt_rn_f64", np.float64, y), np.sqrt(y), y)


def test_full_range_division_is_within_two_units():
    for a, b in strata(np.float32, 5, COUNT):
        got, exact = computed("div_full_f32", np.float32, a, b), a / b
        finite = np.isfinite(exact) & (np.abs(b) < np.inf)
        unit = np.spacing(np.abs(exact[finite])).astype(np.float64)
        quotient = a[finite].astype(np.float64) / b[finite]
        assert (np.abs(got[finite].astype(np.float64) - quotient) <= 2 * unit).all()
        same(got[~np.isfinite(exact)], exact[~np.isfinite(exact)], a[~np.isfinite(exact)], b[~np.isfinite(exact)])


def test_reciprocal_roots_of_subnormals():
    x = np.abs(Numbers(np.float64, 6).between(-1080, 1023))
    x = x[x > 0]
    got = computed("rsqrt_approx_f64", np.float64, x)
    assert np.abs(got * np.sqrt(x) - 1).max() < 2.0 ** -19
    same(computed("rsqrt_approx_f64", np.float64, np.array([0.0, -0.0, np.inf, -1.0, np.nan])),
         np.array([np.inf, -np.inf, 0, np.nan, np.nan]))


def _integers(kind, seed, count=COUNT):
    """Random integers of all magnitudes, multiples and one less, then all pairs of special ones."""
    rng, bits = np.random.default_rng(seed), np.dtype(kind).itemsize * 8
    unsigned = f"u{bits // 8}"
    values = [rng.integers(0, (1 << bits) - 1, count, U64, endpoint=True) >> rng.integers(0, bits, count, U64)
              for _ in range(2)]
    values[0][::5] = values[1][::5] * rng.integers(0, 1 << bits // 2, len(values[0][::5]), U64)
    values[0][::10] -= U64(1)
    edges = [0, 1, 2, 3, 10, (1 << bits // 2) - 1, 1 << bits // 2, (1 << bits - 1) - 1, 1 << bits - 1]
    edges = np.array([y & (1 << bits) - 1 for x in edges for y in (x, -x, x + 1)], U64)
    a, b = np.meshgrid(edges, edges)
    return [np.concatenate([x, y.ravel()]).astype(unsigned).view(kind) for x, y in zip(values, (a, b), strict=True)]


@pytest.mark.parametrize("kind", ["i2", "u2", "i4", "u4", "i8", "u8"])
@pytest.mark.parametrize("count", [COUNT, pytest.param(FULL, marks=[pytest.mark.full, LONG])])
def test_integer_division(kind, count):
    """Rounded to zero; all ones where the divisor is zero; the lowest number divided by -1 is itself."""
    kind = np.dtype(kind)
    a, b = _integers(kind, 7, count)
    name = f"divide_{'s' if kind.kind == 'i' else 'u'}{kind.itemsize * 8}"
    one = np.ones(1, kind)[0]
    safe = np.where(b == 0, one, b)
    if kind.kind == "i":
        safe = np.where(safe == -1, one, safe)  # numpy has no result for the lowest number
        magnitude = (np.abs(a).view(f"u{kind.itemsize}") // np.abs(safe).view(f"u{kind.itemsize}")).view(kind)
        quotient = np.where(b == -1, 0 - a, np.sign(a) * np.sign(safe) * magnitude)
        ones = kind.type(-1)
    else:
        quotient, ones = a // safe, np.iinfo(kind).max
    quotient = quotient.astype(kind)
    remainder = (a - quotient * b).astype(kind)
    same(computed(name, kind, a, b), np.where(b == 0, ones, quotient).astype(kind), a, b)
    same(computed(name, kind, a, b, result=1), np.where(b == 0, ones, remainder).astype(kind), a, b)


def test_all_divisions_of_16_bits():
    """Every dividend by divisors of every magnitude."""
    rng = np.random.default_rng(8)
    for divisor in (1, 2, 3, 7, *rng.integers(10, 1 << 16, 4), 0x7FFF, 0xFFFF):
        a = np.arange(1 << 16).astype("u2")
        b = np.full_like(a, divisor)
        same(computed("divide_u16", "u2", a, b), a // b, a, b)
        same(computed("divide_u16", "u2", a, b, result=1), a % b, a, b)


def test_every_routine_exists():
    for opcode, entry in ROUTINES.items():
        function = routine(entry.name)
        assert function is not None and function.name == entry.name, opcode
        assert entry.result < len(function.results)
    assert routine("nothing") is None
