#include "frontend/onnx/sequences.h"

#include <algorithm>

#include "base/cat.h"
#include "ir/analysis.h"
#include "ir/text/parser.h"
#include "op/operators.h"

namespace relay::frontend {
namespace {

using Form = Operand::Form;

constexpr std::string_view kList = "List", kOption = "Option";

// What converters call. Its body makes the text keep them; the model's function replaces it.
constexpr std::string_view kUsed = R"(import "sequence"
import "tensor_array"
def @main(%list: List[int32], %option: Option[int32]) {
  (@sequence_length, @sequence_at, @sequence_insert, @sequence_append, @sequence_erase, @sequence_tabulate,
   @optional_get, @optional_has, @map, @zip, @tensor_array_join)
}
)";

Operand composite(Form form, std::vector<Operand> elements) {
  Operand out;
  out.form = form;
  out.elements = std::make_shared<const std::vector<Operand>>(std::move(elements));
  return out;
}

std::string_view data_type_of(Form form) { return form == Form::kSequence ? kList : kOption; }

// The form of a value of a data type.
Form form_of(Type t) {
  const auto* data = t->as<DataType>();
  if (!data) return Form::kTensor;
  return data->name.text() == kList ? Form::kSequence : Form::kOptional;
}

}  // namespace

bool is_composite(const Operand& o) {
  return o.form != Form::kTensor || (o.expr && o.expr->type && o.expr->type->as<DataType>());
}

Operand sequence_of(std::vector<Operand> elements) { return composite(Form::kSequence, std::move(elements)); }
Operand optional_of(std::vector<Operand> value) { return composite(Form::kOptional, std::move(value)); }

Type joined_type(Context& context, Type a, Type b) {
  if (a == b) return a;
  if (const auto *x = a->as<DataType>(), *y = b->as<DataType>(); x && y) {
    const Type element = x->name == y->name ? joined_type(context, x->args[0], y->args[0]) : nullptr;
    return element ? context.data_type(x->name.text(), std::vector<Type>{element}) : nullptr;
  }
  const auto *x = a->as<TensorType>(), *y = b->as<TensorType>();
  if (!x || !y || x->rank() != y->rank() || x->dtype != y->dtype) return nullptr;
  std::vector<Dim> dims;
  for (size_t i = 0; i < x->rank(); ++i)
    dims.push_back(x->dims[i] == y->dims[i] ? x->dims[i] : Dim::unknown());
  return context.tensor_type(dims, x->dtype);
}

Type value_type(Importer& importer, Operand& o) {
  if (o.form == Form::kTensor || o.expr) return importer.materialise(o)->type;
  Type element = nullptr;
  for (Operand e : *o.elements) {
    const Type next = value_type(importer, e);
    if (!next) return nullptr;
    const Type both = element ? joined_type(importer.context(), element, next) : next;
    if (!both) {
      throw Refusal{"unsupported-operator-form",
                    cat("a sequence whose length only a run knows has elements of the types ",
                        show(element, 80), " and ", show(next, 80)),
                    "its elements must have one dtype and one number of dimensions, unless constants say how "
                    "many there are"};
    }
    element = both;
  }
  if (!element) return nullptr;
  return importer.library_type(data_type_of(o.form), element);
}

Expr widened(Builder& b, Expr e, Type type) {
  if (e->type == type) return e;
  const Var* x = b.var("x", type);
  return b.let(x, e, x);
}

Expr as_value(Importer& importer, Operand& o, Type type) {
  Builder& b = importer.builder();
  if (o.expr || o.form == Form::kTensor) return widened(b, importer.materialise(o), type);
  const Type element = type->as<DataType>()->args[0];
  const auto make = [&](std::string_view constructor, std::initializer_list<Expr> fields) -> Expr {
    return b.call(b.ctor(*importer.library_constructor(constructor)), fields, {}, type);
  };
  if (o.form == Form::kOptional) {
    if (o.elements->empty()) return make("None", {});
    Operand value = o.elements->front();
    return make("Some", {as_value(importer, value, element)});
  }
  Expr list = make("Nil", {});
  for (size_t i = o.elements->size(); i-- > 0;) {
    Operand value = (*o.elements)[i];
    list = make("Cons", {as_value(importer, value, element), list});
  }
  return list;
}

// --- The library ---------------------------------------------------------------------------------

void Importer::use_library() {
  if (module_.data_type(kList)) return;
  ParseOptions options;
  options.into = module_;
  Diagnostics own;
  const Result<Module> read =
      parse("<functions of sequences>", std::string(kUsed), own, op::operators(), options);
  CHECK(read.ok(), "the library's own text must parse");
  module_ = *read;
}

Type Importer::library_type(std::string_view name, Type element) {
  use_library();
  uses_options_ = uses_options_ || name == kOption;
  return context().data_type(name, std::vector<Type>{element});
}

const Constructor* Importer::library_constructor(std::string_view name) {
  use_library();
  return module_.constructor(name);
}

Expr Importer::library_call(std::string_view function, std::initializer_list<Expr> args, Type type) {
  use_library();
  return builder_.call(builder_.global(function), args, {}, type);
}

Module Importer::without_unused(const Module& imported) const {
  Module out = empty_;
  std::vector<std::string> pending{"main"};
  while (!pending.empty()) {
    const std::string name = std::move(pending.back());
    pending.pop_back();
    if (out.function(name)) continue;
    if (const kernel::Kernel* kernel = imported.kernel(name)) {
      out.set_kernel(name, kernel);
      continue;
    }
    const Fn* fn = imported.function(name);
    out.set_function(name, fn);
    for (const Symbol s : mentioned_globals(fn)) pending.push_back(s.str());
  }
  for (const auto& [name, def] : imported.data_types()) {
    if (name.text() != kOption || uses_options_) out.set_data_type(def);
  }
  return out;
}

// --- Branches ------------------------------------------------------------------------------------

bool JoinedBranches::add(const JoinedValue& v) {
  if (is_composite(*v.yes) || is_composite(*v.no)) return take_apart(v.name, *v.yes, *v.no);
  layout_.push_back({Form::kTensor, 0});
  values_.push_back(v);
  return true;
}

bool JoinedBranches::take_apart(std::string_view name, Operand yes, Operand no) {
  const auto push = [&](Operand a, Operand b) {
    layout_.push_back({Form::kTensor, 0});
    Operand* const left = &operands_.emplace_back(std::move(a));
    Operand* const right = &operands_.emplace_back(std::move(b));
    values_.push_back({name, left, right});
    return true;
  };
  if (!is_composite(yes) && !is_composite(no)) return push(std::move(yes), std::move(no));
  if (yes.elements && no.elements && yes.form == no.form && yes.elements->size() == no.elements->size()) {
    layout_.push_back({yes.form, yes.elements->size()});
    for (size_t i = 0; i < yes.elements->size(); ++i) {
      if (!take_apart(name, (*yes.elements)[i], (*no.elements)[i])) return false;
    }
    return true;
  }
  // A value that is there in any case may stand for an optional one.
  const auto form = [](const Operand& o) { return o.expr && o.expr->type ? form_of(o.expr->type) : o.form; };
  if (form(yes) == Form::kOptional && form(no) != Form::kOptional) no = optional_of({std::move(no)});
  if (form(no) == Form::kOptional && form(yes) != Form::kOptional) yes = optional_of({std::move(yes)});
  const Type a = value_type(importer_, yes), b = value_type(importer_, no);
  const Type both = a && b ? joined_type(importer_.context(), a, b) : a ? a : b;
  if (!both) return false;
  Operand left, right;
  left.expr = as_value(importer_, yes, both);
  right.expr = as_value(importer_, no, both);
  return push(std::move(left), std::move(right));
}

std::vector<Operand> JoinedBranches::rebuilt(std::vector<Operand> parts) const {
  std::vector<Operand> out;
  size_t part = 0, next = 0;
  // One operand, with its elements. Nested at most as deep as an optional sequence of tensors.
  const auto take = [&](const auto& self) -> Operand {
    const Part& p = layout_[part++];
    if (p.form == Form::kTensor) return std::move(parts[next++]);
    std::vector<Operand> elements;
    for (size_t i = 0; i < p.count; ++i) elements.push_back(self(self));
    return composite(p.form, std::move(elements));
  };
  while (part < layout_.size()) out.push_back(take(take));
  return out;
}

}  // namespace relay::frontend
