#include "frontend/onnx/usage.h"

#include <vector>

namespace relay::frontend {

std::unordered_set<std::string_view> used_names(const ::onnx::GraphProto& graph) {
  std::unordered_set<std::string_view> out;
  std::vector<const ::onnx::GraphProto*> pending{&graph};
  while (!pending.empty()) {
    const ::onnx::GraphProto& g = *pending.back();
    pending.pop_back();
    for (const ::onnx::ValueInfoProto& o : g.output()) out.insert(o.name());
    for (const ::onnx::NodeProto& n : g.node()) {
      for (const std::string& name : n.input()) out.insert(name);
      for (const ::onnx::AttributeProto& a : n.attribute()) {
        if (a.has_g()) pending.push_back(&a.g());
        for (const ::onnx::GraphProto& inner : a.graphs()) pending.push_back(&inner);
      }
    }
  }
  return out;
}

}  // namespace relay::frontend
