#include "aot/weights.h"

#include <fmt/format.h>
#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <numeric>

#include "base/cat.h"
#include "base/escape.h"
#include "base/hash.h"
#include "base/json_text.h"

namespace relay::aot {
namespace {

// The format's names of dtypes; what it does not know is stored as bytes.
std::string dtype_name(DType d) {
  if (d.is_bool()) return "BOOL";
  if (d.code == DTypeCode::kBFloat) return "BF16";
  if (d.code == DTypeCode::kFloat8E4M3) return "F8_E4M3";
  if (d.code == DTypeCode::kFloat8E5M2) return "F8_E5M2";
  const size_t bits = d.bytes() * 8;
  return cat(d.is_float() ? "F" : d.is_unsigned_int() ? "U" : "I", bits);
}

std::string_view bytes_of(const Tensor& t) { return {static_cast<const char*>(t.data()), t.bytes()}; }

}  // namespace

std::vector<std::string_view> WeightBytes::pieces() const {
  std::vector<std::string_view> out{head_};
  for (const Tensor& t : constants_) out.push_back(bytes_of(t));
  return out;
}

uint64_t WeightBytes::size() const {
  uint64_t out = 0;
  for (const std::string_view piece : pieces()) out += piece.size();
  return out;
}

std::string WeightBytes::text() const {
  std::string out;
  out.reserve(size());
  for (const std::string_view piece : pieces()) out += piece;
  return out;
}

WeightBytes WeightsLayout::section() const {
  WeightBytes out;
  for (const Tensor& t : data) out.add(t);
  return out;
}

WeightBytes WeightsLayout::file() const {
  WeightBytes out(head);
  for (const Tensor& t : data) out.add(t);
  return out;
}

WeightsLayout lay_out_weights(const std::vector<Tensor>& constants) {
  WeightsLayout out;
  out.offsets.resize(constants.size());
  std::vector<size_t> order(constants.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return constants[a].dtype().bytes() > constants[b].dtype().bytes();
  });
  nlohmann::ordered_json head = nlohmann::ordered_json::object();
  head["__metadata__"] = nlohmann::ordered_json::object();
  std::vector<std::pair<uint64_t, size_t>> placed;  // hash of the bytes, which constant
  uint64_t hash = hash_text("");
  for (size_t i : order) {
    const Tensor& t = constants[i];
    const std::string_view bytes = bytes_of(t);
    const uint64_t h = hash_text(bytes);
    const auto same = std::find_if(placed.begin(), placed.end(), [&](const auto& p) {
      const Tensor& other = constants[p.second];
      return p.first == h && other.bytes() == t.bytes() && other.dtype().bytes() == t.dtype().bytes() &&
             (t.bytes() == 0 || std::memcmp(other.data(), t.data(), t.bytes()) == 0);
    });
    if (same != placed.end()) {
      out.offsets[i] = out.offsets[same->second];
      continue;
    }
    placed.emplace_back(h, i);
    out.offsets[i] = out.bytes;
    out.bytes += bytes.size();
    out.data.push_back(t);
    hash = hash_text(bytes, hash);
    head[cat("c", i)] = {{"dtype", dtype_name(t.dtype())},
                         {"shape", t.shape()},
                         {"data_offsets", {out.offsets[i], out.offsets[i] + bytes.size()}}};
  }
  head["__metadata__"] = {{"format", "relay"}, {"hash", fmt::format("{:016x}", hash)}};
  std::string json = json_text(head);
  // 8 bytes of length come first; blanks pad the head so that the data are aligned.
  json.append((64 - (8 + json.size()) % 64) % 64, ' ');
  uint64_t length = json.size();
  for (int i = 0; i < 8; ++i) out.head += static_cast<char>((length >> (8 * i)) & 0xff);
  out.head += json;
  return out;
}

std::string print_weights_file(const WeightsLayout& weights, std::string_view name) {
  return cat("#define RELAY_WEIGHTS_FILE ", c_string(cat(name, ".safetensors")), "\n",
             "constexpr uint64_t kWeightsOffset = ", weights.head.size(), ";\n",
             "constexpr uint64_t kWeightsBytes = ", weights.bytes, ";\n",
             "const char kWeightsHead[] = ", c_string(weights.head), ";\n");
}

std::string declare_embedded_weights() {
  return "extern \"C\" __attribute__((visibility(\"hidden\"))) const unsigned char relay_weights_begin[];\n"
         "static const unsigned char* relay_embedded_weights() { return relay_weights_begin; }\n";
}

std::string embed_weights(std::string_view file) {
  return cat(R"(asm(".section .rodata\n"
    ".balign 64\n"
    ".globl relay_weights_begin\n"
    ".hidden relay_weights_begin\n"
    "relay_weights_begin:\n"
)",
             file.empty() ? "" : cat("    ", c_string(cat(".incbin ", c_string(file), "\n")), "\n"),
             R"(    ".byte 0\n"
    ".text\n");
)");
}

}  // namespace relay::aot
