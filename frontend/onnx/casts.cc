// Changes of what elements are: Cast, CastLike and BitCast.
#include <cstring>

#include "base/cat.h"
#include "frontend/data/onnx_tensor.h"
#include "frontend/onnx/bits.h"
#include "frontend/onnx/importer.h"
#include "frontend/onnx/stored.h"

namespace relay::frontend {
namespace {

using namespace op;

Results cast_to(Node& n, const Element& to) {
  Encoding encoding{.saturate = n.integer("saturate", 1) != 0, .round = RoundMode::kUp};
  const std::string round = n.text("round_mode", "up");
  if (round == "nearest") encoding.round = RoundMode::kNearest;
  if (round == "down") encoding.round = RoundMode::kDown;
  n.require(round == "up" || round == "nearest" || round == "down",
            "its attribute `round_mode` is none of up, down and nearest");
  store(n, 0, to);
  return {as_elements(n, numbers_at(n, 0), to, encoding)};
}

Results cast(Node& n) { return cast_to(n, element_of(n, n.integer("to"))); }
Results cast_like(Node& n) { return cast_to(n, element_at(n, 1)); }

unsigned width_of(const Element& e) { return e.storage ? e.storage->bits : e.dtype.bits; }

// The integers that elements are in memory.
Expr patterns_at(Node& n, size_t i, const Element& from) {
  const Expr e = n.carrier(i);
  if (from.storage && !from.storage->real) return numbers_at(n, i);
  if (from.dtype.is_bool()) return n.cast(e, kUInt8);
  if (from.dtype == kInt4) return n.cast(e, kUInt4);  // no bits above the fourth
  if (from.dtype == kFloat8E4M3 || from.dtype == kFloat8E5M2) {
    const data::SmallFloat& format = from.dtype == kFloat8E4M3 ? data::kFormatE4M3 : data::kFormatE5M2;
    return encoded(n, n.cast(e, kFloat32), format, {.saturate = false, .round = RoundMode::kUp});
  }
  return from.dtype.is_float() ? bits_of(n, e) : e;
}

// A table of all patterns of a small dtype.
Expr looked_up(Node& n, Expr patterns, DType dtype) {
  Tensor table(dtype, {256});
  for (size_t p = 0; p < 256; ++p) table.as<uint8_t>()[p] = static_cast<uint8_t>(p);
  return n.call(kTake, {n.builder().constant(std::move(table)), n.cast(patterns, kInt32)},
                {{"axis", int64_t{0}}});
}

Results bit_cast(Node& n) {
  const int64_t code = n.integer("to");
  const Element from = element_at(n, 0), to = element_of(n, code);
  if (width_of(from) != width_of(to)) {
    n.invalid(cat("it reads elements of ", width_of(from), " bits as ", data::onnx_dtype_name(code),
                  ", which has ", width_of(to)));
  }
  store(n, 0, to);
  if (from.dtype == to.dtype && from.storage == to.storage) return {n.carrier(0)};
  // Elements of whole bytes that are known: their bytes, whatever they mean.
  if (const std::optional<Tensor> known = n.importer().known(n.operand(0));
      known && width_of(from) >= 8 && !to.dtype.is_bool()) {
    Tensor out(to.dtype, known->shape());
    if (known->size() > 0) std::memcpy(out.data(), known->data(), known->bytes());
    return {n.builder().constant(std::move(out))};
  }
  const Expr patterns = patterns_at(n, 0, from);
  if (to.dtype == kFloat8E4M3 || to.dtype == kFloat8E5M2) return {looked_up(n, patterns, to.dtype)};
  if (to.dtype.is_float()) return {float_of(n, patterns, to.dtype)};
  if (to.dtype.is_bool()) return {n.cast(patterns, kBool)};
  return {as_elements(n, patterns, to.storage && to.storage->real ? Element{to.dtype} : to, {})};
}

constexpr Row kRows[] = {
    {"BitCast", 26, bit_cast, "complex numbers"},
    {"Cast", 6, cast, "strings"},
    {"CastLike", 15, cast_like, "strings"},
};

}  // namespace

std::span<const Row> cast_rows() { return kRows; }

}  // namespace relay::frontend
