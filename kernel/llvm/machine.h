// LLVM's optimiser, code generator and linker, behind a header that names none of their types.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "kernel/kernel.h"
#include "toolchain/compiler.h"

namespace relay::kernel::llvm {

// A kernel as instructions, before LLVM has worked on it.
class Emitted {
 public:
  Emitted();
  Emitted(Emitted&&) noexcept;
  ~Emitted();

  // The exported function is called `entry`. Returns what this code generator cannot do, or an
  // empty text.
  [[nodiscard]] std::string make(const Kernel& k, const std::string& entry,
                                 const toolchain::CompileOptions& options);
  std::string text() const;  // LLVM's own notation

  // Optimises and generates code: the bytes of an object file. For several threads,
  // each with its own.
  [[nodiscard]] std::string compile(const toolchain::CompileOptions& options, std::string& object);

 private:
  struct Module;
  std::unique_ptr<Module> module_;
};

// What the same instructions may become different code with: LLVM's version, and the
// passes that run.
std::string code_generator_version();

// Object files in this process.
class Linked {
 public:
  Linked();
  ~Linked();

  // Returns what went wrong, or an empty text.
  [[nodiscard]] std::string start();
  [[nodiscard]] std::string add(const std::string& object, const std::string& name);
  [[nodiscard]] std::string find(const std::string& symbol, void*& address);

 private:
  struct Session;
  std::unique_ptr<Session> session_;
};

}  // namespace relay::kernel::llvm
