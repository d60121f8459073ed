#include "frontend/onnx/ml_pairwise.h"

#include "frontend/onnx/ml.h"
#include "frontend/onnx/repeat.h"
#include "op/term.h"

namespace relay::frontend {
namespace {

using namespace op;

constexpr int64_t kRounds = 100;
constexpr double kError = 0.005;  // divided by the number of classes

class Coupling {
 public:
  Coupling(Node& n, int64_t classes) : n_(n), classes_(classes) {}

  // r[t][j]: how likely class t is, of t and j; 0 where both are the same. (rows, classes, classes)
  Expr matrix(Expr pairs) {
    const int64_t count = classes_ * (classes_ - 1) / 2;
    std::vector<int64_t> places(static_cast<size_t>(classes_ * classes_), 2 * count);
    int64_t p = 0;
    for (int64_t i = 0; i < classes_; ++i) {
      for (int64_t j = i + 1; j < classes_; ++j, ++p) {
        places[static_cast<size_t>(i * classes_ + j)] = p;
        places[static_cast<size_t>(j * classes_ + i)] = count + p;
      }
    }
    const Term likely{n_.builder(), pairs};
    const Expr none = n_.call(kZerosLike, {n_.slice(pairs, 1, 0, 1)});
    const Expr all = n_.concatenate({likely, 1.0 - likely, none}, 1);
    const Expr found = n_.call(kTake, {all, index_table(n_, places)}, {{"axis", int64_t{1}}});
    return n_.reshape(found, {type_of(pairs).dims[0], Dim(classes_), Dim(classes_)});
  }

  // q[t][t] = sum over j of r[j][t]^2; q[t][j] = -r[j][t] * r[t][j]
  void set_matrix(Expr r) {
    const Term t{n_.builder(), r}, turned{n_.builder(), n_.transpose(r, {0, 2, 1})};
    std::vector<double> unit(static_cast<size_t>(classes_ * classes_), 0);
    for (int64_t i = 0; i < classes_; ++i) unit[static_cast<size_t>(i * classes_ + i)] = 1;
    const Term diagonal{n_.builder(), float_table(n_, kFloat32, {classes_, classes_}, unit)};
    const Term squares{n_.builder(), n_.expand_dims(sum(turned * turned, 2, false), 2)};
    q_ = squares * diagonal - turned * t;
  }

  Expr round(Expr before) {
    Term p{n_.builder(), before};
    Term qp{n_.builder(),
            sum(Term{n_.builder(), q_} * Term{n_.builder(), n_.expand_dims(before, 1)}, 2, false)};
    Term pqp{n_.builder(), sum(p * qp, 1, true)};
    const Expr error =
        n_.call(kMax, {n_.call(kAbs, {qp - pqp})}, {{"axis", std::vector<int64_t>{1}}, {"keepdims", true}});
    const Expr bound = n_.scalar(kFloat32, kError / static_cast<double>(classes_));
    for (int64_t t = 0; t < classes_; ++t) {
      const Term row{n_.builder(), n_.squeeze(n_.slice(q_, 1, t, t + 1), {1})};  // (rows, classes)
      const Term own{n_.builder(), n_.slice(row, 1, t, t + 1)}, at{n_.builder(), n_.slice(qp, 1, t, t + 1)};
      std::vector<double> unit(static_cast<size_t>(classes_), 0);
      unit[static_cast<size_t>(t)] = 1;
      const Term which{n_.builder(), float_table(n_, kFloat32, {classes_}, unit)};
      const Term step = (pqp - at) / own, scale = step + 1.0;
      p = (p + step * which) / scale;
      pqp = (pqp + step * (step * own + 2.0 * at)) / scale / scale;
      qp = (qp + step * row) / scale;
    }
    return n_.call(kWhere, {n_.call(kLess, {error, bound}), before, p});
  }

 private:
  Expr sum(Expr e, int64_t axis, bool keep) {
    return n_.call(kSum, {e}, {{"axis", std::vector<int64_t>{axis}}, {"keepdims", keep}});
  }

  Node& n_;
  int64_t classes_;
  Expr q_ = nullptr;
};

}  // namespace

Expr probabilities_of_pairs(Node& n, Expr pairs, int64_t classes) {
  Coupling coupling(n, classes);
  coupling.set_matrix(coupling.matrix(pairs));
  const std::vector<Dim> shape{type_of(pairs).dims[0], Dim(classes)};
  const Expr equal = n.scalar(kFloat32, 1.0 / static_cast<double>(classes));
  const Expr first = n.call(kFull, {equal}, {{"shape", shape}, {"dtype", DType(kFloat32)}});
  const Expr rounds = n.builder().constant(Tensor::scalar_int(kInt64, kRounds));
  return repeat(n, rounds, first, [&](Expr, Expr p) { return coupling.round(p); });
}

}  // namespace relay::frontend
