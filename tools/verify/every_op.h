// relay verify --every-op: each call of an operator or a kernel in a run by itself, on every
// engine, so that the first one that differs can be named.
//
// Engines fuse, so they have no value for each call of the program. Each call is therefore made a
// program of its own, with the values that the interpreter had for it, and many such calls are
// compiled at once. The reference is the operator's definition in float64, the bound the
// operator's own (docs/semantics.md). A kernel has the bound of a network, a C function none:
// everybody calls the same one.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "driver/row.h"
#include "ir/module.h"
#include "tools/session.h"

namespace relay::tools {

// Calls that compile alike (tools/verify/recorded_calls.h), and how they did.
struct OperatorRow {
  std::string op;     // its name; of a kernel with `@` before it
  std::string value;  // the name of what the first gives (tools/debug/names.h)
  std::string place;  // of the first: "net.relay:3:7"; empty if the value's name stands for it
  std::vector<std::string> arguments;  // types, as a text has them
  std::string result;                  // likewise
  std::string attributes;              // "axis=1, keepdims=True"
  uint64_t evaluated = 0, compared = 0;
  std::vector<driver::VerifyRow> rows;  // one an engine and level

  bool ok() const;
  std::string name() const;  // "`nn.softmax` at net.relay:3:7"
  std::string call() const;  // the same with "(Tensor[(2, 3), float32]) axis=1 -> Tensor[(2, 3), float32]"
};

struct OperatorReport {
  std::vector<OperatorRow> operators;  // in the order in which each was evaluated first
  uint64_t evaluated = 0;              // calls of the run
  std::string stopped;                 // why the interpreter's run ended before its end

  bool ok() const;
};

// `is_listed`: spans point into a list of nodes that an importer made.
OperatorReport verify_every_op(const Module& m, std::string_view function, const std::vector<Value>& args,
                               bool is_listed, const std::vector<driver::EngineAt>& engines,
                               const driver::VerifyOptions& options, const Session& session);

// A line an engine, and in full the first operator that differs.
std::string show(const OperatorReport& report);

}  // namespace relay::tools
