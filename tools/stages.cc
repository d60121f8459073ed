#include "tools/stages.h"

#include <fmt/format.h>

namespace relay::tools {

void Stages::next(std::string name) {
  const auto now = std::chrono::steady_clock::now();
  if (!stages_.empty()) stages_.back().second = seconds(last_, now);
  stages_.emplace_back(std::move(name), 0);
  last_ = now;
}

std::string Stages::table() {
  next("end");
  double all = 0;
  for (const auto& [name, took] : stages_) all += took;
  std::string out;
  for (const auto& [name, took] : stages_) {
    if (name != "end")
      out += fmt::format("{:<24} {:9.2f} ms   {:5.1f} %\n", name, took * 1e3, 100 * took / all);
  }
  return out;
}

}  // namespace relay::tools
