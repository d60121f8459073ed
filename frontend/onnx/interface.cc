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

}  // namespace

Interface interface_of(const ::onnx::ModelProto& model) {
  std::set<std::string_view> constants;
  for (const ::onnx::TensorProto& t : model.graph().initializer()) constants.insert(t.name());
  Interface out;
  for (const ::onnx::ValueInfoProto& v : model.graph().input()) {
    if (!constants.contains(v.name())) out.inputs.push_back(port_of(v));
  }
  for (const ::onnx::ValueInfoProto& v : model.graph().output()) out.outputs.push_back(port_of(v));
  return out;
}

std::string show(const Port& port) {
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
