// The node tests that come with ONNX (Debian package libonnx-testdata), as node cases.
//
// A test is a folder with model.onnx and test_data_set_0/, which has a message of protobuf for each
// input and output. The model says which kind of message: a tensor, a sequence or
// an optional value.
#pragma once

#include <onnx/onnx_pb.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tests/conformance/node_case.h"

namespace relay::tests {

inline constexpr const char* kNodeTests = "/usr/share/libonnx-testdata/data";
// Which of them must pass, and why the others have no program here.
inline constexpr const char* kNodeTestsList = "tests/conformance/passes.txt";
inline constexpr const char* kRefusedList = "tests/conformance/refused.txt";

// "node/test_abs", ..., sorted.
std::vector<std::string> node_test_names();

// Reads and imports the test of this name, as load_case does.
std::optional<NodeCase> load_node_test(const std::string& name, const Module& empty, bool is_open,
                                       CaseRefusal& why);

// The value in a file of this type: its bytes are a message. Reports what is no value of it.
Result<CaseValue> parse_case_value(std::string_view bytes, const std::string& source,
                                   const ::onnx::TypeProto& type, Diagnostics& diagnostics);

}  // namespace relay::tests
