// Every program up to a size: Relay's checker against the types that are written down in terms.cc,
// and printer, parser, interpreter and passes against its values. `--size N` goes further.
#include <gtest/gtest.h>

#include <charconv>
#include <map>

#include "base/cat.h"
#include "interp/machine.h"
#include "ir/analysis.h"
#include "ir/builder.h"
#include "ir/text/parser.h"
#include "op/operators.h"
#include "op/ops.h"
#include "passes/runner.h"
#include "tests/exhaustive/terms.h"
#include "typecheck/check.h"

namespace relay::exhaustive {
namespace {

uint32_t largest = 6;

class Maker {
 public:
  Module run(const Term& t) {
    const Var* x = variable(0);
    module_.set_function("main", b_.fn(std::vector<const Var*>{x}, expr(t)));
    return module_;
  }

 private:
  const Var* variable(uint32_t number, Type t) {
    variables_[number] = b_.var(cat("x", number), t);
    return variables_[number];
  }
  const Var* variable(uint32_t number) { return variable(number, module_.context().scalar_type(kFloat32)); }

  // Terms are small: this recurses.
  Expr expr(const Term& t) {
    const auto part = [&](size_t i) { return expr(*t.parts[i]); };
    switch (t.form) {
      case Form::kOne: return b_.scalar(kFloat32, 1);
      case Form::kTrue: return b_.scalar(kBool, 1);
      case Form::kVar: return variables_.at(t.variable);
      case Form::kNegative: return b_.call(b_.op(op::kNegative), {part(0)});
      case Form::kFirst: return b_.proj(part(0), 0);
      case Form::kFn: {
        const Var* x = variable(t.variable);
        return b_.fn(std::vector<const Var*>{x}, part(0));
      }
      case Form::kAdd: {
        Expr a = part(0);
        return b_.call(b_.op(op::kAdd), {a, part(1)});
      }
      case Form::kPair: {
        Expr a = part(0);
        return b_.tuple({a, part(1)});
      }
      case Form::kLet: {
        Expr a = part(0);
        const Var* x = variable(t.variable, nullptr);
        return b_.let(x, a, part(1));
      }
      case Form::kCall: {
        Expr f = part(0);
        return b_.call(f, {part(1)});
      }
      case Form::kIf: {
        Expr a = part(0);
        Expr b = part(1);
        return b_.if_(a, b, part(2));
      }
    }
    return nullptr;
  }

  Module module_;
  Builder b_{module_.context()};
  std::map<uint32_t, const Var*> variables_;
};

std::string show(const Value& v) {
  if (v.kind() == ValueKind::kClosure) return "function";
  if (v.kind() == ValueKind::kTuple) return cat("(", show(v.fields()[0]), ", ", show(v.fields()[1]), ")");
  const double x = v.tensor().get(0);
  if (v.tensor().dtype().is_bool()) return x != 0 ? "True" : "False";
  return std::to_string(static_cast<int>(x));
}

std::string run(const Module& m) {
  return show(interp::Machine(m).call("main", {Value(Tensor::scalar(kFloat32, 2))}));
}

// What is wrong with how Relay understands the term; `typed` says whether it has a type.
std::string broken(const Term& t, bool& typed) {
  const Module m = Maker().run(t);
  const std::optional<std::string> type = type_of(t);
  typed = type.has_value();
  Diagnostics diagnostics;
  Result<Module> checked = typecheck::check(m, diagnostics);
  if (checked.ok() != typed)
    return typed ? diagnostics.render(m.context().sources()) : "it should be refused";
  const std::string text = op::text_of(m);
  const ParseOptions options;
  Result<Module> read = parse("printed.relay", text, diagnostics, op::operators(), options);
  if (!read) return "its text does not parse";
  if (!alpha_equal(*read, m)) return "its text means another program";
  if (op::text_of(*read) != text) return "its text prints as another";
  if (!typed) return {};
  const std::string found = show(checked->function("main")->type->as<FnType>()->result);
  if (found != *type) return cat("its type is ", *type, ", not ", found);
  const std::string value = value_of(t, 2);
  if (const std::string got = run(*checked); got != value) return cat("it gives ", value, ", not ", got);
  Result<Module> again = typecheck::check(*read, diagnostics);
  if (!again || run(*again) != value) return "its text gives another value";
  Result<Module> passed = passes::run_pipeline(*checked, passes::default_pipeline(2), {}, diagnostics);
  if (!passed) return diagnostics.render(m.context().sources());
  if (const std::string got = run(*passed); got != value)
    return cat("after the passes it gives ", got, ", not ", value, "\n", op::text_of(*passed));
  return {};
}

// How many terms there are and how many have a type, by size: asserted, so that the enumeration
// cannot shrink unnoticed.
struct Count {
  uint64_t terms, typed;
};
const std::vector<Count> kCounts = {{3, 3}, {10, 6}, {72, 35}, {540, 185}, {4575, 1101}, {41106, 7149}};

TEST(Exhaustive, EveryTermIsUnderstood) {
  Terms terms;
  for (uint32_t size = 1; size <= largest; ++size) {
    Count count{0, 0};
    for (const Term* t : terms.of_size(size)) {
      bool typed = false;
      const std::string wrong = broken(*t, typed);
      ASSERT_EQ(wrong, "") << op::text_of(Maker().run(*t));
      ++count.terms;
      count.typed += typed;
    }
    std::printf("size %u: %llu terms, %llu with a type\n", size, static_cast<unsigned long long>(count.terms),
                static_cast<unsigned long long>(count.typed));
    const Count expected = size <= kCounts.size() ? kCounts[size - 1] : Count{0, 0};
    EXPECT_EQ(count.terms, expected.terms) << "of size " << size;
    EXPECT_EQ(count.typed, expected.typed) << "of size " << size;
  }
}

}  // namespace
}  // namespace relay::exhaustive

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (argc == 3 && std::string_view(argv[1]) == "--size") {
    const std::string_view number = argv[2];
    std::from_chars(number.data(), number.data() + number.size(), relay::exhaustive::largest);
  }
  return RUN_ALL_TESTS();
}
