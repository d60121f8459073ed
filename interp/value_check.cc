// Run-time shapes against declared ones, and the text of values.
#include <set>

#include "base/cat.h"
#include "base/failure.h"
#include "interp/machine.h"
#include "ir/module.h"
#include "kernel/execute.h"

namespace relay::interp {
namespace {

using Extents = std::unordered_map<const kernel::ExprNode*, int64_t>;

// A tensor and the type that it should have.
struct Place {
  const Tensor* tensor;
  const TensorType* type;
};

[[noreturn]] void fail(const Place& p, Span span, const std::string& why) {
  throw Trap(cat(kWrongShape, "expected ", relay::show(p.type), ", found Tensor[",
                 relay::show(p.tensor->shape()), ", ", p.tensor->dtype().name(), "]: ", why),
             span);
}

// The tensors that the types name, in order. Tuples may share parts, and then have more of them
// than any memory holds: each tuple is looked at once for each of its types.
std::vector<Place> places(std::span<const Value> values, std::span<const Type> types) {
  std::vector<Place> out;
  std::vector<std::pair<const Value*, Type>> pending;
  std::set<std::pair<const std::vector<Value>*, Type>> seen;
  for (size_t i = values.size(); i-- > 0;) pending.emplace_back(&values[i], types[i]);
  while (!pending.empty()) {
    auto [value, t] = pending.back();
    pending.pop_back();
    if (!t) continue;
    if (const auto* tensor = t->as<TensorType>(); tensor && value->is_tensor()) {
      out.push_back({&value->tensor(), tensor});
    } else if (const auto* tuple = t->as<TupleType>(); tuple && value->kind() == ValueKind::kTuple) {
      if (!seen.emplace(&value->fields(), t).second) continue;
      for (size_t i = tuple->fields.size(); i-- > 0;)
        pending.emplace_back(&value->fields()[i], tuple->fields[i]);
    }
  }
  return out;
}

void bind_lone_variables(const Place& p, Extents& variables, Span span) {
  for (size_t i = 0; i < p.type->rank(); ++i) {
    const Dim d = p.type->dims[i];
    if (!d.is_symbolic() || d.symbolic()->kind != kernel::ExprKind::kVar) continue;
    const int64_t extent = p.tensor->shape()[i];
    auto [it, fresh] = variables.emplace(d.symbolic().get(), extent);
    if (!fresh && it->second != extent)
      fail(p, span, cat("dimension ", i, " is ", extent, " but `", relay::show(d), "` is ", it->second));
  }
}

// Those that stand alone nowhere follow from the dims that mention them.
void bind_other_variables(std::span<const Place> all, Extents& variables) {
  std::vector<kernel::Expr> extents;
  std::vector<int64_t> are;
  for (const Place& p : all) {
    for (size_t i = 0; i < p.type->rank(); ++i) {
      const Dim d = p.type->dims[i];
      if (!d.is_symbolic() || kernel::evaluate(d.symbolic(), variables)) continue;
      extents.push_back(d.symbolic());
      are.push_back(p.tensor->shape()[i]);
    }
  }
  if (!extents.empty()) kernel::solve_extents(extents, are, variables);
}

void check_extents(const Place& p, const Extents& variables, Span span) {
  for (size_t i = 0; i < p.type->rank(); ++i) {
    const Dim d = p.type->dims[i];
    const int64_t extent = p.tensor->shape()[i];
    if (d.is_const() && d.value() != extent)
      fail(p, span, cat("dimension ", i, " is ", extent, ", not ", d.value()));
    if (!d.is_symbolic()) continue;
    const std::optional<int64_t> want = kernel::evaluate(d.symbolic(), variables);
    if (want && *want != extent)
      fail(p, span, cat("dimension ", i, " is ", extent, " but `", relay::show(d), "` is ", *want));
    if (want) continue;
    const kernel::Expr only[] = {d.symbolic()};
    std::unordered_set<const kernel::ExprNode*> known;
    for (const auto& [variable, value] : variables) known.insert(variable);
    const std::vector<kernel::Expr> mentioned = kernel::variables(d.symbolic());
    const bool has_no_value = std::all_of(mentioned.begin(), mentioned.end(),
                                          [&](kernel::Expr v) { return known.contains(v.get()); });
    if (has_no_value || !kernel::extent_rules(only, known).empty())
      fail(p, span, cat("dimension ", i, " is ", extent, ", and no `", relay::show(d), "` is"));
  }
}

}  // namespace

void check_shapes(std::span<const Value> values, std::span<const Type> types, Extents& variables, Span span) {
  const std::vector<Place> all = places(values, types);
  for (const Place& p : all) {
    if (p.tensor->dtype() != p.type->dtype) fail(p, span, "the dtypes differ");
    if (p.tensor->rank() != p.type->rank()) fail(p, span, "the ranks differ");
  }
  for (const Place& p : all) bind_lone_variables(p, variables, span);
  bind_other_variables(all, variables);
  for (const Place& p : all) check_extents(p, variables, span);
}

std::string show(const Value& v, size_t most) {
  // Work items are values still to be shown and texts between them.
  struct Item {
    const Value* value;
    const char* text;
  };
  std::string out;
  std::vector<Item> pending{{&v, nullptr}};
  while (!pending.empty()) {
    const Item item = pending.back();
    pending.pop_back();
    if (out.size() > most) return out + " ...";
    if (item.text) {
      out += item.text;
      continue;
    }
    const Value& x = *item.value;
    if (!x) {
      out += "<none>";
      continue;
    }
    const char* close = ")";
    switch (x.kind()) {
      case ValueKind::kTensor: out += relay::show(x.tensor()); continue;
      case ValueKind::kClosure: out += "<closure>"; continue;
      case ValueKind::kCallable: out += "<function>"; continue;
      case ValueKind::kCell: out += "ref("; break;
      case ValueKind::kData:
        out += static_cast<const Constructor*>(x.code())->name.text();
        if (x.fields().empty()) continue;
        out += "(";
        break;
      case ValueKind::kTuple:
        out += "(";
        if (x.fields().size() == 1) close = ",)";
        break;
    }
    pending.push_back({nullptr, close});
    for (size_t i = x.fields().size(); i-- > 0;) {
      pending.push_back({&x.fields()[i], nullptr});
      if (i > 0) pending.push_back({nullptr, ", "});
    }
  }
  return out;
}

}  // namespace relay::interp
