#include "exporter/onnx/site.h"

#include <algorithm>
#include <charconv>
#include <numeric>

#include "base/cat.h"
#include "frontend/data/onnx_tensor.h"
#include "op/define.h"
#include "op/ops.h"
#include "op/registry.h"

namespace relay::exporter {
namespace {

template <class T>
T number(std::string_view text) {
  T out{};
  const auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), out);
  CHECK(wrong == std::errc() && end == text.data() + text.size(), cat("a default is no number: ", text));
  return out;
}

// The default that op::describe_attr wrote.
AttrValue read_default(Context& context, std::string_view type, std::string_view text) {
  if (text == "None") return {};
  if (text == "True" || text == "False") return context.attr_value(text == "True");
  if (text.starts_with('"')) return context.attr_value(std::string(text.substr(1, text.size() - 2)));
  if (type.starts_with("float")) return context.attr_value(number<double>(text));
  if (!text.starts_with('[')) return context.attr_value(number<int64_t>(text));
  std::vector<int64_t> items;
  std::string_view rest = text.substr(1, text.size() - 2);
  while (!rest.empty()) {
    const size_t comma = std::min(rest.find(", "), rest.size());
    items.push_back(number<int64_t>(rest.substr(0, comma)));
    rest.remove_prefix(std::min(comma + 2, rest.size()));
  }
  return context.attr_value(items);
}

template <class T>
T read(const AttrValue& v) {
  T out{};
  const std::string wrong = op::read_attr(v, out);
  CHECK(wrong.empty(), cat("the attribute of a checked call: ", wrong));
  return out;
}

}  // namespace

AttrValue CallAttrs::value(std::string_view name) const {
  if (const AttrValue* v = attrs_.find(name)) return *v;
  for (const op::AttrField& f : def_.attrs) {
    if (f.name == name)
      return f.default_text.empty() ? AttrValue() : read_default(context_, f.type, f.default_text);
  }
  CHECK(false, cat(def_.name, " has no attribute ", name));
  return {};
}
bool CallAttrs::flag(std::string_view name) const { return read<bool>(value(name)); }
int64_t CallAttrs::integer(std::string_view name) const { return read<int64_t>(value(name)); }
double CallAttrs::real(std::string_view name) const { return read<double>(value(name)); }
std::string CallAttrs::text(std::string_view name) const { return read<std::string>(value(name)); }
std::vector<int64_t> CallAttrs::ints(std::string_view name) const {
  return read<std::vector<int64_t>>(value(name));
}
std::vector<Dim> CallAttrs::dims(std::string_view name) const { return read<std::vector<Dim>>(value(name)); }

Site::Site(Context& context, Graph& graph, Extents& extents, const Call& call, std::vector<Names> args)
    : graph_(graph),
      extents_(extents),
      call_(call),
      attrs_(context, *op::callee(call), call.attrs),
      args_(std::move(args)) {}

const TensorType& Site::type(size_t i) const { return *call_.args[i]->type->as<TensorType>(); }

const TensorType& Site::result(size_t i) const {
  const auto* tuple = call_.type->as<TupleType>();
  return *(tuple ? tuple->fields[i] : call_.type)->as<TensorType>();
}

size_t Site::results() const {
  const auto* tuple = call_.type->as<TupleType>();
  return tuple ? tuple->fields.size() : 1;
}

std::optional<Tensor> Site::constant(size_t i) const {
  const Expr e = call_.args[i];
  if (const auto* c = e->as<Constant>()) return *c->value;
  const op::OpDef* def = op::callee(e);
  const auto* inner = def == &op::kCast ? e->as<Call>()->args[0]->as<Constant>() : nullptr;
  return inner ? std::optional(inner->value->converted(e->type->as<TensorType>()->dtype)) : std::nullopt;
}

std::string Site::cast(const std::string& x, DType from, DType to) {
  return from == to ? x : node("Cast", {x}, {{"to", frontend::data::onnx_of_dtype(to)}});
}

std::string Site::transpose(const std::string& x, const std::vector<int64_t>& axes) {
  return std::is_sorted(axes.begin(), axes.end()) ? x : node("Transpose", {x}, {{"perm", axes}});
}

std::string Site::reshape(const std::string& x, std::span<const Dim> from, std::span<const Dim> to) {
  std::vector<int64_t> codes;
  size_t open = 0, kept = 0, zeros = 0;
  for (size_t i = 0; i < to.size(); ++i) {
    const bool keeps = !to[i].is_const() && !to[i].is_unknown() && i < from.size() && from[i] == to[i];
    codes.push_back(to[i].is_const() ? to[i].value() : keeps ? 0 : -1);
    open += codes.back() == -1;
    kept += keeps;
    zeros += to[i].is_const() && to[i].value() == 0;
  }
  // `-1` beside a kept extent means nothing where that extent is 0.
  if (open == 0 && (zeros == 0 || kept == 0))
    return node("Reshape", {x, graph_.ints(codes)}, {{"allowzero", zeros > 0}});
  if (open == 1 && kept == 0 && zeros == 0) return node("Reshape", {x, graph_.ints(codes)});
  return node("Reshape", {x, extents_.vector(to)}, {{"allowzero", 1}});
}

std::string Site::along(const std::string& vector, int64_t axis, size_t rank) {
  std::vector<int64_t> added(rank - static_cast<size_t>(axis) - 1);
  std::iota(added.begin(), added.end(), 1);
  return added.empty() ? vector : node("Unsqueeze", {vector, graph_.ints(added)});
}

int64_t Site::axis(std::string_view attribute, size_t rank) const {
  return from_front(attrs_.integer(attribute), rank);
}

}  // namespace relay::exporter
