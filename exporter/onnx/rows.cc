#include "exporter/onnx/rows.h"

#include <unordered_map>

#include "base/cat.h"

namespace relay::exporter {

const Row* find_row(std::string_view op) {
  static const std::unordered_map<std::string_view, const Row*> all = [] {
    std::unordered_map<std::string_view, const Row*> out;
    for (std::span<const Row> family :
         {elementwise_rows(), matrix_rows(), convolution_rows(), normalisation_rows(), reduction_rows(),
          movement_rows(), creation_rows(), indexing_rows(), quantised_rows()}) {
      for (const Row& row : family) CHECK(out.emplace(row.op, &row).second, cat("two rows of ", row.op));
    }
    return out;
  }();
  const auto it = all.find(op);
  return it == all.end() ? nullptr : it->second;
}

}  // namespace relay::exporter
