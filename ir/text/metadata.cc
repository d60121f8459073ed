#include "ir/text/metadata.h"

#include <array>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>

#include "base/cat.h"

namespace relay::text {
namespace {

using nlohmann::json;

// The bytes of a base64 text; nothing if it is malformed.
std::optional<std::vector<uint8_t>> decode_base64(std::string_view text) {
  static const std::array<int8_t, 256> kValues = [] {
    std::array<int8_t, 256> values{};
    values.fill(-1);
    constexpr std::string_view kAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < kAlphabet.size(); ++i)
      values[static_cast<uint8_t>(kAlphabet[i])] = static_cast<int8_t>(i);
    return values;
  }();
  std::vector<uint8_t> bytes;
  uint32_t bits = 0;
  int count = 0;
  size_t padding = 0;
  for (char c : text) {
    if (c == '\n' || c == '\r' || c == ' ') continue;
    if (c == '=') {
      ++padding;
      continue;
    }
    const int8_t v = kValues[static_cast<uint8_t>(c)];
    if (v < 0 || padding > 0) return std::nullopt;
    bits = (bits << 6) | static_cast<uint32_t>(v);
    if (++count == 4) {
      for (int shift = 16; shift >= 0; shift -= 8) bytes.push_back(static_cast<uint8_t>(bits >> shift));
      bits = 0;
      count = 0;
    }
  }
  if (count == 1 || padding > 2) return std::nullopt;
  if (count >= 2) bytes.push_back(static_cast<uint8_t>(bits >> (count == 2 ? 4 : 10)));
  if (count == 3) bytes.push_back(static_cast<uint8_t>(bits >> 2));
  return bytes;
}

// Reads little-endian values from bytes, refusing to pass their end.
class Reader {
 public:
  explicit Reader(const std::vector<uint8_t>& bytes) : bytes_(bytes) {}
  template <class T>
  T take() {
    T value{};
    if (bytes_.size() - at_ < sizeof(T)) {
      ok_ = false;
      return value;
    }
    std::memcpy(&value, bytes_.data() + at_, sizeof(T));
    at_ += sizeof(T);
    return value;
  }
  bool ok() const { return ok_; }
  size_t left() const { return bytes_.size() - at_; }
  const uint8_t* here() const { return bytes_.data() + at_; }

 private:
  const std::vector<uint8_t>& bytes_;
  size_t at_ = 0;
  bool ok_ = true;
};

std::optional<DType> dtype_of(uint8_t code, uint8_t bits) {
  std::optional<DType> d;
  switch (code) {
    case 0: d = DType{DTypeCode::kInt, bits}; break;
    case 1: d = bits == 1 ? kBool : DType{DTypeCode::kUInt, bits}; break;
    case 2: d = DType{DTypeCode::kFloat, bits}; break;
    case 4: d = kBFloat16; break;
    case 6: d = kFloat8E4M3; break;
    case 7: d = kFloat8E5M2; break;
    default: return std::nullopt;
  }
  return DType::parse(d->name());  // only dtypes that exist
}

// The tensor of one entry of "b64ndarrays"; a message if it is malformed.
std::variant<Tensor, std::string> read_tensor(std::string_view text) {
  constexpr uint64_t kMagic = 0xDD5E40F096B4A13F;
  const auto bytes = decode_base64(text);
  if (!bytes) return "its base64 text is malformed";
  Reader in(*bytes);
  const auto magic = in.take<uint64_t>();
  in.take<uint64_t>();  // reserved
  in.take<int64_t>();   // device
  const auto rank = in.take<int32_t>();
  const auto code = in.take<uint8_t>();
  const auto bits = in.take<uint8_t>();
  const auto lanes = in.take<uint16_t>();
  if (!in.ok() || magic != kMagic) return "its header is not that of a tensor";
  const std::optional<DType> dtype = dtype_of(code, bits);
  if (!dtype || lanes != 1) return "its dtype is not supported";
  if (rank < 0 || static_cast<size_t>(rank) > in.left() / 8) return "its rank is wrong";
  Shape shape;
  for (int32_t i = 0; i < rank; ++i) shape.push_back(in.take<int64_t>());
  const auto size = in.take<int64_t>();
  const std::optional<int64_t> count = element_count(shape);
  uint64_t need = 0;
  if (!in.ok() || !count || __builtin_mul_overflow(static_cast<uint64_t>(*count), dtype->bytes(), &need) ||
      size < 0 || static_cast<uint64_t>(size) != need || need > in.left()) {
    return "its size does not agree with its shape";
  }
  Tensor tensor(*dtype, shape);
  if (need > 0) std::memcpy(tensor.data(), in.here(), need);
  // Bytes hold more than a bool or a 4-bit integer, and nobody looks again.
  auto* const elements = static_cast<char*>(tensor.data());
  for (uint64_t i = 0; dtype->is_bool() && i < need; ++i) elements[i] = elements[i] != 0;
  for (uint64_t i = 0; dtype->bits == 4 && i < need; ++i) {
    const int v = dtype->is_signed_int() ? static_cast<signed char>(elements[i])
                                         : static_cast<unsigned char>(elements[i]);
    if (v < (dtype->is_signed_int() ? -8 : 0) || v > (dtype->is_signed_int() ? 7 : 15))
      return "it has elements that 4 bits do not hold";
  }
  return tensor;
}

const json* member(const json& object, const char* key) {
  if (!object.is_object()) return nullptr;
  const auto it = object.find(key);
  return it == object.end() ? nullptr : &*it;
}

std::string_view text_of(const json* value) {
  return value && value->is_string() ? std::string_view(value->get_ref<const std::string&>())
                                     : std::string_view();
}

// Indices are numbers in lists and strings in attributes.
std::optional<size_t> index_of(const json* value) {
  if (!value) return std::nullopt;
  if (value->is_number_unsigned()) return value->get<size_t>();
  size_t out = 0;
  const std::string_view text = text_of(value);
  if (text.empty() || text.size() > 18) return std::nullopt;
  for (char c : text) {
    if (c < '0' || c > '9') return std::nullopt;
    out = out * 10 + static_cast<size_t>(c - '0');
  }
  return out;
}

// The kind of a device by its number in DLPack; empty for one that has no name here.
std::string_view device_kind(std::string_view number) {
  constexpr std::pair<std::string_view, std::string_view> kKinds[] = {
      {"1", "cpu"},   {"2", "cuda"},  {"4", "opencl"},   {"7", "vulkan"},
      {"8", "metal"}, {"10", "rocm"}, {"12", "ext_dev"}, {"14", "hexagon"}};
  for (const auto& [known, kind] : kKinds) {
    if (known == number) return kind;
  }
  return {};
}

}  // namespace

struct Metadata::Graph {
  json root;
  std::map<std::string, const json*, std::less<>> lists;  // of the root map, by type key
  // Tensors that were read, by their place in "b64ndarrays": however often one is referred to,
  // it is held once.
  mutable std::map<size_t, Tensor> tensors;

  const json* node(std::optional<size_t> index) const {
    const json* nodes = member(root, "nodes");
    return index && nodes && nodes->is_array() && *index < nodes->size() ? &(*nodes)[*index] : nullptr;
  }
  const json* attr(const json& node, const char* name) const {
    const json* attrs = member(node, "attrs");
    return attrs ? member(*attrs, name) : nullptr;
  }
  std::string string_node(std::optional<size_t> index) const {
    const json* n = node(index);
    return n ? std::string(text_of(member(*n, "repr_str"))) : std::string();
  }
};

Metadata::Metadata() = default;
Metadata::~Metadata() = default;

bool Metadata::read(std::string_view text, Span span, Diagnostics& diagnostics) {
  auto graph = std::make_unique<Graph>();
  graph->root = json::parse(text.begin(), text.end(), nullptr, false);
  if (graph->root.is_discarded() || !member(graph->root, "nodes")) {
    diagnostics.error(span, "malformed-metadata",
                      "the metadata after this is not the JSON of a graph of nodes");
    return false;
  }
  const json* root = graph->node(index_of(member(graph->root, "root")));
  const json* keys = root ? member(*root, "keys") : nullptr;
  const json* data = root ? member(*root, "data") : nullptr;
  if (!keys || !data || !keys->is_array() || !data->is_array()) {
    diagnostics.error(span, "malformed-metadata",
                      "the root of the metadata is not a map from type keys to lists");
    return false;
  }
  for (size_t i = 0; i < std::min(keys->size(), data->size()); ++i) {
    graph->lists[std::string(text_of(&(*keys)[i]))] = graph->node(index_of(&(*data)[i]));
  }
  graph_ = std::move(graph);
  return true;
}

std::variant<MetaValue, MetaError> Metadata::find(std::string_view key, size_t index) const {
  const auto unknown = [](std::string why) { return MetaError{"unknown-metadata", std::move(why)}; };
  const auto broken = [](std::string why) { return MetaError{"broken-metadata", std::move(why)}; };
  if (!graph_) return MetaError{"missing-metadata", "there is no `#[metadata]` in this text"};
  const Graph& g = *graph_;
  const auto found = g.lists.find(key);
  const json* list = found == g.lists.end() ? nullptr : found->second;
  if (!list) return unknown(cat("the metadata has no entry `", key, "`"));
  const json* items = member(*list, "data");
  if (!items || !items->is_array() || index >= items->size()) {
    return unknown(cat("the metadata has ", items && items->is_array() ? items->size() : 0, " objects `", key,
                       "`, and this is number ", index, ", counted from 0"));
  }
  const json* node = g.node(index_of(&(*items)[index]));
  if (!node) return broken("the metadata does not hold the object that it refers to");

  const std::string_view type = text_of(member(*node, "type_key"));
  if (type == "relay.Constant") {
    const json* arrays = member(g.root, "b64ndarrays");
    const std::optional<size_t> which = index_of(g.attr(*node, "data"));
    if (!which || !arrays || !arrays->is_array() || *which >= arrays->size())
      return broken("the constant has no tensor");
    Tensor& known = g.tensors[*which];
    if (!known.defined()) {
      auto tensor = read_tensor(text_of(&(*arrays)[*which]));
      if (auto* message = std::get_if<std::string>(&tensor))
        return broken(cat("the constant cannot be read: ", *message));
      known = std::get<Tensor>(std::move(tensor));
    }
    return MetaValue(known);
  }
  if (type == "IntImm") {
    const std::string value(text_of(g.attr(*node, "value")));
    char* end = nullptr;
    errno = 0;
    const long long parsed = std::strtoll(value.c_str(), &end, 10);
    if (value.empty() || *end != '\0' || errno != 0) return broken("the integer is malformed");
    return MetaValue(MetaInt{parsed});
  }
  if (type == "FloatImm") {
    const std::string value(text_of(g.attr(*node, "value")));
    char* end = nullptr;
    const double parsed = std::strtod(value.c_str(), &end);
    if (value.empty() || *end != '\0') return broken("the number is malformed");
    return MetaValue(MetaFloat{parsed});
  }
  if (type == "runtime.String") return MetaValue(MetaString{std::string(text_of(member(*node, "repr_str")))});
  if (type == "tir.StringImm") return MetaValue(MetaString{g.string_node(index_of(g.attr(*node, "value")))});
  if (type == "tir.Any") return MetaValue(MetaAny{});
  if (type == "tir.Var" || type == "tir.SizeVar") {
    return MetaValue(MetaVariable{g.string_node(index_of(g.attr(*node, "name")))});
  }
  if (type == "VirtualDevice") {  // as op/annotation/device.h names devices
    const std::string_view kind = device_kind(text_of(g.attr(*node, "device_type_int")));
    const std::string_view number = text_of(g.attr(*node, "virtual_device_id"));
    const std::string scope = g.string_node(index_of(g.attr(*node, "memory_scope")));
    if (!kind.empty())
      return MetaValue(MetaString{cat(kind, ":", number.empty() || number[0] == '-' ? "0" : number,
                                      scope.empty() ? "" : "/", scope)});
  }
  return MetaValue(MetaOpaque{});
}

}  // namespace relay::text
