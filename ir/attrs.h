// Attributes: the named constants of an operator call or a function, interned and sorted by name.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/arena.h"
#include "base/fields.h"
#include "base/symbol.h"
#include "ir/dim.h"

namespace relay {

enum class AttrKind : uint8_t { kNone, kBool, kInt, kFloat, kString, kDim, kList };

struct AttrValue {
  AttrKind kind = AttrKind::kNone;
  bool boolean = false;
  int64_t integer = 0;
  double real = 0;
  Symbol string = {};  // also names of dtypes and layouts
  Dim dim = {};        // symbolic or unknown; constant dims are kInt
  List<AttrValue> list = {};
  static constexpr auto kFields =
      FieldList<&AttrValue::kind, &AttrValue::boolean, &AttrValue::integer, &AttrValue::real,
                &AttrValue::string, &AttrValue::dim, &AttrValue::list>{};

  friend bool operator==(const AttrValue& a, const AttrValue& b);
};
std::string show(const AttrValue& v);  // as in a `.relay` text

struct Attr {
  Symbol name;
  AttrValue value;
  static constexpr auto kFields = FieldList<&Attr::name, &Attr::value>{};
  friend bool operator==(const Attr& a, const Attr& b) { return a.name == b.name && a.value == b.value; }
};

static_assert(lists_all_fields<AttrValue> && lists_all_fields<Attr>);

// A handle on an interned list; equal attributes of one context are the same pointer.
class Attrs {
 public:
  Attrs() = default;  // none
  explicit Attrs(const List<Attr>* list) : list_(list) {}

  const Attr* begin() const { return list_ ? list_->begin() : nullptr; }
  const Attr* end() const { return list_ ? list_->end() : nullptr; }
  bool empty() const { return !list_ || list_->empty(); }
  size_t size() const { return list_ ? list_->size() : 0; }

  const AttrValue* find(std::string_view name) const;  // null if absent
  bool flag(std::string_view name) const;              // present and true (or a nonzero integer)

  friend bool operator==(const Attrs& a, const Attrs& b);

 private:
  const List<Attr>* list_ = nullptr;
};

// No value. Were it std::monostate, all alternatives of AttrArg would be trivial, strings
// or vectors, and libstdc++ 12 would destroy, by an index that there is not, what a copy
// found no memory for.
struct NoAttr {
  NoAttr() = default;
  NoAttr(const NoAttr&) noexcept {}
  NoAttr& operator=(const NoAttr&) noexcept { return *this; }
};

// Before interning: any order, any lifetime. Context::attrs makes an Attrs of a list of them.
struct AttrArg {
  std::string name;
  using List = std::vector<AttrArg>;
  std::variant<NoAttr, bool, int64_t, double, std::string, Dim, DType, std::vector<int64_t>, std::vector<Dim>,
               std::vector<double>, std::vector<std::string>, AttrValue>
      value;
};

}  // namespace relay
