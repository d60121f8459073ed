// Modules: data types, functions that call each other, @main and its arguments.
#include "tests/property/generate.h"

#include <algorithm>

#include "base/cat.h"
#include "op/ops.h"
#include "tests/property/generator.h"
#include "tests/property/networks.h"

namespace relay::property {

Program generate(std::span<const uint8_t> bytes, const GenerateOptions& options) {
  return Generator(bytes, options).run();
}

Program Generator::run() {
  if (options_.sometimes_network && in_.once_in(4))
    return generate_network(in_, options_.dataflow ? Recursion::kNone : Recursion::kMay);
  if (options_.sometimes_dataflow) options_.dataflow = in_.once_in(4);
  if (!options_.dataflow) {
    data_types();
    const uint32_t groups = in_.below(4);
    for (uint32_t group = 0; group < groups; ++group) group_of_functions(group);
    group_ = groups;
  }
  main_function();
  return std::move(program_);
}

// A variable may be called anything: what is no plain name is quoted in a text.
std::string Generator::name() {
  static const std::vector<std::string> kOdd{"x",  "let",   "a b", "0",  "n",     "`",     "x",
                                             "\n", "int32", "if",  "1x", "*/ \\", "\"?\?/"};
  if (in_.once_in(24)) return in_.choose(kOdd);
  return cat("v", names_++);
}

void Generator::data_types() {
  // The first constructor of each is not recursive, so that every type has a small value.
  static const std::vector<std::string> kNames{"Zero", "One", "Two"};
  const uint32_t count = in_.below(4);
  for (uint32_t i = 0; i < count; ++i) {
    const std::string name = cat("D", i);
    std::vector<const TypeVar*> params;
    std::vector<Type> args;
    for (uint32_t n = in_.below(3); n-- > 0;) {
      params.push_back(context_.type_var(cat("A", params.size())));
      args.push_back(params.back());
    }
    const Type self = context_.data_type(name, args);
    std::vector<const Constructor*> ctors;
    const uint32_t constructors = 1 + in_.below(3);
    for (uint32_t c = 0; c < constructors; ++c) {
      std::vector<Type> fields;
      for (uint32_t n = in_.below(4); n-- > 0;) {
        const uint32_t what = in_.below(6);
        if (what >= 4 && c > 0) {
          fields.push_back(self);
        } else if (what >= 2 && !args.empty()) {
          fields.push_back(in_.choose(args));
        } else {
          fields.push_back(type(Allow::kData, 1));
        }
      }
      // A constructor may have the name of an operator, which it then hides.
      const std::string ctor_name = i == 0 && c == 0 && in_.once_in(10) ? "add" : cat(kNames[c], i);
      ctors.push_back(context_.arena().make<Constructor>(Constructor{
          context_.symbol(ctor_name), context_.symbol(name), c, context_.arena().list(fields), {}}));
    }
    const auto* def = context_.arena().make<DataTypeDef>(DataTypeDef{
        context_.symbol(name), context_.arena().list(params), context_.arena().list(ctors), false, {}});
    program_.module.set_data_type(def);
    data_types_.push_back(def);
  }
}

// ---- functions ----

void Generator::group_of_functions(uint32_t group) {
  const uint32_t kind = in_.below(7);
  const bool recursive = kind == 3 || kind == 4 || kind == 6;
  const Generic generic = kind >= 5                ? Generic::kNumbers
                          : kind == 1 || kind == 3 ? Generic::kAny
                                                   : Generic::kNo;
  const uint32_t size = kind == 4 ? 2 : 1;
  const size_t first = functions_.size();
  for (uint32_t i = 0; i < size; ++i) {
    functions_.push_back(signature(cat("f", first + i), generic, recursive));
    functions_.back().group = group;
  }
  group_ = group;
  for (size_t i = first; i < functions_.size(); ++i) define(Signature(functions_[i]));
}

Signature Generator::signature(std::string name, Generic generic, bool recursive) {
  Signature s{std::move(name), nullptr, 0, recursive};
  scope_.clear();
  std::vector<const TypeVar*> type_params;
  std::vector<Type> args;
  if (recursive) args.push_back(context_.scalar_type(kInt32));
  type_vars_.clear();
  if (generic != Generic::kNo) {
    for (uint32_t n = 1 + in_.below(2); n-- > 0;) {
      type_params.push_back(context_.type_var(cat("A", type_params.size())));
      type_vars_.push_back(type_params.back());
      args.push_back(type_params.back());  // so that there is a value of it
    }
  }
  dims_.clear();
  for (uint32_t n = in_.below(3); n-- > 0;) {
    // A shape variable is bound by a tensor that has it as an extent.
    const Dim variable = context_.shape_variable(dims_.empty() ? "n" : "m");
    std::vector<Dim> dims{variable};
    if (in_.below(2) == 1) dims.push_back(dim());
    dims_.push_back(variable);
    args.push_back(context_.tensor_type(dims, dtype()));
  }
  for (uint32_t n = in_.below(3); n-- > 0;) args.push_back(type(Allow::kAll, 2));
  const bool gives_number = generic == Generic::kNumbers && in_.below(3) != 2;
  const Type result = gives_number ? type_vars_[0] : type(Allow::kAll, 2);
  std::vector<Type> where;
  if (generic == Generic::kNumbers) {
    for (Type a : type_vars_) {
      where.push_back(context_.relation_type("Broadcast", std::vector<Type>{a, a, a}));
      where.push_back(context_.relation_type("Elementwise", std::vector<Type>{a, a}));
    }
  }
  s.type = context_.fn_type(type_params, args, result, where);
  return s;
}

namespace {

void collect_dims(Type t, std::vector<Dim>& out) {
  if (const auto* tensor = t->as<TensorType>()) {
    for (Dim d : tensor->dims) {
      if (!d.is_symbolic()) continue;
      for (kernel::Expr v : kernel::variables(d.symbolic())) {
        if (std::find(out.begin(), out.end(), Dim(v)) == out.end()) out.push_back(Dim(v));
      }
    }
  }
  for_each_part(t, [&](Type part) { collect_dims(part, out); });
}

}  // namespace

void Generator::define(const Signature& s) {
  scope_.clear();
  made_.clear();
  dims_.clear();
  for (Type arg : s.type->args) collect_dims(arg, dims_);
  type_vars_.assign(s.type->type_params.begin(), s.type->type_params.end());
  number_vars_.clear();
  if (!s.type->where.empty()) number_vars_ = type_vars_;
  std::vector<const Var*> params;
  for (Type arg : s.type->args) {
    params.push_back(variable(arg));
    bind(params.back(), arg);
  }
  expressions_ = 0;
  Expr body = s.recursive        ? with_fuel(params[0], SIZE_MAX, s.type->result, 4)
              : s.name == "main" ? main_body(s.type->result, 0)
                                 : expr(s.type->result, 4);
  // Functions that call themselves, or are called before their turn, say what they give.
  const bool written = s.recursive || in_.below(3) != 2;
  program_.module.set_function(s.name, b_.fn(params, body, written ? s.type->result : nullptr, {},
                                             s.type->type_params, s.type->where));
}

// ---- @main ----

// let %y = @f(...); ... for the functions of the module, or else most of them would never run.
Expr Generator::main_body(Type result, size_t next) {
  while (next < functions_.size() && in_.below(4) == 0) ++next;
  if (next >= functions_.size()) return expr(result, options_.dataflow ? 8 : 5);
  const Signature& f = functions_[next];
  Callable callable{b_.global(f.name), f.type, nullptr, f.recursive, {}};
  complete(*f.type, callable.instance);
  const Type type = substituted(f.type->result, callable.instance);
  Expr value = call_of(callable, 3);
  const Inside inside(*this);
  const Var* x = variable(type, false);
  bind(x, type);
  if (in_.below(2) == 0) return b_.let(x, value, main_body(result, next + 1));
  Expr rest = main_body(result, next + 1);
  const Var* y = variable(result, false);
  const Inside within(*this);
  bind(y, result);
  return b_.let(x, value, b_.let(y, rest, using_(scope_[scope_.size() - 2], result, 3)));
}

void Generator::main_function() {
  scope_.clear();
  type_vars_.clear();
  dims_.clear();
  std::vector<Type> args;
  if (!options_.dataflow && in_.below(3) == 2) {
    dims_.push_back(context_.shape_variable("n"));
    args.push_back(context_.tensor_type(std::vector<Dim>{dims_[0]}, dtype()));
  }
  const uint32_t count = in_.below(4);
  for (uint32_t i = 0; i < count; ++i) args.push_back(tensor_type());
  // A parameter of the type of the result: so it often has a part in it.
  if (options_.float_result) args.push_back(tensor_type(in_.below(3), kFloat32));
  Type result = nullptr;
  if (options_.dataflow) {
    result = tensor_type();
    if (in_.below(3) == 2) result = context_.tuple_type(std::vector<Type>{result, tensor_type()});
  } else if (options_.float_result) {
    result = args.back();
    if (in_.below(3) == 2) result = context_.tuple_type(std::vector<Type>{tensor_type(), result});
  } else {
    result = type(Allow::kData, 2);
  }
  const Signature s{"main", context_.fn_type({}, args, result), group_, false};
  define(s);
  Instance extents;
  for (Dim n : dims_) extents.dims.emplace(n.symbolic().get(), context_.pool().integer(1 + in_.below(3)));
  dims_.clear();
  for (Type arg : args)
    program_.args.push_back(argument(*closed(*substituted(arg, extents)->as<TensorType>())));
}

// Small integers, of static shape.
Value Generator::argument(const TensorType& t) { return Value(*constant(t)->as<Constant>()->value); }

}  // namespace relay::property
