// What the shapes of a kernel's inputs say about its shape variables.
#include <algorithm>

#include "base/cat.h"
#include "base/failure.h"
#include "kernel/execute.h"
#include "kernel/polynomial.h"
#include "kernel/statements.h"

namespace relay::kernel {

using ::relay::Tensor;

std::string no_such_extent(const Kernel& k, const ReadExtent& r) {
  return cat("kernel ", k.name.text(), " reads the extent `", show(r.variable), "` from `",
             k.inputs[r.input]->name.text(), "`, which has none there");
}

::relay::Shape shape_at(std::span<const Expr> extents,
                        const std::unordered_map<const ExprNode*, int64_t>& values) {
  ::relay::Shape out;
  for (Expr e : extents) {
    const std::optional<int64_t> extent = evaluate(e, values);
    if (!extent || *extent < 0)
      throw Trap(cat(kWrongShape, "an extent of a tensor is negative or does not fit 64 bits: ", show(e)));
    out.push_back(*extent);
  }
  return out;
}

std::unordered_map<const ExprNode*, int64_t> bind_shapes(const Kernel& k, std::span<const Tensor> inputs) {
  if (inputs.size() != k.inputs.size()) {
    throw Trap(
        cat("kernel ", k.name.text(), " takes ", k.inputs.size(), " tensors and was given ", inputs.size()));
  }
  std::unordered_map<const ExprNode*, int64_t> values;
  for (const ReadExtent& r : k.read_extents) {
    const Tensor& from = inputs[r.input];
    const int64_t extent = from.dtype() == kInt64 && r.element < from.size() ? from.get_int(r.element) : -1;
    if (extent < 0) throw Trap(no_such_extent(k, r));
    values[r.variable.get()] = extent;
  }
  std::vector<Expr> extents;
  std::vector<int64_t> are;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Buffer* b = k.inputs[i];
    if (inputs[i].rank() != b->shape.size() || inputs[i].dtype() != b->dtype) {
      throw Trap(cat("input `", b->name.text(), "` of kernel ", k.name.text(), " is ",
                     inputs[i].dtype().name(), ::relay::show(inputs[i].shape())));
    }
    extents.insert(extents.end(), b->shape.begin(), b->shape.end());
    are.insert(are.end(), inputs[i].shape().begin(), inputs[i].shape().end());
  }
  solve_extents(extents, are, values);
  for (size_t i = 0; i < inputs.size(); ++i) {
    for (size_t d = 0; d < k.inputs[i]->shape.size(); ++d) {
      const Expr e = k.inputs[i]->shape[d];
      const std::vector<Expr> mentioned = variables(e);
      if (!std::all_of(mentioned.begin(), mentioned.end(), [&](Expr v) { return values.contains(v.get()); }))
        continue;
      const std::optional<int64_t> value = evaluate(e, values);
      if (value != inputs[i].shape()[d]) {
        throw Trap(cat(kWrongShape, "dim ", d, " of input `", k.inputs[i]->name.text(), "` is ",
                       inputs[i].shape()[d], ", and ", show(e), value ? cat(" = ", *value) : "",
                       " was expected"));
      }
    }
  }
  for (Expr v : shape_parameters(k)) {
    if (values.contains(v.get())) continue;
    if (!determined_by(extents).contains(v.get()))
      throw BadKernel(cat("the inputs do not determine `", show(v), "`"));
    throw Trap(cat(kWrongShape, "the shapes of the inputs of kernel ", k.name.text(), " fit no extent `",
                   show(v), "`"));
  }
  return values;
}

void solve_extents(std::span<const Expr> extents, std::span<const int64_t> are,
                   std::unordered_map<const ExprNode*, int64_t>& values) {
  // c*v + d = extent with one unknown v; repeated, because one extent may give what another needs.
  const auto solve = [&](Expr e, int64_t extent) {
    const ExprNode* unknown = nullptr;
    int64_t coefficient = 0, rest = 0;
    for (const polynomial::Term& t : polynomial::terms(e)) {
      Expr product = e->pool->integer(t.coefficient);
      for (const ExprNode* a : t.atoms) product = product * Expr(a);
      if (auto v = evaluate(product, values)) {
        if (__builtin_add_overflow(rest, *v, &rest)) return false;
      } else if (unknown != nullptr || t.atoms.size() != 1 || t.atoms[0]->kind != ExprKind::kVar ||
                 values.contains(t.atoms[0])) {
        return false;
      } else {
        unknown = t.atoms[0];
        coefficient = t.coefficient;
      }
    }
    int64_t left = 0;
    if (unknown == nullptr || coefficient == 0 || __builtin_sub_overflow(extent, rest, &left)) return false;
    if (left == INT64_MIN || left % coefficient != 0 || left / coefficient < 0) return false;
    values[unknown] = left / coefficient;
    return true;
  };
  for (bool again = true; again;) {
    again = false;
    for (size_t i = 0; i < extents.size(); ++i) again |= solve(extents[i], are[i]);
  }
}

std::vector<ExtentRule> extent_rules(std::span<const Expr> extents,
                                     std::unordered_set<const ExprNode*> known) {
  std::vector<ExtentRule> rules;
  // c*v + d with one unknown v, as above.
  const auto solve = [&](size_t place) {
    const Expr e = extents[place];
    const polynomial::Term* unknown = nullptr;
    const std::vector<polynomial::Term> terms = polynomial::terms(e);
    for (const polynomial::Term& t : terms) {
      const auto is_open = [&](const ExprNode* atom) {
        const std::vector<Expr> all = variables(Expr(atom));
        return std::any_of(all.begin(), all.end(), [&](Expr v) { return !known.contains(v.get()); });
      };
      if (std::none_of(t.atoms.begin(), t.atoms.end(), is_open)) continue;
      if (unknown || t.atoms.size() != 1 || t.atoms[0]->kind != ExprKind::kVar) return false;
      unknown = &t;
    }
    if (unknown == nullptr) return false;
    const Expr variable(unknown->atoms[0]);
    known.insert(variable.get());
    rules.push_back(
        {variable, place, unknown->coefficient, e - variable * e->pool->integer(unknown->coefficient)});
    return true;
  };
  for (bool again = true; again;) {
    again = false;
    for (size_t i = 0; i < extents.size(); ++i) again |= solve(i);
  }
  return rules;
}

std::unordered_set<const ExprNode*> determined_by(std::span<const Expr> extents) {
  std::unordered_set<const ExprNode*> known;
  for (const ExtentRule& rule : extent_rules(extents)) known.insert(rule.variable.get());
  return known;
}

}  // namespace relay::kernel
