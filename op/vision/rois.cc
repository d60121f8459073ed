#include "op/vision/rois.h"

#include "base/failure.h"
#include "base/reasons.h"
#include "op/domain.h"
#include "op/nn/window.h"
#include "op/tensor/common.h"

namespace relay::op {
namespace {

constexpr std::string_view kNoPixels = "an image without pixels cannot be pooled";

}  // namespace

Type relate_rois(Relation& r, std::string_view layout, std::span<const Dim> pooled_size) {
  r.require_rank(0, 4);           // C1
  require(r, 0, Domain::kFloat);  // C1
  r.require_rank(1, 2);           // C4
  require(r, 1, Domain::kFloat);  // C4
  const TensorType &x = r.tensor(0), &rois = r.tensor(1);
  const Layout order = read_order("layout", layout, "NCHW");               // C2
  const std::vector<Dim> size = read_extents("pooled_size", pooled_size);  // C3
  r.same(rois.dims[1], Dim(5), 1, "number of columns");                    // C4
  std::array<Dim, 4> dims = parts(order, x.dims);
  for (size_t axis = 0; axis < 2; ++axis) {
    r.require(dims[2 + axis] != Dim(0), 0, kNoPixels);  // C5
    dims[2 + axis] = size[axis];
  }
  dims[0] = rois.dims[0];
  return r.tensor_of(order.shape(dims), x.dtype);
}

void for_each_pooled(const Layout& layout, Args in, const Tensor& out,
                     const std::function<void(int64_t number, const std::array<int64_t, 4>& at, int64_t image,
                                              const std::function<double(int64_t column)>& roi)>& f) {
  const int64_t images = parts(layout, in[0].shape())[0];
  const auto image_of = [&](int64_t region) {
    return kernel::scalar::to_integer(kInt64, in[1].get(region * 5));
  };
  for (int64_t region = 0; region < in[1].shape()[0]; ++region) {
    if (!is_inside(image_of(region), images)) throw Trap(kRegionOutOfRange);
  }
  int64_t number = 0;
  for_each_index(out.shape(), [&](const std::vector<int64_t>& index) {
    const std::array<int64_t, 4> at = parts(layout, index);
    const std::function<double(int64_t)> roi = [&](int64_t column) { return in[1].get(at[0] * 5 + column); };
    f(number++, at, image_of(at[0]), roi);
  });
}

kernel::Tensor images_of(kernel::Builder& k, const kernel::Tensor& rois,
                         const std::array<kernel::Expr, 4>& data) {
  const kernel::Expr images = data[0];
  return k.compute("image", kInt64, {rois.dim(0)}, [&](kernel::Indices i) {
    const kernel::Expr image = cast(kInt64, rois(i[0], k.index(0)));
    for (const size_t d : {2, 3}) k.require_shape(less(k.index(0), data[d]), kNoPixels);
    k.require(is_inside(image, images), kRegionOutOfRange);
    return between(image, k.index(0), max(images - 1, k.index(0)));
  });
}

}  // namespace relay::op
