#include "tests/exhaustive/terms.h"

#include <functional>

namespace relay::exhaustive {

const std::vector<const Term*>& Terms::of_size(uint32_t size, uint32_t variables) {
  if (auto it = known_.find({size, variables}); it != known_.end()) return it->second;
  std::vector<const Term*> out;
  if (size == 1) {
    out = {make({Form::kOne}), make({Form::kTrue})};
    for (uint32_t v = 0; v < variables; ++v) out.push_back(make({Form::kVar, v}));
  } else {
    for (const Term* a : of_size(size - 1, variables)) {
      out.push_back(make({Form::kNegative, 0, {a}}));
      out.push_back(make({Form::kFirst, 0, {a}}));
    }
    for (const Term* a : of_size(size - 1, variables + 1)) out.push_back(make({Form::kFn, variables, {a}}));
    for (uint32_t first = 1; first + 1 < size; ++first) {
      for (const Term* a : of_size(first, variables)) {
        for (const Term* b : of_size(size - 1 - first, variables)) {
          out.push_back(make({Form::kAdd, 0, {a, b}}));
          out.push_back(make({Form::kPair, 0, {a, b}}));
          out.push_back(make({Form::kCall, 0, {a, b}}));
        }
        for (const Term* b : of_size(size - 1 - first, variables + 1))
          out.push_back(make({Form::kLet, variables, {a, b}}));
      }
    }
    for (uint32_t first = 1; first + 2 < size; ++first) {
      for (uint32_t second = 1; first + second + 1 < size; ++second) {
        for (const Term* a : of_size(first, variables)) {
          for (const Term* b : of_size(second, variables)) {
            for (const Term* c : of_size(size - 1 - first - second, variables))
              out.push_back(make({Form::kIf, 0, {a, b, c}}));
          }
        }
      }
    }
  }
  return known_[{size, variables}] = std::move(out);
}

// ---- types ----

namespace {

struct SimpleType {
  enum Kind { kFloat, kBool, kPair, kFn } kind = kFloat;
  std::vector<SimpleType> parts = {};  // of a pair; the result of a function
  friend bool operator==(const SimpleType&, const SimpleType&) = default;
};

std::string show(const SimpleType& t) {
  switch (t.kind) {
    case SimpleType::kFloat: return "float32";
    case SimpleType::kBool: return "bool";
    case SimpleType::kPair: return "(" + show(t.parts[0]) + ", " + show(t.parts[1]) + ")";
    default: return "fn(float32) -> " + show(t.parts[0]);
  }
}

using Types = std::vector<SimpleType>;  // of the variables

std::optional<SimpleType> infer(const Term& t, const Types& scope) {
  const auto part = [&](size_t i) { return infer(*t.parts[i], scope); };
  const auto with = [&](const SimpleType& bound, size_t body) {
    Types inner(scope.begin(), scope.begin() + t.variable);
    inner.push_back(bound);
    return infer(*t.parts[body], inner);
  };
  const SimpleType number{SimpleType::kFloat};
  switch (t.form) {
    case Form::kOne: return number;
    case Form::kTrue: return SimpleType{SimpleType::kBool};
    case Form::kVar: return scope[t.variable];
    case Form::kNegative: {
      const auto a = part(0);
      return a == number ? a : std::nullopt;
    }
    case Form::kFirst: {
      const auto a = part(0);
      return a && a->kind == SimpleType::kPair ? std::optional(a->parts[0]) : std::nullopt;
    }
    case Form::kFn: {
      const auto body = with(number, 0);
      return body ? std::optional(SimpleType{SimpleType::kFn, {*body}}) : std::nullopt;
    }
    case Form::kAdd: return part(0) == number && part(1) == number ? std::optional(number) : std::nullopt;
    case Form::kPair: {
      const auto a = part(0), b = part(1);
      return a && b ? std::optional(SimpleType{SimpleType::kPair, {*a, *b}}) : std::nullopt;
    }
    case Form::kLet: {
      const auto a = part(0);
      return a ? with(*a, 1) : std::nullopt;
    }
    case Form::kCall: {
      const auto f = part(0);
      if (!f || f->kind != SimpleType::kFn || part(1) != number) return std::nullopt;
      return f->parts[0];
    }
    case Form::kIf: {
      const auto b = part(1), c = part(2);
      return part(0) == SimpleType{SimpleType::kBool} && b && b == c ? b : std::nullopt;
    }
  }
  return std::nullopt;
}

// ---- values ----

struct SimpleValue {
  enum Kind { kNumber, kTruth, kPair, kFunction } kind = kNumber;
  double number = 0;
  std::vector<SimpleValue> parts = {};
  std::function<SimpleValue(SimpleValue)> function = {};
};

SimpleValue evaluate(const Term& t, const std::vector<SimpleValue>& scope) {
  const auto part = [&](size_t i) { return evaluate(*t.parts[i], scope); };
  const auto with = [&t, &scope](SimpleValue bound, size_t body) {
    std::vector<SimpleValue> inner(scope.begin(), scope.begin() + t.variable);
    inner.push_back(std::move(bound));
    return evaluate(*t.parts[body], inner);
  };
  switch (t.form) {
    case Form::kOne: return {SimpleValue::kNumber, 1};
    case Form::kTrue: return {SimpleValue::kTruth, 1};
    case Form::kVar: return scope[t.variable];
    case Form::kNegative: return {SimpleValue::kNumber, -part(0).number};
    case Form::kFirst: return part(0).parts[0];
    case Form::kFn:
      return {SimpleValue::kFunction, 0, {}, [&t, scope](SimpleValue x) {
                std::vector<SimpleValue> inner(scope.begin(), scope.begin() + t.variable);
                inner.push_back(std::move(x));
                return evaluate(*t.parts[0], inner);
              }};
    case Form::kAdd: return {SimpleValue::kNumber, part(0).number + part(1).number};
    case Form::kPair: return {SimpleValue::kPair, 0, {part(0), part(1)}};
    case Form::kLet: return with(part(0), 1);
    case Form::kCall: return part(0).function(part(1));
    case Form::kIf: return part(0).number != 0 ? part(1) : part(2);
  }
  return {};
}

std::string show(const SimpleValue& v) {
  switch (v.kind) {
    case SimpleValue::kNumber: return std::to_string(static_cast<int>(v.number));
    case SimpleValue::kTruth: return v.number != 0 ? "True" : "False";
    case SimpleValue::kPair: return "(" + show(v.parts[0]) + ", " + show(v.parts[1]) + ")";
    default: return "function";
  }
}

}  // namespace

std::optional<std::string> type_of(const Term& t) {
  const auto type = infer(t, {SimpleType{SimpleType::kFloat}});
  return type ? std::optional(show(*type)) : std::nullopt;
}

std::string value_of(const Term& t, double x) { return show(evaluate(t, {{SimpleValue::kNumber, x}})); }

}  // namespace relay::exhaustive
