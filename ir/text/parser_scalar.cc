// The scalar expressions of kernels. Every dtype is checked before an expression is made.
#include <algorithm>

#include "base/cat.h"
#include "base/counted.h"
#include "ir/text/kernel_reader.h"
#include "ir/text/kernel_words.h"
#include "kernel/limits.h"

namespace relay::text {
namespace {

using kernel::Buffer;
using kernel::Expr;
using kernel::ExprKind;

constexpr size_t kDeepestExpr = 100;
// Building sums takes time quadratic in their length.
constexpr size_t kMostOperators = 1024;  // of one expression
// What is done to a kernel makes its expressions deeper, and they stay within the limit.
constexpr size_t kHighest = kernel::kDeepestExpr / 2;
// Steps of canonical sums in one kernel.
constexpr size_t kMostSteps = 2'000'000;

}  // namespace

Expr KernelReader::whole() {
  operators_ = 0;
  p_.lexer_.set_arithmetic(true);
  const Expr e = binary(1, 0);
  p_.lexer_.set_arithmetic(false);
  return e;
}

Expr KernelReader::index() {
  const Span span = p_.peek().span;
  const Expr e = whole();
  if (!e || e->dtype == kInt64) return e;
  not_an_index(span, e->dtype);
  return {};
}

Expr KernelReader::condition() {
  const Span span = p_.peek().span;
  const Expr e = whole();
  if (!e || e->dtype == kBool) return e;
  p_.error(p_.here_from(span.begin), "condition-not-bool",
           cat("a condition is a bool, and this is `", e->dtype.name(), "`"))
      .note("a comparison, like `x != 0`, gives a bool");
  return {};
}

bool KernelReader::not_an_index(Span begin, DType dtype) {
  p_.error(p_.here_from(begin.begin), "index-not-int64",
           cat("extents and indices are int64, and this is `", dtype.name(), "`"))
      .note("`int64(...)` converts; numbers without a suffix are int64");
  return false;
}

namespace {
int precedence(const Token& t) {
  if (t.kind != TokenKind::kPunctuation) return 0;
  const std::string_view op = t.text;
  if (op == "||") return 1;
  if (op == "&&") return 2;
  if (op == "==" || op == "!=" || op == "<" || op == "<=" || op == ">" || op == ">=") return 3;
  if (op == "+" || op == "-") return 4;
  if (op == "*" || op == "/" || op == "//" || op == "%") return 5;
  return 0;
}
}  // namespace

Expr KernelReader::binary(int least, size_t depth) {
  const uint32_t begin = p_.peek().span.begin;
  Expr left = unary(depth);
  while (left) {
    const int level = precedence(p_.peek());
    if (level == 0 || level < least) return left;
    const Token op = p_.next();
    const Expr right = binary(level + 1, depth);
    if (!right) return {};
    left = operation(op.text, left, right, p_.here_from(begin));
  }
  return {};
}

// Refuses what is too high or has too many operators.
Expr KernelReader::sized(Expr e, std::initializer_list<Expr> parts, Span span) {
  size_t highest = 0;
  for (Expr part : parts) highest = std::max(highest, height(part));
  if (++operators_ > kMostOperators || highest >= kHighest) {
    p_.error(span, "expression-too-complex",
             cat("this has more than ", kMostOperators, " operators, or they are nested more than ", kHighest,
                 " deep"))
        .note("write a part of it to a buffer of its own first");
    return {};
  }
  if (!e->args.empty()) heights_.emplace(e.get(), highest + 1);
  return e;
}

Expr KernelReader::operation(std::string_view op, Expr a, Expr b, Span span) {
  if (a->dtype != b->dtype) {
    p_.error(span, "operand-dtypes-differ",
             cat("the operands of `", op, "` differ: `", a->dtype.name(), "` and `", b->dtype.name(), "`"))
        .note(cat("nothing is converted by itself; `", a->dtype.name(), "(...)` does so"));
    return {};
  }
  const DType d = a->dtype;
  const bool logical = op == "||" || op == "&&", division = op == "//" || op == "%";
  const bool integers = division || op.starts_with("trunc_") || op.starts_with("shift_");
  const bool bits = op.starts_with("bit_"), extents = op == "broadcast";
  const bool compares = op == "==" || op == "!=";
  const bool fits = logical     ? d.is_bool()
                    : op == "/" ? d.is_float()
                    : integers  ? d.is_int()
                    : extents   ? d == kInt64
                    : bits      ? d.is_int() || d.is_bool()
                                : compares || !d.is_bool();
  if (!fits) {
    Diagnostic& wrong =
        p_.error(span, "wrong-operand-dtype", cat("`", op, "` does not take `", d.name(), "`"));
    if (op == "/") wrong.note("integers are divided by `//` and `trunc_div`");
    return {};
  }
  if ((division || op.starts_with("trunc_")) && b->kind == ExprKind::kInt && b->int_value == 0) {
    fail(span, "division-by-zero", "this divides by zero");
    return {};
  }
  Expr e;
  if (op == "||") e = logical_or(a, b);
  if (op == "&&") e = logical_and(a, b);
  if (op == "==") e = equal(a, b);
  if (op == "!=") e = not_equal(a, b);
  if (op == "<") e = less(a, b);
  if (op == "<=") e = less_equal(a, b);
  if (op == ">") e = less(b, a);
  if (op == ">=") e = less_equal(b, a);
  if (op == "+") e = a + b;
  if (op == "-") e = a - b;
  if (op == "*") e = a * b;
  if (op == "/") e = a / b;
  if (op == "//") e = floor_div(a, b);
  if (op == "%") e = floor_mod(a, b);
  for (const FunctionWord& w : kFunctionWords) {
    if (w.word == op) e = pool_.make(w.kind, d, {a, b});
  }
  // A sum of indices is one flat node.
  const bool flat = d == kInt64 && (op == "+" || op == "-");
  if (d == kInt64) steps_ += e->args.size() + 1;
  if (steps_ > kMostSteps) {
    return fail(span, "expression-too-complex", "the index arithmetic of this kernel takes too many steps"),
           Expr();
  }
  if (!flat) return sized(e, {a, b}, span);
  if (!sized(e, {}, span)) return {};
  heights_[e.get()] = std::max(height(a), height(b) + 1);
  return e;
}

Expr KernelReader::unary(size_t depth) {
  const Token t = p_.peek();
  if (depth > kDeepestExpr) {
    fail(t.span, "nesting-too-deep", cat("expressions are nested more than ", kDeepestExpr, " deep here"));
    return {};
  }
  if (t.is("!")) {
    p_.next();
    const Expr e = unary(depth + 1);
    if (!e) return {};
    if (!e->dtype.is_bool())
      return fail(t.span, "wrong-operand-dtype", cat("`!` does not take `", e->dtype.name(), "`")), Expr();
    return sized(logical_not(e), {e}, t.span);
  }
  if (t.is("-")) {
    p_.next();
    if (p_.peek().kind == TokenKind::kNumber) return number(true, t.span.begin);
    if (p_.peek().kind == TokenKind::kName && !p_.peek().quoted) {
      const std::optional<Number> n = split_number(p_.peek().text, true);
      if (n && dtype_of_suffix(n->suffix)) return number(true, t.span.begin);
    }
    const Expr e = unary(depth + 1);
    if (!e) return {};
    if (e->dtype.is_bool()) return fail(t.span, "wrong-operand-dtype", "`-` does not take `bool`"), Expr();
    return sized(-e, {e}, t.span);
  }
  return primary(depth);
}

Expr KernelReader::primary(size_t depth) {
  const Token t = p_.peek();
  if (t.kind == TokenKind::kNumber) return number(false, t.span.begin);
  if (t.is("(")) {
    p_.next();
    const Expr e = binary(1, depth + 1);
    return e && ended(")", "after an expression in parentheses") ? e : Expr();
  }
  if (t.kind != TokenKind::kName) {
    p_.expected("a scalar expression", "expected-expression");
    return {};
  }
  p_.next();
  if (p_.peek().is("[")) return load(t, depth);
  if (p_.peek().is("(") && !t.quoted) return call(t, depth);
  if (t.is_word("True") || t.is_word("False")) return pool_.integer(t.text == "True", kBool);
  if (!t.quoted) {
    const std::optional<Number> n = split_number(t.text, false);
    if (const std::optional<DType> d = n ? dtype_of_suffix(n->suffix) : std::nullopt; d && d->is_float()) {
      return pool_.real(*to_double(*n), *d);
    }
  }
  const std::string name = t.name();
  if (const auto it = values_.find(name); it != values_.end()) return it->second;
  if (in_shapes_) {
    const Expr v = pool_.shape_variable(name);
    values_.emplace(name, v);  // for the whole kernel
    return v;
  }
  p_.suggest(p_.error(t.span, "unknown-variable", cat("there is no variable `", name, "` here")), name, "",
             [&] {
               std::vector<std::string> names;
               for (const auto& [known, value] : values_) names.push_back(known);
               std::sort(names.begin(), names.end());
               return names;
             });
  return {};
}

// 5 is an int64; other dtypes have suffixes.
Expr KernelReader::number(bool negative, uint32_t begin) {
  const Token t = p_.next();
  const Span span = p_.here_from(begin);
  const std::optional<Number> n = split_number(t.text, negative);
  const std::optional<DType> suffix = n ? dtype_of_suffix(n->suffix) : std::nullopt;
  if (!n || n->hex || (!n->suffix.empty() && !suffix)) {
    return fail(span, n && !n->hex ? Slug("unknown-suffix") : Slug("malformed-number"),
                cat("`", t.text, "` is not a number")),
           Expr();
  }
  if (!suffix && n->floating) {
    return fail(span, "missing-suffix",
                cat("`", t.text, "` needs a suffix that says which floating dtype it has")),
           Expr();
  }
  const DType d = suffix.value_or(kInt64);
  if (d.is_float()) {
    const std::optional<double> value = to_double(*n);
    if (value) return pool_.real(*value, d);
    return fail(span, "literal-out-of-range", cat("`", t.text, "` does not fit `", d.name(), "`")), Expr();
  }
  Tensor one(d, {});
  if (const auto wrong = store_number(*n, one, 0)) return fail(span, wrong->slug, wrong->message), Expr();
  return pool_.integer(one.get_int(0), d);
}

Expr KernelReader::load(const Token& name, size_t depth) {
  const auto it = buffers_.find(name.name());
  if (it == buffers_.end()) {
    return fail(name.span, "unknown-buffer", cat("there is no buffer `", name.name(), "` here")), Expr();
  }
  if (depth >= kDeepestExpr) return unary(kDeepestExpr + 1);  // says so
  p_.next();                                                  // [
  std::vector<Expr> at;
  const Buffer& b = *it->second;
  size_t highest = 0;
  const bool ok = p_.list("]", Place::kAfterScalar, [&] {
    const Span span = p_.peek().span;
    const Expr e = binary(1, depth + 1);
    if (!e) return false;
    if (e->dtype != kInt64) return not_an_index(span, e->dtype);
    highest = std::max(highest, height(e));
    at.push_back(e);
    return true;
  });
  if (!ok) return {};
  if (at.size() != b.shape.size()) {
    return fail(name.span, "wrong-index-count",
                cat("`", b.name.text(), "` has rank ", b.shape.size(), ", and here are ", at.size(),
                    " indices")),
           Expr();
  }
  const Expr e = pool_.load(&b, at);
  if (!sized(e, {}, name.span)) return {};
  if (highest >= kHighest) return sized(e, {e}, name.span);
  heights_[e.get()] = highest + 1;
  return e;
}

Expr KernelReader::call(const Token& name, size_t depth) {
  if (depth >= kDeepestExpr) return unary(kDeepestExpr + 1);  // says so
  p_.next();                                                  // (
  std::vector<Expr> args;
  const bool ok = p_.list(")", Place::kAfterScalar, [&] {
    args.push_back(binary(1, depth + 1));
    return static_cast<bool>(args.back());
  });
  if (!ok) return {};
  const Span span = p_.here_from(name.span.begin);
  const auto wrong_arguments = [&](size_t wanted) {
    return fail(span, "wrong-arguments",
                cat("`", name.text, "` takes ", counted(wanted, "operand"), ", and here are ", args.size())),
           Expr();
  };
  if (const std::optional<DType> d = DType::parse(name.text)) {
    return args.size() == 1 ? sized(pool_.cast(*d, args[0]), {args[0]}, span) : wrong_arguments(1);
  }
  for (const FunctionWord& w : kFunctionWords) {
    if (w.word != name.text) continue;
    if (args.size() != w.args) return wrong_arguments(w.args);
    if (w.args == 2) return operation(name.text, args[0], args[1], span);
    if (!args[0]->dtype.is_bool() || args[1]->dtype != args[2]->dtype) {
      return fail(span, "wrong-operand-dtype", "`select` takes a bool and two values of one dtype"), Expr();
    }
    return sized(select(args[0], args[1], args[2]), {args[0], args[1], args[2]}, span);
  }
  for (int i = 0; i <= static_cast<int>(kernel::Math::kIsFinite); ++i) {
    const auto fn = static_cast<kernel::Math>(i);
    if (kernel::name(fn) != name.text) continue;
    const bool two = fn == kernel::Math::kPow || fn == kernel::Math::kFmod || fn == kernel::Math::kAtan2;
    if (args.size() != (two ? 2u : 1u)) return wrong_arguments(two ? 2 : 1);
    const bool any_number = fn == kernel::Math::kAbs || fn == kernel::Math::kPow;
    const bool fits = any_number ? !args[0]->dtype.is_bool() : args[0]->dtype.is_float();
    if (!fits || (two && args[0]->dtype != args[1]->dtype)) {
      return fail(span, "wrong-operand-dtype",
                  cat("`", name.text, "` does not take `", args[0]->dtype.name(), "`",
                      two ? cat(" and `", args[1]->dtype.name(), "`") : "")),
             Expr();
    }
    return sized(pool_.math(fn, args), {args[0], two ? args[1] : args[0]}, span);
  }
  p_.suggest(
      p_.error(name.span, "unknown-function", cat("there is no function `", name.text, "` of scalars")),
      name.text, "", [] {
        std::vector<std::string> names;
        for (const FunctionWord& w : kFunctionWords) names.emplace_back(w.word);
        for (int i = 0; i <= static_cast<int>(kernel::Math::kIsFinite); ++i)
          names.emplace_back(kernel::name(static_cast<kernel::Math>(i)));
        return names;
      });
  return {};
}

}  // namespace relay::text
