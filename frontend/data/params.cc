#include "frontend/data/params.h"

#include <algorithm>
#include <bit>
#include <optional>
#include <unordered_set>
#include <vector>

#include "base/cat.h"
#include "frontend/data/elements.h"

namespace relay::frontend::data {
namespace {

static_assert(std::endian::native == std::endian::little, "the format holds little-endian numbers");

// The first words of a list of tensors, and of each tensor in it.
constexpr uint64_t kListMagic = 0xF7E58D4F05049CB7, kTensorMagic = 0xDD5E40F096B4A13F;
constexpr int32_t kCpu = 1;  // DLPack's number

// How the format writes down a dtype; DLPack's words.
struct TypeWord {
  uint8_t code, bits;
  uint16_t lanes;
};
enum : uint8_t { kIntCode = 0, kUIntCode = 1, kFloatCode = 2, kBFloatCode = 4 };

std::optional<DType> dtype_of(TypeWord w) {
  if (w.lanes != 1) return std::nullopt;
  if (w.code == kUIntCode && w.bits == 1) return kBool;
  DTypeCode code;
  switch (w.code) {
    case kIntCode: code = DTypeCode::kInt; break;
    case kUIntCode: code = DTypeCode::kUInt; break;
    case kFloatCode: code = DTypeCode::kFloat; break;
    case kBFloatCode:
      if (w.bits != kBFloat16.bits) return std::nullopt;
      code = DTypeCode::kBFloat;
      break;
    default: return std::nullopt;
  }
  return DType::parse(DType{code, w.bits}.name());  // nothing if there is no such width
}

std::optional<TypeWord> word_of(DType dtype) {
  switch (dtype.code) {
    case DTypeCode::kBool: return TypeWord{kUIntCode, 1, 1};
    case DTypeCode::kInt: return TypeWord{kIntCode, dtype.bits, 1};
    case DTypeCode::kUInt: return TypeWord{kUIntCode, dtype.bits, 1};
    case DTypeCode::kFloat: return TypeWord{kFloatCode, dtype.bits, 1};
    case DTypeCode::kBFloat: return TypeWord{kBFloatCode, dtype.bits, 1};
    default: return std::nullopt;
  }
}

// Takes one value after the other from the front of the bytes.
class Cursor {
 public:
  explicit Cursor(std::string_view bytes) : rest_(bytes) {}

  template <class T>
  bool take(T& out) {
    if (rest_.size() < sizeof(T)) return false;
    std::copy_n(rest_.begin(), sizeof(T), reinterpret_cast<char*>(&out));
    rest_.remove_prefix(sizeof(T));
    return true;
  }
  bool take(uint64_t length, std::string_view& out) {
    if (length > rest_.size()) return false;
    out = rest_.substr(0, length);
    rest_.remove_prefix(length);
    return true;
  }
  size_t left() const { return rest_.size(); }

 private:
  std::string_view rest_;
};

// What is wrong with the bytes, for one diagnostic.
struct Wrong {
  std::string why;
  Slug slug = "params-invalid";
};

std::vector<std::string> take_names(Cursor& in, const Limits& limits) {
  uint64_t count;
  if (!in.take(count)) throw Wrong{"it ends before its list of names"};
  // Each name takes its length at least.
  if (count > in.left() / sizeof(uint64_t)) throw Wrong{cat("it ends within its list of ", count, " names")};
  if (count > limits.tensors)
    throw Wrong{cat("it holds ", count, " tensors, more than the limit of ", limits.tensors),
                "limit-tensors"};
  std::vector<std::string> names;
  std::unordered_set<std::string_view> seen;
  names.reserve(count);
  for (uint64_t i = 0; i < count; ++i) {
    uint64_t length;
    std::string_view name;
    if (!in.take(length) || !in.take(length, name)) throw Wrong{cat("it ends within name ", i)};
    names.emplace_back(name);
    if (!seen.insert(name).second) throw Wrong{cat("two tensors are called `", name, "`")};
  }
  return names;
}

Tensor take_tensor(Cursor& in, const std::string& name) {
  const auto wrong = [&](std::string why) { return Wrong{cat("tensor `", name, "`: ", why)}; };
  uint64_t magic, reserved, bytes;
  int32_t device_type, device_id, rank;
  TypeWord type;
  if (!in.take(magic) || !in.take(reserved) || !in.take(device_type) || !in.take(device_id) ||
      !in.take(rank) || !in.take(type.code) || !in.take(type.bits) || !in.take(type.lanes)) {
    throw wrong("the file ends within it");
  }
  if (magic != kTensorMagic) throw wrong("it does not start with the word that every tensor starts with");
  if (reserved != 0) throw wrong("its reserved word is not zero");
  if (device_type != kCpu || device_id != 0)
    throw wrong(cat("it is said to lie on device ", device_type, ".", device_id,
                    "; files hold what lies on the CPU, 1.0"));
  const std::optional<DType> dtype = dtype_of(type);
  if (!dtype) {
    throw Wrong{cat("tensor `", name, "` has dtype code ", int{type.code}, " of ", int{type.bits},
                    " bits and ", type.lanes, " lanes, which is not supported",
                    // A boolean in files of newer writers, an 8-bit float in those of older ones.
                    type.code == 6 ? ": writers disagree about what code 6 is" : ""),
                "params-unsupported-dtype"};
  }
  if (rank < 0 || static_cast<size_t>(rank) > kMaxRank)
    throw wrong(cat("it has ", rank, " dimensions, and 0 to ", kMaxRank, " are possible"));
  Shape shape(static_cast<size_t>(rank));
  for (int64_t& extent : shape) {
    if (!in.take(extent)) throw wrong("the file ends within its shape");
  }
  if (!in.take(bytes)) throw wrong("the file ends within it");
  if (std::string why = check_size(shape, *dtype, bytes); !why.empty()) throw wrong(std::move(why));
  std::string_view data;
  if (!in.take(bytes, data)) throw wrong("the file ends within its elements");
  if (dtype->bits == 4 && !fits_four_bits(*dtype, data))
    throw wrong("it has elements that 4 bits do not hold");
  Result<Tensor> out = copy_elements(*dtype, shape, data);
  if (!out) throw Wrong{cat("not enough memory for tensor `", name, "`"), "limit-memory"};
  return std::move(*out);
}

NamedTensors parse(std::string_view bytes, const Limits& limits) {
  Cursor in(bytes);
  uint64_t magic, reserved, count;
  if (!in.take(magic) || magic != kListMagic)
    throw Wrong{"it is no file of parameters: it does not start with the word that these start with"};
  if (!in.take(reserved)) throw Wrong{"it ends before its list of names"};
  if (reserved != 0) throw Wrong{"its reserved word is not zero"};
  std::vector<std::string> names = take_names(in, limits);
  if (!in.take(count)) throw Wrong{"it ends after its names"};
  if (count != names.size()) throw Wrong{cat("it has ", names.size(), " names for ", count, " tensors")};
  NamedTensors out;
  for (std::string& name : names) {
    Tensor value = take_tensor(in, name);
    out.push_back({std::move(name), std::move(value)});
  }
  if (in.left() != 0) throw Wrong{cat("its last ", in.left(), " bytes belong to no tensor")};
  return out;
}

template <class T>
void append(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

}  // namespace

Result<NamedTensors> parse_params(std::string_view bytes, std::string_view source, const Limits& limits,
                                  Diagnostics& diagnostics) {
  try {
    return parse(bytes, limits);
  } catch (const Wrong& wrong) {
    diagnostics.error(Span::none(), wrong.slug, cat("cannot read `", source, "`: ", wrong.why));
    return kReported;
  }
}

Result<std::string> params_bytes(const NamedTensors& tensors, Diagnostics& diagnostics) {
  const auto refuse = [&](std::string why) -> Reported {
    diagnostics.error(Span::none(), "params-unwritable", cat("cannot make a file of parameters: ", why));
    return kReported;
  };
  std::string out;
  append(out, kListMagic);
  append(out, uint64_t{0});
  append(out, uint64_t{tensors.size()});
  std::unordered_set<std::string_view> seen;
  for (const NamedTensor& t : tensors) {
    if (!seen.insert(t.name).second) return refuse(cat("two tensors are called `", t.name, "`; rename one"));
    append(out, uint64_t{t.name.size()});
    out += t.name;
  }
  append(out, uint64_t{tensors.size()});
  for (const NamedTensor& t : tensors) {
    const std::optional<TypeWord> type = word_of(t.value.dtype());
    if (!type) return refuse(cat("it cannot hold ", t.value.dtype().name(), ", the dtype of `", t.name, "`"));
    append(out, kTensorMagic);
    append(out, uint64_t{0});
    append(out, kCpu);
    append(out, int32_t{0});
    append(out, static_cast<int32_t>(t.value.rank()));
    append(out, type->code);
    append(out, type->bits);
    append(out, type->lanes);
    for (int64_t extent : t.value.shape()) append(out, extent);
    append(out, uint64_t{t.value.bytes()});
    out.append(static_cast<const char*>(t.value.data()), t.value.bytes());
  }
  return out;
}

}  // namespace relay::frontend::data
