// Losses of predictions: NegativeLogLikelihoodLoss and SoftmaxCrossEntropyLoss.
#include "frontend/onnx/node.h"

namespace relay::frontend {
namespace {

using namespace op;

// Of logarithms of probabilities, whose axis 1 is the classes; inputs 1 and 2 are the targets and,
// optionally, the weights of the classes.
Expr negative_log_likelihood(Node& n, Expr predictions) {
  const TensorType& x = type_of(predictions);
  n.require(x.rank() >= 2, "its input needs a batch and classes");
  n.require(n.rank(1) + 1 == x.rank(), "its targets must have one dimension less than its input");
  const std::string reduction = n.text("reduction", "mean");
  n.require(reduction == "mean" || reduction == "sum" || reduction == "none",
            "its attribute `reduction` is none of mean, sum and none");
  if (!n.has(2) && x.dims[1].is_unknown()) n.unsupported("the number of its classes must be known");
  const Expr weights =
      n.has(2) ? n.input(2) : n.call(kOnes, {}, {{"shape", std::vector<Dim>{x.dims[1]}}, {"dtype", x.dtype}});
  // Without the attribute no target is ignored. This one is no class.
  const int64_t ignored = n.integer("ignore_index", INT64_MIN);
  return n.call(kNllLoss, {predictions, n.input(1), weights},
                {{"reduction", reduction}, {"ignore_index", ignored}});
}

Results negative_log_likelihood_loss(Node& n) { return {negative_log_likelihood(n, n.input(0))}; }

// The second result are the logarithms.
Results softmax_cross_entropy_loss(Node& n) {
  n.require(n.rank(0) >= 2, "its input needs a batch and classes");
  const Expr logarithms = n.call(kLogSoftmax, {n.input(0)}, {{"axis", int64_t{1}}});
  return {negative_log_likelihood(n, logarithms), logarithms};
}

constexpr Row kRows[] = {
    {"NegativeLogLikelihoodLoss", 12, negative_log_likelihood_loss},
    {"SoftmaxCrossEntropyLoss", 12, softmax_cross_entropy_loss},
};

}  // namespace

std::span<const Row> loss_rows() { return kRows; }

}  // namespace relay::frontend
