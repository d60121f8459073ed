// Statements of an expanded body (kernel/codegen/expand.h) as text of a C-like language.
#pragma once

#include <string>
#include <vector>

#include "kernel/codegen/quotients.h"
#include "kernel/codegen/vectors.h"
#include "kernel/codegen/working_copy.h"
#include "kernel/print/context.h"
#include "kernel/print/grid.h"
#include "kernel/print/print.h"

namespace relay::kernel::print {

// A parameter of a kernel's function, and of the functions that its parallel loops become.
struct Parameter {
  std::string declared;  // "const float* __restrict "
  std::string type;      // the same without restriction, for a field: "const float*"
  std::string name;
};

class Statements {
 public:
  Statements(Context& context, codegen::WorkingCopy& code, std::string function,
             const std::vector<Parameter>& parameters, const PrintOptions& options)
      : context_(context),
        code_(code),
        function_(std::move(function)),
        parameters_(parameters),
        options_(options) {}

  // Prints to context.out. What was found out about grids is in `launch_extents`.
  void print(Stmt body);
  // Has something been printed that may fail?
  bool may_fail() const { return may_fail_; }

  Writer before = Writer(0);  // functions that the statements call
  std::vector<Expr> launch_extents =
      std::vector<Expr>(kGridIndices);  // of the statements printed last; null: 1

 private:
  void statement(Stmt s);
  void loop(const For& n);
  void body_of(const For& n);
  void serial_loop(const For& n, std::string_view hint);
  void parallel_loop(const For& n);
  void grid_loop(const For& n);
  void sequence(const Seq& n);
  bool whole_warps() const;
  void warp_join(const WarpJoin& join);
  bool copy_loop(const For& n);  // false: it is none
  void store(const Store& n);
  void instruction(const Block& n);
  void condition(const If& n);
  void require(const Require& n);
  void prefetch(const Prefetch& n);
  void allocate(const Allocate& n);
  std::string bind(Expr var);

  bool crosses_threads()
      const;  // statements here are run by all threads of a block, not by one iteration each
  std::string only_first_thread() const;

  Context& context_;
  codegen::WorkingCopy& code_;
  std::string function_;
  const std::vector<Parameter>& parameters_;
  const PrintOptions& options_;
  codegen::Quotients quotients_ = {nullptr};
  codegen::VectorPlan plan_;
  bool may_fail_ = false;
  bool in_parallel_ = false;
  int parallel_loops_ = 0;
  std::vector<bool> bound_ = std::vector<bool>(kGridIndices);  // grid indices of the loops around
  struct Local {  // an array around a parallel loop, which its threads share
    std::string type, name;
  };
  std::vector<Local> locals_;
  std::vector<Expr> loops_;  // variables of the loops around, as far as they are variables of the text
};

}  // namespace relay::kernel::print
