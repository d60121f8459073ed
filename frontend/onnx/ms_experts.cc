// com.microsoft.MoE: each row goes through the experts that a router gives the highest scores.
#include "base/cat.h"
#include "frontend/onnx/activate.h"
#include "frontend/onnx/contributed.h"

namespace relay::frontend {
namespace {

using namespace op;

enum Input : size_t { kData, kRouter, kWeight1, kBias1, kWeight2, kBias2, kWeight3, kBias3 };

Expr activated_expert(Node& n, Expr x) {
  const std::string name = n.text("activation_type", "relu");
  n.without_effect({"activation_alpha", "activation_beta", "swiglu_limit", "swiglu_fusion",
                    "swiglu_limit_after_activation"});  // of swiglu
  if (name == "relu") return n.call(kRelu, {x});
  if (name == "gelu") return gelu_by_tanh(n, x);
  if (name == "silu") return quick_gelu(n, x, 1);
  if (name == "identity") return x;
  n.unsupported(cat("activation `", name.substr(0, 40), "` is not supported"),
                "relu, gelu, silu and identity are");
}

// (rows, experts): the share of each expert that a row goes through, 0 for the others. Of experts
// with equal scores the last ones are chosen, as ONNX Runtime does on CPUs: top-k takes the first
// ones, so the experts stand in reverse.
Expr shares(Node& n, Expr router, int64_t experts) {
  const int64_t k = n.integer("k", 1);
  n.require(k >= 1 && k <= experts, "its attribute `k` is out of range");
  const DType dtype = type_of(router).dtype;
  const auto reversed = [&](Expr e) { return n.call(kReverse, {e}, {{"axis", int64_t{1}}}); };
  const Expr likely = reversed(n.call(kSoftmax, {router}, {{"axis", int64_t{-1}}}));
  const Expr best = n.call(kTopk, {likely},
                           {{"k", k}, {"axis", int64_t{1}}, {"is_ascend", false}, {"dtype", DType(kInt32)}});
  Expr value = n.proj(best, 0);  // (rows, k)
  if (n.integer("normalize_routing_weights", 0) != 0) {
    const std::vector<AttrArg> row{{"axis", std::vector<int64_t>{1}}, {"keepdims", true}};
    value = n.call(kDivide, {value, n.call(kSum, {value}, row)});
  }
  const Expr which = n.call(kOneHot, {n.proj(best, 1), n.scalar(dtype, 1), n.scalar(dtype, 0)},
                            {{"depth", experts}, {"axis", int64_t{-1}}, {"dtype", dtype}});
  return reversed(n.call(kSum, {n.call(kMultiply, {which, n.expand_dims(value, 2)})},
                         {{"axis", std::vector<int64_t>{1}}}));
}

// All experts compute all rows: which ones a row needs is known only when the model runs.
Results mixture_of_experts(Node& n) {
  for (const size_t i : {kWeight3, kBias3}) {
    if (n.has(i)) n.unsupported("a third layer of experts is not supported");
  }
  if (n.integer("use_sparse_mixer", 0) != 0) n.unsupported("use_sparse_mixer=1 is not supported");
  n.require(n.rank(kRouter) == 2 && n.rank(kWeight1) == 3 && n.rank(kWeight2) == 3,
            "its router and weights must have 2 and 3 dimensions");
  const Dim experts = n.tensor(kRouter).dims[1], width = n.tensor(kWeight1).dims[2];
  if (!experts.is_const())
    n.unsupported("the number of its experts must be known", "fix the dynamic axis with --input-shapes");
  const Expr x = n.input(kData);
  const std::vector<Dim> dims = dims_of(x);
  n.require(dims.size() == 2 || dims.size() == 3, "its input must have two or three dimensions");
  const Dim rows = product(std::vector<Dim>(dims.begin(), dims.end() - 1));
  const auto layer = [&](Expr in, size_t weight, size_t bias) {  // (experts, rows, results)
    const Expr y = n.call(kBatchMatmul, {in, n.input(weight)}, {{"transpose_b", true}});
    return n.has(bias) ? n.call(kAdd, {y, n.expand_dims(n.input(bias), 1)}) : y;
  };
  const Expr hidden = activated_expert(n, layer(n.reshape(x, {Dim(1), rows, width}), kWeight1, kBias1));
  const Expr results = layer(hidden, kWeight2, kBias2);
  const Expr share = n.expand_dims(n.transpose(shares(n, n.input(kRouter), experts.value()), {1, 0}), 2);
  const Expr zero = n.scalar(type_of(x).dtype, 0);
  // A product by 0 would let an infinity of an expert that a row does not need through.
  const Expr part =
      n.call(kWhere, {n.call(kGreater, {share, zero}), n.call(kMultiply, {results, share}), zero});
  const Expr y = n.call(kSum, {part}, {{"axis", std::vector<int64_t>{0}}});
  std::vector<Dim> shape(dims.begin(), dims.end() - 1);
  shape.push_back(n.tensor(kWeight2).dims[1]);
  return {n.reshape(y, shape)};
}

constexpr Row kRows[] = {
    {"com.microsoft.MoE", 1, mixture_of_experts, "swiglu, a third layer, use_sparse_mixer=1"},
};

}  // namespace

std::span<const Row> ms_experts_rows() { return kRows; }

}  // namespace relay::frontend
