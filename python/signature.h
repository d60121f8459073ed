// What a program takes and gives: its parameters by name, and their types with numbers.
//
// There are two sources of it: a typed module, and the description that an artifact has of itself.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "driver/model.h"
#include "ir/module.h"
#include "runtime/dtype.h"

namespace relay::python {

constexpr int64_t kOpen = -1;  // an extent that only a run knows

struct TypeEntry {
  enum class Kind { kTensor, kTuple, kData };
  struct Constructor {
    std::string name;
    std::vector<uint32_t> fields;  // numbers of types
  };

  Kind kind = Kind::kTensor;
  std::string text = {};  // as the language writes it
  DType dtype = {};       // of a tensor
  std::vector<int64_t> dims = {};
  std::vector<Constructor> constructors = {};  // a tuple has one without a name
  const DataTypeDef* data = nullptr;           // of a data type in a module
};

struct Signature {
  std::vector<TypeEntry> types = {};
  std::vector<std::string> inputs = {};
  std::vector<uint32_t> parameters = {};  // types of the inputs
  std::vector<std::string> outputs = {};  // names of the tensors of the result
  // The result's type. If it is not set, the result is the tensors of `results`.
  uint32_t result = 0;
  std::vector<uint32_t> results = {};
  bool tuple_result = false;  // with `results`: they are a tuple, even if there is one

  bool has_data() const;  // values of data types are among what it takes and gives
};

// Raises TypeError if the function takes or gives functions or references: no other program can
// make these. The module's context must be locked, and the GIL held.
Signature signature_of(const driver::Model& model);
// Of the JSON text that relay_model_describe gives. Returns what is wrong with it,
// or an empty text.
[[nodiscard]] std::string signature_of(const char* description, Signature& out);

}  // namespace relay::python
