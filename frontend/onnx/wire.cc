#include "frontend/onnx/wire.h"

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

std::optional<uint64_t> varint(std::string_view& in) {
  uint64_t out = 0;
  for (unsigned shift = 0; shift < 64 && !in.empty(); shift += 7) {
    const auto byte = static_cast<unsigned char>(in.front());
    in.remove_prefix(1);
    out |= static_cast<uint64_t>(byte & 127) << shift;
    if (byte < 128) return out;
  }
  return std::nullopt;
}

}  // namespace

WireFacts scan_model(std::string_view bytes) {
  constexpr size_t kMaxNesting = 100;
  WireFacts facts;
  struct Open {
    Kind kind;
    std::string_view rest;
  };
  std::vector<Open> open{{Kind::kModel, bytes}};
  const auto wrong = [&](std::string_view why) {
    facts.wrong = cat(why, " (byte ", open.back().rest.data() - bytes.data(), ")");
    return facts;
  };
  while (!open.empty()) {
    Open& top = open.back();
    if (top.rest.empty()) {
      open.pop_back();
      continue;
    }
    const std::optional<uint64_t> tag = varint(top.rest);
    if (!tag || *tag >> 3 == 0 || *tag >> 32 != 0) return wrong("it is damaged, cut short, or no ONNX model");
    const auto number = static_cast<uint32_t>(*tag >> 3);
    switch (*tag & 7) {
      case 0:
        if (!varint(top.rest)) return wrong("it is damaged or cut short");
        break;
      case 1:
      case 5: {
        const size_t width = (*tag & 7) == 1 ? 8 : 4;
        if (top.rest.size() < width) return wrong("it is cut short");
        top.rest.remove_prefix(width);
        break;
      }
      case 2: {
        const std::optional<uint64_t> length = varint(top.rest);
        if (!length || *length > top.rest.size()) return wrong("it is cut short");
        const std::string_view inside = top.rest.substr(0, *length);
        top.rest.remove_prefix(*length);
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
