// What an engine may skip, by the slug of the diagnostic that says so: the same for all tests
// that run engines.
#pragma once

#include <string_view>

namespace relay::tests {

// The engine `graph` is for static dataflow of known shapes, and skips other programs. The other
// engines skip nothing.
inline bool may_skip(std::string_view engine, std::string_view slug) {
  return engine == "graph" && (slug == "not-static-dataflow" || slug == "dynamic-shape");
}

}  // namespace relay::tests
