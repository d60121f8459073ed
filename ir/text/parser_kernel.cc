// Kernels.
//
// Statements and expressions are read by recursive descent to a limited depth: loop nests are shallow, and other
// parts of the compiler recurse over them too.
#include "base/cat.h"
#include "ir/text/kernel_words.h"
#include "ir/text/names.h"
#include "ir/text/parser_impl.h"
#include "kernel/statements.h"
#include "kernel/validate.h"

namespace relay::text {
namespace {

using kernel::Buffer;
using kernel::Expr;
using kernel::ExprKind;
using kernel::Stmt;

constexpr size_t kDeepestStatement = 200;
constexpr size_t kDeepestExpr = 100;
// Building sums takes time quadratic in their length, and expressions are recursed over.
constexpr size_t kMostOperators = 4096;  // of one expression
constexpr size_t kHighest = 512;

}  // namespace

// Reads one kernel. Null and false mean that the mistake was reported.
class KernelReader {
 public:
  explicit KernelReader(Parser& parser) : p_(parser), pool_(parser.module_.context().pool()), arena_(pool_.arena()) {}

  bool kernel();

 private:
  Context& context() { return p_.module_.context(); }
  bool fail(Span span, std::string_view slug, std::string message) {
    p_.error(span, slug, std::move(message));
    return false;
  }
  bool name(Token& out, std::string_view what);
  const Buffer* declaration(std::optional<kernel::Scope> scope);
  bool buffers(std::vector<const Buffer*>& out);
  std::optional<kernel::Scope> scope_word();
  bool header();

  Stmt body(size_t depth);        // after `{`, up to and with `}`
  bool statements(std::vector<Stmt>& out, size_t depth);
  Stmt statement(size_t depth);
  Stmt loop(kernel::ForKind how, size_t depth);
  Stmt block(size_t depth);
  Stmt branches(size_t depth);
  Stmt store();
  bool iteration(kernel::IterKind kind, std::vector<kernel::BlockIter>& out);
  bool regions(std::vector<kernel::Region>& out);
  bool indices(const Buffer& b, std::vector<Expr>& out, std::string_view closer);
  Stmt together(const std::vector<Stmt>& body);

  // Expressions; their heights are kept so that they stay within what can be recursed over.
  Expr whole();                   // an expression that ends where the lexer says
  Expr index();                   // an int64
  Expr condition();               // a bool
  Expr binary(int least, size_t depth);
  Expr unary(size_t depth);
  Expr primary(size_t depth);
  Expr number(bool negative, uint32_t begin);
  Expr call(const Token& name, size_t depth);
  Expr load(const Token& name, size_t depth);
  Expr operation(std::string_view op, Expr a, Expr b, Span span);
  Expr sized(Expr e, std::initializer_list<Expr> parts, Span span);
  size_t height(Expr e) {
    const auto it = heights_.find(e.get());
    return it == heights_.end() ? 1 : it->second;
  }

  template <class T>
  Stmt make(T proto) {
    proto.kind = T::kKind;
    return arena_.make<T>(proto);
  }

  // Names that are bound until the brace closes.
  struct Scoped {
    std::string name;
    bool had_value, had_buffer;
    Expr value;
    const Buffer* buffer;
  };
  void bind(const std::string& name, Expr value, const Buffer* buffer) {
    Scoped undo{name, values_.contains(name), buffers_.contains(name), {}, nullptr};
    if (undo.had_value) undo.value = values_[name];
    if (undo.had_buffer) undo.buffer = buffers_[name];
    undo_.push_back(std::move(undo));
    if (value) values_[name] = value;
    if (buffer) buffers_[name] = buffer;
  }
  void leave(size_t mark) {
    for (; undo_.size() > mark; undo_.pop_back()) {
      const Scoped& u = undo_.back();
      if (u.had_value) {
        values_[u.name] = u.value;
      } else {
        values_.erase(u.name);
      }
      if (u.had_buffer) {
        buffers_[u.name] = u.buffer;
      } else {
        buffers_.erase(u.name);
      }
    }
  }

  Parser& p_;
  kernel::ExprPool& pool_;
  Arena& arena_;
  bool in_shapes_ = true;  // shape variables are introduced by the shapes of the parameters
  size_t operators_ = 0;
  std::unordered_map<std::string, Expr> values_;
  std::unordered_map<std::string, const Buffer*> buffers_;
  std::vector<Scoped> undo_;
  std::unordered_map<const kernel::ExprNode*, size_t> heights_;
  std::vector<const Buffer*> temporaries_;
  Symbol origin_;
};

bool Parser::kernel_definition() { return KernelReader(*this).kernel(); }

bool KernelReader::name(Token& out, std::string_view what) {
  if (p_.peek().kind != TokenKind::kName) return p_.expected(cat("the name of ", what), "expected-name");
  out = p_.next();
  return true;
}

std::optional<kernel::Scope> KernelReader::scope_word() {
  for (const ScopeWord& w : kScopeWords) {
    if (p_.peek().is_word(w.word) && p_.lexer_.peek_second().kind == TokenKind::kName) {
      p_.next();
      return w.scope;
    }
  }
  return std::nullopt;
}

// x: float32[n, 64]
const Buffer* KernelReader::declaration(std::optional<kernel::Scope> scope) {
  Token token;
  if (!name(token, "a buffer") || !p_.need(":", "after the name of a buffer")) return nullptr;
  const std::optional<DType> dtype = p_.dtype();
  if (!dtype || !p_.need("[", "before the shape of a buffer")) return nullptr;
  std::vector<Expr> shape;
  const bool ok = p_.list("]", [&] {
    shape.push_back(index());
    return static_cast<bool>(shape.back());
  });
  if (!ok) return nullptr;
  Buffer b{};
  b.id = context().next_buffer_id();
  b.name = context().symbol(token.name());
  b.dtype = *dtype;
  b.shape = arena_.list(shape);
  b.scope = scope.value_or(kernel::Scope::kGlobal);
  const Buffer* made = arena_.make<Buffer>(b);
  bind(token.name(), {}, made);
  return made;
}

bool KernelReader::buffers(std::vector<const Buffer*>& out) {
  if (!p_.need("(", "before the buffers of a kernel")) return false;
  return p_.list(")", [&] {
    out.push_back(declaration(scope_word()));
    return out.back() != nullptr;
  });
}

// origin "..."; shape n; temporary t: float32[n];
bool KernelReader::header() {
  for (;;) {
    const bool named = p_.lexer_.peek_second().kind == TokenKind::kName;
    if (p_.peek().is_word("origin") && p_.lexer_.peek_second().kind == TokenKind::kString) {
      p_.next();
      origin_ = context().symbol(p_.next().name());
    } else if (p_.peek().is_word("shape") && named) {
      p_.next();
      const std::string v = p_.next().name();
      bind(v, pool_.shape_variable(v), nullptr);
    } else if (p_.peek().is_word("temporary") && named) {
      p_.next();
      temporaries_.push_back(declaration(scope_word()));
      if (!temporaries_.back()) return false;
    } else {
      return true;
    }
    if (!p_.need(";", "at the end of a line")) return false;
  }
}

bool KernelReader::kernel() {
  if (p_.peek().kind != TokenKind::kGlobal) return p_.expected("the name of the kernel, like `@dense`", "expected-name");
  const Token token = p_.next();
  std::vector<const Buffer*> inputs, outputs;
  if (!buffers(inputs) || !p_.need("->", "between the inputs and the outputs of a kernel") || !buffers(outputs)) return false;
  if (!p_.need("{", "before the body of a kernel") || !header()) return false;
  in_shapes_ = false;
  const Stmt code = body(0);
  if (!code) return false;
  kernel::Kernel k{};
  k.name = context().symbol(token.name());
  k.inputs = arena_.list(inputs);
  k.outputs = arena_.list(outputs);
  k.temporaries = arena_.list(temporaries_);
  k.body = code;
  k.origin = origin_;
  const std::vector<std::string> wrong = p_.options_.validate_kernels ? kernel::validate(k) : std::vector<std::string>();
  if (!wrong.empty()) {
    constexpr size_t kMost = 5;
    Diagnostic& d = p_.error(token.span, "invalid-kernel", cat("kernel `@", token.name(), "` does not do what it declares"));
    for (size_t i = 0; i < std::min(kMost, wrong.size()); ++i) d.note(wrong[i]);
  }
  Module& m = p_.module_;
  if (m.function(token.name()) || m.kernel(token.name())) {
    return fail(token.span, "redefined-global", cat("`@", token.name(), "` is defined already")), true;
  }
  m.set_kernel(token.name(), arena_.make<kernel::Kernel>(k));
  return true;
}

// ---- Statements ----

Stmt KernelReader::together(const std::vector<Stmt>& body) {
  if (body.empty()) return make(kernel::Nop{});
  if (body.size() == 1) return body[0];
  kernel::Seq seq{};
  seq.body = arena_.list(body);
  return make(seq);
}

bool KernelReader::statements(std::vector<Stmt>& out, size_t depth) {
  const size_t mark = undo_.size();
  while (!p_.take("}")) {
    if (p_.peek().is_word("let") && p_.lexer_.peek_second().kind == TokenKind::kName) {
      p_.next();
      const std::string v = p_.next().name();
      if (!p_.need("=", "after the name of an abbreviation")) return false;
      const Expr value = whole();
      if (!value || !p_.need(";", "after the value of an abbreviation")) return false;
      bind(v, value, nullptr);
      continue;
    }
    out.push_back(statement(depth));
    if (!out.back()) return false;
  }
  leave(mark);
  return true;
}

Stmt KernelReader::body(size_t depth) {
  if (depth > kDeepestStatement) {
    fail(p_.peek().span, "nesting-too-deep", cat("statements are nested more than ", kDeepestStatement, " deep here"));
    return nullptr;
  }
  std::vector<Stmt> all;
  return statements(all, depth) ? together(all) : nullptr;
}

Stmt KernelReader::statement(size_t depth) {
  const Token first = p_.peek();
  if (first.kind != TokenKind::kName) {
    p_.expected("a statement of a kernel", "expected-statement");
    return nullptr;
  }
  if (p_.lexer_.peek_second().is("[")) return store();
  for (const LoopWord& w : kLoopWords) {
    if (!first.is_word(w.word)) continue;
    p_.next();
    return loop(w.how, depth);
  }
  if (first.is_word("block")) return p_.next(), block(depth);
  if (first.is_word("if")) return p_.next(), branches(depth);
  if (first.is_word("nothing")) {
    p_.next();
    return p_.need(";", "after `nothing`") ? make(kernel::Nop{}) : nullptr;
  }
  if (first.is_word("sequence")) {
    p_.next();
    std::vector<Stmt> all;
    if (depth > kDeepestStatement) return body(depth);  // says so
    if (!p_.need("{", "after `sequence`") || !statements(all, depth + 1)) return nullptr;
    kernel::Seq seq{};
    seq.body = arena_.list(all);
    return make(seq);
  }
  if (first.is_word("require")) {
    p_.next();
    if (!p_.need("(", "after `require`")) return nullptr;
    kernel::Require r{};
    r.condition = condition();
    if (!r.condition || !p_.need(",", "between the condition and the message")) return nullptr;
    if (p_.peek().kind != TokenKind::kString) return p_.expected("the message, as a string"), nullptr;
    r.message = context().symbol(p_.next().name());
    if (!p_.need(")", "after the message") || !p_.need(";", "after `require (...)`")) return nullptr;
    return make(r);
  }
  if (const std::optional<kernel::Scope> scope = scope_word()) {
    const size_t mark = undo_.size();
    kernel::Allocate a{};
    a.buffer = declaration(scope);
    if (!a.buffer || !p_.need("{", "before the statements that use the buffer")) return nullptr;
    a.body = body(depth + 1);
    leave(mark);
    return a.body ? make(a) : nullptr;
  }
  p_.expected("a statement of a kernel", "expected-statement");
  return nullptr;
}

// parallel i in n { ... }
Stmt KernelReader::loop(kernel::ForKind how, size_t depth) {
  Token token;
  if (!name(token, "the loop variable")) return nullptr;
  if (!p_.take_word("in")) return p_.expected("`in` after the loop variable"), nullptr;
  kernel::For f{};
  f.how = how;
  f.extent = index();
  if (!f.extent || !p_.need("{", "before the body of a loop")) return nullptr;
  f.var = pool_.variable(token.name());
  const size_t mark = undo_.size();
  bind(token.name(), f.var, nullptr);
  f.body = body(depth + 1);
  leave(mark);
  return f.body ? make(f) : nullptr;
}

Stmt KernelReader::branches(size_t depth) {
  kernel::If i{};
  if (!p_.need("(", "before the condition")) return nullptr;
  i.condition = condition();
  if (!i.condition || !p_.need(")", "after the condition") || !p_.need("{", "before the first branch")) return nullptr;
  i.then_branch = body(depth + 1);
  if (!i.then_branch) return nullptr;
  if (p_.take_word("else")) {
    if (!p_.need("{", "before the second branch")) return nullptr;
    i.else_branch = body(depth + 1);
    if (!i.else_branch) return nullptr;
  }
  return make(i);
}

bool KernelReader::iteration(kernel::IterKind kind, std::vector<kernel::BlockIter>& out) {
  Token token;
  if (!name(token, "the iteration variable")) return false;
  kernel::BlockIter i{};
  i.kind = kind;
  if (!p_.take_word("in")) return p_.expected("`in` after the iteration variable");
  i.extent = index();
  if (!i.extent || !p_.need("=", "before the value of the iteration variable")) return false;
  i.binding = index();
  if (!i.binding || !p_.need(";", "after an iteration variable")) return false;
  i.var = pool_.variable(token.name());
  out.push_back(i);
  return true;
}

// x[a, b : b + 4], ...;
bool KernelReader::regions(std::vector<kernel::Region>& out) {
  do {
    Token token;
    if (!name(token, "a buffer")) return false;
    const auto it = buffers_.find(token.name());
    if (it == buffers_.end()) return fail(token.span, "unknown-buffer", cat("there is no buffer `", token.name(), "` here"));
    if (!p_.need("[", "after the name of a buffer")) return false;
    std::vector<Expr> min, extent;
    const bool ok = p_.list("]", [&] {
      min.push_back(index());
      if (!min.back()) return false;
      extent.push_back(pool_.integer(1));
      if (!p_.take(":")) return true;
      const Expr end = index();
      if (!end) return false;
      extent.back() = end - min.back();
      return true;
    });
    if (!ok) return false;
    if (min.size() != it->second->shape.size()) {
      return fail(token.span, "wrong-rank", cat("`", token.name(), "` has rank ", it->second->shape.size(), ", and here are ",
                                                min.size(), " indices"));
    }
    out.push_back({it->second, arena_.list(min), arena_.list(extent)});
  } while (p_.take(","));
  return p_.need(";", "after the regions");
}

Stmt KernelReader::block(size_t depth) {
  Token token;
  if (!name(token, "the block") || !p_.need("{", "after the name of a block")) return nullptr;
  kernel::Block b{};
  b.name = context().symbol(token.name());
  const size_t mark = undo_.size();
  std::vector<kernel::BlockIter> iters;
  const auto next_is = [&](std::string_view word) {
    return p_.peek().is_word(word) && p_.lexer_.peek_second().kind == TokenKind::kName && p_.take_word(word);
  };
  for (;;) {
    const bool spatial = next_is("spatial");
    if (!spatial && !next_is("reduction")) break;
    if (!iteration(spatial ? kernel::IterKind::kSpatial : kernel::IterKind::kReduction, iters)) return nullptr;
  }
  // The predicate is over the loops around; what follows is over the iteration variables.
  if (p_.peek().is_word("where") && !p_.lexer_.peek_second().is("[")) {
    p_.next();
    b.predicate = condition();
    if (!b.predicate || !p_.need(";", "after the predicate of a block")) return nullptr;
  }
  for (const kernel::BlockIter& i : iters) bind(i.var->name.str(), i.var, nullptr);
  std::vector<kernel::Region> reads, writes;
  if (next_is("reads") && !regions(reads)) return nullptr;
  if (next_is("writes") && !regions(writes)) return nullptr;
  if (p_.peek().is_word("init") && p_.lexer_.peek_second().is("{")) {
    p_.next();
    p_.next();
    b.init = body(depth + 1);
    if (!b.init) return nullptr;
  }
  b.iters = arena_.list(iters);
  b.reads = arena_.list(reads);
  b.writes = arena_.list(writes);
  b.body = body(depth + 1);
  leave(mark);
  return b.body ? make(b) : nullptr;
}

bool KernelReader::indices(const Buffer& b, std::vector<Expr>& out, std::string_view closer) {
  const Span at = p_.peek().span;
  const bool ok = p_.list(closer, [&] {
    const Span span = p_.peek().span;
    const Expr e = binary(1, 0);
    if (!e) return false;
    if (e->dtype != kInt64) return fail(span, "dtype-mismatch", cat("an index is an int64, and this is `", e->dtype.name(), "`"));
    out.push_back(e);
    return true;
  });
  if (!ok) return false;
  if (out.size() == b.shape.size()) return true;
  return fail(at, "wrong-rank", cat("`", b.name.text(), "` has rank ", b.shape.size(), ", and here are ", out.size(), " indices"));
}

// y[i, j] = value;
Stmt KernelReader::store() {
  const Token token = p_.next();
  const auto it = buffers_.find(token.name());
  if (it == buffers_.end()) {
    p_.suggest(p_.error(token.span, "unknown-buffer", cat("there is no buffer `", token.name(), "` here")), token.name(), "", [&] {
      std::vector<std::string> names;
      for (const auto& [known, buffer] : buffers_) names.push_back(known);
      std::sort(names.begin(), names.end());
      return names;
    });
    return nullptr;
  }
  kernel::Store s{};
  s.buffer = it->second;
  std::vector<Expr> at;
  operators_ = 0;
  p_.lexer_.set_arithmetic(true);
  const bool ok = p_.need("[", "after the name of a buffer") && indices(*s.buffer, at, "]");
  p_.lexer_.set_arithmetic(false);
  if (!ok || !p_.need("=", "between a buffer's element and its value")) return nullptr;
  s.indices = arena_.list(at);
  const Span span = p_.peek().span;
  s.value = whole();
  if (!s.value) return nullptr;
  if (s.value->dtype != s.buffer->dtype) {
    fail(span, "dtype-mismatch", cat("`", token.name(), "` holds `", s.buffer->dtype.name(), "`, and the value is `",
                                     s.value->dtype.name(), "`"));
    return nullptr;
  }
  return p_.need(";", "after the value") ? make(s) : nullptr;
}

// ---- Expressions ----

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
  fail(span, "dtype-mismatch", cat("an int64 is needed here, and this is `", e->dtype.name(), "`"));
  return {};
}

Expr KernelReader::condition() {
  const Span span = p_.peek().span;
  const Expr e = whole();
  if (!e || e->dtype == kBool) return e;
  fail(span, "dtype-mismatch", cat("a condition is a bool, and this is `", e->dtype.name(), "`"));
  return {};
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
    fail(span, "expression-too-complex",
         cat("this has more than ", kMostOperators, " operators, or they are nested more than ", kHighest, " deep"));
    return {};
  }
  if (!e->args.empty()) heights_.emplace(e.get(), highest + 1);
  return e;
}

Expr KernelReader::operation(std::string_view op, Expr a, Expr b, Span span) {
  if (a->dtype != b->dtype) {
    fail(span, "dtype-mismatch", cat("the operands of `", op, "` differ: `", a->dtype.name(), "` and `", b->dtype.name(), "`"));
    return {};
  }
  const DType d = a->dtype;
  const bool logical = op == "||" || op == "&&", division = op == "//" || op == "%";
  const bool integers = division || op.starts_with("trunc_") || op.starts_with("shift_");
  const bool bits = op.starts_with("bit_");
  const bool compares = op == "==" || op == "!=";
  const bool fits = logical    ? d.is_bool()
                    : op == "/" ? d.is_float()
                    : integers  ? d.is_int()
                    : bits      ? d.is_int() || d.is_bool()
                                : compares || !d.is_bool();
  if (!fits) {
    fail(span, "dtype-mismatch", cat("`", op, "` does not take `", d.name(), "`",
                                     op == "/" ? "; integers have `//` and `trunc_div`" : ""));
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
    if (!e->dtype.is_bool()) return fail(t.span, "dtype-mismatch", cat("`!` does not take `", e->dtype.name(), "`")), Expr();
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
    if (e->dtype.is_bool()) return fail(t.span, "dtype-mismatch", "`-` does not take `bool`"), Expr();
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
    return e && p_.need(")", "after an expression in parentheses") ? e : Expr();
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
  p_.suggest(p_.error(t.span, "unknown-variable", cat("there is no variable `", name, "` here")), name, "", [&] {
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
    return fail(span, "malformed-number", cat("`", t.text, "` is not a number")), Expr();
  }
  if (!suffix && n->floating) {
    return fail(span, "missing-suffix", cat("`", t.text, "` needs a suffix that says which floating dtype it has")), Expr();
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
  p_.next();  // [
  std::vector<Expr> at;
  const Buffer& b = *it->second;
  size_t highest = 0;
  const bool ok = p_.list("]", [&] {
    const Span span = p_.peek().span;
    const Expr e = binary(1, depth + 1);
    if (!e) return false;
    if (e->dtype != kInt64) return fail(span, "dtype-mismatch", cat("an index is an int64, and this is `", e->dtype.name(), "`"));
    highest = std::max(highest, height(e));
    at.push_back(e);
    return true;
  });
  if (!ok) return {};
  if (at.size() != b.shape.size()) {
    return fail(name.span, "wrong-rank", cat("`", b.name.text(), "` has rank ", b.shape.size(), ", and here are ", at.size(), " indices")), Expr();
  }
  const Expr e = pool_.load(&b, at);
  if (!sized(e, {}, name.span)) return {};
  if (highest >= kHighest) return sized(e, {e}, name.span);
  heights_[e.get()] = highest + 1;
  return e;
}

Expr KernelReader::call(const Token& name, size_t depth) {
  if (depth >= kDeepestExpr) return unary(kDeepestExpr + 1);  // says so
  p_.next();  // (
  std::vector<Expr> args;
  const bool ok = p_.list(")", [&] {
    args.push_back(binary(1, depth + 1));
    return static_cast<bool>(args.back());
  });
  if (!ok) return {};
  const Span span = p_.here_from(name.span.begin);
  const auto wrong_arguments = [&](size_t wanted) {
    return fail(span, "wrong-arguments", cat("`", name.text, "` takes ", wanted, wanted == 1 ? " operand" : " operands",
                                             ", and here are ", args.size())), Expr();
  };
  if (const std::optional<DType> d = DType::parse(name.text)) {
    return args.size() == 1 ? sized(pool_.cast(*d, args[0]), {args[0]}, span) : wrong_arguments(1);
  }
  for (const FunctionWord& w : kFunctionWords) {
    if (w.word != name.text) continue;
    if (args.size() != w.args) return wrong_arguments(w.args);
    if (w.args == 2) return operation(name.text, args[0], args[1], span);
    if (!args[0]->dtype.is_bool() || args[1]->dtype != args[2]->dtype) {
      return fail(span, "dtype-mismatch", "`select` takes a bool and two values of one dtype"), Expr();
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
      return fail(span, "dtype-mismatch", cat("`", name.text, "` does not take `", args[0]->dtype.name(), "`",
                                              two ? cat(" and `", args[1]->dtype.name(), "`") : "")), Expr();
    }
    return sized(pool_.math(fn, args), {args[0], two ? args[1] : args[0]}, span);
  }
  p_.suggest(p_.error(name.span, "unknown-function", cat("there is no function `", name.text, "` of scalars")), name.text, "", [] {
    std::vector<std::string> names;
    for (const FunctionWord& w : kFunctionWords) names.emplace_back(w.word);
    for (int i = 0; i <= static_cast<int>(kernel::Math::kIsFinite); ++i) names.emplace_back(kernel::name(static_cast<kernel::Math>(i)));
    return names;
  });
  return {};
}

}  // namespace relay::text
