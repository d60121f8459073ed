// nn.contrib_conv2d_NCHWc, nn.contrib_depthwise_conv2d_NCHWc: convolutions of images whose
// channels come in blocks.
//
//   nn.contrib_conv2d_NCHWc(data, weight)[n, o, y, x] =
//       sum over i, u, v of data[n, g*I + i, y*s + u*d - p, x*s + v*d - p] * weight[o, i, u, v]
//   nn.contrib_depthwise_conv2d_NCHWc(data, weight)[n, o, y, x] =
//       sum over u, v of data[n, o, y*s + u*d - p, x*s + v*d - p] * weight[o, 0, u, v]
//
//   (Tensor[data_layout, d], Tensor[kernel_layout, e]) -> Tensor[out_layout, out_dtype]
//
// Each tensor is in a layout of its own: NCHW or NCHW16c, OIHW16i16o or OIHW16o. A block is what
// vector registers hold: data in blocks is read an element at a time, the weight and the result a
// block at a time. o is in group g = o // (O / groups), which sees I channels of the data.
//
//   C1: data is a numeric tensor in data_layout, weight one in kernel_layout.
//   C2: the layouts are ones of NCHW, OIHW, NCHW.
//   C3: strides and dilation are positive, padding is not negative, of as many numbers
//       as there may be.
//   C4: out_dtype is floating if the data is; the weight has the data's dtype.
//   C5: the weight of all groups has the data's channels but for what fills the last block up
//       (depthwise: one channel in, and as many out).
//   C6: channels and kernel_size are what the weight says.
//   C7: the window fits into the padded data.
//   C8: groups is positive. Several groups divide the number of output channels, which is known,
//       and the weight's input channels do not come in blocks.
//
// The result has as many channels as the weight, those included that fill its last block up, or as
// many as `channels` says.
#include <algorithm>
#include <type_traits>

#include "base/cat.h"
#include "op/domain.h"
#include "op/nn/blocked_convolution.h"
#include "op/nn/convolution.h"
#include "op/nn/fit.h"
#include "op/tensor/common.h"

namespace relay::op {
namespace {

struct BlockedAttrs {
  std::vector<int64_t> strides = {1, 1}, padding = {0, 0}, dilation = {1, 1};
  std::optional<Dim> channels = {};
  std::optional<std::vector<Dim>> kernel_size = {};
  std::string data_layout = "NCHW16c", kernel_layout = "OIHW16i16o", out_layout = {};
  MaybeDType out_dtype = {};
  static constexpr auto kFields = fields(
      field("strides", &BlockedAttrs::strides, "how far the window moves: one number, or height and width"),
      field("padding", &BlockedAttrs::padding,
            "zeros around the image: one number, (height, width) or (top, left, bottom, right)"),
      field("dilation", &BlockedAttrs::dilation, "the distance between the elements that a window covers"),
      field("channels", &BlockedAttrs::channels, "output channels; None: as the weight says"),
      field("kernel_size", &BlockedAttrs::kernel_size,
            "height and width of the window; None: as the weight says"),
      field("data_layout", &BlockedAttrs::data_layout, "NCHW, or channels in blocks: NCHW16c"),
      field("kernel_layout", &BlockedAttrs::kernel_layout, "OIHW with blocks of O, of I, or of both"),
      field("out_layout", &BlockedAttrs::out_layout, "of the result; \"\": the data's"),
      field("out_dtype", &BlockedAttrs::out_dtype, "of the result; None: the data's"));
};
using DepthwiseAttrs = BlockedAttrs;

struct GroupedAttrs : BlockedAttrs {
  int64_t groups = 1;
  static constexpr auto kFields = std::tuple_cat(
      BlockedAttrs::kFields, fields(field("groups", &GroupedAttrs::groups,
                                          "each group of output channels sees one group of input channels")));
};

template <class A>
constexpr bool is_depthwise = std::is_same_v<A, DepthwiseAttrs>;

int64_t groups_of(const DepthwiseAttrs&) { return 1; }
int64_t groups_of(const GroupedAttrs& a) { return a.groups; }

// Which input channels an output channel sees.
class Groups {
 public:
  // `channels`: of the result, as far as they mean something.
  template <class A>
  Groups(const A& a, Dim channels)
      : last_(groups_of(a) - 1), width_(last_ == 0 ? 1 : channels.value() / groups_of(a)) {}

  // The first input channel for the output channel. What fills the last block up goes with the last
  // group.
  kernel::Expr first(kernel::Expr channel, kernel::Expr inputs) const {
    if (last_ == 0) return channel->pool->integer(0);
    return min(floor_div(channel, width_), channel->pool->integer(last_)) * inputs;
  }
  int64_t first(int64_t channel, int64_t inputs) const {
    return last_ == 0 ? 0 : std::min(channel / width_, last_) * inputs;
  }

 private:
  int64_t last_, width_;
};

void require_groups(Relation& r, const BlockedConvolution& c, int64_t groups, Dim channels) {
  r.require(groups > 0, kAttributes, cat("groups must be positive, not ", groups));
  if (groups == 1) return;
  r.require(c.weight.block(1) == 1, kAttributes,
            "the weight's input channels come in blocks, which only one group may have");
  r.require(channels.is_const() && channels.value() > 0, kAttributes,
            "several groups need a known and positive number of output channels");
  per_group(channels, groups, kAttributes, "output channels");
}

template <class A>
Type relate(Relation& r, const A& a) {
  constexpr bool depthwise = is_depthwise<A>;
  const BlockedConvolution c = read_blocked_convolution(a);  // C2, C3
  require_whole_images(r, c);                                // C2
  require(r, 0, Domain::kNumber);                            // C1
  require_layouts(r, c);                                     // C1
  const DType result = result_dtype(r, a.out_dtype);         // C4
  require_weight_dtype(r, a.out_dtype, 1);                   // C4
  const std::vector<Dim> x = c.data.extents(r.tensor(0).dims), w = c.weight.extents(r.tensor(1).dims);
  if (depthwise) r.same(w[1], 1, 1, "extent I of the weight");               // C5
  const Dim channels = output_channels(r, c, w[0], a.channels);              // C6
  require_groups(r, c, groups_of(a), channels);                              // C8
  require_input_blocks(r, c, depthwise ? w[0] : w[1] * groups_of(a), x[1]);  // C5
  if (a.kernel_size) {
    const std::vector<Dim> size = read_extents("kernel_size", *a.kernel_size);
    r.same(w[2], size[0], 1, "extent H of the weight");  // C6
    r.same(w[3], size[1], 1, "extent W of the weight");
  }
  const Dim height = fitting_windows(r, c.window, 0, x[2], w[2]),
            width = fitting_windows(r, c.window, 1, x[3], w[3]);  // C7
  return r.tensor_of(c.out.shape(std::vector<Dim>{x[0], channels, height, width}), result);
}

template <class A>
void evaluate(const A& a, Args in, Results out, Sums sums) {
  constexpr bool depthwise = is_depthwise<A>;
  const BlockedConvolution c = read_blocked_convolution(a);
  const Tensor &data = in[0], &weight = in[1];
  const auto whole = [](const Layout& layout, const Tensor& t) {
    std::vector<int64_t> last;
    for (int64_t extent : t.shape()) last.push_back(extent - 1);
    std::vector<int64_t> extents = layout.coordinates(std::span<const int64_t>(last));
    for (int64_t& e : extents) ++e;
    return extents;
  };
  evaluate_products(in, out, sums, [&]<class T>(const std::vector<T>& x, const std::vector<T>& w) {
    std::vector<T> y = work_list<T>(out[0].size());
    if (y.empty()) return y;
    const std::vector<int64_t> image = data.size() == 0 ? std::vector<int64_t>(4) : whole(c.data, data);
    const std::vector<int64_t> window =
        weight.size() == 0 ? std::vector<int64_t>(4) : whole(c.weight, weight);
    const Groups groups(a, a.channels.value_or(Dim(window[0])));
    size_t place = 0;
    for_each_index(out[0].shape(), [&](const std::vector<int64_t>& index) {
      const std::vector<int64_t> at = c.out.coordinates(std::span<const int64_t>(index));
      const int64_t first = depthwise ? at[1] : groups.first(at[1], window[1]);
      T sum = 0;
      // What fills a block up beyond the weight's channels is 0.
      for (int64_t i = 0; i < (at[1] < window[0] ? window[1] : 0); ++i) {
        for (int64_t u = 0; u < window[2]; ++u) {
          const int64_t row = at[2] * c.window.stride[0] + u * c.window.dilation[0] - c.window.before[0];
          if (row < 0 || row >= image[2]) continue;
          for (int64_t v = 0; v < window[3]; ++v) {
            const int64_t column = at[3] * c.window.stride[1] + v * c.window.dilation[1] - c.window.before[1];
            if (column < 0 || column >= image[3]) continue;
            const int64_t from =
                offset_of(data.shape(), c.data.index(std::vector<int64_t>{at[0], first + i, row, column}));
            const int64_t by =
                offset_of(weight.shape(), c.weight.index(std::vector<int64_t>{at[1], i, u, v}));
            sum += x[static_cast<size_t>(from)] * w[static_cast<size_t>(by)];
          }
        }
      }
      y[place++] = sum;
    });
    return y;
  });
}

template <class A>
std::vector<kernel::Tensor> lower(kernel::Builder& k, const A& a, const Lowering& l) {
  constexpr bool depthwise = is_depthwise<A>;
  const BlockedConvolution c = read_blocked_convolution(a);
  const kernel::Tensor& w = l.in[1];
  kernel::Tensor x = l.in[0];
  if (c.window.pads()) x = padded(k, x, c, padded_extents(x, c.data, c.window));
  const std::vector<Dim> window = c.weight.extents(l.arg_types[1]->dims);
  const ChannelLoops loops(k, c, window[1], groups_of(a));
  const Groups groups(a, a.channels.value_or(window[0]));
  std::vector<kernel::Expr> extents;
  if (!depthwise) extents = loops.extents();
  extents.push_back(window[2].expr(k.pool()));
  extents.push_back(window[3].expr(k.pool()));

  const DType sum = sum_dtype(x.dtype(), l.dtype());
  // Blocks of the result may hold more channels than those of the weight: these are 0.
  const bool fills = prove_equal(c.out.extents(l.out_types[0]->dims)[1], window[0]) != kernel::Proof::kProved;
  const auto product = [&](kernel::Indices i, kernel::Indices r) {
    std::vector<kernel::Expr> variables(i.begin(), i.end()), ranges = l.shape();
    variables.insert(variables.end(), r.begin(), r.end());
    ranges.insert(ranges.end(), extents.begin(), extents.end());
    const std::vector<kernel::Expr> at = c.out.coordinates(i);
    const kernel::Expr u = r[r.size() - 2], v = r[r.size() - 1];
    const kernel::Expr channel = depthwise ? k.index(0) : loops.channel(r);
    const kernel::Expr from = depthwise ? at[1] : groups.first(at[1], window[1].expr(k.pool())) + channel;
    const kernel::Expr row = at[2] * c.window.stride[0] + u * c.window.dilation[0];
    const kernel::Expr column = at[3] * c.window.stride[1] + v * c.window.dilation[1];
    const kernel::Expr one = cast(sum, x.at(place(c.data, {at[0], from, row, column}, variables, ranges))) *
                             cast(sum, w.at(place(c.weight, {at[1], channel, u, v}, variables, ranges)));
    return fills ? select(less(at[1], window[0].expr(k.pool())), one, k.constant(sum, 0)) : one;
  };
  const kernel::Tensor y = k.reduce("conv2d", sum, l.shape(), extents, k.sum(sum), product);
  if (sum == l.dtype()) return {y};
  return {k.compute("conv2d_end", l.dtype(), l.shape(),
                    [&](kernel::Indices i) { return cast(l.dtype(), y.at(i)); })};
}

// The number of products in each sum.
template <class A>
int64_t length(std::span<const Type> args, const Attrs& attrs) {
  const BlockedConvolution c = read_blocked_convolution(read_attrs<A>(attrs));
  const std::vector<Dim> w = c.weight.extents(args[1]->as<TensorType>()->dims);
  return constant_part(std::span(w).subspan(1));
}

template <class A>
Spec<A> blocked(std::string name, std::string doc) {
  return {
      .name = std::move(name),
      .doc = std::move(doc),
      .params = {{"data", "a batch of images, in data_layout"},
                 {"weight", "the windows' weights, in kernel_layout"}},
      .fusion = Fusion::kOutputFusable,
      .tolerance = {.kind = Tolerance::Kind::kReduction, .length = length<A>},
      .not_differentiable = "it is made from nn.conv2d when a program is compiled",
      .relate = relate<A>,
      .evaluate = evaluate<A>,
      .lower = lower<A>,
  };
}

}  // namespace

const OpDef kContribConv2dNCHWc = define(blocked<GroupedAttrs>(
    "nn.contrib_conv2d_NCHWc", "Convolution over images whose channels come in blocks."));

const OpDef kContribDepthwiseConv2dNCHWc =
    define(blocked<DepthwiseAttrs>("nn.contrib_depthwise_conv2d_NCHWc",
                                   "Convolution of each channel by itself, where channels come in blocks."));

}  // namespace relay::op
