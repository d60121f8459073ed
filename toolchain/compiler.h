// The system's C++ compiler.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "target/host.h"

namespace relay::toolchain {

struct Compiler {
  std::vector<std::string> command;  // a name in PATH or a path, and the arguments that a variable adds
  std::string version;               // its first line of --version
};

// The best one there is: $RELAY_CXX if set, a program and perhaps arguments with blanks between
// them, else clang++-19, clang++, g++. One that was found is not looked for again
// while the variable and PATH stay. Returns what to do if there is none, or an empty text.
[[nodiscard]] std::string find_compiler(Compiler& out);
// The best one for an instruction set. If it is not this process's own: $RELAY_CXX_AARCH64 or
// $RELAY_CXX_X86_64 if set, else aarch64-linux-gnu-g++ or x86_64-linux-gnu-g++.
[[nodiscard]] std::string find_compiler(target::Isa isa, Compiler& out);

// Flags that make it take the system's assembler in the place of one that keeps the bytes of
// `.incbin` in memory twice, if there is another for the instruction set.
std::vector<std::string> frugal_assembler(target::Isa isa, const Compiler& compiler);

struct CompileOptions {
  target::Target target = target::baseline(target::kHere);
  int opt_level = 2;  // of kernels; at 0 and 1 multiplication and addition are not contracted
  std::vector<std::string> compile_flags = {};  // besides those of the target
  std::vector<std::string> link_flags = {};
  std::vector<std::string> along =
      {};                // C (.c) and C++ files of others, by absolute paths, that become part of it
  bool program = false;  // with a main, not a library
  bool archive =
      false;  // a static library: one object, in which all names are local that the sources do not export
  int seconds = 600;  // for one compiler run
  // Outputs of kernels may lie on inputs where they can (kernel/in_place.h).
  bool in_place = false;
};

struct Source {
  std::string name, text;
  std::optional<target::Target> target = {};  // in the place of the options'
  std::vector<std::string> flags = {};        // besides those of the options
  bool of_others = false;                     // it may include headers that are not the compiler's
};

// All targets are of one instruction set, that of the options. Writes the sources into the folder,
// compiles each *.cc (side by side) and links them to `library`, a path, or to a program there.
// Everything is hidden that the sources do not export. Returns an empty text, or what failed: the
// first lines of what the compiler said, the command, and the folder beneath cache_folder() in
// which the sources are kept for who wants to look into it.
[[nodiscard]] std::string build_library(const std::vector<Source>& sources, const CompileOptions& options,
                                        const std::string& folder, const std::string& library);

// A compiler may end without an error and without its file. What is wrong then; empty if
// the file is there.
std::string made_nothing(const std::vector<std::string>& command, const std::string& file);

// Compiles each *.cc as build_library does, and gives the assembler's text of each, in order. Its
// directives `.loc` name the line that an instruction comes from. Returns what failed, or an empty
// text.
[[nodiscard]] std::string assembly_of(const std::vector<Source>& sources, const CompileOptions& options,
                                      std::vector<std::string>& texts);

}  // namespace relay::toolchain
