// Statements of an expanded body (kernel/codegen/expand.h) as LLVM instructions.
#pragma once

#include <string>
#include <vector>

#include "kernel/codegen/quotients.h"
#include "kernel/codegen/vectors.h"
#include "kernel/codegen/working_copy.h"
#include "kernel/llvm/emit.h"
#include "kernel/llvm/expressions.h"

namespace relay::kernel::llvm {

class Statements {
 public:
  // Instructions go to the end of `function`, whose first argument is the relay_parallel.
  Statements(Surroundings& around, codegen::WorkingCopy& code, const EmitOptions& options)
      : around_(around), make_(around.make), code_(code), options_(options) {}

  // The whole body, up to `return 0`.
  void emit(::llvm::Function* function);

 private:
  void statement(Stmt s);
  void loop(const For& n);
  void serial_loop(const For& n);
  // A loop over [begin, end) around the body of n. `alike`: all iterations run the same
  // instructions.
  void iterate(const For& n, Value* begin, Value* end, bool runs, bool alike = false);
  void parallel_loop(const For& n);
  int64_t iterations_at_once(const For& n) const;
  struct Shared;
  Shared shared_values() const;
  void emit_part(const For& n, const Shared& shared, ::llvm::Function* part);
  void emit_blocks(const For& n, Value* begin, Value* end);
  void emit_range(const Shared& shared, ::llvm::StructType* closure_type, ::llvm::Function* part,
                  ::llvm::Function* range);
  void run_parallel(Value* extent, ::llvm::Function* range, Value* closure);
  void condition(const If& n);
  void require(const Require& n);
  void allocate(const Allocate& n);
  void store(const Store& n);
  void instruction(const Block& n);
  void prefetch(const Prefetch& n);

  Value* stack_slot(Type* type, Value* count, std::string_view name);
  ::llvm::BasicBlock* block(const char* name);
  ::llvm::MDNode* loop_hints(const For& n, ::llvm::MDNode* accesses, bool alike);

  Surroundings& around_;
  Instructions& make_;
  codegen::WorkingCopy& code_;
  const EmitOptions& options_;
  ::llvm::Function* function_ = nullptr;
  codegen::Quotients quotients_ = {nullptr};
  codegen::VectorPlan plan_;
  bool in_parallel_ = false;
  std::vector<Expr> loops_;  // variables of the loops around
};

}  // namespace relay::kernel::llvm
