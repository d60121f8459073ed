// What tests of the `relay` program share: a folder of their own to run it in, and what a
// refusal must be like.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "base/file.h"
#include "tests/support/program.h"

namespace relay::tests {

// The exit codes of docs/command-line.md.
enum Exit { kOk = 0, kMismatch = 1, kUsage = 2, kBadModel = 3, kUnsupported = 4, kLimit = 5, kInternal = 6 };

using Words = std::vector<std::string>;

class Cli : public testing::Test {
 protected:
  void SetUp() override;

  // Runs `relay` with these arguments in the test's folder. `how` adds streams,
  // limits and variables.
  Ended relay(const std::vector<std::string>& arguments, Invocation how = {}) const;

  // The same for what must be refused: with that exit code and a message that has all of the words,
  // nothing but the message said, and no file of the folder added, changed or taken away. Temporary
  // files are gone too.
  Ended refused(const std::vector<std::string>& arguments, Exit code, const Words& words,
                const Invocation& how = {}) const;

  // Must end well; returns what it printed.
  std::string works(const std::vector<std::string>& arguments, const Invocation& how = {}) const;

  // Files of the folder, by names relative to it.
  std::string path(const std::string& name) const { return folder_.path() + "/" + name; }
  void write(const std::string& name, const std::string& text) const;
  std::string read(const std::string& name) const;
  bool exists(const std::string& name) const;
  std::map<std::string, std::string> contents() const;

  // What is kept for later runs is here, and in no cache of the user's.
  const std::string& cache() const { return cache_.path(); }
  const std::string& temporary() const { return temporary_.path(); }

  // A text that adds its two vectors `x` and `y` of three elements.
  void write_sum(const std::string& name) const;

 private:
  TemporaryFolder folder_, temporary_, cache_;
};

// A file of the project, wherever a test runs: "examples/deploy/deploy.c".
std::string of_checkout(const std::string& name);
// The model that ships with the project, and a folder with its input.
std::string mnist();
std::string mnist_inputs();

}  // namespace relay::tests
