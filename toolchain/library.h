// Loaded libraries.
#pragma once

#include <string>

namespace relay::toolchain {

// A library in this process, unloaded at the end of the scope.
class Library {
 public:
  Library() = default;
  ~Library();
  Library(Library&& other) noexcept : handle_(other.handle_) { other.handle_ = nullptr; }
  Library& operator=(Library&& other) noexcept;

  [[nodiscard]] std::string open(const std::string& path);
  void* find(const std::string& symbol) const;  // null if there is none

 private:
  void* handle_ = nullptr;
};

}  // namespace relay::toolchain
