#include "frontend/onnx/wire.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/cat.h"

namespace relay::frontend {
namespace {

// The messages that matter, and which of their fields hold messages.
enum class Kind { kModel, kGraph, kNode, kAttribute, kTensor, kFunction, kOther };
struct Field {
  Kind of;
  uint32_t number;
  Kind holds;
};
constexpr Field kFields[] = {
    {Kind::kModel, 7, Kind::kGraph},      {Kind::kModel, 8, Kind::kOther},
    {Kind::kModel, 14, Kind::kOther},     {Kind::kModel, 20, Kind::kOther},
    {Kind::kModel, 25, Kind::kFunction},  {Kind::kFunction, 7, Kind::kNode},
    {Kind::kFunction, 9, Kind::kOther},   {Kind::kFunction, 11, Kind::kAttribute},
    {Kind::kFunction, 12, Kind::kOther},  {Kind::kGraph, 1, Kind::kNode},
    {Kind::kGraph, 5, Kind::kTensor},     {Kind::kGraph, 11, Kind::kOther},
    {Kind::kGraph, 12, Kind::kOther},     {Kind::kGraph, 13, Kind::kOther},
    {Kind::kGraph, 14, Kind::kOther},     {Kind::kGraph, 15, Kind::kOther},
    {Kind::kNode, 5, Kind::kAttribute},   {Kind::kAttribute, 5, Kind::kTensor},
    {Kind::kAttribute, 6, Kind::kGraph},  {Kind::kAttribute, 10, Kind::kTensor},
    {Kind::kAttribute, 11, Kind::kGraph}, {Kind::kAttribute, 14, Kind::kOther},
    {Kind::kAttribute, 15, Kind::kOther}, {Kind::kAttribute, 22, Kind::kOther},
    {Kind::kAttribute, 23, Kind::kOther}, {Kind::kTensor, 13, Kind::kOther},
};

// A part of the bytes.
struct Part {
  uint64_t at, end;
  bool empty() const { return at == end; }
  uint64_t size() const { return end - at; }
};

std::optional<uint64_t> varint(WireBytes& bytes, Part& in) {
  uint64_t out = 0;
  for (unsigned shift = 0; shift < 64 && !in.empty(); shift += 7) {
    const std::optional<unsigned char> byte = bytes.at(in.at);
    if (!byte) return std::nullopt;
    ++in.at;
    out |= static_cast<uint64_t>(*byte & 127) << shift;
    if (*byte < 128) return out;
  }
  return std::nullopt;
}

}  // namespace

std::optional<unsigned char> WireBytes::at(uint64_t offset) {
  constexpr uint64_t kWindow = 16384;
  if (offset < first_ || offset - first_ >= window_.size()) {
    if (!read_) return std::nullopt;
    buffer_.resize(std::min(kWindow, size_ - offset));
    window_ = {};
    if (!read_(offset, buffer_.data(), buffer_.size())) {
      failed_ = true;
      return std::nullopt;
    }
    first_ = offset;
    window_ = buffer_;
  }
  return static_cast<unsigned char>(window_[offset - first_]);
}

bool WireBytes::starts_with(std::string_view text) {
  if (text.size() > size_) return false;
  for (size_t i = 0; i < text.size(); ++i) {
    if (at(i) != static_cast<unsigned char>(text[i])) return false;
  }
  return true;
}

WireFacts scan_model(WireBytes& bytes) {
  constexpr size_t kMaxNesting = 100;
  WireFacts facts;
  struct Open {
    Kind kind;
    Part rest;
  };
  std::vector<Open> open{{Kind::kModel, {0, bytes.size()}}};
  const auto wrong = [&](std::string_view why) {
    facts.wrong = cat(why, " (byte ", open.back().rest.at, ")");
    return facts;
  };
  while (!open.empty()) {
    Open& top = open.back();
    if (top.rest.empty()) {
      open.pop_back();
      continue;
    }
    const std::optional<uint64_t> tag = varint(bytes, top.rest);
    if (!tag || *tag >> 3 == 0 || *tag >> 32 != 0) return wrong("it is damaged, cut short, or no ONNX model");
    const auto number = static_cast<uint32_t>(*tag >> 3);
    switch (*tag & 7) {
      case 0:
        if (!varint(bytes, top.rest)) return wrong("it is damaged or cut short");
        break;
      case 1:
      case 5: {
        const size_t width = (*tag & 7) == 1 ? 8 : 4;
        if (top.rest.size() < width) return wrong("it is cut short");
        top.rest.at += width;
        break;
      }
      case 2: {
        const std::optional<uint64_t> length = varint(bytes, top.rest);
        if (!length || *length > top.rest.size()) return wrong("it is cut short");
        const Part inside{top.rest.at, top.rest.at + *length};
        top.rest.at = inside.end;
        ++facts.messages;
        for (const Field& f : kFields) {
          if (f.of != top.kind || f.number != number) continue;
          if (f.holds == Kind::kNode) ++facts.nodes;
          if (f.holds == Kind::kOther) break;
          if (open.size() == kMaxNesting) return wrong("it is nested too deeply");
          open.push_back({f.holds, inside});  // `top` is no longer valid
          break;
        }
        break;
      }
      default: return wrong("it is damaged or no ONNX model");  // groups are of another age
    }
  }
  return facts;
}

}  // namespace relay::frontend
