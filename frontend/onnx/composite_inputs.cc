// Inputs of the graph that are sequences or optional values.
//
// The element k of the input `x` is called `x.k`. If the options give the elements their shapes,
// the length is known, and each element is a parameter of @main. `x` with the shape [0] has no
// element. Else the input is one parameter, a list whose length each run may choose.
#include "base/cat.h"
#include "frontend/data/onnx_tensor.h"
#include "frontend/onnx/names.h"
#include "frontend/onnx/sequences.h"

namespace relay::frontend {
namespace {

using Form = Operand::Form;

// What an input or an element is made of; null for a tensor, and for what is not supported.
const ::onnx::TypeProto* element_of(const ::onnx::TypeProto& type) {
  if (type.has_sequence_type()) return &type.sequence_type().elem_type();
  if (type.has_optional_type()) return &type.optional_type().elem_type();
  return nullptr;
}

// Sequences of tensors, and optional tensors and sequences, are what operators of ONNX take.
bool is_supported(const ::onnx::TypeProto& type) {
  const ::onnx::TypeProto* element = element_of(type);
  if (!element) return false;
  if (element->has_tensor_type()) return true;
  return type.has_optional_type() && element->has_sequence_type() && is_supported(*element);
}

std::string element_name(const std::string& of, size_t k) { return cat(of, ".", k); }

}  // namespace

std::string kind_of(const ::onnx::TypeProto& type) {
  if (type.has_sequence_type()) return "a sequence";
  if (type.has_optional_type()) return "an optional value";
  if (type.has_map_type()) return "a map";
  if (type.has_sparse_tensor_type()) return "a sparse tensor";
  return "of no type that is known";
}

std::optional<size_t> Importer::given_elements(const std::string& name) const {
  const auto& shapes = options_.input_shapes;
  const auto whole = shapes.find(name);
  if (whole != shapes.end() && whole->second.size() == 1 && whole->second[0].extent == 0) return 0;
  size_t count = 0;
  const auto is_given = [&](const std::string& element) {
    return shapes.contains(element) || shapes.contains(element_name(element, 0));
  };
  while (is_given(element_name(name, count))) ++count;
  return count > 0 ? std::optional(count) : std::nullopt;
}

// The tensors that the input stands for, in order.
bool Importer::expand_input(const std::string& name, const ::onnx::TypeProto& type,
                            std::vector<const ::onnx::ValueInfoProto*>& out) {
  if (type.has_tensor_type()) {
    ::onnx::ValueInfoProto& made = element_inputs_.emplace_back();
    made.set_name(name);
    *made.mutable_type() = type;
    // A name of an axis is one extent of each element, not of all.
    for (auto& dim : *made.mutable_type()->mutable_tensor_type()->mutable_shape()->mutable_dim())
      dim.clear_dim_param();
    if (!type.tensor_type().has_shape()) made.mutable_type()->mutable_tensor_type()->clear_shape();
    out.push_back(&made);
    return true;
  }
  const std::optional<size_t> count = given_elements(name);
  if (!count || !is_supported(type)) return false;
  for (size_t k = 0; k < *count; ++k) {
    if (!expand_input(element_name(name, k), *element_of(type), out)) return false;
  }
  return true;
}

// The operand of an input that was expanded: its tensors are taken out of the scope.
Operand Importer::gathered_input(const std::string& name, const ::onnx::TypeProto& type) {
  if (type.has_tensor_type()) {
    auto found = scope_->names.extract(name);
    if (found) return std::move(found.mapped());
    return failed_operand();
  }
  std::vector<Operand> elements;
  for (size_t k = 0; k < given_elements(name).value_or(0); ++k) {
    elements.push_back(gathered_input(element_name(name, k), *element_of(type)));
    if (elements.back().failed) return elements.back();
  }
  if (type.has_sequence_type()) return sequence_of(std::move(elements));
  if (elements.size() > 1) {
    diagnostics_.error(Span::none(), "input-shape-mismatch",
                       cat("input `", printable(name), "` of `", name_, "` is an optional value, and ",
                           elements.size(), " elements of it were given"));
    elements.resize(1);
  }
  return optional_of(std::move(elements));
}

bool Importer::declare_list(const ::onnx::ValueInfoProto& input, std::vector<const Var*>& params) {
  const std::string name = printable(input.name());
  const auto refuse = [&](Slug slug, std::string why) -> Diagnostic& {
    return diagnostics_.error(Span::none(), slug, cat("input `", name, "` of `", name_, "` ", why));
  };
  if (!is_supported(input.type())) {
    const bool holds = element_of(input.type()) != nullptr;
    refuse("unsupported-input",
           cat("is ", kind_of(input.type()),
               holds ? ", and its elements are not tensors" : ", which is not supported"))
        .note(
            "export the model with an input for each tensor; tensors, sequences of tensors and optional ones "
            "of both are supported");
    return false;
  }
  const ::onnx::TypeProto* type = &input.type();
  std::vector<const char*> around;  // the data types, outermost first
  for (; element_of(*type); type = element_of(*type))
    around.push_back(type->has_sequence_type() ? "List" : "Option");
  const ::onnx::TypeProto::Tensor& tensor = type->tensor_type();
  const std::optional<DType> dtype = data::dtype_of_onnx(tensor.elem_type());
  if (!dtype) {
    refuse("unsupported-dtype", cat("has elements of type ", data::onnx_dtype_name(tensor.elem_type()),
                                    ", which is not supported"))
        .note("booleans, integers and floats are supported: move what turns it into these out of the model");
    return false;
  }
  if (!tensor.has_shape()) {
    const std::string first = around.size() == 1 ? ".0" : ".0.0";
    refuse("unsupported-rank",
           cat("is ", kind_of(input.type()), ", and the model does not say what shape its elements have"))
        .note(cat("give each its shape, with --input-shapes ", name, first,
                  ":[...] and so on; without elements it is ", "--input-shapes ", name, ":[0]"));
    return false;
  }
  std::vector<Dim> dims;
  for (const auto& d : tensor.shape().dim())
    dims.push_back(d.has_dim_value() && d.dim_value() >= 0 ? Dim(d.dim_value()) : Dim::unknown());
  if (dims.size() > data::kMaxRank) {
    refuse("onnx-invalid", cat("has elements of more than ", data::kMaxRank, " dimensions"));
    return false;
  }
  Type of = context().tensor_type(dims, *dtype);
  for (size_t i = around.size(); i-- > 0;) of = library_type(around[i], of);
  const Var* param = builder_.var(input.name(), of);
  params.push_back(param);
  Operand value;
  value.expr = param;
  scope_->names.emplace(input.name(), std::move(value));
  return true;
}

void Importer::name_outputs(const std::string& name, Operand& operand, std::vector<Expr>& results,
                            std::vector<std::string>& names) {
  if (!operand.elements) {
    results.push_back(carrier(operand));
    names.push_back(name);
    return;
  }
  for (size_t k = 0; k < operand.elements->size(); ++k) {
    Operand element = (*operand.elements)[k];
    name_outputs(element_name(name, k), element, results, names);
  }
}

}  // namespace relay::frontend
