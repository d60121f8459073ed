// Generator: the state of generating one program. Its members are in generate.cc (modules and
// functions), types.cc, expressions.cc (forms), cells.cc, calls.cc and operators.cc.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "ir/builder.h"
#include "op/op_def.h"
#include "tests/property/generate.h"

namespace relay::property {

// A variable in scope. Recursive functions may only be called, so that their fuel runs out.
struct Binding {
  const Var* var;
  Type type;
  const Var* fuel = nullptr;  // the fuel parameter of a recursive function
  enum class Calls : uint8_t { kFreely, kNever, kWithLessFuel } calls = Calls::kFreely;
};

// A function of the module.
struct Signature {
  std::string name;
  const FnType* type = nullptr;
  uint32_t group = 0;  // functions call those of earlier groups, and with less fuel those of their own
  bool recursive = false;
};

// What the type parameters and shape variables of a function stand for at one call.
struct Instance {
  std::unordered_map<Symbol, Type> types;
  std::unordered_map<const kernel::ExprNode*, kernel::Expr> dims;
};

class Generator {
 public:
  Generator(std::span<const uint8_t> bytes, const GenerateOptions& options)
      : in_(bytes), options_(options), context_(program_.module.context()), b_(context_) {}

  Program run();

 private:
  struct Callable {
    Expr callee;
    const FnType* type;
    const Var* fuel = nullptr;
    bool recursive = false;
    Instance instance;
  };

  // ---- generate.cc ----
  void data_types();
  void group_of_functions(uint32_t group);
  enum class Generic : uint8_t {
    kNo,
    kAny,
    kNumbers
  };  // numbers: with relations, by which operators take them
  Signature signature(std::string name, Generic generic, bool recursive);
  void define(const Signature& s);
  void main_function();
  Expr main_body(Type result, size_t next);
  Value argument(const TensorType& t);
  std::string name();  // of a variable: anything can be one

  // ---- types.cc ----
  DType dtype();
  Dim dim();     // known, if only by shape variables
  Dim extent();  // may be open
  static bool is_open(const TensorType& t);
  const TensorType* closed(const TensorType& t);
  const TensorType* tensor_type();
  const TensorType* tensor_type(size_t rank, DType d);
  enum class Allow : uint8_t { kData, kCells, kAll };  // data: no cells, no functions, no type parameters
  Type type(Allow allow, int depth);
  Type data_type(Allow allow, int depth);
  Type known_type(Allow allow);
  bool allowed(Type t, Allow allow) const;
  bool has_function(Type t) const;
  Type substituted(Type t, const Instance& by);
  Dim substituted(Dim d, const Instance& by);
  bool match(Type pattern, Type target, const FnType& of, Instance& found);
  bool match(Dim pattern, Dim target, const FnType& of, Instance& found);
  void complete(const FnType& of, Instance& found);
  static bool is_number(Type t);
  std::vector<Type> fields_of(const Constructor& ctor, const DataType& of);

  // ---- expressions.cc ----
  Expr expr(Type t, int depth);
  Expr leaf(Type t);
  Expr constant(const TensorType& t);
  Expr opened(const TensorType& t, int depth);
  Expr operand(Type t, int depth);
  Expr match_shape(Type t, int depth);
  Expr any_form(Type t, int depth);
  Expr form_of(Type t, int depth);
  Expr let(Type t, int depth);
  Expr let_function(Type t, int depth);
  Expr let_generic(Type t, int depth);
  Expr let_loop(Type t, int depth);
  Expr if_(Type t, int depth);
  Expr match_(Type t, int depth);
  Expr projection(Type t, int depth);
  Expr using_(Binding x, Type t, int depth);
  Expr using_any(Type t, int depth);
  Expr let_in(const Var* x, Type bound, Expr value, Type t, int depth);
  Expr shared(Type t);
  Expr lambda(const FnType& t, int depth, bool annotated);
  Expr with_fuel(const Var* fuel, size_t callable, Type t, int depth);
  Expr condition(int depth);
  struct Case {
    Pattern pattern;
    std::vector<std::pair<const Var*, Type>> bound;
  };
  Case case_of_anything(Type t);
  std::vector<Case> cases(Type t, int depth);
  std::vector<Case> cases_of_fields(const std::vector<Type>& fields, int depth,
                                    const std::function<Pattern(std::span<const Pattern>)>& make);
  Expr constructed(const Constructor& ctor, std::span<const Expr> fields, Type t);
  bool determines_type(const Constructor& ctor) const;
  const Var* variable(Type t, bool annotated = true);
  size_t bind(const Var* v, Type t) {
    scope_.push_back({v, t});
    return scope_.size() - 1;
  }
  // What is made while this lives is forgotten afterwards: it may mention what was bound
  // in the meantime.
  class Inside;

  // ---- cells.cc ----
  Expr let_cell(Type t, int depth);
  Expr shared_cell(Type t, int depth);
  Expr effect_first(Type t, int depth);
  Expr read(Type t, int depth);

  // ---- calls.cc ----
  std::vector<Callable> callables(Type result);
  Expr call(Type t, int depth);
  Expr curried_call(Type t, int depth);
  Expr call_of(Callable& f, int depth);
  Expr function_value(const FnType& t, int depth);
  Expr one_of_scope(Type t);

  // ---- operators.cc ----
  Expr operation(const TensorType& t, int depth);
  Expr operation_on_numbers(Type t, int depth);
  Expr apply(std::string_view op, const std::vector<Type>& args, const std::vector<AttrArg>& attrs,
             Type result, int depth, std::optional<uint32_t> field = {});
  Expr of_shape_argument(std::string_view name, const TensorType* data, const TensorType& t, int depth);
  Expr fill(const TensorType& t);
  Expr elementwise(const TensorType& t, int depth);
  Expr reduction(const TensorType& t, int depth);
  Expr movement(const TensorType& t, int depth);
  Expr product(const TensorType& t, int depth);
  Expr joined(const TensorType& t, int depth);
  Expr conversion(const TensorType& t, int depth);
  Expr truth(const TensorType& t, int depth);
  Expr may_trap(const TensorType& t, int depth);
  Expr refined(const TensorType& t, int depth);
  Expr about_shapes(const TensorType& t, int depth);
  const TensorType* with_dims(const TensorType& t, std::vector<Dim> dims) {
    return context_.tensor_type(dims, t.dtype);
  }
  const TensorType* narrower(const TensorType& t);

  ByteSource in_;
  GenerateOptions options_;
  Program program_;
  Context& context_;
  Builder b_;

  uint32_t expressions_ = 0;
  uint32_t names_ = 0;
  std::vector<Signature> functions_;
  std::vector<const DataTypeDef*> data_types_;

  // Of the function at hand.
  uint32_t group_ = 0;
  const Var* own_fuel_ = nullptr;  // where functions of the same group may be called
  std::vector<Dim> dims_;          // the shape variables it binds
  std::vector<Type> type_vars_;    // those of which there is a value
  std::vector<Type> number_vars_;  // those that operators take
  std::vector<Binding> scope_;
  std::vector<std::pair<Expr, Type>> made_;  // expressions that may be used once more
};

class Generator::Inside {
 public:
  explicit Inside(Generator& g) : g_(g), scope_(g.scope_.size()), made_(g.made_.size()) {}
  ~Inside() {
    g_.scope_.resize(scope_, Binding{});
    g_.made_.resize(made_);
  }
  Inside(const Inside&) = delete;

 private:
  Generator& g_;
  size_t scope_, made_;
};

}  // namespace relay::property
