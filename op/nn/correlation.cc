// nn.correlation(data1, data2)[n, q, y, x] = sum over c, u, v of
//     p1[n, c, y*s + m + u, x*s + m + v] . p2[n, c, y*s + m + dy + u, x*s + m + dx + v] / (C * K * K)
//
// where p1 and p2 are the padded data, s is stride1, m max_displacement, K kernel_size, and
// `.` is the product, or the absolute difference without is_multiply. Channel q = i*D + j is
// the displacement (dy, dx) = (i - r, j - r) * stride2, with r = max_displacement // stride2
// and D = 2*r + 1.
//
//   (Tensor[(n, c, h, w), d], Tensor[(n, c, h, w), d]) -> Tensor[(n, D * D, h', w'), d]
//   where h' = ceil((h + padding - 2 * (m + K // 2)) / stride1)
//   C1: data1 is a floating-point tensor of rank 4.   C2: data2 has its type.
//   C3: kernel_size is odd and positive, the strides are positive, max_displacement is not
//       negative, none of them above 65536; padding is as nn.conv2d has it.
//   C4: the layout is NCHW.   C5: what is left of the padded data has an element.
#include <array>
#include <cmath>

#include "base/cat.h"
#include "op/nn/convolution.h"
#include "op/tensor/common.h"

namespace relay::op {
namespace {

struct CorrelationAttrs {
  int64_t kernel_size = 1, max_displacement = 1, stride1 = 1, stride2 = 1;
  std::vector<int64_t> padding = {0, 0};
  bool is_multiply = true;
  std::string layout = "NCHW";
  static constexpr auto kFields =
      fields(field("kernel_size", &CorrelationAttrs::kernel_size, "height and width of what is compared"),
             field("max_displacement", &CorrelationAttrs::max_displacement, "the largest displacement"),
             field("stride1", &CorrelationAttrs::stride1, "the distance of the places in data1"),
             field("stride2", &CorrelationAttrs::stride2, "the distance of displacements"),
             field("padding", &CorrelationAttrs::padding,
                   "zeros around both: one number, (height, width) or (top, left, bottom, right)"),
             field("is_multiply", &CorrelationAttrs::is_multiply, "products; else absolute differences"),
             field("layout", &CorrelationAttrs::layout, "NCHW"));

  int64_t radius() const { return max_displacement / stride2; }
  int64_t displacements() const { return 2 * radius() + 1; }
  Window window() const {
    return read_window(std::array<int64_t, 1>{stride1}, std::array<int64_t, 1>{1}, padding);
  }
};

constexpr int64_t kMost = 65536;

Type relate(Relation& r, const CorrelationAttrs& a) {
  r.require_rank(0, 4);        // C1
  r.require_float(0);          // C1
  r.require_rank(1, 4);        // C2
  r.require_same_dtype(1, 0);  // C2
  const TensorType& x = r.tensor(0);
  const auto in_range = [&](std::string_view name, int64_t value, int64_t least) {
    r.require(value >= least && value <= kMost, kAttributes,
              cat(name, " must be in [", least, ", ", kMost, "], not ", value));  // C3
  };
  in_range("kernel_size", a.kernel_size, 1);
  in_range("max_displacement", a.max_displacement, 0);
  in_range("stride1", a.stride1, 1);
  in_range("stride2", a.stride2, 1);
  r.require(a.kernel_size % 2 == 1, kAttributes, cat("kernel_size must be odd, not ", a.kernel_size));  // C3
  const Window window = a.window();                                                                     // C3
  r.require(a.layout == "NCHW", kAttributes, cat("layout must be NCHW, not `", a.layout, "`"));         // C4
  std::vector<Dim> dims;
  for (size_t d = 0; d < 4; ++d)
    dims.push_back(r.same(r.tensor(1).dims[d], x.dims[d], 1, cat("axis ", d), 0));  // C2
  dims[1] = a.displacements() * a.displacements();
  for (size_t axis = 0; axis < 2; ++axis) {
    const Dim padded = dims[2 + axis] + window.before[axis] + window.after[axis];
    const Dim left = padded - 2 * (a.max_displacement + a.kernel_size / 2);
    r.require(!left.is_const() || left.value() > 0, 0,
              cat("nothing is left of the ", name_of_axis(axis, 2), " of ", relay::show(padded)));  // C5
    dims[2 + axis] = ceil_div(left, Dim(a.stride1));
  }
  return r.tensor_of(dims, x.dtype);
}

void evaluate(const CorrelationAttrs& a, Args in, Results out, Sums sums) {
  const Shape& shape = in[0].shape();
  const Window window = a.window();
  const double count = static_cast<double>(shape[1]) * static_cast<double>(a.kernel_size * a.kernel_size);
  const auto element = [&](const Tensor& t, int64_t n, int64_t c, int64_t y, int64_t x) {
    y -= window.before[0];
    x -= window.before[1];
    if (y < 0 || x < 0 || y >= shape[2] || x >= shape[3]) return 0.0;
    return t.get(((n * shape[1] + c) * shape[2] + y) * shape[3] + x);
  };
  int64_t number = 0;
  for_each_index(out[0].shape(), [&](const std::vector<int64_t>& i) {
    const int64_t top = i[2] * a.stride1 + a.max_displacement, left = i[3] * a.stride1 + a.max_displacement;
    const int64_t down = (i[1] / a.displacements() - a.radius()) * a.stride2;
    const int64_t right = (i[1] % a.displacements() - a.radius()) * a.stride2;
    with_zero(sums, in[0].dtype(), [&](auto sum) {
      for (int64_t c = 0; c < shape[1]; ++c) {
        for (int64_t u = 0; u < a.kernel_size; ++u) {
          for (int64_t v = 0; v < a.kernel_size; ++v) {
            const double p = element(in[0], i[0], c, top + u, left + v);
            const double q = element(in[1], i[0], c, top + down + u, left + right + v);
            sum += static_cast<decltype(sum)>(a.is_multiply ? p * q : std::fabs(p - q));
          }
        }
      }
      out[0].set(number++, static_cast<double>(sum) / count);
    });
  });
}

std::vector<kernel::Tensor> lower(kernel::Builder& k, const CorrelationAttrs& a, const Lowering& l) {
  const Window window = a.window();
  const Layout plain = Layout::plain("NCHW");
  std::vector<kernel::Tensor> x;
  for (const kernel::Tensor& t : l.in) {
    x.push_back(window.pads() ? padded(k, t, plain, window.before, padded_extents(t, plain, window),
                                       k.constant(t.dtype(), 0))
                              : t);
  }
  const DType d = l.dtype(), wide = sum_dtype(d, d);
  const kernel::Expr channels = l.in[0].dim(1), size = k.index(a.kernel_size);
  const kernel::Tensor sum =
      k.reduce("correlation_sum", wide, l.shape(), {channels, size, size}, k.sum(wide),
               [&](kernel::Indices i, kernel::Indices r) {
                 const kernel::Expr top = i[2] * a.stride1 + a.max_displacement + r[1];
                 const kernel::Expr left = i[3] * a.stride1 + a.max_displacement + r[2];
                 const kernel::Expr down = (floor_div(i[1], a.displacements()) - a.radius()) * a.stride2;
                 const kernel::Expr right = (floor_mod(i[1], a.displacements()) - a.radius()) * a.stride2;
                 const kernel::Expr p = cast(wide, x[0](i[0], r[0], top, left));
                 const kernel::Expr q = cast(wide, x[1](i[0], r[0], top + down, left + right));
                 return a.is_multiply ? p * q : math(kernel::Math::kAbs, p - q);
               });
  return {k.compute("correlation", d, l.shape(), [&](kernel::Indices i) {
    return cast(d, sum.at(i) / cast(wide, channels * (a.kernel_size * a.kernel_size)));
  })};
}

// A difference of magnitudes is no bound of a difference: its terms are sums of both.
void terms(const Attrs& attrs, Args in, Results out) {
  const auto a = read_attrs<CorrelationAttrs>(attrs);
  std::vector<Tensor> positive;
  for (const Tensor& t : in) {
    Tensor copy = t.copy();
    // p and -q differ by p + q.
    const double sign = positive.empty() || a.is_multiply ? 1 : -1;
    for (int64_t i = 0; i < copy.size(); ++i) copy.set(i, sign * std::fabs(copy.get(i)));
    positive.push_back(copy);
  }
  evaluate(a, positive, out, Sums::kDouble);
}

int64_t length(std::span<const Type> args, const Attrs& attrs) {
  const auto a = read_attrs<CorrelationAttrs>(attrs);
  return constant_part(
      std::vector<Dim>{args[0]->as<TensorType>()->dims[1], Dim(a.kernel_size * a.kernel_size)});
}

}  // namespace

const OpDef kCorrelation = define<CorrelationAttrs>({
    .name = "nn.correlation",
    .doc = "How alike the neighbourhoods of two images are, for each of many displacements.",
    .params = {{"data1", "a batch of images"}, {"data2", "a batch of images, to be displaced"}},
    .fusion = Fusion::kOutputFusable,
    .tolerance = {.kind = Tolerance::Kind::kReduction, .length = length, .terms = terms},
    .relate = relate,
    .evaluate = evaluate,
    .lower = lower,
});

}  // namespace relay::op
