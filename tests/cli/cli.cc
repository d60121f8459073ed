#include "tests/cli/cli.h"

#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace relay::tests {
namespace {

namespace fs = std::filesystem;

// Enough of a file to see that it changed; some are sparse and larger than any memory.
constexpr uintmax_t kMostCompared = 1 << 20;

std::string read_whole(const fs::path& p) {
  std::ostringstream out;
  out << std::ifstream(p, std::ios::binary).rdbuf();
  return out.str();
}

std::string command_line(const std::vector<std::string>& arguments) {
  std::string out = "relay";
  for (const std::string& a : arguments) out += " " + a;
  return out;
}

}  // namespace

// Programs run elsewhere, so what belongs to the checkout needs its whole path.
std::string of_checkout(const std::string& name) {
  static const fs::path root = fs::current_path();
  return (root / name).string();
}

std::string mnist() { return of_checkout("examples/models/mnist_8/model.onnx"); }
std::string mnist_inputs() { return of_checkout("examples/models/mnist_8/inputs"); }

void Cli::SetUp() {
  of_checkout("");  // before any test leaves the folder that the tests start in
  ASSERT_EQ(folder_.make(), "");
  ASSERT_EQ(temporary_.make(), "");
  ASSERT_EQ(cache_.make(), "");
}

Ended Cli::relay(const std::vector<std::string>& arguments, Invocation how) const {
  how.command = {of_checkout("tools/relay")};
  how.command.insert(how.command.end(), arguments.begin(), arguments.end());
  how.folder = folder_.path();
  how.environment.emplace("TMPDIR", temporary_.path());
  how.environment.emplace("XDG_CACHE_HOME", cache_.path());
  return run(how);
}

Ended Cli::refused(const std::vector<std::string>& arguments, Exit code, const Words& words,
                   const Invocation& how) const {
  EXPECT_FALSE(words.empty()) << "a refusal says something";
  const auto before = contents();
  const Ended ended = relay(arguments, how);
  const std::string line = command_line(arguments);
  EXPECT_EQ(ended.signal, 0) << line << ": " << strsignal(ended.signal) << "\n" << ended.err;
  EXPECT_EQ(ended.exit_code, code) << line << "\n" << ended.err;
  // A run that fails in the end, or whose result cannot be kept, may have said something before.
  if (code != kMismatch && code != kLimit) {
    EXPECT_EQ(ended.out, "") << line;
  }
  for (const std::string& word : words)
    EXPECT_NE(ended.err.find(word), std::string::npos) << line << ": no \"" << word << "\" in:\n"
                                                       << ended.err;
  EXPECT_EQ(contents(), before) << line;
  EXPECT_TRUE(fs::is_empty(temporary_.path())) << line << ": temporary files are left";
  return ended;
}

std::string Cli::works(const std::vector<std::string>& arguments, const Invocation& how) const {
  const Ended ended = relay(arguments, how);
  EXPECT_EQ(ended.exit_code, kOk) << command_line(arguments) << "\n" << ended.err;
  EXPECT_TRUE(fs::is_empty(temporary_.path())) << command_line(arguments) << ": temporary files are left";
  return ended.out;
}

void Cli::write(const std::string& name, const std::string& text) const {
  std::ofstream(path(name), std::ios::binary) << text;
}

std::string Cli::read(const std::string& name) const { return read_whole(path(name)); }

bool Cli::exists(const std::string& name) const { return fs::exists(fs::symlink_status(path(name))); }

std::map<std::string, std::string> Cli::contents() const {
  std::map<std::string, std::string> out;
  for (const auto& entry : fs::recursive_directory_iterator(folder_.path())) {
    const std::string name = entry.path().lexically_relative(folder_.path()).string();
    if (entry.is_symlink()) {
      out[name] = "link to " + fs::read_symlink(entry.path()).string();
    } else if (!entry.is_regular_file()) {
      out[name] = "no file";
    } else if (entry.file_size() > kMostCompared) {
      out[name] = std::to_string(entry.file_size()) + " bytes";
    } else {
      out[name] = read_whole(entry.path());
    }
  }
  return out;
}

void Cli::write_sum(const std::string& name) const {
  write(name, "def @main(%x: Tensor[(3), float32], %y: Tensor[(3), float32]) { add(%x, %y) }\n");
}

}  // namespace relay::tests
