#include "frontend/data/npy.h"

#include <bit>
#include <charconv>
#include <cstring>
#include <optional>
#include <vector>

#include "base/cat.h"
#include "frontend/data/elements.h"

namespace relay::frontend::data {
namespace {

constexpr std::string_view kMagic{"\x93NUMPY", 6};
constexpr size_t kMaxHeader = 1 << 20;

// What the header of a .npy file says.
struct Header {
  std::string descr;
  std::optional<bool> fortran_order;
  std::optional<Shape> shape;
  bool has_descr = false;
  bool record = false;  // descr is a list of fields
};

// The header is the text of a Python dictionary with three known keys; nothing else of
// Python is understood.
class HeaderParser {
 public:
  explicit HeaderParser(std::string_view text) : text_(text) {}

  // How far it was read.
  size_t at() const { return at_; }

  // What is wrong, or an empty text.
  std::string parse(Header& out) {
    if (!eat('{')) return "its header is not a dictionary";
    while (!eat('}')) {
      std::string key;
      if (!string(key)) return "its header has a key that is not a string";
      if (!eat(':')) return cat("its header has no value for `", key, "`");
      if (std::string wrong = value(key, out); !wrong.empty()) return wrong;
      if (!eat(',') && !peek('}')) return "its header does not end";
    }
    skip_space();
    if (at_ != text_.size()) return "its header is followed by other text";
    if (!out.has_descr || !out.fortran_order || !out.shape) {
      return "its header needs `descr`, `fortran_order` and `shape`";
    }
    return {};
  }

 private:
  std::string value(const std::string& key, Header& out) {
    if (key == "descr") {
      if (out.has_descr) return "its header says `descr` twice";
      out.has_descr = true;
      if (peek('[')) {
        out.record = true;
        return "it holds records; only plain numbers are read: save each field by itself";
      }
      return string(out.descr) ? "" : "the `descr` of its header is not a string";
    }
    if (key == "fortran_order") {
      if (out.fortran_order) return "its header says `fortran_order` twice";
      if (word("True")) {
        out.fortran_order = true;
      } else if (word("False")) {
        out.fortran_order = false;
      } else {
        return "the `fortran_order` of its header is neither True nor False";
      }
      return {};
    }
    if (key == "shape") {
      if (out.shape) return "its header says `shape` twice";
      return shape(out.shape.emplace());
    }
    return cat("its header has the unknown key `", key, "`");
  }

  std::string shape(Shape& out) {
    if (!eat('(')) return "the `shape` of its header is not a tuple";
    while (!eat(')')) {
      int64_t extent = 0;
      skip_space();
      const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), extent);
      if (error != std::errc() || extent < 0)
        return "the `shape` of its header has an extent that is no size";
      at_ = static_cast<size_t>(end - text_.data());
      if (out.size() == kMaxRank) return cat("it has more than ", kMaxRank, " dimensions");
      out.push_back(extent);
      if (!eat(',') && !peek(')')) return "the `shape` of its header does not end";
    }
    return {};
  }

  bool string(std::string& out) {
    skip_space();
    if (at_ == text_.size() || (text_[at_] != '\'' && text_[at_] != '"')) return false;
    const size_t end = text_.find(text_[at_], at_ + 1);
    if (end == std::string_view::npos) return false;
    out = text_.substr(at_ + 1, end - at_ - 1);
    at_ = end + 1;
    return true;
  }

  bool word(std::string_view w) {
    skip_space();
    if (!text_.substr(at_).starts_with(w)) return false;
    at_ += w.size();
    return true;
  }
  bool peek(char c) {
    skip_space();
    return at_ < text_.size() && text_[at_] == c;
  }
  bool eat(char c) {
    if (!peek(c)) return false;
    ++at_;
    return true;
  }
  void skip_space() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t')) ++at_;
  }

  std::string_view text_;
  size_t at_ = 0;
};

// "<f4" and its kind; nothing for what is not a number.
std::optional<DType> dtype_of(std::string_view descr) {
  if (descr.size() != 3) return std::nullopt;
  const std::string_view kind = descr.substr(1);
  if (kind == "b1") return kBool;
  if (kind == "i1") return kInt8;
  if (kind == "i2") return kInt16;
  if (kind == "i4") return kInt32;
  if (kind == "i8") return kInt64;
  if (kind == "u1") return kUInt8;
  if (kind == "u2") return kUInt16;
  if (kind == "u4") return kUInt32;
  if (kind == "u8") return kUInt64;
  if (kind == "f2") return kFloat16;
  if (kind == "f4") return kFloat32;
  if (kind == "f8") return kFloat64;
  return std::nullopt;
}

std::string descr_of(DType dtype) {
  const char order = dtype.bytes() == 1 ? '|' : '<';
  const char kind = dtype.is_bool() ? 'b' : dtype.is_float() ? 'f' : dtype.is_signed_int() ? 'i' : 'u';
  return cat(order, kind, dtype.bytes());
}

std::string why_refused(std::string_view descr) {
  if (descr.find('O') != std::string_view::npos) {
    return "it holds pickled Python objects, which can run code and are never read; save it as a plain array";
  }
  return cat("its dtype `", descr,
             "` is not supported; booleans, integers and floats are: convert it with `astype`");
}

// Elements in row-major order from elements in column-major order.
Tensor from_column_major(const Tensor& columns, const Shape& shape) {
  Tensor out(columns.dtype(), shape);
  const size_t width = out.dtype().bytes();
  const size_t rank = shape.size();
  std::vector<int64_t> index(rank, 0), stride(rank, 1);
  for (size_t i = 1; i < rank; ++i) stride[i] = stride[i - 1] * shape[i - 1];
  const auto* from = static_cast<const char*>(columns.data());
  auto* to = static_cast<char*>(out.data());
  int64_t offset = 0;
  for (int64_t i = 0; i < out.size(); ++i) {
    std::memcpy(to + static_cast<size_t>(i) * width, from + static_cast<size_t>(offset) * width, width);
    for (size_t d = rank; d-- > 0;) {
      offset += stride[d];
      if (++index[d] < shape[d]) break;
      offset -= stride[d] * shape[d];
      index[d] = 0;
    }
  }
  return out;
}

}  // namespace

Result<Tensor> parse_npy(std::string_view bytes, std::string_view source, Diagnostics& diagnostics) {
  const auto refuse = [&](std::string why, Slug slug = "npy-invalid") -> Reported {
    diagnostics.error(Span::none(), slug, cat("cannot read `", source, "`: ", why));
    return kReported;
  };
  if (bytes.size() < 10 || !bytes.starts_with(kMagic)) return refuse("it is not a .npy file");
  const auto byte = [&](size_t i) { return static_cast<size_t>(static_cast<unsigned char>(bytes[i])); };
  const size_t version = byte(6);
  if (version < 1 || version > 3 || byte(7) != 0) {
    return refuse(
        cat("its format version ", version, ".", byte(7), " is unknown; 1.0, 2.0 and 3.0 are read"));
  }
  size_t start = 10, length = byte(8) | byte(9) << 8;
  if (version > 1) {
    if (bytes.size() < 12) return refuse("it ends within its header");
    start = 12;
    length |= byte(10) << 16 | byte(11) << 24;
  }
  if (length > kMaxHeader) return refuse(cat("its header of ", length, " bytes is longer than ", kMaxHeader));
  if (length > bytes.size() - start) return refuse("it ends within its header");

  Header header;
  HeaderParser parser(bytes.substr(start, length));
  if (std::string wrong = parser.parse(header); !wrong.empty()) {
    return refuse(cat(wrong, " (byte ", start + parser.at(), ")"));
  }
  const std::optional<DType> dtype = dtype_of(header.descr);
  if (!dtype) {
    const bool pickled = header.descr.find('O') != std::string::npos;
    return refuse(why_refused(header.descr), pickled ? Slug("npy-pickled") : Slug("npy-unsupported-dtype"));
  }
  const char order = header.descr[0];
  if (order != '<' && order != '>' && order != '|' && order != '=') {
    return refuse(cat("its dtype `", header.descr, "` has an unknown byte order"));
  }

  const std::string_view payload = bytes.substr(start + length);
  if (std::string wrong = check_size(*header.shape, *dtype, payload.size()); !wrong.empty()) {
    return refuse(std::move(wrong));
  }
  const bool swapped = order == (std::endian::native == std::endian::little ? '>' : '<');
  Result<Tensor> tensor = copy_elements(*dtype, *header.shape, payload, swapped);
  if (!tensor.ok()) return refuse("there is not enough memory for it", "limit-memory");
  if (!*header.fortran_order || header.shape->size() < 2) return tensor;
  return from_column_major(*tensor, *header.shape);
}

std::string npy_bytes(const Tensor& tensor) {
  const DType dtype = tensor.dtype();
  if (dtype.bits == 4) return npy_bytes(tensor.converted(dtype.is_signed_int() ? kInt8 : kUInt8));
  if (dtype.is_float() && dtype.code != DTypeCode::kFloat) return npy_bytes(tensor.converted(kFloat32));

  std::string shape = "(";
  for (int64_t extent : tensor.shape()) shape += cat(extent, ", ");
  if (tensor.rank() > 1) shape.resize(shape.size() - 2);
  if (tensor.rank() == 1) shape.resize(shape.size() - 1);  // "(3,)"
  shape += ")";
  std::string header =
      cat("{'descr': '", descr_of(dtype), "', 'fortran_order': False, 'shape': ", shape, ", }");
  // The elements start at a multiple of 64 bytes, as NumPy wants it.
  constexpr size_t kPrefix = 10;
  header += std::string(63 - (kPrefix + header.size()) % 64, ' ');
  header += '\n';

  std::string out;
  out.reserve(kPrefix + header.size() + tensor.bytes());
  out += kMagic;
  out += '\x01';
  out += '\x00';
  out += static_cast<char>(header.size() & 0xff);
  out += static_cast<char>(header.size() >> 8);
  out += header;
  out.append(static_cast<const char*>(tensor.data()), tensor.bytes());
  return out;
}

}  // namespace relay::frontend::data
