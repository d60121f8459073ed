// Attributes: comparing, finding and writing them. Lists may be nested as deeply as an importer
// likes, so nothing here recurses.
#include "ir/attrs.h"

#include <bit>

#include "base/cat.h"
#include "base/escape.h"
#include "ir/attr_text.h"

namespace relay {
namespace {

// Everything but the elements of a list.
bool same_head(const AttrValue& a, const AttrValue& b) {
  if (a.kind != b.kind) return false;
  switch (a.kind) {
    case AttrKind::kNone: return true;
    case AttrKind::kBool: return a.boolean == b.boolean;
    case AttrKind::kInt: return a.integer == b.integer;
    // By bits, so that NaN equals itself and -0 differs from 0.
    case AttrKind::kFloat: return std::bit_cast<uint64_t>(a.real) == std::bit_cast<uint64_t>(b.real);
    case AttrKind::kString: return a.string == b.string;
    case AttrKind::kDim: return a.dim == b.dim;
    case AttrKind::kList: return a.list.size() == b.list.size();
  }
  return false;
}

std::string show_head(const AttrValue& v) {
  switch (v.kind) {
    case AttrKind::kNone: return "None";
    case AttrKind::kBool: return v.boolean ? "True" : "False";
    case AttrKind::kInt: return cat(v.integer);
    case AttrKind::kFloat: return cat(v.real, "f");
    case AttrKind::kString: return relay_quoted(v.string.text(), '"');
    case AttrKind::kDim: return show(v.dim);
    case AttrKind::kList: return "[";
  }
  return {};
}

}  // namespace

bool operator==(const AttrValue& a, const AttrValue& b) {
  if (!same_head(a, b)) return false;
  if (a.kind != AttrKind::kList) return true;
  std::vector<std::pair<const AttrValue*, const AttrValue*>> pending{{&a, &b}};
  while (!pending.empty()) {
    const auto [x, y] = pending.back();
    pending.pop_back();
    if (!same_head(*x, *y)) return false;
    if (x->list.data() == y->list.data()) continue;
    for (size_t i = 0; i < x->list.size(); ++i) pending.emplace_back(&x->list[i], &y->list[i]);
  }
  return true;
}

std::string show(const AttrValue& v) { return attr_text(v, show_head); }

const AttrValue* Attrs::find(std::string_view name) const {
  for (const Attr& a : *this) {
    if (a.name == name) return &a.value;
  }
  return nullptr;
}

bool Attrs::flag(std::string_view name) const {
  const AttrValue* v = find(name);
  return v && ((v->kind == AttrKind::kBool && v->boolean) || (v->kind == AttrKind::kInt && v->integer != 0));
}

bool operator==(const Attrs& a, const Attrs& b) {
  if (a.list_ == b.list_) return true;
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (!(a.begin()[i] == b.begin()[i])) return false;
  }
  return true;
}

}  // namespace relay
