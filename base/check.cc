#include "base/check.h"

#include <cstdio>
#include <cstdlib>

namespace relay {
namespace {
thread_local Activity* innermost = nullptr;
}  // namespace

Activity::Activity(std::string_view what, std::string_view name) : text_(what), outer_(innermost) {
  if (!name.empty()) text_.append(" ").append(name);
  innermost = this;
}

Activity::~Activity() { innermost = outer_; }

std::string Activity::trail() {
  std::string text;
  for (const Activity* a = innermost; a != nullptr; a = a->outer_) {
    text = text.empty() ? a->text_ : a->text_ + " > " + text;
  }
  return text;
}

void check_failed(const char* condition, const char* file, int line, std::string_view message) {
  std::fprintf(stderr, "relay: internal error: %s:%d: CHECK(%s) failed", file, line, condition);
  if (!message.empty()) std::fprintf(stderr, ": %.*s", static_cast<int>(message.size()), message.data());
  std::fprintf(stderr, "\n");
  const std::string trail = Activity::trail();
  if (!trail.empty()) std::fprintf(stderr, "  while in: %s\n", trail.c_str());
  std::fprintf(stderr, "  this is a bug in Relay; please report it with the program that caused it\n");
  std::abort();
}

}  // namespace relay
