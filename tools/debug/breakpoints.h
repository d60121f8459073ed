// Breakpoints: where the program stops, and on which values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "tools/debug/condition.h"
#include "tools/debug/program.h"

namespace relay::tools::debug {

// Without a condition it stops before its expressions are evaluated, or where its function is
// entered; with one, at values of theirs that meet it.
struct Breakpoint {
  uint64_t number = 0;
  std::string where;
  std::optional<Condition> condition;
  std::unordered_set<Expr> expressions;
  const Fn* fn = nullptr;  // @f
  uint64_t hits = 0;

  std::string text() const;  // "nn.conv2d if nan"
};

class Breakpoints {
 public:
  explicit Breakpoints(const Program& program) : program_(program) {}

  // LINE | FILE:LINE | OPERATOR | @global | NAME | *, then perhaps `if CONDITION`. `file` is the
  // one that LINE alone means. Throws Refused.
  const Breakpoint& add(std::string_view spec, uint32_t file);
  void remove(uint64_t number);  // throws Refused
  const std::vector<Breakpoint>& all() const { return all_; }

  // The breakpoint that stops here, which then counts one more hit; null if none does. Of
  // several the first.
  const Breakpoint* before(Expr e);
  const Breakpoint* entered(const Fn* fn);
  const Breakpoint* value_of(Expr e, const Value& v);
  const Breakpoint* returned(const Fn* fn, const Value& v);

 private:
  template <class Concerns>
  const Breakpoint* hit(bool conditional, const Value* v, Concerns&& concerns);
  void resolve(Breakpoint& b, uint32_t file) const;
  void resolve_name(Breakpoint& b) const;
  void resolve_line(Breakpoint& b, uint32_t file, std::string_view line) const;
  void watch();

  const Program& program_;
  std::vector<Breakpoint> all_;
  uint64_t added_ = 0;
  // Expressions of any breakpoint: most steps are no breakpoint's business.
  NodeMap<bool> watched_;
};

}  // namespace relay::tools::debug
