// How long the stages of a compilation take, for --time.
#pragma once

#include <chrono>
#include <string>
#include <utility>
#include <vector>

namespace relay::tools {

class Stages {
 public:
  // The stage before it ends.
  void next(std::string name);
  double total() const { return seconds(begin_, std::chrono::steady_clock::now()); }
  // A line for each stage, with its share. The last one ends.
  std::string table();

 private:
  using Moment = std::chrono::steady_clock::time_point;
  static double seconds(Moment from, Moment to) { return std::chrono::duration<double>(to - from).count(); }

  Moment begin_ = std::chrono::steady_clock::now(), last_ = begin_;
  std::vector<std::pair<std::string, double>> stages_;
};

}  // namespace relay::tools
