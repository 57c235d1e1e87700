// Operands and judged results for numpy, through ctypes.
#include "../float_judge/direction.h"
#include "judge.h"

using namespace binary32;

extern "C" void make_operands(int kind, int, uint64_t seed, uint64_t count, uint32_t* a, uint32_t* b, uint32_t* c) {
    Random random(seed);
    for (uint64_t k = 0; k < count; ++k) {
        const Tuple t = operands(random, kind);
        a[k] = t.a, b[k] = t.b, c[k] = t.c;
    }
}

extern "C" void judge(int kind, int detail, int mode, uint64_t count, const uint32_t* a, const uint32_t* b,
                      const uint32_t* c, uint32_t* expected) {
    const float_judge::Direction direction(mode);
    for (uint64_t k = 0; k < count; ++k) expected[k] = result(kind, detail, {a[k], b[k], c[k]});
}
