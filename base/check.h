// CHECK: a broken invariant of ours, never a mistake of the user's (docs/semantics.md, "Failures").
//
// A failed CHECK is the fourth kind of failure, a bug: it prints what was being done (the innermost
// Activity notes), runs the reproducer hook if a tool installed one, and aborts.
#pragma once

#include <string>
#include <string_view>

namespace relay {

// Names what the thread is doing ("pass fuse", "function @main") while in scope; printed
// by a failed CHECK.
class Activity {
 public:
  Activity(std::string_view what, std::string_view name);
  ~Activity();
  Activity(const Activity&) = delete;
  Activity& operator=(const Activity&) = delete;

  // The notes of this thread, outermost first: "pass fuse > function @main".
  static std::string trail();

 private:
  std::string text_;
  Activity* outer_;
};

[[noreturn]] void check_failed(const char* condition, const char* file, int line, std::string_view message);

}  // namespace relay

#define CHECK(condition, ...)   \
  (static_cast<bool>(condition) \
       ? static_cast<void>(0)   \
       : ::relay::check_failed(#condition, __FILE__, __LINE__, ::relay::check_message(__VA_ARGS__)))

namespace relay {
inline std::string check_message() { return {}; }
inline std::string check_message(std::string message) { return message; }
}  // namespace relay
