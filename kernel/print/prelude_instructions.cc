#include "kernel/print/prelude.h"

namespace relay::kernel {

// The operands in the order of the description; what they do is written down there.
const std::string_view kPreludeInstructions = R"prelude(
// Instructions that compilers do not find by themselves, where the machine has them.
#if defined(__AVX512VNNI__) || defined(__AVX512BF16__)
#include <immintrin.h>
#endif
#if defined(__AVX512VNNI__)
#define RELAY_HAS_VPDPBUSD
RELAY_FUNCTION void relay_vpdpbusd(const uint8_t* a, const int8_t* b, int32_t* c) {
  int32_t group;
  memcpy(&group, a, sizeof group);
  const __m512i sum = _mm512_dpbusd_epi32(_mm512_loadu_si512(c), _mm512_set1_epi32(group), _mm512_loadu_si512(b));
  _mm512_storeu_si512(c, sum);
}
#endif
#if defined(__AVX512BF16__)
#define RELAY_HAS_VDPBF16PS
RELAY_FUNCTION void relay_vdpbf16ps(const uint16_t* a, const uint16_t* b, float* c) {
  int32_t pair;
  memcpy(&pair, a, sizeof pair);
  const __m512 sum =
      _mm512_dpbf16_ps(_mm512_loadu_ps(c), (__m512bh)_mm512_set1_epi32(pair), (__m512bh)_mm512_loadu_si512(b));
  _mm512_storeu_ps(c, sum);
}
#endif
)prelude";

}  // namespace relay::kernel
