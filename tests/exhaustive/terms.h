// Terms: every program up to a size over a small alphabet, and what each means, worked out
// without any of Relay.
//
// The alphabet is `add`, `negative`, pairs with their first field, `if`, and functions of a float32
// with let and call; the leaves are 1f, True and the variables in scope, the first of which is the
// parameter of @main. A term's size is the number of its forms and leaves. Terms are made without a
// look at types: most have none, and those must be refused.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace relay::exhaustive {

enum class Form : uint8_t { kOne, kTrue, kVar, kNegative, kFirst, kFn, kAdd, kPair, kLet, kCall, kIf };

struct Term {
  Form form;
  uint32_t variable = 0;  // kVar: which; kFn, kLet: which is bound. They are numbered outermost first
  std::vector<const Term*> parts = {};
};

// All terms of a size, those with fewer parts first.
class Terms {
 public:
  // `variables` are in scope.
  const std::vector<const Term*>& of_size(uint32_t size, uint32_t variables = 1);

 private:
  const Term* make(Term t) { return all_.emplace_back(std::make_unique<Term>(std::move(t))).get(); }
  std::vector<std::unique_ptr<const Term>> all_;
  std::map<std::pair<uint32_t, uint32_t>, std::vector<const Term*>> known_;
};

// The type as texts write it; nothing if the term has none. Variable 0 is a float32.
std::optional<std::string> type_of(const Term& t);

// What a term that has a type gives for a value of variable 0: "2", "True", "(1,
// True)", "function".
std::string value_of(const Term& t, double x);

}  // namespace relay::exhaustive
