#include "tests/rules/instances.h"

#include <gtest/gtest.h>
#include <re2/re2.h>

#include "base/cat.h"
#include "base/split.h"
#include "ir/builder.h"
#include "ir/text/literal.h"
#include "ir/text/parser.h"
#include "op/operators.h"
#include "typecheck/check.h"

namespace relay::passes::rules::testing {
namespace {

const std::vector<DType> kSigned = {kInt8, kInt16, kInt32, kInt64},
                         kUnsigned = {kUInt8, kUInt16, kUInt32, kUInt64},
                         kFloats = {kFloat16, kBFloat16, kFloat32, kFloat64};

// `T` becomes the dtype, and `3T` a number of it.
std::string with_dtype(std::string text, DType d) {
  RE2::GlobalReplace(&text, R"((inf|nan|[0-9.])T\b)", cat(R"(\1)", text::suffix_of(d)));
  RE2::GlobalReplace(&text, R"(\bT\b)", d.name());
  return text;
}

}  // namespace

std::vector<DType> dtypes_of(const std::string& words) {
  std::vector<DType> out;
  const auto add = [&](const std::vector<DType>& more) { out.insert(out.end(), more.begin(), more.end()); };
  size_t begin = 0;
  while (begin <= words.size()) {
    const size_t end = std::min(words.find('|', begin), words.size());
    const std::string word = words.substr(begin, end - begin);
    begin = end + 1;
    if (word == "int" || word == "signed" || word == "any") add(kSigned);
    if (word == "int" || word == "unsigned" || word == "any") add(kUnsigned);
    if (word == "float" || word == "any") add(kFloats);
    if (word == "any") add({kBool});
    if (const auto d = DType::parse(word); d) out.push_back(*d);
  }
  EXPECT_FALSE(out.empty()) << "no dtype in `" << words << "`";
  return out;
}

std::vector<Instance> instances_of(const Rule& rule, const Example& example) {
  std::vector<Instance> out;
  for (DType d : dtypes_of(example.dtypes)) {
    const std::string text = cat("def @main", with_dtype(example.program, d));
    Diagnostics diagnostics;
    ParseOptions options;
    const auto errors = [&] { return diagnostics.render(options.into.context().sources()); };
    const Result<Module> parsed = parse(rule.name, text, diagnostics, op::operators(), options);
    if (!parsed) {
      ADD_FAILURE() << rule.name << ": " << text << "\n" << errors();
      continue;
    }
    const Result<Module> typed = typecheck::check(*parsed, diagnostics);
    if (!typed) {
      ADD_FAILURE() << rule.name << ": " << text << "\n" << errors();
      continue;
    }
    out.push_back({&rule, &example, d, text, *typed, typed->function("main")->body});
  }
  return out;
}

std::optional<Module> applied(const Instance& i, bool fold) {
  Application application(i.module, {.bounded = true, .fold = fold});
  const Expr right = application.apply(*i.rule, i.left, [](Expr) { return true; });
  if (!right) return std::nullopt;
  const Fn* main = i.module.function("main");
  Builder b(i.module.context());
  const Fn* fn = b.fn(std::vector<const Var*>(main->params.begin(), main->params.end()), right, main->result);
  Module out = i.module;
  out.set_function("main", b.with_type(fn, main->type)->as<Fn>());
  return out;
}

}  // namespace relay::passes::rules::testing
