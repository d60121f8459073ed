// Literals: numbers as they are written, and the tensors they stand for.
//
// A number without suffix is an int32, or an int64 if it does not fit. Suffixes: i i4 i8 i16 i32
// i64 (i is int32), u u4 u8 u16 u32 u64, f f16 f32 f64 (f is float32), bf16, f8e4m3, f8e5m2. `inf`
// and `nan` stand for numbers and need a suffix too. Inside `tensor(...)` the dtype is known and
// the suffix may be left out; there 0x... gives the bits of an element.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/slug.h"
#include "runtime/tensor.h"

namespace relay::text {

// The number as it stands in the text.
struct Number {
  bool negative = false;
  bool hex = false;         // 0x1f: bits
  bool floating = false;    // has a point or an exponent, or is inf or nan
  std::string_view digits;  // without sign and suffix; "inf", "nan"
  std::string_view suffix;  // "" if there is none
};

// Splits `1.5f16` or `inff`. Nothing if it is no number.
std::optional<Number> split_number(std::string_view text, bool negative);

// The dtype that a suffix stands for.
std::optional<DType> dtype_of_suffix(std::string_view suffix);

// The suffix that is printed: none for int32 and dtypes without one, the shortest for the others.
std::string_view suffix_of(DType dtype);

// What is wrong with a number.
struct LiteralError {
  Slug slug;
  std::string message;
};

// The dtype of a number that stands alone.
std::optional<DType> natural_dtype(const Number& n);
// Stores the number as element `i`; an error if the dtype cannot hold it.
std::optional<LiteralError> store_number(const Number& n, Tensor& into, int64_t i);
// The value as a double, for attributes.
std::optional<double> to_double(const Number& n);
// The value as an int64, for dims and attributes; nothing if it does not fit or is no integer.
std::optional<int64_t> to_int64(const Number& n);

// Element i so that it reads back bit for bit; without suffix if `bare`.
std::string show_element(const Tensor& t, int64_t i, bool bare);
// An attribute's float: the shortest text that reads back, with the suffix `f`.
std::string show_double(double value);
// `tensor(...)`, or the number itself for a scalar whose dtype has a suffix.
std::string show_tensor(const Tensor& t);

}  // namespace relay::text
