// Traces: what every call of an operator or a kernel gave, in order, in a file that another run
// is compared with.
//
// A line of JSON each: first {"relay_trace": 1, ...}, then one for each value with where it was
// made (for people), what made it, and for each of its tensors dtype, shape, a checksum of its bits
// and its statistics; last how the run ended.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "tools/debug/execution.h"
#include "tools/debug/program.h"

namespace relay::tools::debug {

class Recorder {
 public:
  Recorder(const Program& program, const std::string& function);

  void add(Expr e, const Value& v);
  // Written whole or not at all. Throws Refused.
  void write(const std::string& path, const Execution& ended);
  uint64_t values() const { return values_; }
  bool too_large() const;

 private:
  const Program& program_;
  std::string text_;
  uint64_t values_ = 0;
};

class Replayer {
 public:
  // Reads the whole file. With a tolerance the statistics of two values are compared, relative to
  // their largest magnitude; without one their bits are. Throws Refused.
  Replayer(const Program& program, const std::string& path, std::optional<double> tolerance);

  // True at the first value that is not that of the trace; `difference` says how.
  bool differs(Expr e, const Value& v);
  // The same for how the run ended.
  bool ends_differently(const Execution& ended);
  const std::string& difference() const { return difference_; }
  uint64_t values() const { return values_; }

 private:
  std::optional<nlohmann::ordered_json> line();
  [[noreturn]] void malformed(const std::string& why) const;
  bool same_tensor(const nlohmann::ordered_json& was, const nlohmann::ordered_json& is) const;

  const Program& program_;
  std::string path_, text_, difference_;
  std::optional<double> tolerance_;
  size_t at_ = 0;
  uint64_t line_ = 0, values_ = 0;
};

}  // namespace relay::tools::debug
