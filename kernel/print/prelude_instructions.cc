#include "kernel/print/prelude.h"

namespace relay::kernel::print {

// The operands in the order of the description; what they do is written down there.
const std::string_view kPreludeInstructions = R"prelude(
// Instructions that compilers do not find by themselves, where the machine has them. By their names, because <immintrin.h>
// takes longer to read than most kernels.
#if defined(__AVX512VNNI__)
#define RELAY_HAS_VPDPBUSD
RELAY_FUNCTION void relay_vpdpbusd(const uint8_t* a, const int8_t* b, int32_t* c) {
  int32_t group;
  memcpy(&group, a, sizeof group);
  auto sum = relay_load<16>(c);
  asm("vpdpbusd %2, %1, %0" : "+v"(sum) : "v"(relay_splat<16>(group)), "v"(relay_load<64>(b)));
  relay_store(c, sum);
}
#endif
#if defined(__AVX512BF16__)
#define RELAY_HAS_VDPBF16PS
RELAY_FUNCTION void relay_vdpbf16ps(const uint16_t* a, const uint16_t* b, float* c) {
  int32_t pair;
  memcpy(&pair, a, sizeof pair);
  auto sum = relay_load<16>(c);
  asm("vdpbf16ps %2, %1, %0" : "+v"(sum) : "v"(relay_splat<16>(pair)), "v"(relay_load<32>(b)));
  relay_store(c, sum);
}
#endif
)prelude";

}  // namespace relay::kernel::print
