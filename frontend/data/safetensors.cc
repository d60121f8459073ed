#include "frontend/data/safetensors.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/cat.h"
#include "base/json_text.h"
#include "frontend/data/elements.h"
#include "frontend/data/input_file.h"

namespace relay::frontend::data {
namespace {

using nlohmann::json;

static_assert(std::endian::native == std::endian::little, "safetensors holds little-endian elements");

// Metadata key that says that a tensor of bytes holds 4-bit integers.
constexpr std::string_view kNarrow = "relay.dtype.";

struct DTypeName {
  std::string_view name;
  DType dtype;
};
constexpr DTypeName kDTypes[] = {
    {"BOOL", kBool},   {"U8", kUInt8},           {"I8", kInt8},
    {"U16", kUInt16},  {"I16", kInt16},          {"U32", kUInt32},
    {"I32", kInt32},   {"U64", kUInt64},         {"I64", kInt64},
    {"F16", kFloat16}, {"BF16", kBFloat16},      {"F32", kFloat32},
    {"F64", kFloat64}, {"F8_E4M3", kFloat8E4M3}, {"F8_E5M2", kFloat8E5M2},
};

struct Entry {
  std::string name;
  std::optional<DType> dtype;
  std::optional<Shape> shape;
  uint64_t offsets[2] = {0, 0};
  int offset_count = -1;  // -1: no `data_offsets` yet
};

// Takes the header apart as it is read: no document is built, so nothing can nest and
// nothing can repeat.
class HeaderReader : public nlohmann::json_sax<json> {
 public:
  explicit HeaderReader(size_t most) : most_(most) {}

  std::vector<Entry> entries;
  std::map<std::string, std::string> metadata;
  std::string wrong;

  bool start_object(size_t) override {
    if (state_ == State::kStart) return go(State::kTop);
    if (state_ == State::kTop && metadata_key_) return go(State::kMetadata);
    if (state_ == State::kTop) {
      if (entries.size() == most_) return fail(cat("it holds more than ", most_, " tensors"));
      entries.push_back({std::move(key_)});
      return go(State::kEntry);
    }
    return fail("its header is nested too deeply");
  }
  bool end_object() override {
    if (state_ == State::kTop) return go(State::kEnd);
    if (state_ == State::kMetadata) return go(State::kTop);
    const Entry& e = entries.back();
    if (!e.dtype || !e.shape || e.offset_count != 2) {
      return fail(cat("tensor `", e.name, "` needs `dtype`, `shape` and `data_offsets`"));
    }
    return go(State::kTop);
  }
  bool key(std::string& name) override {
    key_ = name;
    if (state_ != State::kTop) return true;
    metadata_key_ = name == "__metadata__";
    if (metadata_key_ && std::exchange(metadata_seen_, true))
      return fail("its header has `__metadata__` twice");
    return true;
  }
  bool start_array(size_t) override {
    if (state_ != State::kEntry) return fail("its header has a list where none belongs");
    Entry& e = entries.back();
    if (key_ == "shape") {
      if (e.shape) return fail(cat("tensor `", e.name, "` has two shapes"));
      e.shape.emplace();
      return go(State::kShape);
    }
    if (key_ == "data_offsets") {
      if (e.offset_count >= 0) return fail(cat("tensor `", e.name, "` has `data_offsets` twice"));
      e.offset_count = 0;
      return go(State::kOffsets);
    }
    return fail(cat("tensor `", e.name, "` has the unknown list `", key_, "`"));
  }
  bool end_array() override { return go(State::kEntry); }
  bool number_unsigned(uint64_t v) override {
    if (state_ == State::kShape) {
      Shape& shape = *entries.back().shape;
      if (v > INT64_MAX) return fail(cat("tensor `", entries.back().name, "` has an extent that is no size"));
      if (shape.size() == kMaxRank)
        return fail(cat("tensor `", entries.back().name, "` has too many dimensions"));
      shape.push_back(static_cast<int64_t>(v));
      return true;
    }
    if (state_ == State::kOffsets) {
      Entry& e = entries.back();
      if (e.offset_count == 2) return fail(cat("tensor `", e.name, "` has more than two data offsets"));
      e.offsets[e.offset_count++] = v;
      return true;
    }
    return fail("its header has a number where none belongs");
  }
  bool number_integer(int64_t v) override { return fail(cat("its header has the negative number ", v)); }
  bool number_float(double, const std::string& text) override {
    return fail(cat("its header has the fraction ", text));
  }
  bool string(std::string& text) override {
    if (state_ == State::kMetadata) {
      if (!metadata.emplace(key_, text).second) return fail(cat("its metadata has `", key_, "` twice"));
      return true;
    }
    if (state_ != State::kEntry || key_ != "dtype") return fail("its header has a string where none belongs");
    Entry& e = entries.back();
    if (e.dtype) return fail(cat("tensor `", e.name, "` has two dtypes"));
    for (const DTypeName& d : kDTypes) {
      if (d.name == text) e.dtype = d.dtype;
    }
    return e.dtype ? true : fail(cat("tensor `", e.name, "` has the unknown dtype `", text, "`"));
  }
  bool null() override { return fail("its header has a null"); }
  bool boolean(bool) override { return fail("its header has a boolean"); }
  bool binary(json::binary_t&) override { return fail("its header has binary data"); }
  bool parse_error(size_t at, const std::string&, const nlohmann::detail::exception&) override {
    return fail(cat("its header is not JSON at byte ", at));
  }

 private:
  enum class State { kStart, kTop, kMetadata, kEntry, kShape, kOffsets, kEnd };
  bool go(State next) {
    state_ = next;
    return true;
  }
  bool fail(std::string why) {
    wrong = std::move(why);
    return false;
  }
  State state_ = State::kStart;
  size_t most_;
  std::string key_;
  bool metadata_key_ = false, metadata_seen_ = false;
};

// `owner` is null where elements must be copied.
Result<Safetensors> parse(std::string_view bytes, const std::shared_ptr<const void>& owner,
                          std::string_view source, const Limits& limits, Diagnostics& diagnostics) {
  const auto refuse = [&](std::string why, Slug slug = "safetensors-invalid") -> Reported {
    diagnostics.error(Span::none(), slug, cat("cannot read `", source, "`: ", why));
    return kReported;
  };
  if (bytes.size() < 8) return refuse("it is not a safetensors file: it has less than 8 bytes");
  uint64_t length;
  std::memcpy(&length, bytes.data(), 8);
  if (length > limits.header_bytes) {
    return refuse(cat("its header of ", length, " bytes is longer than ", limits.header_bytes),
                  "limit-header");
  }
  if (length > bytes.size() - 8) return refuse("it ends within its header");
  const std::string_view text = bytes.substr(8, length);
  const std::string_view payload = bytes.substr(8 + length);
  if (!text.starts_with('{')) return refuse("its header does not start with `{`");

  HeaderReader header(limits.tensors);
  if (!json::sax_parse(text.begin(), text.end(), &header)) return refuse(std::move(header.wrong));

  std::vector<Entry>& entries = header.entries;
  {
    std::vector<std::string_view> names;
    for (const Entry& e : entries) names.push_back(e.name);
    std::sort(names.begin(), names.end());
    const auto twice = std::adjacent_find(names.begin(), names.end());
    if (twice != names.end()) return refuse(cat("it holds tensor `", *twice, "` twice"));
  }
  std::stable_sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return std::pair(a.offsets[0], a.offsets[1]) < std::pair(b.offsets[0], b.offsets[1]);
  });
  uint64_t end = 0;
  for (const Entry& e : entries) {
    if (e.offsets[0] != end) {
      return refuse(cat("tensor `", e.name, "` starts at byte ", e.offsets[0], " of the data, not at ", end,
                        " where the one before ends"),
                    "safetensors-layout");
    }
    if (e.offsets[1] < e.offsets[0] || e.offsets[1] > payload.size()) {
      return refuse(
          cat("tensor `", e.name, "` ends at byte ", e.offsets[1], " of ", payload.size(), " bytes of data"),
          "safetensors-layout");
    }
    end = e.offsets[1];
    if (std::string wrong = check_size(*e.shape, *e.dtype, end - e.offsets[0]); !wrong.empty()) {
      return refuse(cat("tensor `", e.name, "`: ", wrong), "safetensors-size");
    }
  }
  if (end != payload.size())
    return refuse(cat("its last ", payload.size() - end, " bytes belong to no tensor"), "safetensors-layout");

  Safetensors out;
  out.metadata = std::move(header.metadata);
  for (Entry& e : entries) {
    DType dtype = *e.dtype;
    if (const auto narrow = out.metadata.find(cat(kNarrow, e.name)); narrow != out.metadata.end()) {
      if (narrow->second == "int4" && dtype == kInt8) dtype = kInt4;
      if (narrow->second == "uint4" && dtype == kUInt8) dtype = kUInt4;
      if (dtype == *e.dtype) return refuse(cat("tensor `", e.name, "` cannot be ", narrow->second));
      out.metadata.erase(narrow);
    }
    const std::string_view data = payload.substr(e.offsets[0], e.offsets[1] - e.offsets[0]);
    if (dtype.bits == 4 && !fits_four_bits(dtype, data))
      return refuse(cat("tensor `", e.name, "` has elements that 4 bits do not hold"));
    const bool aligned = reinterpret_cast<uintptr_t>(data.data()) % dtype.bytes() == 0;
    // A bool must be 0 or 1, which only a copy can ensure.
    if (owner && aligned && !dtype.is_bool() && !data.empty()) {
      out.tensors.push_back(
          {std::move(e.name), Tensor(dtype, *e.shape, const_cast<char*>(data.data()), owner)});
      continue;
    }
    Result<Tensor> copied = copy_elements(dtype, *e.shape, data);
    if (!copied) return refuse(cat("not enough memory for tensor `", e.name, "`"), "limit-memory");
    out.tensors.push_back({std::move(e.name), std::move(*copied)});
  }
  return out;
}

}  // namespace

Result<Safetensors> parse_safetensors(std::string_view bytes, std::string_view source, const Limits& limits,
                                      Diagnostics& diagnostics) {
  return parse(bytes, nullptr, source, limits, diagnostics);
}

Result<Safetensors> map_safetensors(const std::string& path, const Limits& limits, Diagnostics& diagnostics) {
  Result<InputFile> file = InputFile::open(path, limits.file_bytes, diagnostics);
  if (!file) return kReported;
  Result<InputFile::Mapping> mapping = file->map(diagnostics);
  if (!mapping) return kReported;
  return parse(mapping->bytes, mapping->owner, path, limits, diagnostics);
}

Result<SafetensorsFile> safetensors_file(const Safetensors& contents, Diagnostics& diagnostics) {
  const auto refuse = [&](std::string why) -> Reported {
    diagnostics.error(Span::none(), "safetensors-unwritable", cat("cannot make a safetensors file: ", why));
    return kReported;
  };
  std::vector<const NamedTensor*> order;
  for (const NamedTensor& t : contents.tensors) order.push_back(&t);
  std::stable_sort(order.begin(), order.end(), [](const NamedTensor* a, const NamedTensor* b) {
    const size_t x = a->value.dtype().bytes(), y = b->value.dtype().bytes();
    return x != y ? x > y : a->name < b->name;
  });

  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  std::map<std::string, std::string> metadata = contents.metadata;
  for (const NamedTensor* t : order) {
    if (t->value.dtype().bits == 4) metadata[cat(kNarrow, t->name)] = t->value.dtype().name();
  }
  if (!metadata.empty()) header["__metadata__"] = metadata;
  uint64_t offset = 0;
  for (const NamedTensor* t : order) {
    DType dtype = t->value.dtype();
    if (dtype.bits == 4) dtype = dtype.is_signed_int() ? kInt8 : kUInt8;
    const auto* name = std::find_if(std::begin(kDTypes), std::end(kDTypes),
                                    [&](const DTypeName& d) { return d.dtype == dtype; });
    if (name == std::end(kDTypes))
      return refuse(cat("it cannot hold ", dtype.name(), ", the dtype of `", t->name, "`"));
    if (t->name == "__metadata__")
      return refuse("`__metadata__` is a word of the format and cannot name a tensor; rename it");
    if (header.contains(t->name)) return refuse(cat("two tensors are called `", t->name, "`; rename one"));
    const uint64_t end = offset + t->value.bytes();
    header[t->name] = {{"dtype", name->name}, {"shape", t->value.shape()}, {"data_offsets", {offset, end}}};
    offset = end;
  }
  for (const NamedTensor* t : order) {
    if (!exact_json_text(json(t->name)))
      return refuse(cat("the name of a tensor of ", t->value.dtype().name(), show(t->value.shape()),
                        " is not UTF-8 text; rename it"));
  }
  const std::optional<std::string> exact = exact_json_text(header);
  if (!exact) return refuse("a text of its metadata is not UTF-8");
  std::string text = *exact;
  text.resize((text.size() + 7) / 8 * 8, ' ');  // so that the elements are aligned

  SafetensorsFile out;
  const uint64_t length = text.size();
  out.head.assign(reinterpret_cast<const char*>(&length), 8);
  out.head += text;
  for (const NamedTensor* t : order)
    out.elements.emplace_back(static_cast<const char*>(t->value.data()), t->value.bytes());
  return out;
}

std::vector<std::string_view> SafetensorsFile::pieces() const {
  std::vector<std::string_view> out{head};
  out.insert(out.end(), elements.begin(), elements.end());
  return out;
}

Result<std::string> safetensors_bytes(const Safetensors& contents, Diagnostics& diagnostics) {
  const Result<SafetensorsFile> file = safetensors_file(contents, diagnostics);
  if (!file) return kReported;
  const std::vector<std::string_view> pieces = file->pieces();
  size_t bytes = 0;
  for (const std::string_view piece : pieces) bytes += piece.size();
  std::string out;
  out.reserve(bytes);
  for (const std::string_view piece : pieces) out += piece;
  return out;
}

}  // namespace relay::frontend::data
