// The parameters of @main: the inputs of the graph, with shape variables for their dynamic axes.
#include "base/cat.h"
#include "base/nearest.h"
#include "frontend/data/onnx_tensor.h"
#include "frontend/data/storage.h"
#include "frontend/onnx/fixed_input.h"
#include "frontend/onnx/importer.h"
#include "frontend/onnx/names.h"
#include "frontend/onnx/texts.h"
#include "frontend/onnx/usage.h"

namespace relay::frontend {
namespace {

std::string show_wanted(const std::vector<InputDim>& dims) {
  return cat(
      "[",
      join(dims, ", ",
           [](const InputDim& d) {
             return d.extent >= 0 ? std::to_string(d.extent) : d.name.empty() ? std::string("?") : d.name;
           }),
      "]");
}

bool is_one_element(const Var& input) {
  const std::optional<Shape> shape = input.annotation->as<TensorType>()->static_shape();
  return shape && element_count(*shape) == 1;
}

}  // namespace

// The dims of an input: what the model declares, as far as the options do not fix them.
std::optional<std::vector<Dim>> Importer::input_dims(const ::onnx::ValueInfoProto& input) {
  const ::onnx::TypeProto::Tensor& type = input.type().tensor_type();
  const auto wanted = options_.input_shapes.find(input.name());
  const auto refuse = [&](Slug slug, std::string why) -> Diagnostic& {
    return diagnostics_.error(Span::none(), slug,
                              cat("input `", printable(input.name()), "` of `", name_, "`: ", why));
  };
  if (!type.has_shape() && wanted == options_.input_shapes.end()) {
    refuse("unsupported-rank", "the model does not say what its shape is")
        .note("give it with --input-shapes NAME:[...]");
    return std::nullopt;
  }
  const size_t rank = type.has_shape() ? static_cast<size_t>(type.shape().dim_size()) : wanted->second.size();
  if (rank > data::kMaxRank) {
    refuse("onnx-invalid", cat("it has more than ", data::kMaxRank, " dimensions"));
    return std::nullopt;
  }
  if (wanted != options_.input_shapes.end() && wanted->second.size() != rank) {
    refuse("input-shape-mismatch", cat("the shape ", show_wanted(wanted->second),
                                       " was asked for, and it has ", rank, " dimensions"));
    return std::nullopt;
  }
  const auto named = [&](const std::string& name) {
    const auto it = axes_.find(name);
    return it != axes_.end() ? it->second : axes_.emplace(name, new_variable(name)).first->second;
  };
  std::vector<Dim> out;
  for (size_t i = 0; i < rank; ++i) {
    const InputDim* wish = wanted != options_.input_shapes.end() ? &wanted->second[i] : nullptr;
    const ::onnx::TensorShapeProto::Dimension* declared =
        type.has_shape() ? &type.shape().dim(static_cast<int>(i)) : nullptr;
    const bool fixed = declared && declared->has_dim_value() && declared->dim_value() >= 0;
    if (fixed) {
      if (wish && wish->extent != declared->dim_value()) {
        refuse("input-shape-mismatch",
               cat("the shape ", show_wanted(wanted->second), " was asked for, and its extent ", i,
                   " is always ", declared->dim_value()));
        return std::nullopt;
      }
      out.emplace_back(declared->dim_value());
    } else if (wish && wish->extent >= 0) {
      out.emplace_back(wish->extent);
    } else if (declared && declared->has_dim_param() && !declared->dim_param().empty()) {
      out.push_back(named(declared->dim_param()));
    } else if (wish && !wish->name.empty()) {
      out.push_back(named(wish->name));
    } else {
      out.push_back(new_variable(cat(input.name(), "_", i)));
    }
  }
  return out;
}

// The inputs of a model's graph, which become parameters.
class Importer::Inputs {
 public:
  explicit Inputs(Importer& importer) : i_(importer) {}

  // Each returns false if it reported something.
  bool list();
  bool check_given() {
    const bool shapes = check_given(i_.options_.input_shapes, "shape");
    return check_given(i_.options_.input_values, "value") && shapes;
  }
  bool fix_axes();
  bool declare(std::vector<const Var*>& params);
  // Makes sequences and the like of the tensors that stand for them.
  void gather() {
    for (const ::onnx::ValueInfoProto* c : composites_)
      i_.scope_->names.emplace(c->name(), i_.gathered_input(c->name(), c->type()));
  }

 private:
  template <class Given>
  bool check_given(const Given& given, std::string_view what);
  bool is_unused_text(const ::onnx::ValueInfoProto& input);
  bool declare(const ::onnx::ValueInfoProto& input, std::vector<const Var*>& params);
  // The value of a parameter: itself, or what it is fixed to. Nothing if that does not fit.
  std::optional<Operand> value_of(const ::onnx::ValueInfoProto& input, const Var* param);
  std::string shown(const ::onnx::ValueInfoProto& input) const {
    return cat("`", printable(input.name()), "` of `", i_.name_, "`");
  }

  Importer& i_;
  std::vector<const ::onnx::ValueInfoProto*> inputs_, composites_;
  std::set<std::string> names_;
  std::optional<std::unordered_set<std::string_view>> used_;  // looked up where there is text
};

bool Importer::Inputs::list() {
  bool ok = true;
  for (const ::onnx::ValueInfoProto& input : i_.model_.graph().input()) {
    const bool is_new = names_.insert(input.name()).second;
    if (!is_new || input.name().empty()) {
      i_.diagnostics_.error(Span::none(), is_new ? Slug("onnx-unnamed-input") : Slug("onnx-redefined-value"),
                            cat("`", i_.name_, "`: ",
                                is_new ? "an input has no name"
                                       : cat("two inputs are called `", printable(input.name()), "`")));
      ok = false;
    } else if (!i_.scope_->find(input.name())) {  // an input with a default is a constant
      std::vector<const ::onnx::ValueInfoProto*> tensors;
      if (input.type().has_tensor_type() || !i_.expand_input(input.name(), input.type(), tensors)) {
        inputs_.push_back(&input);
        continue;
      }
      composites_.push_back(&input);
      for (const ::onnx::ValueInfoProto* t : tensors) names_.insert(t->name());
      inputs_.insert(inputs_.end(), tensors.begin(), tensors.end());
    }
  }
  return ok;
}

template <class Given>
bool Importer::Inputs::check_given(const Given& given, std::string_view what) {
  bool ok = true;
  for (const auto& [name, ignored] : given) {
    if (names_.contains(name) && !i_.scope_->find(name)) continue;
    const std::vector<std::string> all =
        names_of(inputs_, [](const auto* i) { return printable(i->name()); });
    Diagnostic& d = i_.diagnostics_.error(
        Span::none(), "input-unknown",
        cat("a ", what, " was given for `", printable(name), "`, which is no input of `", i_.name_, "`"));
    suggest(d, name, all);
    d.note(cat("its inputs: ", join(all, ", ")));
    ok = false;
  }
  return ok;
}

// Extents that are fixed for a named axis of one input hold for that name everywhere.
bool Importer::Inputs::fix_axes() {
  bool ok = true;
  for (const ::onnx::ValueInfoProto* input : inputs_) {
    const auto wanted = i_.options_.input_shapes.find(input->name());
    if (wanted == i_.options_.input_shapes.end()) continue;
    const ::onnx::TensorShapeProto& shape = input->type().tensor_type().shape();
    for (size_t i = 0; i < wanted->second.size() && i < static_cast<size_t>(shape.dim_size()); ++i) {
      const std::string& name = shape.dim(static_cast<int>(i)).dim_param();
      const int64_t extent = wanted->second[i].extent;
      if (name.empty() || extent < 0) continue;
      const auto [it, fresh] = i_.axes_.emplace(name, Dim(extent));
      if (fresh || it->second == Dim(extent)) continue;
      i_.diagnostics_.error(Span::none(), "input-axis-conflict",
                            cat("the axis `", printable(name), "` of `", i_.name_, "` cannot be both ",
                                show(it->second), " and ", extent));
      ok = false;
    }
  }
  return ok;
}

// Text that nobody takes is no input of the program.
bool Importer::Inputs::is_unused_text(const ::onnx::ValueInfoProto& input) {
  if (input.type().tensor_type().elem_type() != ::onnx::TensorProto::STRING) return false;
  if (!used_) used_ = used_names(i_.model_.graph());
  return !used_->contains(input.name());
}

bool Importer::Inputs::declare(const ::onnx::ValueInfoProto& input, std::vector<const Var*>& params) {
  if (!input.type().has_tensor_type()) return i_.declare_list(input, params);
  if (is_unused_text(input)) return true;
  const int32_t code = input.type().tensor_type().elem_type();
  const data::Storage* storage = data::storage_of_onnx(code);
  const std::optional<DType> dtype = storage ? storage->carrier : data::dtype_of_onnx(code);
  if (!dtype) {
    const bool is_text = code == ::onnx::TensorProto::STRING;
    i_.diagnostics_
        .error(Span::none(), "unsupported-dtype",
               cat("input ", shown(input), " has elements of type ", data::onnx_dtype_name(code),
                   ", which is not supported"))
        .note(is_text ? remedy_for_texts(i_.model_.graph(), input.name(), i_.name_)
                      : "booleans, integers and floats are supported: move what turns it into these out of "
                        "the model");
    return false;
  }
  const std::optional<std::vector<Dim>> dims = i_.input_dims(input);
  if (!dims) return false;
  const Var* param = i_.builder_.var(input.name(), i_.context().tensor_type(*dims, *dtype));
  for (size_t i = 0; i < dims->size(); ++i) {
    const Dim d = (*dims)[i];
    if (d.is_symbolic()) i_.places_.try_emplace(d.symbolic().get(), Place{param, static_cast<int64_t>(i)});
  }
  params.push_back(param);
  std::optional<Operand> value = value_of(input, param);
  if (!value) return false;
  value->storage = storage;
  i_.scope_->names.emplace(input.name(), std::move(*value));
  return true;
}

std::optional<Operand> Importer::Inputs::value_of(const ::onnx::ValueInfoProto& input, const Var* param) {
  const auto fixed = i_.options_.input_values.find(input.name());
  if (fixed != i_.options_.input_values.end()) {
    std::optional<Tensor> t =
        fixed_input(shown(input), Span::none(), param->annotation, fixed->second, i_.diagnostics_);
    if (!t) return std::nullopt;
    return i_.constant(std::move(*t));
  }
  if (is_one_element(*param)) i_.switches_.insert(param);
  Operand out;
  out.expr = param;
  return out;
}

bool Importer::Inputs::declare(std::vector<const Var*>& params) {
  bool ok = true;
  for (const ::onnx::ValueInfoProto* input : inputs_) ok = declare(*input, params) && ok;
  return ok;
}

bool Importer::declare_inputs(std::vector<const Var*>& params) {
  Inputs inputs(*this);
  const size_t before = diagnostics_.errors();  // operators that are not known, and others' errors
  // All that is wrong is reported at once.
  bool ok = inputs.list();
  ok = inputs.check_given() && ok;
  ok = inputs.fix_axes() && ok;
  ok = inputs.declare(params) && ok;
  if (!ok) return false;
  inputs.gather();
  return diagnostics_.errors() == before;
}

}  // namespace relay::frontend
