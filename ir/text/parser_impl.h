// Parser: the state of one run of the parser. Its members are in parser*.cc, by subject.
//
// Expressions, patterns and types are read by machines with explicit stacks: nesting costs
// heap, not stack. A member that returns false or null has reported why. After a mistake in an
// expression the machine goes on at the next `;` or closing bracket with a poison value, to
// find later mistakes.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ir/builder.h"
#include "ir/text/habits.h"
#include "ir/text/lexer.h"
#include "ir/text/literal.h"
#include "ir/text/metadata.h"
#include "ir/text/parser.h"
#include "ir/text/parser_frames.h"
#include "ir/text/partial.h"
#include "ir/text/read_calls.h"
#include "ir/text/type_names.h"

namespace relay::text {

class Parser {
  friend class KernelReader;  // parser_kernel.cc

 public:
  // `imported`: set if the text is a library's; what the text that imports it has imported so far.
  Parser(uint32_t file, std::string_view text, Diagnostics& diagnostics, const Operators& operators,
         const ParseOptions& options, std::set<std::string>* imported = nullptr);

  Result<Module> module();
  // A variable that expressions may mention although nothing binds it.
  void declare(std::string_view name, Type annotation = nullptr);
  Result<Expr> expression();
  Result<Type> whole_type();
  // What could be read, after `module` failed (ir/text/partial.h).
  std::optional<Partial> partial() const;

  // Parts of a text, from `offset` on.
  Result<Expr> part_expr(size_t& offset);
  Result<Expr> part_number(size_t& offset);
  Result<Type> part_type(size_t& offset);
  Result<Dim> part_dim(size_t& offset);
  Result<AttrValue> part_attr_value(size_t& offset);

 private:
  // ---- parser.cc: tokens, messages, definitions ----
  const Token& peek() { return lexer_.peek(); }
  Token next();
  bool take(std::string_view punctuation);  // consumes it if it is next
  bool take_word(std::string_view word);
  // Consumes it, or reports that it is not next; `place` is where it stands.
  bool need(std::string_view punctuation, std::string_view why, Place place = Place::kNone);
  bool need_after(std::string_view punctuation, std::string_view why);  // the same behind an expression
  // Reports what is next instead, unless the item at hand has a mistake already; returns false.
  bool expected(std::string_view what, Slug slug = "expected-token", std::string_view remedy = {});
  bool expected_in_bracket(Place place, std::string_view what, Slug slug);  // names the open bracket
  // The same with the remedy for a habit of other languages, if it is one.
  bool expected_at(Place place, std::string_view what, Slug slug = "expected-token");
  Span here_from(uint32_t begin) const { return {lexer_.file(), begin, lexer_.end_of_last()}; }
  Diagnostic& error(Span span, Slug slug, std::string message);
  // Adds "did you mean" if a candidate is near; `candidates` is called only then.
  void suggest(Diagnostic& d, std::string_view name, std::string_view sigil,
               const std::function<std::vector<std::string>()>& candidates);
  bool open(Span at);  // one bracket deeper; reports and fails beyond the limit
  void close() { --depth_; }
  bool at_definition();
  void skip_to_definition();
  // Reads the elements of a list up to `closer`; a comma may follow the last one. False on error.
  template <class Element>
  bool list(std::string_view closer, Place behind_element, Element&& element);
  template <class Element>
  bool list(std::string_view closer, Element&& element) {
    return list(closer, Place::kNone, element);
  }
  // After element number `count` of a list. True: another one may follow; else check failed_.
  bool comma_or(std::string_view closer, size_t count, Place place = Place::kNone);
  void warn_of_missing_comma();

  template <class T, class Read>
  Result<T> part(size_t& offset, Read&& read);
  bool read_header();
  template <class Take>
  void look_ahead(Take&& take);
  bool take_data_type();
  bool data_type(bool is_extern);
  bool constructor(Symbol data_type, std::vector<const Constructor*>& ctors);
  void read_definitions();
  bool function_definition();
  bool function_named(const Token& name);
  // Reports what stands in the place of a name that begins with `sigil`.
  bool expected_name(std::string_view what, std::string_view sigil, Place place = Place::kNone);
  bool expected_parameter();
  bool keyword_as_name(std::string_view what);  // is one next where a name is expected? It is reported then
  bool kernel_definition(bool is_external);
  void check_names();
  void check_scopes(const Fn* fn);
  void use_metadata();

  // ---- parser_lone.cc ----
  bool at_lone_expression();
  void lone_expression();

  // ---- parser_import.cc ----
  bool take_import();  // false if something else is next
  void import_library(const Token& name);
  enum class Twice : uint8_t { kProgram, kLibrary, kClash };
  // Who defines a name for the second time: a program, a library that is imported again, or one of
  // each, which is reported.
  Twice defined_by(Span now, Span before, Slug slug, std::string_view what);
  void keep_mentioned();

  // ---- parser_fn.cc: functions' headers, scopes ----
  struct FnHeader {
    std::vector<const TypeVar*> type_params;
    std::vector<Type> where;
    std::vector<const Var*> params;
    Type result = nullptr;
    Attrs attrs;
    size_t scope = 0, types = 0;  // undo marks
    uint32_t begin = 0;
  };
  bool fn_header(FnHeader& header);
  bool type_params(std::vector<const TypeVar*>& out, std::vector<Type>* where = nullptr);
  bool relation(std::vector<Type>& out);
  const Var* lookup(Symbol name) const;
  void bind(const Var* var);
  void leave_scope(size_t mark);

  // ---- parser_expr.cc: the machine ----
  enum class State : uint8_t { kItem, kOperand, kValue, kReduce, kEnded, kDone, kFailed };
  Expr run_expression();  // a sequence, as in a function's body; null if it failed beyond repair
  State begin_item();
  State let_item();
  State match_shape_item();
  State graph_item();
  void bind_names_of_tuple();
  // Fails with the variable bound to what could not be read: that it is unknown would be no news.
  State broken_binding(const Token& name, uint32_t begin);
  State free_variable();
  State operand();
  State name_operand();
  State special_operand(bool& special);
  State postfix();
  State reduce();
  State deliver();
  State end_sequence();
  State closed();  // value_ is what stood inside the bracket of the frame on top
  State close_paren();
  State close_function();
  State close_part_of_if();
  State close_if();
  State close_reference();
  State next_argument();  // after `(` or `,` of a call
  State finish_call();
  State next_arm();
  State finish_match();
  State value(Expr e, uint32_t begin);
  State opened(Step step, uint32_t begin);
  State sequence();
  Expr infix(const Frame& f, Expr right);
  bool recover(State& state);
  bool skip_to_end_of_construct();
  size_t construct_ended_by(const Token& t) const;
  void resume_after_item(const std::optional<Frame>& binding, State& state);
  void drop_frame();
  Frame& top() { return frames_.back(); }
  void push(Step step, uint32_t begin);
  void pop() { frames_.pop_back(); }

  // ---- parser_literal.cc ----
  State number_operand();
  State tensor_operand();
  State constant_operand();
  State metadata_operand();
  const Constant* constant(Tensor value, std::string_view name, Span span);
  std::optional<Tensor> scalar(const Token& token, bool negative, uint32_t begin);
  std::optional<Tensor> tensor_literal();
  std::optional<DType> dtype();
  struct Elements;  // of a tensor literal
  bool element_of_list(Elements& elements);
  bool element_lists(Elements& elements, Span word);
  bool shape_of_list(Shape& shape);
  std::optional<Tensor> tensor_of_elements(const Elements& elements, DType d, const Shape& shape);

  // ---- parser_type.cc ----
  Pattern pattern();
  Type type();
  enum class Reading : uint8_t { kPart, kEnded, kFailed };  // a part of a type is next; it ended
  Reading begin_type(OpenTypes& open_types, Type& done);
  Reading begin_fn_type(OpenTypes& open_types);
  Reading begin_named_type(OpenTypes& open_types, Type& done);
  Reading end_types(OpenTypes& open_types, Type& done);
  bool read_annotation(Type& out);
  Type tensor_type();
  Type tensor_of(std::span<const Dim> dims);
  const Constructor* find_ctor(std::string_view name) const;
  std::vector<std::string> ctor_names() const;

  // ---- parser_attrs.cc: attributes and index arithmetic ----
  bool at_attribute();
  bool attributes(std::vector<Attr>& out, std::string_view closer);
  std::optional<AttrValue> attr_value(size_t depth);
  std::optional<AttrValue> attr_primary(size_t depth);
  std::optional<AttrValue> attr_in_brackets(size_t depth);
  std::optional<AttrValue> attr_number(const Number& n, uint32_t begin);
  std::optional<AttrValue> meta_attr(const Token& token);
  std::optional<Dim> dim();
  struct Arithmetic {  // limits of one expression
    size_t operators = 0;
    bool attribute = false;        // `//` begins a comment unless its left operand is symbolic
    size_t comment_at = SIZE_MAX;  // where that was decided last
  };
  struct Operand {
    Dim dim;
    size_t height = 1;
  };
  std::optional<Operand> arithmetic(Arithmetic& limits, int least, size_t depth, const Operand* left);
  std::optional<Operand> arithmetic_operand(Arithmetic& limits, size_t depth);
  std::optional<Operand> arithmetic_call(Arithmetic& limits, size_t depth, const Token& name);
  std::string_view arithmetic_operator(Arithmetic& limits, const Operand& left);
  std::optional<Operand> combined(Arithmetic& limits, std::string_view op, const Operand& a, const Operand& b,
                                  Span span);
  std::optional<std::pair<std::string, size_t>> meta_key(const Token& token);
  void report_metadata(Span span, const MetaError& wrong);

  Lexer lexer_;
  Diagnostics& diagnostics_;
  const Operators& operators_;
  const ParseOptions& options_;
  Module module_;
  Builder builder_;
  std::set<std::string>* imported_;  // names of libraries
  std::set<uint32_t> imports_read_;  // where their names stand
  const size_t errors_before_;
  size_t errors_at_item_;         // when the item or definition at hand began
  std::vector<Span> brackets_;    // that are open
  std::set<std::string> broken_;  // globals and types with mistakes: not known, although they are defined
  bool broken_types_ = false;
  size_t depth_ = 0, suggestions_ = 0;
  std::vector<std::pair<Symbol, Span>> batched_kernels_;  // those that name another, and where
  std::map<Symbol, const kernel::Kernel*> externals_;     // the first kernel of each C function
  size_t kernel_checks_ = 0;                              // how much there was to validate so far
  int64_t race_checked_ = 0;                              // and to check for races
  bool module_mode_ = false, lone_ = false, failed_ = false;
  std::vector<const Var*> free_variables_;

  // Scopes: the variables that a name may mean, innermost last; what was bound, for
  // leaving a scope.
  std::unordered_map<Symbol, std::vector<const Var*>> locals_;
  std::vector<Symbol> bound_;
  TypeNames types_;
  std::map<uint32_t, size_t> data_types_read_;  // where their names stand; where they end, 0 if they do not
  std::unordered_map<Symbol, const Constructor*> ctors_here_;  // of the data type at hand
  bool redefining_ = false;                                    // the data type at hand exists already
  std::unordered_map<std::string, Expr> graph_;
  bool used_graph_ = false;  // by the function at hand

  // What was mentioned, to be checked against what is defined.
  std::vector<std::pair<Symbol, Span>> used_globals_, used_types_;

  Metadata metadata_;
  bool metadata_read_ = false;
  bool in_relation_ = false;  // between the brackets of `Broadcast(A, B, C)`

  std::vector<Frame> frames_;
  std::vector<Expr> operands_;
  std::vector<Item> items_;
  std::vector<FnHeader> headers_;
  std::vector<MatchState> matches_;
  Expr value_ = nullptr;
  uint32_t value_begin_ = 0;
  const Var* poison_ = nullptr;  // stands where an expression could not be read
  bool in_function_ = false;     // a function or a kernel is read
  bool only_functions_fail_ = false;
  Attrs call_attrs_;  // of the call that is about to be finished
  ReadCalls read_calls_;
  // Variables of `let %f = fn ...` whose value is being read, and whether it mentions them.
  std::unordered_map<const Var*, bool> pending_lets_;
};

template <class Element>
bool Parser::list(std::string_view closer, Place behind_element, Element&& element) {
  for (size_t count = 1;; ++count) {
    if (take(closer)) return true;
    if (!element()) return false;
    failed_ = false;
    if (!comma_or(closer, count, behind_element)) return !failed_;
  }
}

}  // namespace relay::text
