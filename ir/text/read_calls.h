// Calls of names that are no operators, but are read as other expressions (ir/text/operators.h).
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/diagnostics.h"
#include "ir/builder.h"
#include "ir/text/operators.h"

namespace relay::text {

// Between its name and its last argument, such a call has an expression as any callee.
class ReadCalls {
 public:
  // What stands for the name; one for all calls.
  Expr stand_in(Builder& builder, const std::string& name) {
    Expr& callee = by_name_[name];
    if (!callee) callee = builder.tuple({});
    names_.emplace(callee, name);
    return callee;
  }
  // The name that a callee stands for; null if it stands for itself.
  const std::string* name_of(Expr callee) const {
    const auto found = names_.find(callee);
    return found == names_.end() ? nullptr : &found->second;
  }

 private:
  std::map<std::string, Expr> by_name_;
  std::unordered_map<Expr, std::string> names_;
};

// Adds to a message that there is no operator of that name what more there is to say; false if
// there is nothing.
inline bool explain_absent(const Operators& operators, Diagnostic& d, std::string_view name) {
  if (operators.reads && operators.reads(name)) {
    d.note("it can only be called: what it means is read in the place of the call");
    return true;
  }
  const std::string_view why = operators.why_absent ? operators.why_absent(name) : std::string_view();
  if (!why.empty()) d.note("there is none on purpose: " + std::string(why));
  return !why.empty();
}

}  // namespace relay::text
