// Runs the blocks `console` of each page of docs/: lines after "$ " are commands, the others what
// they say. One page is one folder: blocks with a file name after their kind are files in it,
// `relay` is the program, `examples` the project's.
//
// Commands run in bash from a user's folder, and both streams are one. A command ends with 0; one
// that is meant to fail ends in `; echo "exit code $?"`. "..." stands for what differs from machine
// to machine (tests/docs/page.h). `--update` rewrites what does not fit.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/cat.h"
#include "tests/cli/cli.h"
#include "tests/docs/page.h"
#include "tests/support/checkout.h"

namespace relay::tests {
namespace {

namespace fs = std::filesystem;

// Fewer would mean that pages, or the reader of pages, have lost something.
constexpr size_t kFewestPages = 6, kFewestCommands = 40;

bool update = false;

struct Step {
  std::string command, output;
};

// Throws std::runtime_error for a block that shows no command.
std::vector<Step> steps_of(const std::string& page, const PageBlock& block) {
  std::vector<Step> out;
  std::istringstream lines(block.text);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("$ ")) {
      out.push_back({line.substr(2), ""});
    } else if (out.empty()) {
      throw std::runtime_error(cat(page, ":", block.line, ": a block `console` begins with a command"));
    } else {
      out.back().output += line + "\n";
    }
  }
  if (out.empty()) throw std::runtime_error(cat(page, ":", block.line, ": there is no command"));
  for (const Step& s : out) {
    // It would fit anything.
    if (s.output == "...\n") throw std::runtime_error(cat(page, ": nothing is shown of `", s.command, "`"));
  }
  return out;
}

std::string text_of(const std::vector<Step>& steps) {
  std::string out;
  for (const Step& s : steps) out += "$ " + s.command + "\n" + s.output;
  return out;
}

class TranscriptTest : public Cli {
 public:
  explicit TranscriptTest(std::string page) : page_(std::move(page)) {}

  void TestBody() override {
    write("relay", cat("#!/bin/sh\nexec ", of_checkout("tools/relay"), " \"$@\"\n"));
    fs::permissions(path("relay"), fs::perms::owner_all);
    fs::create_symlink(of_checkout("examples"), path("examples"));
    std::vector<PageBlock> blocks = blocks_of(page_);
    for (PageBlock& block : blocks) {
      if (!block.name.empty()) write(block.name, block.text);
      if (block.kind != "console") continue;
      std::vector<Step> steps = steps_of(page_, block);
      for (Step& step : steps) run_step(block, step);
      if (update) block.text = text_of(steps);
    }
    if (update) rewrite(page_, blocks);
  }

 private:
  void run_step(const PageBlock& block, Step& step) const {
    const std::map<std::string, std::string> environment{{"TMPDIR", temporary()},
                                                         {"XDG_CACHE_HOME", cache()},
                                                         {"RELAY_ROOT", of_checkout("")},
                                                         {"LC_ALL", "C.UTF-8"}};
    const Ended ended = run({.command = {"/bin/bash", "-c", "exec 2>&1; " + step.command},
                             .folder = path(""),
                             .environment = environment,
                             .seconds = 240});
    const std::string at = cat(page_, ":", block.line, ": ", step.command);
    EXPECT_EQ(ended.exit_code, 0) << at << "\n" << ended.out;
    if (fits(ended.out, step.output)) return;
    if (update) {
      step.output = ended.out;
    } else {
      EXPECT_EQ(ended.out, step.output) << at << ": run `./dev update` and read the difference";
    }
  }

  std::string page_;
};

// Registers a test for each page with transcripts. Throws std::runtime_error if there are too few.
void add_tests() {
  std::vector<std::string> pages;
  for (const auto& entry : fs::directory_iterator("docs")) {
    if (entry.path().extension() == ".md") pages.push_back(entry.path().string());
  }
  std::sort(pages.begin(), pages.end());
  size_t commands = 0, shown = 0;
  for (const std::string& page : pages) {
    size_t here = 0;
    for (const PageBlock& block : blocks_of(page)) {
      if (block.kind == "console") here += steps_of(page, block).size();
    }
    if (here == 0) continue;
    ++shown;
    commands += here;
    testing::RegisterTest("Transcript", fs::path(page).stem().c_str(), nullptr, nullptr, __FILE__, __LINE__,
                          [page]() -> Cli* { return new TranscriptTest(page); });
  }
  if (shown < kFewestPages || commands < kFewestCommands)
    throw std::runtime_error(cat("docs: only ", commands, " commands on ", shown, " pages"));
}

}  // namespace
}  // namespace relay::tests

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  relay::tests::update = relay::tests::wants_update(argc, argv);
  relay::tests::add_tests();
  return RUN_ALL_TESTS();
}
