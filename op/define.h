// define: an OpDef from rules over a typed attribute struct.
//
//   struct SoftmaxAttrs {
//     int64_t axis = -1;
//     static constexpr auto kFields = fields(field("axis", &SoftmaxAttrs::axis, "from the end if negative"));
//   };
//   const OpDef kSoftmax = define<SoftmaxAttrs>({.name = "nn.softmax", ..., .relate = relate, ...});
//
// Fields may be bool, int64_t, double, std::string, DType, Dim, vectors of int64_t, double, Dim
// or std::string, and std::optional of these (absent or None). A field without a default is
// marked `.required`.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "op/op_def.h"
#include "op/ops.h"

namespace relay::op {

template <class A, class T>
struct Field {
  std::string_view name;
  T A::* member;
  std::string_view doc;
  bool is_required = false;
  constexpr Field required() const { return {name, member, doc, true}; }
};

template <class A, class T>
constexpr Field<A, T> field(std::string_view name, T A::* member, std::string_view doc) {
  return {name, member, doc, false};
}

template <class... F>
constexpr std::tuple<F...> fields(F... f) {
  return {f...};
}

struct NoAttrs {
  static constexpr auto kFields = fields();
};

// Reads one value; returns what was wrong, or an empty text.
std::string read_attr(const AttrValue& v, bool& out);
std::string read_attr(const AttrValue& v, int64_t& out);
std::string read_attr(const AttrValue& v, double& out);
std::string read_attr(const AttrValue& v, std::string& out);
std::string read_attr(const AttrValue& v, DType& out);
std::string read_attr(const AttrValue& v, Dim& out);
std::string read_attr(const AttrValue& v, std::vector<int64_t>& out);  // a lone integer is a list of one
std::string read_attr(const AttrValue& v, std::vector<double>& out);
std::string read_attr(const AttrValue& v, std::vector<Dim>& out);
std::string read_attr(const AttrValue& v, std::vector<std::string>& out);
template <class T>
std::string read_attr(const AttrValue& v, std::optional<T>& out) {
  if (v.kind == AttrKind::kNone) {
    out.reset();
    return {};
  }
  return read_attr(v, out.emplace());
}

// The name of a field's type and the text of its default, for docs.
std::pair<std::string, std::string> describe_attr(bool v);
std::pair<std::string, std::string> describe_attr(int64_t v);
std::pair<std::string, std::string> describe_attr(double v);
std::pair<std::string, std::string> describe_attr(const std::string& v);
std::pair<std::string, std::string> describe_attr(DType v);
std::pair<std::string, std::string> describe_attr(Dim v);
std::pair<std::string, std::string> describe_attr(const std::vector<int64_t>& v);
std::pair<std::string, std::string> describe_attr(const std::vector<double>& v);
std::pair<std::string, std::string> describe_attr(const std::vector<Dim>& v);
std::pair<std::string, std::string> describe_attr(const std::vector<std::string>& v);
template <class T>
std::pair<std::string, std::string> describe_attr(const std::optional<T>& v) {
  auto [type, text] = describe_attr(v ? *v : T{});
  return {type + "?", v ? text : "None"};
}

// "is unknown; there are axis, keepdims"
std::string unknown_attr(const std::vector<std::string_view>& known);

// Reads all attributes of a call, appending every mistake to `errors`.
template <class A>
A read_attrs(const Attrs& attrs, std::vector<AttrError>& errors) {
  A out;
  std::vector<std::string_view> known;
  std::apply(
      [&](const auto&... f) {
        const auto one = [&](const auto& field) {
          known.push_back(field.name);
          if (const AttrValue* v = attrs.find(field.name)) {
            if (std::string wrong = read_attr(*v, out.*field.member); !wrong.empty()) {
              errors.push_back({std::string(field.name), std::move(wrong)});
            }
          } else if (field.is_required) {
            errors.push_back({std::string(field.name), "is missing", "missing-attribute"});
          }
        };
        (one(f), ...);
        (void)one;  // an operator without attributes
      },
      A::kFields);
  for (const Attr& a : attrs) {
    bool found = false;
    for (std::string_view name : known) found |= a.name == name;
    if (!found) errors.push_back({a.name.str(), unknown_attr(known), "unknown-attribute"});
  }
  return out;
}

// The same where attributes were checked before, or a RelationError is wanted.
template <class A>
A read_attrs(const Attrs& attrs) {
  std::vector<AttrError> errors;
  A out = read_attrs<A>(attrs, errors);
  if (!errors.empty())
    throw RelationError{kAttributes, "attribute `" + errors[0].name + "` " + errors[0].reason};
  return out;
}

// How an operator is evaluated. Rules that add up many terms take `Sums` as well.
template <class A>
class EvaluateRule {
 public:
  using Plain = void(const A& a, Args in, Results out);
  using Summing = void(const A& a, Args in, Results out, Sums sums);

  EvaluateRule() = default;
  EvaluateRule(Plain* rule) : plain_(rule) {}      // NOLINT: a rule is a function
  EvaluateRule(Summing* rule) : summing_(rule) {}  // NOLINT
  explicit operator bool() const { return plain_ || summing_; }
  void operator()(const A& a, Args in, Results out, Sums sums) const {
    summing_ ? summing_(a, in, out, sums) : plain_(a, in, out);
  }

 private:
  Plain* plain_ = nullptr;
  Summing* summing_ = nullptr;
};

// What an operator's file writes down. See OpDef for the meaning of each part.
template <class A>
struct Spec {
  std::string name, doc;
  std::vector<Param> params;
  Effects effects = Effects::kNone;
  Fusion fusion = Fusion::kOpaque;
  Tolerance tolerance = {};
  std::vector<int> refines = {};
  bool view = false;
  std::string not_differentiable = {};
  Type (*relate)(Relation& r, const A& a) = nullptr;
  EvaluateRule<A> evaluate = {};
  bool (*traps)(const A& a, std::span<const Type> args, Type result) = nullptr;
  bool (*by_rows)(const A& a, size_t rank) = nullptr;
  Expr (*expand)(Builder& b, const A& a, const Site& c) = nullptr;
  std::vector<Expr> (*differentiate)(Builder& b, const A& a, const Site& c) = nullptr;
  std::vector<kernel::Tensor> (*lower)(kernel::Builder& k, const A& a, const Lowering& c) = nullptr;
  kernel::Tensor (*extents)(kernel::Builder& k, const A& a, const Lowering& c) = nullptr;
  // The attributes that differ from `known`.
  std::vector<AttrArg> (*settle)(const A& symbolic, const A& known) = nullptr;
};

template <class A = NoAttrs>
OpDef define(Spec<A> s) {
  OpDef d;
  d.name = std::move(s.name);
  d.doc = std::move(s.doc);
  d.params = std::move(s.params);
  d.effects = s.effects;
  d.fusion = s.fusion;
  d.tolerance = std::move(s.tolerance);
  d.refines = std::move(s.refines);
  d.view = s.view;
  d.not_differentiable = std::move(s.not_differentiable);
  std::apply(
      [&](const auto&... f) {
        const A defaults;
        const auto one = [&](const auto& field) {
          auto [type, text] = describe_attr(defaults.*field.member);
          d.attrs.push_back(
              {std::string(field.name), type, field.is_required ? "" : text, std::string(field.doc)});
        };
        (one(f), ...);
        (void)one;
      },
      A::kFields);
  d.relate = [rule = s.relate](Relation& r, const Attrs& a) { return rule(r, read_attrs<A>(a)); };
  if (s.by_rows) {
    d.by_rows = [rule = s.by_rows](const Attrs& a, size_t rank) { return rule(read_attrs<A>(a), rank); };
  }
  if (s.evaluate) {
    d.evaluate = [rule = s.evaluate](const Attrs& a, Args in, Results out, Sums sums) {
      rule(read_attrs<A>(a), in, out, sums);
    };
  }
  if (s.expand) {
    d.expand = [rule = s.expand](Builder& b, const Attrs& a, const Site& c) {
      return rule(b, read_attrs<A>(a), c);
    };
  }
  if (s.differentiate) {
    d.differentiate = [rule = s.differentiate](Builder& b, const Attrs& a, const Site& c) {
      return rule(b, read_attrs<A>(a), c);
    };
  }
  if (s.lower) {
    d.lower = [rule = s.lower](kernel::Builder& k, const Attrs& a, const Lowering& c) {
      return rule(k, read_attrs<A>(a), c);
    };
  }
  if (s.extents) {
    d.extents = [rule = s.extents](kernel::Builder& k, const Attrs& a, const Lowering& c) {
      return rule(k, read_attrs<A>(a), c);
    };
  }
  if (s.settle) {
    d.settle = [rule = s.settle](Context& context, const Attrs& symbolic, const Attrs& known) {
      std::vector<AttrArg> all = rule(read_attrs<A>(symbolic), read_attrs<A>(known));
      for (const Attr& a : known) {
        if (std::none_of(all.begin(), all.end(), [&](const AttrArg& other) { return a.name == other.name; }))
          all.push_back({a.name.str(), a.value});
      }
      return context.attrs(all);
    };
  }
  if (s.traps) {
    d.traps = [rule = s.traps](const Attrs& a, std::span<const Type> args, Type result) {
      return rule(read_attrs<A>(a), args, result);
    };
  }
  d.check_attrs = [](const Attrs& a) {
    std::vector<AttrError> errors;
    read_attrs<A>(a, errors);
    return errors;
  };
  return d;
}

}  // namespace relay::op
