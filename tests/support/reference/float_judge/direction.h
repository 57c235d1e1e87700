// Rounding directions of the host. MODE_* come from the Python side.
#pragma once
#include <cfenv>

namespace float_judge {

// Rounding direction of the host, restored at the end of the scope.
class Direction {
public:
    explicit Direction(int mode) : before_(std::fegetround()) {
        std::fesetround(mode == MODE_RN   ? FE_TONEAREST
                        : mode == MODE_RZ ? FE_TOWARDZERO
                        : mode == MODE_RM ? FE_DOWNWARD
                                          : FE_UPWARD);
    }
    ~Direction() { std::fesetround(before_); }

private:
    int before_;
};

}  // namespace float_judge
