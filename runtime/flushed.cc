#include "runtime/flushed.h"

namespace relay {
namespace {

// The fields of a float as bits of `Word`.
template <class Word>
struct Fields {
  Word exponent, mantissa;
};
constexpr Fields<uint16_t> kBFloat16Fields = {0x7f80, 0x007f};
constexpr Fields<uint32_t> kFloat32Fields = {0x7f800000, 0x007fffff};
constexpr Fields<uint64_t> kFloat64Fields = {0x7ff0000000000000, 0x000fffffffffffff};

template <class Word>
bool has_denormals(const Tensor& t, Fields<Word> f) {
  bool any = false;
  for (const Word w : t.as<Word>()) any |= (w & f.exponent) == 0 && (w & f.mantissa) != 0;
  return any;
}

template <class Word>
void flush(Tensor& t, Fields<Word> f) {
  for (Word& w : t.as<Word>()) {
    if ((w & f.exponent) == 0) w = static_cast<Word>(w & ~f.mantissa);
  }
}

}  // namespace

double smallest_normal(DType dtype) {
  if (dtype == kFloat32 || dtype == kBFloat16) return 0x1p-126;
  return dtype == kFloat64 ? 0x1p-1022 : 0;
}

bool has_denormals(const Tensor& t) {
  if (t.dtype() == kBFloat16) return has_denormals(t, kBFloat16Fields);
  if (t.dtype() == kFloat32) return has_denormals(t, kFloat32Fields);
  return t.dtype() == kFloat64 && has_denormals(t, kFloat64Fields);
}

Tensor flushed(const Tensor& t) {
  if (!has_denormals(t)) return t;
  Tensor out = t.copy();
  if (t.dtype() == kBFloat16) flush(out, kBFloat16Fields);
  if (t.dtype() == kFloat32) flush(out, kFloat32Fields);
  if (t.dtype() == kFloat64) flush(out, kFloat64Fields);
  return out;
}

}  // namespace relay
