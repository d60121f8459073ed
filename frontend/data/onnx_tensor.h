// ONNX's TensorProto: initialisers and attributes of models, and the files of test_data_set_N/.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/diagnostics.h"
#include "base/result.h"
#include "frontend/data/input_file.h"
#include "frontend/data/limits.h"
#include "frontend/data/named_tensors.h"

namespace google::protobuf {
class MessageLite;
}
namespace onnx {
class TensorProto;
}

namespace relay::frontend::data {

// The numbers of TensorProto.DataType, with those that are newer than the installed headers.
// Nothing for text, complex numbers, unknown codes, and a Storage (storage.h). Attributes hold
// codes of 64 bits.
std::optional<DType> dtype_of_onnx(int64_t code);
int32_t onnx_of_dtype(DType dtype);
std::string onnx_dtype_name(int64_t code);  // "FLOAT", "COMPLEX64", "data type 77"

// The tensor that a proto describes; for a Storage, its carrier. This is the only place that reads
// the elements of a proto, whether they are inside it or in a file beneath `folder` (null: a proto
// that names a file is refused). If `owner` keeps the proto alive, a large tensor shares its bytes.
Result<Tensor> tensor_of(const onnx::TensorProto& proto, std::string_view source, const std::string* folder,
                         Span span, Diagnostics& diagnostics, std::shared_ptr<const void> owner = {});

// The file that the elements of a proto lie in, relative to the model's folder; empty: they
// are in the proto.
std::string external_file(const onnx::TensorProto& proto);

// A file that holds one TensorProto.
Result<NamedTensor> parse_onnx_tensor(std::string_view bytes, std::string_view source,
                                      Diagnostics& diagnostics);
std::string onnx_tensor_bytes(const NamedTensor& tensor);

// Reads a message with limits on nesting, without output of the library; what is wrong,
// or an empty text. A file is read piece by piece: no other copy of it is in memory.
std::string parse_message(std::string_view bytes, google::protobuf::MessageLite& out);
std::string parse_message(const InputFile& file, google::protobuf::MessageLite& out);

}  // namespace relay::frontend::data
