// What a program gives, and how far from that another run of it may be.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "passes/reference.h"
#include "tests/property/run.h"

namespace relay::property {

// Winograd's filtering has errors that are a hundred times larger than those of the sums that it
// stands for, which the reference knows. A wrong element is mostly away by more than this share of
// the largest number on the way.
inline constexpr double kWinogradShare = 1e-4;

class Expected {
 public:
  // `run` is what the interpreter gives for the checked module and these arguments. `smooth` is
  // Program::smooth.
  Expected(const Module& m, std::vector<Value> args, Run run, bool smooth)
      : module_(m), args_(std::move(args)), run_(std::move(run)), smooth_(smooth) {}

  const Run& run() const { return run_; }
  bool is_smooth() const { return smooth_; }
  // May results be compared, although floats are combined in another order?
  bool comparable() const;

  // How the run differs; empty if it does not. Floats may be away only in an inexact run of a
  // smooth program: by what the reference allows (passes/reference.h), or by this share of the
  // largest number on the way, whichever is more.
  std::string difference(const Run& got, double share = 0) const;
  // The same for what an engine gives, which must not come to a limit.
  std::string difference(const driver::Outcome& got, double share = 0) const;

 private:
  const passes::Reference& reference() const;

  Module module_;
  std::vector<Value> args_;
  Run run_;
  bool smooth_;
  mutable std::optional<passes::Reference> reference_ = {};  // made when two runs differ
};

}  // namespace relay::property
