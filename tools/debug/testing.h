// For tests: a session over a program that is given as a text.
#pragma once

#include <memory>
#include <stdexcept>
#include <string>

#include "base/diagnostics.h"
#include "ir/text/parser.h"
#include "op/operators.h"
#include "tools/debug/session.h"
#include "typecheck/check.h"

namespace relay::tools::debug {

inline Module module_of(const std::string& text) {
  Diagnostics diagnostics;
  const Result<Module> m = parse("p.relay", text, diagnostics, op::operators(), {});
  const Result<Module> checked = m ? typecheck::check(*m, diagnostics) : Result<Module>(kReported);
  if (!checked) throw std::runtime_error(diagnostics.all().front().message());
  return *checked;
}

inline std::unique_ptr<Session> session_of(const std::string& text, std::vector<Value> args = {},
                                           interp::Options limits = {}) {
  return std::make_unique<Session>(module_of(text), false, "main", std::move(args), std::move(limits));
}

}  // namespace relay::tools::debug
