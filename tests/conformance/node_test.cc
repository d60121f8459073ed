// The node tests that come with ONNX (Debian package libonnx-testdata): a model of one node or a
// few, inputs, outputs.
//
// passes.txt is the list of those that must pass. One that fails is an error, and so is one that
// passes without being on the list: what we support may grow, and never shrinks unseen. The reasons
// of all others are counted and printed.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include "base/cat.h"
#include "base/file.h"
#include "tests/conformance/models.h"

namespace relay::tests {
namespace {

namespace fs = std::filesystem;

bool update = false;

std::set<std::string> listed() {
  std::set<std::string> out;
  std::ifstream in(kNodeTestsList);
  for (std::string line; std::getline(in, line);) {
    if (!line.empty() && line[0] != '#') out.insert(line);
  }
  return out;
}

// Reasons without what differs from node to node, so that they can be counted.
std::string kind_of(std::string reason) {
  for (size_t at; (at = reason.find(" (node `")) != std::string::npos;) {
    const size_t end = reason.find("`)", at);
    reason.erase(at, end == std::string::npos ? std::string::npos : end + 2 - at);
  }
  return reason;
}

TEST(OnnxNodeTests, PassAsListed) {
  if (!fs::exists(kNodeTests)) GTEST_SKIP() << "no test data of ONNX: install libonnx-testdata";
  std::vector<std::string> cases;
  for (const char* suite : {"node", "simple", "pytorch-converted", "pytorch-operator"}) {
    for (const auto& entry : fs::directory_iterator(fs::path(kNodeTests) / suite)) {
      cases.push_back(cat(suite, "/", entry.path().filename().string()));
    }
  }
  std::sort(cases.begin(), cases.end());
  const std::set<std::string> expected = listed();
  std::set<std::string> passed;
  std::map<std::string, int> skips;
  std::map<std::string, std::string> failures;
  for (const std::string& name : cases) {
    const std::string folder = cat(kNodeTests, "/", name), data = folder + "/test_data_set_0";
    if (!fs::exists(folder + "/model.onnx")) continue;
    const Verdict v = run_model(folder + "/model.onnx", data, data, {}, {2e-6, 1e-3});
    if (v.kind == Verdict::Kind::kPass) passed.insert(name);
    if (v.kind == Verdict::Kind::kSkip) ++skips[kind_of(v.reason)];
    if (v.kind == Verdict::Kind::kFail) failures[name] = v.reason;
  }
  int skipped = 0;
  for (const auto& [reason, count] : skips) {
    std::printf("skipped %3d  %s\n", count, reason.c_str());
    skipped += count;
  }
  for (const auto& [name, reason] : failures) std::printf("failed  %s: %s\n", name.c_str(), reason.c_str());
  std::printf("%zu passed, %d skipped, %zu failed\n", passed.size(), skipped, failures.size());

  if (update) {
    std::string text = "# Node tests of ONNX that pass; see node_test.cc.\n";
    for (const std::string& name : passed) text += name + "\n";
    const char* workspace = std::getenv("BUILD_WORKSPACE_DIRECTORY");
    EXPECT_EQ(write_file_atomically(cat(workspace ? workspace : ".", "/", kNodeTestsList), text), "");
    return;
  }
  for (const std::string& name : expected) {
    EXPECT_TRUE(passed.contains(name))
        << name << " does not pass any more: "
        << (failures.contains(name) ? failures[name] : "it is skipped, or gone");
  }
  for (const std::string& name : passed) {
    EXPECT_TRUE(expected.contains(name)) << name << " passes now: run this test with --update";
  }
}

}  // namespace
}  // namespace relay::tests

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  relay::tests::update = argc > 1 && std::string_view(argv[1]) == "--update";
  return RUN_ALL_TESTS();
}
