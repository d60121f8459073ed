// ai.onnx.ml: support vector machines.
#include <algorithm>
#include <numeric>

#include "base/cat.h"
#include "frontend/onnx/contributed.h"
#include "frontend/onnx/ml.h"
#include "frontend/onnx/ml_pairwise.h"
#include "op/term.h"

namespace relay::frontend {
namespace {

using namespace op;

// How alike two rows of features are.
struct Kernel {
  std::string type;
  double gamma = 0, coef0 = 0, degree = 0;
};

Kernel kernel_of(Node& n) {
  Kernel k;
  k.type = n.text("kernel_type", "LINEAR");
  n.require(k.type == "LINEAR" || k.type == "POLY" || k.type == "RBF" || k.type == "SIGMOID",
            "its attribute `kernel_type` is none of LINEAR, POLY, RBF and SIGMOID");
  const std::vector<double> parameters = real_list(n, "kernel_params");
  n.require(parameters.size() == 3 || (parameters.empty() && k.type == "LINEAR"),
            "its attribute `kernel_params` has not three numbers");
  if (!parameters.empty()) k.gamma = parameters[0], k.coef0 = parameters[1], k.degree = parameters[2];
  return k;
}

// (rows, count): the kernel of each row of x with each of the vectors (count, features).
Expr likeness(Node& n, const Kernel& k, Expr x, Expr vectors) {
  if (k.type == "RBF") {
    const Expr d = n.call(kSubtract, {n.expand_dims(x, 1), vectors});
    const Expr squares = n.call(kSum, {n.call(kMultiply, {d, d})}, {{"axis", std::vector<int64_t>{2}}});
    return n.call(kExp, {n.call(kMultiply, {squares, n.scalar(kFloat32, -k.gamma)})});
  }
  const Term dot{n.builder(), n.call(kMatmul, {x, vectors}, {{"transpose_b", true}})};
  if (k.type == "LINEAR") return dot;
  const Term line = k.gamma * dot + k.coef0;
  if (k.type == "SIGMOID") return n.call(kTanh, {line});
  return n.call(kPower, {line, n.scalar(kFloat32, k.degree)});
}

Expr vectors_of(Node& n, int64_t count) {
  const std::vector<double> all = real_list(n, "support_vectors");
  const auto size = static_cast<int64_t>(all.size());
  n.require(count > 0 && size > 0 && size % count == 0,
            "its attribute `support_vectors` has not as many numbers for each vector");
  return float_table(n, kFloat32, {count, size / count}, all);
}

void require_rho(Node& n, const std::vector<double>& rho, size_t count) {
  n.require(rho.size() == count, cat("its attribute `rho` has ", rho.size(), " numbers, not ", count));
}

// One score: the sum of the kernels with all vectors; or of the features, if there are no vectors.
Results regressor(Node& n) {
  if (post_transform(n) != PostTransform::kNone)
    n.unsupported("a post_transform of a single target is not supported",
                  "apply the function by a node behind it");
  const Kernel kernel = kernel_of(n);
  const std::vector<double> coefficients = real_list(n, "coefficients"), rho = real_list(n, "rho");
  const int64_t supports = n.integer("n_supports", 0);
  const auto count = static_cast<int64_t>(coefficients.size());
  require_rho(n, rho, 1);
  const Expr x = n.cast(rows_at(n, 0), kFloat32);
  Expr alike = x;
  if (supports > 0) {
    alike = likeness(n, kernel, x, vectors_of(n, supports));
    n.require(count == supports, "it has not one coefficient for each vector");
  } else if (kernel.type != "LINEAR") {
    n.unsupported("a kernel without support vectors is not supported", "LINEAR is");
  }
  n.require(count > 0, "its attribute `coefficients` is empty");
  const Expr sum =
      n.call(kMatmul, {alike, float_table(n, kFloat32, {1, count}, coefficients)}, {{"transpose_b", true}});
  const Expr score = n.call(kAdd, {sum, n.scalar(kFloat32, rho[0])});
  if (n.integer("one_class", 0) == 0) return {score};
  const Expr inside = n.call(kGreater, {score, n.scalar(kFloat32, 0)});
  return {n.call(kWhere, {inside, n.scalar(kFloat32, 1), n.scalar(kFloat32, -1)})};
}

// --- Classes by votes ----------------------------------------------------------------------------

// Each pair of classes i < j has a score, which is positive if a row is rather of class i.
struct Pairs {
  std::vector<std::pair<int64_t, int64_t>> of;
  Expr scores;  // (rows, pairs)
};

// Tables have an entry for each pair of classes and each vector, or each class: far more than the
// model has numbers.
constexpr int64_t kMostEntries = int64_t{1} << 26;

// What the vectors of two classes say of the pair stands in two rows of the coefficients.
Pairs pairs_of(Node& n, const std::vector<int64_t>& counts, const std::vector<double>& rho) {
  const auto classes = static_cast<int64_t>(counts.size());
  int64_t vectors = 0;
  std::vector<int64_t> first{0};
  for (const int64_t count : counts) {
    n.require(count >= 0 && count < (1 << 30) && vectors < (int64_t{1} << 32),
              "its attribute `vectors_per_class` is out of range");
    first.push_back(vectors += count);
  }
  const std::vector<double> coefficients = real_list(n, "coefficients");
  n.require(static_cast<int64_t>(coefficients.size()) == (classes - 1) * vectors,
            "its attribute `coefficients` has not one number less than classes for each vector");
  const int64_t count = classes * (classes - 1) / 2;
  require_rho(n, rho, static_cast<size_t>(count));
  if (std::max(classes, vectors) > kMostEntries / count)
    n.unsupported(cat(classes, " classes with ", vectors, " support vectors are too many"),
                  "divide the classes among several classifiers");
  const Expr known = vectors_of(n, vectors);
  Pairs out;
  for (int64_t i = 0; i < classes; ++i) {
    for (int64_t j = i + 1; j < classes; ++j) out.of.emplace_back(i, j);
  }
  Tensor weights(kFloat32, {count, vectors});
  for (int64_t p = 0; p < count; ++p) {
    const auto [i, j] = out.of[static_cast<size_t>(p)];
    const auto copy = [&](int64_t from_class, int64_t row) {
      for (int64_t v = first[static_cast<size_t>(from_class)]; v < first[static_cast<size_t>(from_class) + 1];
           ++v)
        weights.set(p * vectors + v, coefficients[static_cast<size_t>(row * vectors + v)]);
    };
    for (int64_t v = 0; v < vectors; ++v) weights.set(p * vectors + v, 0);
    copy(i, j - 1);
    copy(j, i);
  }
  const Expr alike = likeness(n, kernel_of(n), n.cast(rows_at(n, 0), kFloat32), known);
  const Expr sums =
      n.call(kMatmul, {alike, n.builder().constant(std::move(weights))}, {{"transpose_b", true}});
  out.scores = n.call(kAdd, {sums, float_table(n, kFloat32, {count}, rho)});
  return out;
}

// The class with the most votes, the first of several: each pair votes for one of its classes.
Expr winner(Node& n, const Pairs& pairs, int64_t classes) {
  const auto count = static_cast<int64_t>(pairs.of.size());
  // Class c has c votes if no score is positive: it is the second class of as many pairs. A
  // positive score moves a vote from the second class to the first one.
  Tensor moves(kFloat32, {count, classes}), votes(kFloat32, {classes});
  for (int64_t i = 0; i < moves.size(); ++i) moves.set(i, 0);
  for (int64_t p = 0; p < count; ++p) {
    const auto [i, j] = pairs.of[static_cast<size_t>(p)];
    moves.set(p * classes + i, 1);
    moves.set(p * classes + j, -1);
  }
  for (int64_t c = 0; c < classes; ++c) votes.set(c, static_cast<double>(c));
  Builder& b = n.builder();
  const Expr positive = n.cast(n.call(kGreater, {pairs.scores, n.scalar(kFloat32, 0)}), kFloat32);
  const Expr moved = n.call(kMatmul, {positive, b.constant(std::move(moves))});
  return largest_score(n, n.call(kAdd, {moved, b.constant(std::move(votes))}));
}

// Of the classes: those of pairs follow from their scores s by 1 / (1 + exp(a * s + b)).
Expr probabilities(Node& n, const Pairs& pairs, int64_t classes, const std::vector<double>& a,
                   const std::vector<double>& b) {
  n.require(a.size() == pairs.of.size() && b.size() == a.size(),
            "its attributes `prob_a` and `prob_b` have not one number for each pair of classes");
  if (classes > kMostProbableClasses)
    n.unsupported(cat("probabilities of more than ", kMostProbableClasses, " classes are not supported"));
  if (type_of(pairs.scores).dims[0].is_unknown()) n.unsupported("the number of its rows depends on the data");
  const auto count = static_cast<int64_t>(a.size());
  const Expr line = n.call(kAdd, {n.call(kMultiply, {pairs.scores, float_table(n, kFloat32, {count}, a)}),
                                  float_table(n, kFloat32, {count}, b)});
  const Expr likely = n.call(kSigmoid, {n.call(kNegative, {line})});
  // Never quite sure, so that every class stays possible.
  const Expr bounded = n.call(kClip, {likely}, {{"a_min", 1e-7}, {"a_max", 1 - 1e-7}});
  return probabilities_of_pairs(n, bounded, classes);
}

// Classes with a row of coefficients each.
Results linear_classifier(Node& n, const ClassLabels& labels, PostTransform transform) {
  const std::vector<double> coefficients = real_list(n, "coefficients"), rho = real_list(n, "rho");
  const auto classes = static_cast<int64_t>(labels.count), count = static_cast<int64_t>(coefficients.size());
  if (classes < 3)
    n.unsupported("two classes without support vectors are not supported", "use LinearClassifier");
  if (kernel_of(n).type != "LINEAR")
    n.unsupported("a kernel without support vectors is not supported", "LINEAR is");
  n.require(count > 0 && count % classes == 0 && !rho.empty(),
            "its coefficients are not as many for each class, or `rho` is empty");
  const Expr weight = float_table(n, kFloat32, {classes, count / classes}, coefficients);
  const Expr sums = n.call(kMatmul, {n.cast(rows_at(n, 0), kFloat32), weight}, {{"transpose_b", true}});
  const Expr scores = n.call(kAdd, {sums, n.scalar(kFloat32, rho[0])});
  return {label_at(n, labels, largest_score(n, scores)), transformed(n, scores, transform)};
}

Results classifier(Node& n) {
  const ClassLabels labels = class_labels(n, "classlabels_ints");
  const PostTransform transform = post_transform(n);
  const std::vector<double> a = real_list(n, "prob_a"), b = real_list(n, "prob_b");
  const std::vector<int64_t> counts = n.integers("vectors_per_class");
  if (counts.empty()) return linear_classifier(n, labels, transform);
  const auto classes = static_cast<int64_t>(counts.size());
  n.require(counts.size() == labels.count && classes >= 2, "it has not one label for each class");
  const Pairs pairs = pairs_of(n, counts, real_list(n, "rho"));
  const Expr label = label_at(n, labels, winner(n, pairs, classes));
  if (!a.empty() || !b.empty()) {
    if (transform != PostTransform::kNone)
      n.unsupported("a post_transform of probabilities is not supported");
    return {label, probabilities(n, pairs, classes, a, b)};
  }
  if (classes > 2) return {label, transformed(n, pairs.scores, transform)};
  // The score of two classes is positive for the first one, and stands at the second place.
  if (transform != PostTransform::kNone && transform != PostTransform::kLogistic)
    n.unsupported("a post_transform other than NONE and LOGISTIC of a single score is not supported");
  const Expr both = n.concatenate({n.call(kNegative, {pairs.scores}), pairs.scores}, 1);
  return {label, transformed(n, both, transform)};
}

constexpr Row kRows[] = {
    {"ai.onnx.ml.SVMClassifier", 1, classifier,
     "two classes without support vectors, texts as labels that are used"},
    {"ai.onnx.ml.SVMRegressor", 1, regressor, "a post_transform"},
};

}  // namespace

std::span<const Row> ml_support_vector_rows() { return kRows; }

}  // namespace relay::frontend
