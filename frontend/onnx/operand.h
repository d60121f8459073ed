// What the name of a tensor stands for while a model is imported.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "frontend/data/storage.h"
#include "ir/expr.h"

namespace relay::frontend {

// A small tensor whose elements are known while the model is imported, as dims: what shapes are
// computed with. Floating-point elements are known only while they are whole numbers.
struct IndexTensor {
  DType dtype = kInt64;
  Shape shape;
  std::vector<Dim> elements;  // row-major; `?` for one that is not known

  bool complete() const;  // no element is unknown
  bool constant() const;  // every element is a number
};

// More elements are not worth knowing: nobody computes shapes with them.
inline constexpr int64_t kMaxIndexElements = 4096;

struct Operand {
  Expr expr = nullptr;                     // null: made of `index` when first needed
  std::optional<IndexTensor> index;        // what is known of the elements
  const data::Storage* storage = nullptr;  // not null: `expr` is the carrier of such elements
  bool closed = false;                     // depends on constants only
  bool absent = false;                     // an input of a function that its call leaves out
  // A sequence of known length, or an optional value of which is known whether it is there (then it
  // has one element): sequences.h.
  enum class Form : uint8_t { kTensor, kSequence, kOptional };
  Form form = Form::kTensor;
  std::shared_ptr<const std::vector<Operand>> elements = nullptr;
  bool failed = false;  // its node was refused: users are passed over in silence
  // With `failed`: the number of the first refusal that is why; 0 if the model is refused for it.
  uint32_t refusal = 0;
};

inline Operand failed_operand(uint32_t refusal = 0) {
  Operand out;
  out.failed = true;
  out.refusal = refusal;
  return out;
}

std::optional<IndexTensor> index_of(const Tensor& t);  // nothing if too large or not whole
Tensor tensor_of(const IndexTensor& t);                // of a constant one

}  // namespace relay::frontend
