// The reference executor: what a kernel means, run naively.
//
// Every access is checked against the buffer's bounds and against the regions that its block
// declares. Floating point arithmetic is rounded to the dtype at each operation and integers wrap,
// as in compiled code (which may still contract a*b+c, and has its own transcendentals). Loops
// whose iterations are declared independent run backwards, so that a schedule which relies on their
// order shows; reading what was never written is an error, and so is leaving an output unwritten.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "kernel/kernel.h"
#include "runtime/tensor.h"

namespace relay::kernel {

// The kernel is wrong, not its input: an access outside a buffer or a declared region, an
// unbound variable.
struct BadKernel : std::logic_error {
  explicit BadKernel(const std::string& message) : std::logic_error(message) {}
};

// The values of the kernel's shape variables for these inputs. Throws relay::Trap if a tensor's
// rank, dtype or shape is not what the kernel asks for or an extent that it reads is negative,
// BadKernel if the inputs do not determine a variable.
std::unordered_map<const ExprNode*, int64_t> bind_shapes(const Kernel& k,
                                                         std::span<const ::relay::Tensor> inputs);

// The values of extents. Throws relay::Trap if one has none that fits 64 bits, or is negative.
::relay::Shape shape_at(std::span<const Expr> extents,
                        const std::unordered_map<const ExprNode*, int64_t>& values);

// What a run says where an extent that the kernel reads is negative.
std::string no_such_extent(const Kernel& k, const ReadExtent& r);

// How a shape variable follows from one of several extents, as bind_shapes works it out: it is
// (extent - rest) / coefficient.
struct ExtentRule {
  Expr variable;
  size_t extent;  // its place
  int64_t coefficient;
  Expr rest;  // mentions variables of earlier rules only
};
// Where other variables are known already, these may be mentioned too.
std::vector<ExtentRule> extent_rules(std::span<const Expr> extents,
                                     std::unordered_set<const ExprNode*> known = {});
// The variables that have such a rule.
std::unordered_set<const ExprNode*> determined_by(std::span<const Expr> extents);
// Adds the values of variables that follow by such rules where the extents have these values. One
// that would have to be negative, or no whole number, gets none. That all extents agree is for
// the caller to see.
void solve_extents(std::span<const Expr> extents, std::span<const int64_t> are,
                   std::unordered_map<const ExprNode*, int64_t>& values);

// The outputs. Throws relay::Trap where a Require fails or an integer is divided by zero,
// BadKernel as above. `look`, if there is one, is called before each kRoundsBetweenLooks-th round
// of a loop, and may throw: loops may have no end in sight.
std::vector<::relay::Tensor> execute(const Kernel& k, std::span<const ::relay::Tensor> inputs,
                                     const std::function<void()>& look = {});
inline constexpr uint64_t kRoundsBetweenLooks = 256;

// What goes wrong when the kernel runs on zeros, watched more closely: independent iterations that
// meet in an element, a step of a reduction that is done twice or never, a result that is written
// over before anything read it. Empty if nothing does; also for kernels that are not of constant
// size, take more than kMostRaceChecked operations or trap on zeros.
std::string check_races(const Kernel& k);
inline constexpr int64_t kMostRaceChecked = int64_t{1} << 20;  // a tenth of a second

}  // namespace relay::kernel
