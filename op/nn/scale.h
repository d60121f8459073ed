// The largest scale of an upsampling: with it and the memory of today, no extent overflows.
#pragma once

namespace relay::op {

inline constexpr double kLargestScale = 65536;

}  // namespace relay::op
