#include "op/define.h"

#include <cmath>

#include "base/cat.h"

namespace relay::op {
namespace {

std::string expected(std::string_view what, const AttrValue& v) {
  return cat("must be ", what, ", not `", relay::show(v), "`");
}

// Reads a list item by item; a lone value is a list of one.
template <class T>
std::string read_list(const AttrValue& v, std::vector<T>& out, std::string_view what) {
  out.clear();
  const std::span<const AttrValue> items =
      v.kind == AttrKind::kList ? std::span<const AttrValue>(v.list) : std::span<const AttrValue>(&v, 1);
  for (const AttrValue& item : items) {
    if (!read_attr(item, out.emplace_back()).empty()) return expected(what, v);
  }
  return {};
}

template <class T>
std::string show_list(const std::vector<T>& v) {
  return cat("[", join(v, ", ", [](const T& item) { return describe_attr(item).second; }), "]");
}

}  // namespace

std::string unknown_attr(const std::vector<std::string_view>& known) {
  if (known.empty()) return "is unknown: the operator has no attributes";
  return cat("is unknown; there are ", join(known, ", "));
}

std::string read_attr(const AttrValue& v, bool& out) {
  // Texts of the established system write 0 and 1, too.
  if (v.kind == AttrKind::kInt && (v.integer == 0 || v.integer == 1)) {
    out = v.integer == 1;
    return {};
  }
  if (v.kind != AttrKind::kBool) return expected("True or False", v);
  out = v.boolean;
  return {};
}

std::string read_attr(const AttrValue& v, int64_t& out) {
  if (v.kind != AttrKind::kInt) return expected("an integer", v);
  out = v.integer;
  return {};
}

std::string read_attr(const AttrValue& v, double& out) {
  if (v.kind != AttrKind::kInt && v.kind != AttrKind::kFloat) return expected("a number", v);
  out = v.kind == AttrKind::kInt ? static_cast<double>(v.integer) : v.real;
  return {};
}

std::string read_attr(const AttrValue& v, std::string& out) {
  if (v.kind != AttrKind::kString) return expected("a string", v);
  out = v.string.str();
  return {};
}

std::string read_attr(const AttrValue& v, DType& out) {
  if (v.kind != AttrKind::kString) return expected("the name of a dtype", v);
  const std::optional<DType> parsed = DType::parse(v.string.text());
  if (!parsed) return expected("the name of a dtype", v);
  out = *parsed;
  return {};
}

std::string read_attr(const AttrValue& v, Dim& out) {
  // The least number of 64 bits is no extent: a Dim of it is unknown.
  const bool is_number = v.kind == AttrKind::kInt && v.integer != INT64_MIN;
  if (!is_number && v.kind != AttrKind::kDim) return expected("a dimension", v);
  out = v.kind == AttrKind::kInt ? Dim(v.integer) : v.dim;
  return {};
}

std::string read_attr(const AttrValue& v, std::vector<int64_t>& out) {
  return read_list(v, out, "a list of integers");
}
std::string read_attr(const AttrValue& v, std::vector<double>& out) {
  return read_list(v, out, "a list of numbers");
}
std::string read_attr(const AttrValue& v, std::vector<Dim>& out) {
  return read_list(v, out, "a list of dimensions");
}
std::string read_attr(const AttrValue& v, std::vector<std::string>& out) {
  return read_list(v, out, "a list of strings");
}

std::pair<std::string, std::string> describe_attr(bool v) { return {"bool", v ? "True" : "False"}; }
std::pair<std::string, std::string> describe_attr(int64_t v) { return {"int", cat(v)}; }
std::pair<std::string, std::string> describe_attr(double v) {
  // A text that reads as a number with a fraction: 1 becomes 1.0.
  std::string text = cat(v);
  if (std::isfinite(v) && text.find_first_of(".e") == std::string::npos) text += ".0";
  return {"float", text};
}
std::pair<std::string, std::string> describe_attr(const std::string& v) {
  return {"string", cat("\"", v, "\"")};
}
std::pair<std::string, std::string> describe_attr(DType v) { return {"dtype", cat("\"", v.name(), "\"")}; }
std::pair<std::string, std::string> describe_attr(Dim v) { return {"dim", relay::show(v)}; }
std::pair<std::string, std::string> describe_attr(const std::vector<int64_t>& v) {
  return {"ints", show_list(v)};
}
std::pair<std::string, std::string> describe_attr(const std::vector<double>& v) {
  return {"floats", show_list(v)};
}
std::pair<std::string, std::string> describe_attr(const std::vector<Dim>& v) {
  return {"dims", show_list(v)};
}
std::pair<std::string, std::string> describe_attr(const std::vector<std::string>& v) {
  return {"strings", show_list(v)};
}

}  // namespace relay::op
