// Arena: memory that is given back all at once.
//
// What lives in an arena has no destructor and is never mutated after it is made, so that a tree of
// any depth is freed without recursion. One thread writes an arena at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/check.h"

namespace relay {

// An immutable sequence owned by an Arena. Cheap to copy; compares by contents.
template <class T>
class List {
 public:
  List() = default;
  List(const T* data, size_t size) : data_(data), size_(static_cast<uint32_t>(size)) {}

  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }
  const T* data() const { return data_; }
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  const T& operator[](size_t i) const { return data_[i]; }
  const T& front() const { return data_[0]; }
  const T& back() const { return data_[size_ - 1]; }
  operator std::span<const T>() const { return {data_, size_}; }

  friend bool operator==(const List& a, const List& b) {
    if (a.size_ != b.size_) return false;
    for (size_t i = 0; i < a.size_; ++i) {
      if (!(a.data_[i] == b.data_[i])) return false;
    }
    return true;
  }

 private:
  const T* data_ = nullptr;
  uint32_t size_ = 0;
};

class Arena {
 public:
  Arena() = default;
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  void* allocate(size_t bytes, size_t alignment) {
    size_t start = (used_ + alignment - 1) & ~(alignment - 1);
    if (blocks_.empty() || start + bytes > capacity_) {
      grow(bytes);
      start = 0;
    }
    used_ = start + bytes;
    total_ += bytes;
    return blocks_.back().get() + start;
  }

  template <class T, class... Args>
  T* make(Args&&... args) {
    static_assert(std::is_trivially_destructible_v<T>, "an arena runs no destructors");
    return new (allocate(sizeof(T), alignof(T))) T{std::forward<Args>(args)...};
  }

  template <class T>
  List<T> list(std::span<const T> items) {
    static_assert(std::is_trivially_copyable_v<T>, "an arena runs no destructors");
    if (items.empty()) return {};
    void* memory = allocate(sizeof(T) * items.size(), alignof(T));
    std::memcpy(memory, items.data(), sizeof(T) * items.size());
    return {static_cast<const T*>(memory), items.size()};
  }
  template <class T>
  List<T> list(const std::vector<T>& items) {
    return list(std::span<const T>(items));
  }

  std::string_view copy(std::string_view text) {
    if (text.empty()) return {};
    char* memory = static_cast<char*>(allocate(text.size(), 1));
    std::memcpy(memory, text.data(), text.size());
    return {memory, text.size()};
  }

  // Bytes handed out so far.
  size_t bytes() const { return total_; }

 private:
  void grow(size_t least) {
    capacity_ = std::max<size_t>(least, std::min<size_t>(size_t{1} << 20, std::max<size_t>(4096, total_)));
    // new[] aligns for every fundamental type; nothing over-aligned is kept here.
    blocks_.push_back(std::make_unique<std::byte[]>(capacity_));
    used_ = 0;
  }

  std::vector<std::unique_ptr<std::byte[]>> blocks_;
  size_t used_ = 0;
  size_t capacity_ = 0;
  size_t total_ = 0;
};

}  // namespace relay
