// Elements of a Storage (frontend/data/storage.h) in nodes: which operators move them, and
// expressions that turn them into numbers and back.
#pragma once

#include "frontend/onnx/node.h"

namespace relay::frontend {

// The refusal of an operator that would compute with such elements.
Refusal no_arithmetic(const data::Storage& storage);

// Which results of a node have the elements of an input.
struct Moved {
  const data::Storage* storage = nullptr;
  uint32_t results = 0;  // a set of bits

  bool result(size_t i) const { return storage && (i >= 32 || (results >> i & 1) != 0); }
};

// If the operator only moves elements, lets the node read carriers. Refuses a node that mixes
// elements of several types, or takes such elements as indices.
Moved admit_storage(Node& n);

// What elements are: a dtype of Relay, or a Storage with its carrier.
struct Element {
  DType dtype;
  const data::Storage* storage = nullptr;

  const data::SmallFloat* small_float() const { return storage && storage->real ? &*storage->real : nullptr; }
  // Bits of an integer that casts truncate to; 0 for one of whole bytes, and for another number.
  unsigned narrow_bits() const;
  bool is_float() const { return storage ? storage->real.has_value() : dtype.is_float(); }
};

// The element that a code of TensorProto.DataType stands for; refuses one that is not supported.
Element element_of(Node& n, int64_t code);
Element element_at(Node& n, size_t i);  // that of an input
void store(Node& n, size_t result, const Element& element);

// The numbers at an input. Of a Storage: float32 for a float, the carrier for an integer.
Expr numbers_at(Node& n, size_t i);

// How numbers outside of a format become elements of it.
enum class RoundMode { kNearest, kUp, kDown };
struct Encoding {
  bool saturate = true;
  RoundMode round = RoundMode::kUp;  // of powers of two (FLOAT8E8M0); others round to nearest, ties to even
};

// Numbers as elements, as Cast converts them. `numbers` are of a dtype of Relay. Where ONNX leaves
// the result open, docs/small-elements.md says what it is.
Expr as_elements(Node& n, Expr numbers, const Element& to, const Encoding& encoding);

// The patterns of a small format as real numbers, and real numbers as patterns: look-ups in tables.
Expr decoded(Node& n, Expr patterns, const data::SmallFloat& format);
Expr encoded(Node& n, Expr numbers, const data::SmallFloat& format, const Encoding& encoding);

// The numbers from which on a pattern applies. Numbers below the first have the pattern `below`.
struct Steps {
  uint8_t below = 0;
  std::vector<std::pair<double, uint8_t>> from = {};  // ascending; the last one is NaN
};
// `wide` is the dtype of the numbers: it says what the next number after a tie is.
Steps steps_of(const data::SmallFloat& format, const Encoding& encoding, DType wide);

}  // namespace relay::frontend
