// Arithmetic in the host's other rounding directions.
#include "directed.h"

#include <cfenv>

#include "arithmetic.h"

namespace {

// Out of sight of the compiler, so that nothing moves across a change of direction.
__attribute__((noipa)) void operate32(int op, u32* out, const u32* a, const u32* b, const u32* c) {
    rounded::binary32(op, out, a, b, c);
}

__attribute__((noipa)) void operate64(int op, u64* out, const u64* a, const u64* b, const u64* c) {
    rounded::binary64(op, out, a, b, c);
}

template <class F, class Word>
void with(Direction direction, F operate, int op, Word* out, const Word* a, const Word* b, const Word* c) {
    const int before = std::fegetround();
    std::fesetround(direction == Direction::ZERO   ? FE_TOWARDZERO
                    : direction == Direction::DOWN ? FE_DOWNWARD
                                                   : FE_UPWARD);
    operate(op, out, a, b, c);
    std::fesetround(before);
}

}  // namespace

void directed32(int nearest, Direction direction, u32* out, const u32* a, const u32* b, const u32* c) {
    with(direction, operate32, nearest, out, a, b, c);
}

void directed64(int nearest, Direction direction, u64* out, const u64* a, const u64* b, const u64* c) {
    with(direction, operate64, nearest, out, a, b, c);
}
