// A look at a protobuf message before it is parsed: how much would parsing it make us allocate?
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace relay::frontend {

// The bytes of a message: a text, or a file of which a window is in memory. A file is read and not
// mapped, because somebody may shorten it meanwhile.
class WireBytes {
 public:
  // Reads so many bytes at an offset. False if that fails; it has reported why.
  using Read = std::function<bool(uint64_t offset, char* to, size_t length)>;

  explicit WireBytes(std::string_view text) : window_(text), size_(text.size()) {}
  WireBytes(uint64_t size, Read read) : size_(size), read_(std::move(read)) {}
  WireBytes(const WireBytes&) = delete;  // the window of a copy would be in the other one
  WireBytes& operator=(const WireBytes&) = delete;

  uint64_t size() const { return size_; }
  bool starts_with(std::string_view text);
  // The byte at an offset below `size`; nothing if it cannot be read.
  std::optional<unsigned char> at(uint64_t offset);
  bool failed() const { return failed_; }

 private:
  std::string buffer_;
  std::string_view window_;
  uint64_t first_ = 0;  // offset of the window
  uint64_t size_;
  Read read_;
  bool failed_ = false;
};

struct WireFacts {
  size_t nodes = 0;     // NodeProto
  size_t messages = 0;  // of any kind: two bytes of a file can become a message of hundreds of bytes
  std::string wrong;    // why it is no ONNX model; empty if it looks like one
};

// Walks a ModelProto without recursion and without allocating in proportion to it. Only the heads
// of its parts are read. If that failed, `bytes` says so, and the facts mean nothing.
WireFacts scan_model(WireBytes& bytes);

}  // namespace relay::frontend
