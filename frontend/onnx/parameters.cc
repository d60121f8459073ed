// The parameters of @main: the inputs of the graph, with shape variables for their dynamic axes.
#include "base/cat.h"
#include "base/nearest.h"
#include "frontend/data/onnx_tensor.h"
#include "frontend/data/storage.h"
#include "frontend/onnx/fixed_input.h"
#include "frontend/onnx/importer.h"
#include "frontend/onnx/names.h"
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

bool Importer::declare_inputs(std::vector<const Var*>& params) {
  const ::onnx::GraphProto& graph = model_.graph();
  bool ok = true;
  std::vector<const ::onnx::ValueInfoProto*> inputs, composites;
  std::set<std::string> names;
  for (const ::onnx::ValueInfoProto& input : graph.input()) {
    const bool is_new = names.insert(input.name()).second;
    if (!is_new || input.name().empty()) {
      diagnostics_.error(Span::none(), is_new ? Slug("onnx-unnamed-input") : Slug("onnx-redefined-value"),
                         cat("`", name_, "`: ",
                             is_new ? "an input has no name"
                                    : cat("two inputs are called `", printable(input.name()), "`")));
      ok = false;
    } else if (!scope_->find(input.name())) {  // an input with a default is a constant
      std::vector<const ::onnx::ValueInfoProto*> tensors;
      if (input.type().has_tensor_type() || !expand_input(input.name(), input.type(), tensors)) {
        inputs.push_back(&input);
        continue;
      }
      composites.push_back(&input);
      for (const ::onnx::ValueInfoProto* t : tensors) names.insert(t->name());
      inputs.insert(inputs.end(), tensors.begin(), tensors.end());
    }
  }
  const auto check_given = [&](const auto& given, std::string_view what) {
    for (const auto& [name, ignored] : given) {
      if (names.contains(name) && !scope_->find(name)) continue;
      const std::vector<std::string> all =
          names_of(inputs, [](const auto* i) { return printable(i->name()); });
      Diagnostic& d = diagnostics_.error(
          Span::none(), "input-unknown",
          cat("a ", what, " was given for `", printable(name), "`, which is no input of `", name_, "`"));
      suggest(d, name, all);
      d.note(cat("its inputs: ", join(all, ", ")));
      ok = false;
    }
  };
  check_given(options_.input_shapes, "shape");
  check_given(options_.input_values, "value");
  // Extents that are fixed for a named axis of one input hold for that name everywhere.
  for (const ::onnx::ValueInfoProto* input : inputs) {
    const auto wanted = options_.input_shapes.find(input->name());
    if (wanted == options_.input_shapes.end()) continue;
    const ::onnx::TensorShapeProto& shape = input->type().tensor_type().shape();
    for (size_t i = 0; i < wanted->second.size() && i < static_cast<size_t>(shape.dim_size()); ++i) {
      const std::string& name = shape.dim(static_cast<int>(i)).dim_param();
      const int64_t extent = wanted->second[i].extent;
      if (name.empty() || extent < 0) continue;
      const auto [it, fresh] = axes_.emplace(name, Dim(extent));
      if (!fresh && it->second != Dim(extent)) {
        diagnostics_.error(Span::none(), "input-axis-conflict",
                           cat("the axis `", printable(name), "` of `", name_, "` cannot be both ",
                               show(it->second), " and ", extent));
        ok = false;
      }
    }
  }
  std::optional<std::unordered_set<std::string_view>> used;  // looked up where there is text
  for (const ::onnx::ValueInfoProto* input : inputs) {
    if (!input->type().has_tensor_type()) {
      ok = declare_list(*input, params) && ok;
      continue;
    }
    const int32_t code = input->type().tensor_type().elem_type();
    const data::Storage* storage = data::storage_of_onnx(code);
    const std::optional<DType> dtype = storage ? storage->carrier : data::dtype_of_onnx(code);
    // Text that nobody takes is no input of the program.
    if (code == ::onnx::TensorProto::STRING) {
      if (!used) used = used_names(graph);
      if (!used->contains(input->name())) continue;
    }
    if (!dtype) {
      diagnostics_
          .error(Span::none(), "unsupported-dtype",
                 cat("input `", printable(input->name()), "` of `", name_, "` has elements of type ",
                     data::onnx_dtype_name(code), ", which is not supported"))
          .note(
              "booleans, integers and floats are supported: move what turns it into these out of the model");
      ok = false;
      continue;
    }
    const std::optional<std::vector<Dim>> dims = input_dims(*input);
    if (!dims) {
      ok = false;
      continue;
    }
    const Var* param = builder_.var(input->name(), context().tensor_type(*dims, *dtype));
    for (size_t i = 0; i < dims->size(); ++i) {
      const Dim d = (*dims)[i];
      if (d.is_symbolic()) places_.try_emplace(d.symbolic().get(), Place{param, static_cast<int64_t>(i)});
    }
    params.push_back(param);
    Operand value;
    value.expr = param;
    if (const auto fixed = options_.input_values.find(input->name()); fixed != options_.input_values.end()) {
      const std::string name = cat("`", printable(input->name()), "` of `", name_, "`");
      std::optional<Tensor> t =
          fixed_input(name, Span::none(), param->annotation, fixed->second, diagnostics_);
      ok = ok && t;
      if (!t) continue;
      value = constant(std::move(*t));
    } else if (is_one_element(*param)) {
      switches_.insert(param);
    }
    value.storage = storage;
    scope_->names.emplace(input->name(), std::move(value));
  }
  if (!ok) return false;
  for (const ::onnx::ValueInfoProto* c : composites)
    scope_->names.emplace(c->name(), gathered_input(c->name(), c->type()));
  return !diagnostics_.has_errors();
}

}  // namespace relay::frontend
