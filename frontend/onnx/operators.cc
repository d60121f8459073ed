// The table of operators: the rows of all families.
#include <algorithm>
#include <map>

#include "base/cat.h"
#include "frontend/onnx/contributed.h"
#include "frontend/onnx/node.h"

namespace relay::frontend {
namespace {

// Name -> rows, oldest first.
const std::map<std::string_view, std::vector<const Row*>>& table() {
  static const auto made = [] {
    std::map<std::string_view, std::vector<const Row*>> out;
    for (const auto rows : {elementwise_rows(),
                            activation_rows(),
                            convolution_rows(),
                            pooling_rows(),
                            normalisation_rows(),
                            matrix_rows(),
                            reduction_rows(),
                            shape_rows(),
                            movement_rows(),
                            indexing_rows(),
                            resize_rows(),
                            quantisation_rows(),
                            recurrent_rows(),
                            signal_rows(),
                            sorting_rows(),
                            loss_rows(),
                            vision_rows(),
                            random_rows(),
                            quantised_rows(),
                            quantised_attention_rows(),
                            old_version_rows(),
                            cast_rows(),
                            linear_quantisation_rows(),
                            attention_rows(),
                            audio_rows(),
                            determinant_rows(),
                            linear_attention_rows(),
                            ngram_rows(),
                            optimiser_rows(),
                            placement_rows()}) {
      for (const Row& row : rows) out[row.name].push_back(&row);
    }
    for (const std::span<const Row> rows : contributed_rows()) {
      for (const Row& row : rows) out[row.name].push_back(&row);
    }
    for (auto& [name, rows] : out) {
      std::sort(rows.begin(), rows.end(), [](const Row* a, const Row* b) { return a->since < b->since; });
    }
    return out;
  }();
  return made;
}

}  // namespace

bool is_of_onnx(const ::onnx::NodeProto& node) { return node.domain().empty() || node.domain() == "ai.onnx"; }

std::string full_name(const ::onnx::NodeProto& node) {
  return is_of_onnx(node) ? node.op_type() : cat(node.domain(), ".", node.op_type());
}

const Row* find_row(std::string_view name, int64_t opset) {
  const auto it = table().find(name);
  if (it == table().end()) return nullptr;
  const Row* found = nullptr;
  for (const Row* row : it->second) {
    if (row->since <= opset) found = row;
  }
  return found;
}

std::vector<Row> all_rows() {
  std::vector<Row> out;
  for (const auto& [name, rows] : table()) {
    for (const Row* row : rows) out.push_back(*row);
  }
  return out;
}

}  // namespace relay::frontend
