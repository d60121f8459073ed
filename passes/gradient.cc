// gradient: @main gives its value and the gradients of its parameters.
//
//   def @main(%x: float32) { multiply(%x, %x) }       becomes
//   def @main(%x: float32) { let %t = multiply(%x, %x);
//                            let %d = ones_like(%t);
//                            (%t, (add(multiply(%d, %x), multiply(%d, %x)),)) }
//
// A function fn(T...) -> R becomes fn(T...) -> (R, (T...)). What is differentiated is the sum of
// all floats of the result; integers and booleans have the gradient zero. `wrt` may list some of
// the parameters, by number or name: "gradient{wrt=w+3}". The others are constants, which may be of
// data types. docs/gradients.md.
//
// Before: @main and what it calls have gradients; else the pass says what has none. After: @main
// gives a tuple of its value and of the gradients.

#include <algorithm>
#include <charconv>
#include <set>

#include "base/cat.h"
#include "base/counted.h"
#include "base/nearest.h"
#include "passes/gradient/augment.h"
#include "passes/gradient/checkpoints.h"
#include "passes/gradient/local_functions.h"
#include "passes/gradient/prepare.h"
#include "passes/gradient/straight.h"
#include "passes/lists.h"
#include "passes/pass.h"

namespace relay::passes {
namespace {

// The places of the parameters that `wrt` lists, by numbers from 1 or by names; none for each.
// Nothing after an error.
Result<std::set<size_t>> wanted_parameters(const Fn* main, const PassContext& pass) {
  const auto refuse = [&](std::string_view item) -> Diagnostic& {
    return pass.diagnostics.error(main->span, "bad-pipeline",
                                  cat("parameter `wrt` of pass `gradient` is ", item, "; `@main` has ",
                                      counted(main->params.size(), "parameter")));
  };
  const std::vector<std::string> names = names_of(main->params, [](const Var* p) { return p->name.str(); });
  const std::vector<std::string> items = list_of(pass.values, "wrt");
  std::set<size_t> out;
  if (items == std::vector<std::string>{"0"}) return out;
  for (const std::string& item : items) {
    const auto found = std::find(names.begin(), names.end(), item);
    uint32_t number = 0;
    const auto [end, error] = std::from_chars(item.data(), item.data() + item.size(), number);
    if (error == std::errc() && end == item.data() + item.size()) {
      if (number == 0 || number > names.size()) {
        refuse(item);
        return kReported;
      }
      if (found != names.end() && found != names.begin() + (number - 1)) {
        refuse(cat(item, ", the number of one parameter and the name of another"));
        return kReported;
      }
      out.insert(number - 1);
      continue;
    }
    if (found == names.end()) {
      suggest(refuse(cat("`", item, "`")), item, names);
      return kReported;
    }
    out.insert(static_cast<size_t>(found - names.begin()));
  }
  return out;
}

Module run(const Module& m, const PassContext& pass) {
  const Fn* main = m.function("main");
  if (!main) return m;
  const Result<std::set<size_t>> parameters = wanted_parameters(main, pass);
  if (!parameters) return m;
  gradient::Wanted wanted;
  wanted.value = pass.value("value") != 0;
  wanted.parameters = *parameters;
  const Result<Module> known = gradient::prepared(m, pass);
  if (!known) return m;
  const Module lifted = gradient::with_local_functions_lifted(*known, {wanted}, pass);
  const Result<Module> now = gradient::with_checkpoints(lifted, pass.diagnostics);
  if (!now) return m;
  const gradient::Program program(*now, wanted, pass.diagnostics);
  if (!program.is_differentiable()) return m;
  return gradient::with_former_root(program.is_straight() ? gradient::differentiate_straight(program)
                                                          : gradient::differentiate_any(program),
                                    program);
}

}  // namespace

const Pass kGradient = {
    .name = "gradient",
    .doc = "make @main give the gradients of its parameters, too",
    .parameters = {{"wrt", 0, "whose gradients are wanted: numbers from 1 or names, as w+2; 0: of each", 0,
                    kList},
                   {"value", 1, "1: with the value of @main; 0: the gradients alone", 0, 1}},
    .approximates = true,  // the result means something else: it is compared with none before
    .run = run,
};

}  // namespace relay::passes
