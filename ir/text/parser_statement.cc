// The statements of kernels.
#include <algorithm>

#include "base/cat.h"
#include "ir/text/kernel_reader.h"
#include "ir/text/kernel_words.h"
#include "kernel/limits.h"

namespace relay::text {
namespace {

using kernel::Buffer;
using kernel::Expr;
using kernel::Stmt;

// Between two braces lie a statement and what it stands in, and schedules add loops.
constexpr size_t kDeepestStatement = kernel::kDeepestNest / 4;

}  // namespace

Stmt KernelReader::together(const std::vector<Stmt>& body) {
  if (body.empty()) return make<kernel::Nop>();
  if (body.size() == 1) return body[0];
  return make<kernel::Seq>(arena_.list(body));
}

bool KernelReader::statements(std::vector<Stmt>& out, size_t depth) {
  const size_t mark = undo_.size();
  while (!p_.take("}")) {
    if (p_.peek().is_word("let") && p_.lexer_.peek_second().kind == TokenKind::kName) {
      p_.next();
      const std::string v = p_.next().name();
      if (!p_.need("=", "after the name of an abbreviation")) return false;
      const Expr value = whole();
      if (!value || !ended(";", "after the value of an abbreviation")) return false;
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
    fail(p_.peek().span, "nesting-too-deep",
         cat("statements are nested more than ", kDeepestStatement, " deep here"));
    return nullptr;
  }
  std::vector<Stmt> all;
  return statements(all, depth) ? together(all) : nullptr;
}

bool KernelReader::operand(Expr& out) { return static_cast<bool>(out = condition()); }

bool KernelReader::operand(Symbol& out) {
  if (p_.peek().kind != TokenKind::kString) return p_.expected("a string");
  out = context().symbol(p_.next().name());
  return true;
}

// require (CONDITION, MESSAGE);   nothing;
template <class T>
Stmt KernelReader::operands() {
  const std::string word = cat("`", T::kWord, "`");
  T out = {};
  out.kind = T::kKind;
  bool sound = true, first = true;
  for_each_field(out, [&](auto& field) {
    sound = sound &&
            (first ? p_.need("(", cat("after ", word)) : ended(",", cat("between the operands of ", word))) &&
            operand(field);
    first = false;
  });
  if (!first) sound = sound && ended(")", cat("after the operands of ", word));
  return sound && p_.need(";", cat("at the end of ", word)) ? arena_.make<T>(out) : nullptr;
}

template <class T>
bool KernelReader::looking(const Token& word, Stmt& out) {
  if constexpr (kernel::only_looks<T>) {
    if (!word.is_word(T::kWord)) return false;
    p_.next();
    out = operands<T>();
    return true;
  }
  return false;
}

Stmt KernelReader::statement(size_t depth) {
  ++statements_;
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
  if (first.is_word("sequence")) {
    p_.next();
    std::vector<Stmt> all;
    if (depth > kDeepestStatement) return body(depth);  // says so
    if (!p_.need("{", "after `sequence`") || !statements(all, depth + 1)) return nullptr;
    return make<kernel::Seq>(arena_.list(all));
  }
  if (first.is_word("prefetch")) return p_.next(), prefetch();
  if (Stmt out = nullptr; looking_among(kernel::AllStmts{}, first, out)) return out;
  if (const std::optional<kernel::Scope> scope = scope_word()) {
    const size_t mark = undo_.size();
    const Buffer* buffer = declaration(scope);
    if (!buffer || !p_.need("{", "before the statements that use the buffer")) return nullptr;
    const Stmt inside = body(depth + 1);
    leave(mark);
    return inside ? make<kernel::Allocate>(buffer, inside) : nullptr;
  }
  p_.expected("a statement of a kernel", "expected-statement");
  return nullptr;
}

// parallel i in n { ... }
Stmt KernelReader::loop(kernel::ForKind how, size_t depth) {
  Token token;
  if (!name(token, "the loop variable")) return nullptr;
  if (!p_.take_word("in")) return p_.expected("`in` after the loop variable"), nullptr;
  const Expr extent = index();
  if (!extent || !ended("{", "before the body of a loop")) return nullptr;
  const Expr var = pool_.variable(token.name());
  const size_t mark = undo_.size();
  bind(token.name(), var, nullptr);
  const Stmt inside = body(depth + 1);
  leave(mark);
  return inside ? make<kernel::For>(var, extent, how, inside) : nullptr;
}

Stmt KernelReader::branches(size_t depth) {
  if (!p_.need("(", "before the condition")) return nullptr;
  const Expr holds = condition();
  if (!holds || !ended(")", "after the condition") || !p_.need("{", "before the first branch"))
    return nullptr;
  const Stmt then_branch = body(depth + 1);
  if (!then_branch) return nullptr;
  Stmt else_branch = nullptr;
  if (p_.take_word("else")) {
    if (!p_.need("{", "before the second branch")) return nullptr;
    else_branch = body(depth + 1);
    if (!else_branch) return nullptr;
  }
  return make<kernel::If>(holds, then_branch, else_branch);
}

bool KernelReader::iteration(kernel::IterKind kind, std::vector<kernel::BlockIter>& out) {
  Token token;
  if (!name(token, "the iteration variable")) return false;
  if (!p_.take_word("in")) return p_.expected("`in` after the iteration variable");
  const Expr extent = index();
  if (!extent || !ended("=", "before the value of the iteration variable")) return false;
  const Expr binding = index();
  if (!binding || !ended(";", "after an iteration variable")) return false;
  out.push_back({pool_.variable(token.name()), extent, kind, binding});
  return true;
}

// x[a, b : b + 4], ...;
bool KernelReader::regions(std::vector<kernel::Region>& out) {
  do {
    Token token;
    if (!name(token, "a buffer")) return false;
    const auto it = buffers_.find(token.name());
    if (it == buffers_.end())
      return fail(token.span, "unknown-buffer", cat("there is no buffer `", token.name(), "` here"));
    if (!p_.need("[", "after the name of a buffer")) return false;
    std::vector<Expr> min, extent;
    const bool ok = p_.list("]", Place::kAfterScalar, [&] {
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
      return fail(token.span, "wrong-index-count",
                  cat("`", token.name(), "` has rank ", it->second->shape.size(), ", and here are ",
                      min.size(), " indices"));
    }
    out.push_back({it->second, arena_.list(min), arena_.list(extent)});
  } while (p_.take(","));
  return ended(";", "after the regions");
}

Stmt KernelReader::block(size_t depth) {
  Token token;
  if (!name(token, "the block") || !p_.need("{", "after the name of a block")) return nullptr;
  const size_t before = statements_;
  const size_t mark = undo_.size();
  std::vector<kernel::BlockIter> iters;
  const auto next_is = [&](std::string_view word) {
    return p_.peek().is_word(word) && p_.lexer_.peek_second().kind == TokenKind::kName && p_.take_word(word);
  };
  for (;;) {
    const bool spatial = next_is("spatial");
    if (!spatial && !next_is("reduction")) break;
    if (!iteration(spatial ? kernel::IterKind::kSpatial : kernel::IterKind::kReduction, iters))
      return nullptr;
  }
  Expr predicate;
  Symbol instruction;
  // The predicate is over the loops around; what follows is over the iteration variables.
  if (p_.peek().is_word("where") && !p_.lexer_.peek_second().is("[")) {
    p_.next();
    predicate = condition();
    if (!predicate || !ended(";", "after the predicate of a block")) return nullptr;
  }
  if (p_.peek().is_word("instruction") && p_.lexer_.peek_second().kind == TokenKind::kString) {
    p_.next();
    instruction = context().symbol(p_.next().name());
    if (!p_.need(";", "after the instruction of a block")) return nullptr;
  }
  for (const kernel::BlockIter& i : iters) bind(i.var->name.str(), i.var, nullptr);
  std::vector<kernel::Region> reads, writes;
  if (next_is("reads") && !regions(reads)) return nullptr;
  if (next_is("writes") && !regions(writes)) return nullptr;
  Stmt init = nullptr;
  if (p_.peek().is_word("init") && p_.lexer_.peek_second().is("{")) {
    p_.next();
    p_.next();
    init = body(depth + 1);
    if (!init) return nullptr;
  }
  const Stmt inside = body(depth + 1);
  leave(mark);
  checks_ += (statements_ - before + 1) * (reads.size() + writes.size() + 1);
  if (!inside) return nullptr;
  return make<kernel::Block>(context().symbol(token.name()), arena_.list(iters), arena_.list(reads),
                             arena_.list(writes), predicate, init, inside, instruction);
}

bool KernelReader::indices(const Buffer& b, std::vector<Expr>& out, std::string_view closer) {
  const Span at = p_.peek().span;
  const bool ok = p_.list(closer, Place::kAfterScalar, [&] {
    const Span span = p_.peek().span;
    const Expr e = binary(1, 0);
    if (!e) return false;
    if (e->dtype != kInt64) return not_an_index(span, e->dtype);
    out.push_back(e);
    return true;
  });
  if (!ok) return false;
  if (out.size() == b.shape.size()) return true;
  return fail(
      at, "wrong-index-count",
      cat("`", b.name.text(), "` has rank ", b.shape.size(), ", and here are ", out.size(), " indices"));
}

// x[i, j + 1]
const kernel::Buffer* KernelReader::element(std::vector<Expr>& at) {
  const Token token = p_.next();
  const auto it = buffers_.find(token.name());
  if (it == buffers_.end()) {
    p_.suggest(p_.error(token.span, "unknown-buffer", cat("there is no buffer `", token.name(), "` here")),
               token.name(), "", [&] {
                 std::vector<std::string> names;
                 for (const auto& [known, buffer] : buffers_) names.push_back(known);
                 std::sort(names.begin(), names.end());
                 return names;
               });
    return nullptr;
  }
  operators_ = 0;
  p_.lexer_.set_arithmetic(true);
  const bool ok = p_.need("[", "after the name of a buffer") && indices(*it->second, at, "]");
  p_.lexer_.set_arithmetic(false);
  return ok ? it->second : nullptr;
}

// prefetch x[i, j];
Stmt KernelReader::prefetch() {
  std::vector<Expr> at;
  const Buffer* buffer = element(at);
  if (!buffer || !ended(";", "after `prefetch ...`")) return nullptr;
  return make<kernel::Prefetch>(buffer, arena_.list(at));
}

// y[i, j] = value;
Stmt KernelReader::store() {
  const Token token = p_.peek();
  std::vector<Expr> at;
  const Buffer* buffer = element(at);
  if (!buffer || !ended("=", "between a buffer's element and its value")) return nullptr;
  const Span span = p_.peek().span;
  const Expr value = whole();
  const Span all_of_value = p_.here_from(span.begin);
  if (!value || !ended(";", "after the value")) return nullptr;
  if (value->dtype != buffer->dtype) {
    p_.error(all_of_value, "wrong-stored-dtype",
             cat("`", token.name(), "` holds `", buffer->dtype.name(), "`, and the value is `",
                 value->dtype.name(), "`"))
        .label(token.span, cat("elements of `", buffer->dtype.name(), "` are written here"))
        .note(cat("`", buffer->dtype.name(), "(...)` converts"));
    return nullptr;
  }
  return make<kernel::Store>(buffer, arena_.list(at), value);
}

}  // namespace relay::text
