// What the judges of both formats share: random numbers, and operands that do not depend on the width.
#pragma once
#include <cmath>
#include <cstdint>
#include <cstring>

namespace float_judge {

class Random {
public:
    explicit Random(uint64_t seed) : state_(seed) {}
    uint64_t next() {  // splitmix64
        uint64_t z = state_ += 0x9e3779b97f4a7c15u;
        z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
        z = (z ^ z >> 27) * 0x94d049bb133111ebu;
        return z ^ z >> 31;
    }
    uint32_t word() { return uint32_t(next() >> 32); }
    uint32_t below(uint32_t n) { return uint32_t((next() >> 32) * n >> 32); }
    int between(int low, int high) { return low + int(below(uint32_t(high - low + 1))); }

private:
    uint64_t state_;
};

template <class Bits>
struct Tuple {
    Bits a, b, c;
};

// The same bits as another type.
template <class To, class From>
To bit_cast(From from) {
    static_assert(sizeof(To) == sizeof(From), "same size");
    To to;
    std::memcpy(&to, &from, sizeof to);
    return to;
}

// A fraction of few of its `width` bits: a power of two, a run of ones, their sums and complements; what `other` makes
// of the numbers from 7 to below `kinds`.
template <class Bits, class Other>
Bits fraction(Random& r, uint32_t width, uint32_t kinds, Other other) {
    const Bits one = Bits(1) << r.below(width), two = Bits(1) << r.below(width);
    const Bits ones = (Bits(1) << r.below(width + 1)) - 1;
    const uint32_t kind = r.below(kinds);
    switch (kind) {
    case 0: return one;
    case 1: return one + two;
    case 2: return one - two;
    case 3: return ones;
    case 4: return ~ones;
    case 5: return ~ones + two;
    case 6: return ones ^ two;
    default: return other(kind);
    }
}

// About x, some units in the last place away.
template <class Bits>
Bits near(Random& r, Bits x) {
    return x + Bits(r.below(2) ? r.between(-2, 2) : r.between(-300, 300));
}

// Bits of the lesser or the greater of two numbers: of the other one if one is no number, `none` if neither is.
template <class Real, class Bits>
Bits choose(Bits a, Bits b, bool greater, Bits none) {
    const Real x = bit_cast<Real>(a), y = bit_cast<Real>(b);
    if (std::isnan(x)) return std::isnan(y) ? none : b;
    if (std::isnan(y)) return a;
    if (x == y) return greater ? a & b : a | b;  // zeros of different signs
    return (x < y) != greater ? a : b;
}

// Relations: bit 0 less, 1 equal, 2 greater, 3 unordered.
template <class Real>
int relation(Real x, Real y) {
    return x < y ? 1 : x == y ? 2 : x > y ? 4 : 8;
}

}  // namespace float_judge
