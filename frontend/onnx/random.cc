// Random numbers: RandomUniform, RandomNormal, those in the shape of an input,
// Multinomial, Bernoulli, Dropout.
//
// ONNX says which numbers there are by a distribution and a seed, but not by which generator they
// are made. A node gives the same numbers in every run. One without a seed, which ONNX lets choose
// any, has the seed 0 and its place among all that draw, so that two nodes give different numbers.
// In a loop, each step gives others.
#include <bit>

#include "base/cat.h"
#include "frontend/data/onnx_tensor.h"
#include "frontend/onnx/choose.h"
#include "frontend/onnx/importer.h"

namespace relay::frontend {
namespace {

using namespace op;

// The words of a key of Threefry that this file sets: three of the four of the cipher's key, and
// the beginning of the path.
enum Word { kSeed = 0, kPlace = 1, kStep = 2, kPath = 8, kWords = 10 };

// The bits of the seed: a float, but of Dropout an integer.
int64_t seed_of(Node& n, bool is_whole) {
  if (is_whole) return n.integer("seed", 0);
  return std::bit_cast<uint32_t>(static_cast<float>(n.real("seed", 0)));
}

// Says once for a model that what has no seed is the same in each run.
void warn_of_no_seed(Node& n) {
  n.importer()
      .diagnostics()
      .warning(n.importer().span_of(n.proto()), "unsupported-operator-form",
               cat("`", n.proto().op_type(), "` has no seed: each run draws the same numbers"))
      .note(
          "nodes without a seed draw from seed 0, each its own numbers; the attribute `seed` chooses others");
}

// A number of the step in all loops around the node, as one element. Steps of loops around a loop
// are told apart however many loops there are: the factor is odd, so no step is
// lost beyond 64 bits.
Expr step_of(Node& n) {
  constexpr int64_t kFactor = 0x1e3779b97f4a7c15;
  const auto word = [&](int64_t v) { return n.builder().constant(Tensor::scalar_int(kUInt64, v)); };
  Expr out = nullptr;
  for (const Expr i : n.importer().steps()) {
    const Expr number = n.call(kAdd, {n.cast(i, kUInt64), word(1)});
    out = out ? n.call(kAdd, {n.call(kMultiply, {out, word(kFactor)}), number}) : number;
  }
  return n.reshape(out, {Dim(1)});
}

Expr key_of(Node& n, bool is_whole = false) {
  Tensor key(kUInt64, {kWords});
  key.set_int(kPath, INT64_MIN);  // the first bit
  const auto place = static_cast<int64_t>(n.importer().next_draw());
  if (n.attribute("seed")) {
    key.set_int(kSeed, seed_of(n, is_whole));
  } else {
    if (n.importer().is_first_without_seed()) warn_of_no_seed(n);
    key.set_int(kPlace, place);
  }
  const Expr words = n.builder().constant(key);
  if (n.importer().steps().empty()) return words;
  return n.concatenate({n.slice(words, 0, 0, kStep), step_of(n), n.slice(words, 0, kStep + 1, kWords)}, 0);
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
    {"Dropout", 1, dropout},
    {"Multinomial", 7, multinomial},
    {"RandomNormal", 1, random_normal},
    {"RandomNormalLike", 1, random_normal_like},
    {"RandomUniform", 1, random_uniform},
    {"RandomUniformLike", 1, random_uniform_like},
};

}  // namespace

std::span<const Row> random_rows() { return kRows; }

}  // namespace relay::frontend
