#include "ir/text/literal.h"

#include <fmt/format.h>
#include <re2/re2.h>

#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>

#include "base/cat.h"

namespace relay::text {
namespace {

struct Suffix {
  std::string_view text;
  DType dtype;
};
constexpr Suffix kSuffixes[] = {
    {"i4", kInt4},   {"i8", kInt8},     {"i16", kInt16},         {"i32", kInt32},        {"i64", kInt64},
    {"u4", kUInt4},  {"u8", kUInt8},    {"u16", kUInt16},        {"u32", kUInt32},       {"u64", kUInt64},
    {"f", kFloat32}, {"f16", kFloat16}, {"f32", kFloat32},       {"f64", kFloat64},      {"bf16", kBFloat16},
    {"i", kInt32},   {"u", kUInt32},    {"f8e4m3", kFloat8E4M3}, {"f8e5m2", kFloat8E5M2}};

std::optional<uint64_t> magnitude(const Number& n) {
  uint64_t value = 0;
  const std::string_view digits = n.hex ? n.digits.substr(2) : n.digits;
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), value, n.hex ? 16 : 10);
  if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return value;
}

// from_chars refuses what is too small as well as what is too large; the wider format
// tells them apart.
template <class Wide, class T>
std::optional<T> rounded(std::string_view digits) {
  const char* const begin = digits.data();
  const char* const end = begin + digits.size();
  T value = 0;
  if (std::from_chars(begin, end, value).ec == std::errc()) return value;
  Wide wide = 0;
  if (std::from_chars(begin, end, wide).ec == std::errc()) {
    value = static_cast<T>(wide);
    return std::isinf(value) ? std::nullopt : std::optional(value);
  }
  // Beyond the wide format too: the sign of the exponent decides (0.000...1 without an exponent
  // counts as small).
  const size_t e = digits.find_first_of("eE");
  const bool small =
      e != std::string_view::npos ? digits.find('-', e) != std::string_view::npos : digits[0] == '0';
  return small ? std::optional<T>(0) : std::nullopt;
}

// A positive decimal number: its digits from the first that is not 0, and the power of
// ten of that one.
struct Decimal {
  std::string digits;
  int64_t exponent = 0;
};
Decimal decimal_of(std::string_view text) {
  Decimal out;
  const size_t e = text.find_first_of("eE");
  int64_t written = 0;
  if (e != std::string_view::npos) {
    const size_t begin = e + 1 + (text[e + 1] == '+');
    std::from_chars(text.data() + begin, text.data() + text.size(), written);
  }
  int64_t before_point = 0;
  bool point = false;
  for (char c : text.substr(0, e)) {
    if (c == '.') point = true;
    if (c == '.') continue;
    if (!out.digits.empty() || c != '0') out.digits += c;
    if (!point && !out.digits.empty()) ++before_point;
    if (point && out.digits.empty()) --before_point;
  }
  while (!out.digits.empty() && out.digits.back() == '0') out.digits.pop_back();
  out.exponent = written + before_point - 1;
  return out;
}

// The double nearest to a number may lie in the middle between two of a small format. Then this
// gives the double beside it, on the side where the number is, so that rounding the result is
// rounding the number once.
double off_the_middle(std::string_view number, double nearest) {
  constexpr uint64_t kBeyondSmall = 0xffffffff;  // bits that are 0 in every middle
  if ((std::bit_cast<uint64_t>(nearest) & kBeyondSmall) != 0 || nearest == 0) return nearest;
  char exact[1100];  // a double has at most 767 digits
  const auto end = std::to_chars(exact, exact + sizeof exact, nearest, std::chars_format::scientific, 766);
  const Decimal a = decimal_of(number), b = decimal_of({exact, end.ptr});
  if (a.exponent == b.exponent && a.digits == b.digits) return nearest;
  const bool above = a.exponent != b.exponent ? a.exponent > b.exponent : a.digits > b.digits;
  return std::nextafter(nearest, above ? INFINITY : 0.0);
}

LiteralError out_of_range(const Number& n, DType d) {
  return {"literal-out-of-range",
          cat("`", n.negative ? "-" : "", n.digits.substr(0, 60), "` does not fit `", d.name(), "`")};
}

std::optional<LiteralError> store_bits(const Number& n, Tensor& into, int64_t i) {
  const DType d = into.dtype();
  const std::optional<uint64_t> bits = magnitude(n);
  const size_t width = d.is_bool() ? 1 : d.bits;
  if (n.negative || !bits || (width < 64 && *bits >> width != 0)) return out_of_range(n, d);
  if (d.is_float()) {
    std::memcpy(static_cast<char*>(into.data()) + static_cast<size_t>(i) * d.bytes(), &*bits, d.bytes());
  } else {
    into.set_int(i, static_cast<int64_t>(*bits));
  }
  return std::nullopt;
}

std::optional<LiteralError> store_float(const Number& n, Tensor& into, int64_t i) {
  const DType d = into.dtype();
  const double sign = n.negative ? -1 : 1;
  double value = 0;
  if (n.digits == "inf") {
    if (d == kFloat8E4M3) return LiteralError{"literal-out-of-range", "`float8_e4m3` has no infinity"};
    value = INFINITY;
  } else if (n.digits == "nan") {
    value = NAN;
  } else if (d == kFloat32) {
    const std::optional<float> f = rounded<double, float>(n.digits);
    if (!f) return out_of_range(n, d);
    value = *f;
  } else {
    const std::optional<double> f = rounded<long double, double>(n.digits);
    if (!f) return out_of_range(n, d);
    value = d == kFloat64 ? *f : off_the_middle(n.digits, *f);
  }
  into.set(i, std::copysign(value, sign));
  const bool finite = n.digits != "inf" && n.digits != "nan";
  if (finite && !std::isfinite(into.get(i))) return out_of_range(n, d);
  return std::nullopt;
}

std::optional<LiteralError> store_int(const Number& n, Tensor& into, int64_t i) {
  const DType d = into.dtype();
  if (n.floating) {
    return LiteralError{"malformed-number",
                        cat("a number with a fraction or an exponent is no `", d.name(), "`")};
  }
  const std::optional<uint64_t> m = magnitude(n);
  if (!m) return out_of_range(n, d);
  const int width = d.is_bool() ? 1 : d.bits;
  if (d.is_signed_int()) {
    const uint64_t most = uint64_t{1} << (width - 1);  // the magnitude of the smallest
    if (n.negative ? *m > most : *m >= most) return out_of_range(n, d);
  } else if ((n.negative && *m != 0) || (width < 64 && *m >> width != 0)) {
    return out_of_range(n, d);
  }
  into.set_int(i, static_cast<int64_t>(n.negative ? 0 - *m : *m));
  return std::nullopt;
}

// The shortest text that reads back as the same double or float; `1e+20` loses its plus.
template <class T>
std::string shortest(T value) {
  std::string out = fmt::format("{}", value);
  if (const size_t plus = out.find('+'); plus != std::string::npos) out.erase(plus, 1);
  // "1.0" and "1" are the same number, and the suffix says that it is a float.
  if (out.ends_with(".0")) out.resize(out.size() - 2);
  return out;
}

template <class T>
uint64_t bits_at(const Tensor& t, int64_t i) {
  T bits{};
  std::memcpy(&bits, static_cast<const char*>(t.data()) + static_cast<size_t>(i) * sizeof(T), sizeof(T));
  return bits;
}

uint64_t raw_bits(const Tensor& t, int64_t i) {
  switch (t.dtype().bytes()) {
    case 1: return bits_at<uint8_t>(t, i);
    case 2: return bits_at<uint16_t>(t, i);
    case 4: return bits_at<uint32_t>(t, i);
    default: return bits_at<uint64_t>(t, i);
  }
}

// Is the NaN at i the one that `nan` (or `-nan`) makes?
bool plain_nan(const Tensor& t, int64_t i, bool negative) {
  Tensor one(t.dtype(), {});
  one.set(0, std::copysign(NAN, negative ? -1.0 : 1.0));
  return raw_bits(one, 0) == raw_bits(t, i);
}

}  // namespace

std::optional<Number> split_number(std::string_view text, bool negative) {
  static const RE2 kNumber(
      "(0[xX][0-9a-fA-F]+|[0-9]+(?:\\.[0-9]*)?(?:[eE][+-]?[0-9]+)?|inf|nan)([A-Za-z0-9_]*)", RE2::Latin1);
  re2::StringPiece digits, suffix;
  if (!RE2::FullMatch(re2::StringPiece(text.data(), text.size()), kNumber, &digits, &suffix))
    return std::nullopt;
  Number n;
  n.negative = negative;
  n.digits = text.substr(0, digits.size());
  n.suffix = text.substr(digits.size());
  n.hex = n.digits.size() > 2 && (n.digits[1] == 'x' || n.digits[1] == 'X');
  n.floating = !n.hex && n.digits.find_first_of(".eEin") != std::string_view::npos;
  return n;
}

std::optional<DType> dtype_of_suffix(std::string_view suffix) {
  for (const Suffix& s : kSuffixes) {
    if (s.text == suffix) return s.dtype;
  }
  return std::nullopt;
}

std::string_view suffix_of(DType d) {
  if (d == kInt32) return "";
  for (const Suffix& s : kSuffixes) {
    if (s.dtype == d) return s.text;
  }
  return "";
}

std::optional<DType> natural_dtype(const Number& n) {
  if (!n.suffix.empty()) return dtype_of_suffix(n.suffix);
  const std::optional<int64_t> value = n.floating ? std::nullopt : to_int64(n);
  if (n.floating) return std::nullopt;
  return value && *value >= INT32_MIN && *value <= INT32_MAX ? kInt32 : kInt64;
}

std::optional<LiteralError> store_number(const Number& n, Tensor& into, int64_t i) {
  if (n.hex) return store_bits(n, into, i);
  return into.dtype().is_float() ? store_float(n, into, i) : store_int(n, into, i);
}

std::optional<double> to_double(const Number& n) {
  if (n.hex) return std::nullopt;
  std::optional<double> value;
  if (n.digits == "inf") {
    value = INFINITY;
  } else if (n.digits == "nan") {
    value = NAN;
  } else {
    value = rounded<long double, double>(n.digits);
  }
  if (value && n.negative) value = -*value;
  return value;
}

std::optional<int64_t> to_int64(const Number& n) {
  if (n.floating || n.hex) return std::nullopt;
  const std::optional<uint64_t> m = magnitude(n);
  const uint64_t most = uint64_t{1} << 63;
  if (!m || (n.negative ? *m > most : *m >= most)) return std::nullopt;
  return static_cast<int64_t>(n.negative ? 0 - *m : *m);
}

std::string show_double(double value) {
  if (std::isnan(value)) return std::signbit(value) ? "-nanf" : "nanf";
  if (std::isinf(value)) return value < 0 ? "-inff" : "inff";
  return shortest(value) + "f";
}

std::string show_element(const Tensor& t, int64_t i, bool bare) {
  const DType d = t.dtype();
  if (d.is_bool()) return t.get_int(i) != 0 ? "True" : "False";
  const std::string_view suffix = bare ? std::string_view() : suffix_of(d);
  if (d == kUInt64) return cat(static_cast<uint64_t>(t.get_int(i)), suffix);
  if (d.is_int()) return cat(t.get_int(i), suffix);
  const double value = t.get(i);
  if (std::isnan(value)) {
    const bool negative = (raw_bits(t, i) >> (d.bits - 1)) & 1;
    if (!plain_nan(t, i, negative)) return fmt::format("0x{:x}", raw_bits(t, i));
    return cat(negative ? "-nan" : "nan", suffix);
  }
  if (std::isinf(value)) return cat(value < 0 ? "-inf" : "inf", suffix);
  return cat(d == kFloat64 ? shortest(value) : shortest(static_cast<float>(value)), suffix);
}

std::string show_tensor(const Tensor& t) {
  const DType d = t.dtype();
  const Shape& shape = t.shape();
  if (shape.empty()) {
    std::string number = show_element(t, 0, false);
    if (!number.starts_with("0x")) return number;
    return cat("tensor(", number, ", ", d.name(), ")");
  }
  std::string out = "tensor(";
  // Nested brackets show the shape, unless there are no brackets to show an inner dim or
  // too many of them.
  constexpr size_t kMostBrackets = 16;
  bool nested = shape.size() <= kMostBrackets;
  int64_t rows = 1;
  for (size_t i = 0; i + 1 < shape.size(); ++i) {
    nested = nested && shape[i] != 0;
    rows *= shape[i];
  }
  if (t.size() == 0 && rows > static_cast<int64_t>(kMostBrackets)) nested = false;
  if (!nested) {
    out += "[";
    for (int64_t i = 0; i < t.size(); ++i) out += cat(i > 0 ? ", " : "", show_element(t, i, true));
    out += cat("], ", d.name(), ", (", join(shape, ", "), shape.size() == 1 ? ",))" : "))");
    return out;
  }
  const int64_t width = shape.back();
  const auto brackets = [&](int64_t row) {  // how many lists begin (or end) with this row
    size_t count = 1;
    int64_t block = 1;
    for (size_t axis = shape.size() - 1; axis-- > 0;) {
      block *= shape[axis];
      if (row % block != 0) break;
      ++count;
    }
    return count;
  };
  for (int64_t row = 0; row < rows; ++row) {
    if (row > 0) out += ", ";
    out += std::string(brackets(row), '[');
    for (int64_t i = 0; i < width; ++i) out += cat(i > 0 ? ", " : "", show_element(t, row * width + i, true));
    out += std::string(brackets(row + 1), ']');
  }
  return cat(out, ", ", d.name(), ")");
}

}  // namespace relay::text
