// Normalisation: what ONNX has an operator of its own for. The others are written out.
#include <numeric>
#include <utility>

#include "exporter/onnx/rows.h"

namespace relay::exporter {
namespace {

// A vector of one number, as long as the channels; their extent has to be constant.
std::string everywhere(Site& s, double value, Dim extent) {
  s.require(extent.is_const(), "its channels have no constant extent");
  Tensor t(s.type(0).dtype, {extent.value()});
  for (int64_t i = 0; i < t.size(); ++i) t.set(i, value);
  return s.graph().constant(t);
}

Names batch_norm(Site& s) {
  const Dim channels = s.type(3).dims[0];
  const std::string scale = s.attrs().flag("scale") ? s.arg(1) : everywhere(s, 1, channels);
  const std::string shift = s.attrs().flag("center") ? s.arg(2) : everywhere(s, 0, channels);
  std::vector<int64_t> axes(s.type(0).rank());
  std::iota(axes.begin(), axes.end(), 0);
  std::swap(axes[1], axes[static_cast<size_t>(s.axis("axis", axes.size()))]);
  const std::string y =
      s.node("BatchNormalization", {s.transpose(s.arg(0), axes), scale, shift, s.arg(3), s.arg(4)},
             {{"epsilon", s.attrs().real("epsilon")}});
  return {s.transpose(y, axes), s.arg(3), s.arg(4)};
}

// ONNX keeps epsilon as a float32, and so does the arithmetic of dtypes up to that.
bool is_batch_norm(const CallAttrs& a, const Call& call) {
  const auto& data = *call.args[0]->type->as<TensorType>();
  return data.rank() >= 2 && (data.dtype.bits <= 32 || fits_attribute(a.real("epsilon")));
}

Names softmax(Site& s) { return {s.node("Softmax", {s.arg(0)}, {{"axis", s.attrs().integer("axis")}})}; }
Names log_softmax(Site& s) {
  return {s.node("LogSoftmax", {s.arg(0)}, {{"axis", s.attrs().integer("axis")}})};
}

constexpr Row kRows[] = {
    {"nn.batch_norm", batch_norm, is_batch_norm},
    {"nn.log_softmax", log_softmax},
    {"nn.softmax", softmax},
};

}  // namespace

std::span<const Row> normalisation_rows() { return kRows; }

}  // namespace relay::exporter
