#include "op/tensor/attributes.h"

#include "base/cat.h"
#include "op/define.h"

namespace relay::op {

std::string read_attr(const AttrValue& v, MaybeDType& out) {
  out.given.reset();
  if (v.kind == AttrKind::kNone || (v.kind == AttrKind::kString && v.string.empty())) return {};
  return read_attr(v, out.given.emplace());
}

std::pair<std::string, std::string> describe_attr(const MaybeDType& v) {
  return {"dtype?", v.given ? cat("\"", v.given->name(), "\"") : "None"};
}

std::string read_attr(const AttrValue& v, PadWidth& out) {
  const std::string wrong = cat("must be a list of pairs, one for each axis, not `", relay::show(v), "`");
  if (v.kind != AttrKind::kList) return wrong;
  out.axes.clear();
  for (const AttrValue& pair : v.list) {
    auto& [before, after] = out.axes.emplace_back();
    if (pair.kind != AttrKind::kList || pair.list.size() != 2) return wrong;
    if (!read_attr(pair.list[0], before).empty() || !read_attr(pair.list[1], after).empty()) return wrong;
  }
  return {};
}

std::pair<std::string, std::string> describe_attr(const PadWidth& v) {
  const auto show_pair = [](const auto& pair) {
    return cat("[", relay::show(pair.first), ", ", relay::show(pair.second), "]");
  };
  return {"pairs of dims", cat("[", join(v.axes, ", ", show_pair), "]")};
}

AttrValue pad_width(Context& context, const std::vector<std::pair<Dim, Dim>>& axes) {
  std::vector<AttrValue> pairs;
  for (const auto& [before, after] : axes)
    pairs.push_back(context.attr_value(std::vector<Dim>{before, after}));
  return context.attr_list(pairs);
}

std::string read_attr(const AttrValue& v, Cuts& out) {
  out = {};
  if (v.kind == AttrKind::kInt) {
    if (v.integer <= 0)
      return cat("must be a positive number of parts or a list of positions, not `", relay::show(v), "`");
    out.parts = v.integer;
    return {};
  }
  return read_attr(v, out.positions);
}

std::pair<std::string, std::string> describe_attr(const Cuts& v) {
  if (v.parts != 0) return {"int or dims", cat(v.parts)};
  return {"int or dims", describe_attr(v.positions).second};
}

}  // namespace relay::op
