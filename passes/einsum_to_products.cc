// einsum-to-products: a sum of products of two tensors that is a product of matrices becomes one.
//
//   einsum((%k, %q), equation="aecd,abcd->acbe")
//
// becomes nn.batch_matmul of both operands as matrices over `d`, one for each `a` and `c`.
// Exporters write the products of attention so; an nn.batch_matmul has a schedule, and fuse
// sees in it what it looks for. A letter is of the batch if both operands and the result have
// it, and is summed over if only the operands have it. An operand whose letters stand in
// another order is transposed.
//
// Before: constants are folded. After: an einsum that is left has another number of operands than
// two, is not of floating point, repeats a letter in an operand, has extents that are not provably
// the same, or sums over a letter of one operand alone.
#include <algorithm>
#include <optional>

#include "base/cat.h"
#include "ir/rewrite.h"
#include "op/apply.h"
#include "op/ops.h"
#include "op/reduce/equation.h"
#include "op/registry.h"
#include "passes/pass.h"

namespace relay::passes {
namespace {

using Labels = std::vector<size_t>;

bool has(const Labels& labels, size_t label) {
  return std::find(labels.begin(), labels.end(), label) != labels.end();
}

Labels joined(const Labels& a, const Labels& b, const Labels& c = {}) {
  Labels out = a;
  out.insert(out.end(), b.begin(), b.end());
  out.insert(out.end(), c.begin(), c.end());
  return out;
}

// The letters of a product: of the matrices, of the rows of the left one, of the columns of the
// right one, and those that are summed over.
struct Roles {
  Labels batch, rows, columns, terms;
};

// Of `left` and `right`, with the letters in the order of the result; nothing if it is no product.
std::optional<Roles> roles_of(const Labels& left, const Labels& right, const Labels& result) {
  Roles out;
  for (size_t label : result) {
    const bool in_left = has(left, label), in_right = has(right, label);
    (in_left && in_right ? out.batch : in_left ? out.rows : out.columns).push_back(label);
  }
  for (size_t label : left) {
    if (has(result, label)) continue;
    if (!has(right, label)) return std::nullopt;
    out.terms.push_back(label);
  }
  for (size_t label : right) {
    if (!has(result, label) && !has(left, label)) return std::nullopt;
  }
  return out;
}

bool repeats(Labels labels) {
  std::sort(labels.begin(), labels.end());
  return std::adjacent_find(labels.begin(), labels.end()) != labels.end();
}

class Product {
 public:
  Product(relay::Builder& b, const op::Equation& equation, std::vector<Expr> operands)
      : b_(b), equation_(equation), operands_(std::move(operands)), extents_(equation.labels) {}

  // Null if the equation is no product of matrices.
  Expr write() {
    if (!find_extents()) return nullptr;
    const Labels &first = equation_.terms[0], &second = equation_.terms[1], &result = equation_.result;
    if (repeats(first) || repeats(second) || repeats(result)) return nullptr;
    // The operand whose rows come first in the result stands at the left, so that the result need
    // not be transposed.
    const auto of_first = [&](size_t label) { return has(first, label) != has(second, label); };
    const auto leading = std::find_if(result.begin(), result.end(), of_first);
    const bool swaps = leading != result.end() && has(second, *leading);
    const size_t left = swaps ? 1 : 0, right = 1 - left;
    const auto roles = roles_of(equation_.terms[left], equation_.terms[right], result);
    // Without terms it is an outer product, which is element-wise.
    if (!roles || roles->terms.empty()) return nullptr;
    const bool left_transposed = is_in_order(left, joined(roles->batch, roles->terms, roles->rows));
    const bool right_transposed = is_in_order(right, joined(roles->batch, roles->columns, roles->terms));
    const Expr x = left_transposed ? matrices(left, roles->batch, roles->terms, roles->rows)
                                   : matrices(left, roles->batch, roles->rows, roles->terms);
    const Expr y = right_transposed ? matrices(right, roles->batch, roles->columns, roles->terms)
                                    : matrices(right, roles->batch, roles->terms, roles->columns);
    const bool batched = !roles->batch.empty();
    const Expr product = op::call(b_, batched ? op::kBatchMatmul : op::kMatmul, {x, y},
                                  {{"transpose_a", left_transposed}, {"transpose_b", right_transposed}});
    const Labels made = joined(roles->batch, roles->rows, roles->columns);
    return transposed(reshaped(product, extents_of(made)), made, result);
  }

 private:
  // The extent of each letter, wherever it stands.
  bool find_extents() {
    std::vector<bool> known(equation_.labels);
    for (size_t n = 0; n < 2; ++n) {
      const auto* type = operands_[n]->type ? operands_[n]->type->as<TensorType>() : nullptr;
      if (!type || !type->dtype.is_float()) return false;
      for (size_t d = 0; d < type->rank(); ++d) {
        const size_t label = equation_.terms[n][d];
        if (type->dims[d].is_unknown() || (known[label] && extents_[label] != type->dims[d])) return false;
        extents_[label] = type->dims[d];
        known[label] = true;
      }
    }
    return true;
  }

  bool is_in_order(size_t n, const Labels& labels) const { return equation_.terms[n] == labels; }

  std::vector<Dim> extents_of(const Labels& labels) const {
    std::vector<Dim> out;
    for (size_t label : labels) out.push_back(extents_[label]);
    return out;
  }

  Dim count_of(const Labels& labels) const {
    Dim out(1);
    for (size_t label : labels) out = out * extents_[label];
    return out;
  }

  Expr reshaped(Expr e, std::vector<Dim> shape) {
    return op::call(b_, op::kReshape, {e}, {{"newshape", std::move(shape)}, {"allowzero", true}});
  }

  Expr transposed(Expr e, const Labels& from, const Labels& to) {
    if (from == to) return e;
    std::vector<int64_t> axes;
    for (size_t label : to) axes.push_back(std::find(from.begin(), from.end(), label) - from.begin());
    return op::call(b_, op::kTranspose, {e}, {{"axes", axes}});
  }

  // The operand as matrices of these rows and columns, one for each index of the batch.
  Expr matrices(size_t n, const Labels& batch, const Labels& rows, const Labels& columns) {
    const Expr e = transposed(operands_[n], equation_.terms[n], joined(batch, rows, columns));
    std::vector<Dim> shape{count_of(rows), count_of(columns)};
    if (!batch.empty()) shape.insert(shape.begin(), count_of(batch));
    return reshaped(e, std::move(shape));
  }

  relay::Builder& b_;
  const op::Equation& equation_;
  const std::vector<Expr> operands_;
  std::vector<Dim> extents_;  // of the letters
};

// The product of matrices that the call is; null if it is none.
Expr product_of(relay::Builder& b, const Call& call) {
  const auto* tuple = call.args[0]->as<Tuple>();
  if (!call.type || !tuple || tuple->fields.size() != 2) return nullptr;
  std::vector<size_t> ranks;
  for (Expr field : tuple->fields) {
    const auto* type = field->type ? field->type->as<TensorType>() : nullptr;
    if (!type) return nullptr;
    ranks.push_back(type->rank());
  }
  const SpanScope at(b, call.span);
  try {
    const op::Equation equation =
        op::read_equation(op::read_attrs<op::EinsumAttrs>(call.attrs).equation, ranks);
    const Expr now =
        Product(b, equation, std::vector<Expr>(tuple->fields.begin(), tuple->fields.end())).write();
    return now && now->type == call.type ? now : nullptr;
  } catch (const op::RelationError&) {
    return nullptr;  // an extent is too complex to be written
  }
}

Module run(const Module& m, const PassContext&) {
  return rewrite(m, [](relay::Builder& b, Expr e) -> Expr {
    if (op::callee(e) != &op::kEinsum) return e;
    const Expr now = product_of(b, *e->as<Call>());
    return now ? now : e;
  });
}

}  // namespace

const Pass kEinsumToProducts = {
    .name = "einsum-to-products",
    .doc = "compute an einsum of two tensors as a product of matrices, where it is one",
    .skips_lets = true,
    .run = run,
};

}  // namespace relay::passes
