#include "driver/composite_inputs.h"

#include <algorithm>

#include "base/cat.h"
#include "passes/reference.h"

namespace relay::driver {
namespace {

constexpr int kDeepest = 4;  // of lists within lists: names have a number for each

bool is_named(Type type, std::string_view name) {
  const auto* data = type->as<DataType>();
  return data && data->args.size() == 1 && data->name.text() == name;
}

Type element_type(Type type) { return type->as<DataType>()->args[0]; }

std::string element_name(const std::string& of, size_t k) { return cat(of, ".", k); }

}  // namespace

bool is_composite(Type type) {
  for (int depth = 0; depth < kDeepest; ++depth) {
    if (!is_named(type, "List") && !is_named(type, "Option")) return depth > 0 && type->as<TensorType>();
    type = element_type(type);
  }
  return false;
}

std::vector<std::string> tensor_names(const std::string& input, Type type,
                                      std::span<const std::string> held) {
  if (!is_composite(type)) return {input};
  const auto holds = [&](const std::string& name) {
    return std::any_of(held.begin(), held.end(),
                       [&](const std::string& h) { return h == name || h.starts_with(name + "."); });
  };
  if (std::find(held.begin(), held.end(), input) != held.end()) return {input};
  std::vector<std::string> out;
  for (size_t k = 0; k == 0 || holds(element_name(input, k)); ++k) {
    for (std::string& name : tensor_names(element_name(input, k), element_type(type), held))
      out.push_back(std::move(name));
  }
  return out;
}

Result<Value> composite_value(const Module& module, const std::string& input, Type type,
                              std::span<const frontend::data::NamedTensor>& tensors,
                              Diagnostics& diagnostics) {
  const auto take = [&] {
    const Tensor& t = tensors.front().value;
    tensors = tensors.subspan(1);
    return t;
  };
  if (!is_composite(type)) return Value(take());
  std::vector<Value> elements;
  if (!tensors.empty() && tensors.front().name == input) {
    const Tensor t = take();
    if (t.size() > 0) {
      diagnostics
          .error(Span::none(), "input-value-mismatch",
                 cat("input `", input, "` is of type ", show(type, 80), ", and one tensor was given for it"))
          .note(cat("its elements are called `", element_name(input, 0), "`, `", element_name(input, 1),
                    "` and so on; without elements it is a tensor of the shape (0)"));
      return kReported;
    }
  } else {
    const auto is_next = [&](const std::string& name) {
      return !tensors.empty() &&
             (tensors.front().name == name || tensors.front().name.starts_with(name + "."));
    };
    while (is_next(element_name(input, elements.size()))) {
      Result<Value> element = composite_value(module, element_name(input, elements.size()),
                                              element_type(type), tensors, diagnostics);
      if (!element) return kReported;
      elements.push_back(std::move(*element));
    }
  }
  if (is_named(type, "Option")) {
    if (elements.size() > 1) {
      diagnostics.error(
          Span::none(), "input-value-mismatch",
          cat("input `", input, "` is an optional value, and has ", elements.size(), " elements"));
      return kReported;
    }
    return elements.empty() ? Value::data(module.constructor("None"), {})
                            : Value::data(module.constructor("Some"), std::move(elements));
  }
  Value list = Value::data(module.constructor("Nil"), {});
  for (size_t k = elements.size(); k-- > 0;)
    list = Value::data(module.constructor("Cons"), {std::move(elements[k]), std::move(list)});
  return list;
}

void name_tensors(const std::string& output, const Value& value, frontend::data::NamedTensors& out) {
  const std::vector<Tensor> tensors = passes::tensors_of(value);
  for (size_t k = 0; k < tensors.size(); ++k)
    out.push_back({value.is_tensor() ? output : element_name(output, k), tensors[k]});
}

}  // namespace relay::driver
