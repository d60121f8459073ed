// Random numbers: RandomUniform, RandomNormal, those in the shape of an input,
// Multinomial, Bernoulli, Dropout.
//
// ONNX says which numbers there are by a distribution and a seed, but not by which generator they
// are made. With a seed, a node gives the same numbers in every run; without one, no two runs are
// the same, and nothing here can be.
#include <bit>

#include "base/cat.h"
#include "frontend/data/onnx_tensor.h"
#include "frontend/onnx/choose.h"
#include "frontend/onnx/node.h"

namespace relay::frontend {
namespace {

using namespace op;

// The bits of the seed: a float, but of Dropout an integer.
int64_t seed_of(Node& n, bool is_whole) {
  if (!n.attribute("seed")) {
    n.unsupported("random numbers without a seed are not supported: each run would have others",
                  "give the node the attribute `seed`");
  }
  if (is_whole) return n.integer("seed", 0);
  return std::bit_cast<uint32_t>(static_cast<float>(n.real("seed", 0)));
}

// A key of Threefry: the seed, the beginning of the path, and the counter 0.
Expr key_of(Node& n, bool is_whole = false) {
  Tensor key(kUInt64, {10});
  key.set_int(0, seed_of(n, is_whole));
  key.set_int(8, INT64_MIN);  // the first bit
  return n.builder().constant(key);
}

DType dtype_of(Node& n, DType otherwise) {
  const int64_t code = n.integer("dtype", 0);
  if (!n.attribute("dtype")) return otherwise;
  const std::optional<DType> known = data::dtype_of_onnx(code);
  if (!known) n.unsupported(cat("the dtype ", code, " is not supported"));
  return *known;
}

// Random numbers of an operator that takes a key and two numbers.
Expr drawn(Node& n, const OpDef& distribution, double first, double second, const std::vector<Dim>& shape,
           DType dtype, bool whole_seed = false) {
  if (!dtype.is_float()) n.unsupported(cat("random numbers of ", dtype.name(), " are not supported"));
  for (const Dim d : shape) {
    if (d.is_unknown())
      n.unsupported("random numbers in a shape that is known only when the model runs are not supported",
                    "fix the dynamic axis with --input-shapes");
    n.require(!d.is_const() || d.value() >= 0, "its shape has a negative extent");
  }
  const DType made = dtype == kFloat64 ? kFloat64 : kFloat32;
  const Expr pair =
      n.call(distribution, {key_of(n, whole_seed), n.scalar(made, first), n.scalar(made, second)},
             {{"out_shape", shape}, {"out_dtype", made}});
  return n.cast(n.proj(pair, 1), dtype);
}

std::vector<Dim> shape_attribute(Node& n) {
  if (!n.attribute("shape")) n.invalid("its attribute `shape` is missing", "onnx-missing-attribute");
  const std::vector<int64_t> shape = n.integers("shape");
  return {shape.begin(), shape.end()};
}

// The dtype of the input, if it is one of real numbers.
DType dtype_like(Node& n) { return n.dtype(0).is_float() ? n.dtype(0) : kFloat32; }

Expr uniform(Node& n, const std::vector<Dim>& shape, DType dtype) {
  return drawn(n, kUniform, n.real("low", 0), n.real("high", 1), shape, dtype);
}
Expr normal(Node& n, const std::vector<Dim>& shape, DType dtype) {
  return drawn(n, kNormal, n.real("mean", 0), n.real("scale", 1), shape, dtype);
}

Results random_uniform(Node& n) { return {uniform(n, shape_attribute(n), dtype_of(n, kFloat32))}; }
Results random_normal(Node& n) { return {normal(n, shape_attribute(n), dtype_of(n, kFloat32))}; }
Results random_uniform_like(Node& n) { return {uniform(n, dims_of(n.input(0)), dtype_of(n, dtype_like(n)))}; }
Results random_normal_like(Node& n) { return {normal(n, dims_of(n.input(0)), dtype_of(n, dtype_like(n)))}; }

Results multinomial(Node& n) {
  n.require(n.rank(0) == 2 && n.dtype(0).is_float(), "its input must be rows of logarithms of probabilities");
  const DType dtype = dtype_of(n, kInt32);
  n.require(dtype == kInt32 || dtype == kInt64, "its dtype must be int32 or int64");
  const int64_t samples = n.integer("sample_size", 1);
  n.require(samples >= 0 && samples <= INT32_MAX, "its sample_size is out of range");
  const Expr shares = n.call(kSoftmax, {n.input(0)}, {{"axis", int64_t{-1}}});
  const Expr pair = n.call(kMultinomial, {key_of(n), shares}, {{"num_samples", samples}});
  return {n.cast(n.proj(pair, 1), dtype)};
}

// 1 with the probability of each element, and else 0.
Results bernoulli(Node& n) {
  if (!n.dtype(0).is_float())
    n.unsupported(cat("probabilities of ", n.dtype(0).name(), " are not supported"));
  const DType made = n.dtype(0).bits < 32 ? kFloat32 : n.dtype(0);
  const Expr share = drawn(n, kUniform, 0, 1, dims_of(n.input(0)), made);
  return {n.cast(n.call(kLess, {share, n.cast(n.input(0), made)}), dtype_of(n, n.dtype(0)))};
}

// In training, each element is dropped with a probability; those that stay grow instead.
Results dropped(Node& n) {
  const Expr x = n.input(0);
  const DType dtype = type_of(x).dtype, made = dtype == kFloat64 ? kFloat64 : kFloat32;
  if (!dtype.is_float()) n.unsupported(cat("elements of ", dtype.name(), " are not supported in training"));
  const Expr ratio = n.has(1) ? n.cast(n.reshape(n.input(1), {}), made) : n.scalar(made, 0.5);
  const Expr stays = n.call(kGreaterEqual, {drawn(n, kUniform, 0, 1, dims_of(x), made, true), ratio});
  const Expr grown = n.call(kDivide, {n.cast(x, made), n.call(kSubtract, {n.scalar(made, 1), ratio})});
  return {n.call(kWhere, {stays, n.cast(grown, dtype), n.scalar(dtype, 0)}), stays};
}

// Nothing is dropped at inference. Only a run may tell which of the two it is.
Results dropout(Node& n) {
  if (n.opset() < 7 && n.integer("is_test", 0) == 0)
    n.unsupported("training (is_test=0) is not supported", "set its attribute is_test to 1");
  n.without_effect({"ratio", "seed"});
  const Expr x = n.input(0);
  Results out{x};
  if (n.wants(1)) out.push_back(n.cast(n.call(kOnesLike, {x}), n.opset() < 10 ? type_of(x).dtype : kBool));
  if (n.opset() < 12 || !n.has(2)) return out;
  n.require(n.dtype(2).is_bool(), "its training mode must be a single bool");
  const std::optional<Tensor> known = n.known(2);
  n.require(!known || known->size() == 1, "its training mode must be a single bool");
  if (known && known->get_int(0) == 0) return out;
  const Results in_training = dropped(n);
  if (known) return in_training;
  const Expr training = n.reshape(n.input(2), {});
  for (size_t i = 0; i < out.size(); ++i) out[i] = choose(n, training, in_training[i], out[i]);
  return out;
}

constexpr Row kRows[] = {
    {"Bernoulli", 15, bernoulli},
    {"Dropout", 1, dropout, "training without a seed"},
    {"Multinomial", 7, multinomial},
    {"RandomNormal", 1, random_normal},
    {"RandomNormalLike", 1, random_normal_like},
    {"RandomUniform", 1, random_uniform},
    {"RandomUniformLike", 1, random_uniform_like},
};

}  // namespace

std::span<const Row> random_rows() { return kRows; }

}  // namespace relay::frontend
