// --denormals: what compiled code does with numbers too small for a normal one, where it is said.
#include "tests/cli/cli.h"

namespace relay::tests {
namespace {

class DenormalsOption : public Cli {
 protected:
  void SetUp() override {
    Cli::SetUp();
    // 2^-140, whose double is denormal too.
    write("double.relay",
          "def @main() { let %x = ref(tensor([7.174648137343064e-43, 1], float32)); add(ref_read(%x), "
          "ref_read(%x)) }");
  }
  static constexpr const char* kText = "def @main(%x: Tensor[(2), float32]) { add(%x, %x) }\n";
};

TEST_F(DenormalsOption, RunKeepsThemIfToldTo) {
  EXPECT_NE(works({"run", "double.relay", "--engine", "jit"}).find("[0, 2]"), std::string::npos);
  for (const char* engine : {"jit", "interp"}) {
    const std::string kept = works({"run", "double.relay", "--engine", engine, "--denormals", "keep"});
    EXPECT_NE(kept.find("[1.435e-42, 2]"), std::string::npos) << kept;
  }
}

TEST_F(DenormalsOption, AnExecTestMaySayItInItsFirstLine) {
  const std::string calls = std::string("---- input\n") + kText +
                            "---- calls\n@main([7.174648137343064e-43, 1]) == [1.4349296274686127e-42, 2]\n";
  write("kept.relay", "RUN exec --denormals keep\n" + calls);
  write("plain.relay", "RUN exec\n" + calls);
  works({"verify", "kept.relay", "--engines", "jit"});
  works({"verify", "plain.relay", "--engines", "jit"});
  works({"verify", "plain.relay", "--engines", "jit", "--denormals", "keep"});
  write("other.relay", "RUN exec --denormals sometimes\n" + calls);
  refused({"verify", "other.relay"}, kBadModel,
          {"other.relay", "`--denormals sometimes`", "`--denormals keep`"});
}

TEST_F(DenormalsOption, WhatIsNoWayIsRefused) {
  refused({"run", "double.relay", "--denormals", "often"}, kUsage, {"--denormals", "often", "flush", "keep"});
  refused({"compile", "double.relay", "--emit", "dot", "--denormals", "keep"}, kUsage,
          {"--denormals", "--emit dot", "does not run"});
}

TEST_F(DenormalsOption, AnArtifactRemembersWhatItWasCompiledWith) {
  write("add.relay", kText);
  works({"compile", "add.relay", "-o", "kept.so", "--denormals", "keep"});
  EXPECT_NE(works({"check", "kept.so", "--json"}).find("\"denormals\": \"keep\""), std::string::npos);
}

}  // namespace
}  // namespace relay::tests
