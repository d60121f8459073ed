// Kernels: what stands before their statements.
#include <algorithm>

#include "base/cat.h"
#include "ir/text/kernel_reader.h"
#include "ir/text/kernel_words.h"
#include "kernel/limits.h"
#include "kernel/race_check.h"
#include "kernel/validate.h"

namespace relay::text {
namespace {

using kernel::Buffer;
using kernel::Expr;
using kernel::Stmt;

// The check of a block looks at each statement of it, and may compare it with each region that
// the block declares.
constexpr size_t kMostChecks = 4'000'000;

}  // namespace

bool Parser::kernel_definition(bool is_external) {
  const std::string name = peek().kind == TokenKind::kGlobal ? peek().name() : std::string();
  KernelReader reader(*this);
  const bool ok = is_external ? reader.external() : reader.kernel();
  if (!ok) broken_.insert(name);
  return ok;
}

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

// x: float32[n, 64], t: float32[n, 60] strides [64, 1]
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
  std::vector<Expr> strides;
  if (p_.peek().is_word("strides") && p_.lexer_.peek_second().is("[")) {
    p_.next();
    const Span at = p_.next().span;
    const bool read = p_.list("]", [&] {
      strides.push_back(index());
      return static_cast<bool>(strides.back());
    });
    if (!read) return nullptr;
    if (strides.size() != shape.size()) {
      fail(
          at, "wrong-stride-count",
          cat("`", token.name(), "` has rank ", shape.size(), ", and here are ", strides.size(), " strides"));
      return nullptr;
    }
  }
  const Buffer* made =
      arena_.make<Buffer>(context().next_buffer_id(), context().symbol(token.name()), *dtype,
                          arena_.list(shape), scope.value_or(kernel::Scope::kGlobal), arena_.list(strides));
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

// shape n = e[0]; after the `=`
bool KernelReader::read_extent(Expr variable, const std::vector<const Buffer*>& inputs) {
  Token from;
  if (!name(from, "an input")) return false;
  const auto buffer = buffers_.find(from.name());
  const auto at =
      buffer == buffers_.end() ? inputs.end() : std::find(inputs.begin(), inputs.end(), buffer->second);
  if (at == inputs.end())
    return fail(from.span, "unknown-buffer", cat("there is no input `", from.name(), "`"));
  if (!p_.need("[", "before the number of an element")) return false;
  if (p_.peek().kind != TokenKind::kNumber)
    return p_.expected("the number of an element", "expected-expression");
  const Span span = p_.peek().span;
  const Expr element = number(false, span.begin);
  if (!element) return false;
  if (element->dtype != kInt64) return not_an_index(span, element->dtype);
  read_extents_.push_back({variable, static_cast<uint32_t>(at - inputs.begin()), element->int_value});
  return p_.need("]", "after the number of an element");
}

// origin "..."; batched @many; shape n; shape m = e[0]; temporary t: float32[n];
bool KernelReader::header(const std::vector<const Buffer*>& inputs) {
  for (;;) {
    const bool named = p_.lexer_.peek_second().kind == TokenKind::kName;
    if (p_.peek().is_word("origin") && p_.lexer_.peek_second().kind == TokenKind::kString) {
      p_.next();
      origin_ = context().symbol(p_.next().name());
    } else if (p_.peek().is_word("batched") && p_.lexer_.peek_second().kind == TokenKind::kGlobal) {
      p_.next();
      const Token name = p_.next();
      batched_ = context().symbol(name.name());
      batched_span_ = name.span;
      p_.used_globals_.emplace_back(batched_, name.span);
    } else if (p_.peek().is_word("shape") && named) {
      p_.next();
      const std::string v = p_.next().name();
      bind(v, pool_.shape_variable(v), nullptr);
      if (p_.take("=") && !read_extent(pool_.shape_variable(v), inputs)) return false;
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

bool KernelReader::signature(kernel::Kernel& k) {
  if (p_.peek().kind != TokenKind::kGlobal)
    return p_.expected("the name of the kernel, like `@dense`", "expected-name");
  const Token token = p_.next();
  at_ = token.span;
  std::vector<const Buffer*> inputs, outputs;
  if (!buffers(inputs) || !p_.need("->", "between the inputs and the outputs of a kernel") ||
      !buffers(outputs))
    return false;
  k.name = context().symbol(token.name());
  k.inputs = arena_.list(inputs);
  k.outputs = arena_.list(outputs);
  return true;
}

bool KernelReader::kernel() {
  kernel::Kernel k{};
  if (!signature(k) || !p_.need("{", "before the body of a kernel") ||
      !header({k.inputs.begin(), k.inputs.end()}))
    return false;
  in_shapes_ = false;
  k.body = body(0);
  if (!k.body) return false;
  k.temporaries = arena_.list(temporaries_);
  k.origin = origin_;
  k.batched = batched_;
  k.read_extents = arena_.list(read_extents_);
  p_.kernel_checks_ += checks_;
  if (p_.options_.validate_kernels && p_.kernel_checks_ > kMostChecks) {
    p_.error(at_, "kernel-too-large",
             "the kernels of this text have too many statements in blocks of many regions")
        .note("divide them among several kernels, or among several texts");
    return false;
  }
  if (p_.options_.validate_kernels) p_.race_checked_ += kernel::race_check_work(k).value_or(0);
  if (p_.race_checked_ > p_.options_.max_race_checked) {
    p_.error(at_, "kernel-too-large", "the kernels of this text take too long to check for races")
        .note("divide them among several texts");
    return false;
  }
  if (p_.options_.validate_kernels) check(k);
  define(k);
  return true;
}

void KernelReader::check(const kernel::Kernel& k) {
  if (const std::string deep = kernel::too_deep(k); !deep.empty()) {
    p_.error(at_, "kernel-too-deep", cat("kernel `@", k.name.text(), "`: ", deep));
    return;
  }
  const std::vector<std::string> wrong = kernel::validate(k);
  if (wrong.empty()) return;
  constexpr size_t kMost = 5;
  Diagnostic& d =
      p_.error(at_, "invalid-kernel", cat("kernel `@", k.name.text(), "` does not do what it declares"));
  for (size_t i = 0; i < std::min(kMost, wrong.size()); ++i) d.note(wrong[i]);
}

void KernelReader::define(const kernel::Kernel& k) {
  Module& m = p_.module_;
  const Fn* before = m.function(k.name.text());
  if (before || m.kernel(k.name.text())) {
    p_.error(at_, "redefined-global", cat("`@", k.name.text(), "` is defined already"))
        .label(before ? before->span : Span::none(),
               before ? "the other definition" : "the other one is a kernel too")
        .note("functions and kernels share one name space");
    return;
  }
  m.set_kernel(k.name.text(), arena_.make<kernel::Kernel>(k));
  if (!batched_.empty()) p_.batched_kernels_.emplace_back(k.name, batched_span_);
}

}  // namespace relay::text
