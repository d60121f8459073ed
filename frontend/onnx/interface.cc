#include "frontend/onnx/interface.h"

#include <set>

#include "base/cat.h"
#include "frontend/data/onnx_tensor.h"
#include "frontend/data/storage.h"
#include "frontend/onnx/interface_of.h"
#include "frontend/onnx/names.h"

namespace relay::frontend {
namespace {

constexpr int kMostDims = 64;  // more are not shown: no tensor that is read has as many

Port port_of(const ::onnx::ValueInfoProto& value) {
  Port out{.name = value.name(), .dtype = {}, .stored = {}, .dims = {}};
  if (!value.type().has_tensor_type()) return out;
  const ::onnx::TypeProto::Tensor& type = value.type().tensor_type();
  if (const data::Storage* storage = data::storage_of_onnx(type.elem_type())) {
    out.dtype = storage->carrier;
    out.stored = storage->name;
  } else {
    out.dtype = data::dtype_of_onnx(type.elem_type());
  }
  if (!type.has_shape()) return out;
  out.dims.emplace();
  for (const auto& d : type.shape().dim()) {
    if (out.dims->size() == static_cast<size_t>(kMostDims)) break;
    if (d.has_dim_value() && d.dim_value() >= 0) {
      out.dims->push_back({d.dim_value(), {}});
    } else {
      out.dims->push_back({-1, d.has_dim_param() ? d.dim_param() : std::string()});
    }
  }
  return out;
}

// Also of what is no tensor.
Port port_of_any(const ::onnx::ValueInfoProto& value) {
  ::onnx::ValueInfoProto inner;
  inner.set_name(value.name());
  std::string around;
  const ::onnx::TypeProto* type = &value.type();
  for (;;) {
    if (type->has_sequence_type()) {
      around += "sequence of ";
      type = &type->sequence_type().elem_type();
    } else if (type->has_optional_type()) {
      around += "optional ";
      type = &type->optional_type().elem_type();
    } else {
      break;
    }
  }
  *inner.mutable_type() = *type;
  Port out = port_of(inner);
  if (type->has_map_type())
    return {.name = value.name(), .dtype = {}, .dims = {}, .composite = around + "map"};
  if (around.empty()) return out;
  const size_t name = show(Port{.name = value.name(), .dtype = {}, .dims = {}}).size() - 1;
  return {.name = value.name(), .dtype = {}, .dims = {}, .composite = around + show(out).substr(name)};
}

}  // namespace

Interface interface_of(const ::onnx::ModelProto& model) {
  std::set<std::string_view> constants;
  for (const ::onnx::TensorProto& t : model.graph().initializer()) constants.insert(t.name());
  Interface out;
  for (const ::onnx::ValueInfoProto& v : model.graph().input()) {
    if (!constants.contains(v.name())) out.inputs.push_back(port_of_any(v));
  }
  for (const ::onnx::ValueInfoProto& v : model.graph().output()) out.outputs.push_back(port_of_any(v));
  return out;
}

std::string show(const Port& port) {
  if (!port.composite.empty()) return cat(printable(port.name), ": ", port.composite);
  if (!port.dtype && !port.dims) return cat(printable(port.name), ": ?");
  const std::string dtype =
      cat(port.dtype ? port.dtype->name() : "?", port.stored.empty() ? "" : " of ", port.stored);
  if (!port.dims) return cat(printable(port.name), ": Tensor[?, ", dtype, "]");
  const auto one = [](const InputDim& d) {
    return d.extent >= 0 ? cat(d.extent) : d.name.empty() ? std::string("?") : printable(d.name);
  };
  return cat(printable(port.name), ": Tensor[(", join(*port.dims, ", ", one),
             port.dims->size() == 1 ? ",)" : ")", ", ", dtype, "]");
}

}  // namespace relay::frontend
