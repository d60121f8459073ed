// Operators that are refused for a reason that is worth saying: no other version of them would do.
#pragma once

#include <optional>
#include <span>
#include <string_view>

namespace relay::frontend {

struct RefusedOperator {
  std::string_view name, why;  // the full name (node.h); the reason, and what to do
};
std::span<const RefusedOperator> refused_operators();

// Why an operator of this full name (node.h) is not imported, and what to do. Nothing if there is
// no more to say than that it is not there.
std::optional<std::string_view> reason_to_refuse(std::string_view name);

}  // namespace relay::frontend
