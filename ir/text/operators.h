// Operators: what the text format must know of operators. The package `ir` does not know them, so
// that the caller passes this (op::operators() is the one for all operators).
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/slug.h"
#include "ir/builder.h"

namespace relay {

namespace op {
struct OpDef;
}

struct Operators {
  std::function<const op::OpDef*(std::string_view name)> find;  // null if there is none
  std::function<std::string_view(const op::OpDef& op)> name;
  std::function<std::vector<std::string>()> names;  // of all, for "did you mean"

  // Names that are no operators, but whose calls are read as other expressions (op/readings.h).
  struct Read {
    Expr e = nullptr;
    std::string wrong = {};  // if there is no e: what the message says after the name
    Slug slug = "bad-argument";
  };
  std::function<bool(std::string_view name)> reads = {};
  std::function<Read(Builder&, std::string_view name, std::span<const Expr> args, const Attrs&)> read = {};
  // The type that the name of a type without constructors stands for; null if it is just a name.
  std::function<Type(Context&, std::string_view name)> type = {};
  // Why there is no operator of that name; empty if there is no more to say.
  std::function<std::string_view(std::string_view name)> why_absent = {};
};

}  // namespace relay
