// What passes keep that approximate (Pass::approximates): a program that such a pass changed means
// something else, but not just anything.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "passes/pipeline.h"
#include "tests/property/expected.h"

namespace relay::property {

struct Kept {
  bool compared = false;     // there was something to compare
  std::string differs = {};  // how the results differ; empty if they do not
};

// `before` is what the program gave for `args`; `got` what it gives now, for arguments that fit it.
// `share`: of Expected::difference.
Kept kept_by(const passes::Step& step, const Expected& before, const std::vector<Value>& args, const Run& got,
             double share);

// Is a program smooth after the pass that was smooth before?
bool leaves_smooth(std::string_view pass);
// The share of the largest number on the way that later results may be away, at least: how coarse
// the numbers are that the pass brings into a program.
double share_after(std::string_view pass);

// The passes of which is known what they keep.
std::vector<std::string_view> passes_with_approximations();

// The value with other tensors.
template <class Rebuilt>
Value with_tensors(const Value& v, const Rebuilt& rebuilt) {
  if (v.is_tensor()) return Value(rebuilt(v.tensor()));
  if (v.kind() != ValueKind::kTuple && v.kind() != ValueKind::kData) return v;
  std::vector<Value> fields;
  for (const Value& f : v.fields()) fields.push_back(with_tensors(f, rebuilt));
  return v.kind() == ValueKind::kTuple ? Value::tuple(std::move(fields))
                                       : Value::data(v.code(), std::move(fields));
}

}  // namespace relay::property
