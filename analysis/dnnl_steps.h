// What oneDNN is given: a product or a convolution, with what follows it in the same call.
//
// The pass `partition-dnnl` asks here what to put into functions, and the code generator `dnnl`
// what to print for one: both see the same step, and refuse the same programs.
#pragma once

#include <optional>
#include <string>

#include "analysis/views.h"

namespace relay::analysis {

// y = anchor(data, weight) [+ bias] [then nn.relu]
struct DnnlStep {
  std::optional<ProductView> product;  // one of both is there
  std::optional<ConvolutionView> convolution;
  // One number for each channel of a convolution, or each column of a product; null: no bias.
  Expr bias = nullptr;
  bool relu = false;

  const Call& anchor() const { return product ? *product->call : *convolution->call; }
};

// The step whose result is the expression, which must be typed. Nothing if oneDNN is not asked for
// it: `why` is then the end of a sentence about it, as "is of float64, and only
// float32 goes there".
std::optional<DnnlStep> dnnl_step(Context& context, Expr result, std::string& why);

}  // namespace relay::analysis
