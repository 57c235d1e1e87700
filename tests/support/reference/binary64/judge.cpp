// Operands and judged results for numpy, through ctypes.
#include "../float_judge/direction.h"
#include "judge.h"

using namespace binary64;

extern "C" void make_operands(int kind, int detail, uint64_t seed, uint64_t count, uint64_t* a, uint64_t* b,
                              uint64_t* c) {
    Random random(seed);
    for (uint64_t k = 0; k < count; ++k) {
        const Tuple t = operands(random, kind, detail);
        a[k] = t.a, b[k] = t.b, c[k] = t.c;
    }
}

extern "C" void judge(int kind, int detail, int mode, uint64_t count, const uint64_t* a, const uint64_t* b,
                      const uint64_t* c, uint64_t* expected) {
    const float_judge::Direction direction(mode);
    for (uint64_t k = 0; k < count; ++k) expected[k] = result(kind, detail, {a[k], b[k], c[k]});
}
