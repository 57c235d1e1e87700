// Arithmetic in the host's other rounding directions: to zero, down, up.
#pragma once
#include "bits.h"

enum class Direction { ZERO, DOWN, UP };

// Operations of `AluOp` that round, by the one that rounds to nearest.
void directed32(int nearest, Direction direction, u32* out, const u32* a, const u32* b, const u32* c);
// The same of `F64Op`.
void directed64(int nearest, Direction direction, u64* out, const u64* a, const u64* b, const u64* c);
