#include "frontend/data/elements.h"

#include <algorithm>
#include <cstring>
#include <new>

#include "base/cat.h"
#include "frontend/data/limits.h"

namespace relay::frontend::data {

std::string check_size(const Shape& shape, DType dtype, uint64_t bytes) {
  if (shape.size() > kMaxRank) return cat("it has more than ", kMaxRank, " dimensions");
  for (int64_t extent : shape) {
    if (extent < 0) return cat("its shape ", show(shape), " has a negative extent");
  }
  const std::optional<int64_t> count = element_count(shape);
  const uint64_t width = dtype.bytes();
  if (!count || static_cast<uint64_t>(*count) > UINT64_MAX / width) {
    return cat("its shape ", show(shape), " is too large");
  }
  const uint64_t needed = static_cast<uint64_t>(*count) * width;
  if (needed == bytes) return {};
  return cat("its shape ", show(shape), " of ", dtype.name(), " needs ", needed, " bytes and it has ", bytes);
}

bool fits_four_bits(DType dtype, std::string_view bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [&](char c) {
    return dtype.is_signed_int() ? static_cast<signed char>(c) >= -8 && static_cast<signed char>(c) < 8
                                 : static_cast<unsigned char>(c) < 16;
  });
}

Result<Tensor> copy_elements(DType dtype, const Shape& shape, std::string_view bytes, bool swapped) {
  try {
    Tensor out(dtype, shape);
    auto* to = static_cast<char*>(out.data());
    if (!bytes.empty()) std::memcpy(to, bytes.data(), bytes.size());
    const size_t width = dtype.bytes();
    if (swapped && width > 1) {
      for (size_t i = 0; i < bytes.size(); i += width) std::reverse(to + i, to + i + width);
    }
    if (dtype.is_bool()) {
      for (size_t i = 0; i < bytes.size(); ++i) to[i] = to[i] != 0;
    }
    return out;
  } catch (const std::bad_alloc&) {
    return kReported;
  }
}

}  // namespace relay::frontend::data
