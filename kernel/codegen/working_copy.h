// A kernel as a code generator works on it.
#pragma once

#include <string>
#include <vector>

#include "base/arena.h"
#include "base/symbol.h"
#include "kernel/kernel.h"

namespace relay::kernel::codegen {

// The kernel in a pool of its own, so that code is made of several kernels of a module at once, and
// the code of a kernel follows from the kernel alone. Its body is expanded (expand.h).
class WorkingCopy {
 public:
  // Not of an external kernel. cannot_compile(k) is empty.
  explicit WorkingCopy(const Kernel& k);
  WorkingCopy(const WorkingCopy&) = delete;

  const Kernel& kernel() const { return *kernel_; }
  Stmt body() const { return body_; }
  ExprPool& pool() { return pool_; }
  // What its results mean, see requirements.h.
  const std::vector<std::string>& messages() const { return messages_; }

 private:
  Arena arena_;
  SymbolTable symbols_;
  ExprPool pool_;
  const Kernel* kernel_;
  Stmt body_;
  std::vector<std::string> messages_;
};

// Why there can be no compiled code of the kernel, as a sentence; empty if there can.
std::string cannot_compile(const Kernel& k);

}  // namespace relay::kernel::codegen
