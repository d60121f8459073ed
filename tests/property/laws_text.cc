// Laws about texts and copies.
#include <algorithm>

#include "base/cat.h"
#include "ir/analysis.h"
#include "ir/rewrite.h"
#include "ir/text/parser.h"
#include "op/operators.h"
#include "passes/runner.h"
#include "tests/property/law_list.h"
#include "tests/property/run.h"

namespace relay::property {
namespace {

std::string broken_round_trip(const Module& m, Module& out) {
  const std::string text = text_of(m);
  std::string wrong;
  Result<Module> read = read_back(text, wrong);
  if (!read) return cat("the printed text does not parse: ", wrong, text);
  if (!alpha_equal(m, *read))
    return cat("the text means another program:\n", text, "which is read as:\n", text_of(*read));
  if (const std::string again = text_of(*read); again != text)
    return cat("printed, read and printed again:\n", again, "instead of:\n", text);
  out = *read;
  return {};
}

// Constants in a side file, everything in bindings of its own: other layouts of the same program.
std::string broken_layouts(const Module& m) {
  for (const uint32_t most_inline : {0u, 100u}) {
    std::map<std::string, Tensor> constants;
    PrintOptions print;
    print.constants = &constants;
    print.most_elements = 1;
    print.most_inline = most_inline;
    const std::string text = op::text_of(m, print);
    ParseOptions options;
    options.constants = [&](std::string_view name) -> std::optional<Tensor> {
      auto it = constants.find(std::string(name));
      return it == constants.end() ? std::nullopt : std::optional(it->second);
    };
    Diagnostics diagnostics;
    Result<Module> read = parse("printed.relay", text, diagnostics, op::operators(), options);
    if (!read)
      return cat("the printed text does not parse: ", diagnostics.render(options.into.context().sources()),
                 text);
    // The names of constants are part of the program, and were not there before: it is the texts
    // that are compared.
    std::map<std::string, Tensor> again;
    print.constants = &again;
    if (const std::string second = op::text_of(*read, print); second != text)
      return cat("another text at the second time:\n", second, "instead of:\n", text);
    const auto alike = [](const auto& a, const auto& b) {
      return a.first == b.first && identical(a.second, b.second);
    };
    if (!std::equal(constants.begin(), constants.end(), again.begin(), again.end(), alike))
      return cat("other constants at the second time, of the text:\n", text);
  }
  return {};
}

}  // namespace

std::string broken_text(const Program& p, ByteSource, Tally&) {
  Module read;
  if (std::string wrong = broken_round_trip(p.module, read); !wrong.empty()) return wrong;
  if (std::string wrong = broken_layouts(p.module); !wrong.empty()) return wrong;
  std::string wrong;
  Result<Module> here = checked(p.module, wrong), there = checked(read, wrong);
  if (!here || !there) return cat("only one of the program and its text type checks: ", wrong);
  for (const auto& [name, fn] : here->functions()) {
    const Fn* other = there->function(name.text());
    if (!other || !alpha_equal(fn->type, other->type))
      return cat("@", name.text(), " has the type ", show(fn->type), ", and read from its text ",
                 show(other->type));
  }
  Module typed;
  if (wrong = broken_round_trip(*here, typed); !wrong.empty()) return cat("after the type check, ", wrong);
  return difference(interpret(*there, p.args), interpret(*here, p.args));
}

std::string broken_determinism(const Program& p, ByteSource choices, Tally&) {
  std::string texts[2];
  const passes::Pipeline pipeline = passes::default_pipeline(static_cast<int>(choices.below(3)));
  const std::string source = text_of(p.module);
  for (std::string& text : texts) {
    std::string wrong;
    Result<Module> read = read_back(source, wrong);
    if (!read) return cat("the printed text does not parse: ", wrong, source);
    Diagnostics diagnostics;
    Result<Module> done = passes::run_pipeline(*read, pipeline, {}, diagnostics);
    text = done ? op::text_of(*done, {.types = true}) : diagnostics.render(read->context().sources());
  }
  return texts[0] == texts[1] ? std::string() : cat(texts[0], "and at the second time:\n", texts[1]);
}

std::string broken_copies(const Program& p, ByteSource, Tally&) {
  std::string wrong;
  Result<Module> m = checked(p.module, wrong);
  if (!m) return wrong;
  const Module copy = compact(*m);
  if (!alpha_equal(*m, copy)) return cat("compact made another program:\n", text_of(copy));
  if (text_of(*m) != text_of(copy)) return cat("compact made a program with another text:\n", text_of(copy));
  if (const auto problems = well_formed(copy); !problems.empty())
    return cat("the compact copy: ", problems[0]);
  for (const auto& [name, fn] : m->functions()) {
    if (structural_hash(fn) != structural_hash(copy.function(name.text())))
      return cat("@", name.text(), " and its copy hash differently");
    const Expr fresh = refresh(m->context(), fn);
    if (!alpha_equal(fn, fresh)) return cat("refresh made another function of @", name.text());
    if (structural_hash(fn) != structural_hash(fresh))
      return cat("@", name.text(), " and its refreshed copy hash differently");
    if (rewrite(m->context(), fn, [](relay::Builder&, Expr e) { return e; }) != fn)
      return cat("a rewrite that changes nothing made another @", name.text());
  }
  Result<Module> again = checked(copy, wrong);
  if (!again) return cat("the compact copy does not type check: ", wrong);
  return difference(interpret(*again, p.args), interpret(*m, p.args));
}

}  // namespace relay::property
