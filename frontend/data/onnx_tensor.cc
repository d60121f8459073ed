#include "frontend/data/onnx_tensor.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream.h>
#include <google/protobuf/stubs/logging.h>
#include <onnx/onnx_pb.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <climits>
#include <cstring>
#include <new>

#include "base/cat.h"
#include "frontend/data/elements.h"
#include "frontend/data/input_file.h"
#include "frontend/data/storage.h"

namespace relay::frontend::data {
namespace {

static_assert(std::endian::native == std::endian::little, "raw_data holds little-endian elements");

struct DataType {
  int32_t code;
  std::string_view name;
  std::optional<DType> dtype;
};
constexpr DataType kDataTypes[] = {
    {1, "FLOAT", kFloat32},
    {2, "UINT8", kUInt8},
    {3, "INT8", kInt8},
    {4, "UINT16", kUInt16},
    {5, "INT16", kInt16},
    {6, "INT32", kInt32},
    {7, "INT64", kInt64},
    {8, "STRING", {}},
    {9, "BOOL", kBool},
    {10, "FLOAT16", kFloat16},
    {11, "DOUBLE", kFloat64},
    {12, "UINT32", kUInt32},
    {13, "UINT64", kUInt64},
    {14, "COMPLEX64", {}},
    {15, "COMPLEX128", {}},
    {16, "BFLOAT16", kBFloat16},
    {17, "FLOAT8E4M3FN", kFloat8E4M3},
    {19, "FLOAT8E5M2", kFloat8E5M2},
    {21, "UINT4", kUInt4},
    {22, "INT4", kInt4},
};

// How elements of a dtype lie in a proto.
struct Layout {
  DType dtype;    // of the tensor that is made of them
  unsigned bits;  // below 8, elements are packed from the lowest bit of each byte on

  bool packed() const { return bits < 8; }
  // The bytes that the elements take in raw_data and in files.
  uint64_t bytes(int64_t count) const {
    const auto n = static_cast<uint64_t>(count);
    return packed() ? n / 8 * bits + (n % 8 * bits + 7) / 8 : n * dtype.bytes();
  }
  // The numbers in int32_data: a byte of packed elements each, but one float of 6 bits.
  int64_t numbers(int64_t count) const {
    return packed() && bits != 6 ? static_cast<int64_t>(bytes(count)) : count;
  }
};

std::optional<Layout> layout_of_onnx(int32_t code) {
  if (const Storage* s = storage_of_onnx(code)) return Layout{s->carrier, s->bits};
  const std::optional<DType> dtype = dtype_of_onnx(code);
  if (!dtype) return std::nullopt;
  return Layout{*dtype, dtype->bits};
}

void unpack(std::string_view bytes, unsigned bits, Tensor& out) {
  const unsigned ones = (1u << bits) - 1, sign = 1u << (bits - 1);
  const auto byte_at = [&](size_t i) -> unsigned {
    return i < bytes.size() ? static_cast<unsigned char>(bytes[i]) : 0;
  };
  for (int64_t i = 0; i < out.size(); ++i) {
    const auto n = static_cast<size_t>(i);
    const size_t byte = n / 8 * bits + n % 8 * bits / 8, shift = n % 8 * bits % 8;
    const unsigned pattern = (byte_at(byte) | byte_at(byte + 1) << 8) >> shift & ones;
    const bool negative = out.dtype().is_signed_int() && (pattern & sign) != 0;
    out.set_int(i, static_cast<int64_t>(pattern) - (negative ? int64_t{ones} + 1 : 0));
  }
}

// The elements of a repeated field; each converts to what the tensor stores.
template <class Items, class Store>
bool take(const Items& items, Tensor& out, const Store& store) {
  if (items.size() != out.size()) return false;
  for (int i = 0; i < items.size(); ++i) store(i, items[i]);
  return true;
}

bool take_fields(const onnx::TensorProto& proto, const Layout& layout, Tensor& out) {
  const DType dtype = out.dtype();
  if (dtype == kFloat32) {
    return take(proto.float_data(), out,
                [to = out.as<float>()](int i, float v) { to[static_cast<size_t>(i)] = v; });
  }
  if (dtype == kFloat64) {
    return take(proto.double_data(), out,
                [to = out.as<double>()](int i, double v) { to[static_cast<size_t>(i)] = v; });
  }
  if (dtype == kInt64) return take(proto.int64_data(), out, [&](int i, int64_t v) { out.set_int(i, v); });
  if (dtype == kUInt64 || dtype == kUInt32) {
    return take(proto.uint64_data(), out,
                [&](int i, uint64_t v) { out.set_int(i, static_cast<int64_t>(v)); });
  }
  if (layout.packed() && layout.bits != 6) {
    if (proto.int32_data_size() != layout.numbers(out.size())) return false;
    std::string bytes;
    for (int32_t v : proto.int32_data()) bytes += static_cast<char>(v);
    unpack(bytes, layout.bits, out);
    return true;
  }
  if (dtype.is_float()) {  // 8 and 16 bits: the bits, in an integer
    if (dtype.bits == 8) {
      return take(proto.int32_data(), out, [to = out.as<uint8_t>()](int i, int32_t v) {
        to[static_cast<size_t>(i)] = static_cast<uint8_t>(v);
      });
    }
    return take(proto.int32_data(), out, [to = out.as<uint16_t>()](int i, int32_t v) {
      to[static_cast<size_t>(i)] = static_cast<uint16_t>(v);
    });
  }
  return take(proto.int32_data(), out, [&](int i, int32_t v) { out.set_int(i, v); });
}

// Where the elements of a tensor lie outside its proto.
struct Place {
  std::string location;
  uint64_t offset = 0;
  std::optional<uint64_t> length;
};

std::string read_place(const onnx::TensorProto& proto, Place& out) {
  bool located = false;
  for (const onnx::StringStringEntryProto& entry : proto.external_data()) {
    const std::string& text = entry.value();
    const auto number = [&](uint64_t& to) {
      const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), to);
      return error == std::errc() && end == text.data() + text.size() && !text.empty();
    };
    if (entry.key() == "location") {
      if (std::exchange(located, true)) return "it has two locations";
      out.location = text;
    } else if (entry.key() == "offset") {
      if (!number(out.offset)) return "its offset is no number of bytes";
    } else if (entry.key() == "length") {
      if (!number(out.length.emplace())) return "its length is no number of bytes";
    } else if (entry.key() != "checksum") {
      return cat("it has the unknown key `", entry.key().substr(0, 100), "`");
    }
  }
  return located ? "" : "it has no location";
}

// Reads one proto, and reports what is wrong with it.
class ProtoReader {
 public:
  ProtoReader(const onnx::TensorProto& proto, std::string_view source, const std::string* folder, Span span,
              Diagnostics& diagnostics, std::shared_ptr<const void> owner)
      : proto_(proto),
        source_(source),
        folder_(folder),
        span_(span),
        diagnostics_(diagnostics),
        owner_(std::move(owner)) {}

  Result<Tensor> read();

 private:
  Reported refuse(std::string why, Slug slug = "onnx-tensor-invalid");
  Reported refuse_external(const Diagnostics& why);
  Result<Tensor> read_external();
  Result<Tensor> read_from(const InputFile& file, uint64_t offset);
  Result<Tensor> read_inside();
  Result<Tensor> read_raw();
  std::string needs() const { return cat("its shape ", show(shape_), " of ", kind_, " needs ", needed_); }

  const onnx::TensorProto& proto_;
  std::string_view source_;
  const std::string* folder_;
  Span span_;
  Diagnostics& diagnostics_;
  std::shared_ptr<const void> owner_;
  Layout layout_ = {};
  std::string kind_;
  Shape shape_;
  int64_t count_ = 0;
  uint64_t needed_ = 0;  // bytes
};

Reported ProtoReader::refuse(std::string why, Slug slug) {
  Diagnostic& d = diagnostics_.error(
      span_, slug, cat("tensor `", proto_.name().substr(0, 200), "` of `", source_, "`: ", why));
  if (slug == "external-data-size")
    d.note("the file is cut short, or belongs to another version of the model");
  return kReported;
}

Result<Tensor> ProtoReader::read() {
  const std::optional<Layout> layout = layout_of_onnx(proto_.data_type());
  kind_ = onnx_dtype_name(proto_.data_type());
  if (!layout)
    return refuse(cat("elements of type ", kind_, " are not supported; booleans, integers and floats are"),
                  "unsupported-dtype");
  if (proto_.has_segment())
    return refuse("tensors in segments are not supported; save it whole", "unsupported-tensor");
  layout_ = *layout;
  shape_.assign(proto_.dims().begin(), proto_.dims().end());
  for (int64_t extent : shape_) {
    if (extent < 0) return refuse(cat("its shape ", show(shape_), " has a negative extent"));
  }
  const std::optional<int64_t> count = element_count(shape_);
  if (!count || *count > INT64_MAX / 8) return refuse("its shape is too large");
  count_ = *count;
  needed_ = layout_.bytes(count_);
  try {
    if (proto_.data_location() == onnx::TensorProto::EXTERNAL) return read_external();
    if (proto_.external_data_size() > 0)
      return refuse("it has external data and does not say so in `data_location`");
    return proto_.has_raw_data() ? read_raw() : read_inside();
  } catch (const std::bad_alloc&) {
    return refuse(cat("not enough memory for ", needed_, " bytes"), "limit-memory");
  }
}

Reported ProtoReader::refuse_external(const Diagnostics& why) {
  diagnostics_
      .error(span_, "external-data-refused",
             cat("tensor `", proto_.name().substr(0, 200), "` of `", source_,
                 "`: ", why.all().front().message()))
      .note(std::string(kWhatAModelMayName));
  return kReported;
}

Result<Tensor> ProtoReader::read_external() {
  if (!folder_)
    return refuse("its elements are in another file, which is not read here", "external-data-refused");
  Place place;
  if (std::string wrong = read_place(proto_, place); !wrong.empty())
    return refuse(cat("external data: ", wrong), "external-data-refused");
  Diagnostics own;
  Result<InputFile> file = InputFile::open_beneath(*folder_, place.location, own);
  if (!file) return refuse_external(own);
  if (place.length && *place.length != needed_) {
    return refuse(cat(needs(), " bytes and its external data has ", *place.length), "external-data-size");
  }
  if (place.offset > file->size() || needed_ > file->size() - place.offset) {
    return refuse(cat("its external data at offset ", place.offset, " needs ", needed_, " bytes and `",
                      place.location.substr(0, 200), "` has ", file->size()),
                  "external-data-size");
  }
  return read_from(*file, place.offset);
}

Result<Tensor> ProtoReader::read_from(const InputFile& file, uint64_t offset) {
  const DType dtype = layout_.dtype;
  if (!layout_.packed() && !dtype.is_bool()) {
    Tensor out(dtype, shape_);
    if (!file.read_at(offset, out.data(), needed_, diagnostics_)) return kReported;
    return out;
  }
  std::string bytes(needed_, '\0');
  if (!file.read_at(offset, bytes.data(), needed_, diagnostics_)) return kReported;
  if (dtype.is_bool()) {
    Result<Tensor> out = copy_elements(dtype, shape_, bytes);
    if (out.ok()) return out;
    throw std::bad_alloc();
  }
  Tensor out(dtype, shape_);
  unpack(bytes, layout_.bits, out);
  return out;
}

Result<Tensor> ProtoReader::read_raw() {
  const std::string& raw = proto_.raw_data();
  if (raw.size() != needed_) return refuse(cat(needs(), " bytes and it has ", raw.size()));
  if (layout_.packed()) {
    Tensor out(layout_.dtype, shape_);
    unpack(raw, layout_.bits, out);
    return out;
  }
  // A small tensor may be kept after all others are gone.
  constexpr uint64_t kLeastSharedBytes = 4096;
  const bool aligned = reinterpret_cast<uintptr_t>(raw.data()) % layout_.dtype.bytes() == 0;
  if (owner_ && aligned && needed_ >= kLeastSharedBytes && !layout_.dtype.is_bool())
    return Tensor(layout_.dtype, shape_, const_cast<char*>(raw.data()), owner_);
  Result<Tensor> out = copy_elements(layout_.dtype, shape_, raw);
  if (out.ok()) return out;
  throw std::bad_alloc();
}

Result<Tensor> ProtoReader::read_inside() {
  // At least a byte of the file stands behind each element, so what is allocated is in
  // proportion to the file.
  const int64_t items = int64_t{proto_.float_data_size()} + proto_.double_data_size() +
                        proto_.int32_data_size() + proto_.int64_data_size() + proto_.uint64_data_size();
  if (items != layout_.numbers(count_)) {
    return refuse(cat("its shape ", show(shape_), " needs ", count_, " elements and it has ", items));
  }
  Tensor out(layout_.dtype, shape_);
  if (!take_fields(proto_, layout_, out))
    return refuse(cat("its elements are not in the field that ", kind_, " uses"));
  return out;
}

// A file as the parser of messages reads it.
class FilePieces : public google::protobuf::io::ZeroCopyInputStream {
 public:
  explicit FilePieces(const InputFile& file) : file_(file), buffer_(kPieceBytes, '\0') {}

  bool Next(const void** data, int* size) override {
    const uint64_t length = std::min<uint64_t>(kPieceBytes, file_.size() - at_);
    if (length == 0 || !file_.read_at(at_, buffer_.data(), length, wrong_).ok()) return false;
    at_ += length;
    *data = buffer_.data();
    *size = static_cast<int>(length);
    return true;
  }
  void BackUp(int count) override { at_ -= static_cast<uint64_t>(count); }
  bool Skip(int count) override {
    const uint64_t length = std::min<uint64_t>(static_cast<uint64_t>(count), file_.size() - at_);
    at_ += length;
    return length == static_cast<uint64_t>(count);
  }
  int64_t ByteCount() const override { return static_cast<int64_t>(at_); }
  const Diagnostics& wrong() const { return wrong_; }

 private:
  static constexpr size_t kPieceBytes = 1 << 20;
  const InputFile& file_;
  std::string buffer_;
  uint64_t at_ = 0;
  Diagnostics wrong_;
};

// What is wrong with the message, or an empty text.
std::string parse_stream(google::protobuf::io::CodedInputStream& input, google::protobuf::MessageLite& out) {
  constexpr int kMaxNesting = 100;
  const google::protobuf::LogSilencer quiet;
  input.SetRecursionLimit(kMaxNesting);
  if (out.ParseFromCodedStream(&input) && input.ConsumedEntireMessage()) return {};
  return "it is not a sound protobuf message (damaged, cut short, or nested too deeply)";
}

std::string too_long(uint64_t bytes) {
  return bytes > INT_MAX ? cat("a protobuf message has at most ", INT_MAX, " bytes") : std::string();
}

}  // namespace

std::optional<DType> dtype_of_onnx(int64_t code) {
  for (const DataType& t : kDataTypes) {
    if (t.code == code) return t.dtype;
  }
  return std::nullopt;
}

int32_t onnx_of_dtype(DType dtype) {
  for (const DataType& t : kDataTypes) {
    if (t.dtype == dtype) return t.code;
  }
  return 0;
}

std::string onnx_dtype_name(int64_t code) {
  for (const DataType& t : kDataTypes) {
    if (t.code == code) return std::string(t.name);
  }
  if (const Storage* s = storage_of_onnx(code)) return std::string(s->name);
  return cat("data type ", code);
}

Result<Tensor> tensor_of(const onnx::TensorProto& proto, std::string_view source, const std::string* folder,
                         Span span, Diagnostics& diagnostics, std::shared_ptr<const void> owner) {
  return ProtoReader(proto, source, folder, span, diagnostics, std::move(owner)).read();
}

std::string external_file(const onnx::TensorProto& proto) {
  Place place;
  if (proto.data_location() != onnx::TensorProto::EXTERNAL || !read_place(proto, place).empty()) return {};
  return place.location;
}

Result<NamedTensor> parse_onnx_tensor(std::string_view bytes, std::string_view source,
                                      Diagnostics& diagnostics) {
  onnx::TensorProto proto;
  if (std::string wrong = parse_message(bytes, proto); !wrong.empty()) {
    diagnostics.error(Span::none(), "onnx-tensor-invalid", cat("cannot read `", source, "`: ", wrong));
    return kReported;
  }
  Result<Tensor> tensor = tensor_of(proto, source, nullptr, Span::none(), diagnostics);
  if (!tensor) return kReported;
  return NamedTensor{proto.name(), std::move(*tensor)};
}

std::string onnx_tensor_bytes(const NamedTensor& tensor) {
  onnx::TensorProto proto;
  proto.set_name(tensor.name);
  proto.set_data_type(onnx_of_dtype(tensor.value.dtype()));
  for (int64_t extent : tensor.value.shape()) proto.add_dims(extent);
  std::string& raw = *proto.mutable_raw_data();
  if (tensor.value.dtype().bits == 4) {
    raw.assign(static_cast<size_t>(tensor.value.size() / 2 + tensor.value.size() % 2), '\0');
    for (int64_t i = 0; i < tensor.value.size(); ++i) {
      raw[static_cast<size_t>(i / 2)] |= static_cast<char>((tensor.value.get_int(i) & 15) << (i % 2 * 4));
    }
  } else {
    raw.assign(static_cast<const char*>(tensor.value.data()), tensor.value.bytes());
  }
  return proto.SerializeAsString();
}

std::string parse_message(std::string_view bytes, google::protobuf::MessageLite& out) {
  if (std::string wrong = too_long(bytes.size()); !wrong.empty()) return wrong;
  google::protobuf::io::CodedInputStream input(reinterpret_cast<const uint8_t*>(bytes.data()),
                                               static_cast<int>(bytes.size()));
  return parse_stream(input, out);
}

std::string parse_message(const InputFile& file, google::protobuf::MessageLite& out) {
  if (std::string wrong = too_long(file.size()); !wrong.empty()) return wrong;
  FilePieces pieces(file);
  google::protobuf::io::CodedInputStream input(&pieces);
  std::string wrong = parse_stream(input, out);
  return pieces.wrong().has_errors() ? pieces.wrong().all().front().message() : wrong;
}

}  // namespace relay::frontend::data
