// The rows of the operators outside ONNX's own domain: ai.onnx.ml in ml_*.cc,
// com.microsoft in ms_*.cc.
#pragma once

#include "frontend/onnx/node.h"

namespace relay::frontend {

// Those of all families below.
std::vector<std::span<const Row>> contributed_rows();

std::span<const Row> ml_feature_rows();
std::span<const Row> ml_label_rows();
std::span<const Row> ml_linear_rows();
std::span<const Row> ml_support_vector_rows();
std::span<const Row> ml_tree_rows();
std::span<const Row> ms_activation_rows();
std::span<const Row> ms_attention_rows();
std::span<const Row> ms_block_rows();
std::span<const Row> ms_convolution_rows();
std::span<const Row> ms_experts_rows();
std::span<const Row> ms_grouped_attention_rows();
std::span<const Row> ms_matrix_rows();
std::span<const Row> ms_movement_rows();
std::span<const Row> ms_normalisation_rows();
std::span<const Row> ms_recurrent_rows();

}  // namespace relay::frontend
