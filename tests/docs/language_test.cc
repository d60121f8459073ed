// Runs docs/language.md. Each block `relay` is a program. The block after it is either `calls`,
// which run as those of tests/exec do, or `error`, which is all that the checker says of it. A
// block that nothing checks fails the test. `--update` rewrites the blocks `error`.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/cat.h"
#include "ir/text/parser.h"
#include "op/operators.h"
#include "tests/docs/page.h"
#include "tests/support/checkout.h"
#include "tests/support/engine_skips.h"
#include "tools/verify/exec_program.h"
#include "typecheck/check.h"

namespace relay::tests {
namespace {

bool update = false;

constexpr const char* kPage = "docs/language.md";

// Fewer would mean that the page, or the reader of pages, has lost something.
constexpr size_t kFewestPrograms = 29, kFewestErrors = 8;

std::string file_of(const PageBlock& program) {
  return program.name.empty() ? "example.relay" : program.name;
}

std::string place_of(const PageBlock& block) { return cat(kPage, ":", block.line); }

// Those of the page, with what `--update` has put into them.
std::vector<PageBlock>& page_blocks() {
  static std::vector<PageBlock> all = blocks_of(kPage);
  return all;
}

class CallsTest : public testing::Test {
 public:
  CallsTest(PageBlock program, PageBlock calls) : program_(std::move(program)), calls_(std::move(calls)) {}

  void TestBody() override {
    const std::string folder = cat(testing::TempDir(), "/line", program_.line);
    std::filesystem::create_directories(folder);
    const std::string path = folder + "/" + file_of(program_);
    std::ofstream(path) << "RUN exec\n---- input\n" << program_.text << "---- calls\n" << calls_.text;
    tools::ExecProgram program(path);
    for (const std::string& line : program.calls()) {
      const tools::CallLine call = tools::parse_call(line);
      ASSERT_NE(call.assertion, "rejected") << place_of(calls_) << ": a message belongs into a block `error`";
      size_t compiled = 0;
      for (const driver::VerifyRow& row : program.run(call, {.engines = {"jit", "graph"}, .levels = {2}})) {
        EXPECT_TRUE(row.ok) << place_of(calls_) << ": " << line << ": " << row.engine << ": "
                            << row.trouble();
        EXPECT_TRUE(row.skipped.empty() || may_skip(row.engine, row.slug))
            << row.engine << ": " << row.skipped;
        compiled += row.engine != "interp" && row.skipped.empty();
      }
      EXPECT_GE(compiled, 1u) << place_of(calls_) << ": " << line << ": no compiled engine ran it";
    }
  }

 private:
  PageBlock program_, calls_;
};

class ErrorTest : public testing::Test {
 public:
  ErrorTest(PageBlock program, PageBlock error) : program_(std::move(program)), error_(std::move(error)) {}

  void TestBody() override {
    Diagnostics diagnostics;
    ParseOptions options;
    const Result<Module> parsed =
        parse(file_of(program_), program_.text, diagnostics, op::operators(), options);
    if (parsed) {
      EXPECT_FALSE(typecheck::check(*parsed, diagnostics).ok()) << place_of(program_);
    }
    const std::string said = diagnostics.render(options.into.context().sources());
    if (said == error_.text) return;
    if (!update) {
      EXPECT_EQ(said, error_.text) << place_of(error_) << ": run `./dev update` and read the difference";
      return;
    }
    for (PageBlock& block : page_blocks()) {
      if (block.line == error_.line) block.text = said;
    }
    rewrite(kPage, page_blocks());
  }

 private:
  PageBlock program_, error_;
};

// Registers a test for each program. Throws std::runtime_error for a block that is no part of one.
void add_tests() {
  const std::vector<PageBlock>& blocks = page_blocks();
  size_t programs = 0, errors = 0;
  for (size_t i = 0; i < blocks.size(); ++i) {
    const PageBlock& block = blocks[i];
    if (block.kind == "console") continue;  // transcript_test runs these
    if (block.kind != "relay")
      throw std::runtime_error(cat(place_of(block), ": nothing checks a block `", block.kind, "` here"));
    const PageBlock answer = i + 1 < blocks.size() ? blocks[++i] : PageBlock();
    const bool is_error = answer.kind == "error";
    if (!is_error && answer.kind != "calls")
      throw std::runtime_error(cat(place_of(block), ": `calls` or `error` must follow a program"));
    ++programs;
    errors += is_error;
    const auto make = [block, answer, is_error]() -> testing::Test* {
      if (is_error) return new ErrorTest(block, answer);
      return new CallsTest(block, answer);
    };
    testing::RegisterTest("Language", cat("line ", block.line).c_str(), nullptr, nullptr, __FILE__, __LINE__,
                          make);
  }
  if (programs < kFewestPrograms || errors < kFewestErrors)
    throw std::runtime_error(cat(kPage, ": has only ", programs, " programs and ", errors, " errors"));
}

}  // namespace
}  // namespace relay::tests

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  relay::tests::update = relay::tests::wants_update(argc, argv);
  relay::tests::add_tests();
  return RUN_ALL_TESTS();
}
