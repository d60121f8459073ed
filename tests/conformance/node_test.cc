// The node tests that come with ONNX (Debian package libonnx-testdata): a model of one node or a
// few, inputs, outputs.
//
// passes.txt is the list of those that must pass, and refused.txt of all others, each with its
// reason. A test that is on the wrong list is an error: what we support may grow, and never
// shrinks unseen.
#include <gtest/gtest.h>
#include <onnx/onnx-data_pb.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <span>
#include <stdexcept>

#include "base/cat.h"
#include "base/failure.h"
#include "base/file.h"
#include "driver/tolerance.h"
#include "interp/machine.h"
#include "passes/reference.h"
#include "tests/conformance/node_data.h"

namespace relay::tests {
namespace {

bool update = false;

// Tests whose files contradict their own model, so that nobody can pass them.
struct Defect {
  std::string_view name, why;
};
constexpr std::string_view kLike = "its file of `like` has one element, and its model says (3, 4)";
constexpr Defect kDefects[] = {
    {"node/test_adam_multiple", "its results have epsilon 0.01, and its node the default, 1e-6"},
    {"node/test_castlike_BFLOAT16_to_FLOAT", kLike},
    {"node/test_castlike_BFLOAT16_to_FLOAT_expanded", kLike},
    {"node/test_castlike_FLOAT_to_BFLOAT16", kLike},
    {"node/test_castlike_FLOAT_to_BFLOAT16_expanded", kLike},
};

bool has(std::span<const Defect> list, std::string_view name) {
  return std::any_of(list.begin(), list.end(), [&](const Defect& d) { return d.name == name; });
}

// ONNX's own runner allows a thousandth, in which a small mistake would hide. The interpreter is
// also held to four times what an engine may be away from it (docs/semantics.md), and to no less
// than this many units in the last place, because the files were computed in the result's dtype.
constexpr double kTimes = 4, kLeastUlps = 4;

// The tests that are farther away than that.
constexpr std::string_view kPi = "its file was computed with 3.1415 in the place of pi";
constexpr std::string_view kRounded = "its file has four digits behind the point";
constexpr Defect kFarther[] = {
    {"node/test_blackmanwindow", kPi},
    {"node/test_blackmanwindow_expanded", kPi},
    {"node/test_blackmanwindow_symmetric", kPi},
    {"node/test_blackmanwindow_symmetric_expanded", kPi},
    {"node/test_gridsample_bicubic", kRounded},
    {"node/test_hammingwindow", kPi},
    {"node/test_hammingwindow_expanded", kPi},
    {"node/test_hammingwindow_symmetric", kPi},
    {"node/test_hammingwindow_symmetric_expanded", kPi},
    {"node/test_hannwindow", kPi},
    {"node/test_hannwindow_expanded", kPi},
    {"node/test_hannwindow_symmetric", kPi},
    {"node/test_hannwindow_symmetric_expanded", kPi},
    {"node/test_roialign_aligned_false", kRounded},
    {"node/test_roialign_aligned_true", kRounded},
};

// The lines of a list: names, and what is said of them after ": ".
std::map<std::string, std::string> listed(const char* path) {
  std::map<std::string, std::string> out;
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) {
    if (line.empty() || line[0] == '#') continue;
    const size_t end = line.find(": ");
    out[line.substr(0, end)] = end == std::string::npos ? "" : line.substr(end + 2);
  }
  return out;
}

void rewrite(const char* path, std::string_view title, const std::map<std::string, std::string>& lines) {
  std::string text = cat("# ", title, "; see node_test.cc.\n");
  for (const auto& [name, reason] : lines)
    text += reason.empty() ? cat(name, "\n") : cat(name, ": ", reason, "\n");
  const char* workspace = std::getenv("BUILD_WORKSPACE_DIRECTORY");
  EXPECT_EQ(write_file_atomically(cat(workspace ? workspace : ".", "/", path), text), "");
}

// What is wrong with a result; an empty text if it is what ONNX wants. `farther` says how far it is
// away, if that is farther than it should be.
struct Judged {
  std::string wrong, farther = {};
};

std::string beyond_own_bounds(const NodeCase& test, const Value& result) {
  const std::vector<Tensor> got = passes::tensors_of(result);
  const std::vector<Bound> own = driver::wanted_of(test.module, "main", test.args, result).bounds;
  for (size_t i = 0; i < got.size(); ++i) {
    const Tensor& want = test.wanted[i];
    const bool is_float = want.dtype().is_float();
    const Bound bound = [&](int64_t e) {
      return kTimes * own[i](e) + (is_float ? kLeastUlps * spacing(want.dtype(), want.get(e)) : 0);
    };
    if (const Comparison c = compare(got[i], want, bound); !c.ok)
      return cat("tensor ", i, ": ", show(c, want.shape()));
  }
  return "";
}

Judged judge(const NodeCase& test) {
  try {
    const Value result = interp::Machine(test.module).call("main", test.args);
    const std::string wrong = wrong_result(test, passes::tensors_of(result), {});
    if (!wrong.empty() || test.is_random) return {wrong};
    return {wrong, beyond_own_bounds(test, result)};
  } catch (const Trap& trap) {
    return {cat("trap: ", trap.what())};
  } catch (const Exhausted& limit) {
    return {cat("exhausted: ", limit.what())};
  }
}

struct Verdicts {
  std::map<std::string, std::string> passed, refused, failed;  // by name: nothing, the reason
  std::map<std::string, std::string> farther;                  // of those that passed
};

Verdicts judge_all() {
  Verdicts out;
  for (const std::string& name : node_test_names()) {
    CaseRefusal why;
    std::optional<NodeCase> test;
    try {
      test = load_node_test(name, Module(), /*is_open=*/true, why);
    } catch (const std::runtime_error& e) {  // a file is missing
      out.failed[name] = e.what();
      continue;
    }
    if (!test) {
      (why.blames_model ? out.failed : out.refused)[name] = why.reason.substr(0, why.reason.find('\n'));
      continue;
    }
    const auto& [wrong, farther] = judge(*test);
    (wrong.empty() ? out.passed : out.failed)[name] = wrong.substr(0, wrong.find('\n'));
    if (!farther.empty()) out.farther[name] = farther;
  }
  return out;
}

TEST(OnnxNodeTests, AreOnTheRightList) {
  if (!std::filesystem::exists(kNodeTests)) GTEST_SKIP() << "no test data of ONNX: install libonnx-testdata";
  const Verdicts found = judge_all();
  std::printf("%zu passed, %zu refused, %zu failed\n", found.passed.size(), found.refused.size(),
              found.failed.size());
  for (const auto& [name, reason] : found.failed) EXPECT_TRUE(has(kDefects, name)) << name << ": " << reason;
  for (const Defect& d : kDefects)
    EXPECT_TRUE(found.failed.contains(std::string(d.name))) << d.name << " passes: " << d.why;
  for (const auto& [name, how] : found.farther) EXPECT_TRUE(has(kFarther, name)) << name << ": " << how;
  for (const Defect& d : kFarther)
    EXPECT_TRUE(found.farther.contains(std::string(d.name))) << d.name << " is near: " << d.why;
  if (update) {
    rewrite(kNodeTestsList, "Node tests of ONNX that pass", found.passed);
    rewrite(kRefusedList, "Node tests of ONNX that are refused, and why", found.refused);
    return;
  }
  // Maps of both lists at once: a test that is on the wrong one, or on none, is named.
  const auto compare = [](const auto& found, const auto& expected, std::string_view list) {
    for (const auto& [name, reason] : expected) {
      const auto at = found.find(name);
      EXPECT_TRUE(at != found.end()) << name << " is on the list of those that " << list << ", and does not";
      if (at != found.end()) {
        EXPECT_EQ(at->second, reason) << name;
      }
    }
    for (const auto& [name, reason] : found) {
      EXPECT_TRUE(expected.contains(name))
          << name << " is not on the list of those that " << list << ": run this test with --update";
    }
  };
  compare(found.passed, listed(kNodeTestsList), "pass");
  compare(found.refused, listed(kRefusedList), "are refused");
}

// --- Files of values -----------------------------------------------------------------------------

::onnx::TypeProto tensor_type() {
  ::onnx::TypeProto out;
  out.mutable_tensor_type()->set_elem_type(::onnx::TensorProto::FLOAT);
  return out;
}
::onnx::TypeProto sequence_type() {
  ::onnx::TypeProto out;
  *out.mutable_sequence_type()->mutable_elem_type() = tensor_type();
  return out;
}
::onnx::TypeProto optional_type(const ::onnx::TypeProto& of) {
  ::onnx::TypeProto out;
  *out.mutable_optional_type()->mutable_elem_type() = of;
  return out;
}

::onnx::TensorProto number(float value) {
  ::onnx::TensorProto out;
  out.set_data_type(::onnx::TensorProto::FLOAT);
  out.add_float_data(value);
  return out;
}

TEST(CaseValues, AreReadByTheirType) {
  Diagnostics diagnostics;
  const Result<CaseValue> tensor =
      parse_case_value(number(3).SerializeAsString(), "x.pb", tensor_type(), diagnostics);
  ASSERT_TRUE(tensor.ok());
  EXPECT_EQ(tensor->tensor->get(0), 3);

  ::onnx::SequenceProto sequence;
  sequence.set_elem_type(::onnx::SequenceProto::TENSOR);
  for (const float v : {4.0f, 5.0f}) *sequence.add_tensor_values() = number(v);
  const Result<CaseValue> parts =
      parse_case_value(sequence.SerializeAsString(), "x.pb", sequence_type(), diagnostics);
  ASSERT_TRUE(parts.ok());
  ASSERT_EQ(parts->parts.size(), 2u);
  EXPECT_EQ(parts->parts[1].tensor->get(0), 5);

  ::onnx::OptionalProto optional;
  optional.set_elem_type(::onnx::OptionalProto::SEQUENCE);
  *optional.mutable_sequence_value() = sequence;
  const ::onnx::TypeProto type = optional_type(sequence_type());
  const Result<CaseValue> some = parse_case_value(optional.SerializeAsString(), "x.pb", type, diagnostics);
  ASSERT_TRUE(some.ok());
  EXPECT_FALSE(some->is_absent);
  EXPECT_EQ(some->parts.size(), 2u);
  const Result<CaseValue> none = parse_case_value("", "x.pb", type, diagnostics);
  ASSERT_TRUE(none.ok());
  EXPECT_TRUE(none->is_absent);
}

TEST(CaseValues, Bfloat16MayLieInIntegersOfItsBits) {
  ::onnx::TensorProto bits;
  bits.set_data_type(::onnx::TensorProto::UINT16);
  bits.add_int32_data(0x3f80);
  ::onnx::TypeProto type = tensor_type();
  type.mutable_tensor_type()->set_elem_type(::onnx::TensorProto::BFLOAT16);
  Diagnostics diagnostics;
  const Result<CaseValue> value = parse_case_value(bits.SerializeAsString(), "x.pb", type, diagnostics);
  ASSERT_TRUE(value.ok());
  EXPECT_EQ(value->tensor->dtype(), kBFloat16);
  EXPECT_EQ(value->tensor->get(0), 1);
}

TEST(CaseValues, OthersAreReported) {
  Diagnostics diagnostics;
  EXPECT_FALSE(parse_case_value("?", "x.pb", tensor_type(), diagnostics).ok());
  ::onnx::SequenceProto maps;
  maps.set_elem_type(::onnx::SequenceProto::MAP);
  EXPECT_FALSE(parse_case_value(maps.SerializeAsString(), "x.pb", sequence_type(), diagnostics).ok());
  EXPECT_EQ(diagnostics.all().size(), 2u);
}

}  // namespace
}  // namespace relay::tests

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  relay::tests::update = argc > 1 && std::string_view(argv[1]) == "--update";
  return RUN_ALL_TESTS();
}
