// KernelReader: the part of the parser that reads kernels.
//
// Statements and expressions are read by recursive descent to a limited depth: loop nests are
// shallow, and other parts of the compiler recurse over them too.
#pragma once

#include "ir/text/parser_impl.h"
#include "kernel/fields.h"

namespace relay::text {

// Reads one kernel. Null and false mean that the mistake was reported.
class KernelReader {
 public:
  explicit KernelReader(Parser& parser)
      : p_(parser), pool_(parser.module_.context().pool()), arena_(pool_.arena()) {}

  bool kernel();    // after `kernel`
  bool external();  // after `extern kernel`

 private:
  Context& context() { return p_.module_.context(); }
  bool not_an_index(Span begin, DType dtype);  // what began there
  bool fail(Span span, Slug slug, std::string message) {
    p_.error(span, slug, std::move(message));
    return false;
  }
  bool name(Token& out, std::string_view what);
  // Consumes what ends a scalar expression, or reports what is there instead.
  bool ended(std::string_view punctuation, std::string_view why) {
    return p_.need(punctuation, why, Place::kAfterScalar);
  }
  const kernel::Buffer* declaration(std::optional<kernel::Scope> scope);
  bool buffers(std::vector<const kernel::Buffer*>& out);
  std::optional<kernel::Scope> scope_word();
  bool header(const std::vector<const kernel::Buffer*>& inputs);
  bool read_extent(kernel::Expr variable, const std::vector<const kernel::Buffer*>& inputs);
  bool signature(kernel::Kernel& k);  // the name, the inputs and the outputs
  void check(const kernel::Kernel& k);
  bool is_good(const kernel::Kernel& k, Span symbol);  // of an external one, besides
  std::string undetermined(const kernel::Kernel& k) const;
  void define(const kernel::Kernel& k);

  kernel::Stmt body(size_t depth);  // after `{`, up to and with `}`
  bool statements(std::vector<kernel::Stmt>& out, size_t depth);
  kernel::Stmt statement(size_t depth);
  kernel::Stmt loop(kernel::ForKind how, size_t depth);
  kernel::Stmt block(size_t depth);
  kernel::Stmt branches(size_t depth);
  const kernel::Buffer* element(std::vector<kernel::Expr>& at);
  kernel::Stmt prefetch();
  kernel::Stmt store();
  // The statement T or one of T... that only looks (kernel/fields.h), if it has this word.
  template <class T>
  bool looking(const Token& word, kernel::Stmt& out);
  template <class... T>
  bool looking_among(TypeList<T...>, const Token& word, kernel::Stmt& out) {
    return (looking<T>(word, out) || ...);
  }
  template <class T>
  kernel::Stmt operands();  // of it, after its word
  bool operand(kernel::Expr& out);
  bool operand(Symbol& out);
  bool iteration(kernel::IterKind kind, std::vector<kernel::BlockIter>& out);
  bool regions(std::vector<kernel::Region>& out);
  bool indices(const kernel::Buffer& b, std::vector<kernel::Expr>& out, std::string_view closer);
  kernel::Stmt together(const std::vector<kernel::Stmt>& body);

  // Expressions; their heights are kept so that they stay within what can be recursed over.
  kernel::Expr whole();      // an expression that ends where the lexer says
  kernel::Expr index();      // an int64
  kernel::Expr condition();  // a bool
  kernel::Expr binary(int least, size_t depth);
  kernel::Expr unary(size_t depth);
  kernel::Expr primary(size_t depth);
  kernel::Expr number(bool negative, uint32_t begin);
  kernel::Expr call(const Token& name, size_t depth);
  kernel::Expr load(const Token& name, size_t depth);
  kernel::Expr operation(std::string_view op, kernel::Expr a, kernel::Expr b, Span span);
  kernel::Expr sized(kernel::Expr e, std::initializer_list<kernel::Expr> parts, Span span);
  size_t height(kernel::Expr e) {
    const auto it = heights_.find(e.get());
    return it == heights_.end() ? 1 : it->second;
  }

  // A statement of all its fields.
  template <class T, class... F>
  kernel::Stmt make(F&&... field) {
    return kernel::make_stmt<T>(arena_, std::forward<F>(field)...);
  }

  // Names that are bound until the brace closes.
  struct Scoped {
    std::string name;
    bool had_value, had_buffer;
    kernel::Expr value;
    const kernel::Buffer* buffer;
  };
  void bind(const std::string& name, kernel::Expr value, const kernel::Buffer* buffer) {
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
  size_t statements_ = 0, checks_ = 0;
  size_t operators_ = 0;  // of the expression at hand
  size_t steps_ = 0;      // of all canonical sums
  std::unordered_map<std::string, kernel::Expr> values_;
  std::unordered_map<std::string, const kernel::Buffer*> buffers_;
  std::vector<Scoped> undo_;
  std::unordered_map<const kernel::ExprNode*, size_t> heights_;
  std::vector<const kernel::Buffer*> temporaries_;
  std::vector<kernel::ReadExtent> read_extents_;
  Symbol origin_, batched_;
  Span batched_span_;
  Span at_ = Span::none();  // the kernel's name
};

}  // namespace relay::text
