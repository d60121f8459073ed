#include "frontend/onnx/contributed.h"

namespace relay::frontend {

std::vector<std::span<const Row>> contributed_rows() {
  return {ml_feature_rows(),
          ml_label_rows(),
          ml_linear_rows(),
          ml_support_vector_rows(),
          ml_tree_rows(),
          ms_activation_rows(),
          ms_attention_rows(),
          ms_block_rows(),
          ms_convolution_rows(),
          ms_experts_rows(),
          ms_grouped_attention_rows(),
          ms_matrix_rows(),
          ms_movement_rows(),
          ms_normalisation_rows(),
          ms_recurrent_rows()};
}

}  // namespace relay::frontend
