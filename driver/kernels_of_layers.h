// Which kernels are whose layer of a VTA: told by the pass `lower`.
#pragma once

#include <map>

#include "base/check.h"
#include "passes/observer.h"
#include "vta/program/partition.h"

namespace relay::driver {

class KernelsOfLayers : public passes::Observer {
 public:
  struct Of {
    size_t layer;
    size_t params;  // of the layer's function; constants come behind them
    const TensorType* result;
  };

  void lowered(Symbol kernel, const Call& replaced) override {
    const auto* fn = replaced.callee->as<Fn>();
    if (!fn || !vta::is_device_function(*fn)) return;
    const AttrValue* layer = fn->attrs.find(vta::kLayer);
    const auto* result = replaced.type->as<TensorType>();
    CHECK(layer && result, "a layer has a number and gives a tensor");
    found_.emplace(kernel, Of{static_cast<size_t>(layer->integer), fn->params.size(), result});
  }

  const std::map<Symbol, Of>& found() const { return found_; }

 private:
  std::map<Symbol, Of> found_;
};

}  // namespace relay::driver
