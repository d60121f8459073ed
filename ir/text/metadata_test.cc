// The metadata section of the established format.
#include <gtest/gtest.h>

#include "base/cat.h"
#include "ir/analysis.h"
#include "ir/text/parser.h"
#include "ir/text/printer.h"
#include "ir/text/test_operators.h"

namespace relay::text {
namespace {

// float32 [1, 2], and a bool scalar that is true.
constexpr std::string_view kMetadata = R"(
#[metadata]
{
  "root": 1,
  "nodes": [
    {"type_key": ""},
    {"type_key": "Map", "keys": ["IntImm", "relay.Constant", "tir.Var", "tir.Any", "relay.attrs.X", "runtime.String"],
     "data": [2, 3, 4, 5, 12, 13]},
    {"type_key": "Array", "data": [6]},
    {"type_key": "Array", "data": [7, 8]},
    {"type_key": "Array", "data": [9]},
    {"type_key": "Array", "data": [10]},
    {"type_key": "IntImm", "attrs": {"dtype": "int32", "value": "7"}},
    {"type_key": "relay.Constant", "attrs": {"data": "0"}},
    {"type_key": "relay.Constant", "attrs": {"data": "1"}},
    {"type_key": "tir.Var", "attrs": {"name": "11"}},
    {"type_key": "tir.Any", "attrs": {"dtype": "int32"}},
    {"type_key": "runtime.String", "repr_str": "batch"},
    {"type_key": "Array", "data": [14]},
    {"type_key": "Array", "data": [11]},
    {"type_key": "relay.attrs.X", "attrs": {"a": "1"}}
  ],
  "b64ndarrays": ["P6G0lvBAXt0AAAAAAAAAAAEAAAAAAAAAAQAAAAIgAQACAAAAAAAAAAgAAAAAAAAAAACAPwAAAEA=",
                  "P6G0lvBAXt0AAAAAAAAAAAEAAAAAAAAAAAAAAAEBAQABAAAAAAAAAAE="],
  "attrs": {"tvm_version": "0.18.0"}
}
)";

std::string printed(std::string_view body, std::string_view metadata = kMetadata) {
  const Operators operators = test_operators();
  Diagnostics diagnostics;
  ParseOptions options;
  const Result<Module> m = parse("input", cat(body, metadata), diagnostics, operators, options);
  if (!m) return join(diagnostics.all(), ", ", [](const Diagnostic& d) { return d.slug().name(); });
  PrintOptions print_options;
  print_options.operators = &operators;
  print_options.header = false;
  return print(*m, print_options);
}

TEST(Metadata, Constants) {
  EXPECT_EQ(printed("def @f() { (meta[relay.Constant][0], meta[relay.Constant][1]) }"),
            "def @f() {\n  (tensor([1, 2], float32), True)\n}\n");
}

TEST(Metadata, DimsAndAttributes) {
  EXPECT_EQ(printed("def @f(%x: Tensor[(meta[IntImm][0], meta[tir.Var][0], meta[tir.Any][0]), int8]) { %x }"),
            "def @f(%x: Tensor[(7, batch, ?), int8]) {\n  %x\n}\n");
  EXPECT_EQ(
      printed("def @f() { zeros(a=meta[IntImm][0], b=meta[relay.attrs.X][0], c=meta[runtime.String][0]) }"),
      "def @f() {\n  zeros(a=7, b=\"meta[relay.attrs.X][0]\", c=\"batch\")\n}\n");
  EXPECT_EQ(printed("def @f() { zeros(meta[relay.attrs.X][0]) }"),
            "def @f() {\n  zeros(attrs=\"meta[relay.attrs.X][0]\")\n}\n");
}

TEST(Metadata, Mistakes) {
  EXPECT_EQ(printed("def @f() { meta[relay.Constant][2] }"), "unknown-metadata");
  EXPECT_EQ(printed("def @f() { meta[Other][0] }"), "unknown-metadata");
  EXPECT_EQ(printed("def @f() { meta[IntImm][0] }"), "wrong-metadata-kind");
  EXPECT_EQ(printed("def @f() { meta[relay.Constant][99999999999999999999] }"), "literal-out-of-range");
  EXPECT_EQ(printed("def @f(%x: Tensor[(meta[relay.Constant][0]), int8]) { 1 }"), "wrong-metadata-kind");
  EXPECT_EQ(printed("def @f() { meta[relay.Constant][0] }", ""), "missing-metadata");
  EXPECT_EQ(printed("def @f() { 1 }", "#[metadata] []"), "malformed-metadata");
}

// Sizes that lie, in the header of a tensor.
TEST(Metadata, TensorsAreNotTrusted) {
  const auto with_tensor = [](std::string_view base64) {
    return cat(
        "#[metadata]{\"root\": 0, \"nodes\": [{\"keys\": [\"relay.Constant\"], \"data\": [1]}, {\"data\": "
        "[2]},",
        "{\"type_key\": \"relay.Constant\", \"attrs\": {\"data\": \"0\"}}], \"b64ndarrays\": [\"", base64,
        "\"]}");
  };
  const std::string good = "P6G0lvBAXt0AAAAAAAAAAAEAAAAAAAAAAQAAAAIgAQACAAAAAAAAAAgAAAAAAAAAAACAPwAAAEA=";
  const std::string_view text = "def @f() { meta[relay.Constant][0] }";
  EXPECT_EQ(printed(text, with_tensor(good)), "def @f() {\n  tensor([1, 2], float32)\n}\n");
  // A bool of 3 is true, and what 4 bits do not hold is refused.
  EXPECT_EQ(printed(text, with_tensor("P6G0lvBAXt0AAAAAAAAAAAEAAAAAAAAAAAAAAAEBAQABAAAAAAAAAAM=")),
            "def @f() {\n  True\n}\n");
  EXPECT_EQ(printed(text, with_tensor("P6G0lvBAXt0AAAAAAAAAAAEAAAAAAAAAAAAAAAAEAQABAAAAAAAAAAc=")),
            "def @f() {\n  7i4\n}\n");
  EXPECT_EQ(printed(text, with_tensor("P6G0lvBAXt0AAAAAAAAAAAEAAAAAAAAAAAAAAAAEAQABAAAAAAAAAPg=")),
            "def @f() {\n  -8i4\n}\n");
  for (std::string_view bad : {"P6G0lvBAXt0AAAAAAAAAAAEAAAAAAAAAAAAAAAAEAQABAAAAAAAAAAg=",
                               "P6G0lvBAXt0AAAAAAAAAAAEAAAAAAAAAAAAAAAEEAQABAAAAAAAAABA="})
    EXPECT_EQ(printed(text, with_tensor(bad)), "broken-metadata");
  // Every truncation and every damaged byte is refused or read, never a crash.
  for (size_t length = 0; length + 1 < good.size(); ++length) {
    EXPECT_EQ(printed(text, with_tensor(good.substr(0, length))), "broken-metadata") << length;
  }
  for (size_t i = 0; i < good.size(); ++i) {
    for (char c : {'A', '/', '9', 'g', '='}) {
      std::string bad = good;
      bad[i] = c;
      EXPECT_FALSE(printed(text, with_tensor(bad)).empty());
    }
  }
}

}  // namespace
}  // namespace relay::text
