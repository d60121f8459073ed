// Run-time shapes against declared ones, and the text of values.
#include "base/cat.h"
#include "interp/machine.h"
#include "ir/module.h"

namespace relay::interp {
namespace {

void check_tensor(const Tensor& t, const TensorType& type,
                  std::unordered_map<const kernel::ExprNode*, int64_t>& variables, Span span) {
  const auto fail = [&](const std::string& why) {
    throw Trap(cat("expected ", relay::show(&type), ", found Tensor[", relay::show(t.shape()), ", ",
                   t.dtype().name(), "]: ", why),
               span);
  };
  if (t.dtype() != type.dtype) fail("the dtypes differ");
  if (t.rank() != type.rank()) fail("the ranks differ");
  // Lone variables first: other dims may be expressions over them.
  for (size_t i = 0; i < t.rank(); ++i) {
    const Dim d = type.dims[i];
    if (!d.is_symbolic() || d.symbolic()->kind != kernel::ExprKind::kVar) continue;
    auto [it, fresh] = variables.emplace(d.symbolic().get(), t.shape()[i]);
    if (!fresh && it->second != t.shape()[i]) {
      fail(cat("dimension ", i, " is ", t.shape()[i], " but `", relay::show(d), "` is ", it->second));
    }
  }
  for (size_t i = 0; i < t.rank(); ++i) {
    const Dim d = type.dims[i];
    std::optional<int64_t> want;
    if (d.is_const() && d.value() != t.shape()[i])
      fail(cat("dimension ", i, " is ", t.shape()[i], ", not ", d.value()));
    if (d.is_symbolic()) want = kernel::evaluate(d.symbolic(), variables);
    if (want && *want != t.shape()[i]) {
      fail(cat("dimension ", i, " is ", t.shape()[i], " but `", relay::show(d), "` is ", *want));
    }
  }
}

}  // namespace

void check_shape(const Value& v, Type type, std::unordered_map<const kernel::ExprNode*, int64_t>& variables,
                 Span span) {
  std::vector<std::pair<const Value*, Type>> pending{{&v, type}};
  while (!pending.empty()) {
    auto [value, t] = pending.back();
    pending.pop_back();
    if (const auto* tensor = t->as<TensorType>(); tensor && value->is_tensor()) {
      check_tensor(value->tensor(), *tensor, variables, span);
    } else if (const auto* tuple = t->as<TupleType>(); tuple && value->kind() == ValueKind::kTuple) {
      for (size_t i = tuple->fields.size(); i-- > 0;)
        pending.emplace_back(&value->fields()[i], tuple->fields[i]);
    }
  }
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
