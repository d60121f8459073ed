// The system's C++ compiler, and the processor features it is asked to use.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace relay::kernel::native {

struct Target {
  std::string name;                   // as the user gave it: "avx2", "native"
  std::vector<std::string> flags;     // for the compiler: "-mavx2"
  std::vector<std::string> features;  // as __builtin_cpu_supports knows them; what the code needs to run
  int vector_floats = 4;              // floats in a vector register
  std::string machine = {};           // another one than this: "aarch64"
};

// "native" (what this processor has), "sse2", "avx2", "avx512", "avx512-vnni", "avx512-bf16"
// (each has what those before it have), with or without "cpu:" before it. Returns what is wrong,
// or an empty text.
[[nodiscard]] std::string parse_target(const std::string& text, Target& out);
std::vector<std::string> target_names();
// The same, and other machines, for code that runs elsewhere: "aarch64".
[[nodiscard]] std::string parse_foreign_target(const std::string& text, Target& out);
std::vector<std::string> foreign_target_names();
// The first of the target's features that this processor lacks; empty if its code runs here.
std::string missing_feature(const Target& target);
// Says so if there is one: code that the processor does not know ends the process when it runs.
[[nodiscard]] std::string cannot_run(const Target& target);

struct Compiler {
  std::vector<std::string> command;  // a name in PATH or a path, and the arguments that a variable adds
  std::string version;               // its first line of --version
};

// The best one there is: $RELAY_CXX if set, a program and perhaps arguments with blanks between
// them, else clang++-19, clang++, g++. Looked for once. Returns what to do if there is
// none, or an empty text.
[[nodiscard]] std::string find_compiler(Compiler& out);
// For another machine: $RELAY_CXX_AARCH64 if set, else aarch64-linux-gnu-g++.
[[nodiscard]] std::string find_compiler(const Target& target, Compiler& out);

struct CompileOptions {
  Target target;
  int opt_level = 2;  // of kernels; at 0 and 1 multiplication and addition are not contracted
  std::vector<std::string> link_flags = {};
  std::vector<std::string> along =
      {};                // C (.c) and C++ files of others, by absolute paths, that become part of it
  bool program = false;  // with a main, not a library
  bool archive =
      false;  // a static library: one object, in which all names are local that the sources do not export
  int seconds = 600;  // for one compiler run
};

struct Source {
  std::string name, text;
  std::optional<Target> target = {};  // in the place of the options'
};

// All targets are of one machine, that of the options. Writes the sources into the folder, compiles
// each *.cc (side by side) and links them to `library`, a path, or to a program there. Everything
// is hidden that the sources do not export. Returns an empty text, or what failed: the first lines
// of what the compiler said, the command, and the folder beneath cache_folder() in which the
// sources are kept for who wants to look into it.
[[nodiscard]] std::string build_library(const std::vector<Source>& sources, const CompileOptions& options,
                                        const std::string& folder, const std::string& library);

// Compiles each *.cc as build_library does, and gives the assembler's text of each, in order. Its
// directives `.loc` name the line that an instruction comes from. Returns what failed, or an empty
// text.
[[nodiscard]] std::string assembly_of(const std::vector<Source>& sources, const CompileOptions& options,
                                      std::vector<std::string>& texts);

// A library in this process, unloaded at the end of the scope.
class Library {
 public:
  Library() = default;
  ~Library();
  Library(Library&& other) noexcept : handle_(other.handle_) { other.handle_ = nullptr; }
  Library& operator=(Library&& other) noexcept;

  [[nodiscard]] std::string open(const std::string& path);
  void* find(const std::string& symbol) const;  // null if there is none

 private:
  void* handle_ = nullptr;
};

}  // namespace relay::kernel::native
