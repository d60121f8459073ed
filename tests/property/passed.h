// A program on its way through passes, compared with itself after each.
//
// After a pass that approximates (Pass::approximates) the program means something else. What such a
// pass keeps is compared with what there was before, and the program that it leaves is what later
// passes are compared with.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "passes/runner.h"
#include "tests/property/expected.h"
#include "tests/property/laws.h"

namespace relay::property {

// What is counted: the pass changed a program; a program that it changed was run, and the results
// were compared.
std::string changed_by(std::string_view pass);
std::string compared_after(std::string_view pass);
inline constexpr const char* kWinograd = "changed by Winograd's filtering";

class Passed {
 public:
  // `before`: what the program gives before any pass. Others may share it.
  Passed(const Module& checked, std::vector<Value> args, std::shared_ptr<const Expected> before, Tally& tally)
      : now_(checked), args_(std::move(args)), expected_(std::move(before)), tally_(tally) {}

  const Module& now() const { return now_; }
  const std::string& so_far() const { return so_far_; }
  // Was the last pass refused? Then the program is what it was before.
  bool refused() const { return refused_; }

  // What is wrong after one pass more, with its parameters; empty if nothing is.
  std::string run(const std::string& step, passes::RunnerOptions options = {});

 private:
  std::string compared(const passes::Pass& pass);
  std::string compared_roughly(const passes::Step& step);

  Module now_;
  std::vector<Value> args_;
  std::shared_ptr<const Expected> expected_;
  Tally& tally_;
  std::string so_far_;
  bool refused_ = false;
  bool reorders_ = false;  // floats are combined in another order than in the expected run
  bool wide_ = false;      // float32 has become float64 since
  bool stopped_ = false;   // nobody knows what @main takes
  // Of the largest number on the way that results may be away, at least: of this comparison, and of
  // all those that follow.
  double share_ = 0, coarse_ = 0;
};

}  // namespace relay::property
