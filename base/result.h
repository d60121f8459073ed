// Result<T>: a value, or "already reported" to a Diagnostics sink.
#pragma once

#include <optional>
#include <utility>

#include "base/check.h"

namespace relay {

// What a function returns after it has reported why it cannot go on: `return kReported;`
struct Reported {};
inline constexpr Reported kReported;

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}
  Result(Reported) {}

  bool ok() const { return value_.has_value(); }
  explicit operator bool() const { return ok(); }
  T& operator*() { return get(); }
  const T& operator*() const { return const_cast<Result*>(this)->get(); }
  T* operator->() { return &get(); }
  const T* operator->() const { return &const_cast<Result*>(this)->get(); }

 private:
  T& get() {
    CHECK(value_.has_value(), "a Result was used without looking whether it holds a value");
    return *value_;
  }
  std::optional<T> value_;
};

}  // namespace relay
