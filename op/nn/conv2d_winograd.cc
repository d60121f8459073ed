// nn.contrib_conv2d_winograd_weight_transform,
// nn.contrib_conv2d_winograd_without_weight_transform: a convolution by Winograd's minimal
// filtering (op/nn/winograd.h), its weight transformed beforehand.
//
//   nn.contrib_conv2d_winograd_weight_transform(weight)[:, :, o, i] = G weight[o, i] G^T
//   (Tensor[(o, i, kh, kw), d]) -> Tensor[(n, n, o, i), d]
//
//   nn.contrib_conv2d_winograd_without_weight_transform(data, u)[n, o, tile] =
//       A^T (sum over i of u[:, :, o, i] . (B^T data[n, i, tile] B)) A
//   (Tensor[data_layout, d], Tensor[kernel_layout, d]) -> Tensor[out_layout, d]
//
// for tiles of m x m results, where m is the attribute tile_size.
//
//   C1: data is a floating tensor in data_layout, weight one in kernel_layout, of the data's dtype.
//   C2: the layouts are ones of NCHW, OIHW, NCHW; height and width are not cut into blocks.
//   C3: padding is not negative; strides and dilation are 1.
//   C4: the extents H and W of the weight are one n, larger than tile_size, with n of at most 8.
//   C5: the weight has the data's channels but for what fills the last block up.
//   C6: channels is what the weight says.
//   C7: the window, n - m + 1 high and wide, fits into the padded data.
//
// The error is larger than that of the sum of products, as the transforms subtract: to the bound
// belongs the sum of |terms|,
// |A^T| (|u| . (|B^T| |data| |B|)) |A|, over the channels and both transforms.
#include <cmath>

#include "base/cat.h"
#include "op/domain.h"
#include "op/nn/blocked_convolution.h"
#include "op/nn/convolution.h"
#include "op/nn/fit.h"
#include "op/nn/winograd.h"
#include "op/tensor/common.h"

namespace relay::op {
namespace {

constexpr int64_t kMostProducts = 8;

// --- the weight ----------------------------------------------------------------------------------

struct WeightAttrs {
  int64_t tile_size = 4;
  static constexpr auto kFields = fields(
      field("tile_size", &WeightAttrs::tile_size, "height and width of the tiles of results: m").required());
};

void require_tile(Relation& r, int64_t results, int64_t products) {
  r.require(
      results >= 1 && products >= results && products >= 2 && products <= kMostProducts, kAttributes,
      cat("tiles of ", results, " results that need ", products, " products are not offered: it may be 2 to ",
          kMostProducts, " products, and no fewer than results"));
}

Type relate_weight_transform(Relation& r, const WeightAttrs& a) {
  r.require_rank(0, 4);
  r.require_float(0);
  const TensorType& w = r.tensor(0);
  r.require(w.dims[2].is_const(), 0, "the height of the window must be known");
  r.same(w.dims[3], w.dims[2], 0, "extent W of the weight");
  const Dim sum = w.dims[2] + Dim(a.tile_size) - Dim(1);
  const int64_t products = sum.is_const() ? sum.value() : INT64_MAX;
  require_tile(r, a.tile_size, products);
  return r.tensor_of({Dim(products), Dim(products), w.dims[0], w.dims[1]}, w.dtype);
}

Matrix absolute(Matrix m) {
  for (auto& row : m) {
    for (double& v : row) v = std::fabs(v);
  }
  return m;
}

// Of the weight, or of the absolute values of everything: then it is the sum of |terms|.
void transform_weight(const WeightAttrs& a, Args in, Results out, bool magnitudes) {
  const Tensor& w = in[0];
  const int64_t taps = w.shape()[2], filters = w.shape()[0] * w.shape()[1];
  Winograd f = winograd(a.tile_size, taps);
  if (magnitudes) f.g = absolute(f.g);
  const auto n = static_cast<size_t>(f.products), r = static_cast<size_t>(taps);
  for (int64_t i = 0; i < filters; ++i) {
    Matrix half(n, std::vector<double>(r, 0));
    for (size_t k = 0; k < r; ++k) {
      for (size_t l = 0; l < r; ++l) {
        const double v = w.get((i * taps + static_cast<int64_t>(k)) * taps + static_cast<int64_t>(l));
        for (size_t j = 0; j < n; ++j) half[j][l] += f.g[j][k] * (magnitudes ? std::fabs(v) : v);
      }
    }
    for (size_t j = 0; j < n; ++j) {
      for (size_t q = 0; q < n; ++q) {
        double sum = 0;
        for (size_t l = 0; l < r; ++l) sum += half[j][l] * f.g[q][l];
        out[0].set(static_cast<int64_t>(j * n + q) * filters + i, sum);
      }
    }
  }
}

void evaluate_weight_transform(const WeightAttrs& a, Args in, Results out) {
  transform_weight(a, in, out, false);
}
void weight_terms(const Attrs& attrs, Args in, Results out) {
  transform_weight(read_attrs<WeightAttrs>(attrs), in, out, true);
}

// One of the values, by an index along which they are told apart.
kernel::Expr pick(kernel::Expr index, const std::vector<kernel::Expr>& values) {
  kernel::Expr out = values.back();
  for (size_t i = values.size() - 1; i-- > 0;)
    out = select(equal(index, index->pool->integer(static_cast<int64_t>(i))), values[i], out);
  return out;
}

// matrix * x * matrix^T, as it is at (row, column).
kernel::Expr both_ways(const Matrix& matrix, const std::vector<std::vector<kernel::Expr>>& x,
                       kernel::Expr row, kernel::Expr column) {
  const std::function<kernel::Expr(double, const kernel::Expr&)> times = [](double factor,
                                                                            const kernel::Expr& e) {
    return factor == 1 ? e : factor == -1 ? -e : e * e->pool->real(factor, e->dtype);
  };
  std::vector<std::vector<kernel::Expr>> columns;  // transformed ones
  for (size_t j = 0; j < x[0].size(); ++j) {
    std::vector<kernel::Expr> in;
    for (const auto& line : x) in.push_back(line[j]);
    columns.push_back(transformed(matrix, in, times));
  }
  std::vector<kernel::Expr> rows;
  for (size_t i = 0; i < matrix.size(); ++i) {
    std::vector<kernel::Expr> in;
    for (const auto& c : columns) in.push_back(c[i]);
    rows.push_back(pick(column, transformed(matrix, in, times)));
  }
  return pick(row, rows);
}

std::vector<kernel::Tensor> lower_weight_transform(kernel::Builder& k, const WeightAttrs& a,
                                                   const Lowering& l) {
  const int64_t taps = l.arg_types[0]->dims[2].value();
  const Winograd f = winograd(a.tile_size, taps);
  return {k.compute("winograd_weight", l.dtype(), l.shape(), [&](kernel::Indices i) {
    const DType wide = sum_dtype(l.dtype(), l.dtype());
    std::vector<std::vector<kernel::Expr>> w;
    for (int64_t u = 0; u < taps; ++u) {
      w.emplace_back();
      for (int64_t v = 0; v < taps; ++v)
        w.back().push_back(cast(wide, l.in[0](i[2], i[3], k.index(u), k.index(v))));
    }
    return cast(l.dtype(), both_ways(f.g, w, i[0], i[1]));
  })};
}

// --- the convolution -----------------------------------------------------------------------------

struct WinogradAttrs {
  int64_t tile_size = 4;
  std::vector<int64_t> strides = {1, 1}, padding = {0, 0}, dilation = {1, 1};
  std::optional<Dim> channels = {};
  std::string data_layout = "NCHW", kernel_layout = "HWOI", out_layout = {};
  static constexpr auto kFields = fields(
      field("tile_size", &WinogradAttrs::tile_size, "height and width of the tiles of results: m").required(),
      field("strides", &WinogradAttrs::strides, "1"),
      field("padding", &WinogradAttrs::padding,
            "zeros around the image: one number, (height, width) or (top, left, bottom, right)"),
      field("dilation", &WinogradAttrs::dilation, "1"),
      field("channels", &WinogradAttrs::channels, "output channels; None: as the weight says"),
      field("data_layout", &WinogradAttrs::data_layout, "NCHW, or channels in blocks: NCHW16c"),
      field("kernel_layout", &WinogradAttrs::kernel_layout, "of the transformed weight: HWOI, or HWOI16o"),
      field("out_layout", &WinogradAttrs::out_layout, "of the result; \"\": the data's"));
};

Type relate(Relation& r, const WinogradAttrs& a) {
  const BlockedConvolution c = read_blocked_convolution(a);  // C2, C3
  require_whole_images(r, c);                                // C2
  for (const size_t axis : {0, 1}) {
    r.require(c.window.stride[axis] == 1 && c.window.dilation[axis] == 1, kAttributes,
              "strides and dilation must be 1: nn.conv2d has others");  // C3
  }
  r.require_float(0);
  r.require_same_dtype(1, 0);
  require_layouts(r, c);  // C1
  const std::vector<Dim> x = c.data.extents(r.tensor(0).dims), w = c.weight.extents(r.tensor(1).dims);
  r.require(w[2].is_const(), 1, "the number of products must be known");
  r.same(w[3], w[2], 1, "extent W of the weight");               // C4
  require_tile(r, a.tile_size, w[2].value());                    // C4
  require_input_blocks(r, c, w[1], x[1]);                        // C5
  const Dim channels = output_channels(r, c, w[0], a.channels);  // C6
  const Dim taps = w[2] - a.tile_size + 1;
  return r.tensor_of(c.out.shape(std::vector<Dim>{x[0], channels, fitting_windows(r, c.window, 0, x[2], taps),
                                                  fitting_windows(r, c.window, 1, x[3], taps)}),
                     r.tensor(0).dtype);  // C7
}

Matrix product(const Matrix& a, const Matrix& b, bool transpose_b) {
  const size_t columns = transpose_b ? b.size() : b[0].size();
  Matrix out(a.size(), std::vector<double>(columns, 0));
  for (size_t i = 0; i < a.size(); ++i) {
    for (size_t k = 0; k < a[i].size(); ++k) {
      for (size_t j = 0; j < columns; ++j) out[i][j] += a[i][k] * (transpose_b ? b[j][k] : b[k][j]);
    }
  }
  return out;
}

// Of the arguments, or of the absolute values of everything: then it is the sum of |terms|.
void compute(const WinogradAttrs& a, Args in, Results out, bool magnitudes) {
  const BlockedConvolution c = read_blocked_convolution(a);
  const Tensor &data = in[0], &weight = in[1];
  Tensor& y = out[0];
  if (y.size() == 0) return;
  const auto extent = [](const Layout& layout, const Tensor& t, size_t axis) {
    std::vector<int64_t> last;
    for (int64_t e : t.shape()) last.push_back(e - 1);
    return layout.coordinates(std::span<const int64_t>(last))[axis] + 1;
  };
  const int64_t products = extent(c.weight, weight, 2), m = a.tile_size;
  const int64_t in_channels = extent(c.weight, weight, 1), out_channels = extent(c.out, y, 1);
  const int64_t weights = extent(c.weight, weight, 0), batch = extent(c.out, y, 0);
  const std::array<int64_t, 2> from{extent(c.data, data, 2), extent(c.data, data, 3)};
  const std::array<int64_t, 2> to{extent(c.out, y, 2), extent(c.out, y, 3)};
  Winograd f = winograd(m, products - m + 1);
  if (magnitudes) f = {f.results, f.taps, f.products, absolute(f.at), absolute(f.g), absolute(f.bt)};
  const auto n = static_cast<size_t>(products);
  const auto value = [&](const Tensor& t, const Layout& layout, const std::vector<int64_t>& at) {
    const double v = t.get(offset_of(t.shape(), layout.index(at)));
    return magnitudes ? std::fabs(v) : v;
  };
  for (int64_t b = 0; b < batch; ++b) {
    for (int64_t top = 0; top < to[0]; top += m) {
      for (int64_t left = 0; left < to[1]; left += m) {
        std::vector<Matrix> tiles;  // transformed ones, of each input channel
        for (int64_t i = 0; i < in_channels; ++i) {
          Matrix tile(n, std::vector<double>(n, 0));
          for (size_t u = 0; u < n; ++u) {
            for (size_t v = 0; v < n; ++v) {
              const int64_t row = top + static_cast<int64_t>(u) - c.window.before[0];
              const int64_t column = left + static_cast<int64_t>(v) - c.window.before[1];
              if (row >= 0 && row < from[0] && column >= 0 && column < from[1])
                tile[u][v] = value(data, c.data, {b, i, row, column});
            }
          }
          tiles.push_back(product(product(f.bt, tile, false), f.bt, true));
        }
        for (int64_t o = 0; o < out_channels; ++o) {
          Matrix sum(n, std::vector<double>(n, 0));
          // What fills a block up beyond the weight's channels is 0.
          for (int64_t i = 0; i < (o < weights ? in_channels : 0); ++i) {
            for (size_t u = 0; u < n; ++u) {
              for (size_t v = 0; v < n; ++v) {
                sum[u][v] +=
                    tiles[static_cast<size_t>(i)][u][v] *
                    value(weight, c.weight, {o, i, static_cast<int64_t>(u), static_cast<int64_t>(v)});
              }
            }
          }
          const Matrix results = product(product(f.at, sum, false), f.at, true);
          for (int64_t u = 0; u < std::min(m, to[0] - top); ++u) {
            for (int64_t v = 0; v < std::min(m, to[1] - left); ++v) {
              y.set(offset_of(y.shape(), c.out.index(std::vector<int64_t>{b, o, top + u, left + v})),
                    results[static_cast<size_t>(u)][static_cast<size_t>(v)]);
            }
          }
        }
      }
    }
  }
}

void evaluate(const WinogradAttrs& a, Args in, Results out) { compute(a, in, out, false); }
void terms(const Attrs& attrs, Args in, Results out) {
  compute(read_attrs<WinogradAttrs>(attrs), in, out, true);
}

// The channels, and both transforms of data and of results, each along two axes.
int64_t length(std::span<const Type> args, const Attrs& attrs) {
  const BlockedConvolution c = read_blocked_convolution(read_attrs<WinogradAttrs>(attrs));
  const std::vector<Dim> w = c.weight.extents(args[1]->as<TensorType>()->dims);
  return (w[1].is_const() ? w[1].value() : 1) + 4 * kMostProducts;
}

std::vector<kernel::Tensor> lower(kernel::Builder& k, const WinogradAttrs& a, const Lowering& l) {
  const BlockedConvolution c = read_blocked_convolution(a);
  const std::vector<Dim> weight = c.weight.extents(l.arg_types[1]->dims),
                         image = c.data.extents(l.arg_types[0]->dims),
                         result = c.out.extents(l.out_types[0]->dims);
  const int64_t m = a.tile_size, products = weight[2].value();
  const Winograd f = winograd(m, products - m + 1);
  const DType wide = sum_dtype(l.in[0].dtype(), l.dtype());
  const Dim down = ceil_div(result[2], m), across = ceil_div(result[3], m);
  const auto expressions = [&](std::vector<Dim> dims, bool squares) {
    std::vector<kernel::Expr> out;
    if (squares) out = {k.index(products), k.index(products)};
    for (Dim d : dims) out.push_back(d.expr(k.pool()));
    return out;
  };

  // Data, with what padding and whole tiles need.
  const std::vector<kernel::Expr> reached{(down * m + (products - m)).expr(k.pool()),
                                          (across * m + (products - m)).expr(k.pool())};
  const kernel::Tensor x = padded(k, l.in[0], c, reached);

  const std::vector<kernel::Expr> data_shape =
      expressions(c.data.shape(std::vector<Dim>{image[0], image[1], down, across}), true);
  const kernel::Tensor v = k.compute("winograd_data", wide, data_shape, [&](kernel::Indices i) {
    const std::vector<kernel::Expr> at = c.data.coordinates(i.subspan(2));
    std::vector<std::vector<kernel::Expr>> tile;
    for (int64_t row = 0; row < products; ++row) {
      tile.emplace_back();
      for (int64_t column = 0; column < products; ++column) {
        tile.back().push_back(cast(
            wide, x.at(place(c.data, {at[0], at[1], at[2] * m + row, at[3] * m + column}, i, data_shape))));
      }
    }
    return both_ways(f.bt, tile, i[0], i[1]);
  });

  const ChannelLoops loops(k, c, weight[1]);
  const std::vector<kernel::Expr> sum_shape =
      expressions(c.out.shape(std::vector<Dim>{result[0], result[1], down, across}), true);
  const kernel::Tensor sums =
      k.reduce("winograd_products", wide, sum_shape, loops.extents(), k.sum(wide),
               [&](kernel::Indices i, kernel::Indices r) {
                 const std::vector<kernel::Expr> at = c.out.coordinates(i.subspan(2));
                 const kernel::Expr channel = loops.channel(r);
                 std::vector<kernel::Expr> known(i.begin(), i.end()), ranges = sum_shape;
                 known.insert(known.end(), r.begin(), r.end());
                 ranges.insert(ranges.end(), loops.extents().begin(), loops.extents().end());
                 std::vector<kernel::Expr> from{i[0], i[1]};
                 for (kernel::Expr e : place(c.data, {at[0], channel, at[2], at[3]}, known, ranges))
                   from.push_back(e);
                 return v.at(from) *
                        cast(wide, l.in[1].at(place(c.weight, {at[1], channel, i[0], i[1]}, known, ranges)));
               });

  return {k.compute("winograd_results", l.dtype(), l.shape(), [&](kernel::Indices i) {
    const std::vector<kernel::Expr> at = c.out.coordinates(i);
    std::vector<std::vector<kernel::Expr>> tile;
    for (int64_t row = 0; row < products; ++row) {
      tile.emplace_back();
      for (int64_t column = 0; column < products; ++column) {
        std::vector<kernel::Expr> from{k.index(row), k.index(column)};
        for (kernel::Expr e :
             place(c.out, {at[0], at[1], floor_div(at[2], m), floor_div(at[3], m)}, i, l.shape()))
          from.push_back(e);
        tile.back().push_back(sums.at(from));
      }
    }
    return cast(l.dtype(), both_ways(f.at, tile, floor_mod(at[2], m), floor_mod(at[3], m)));
  })};
}

}  // namespace

const OpDef kContribConv2dWinogradWeightTransform = define<WeightAttrs>({
    .name = "nn.contrib_conv2d_winograd_weight_transform",
    .doc = "The weight of a convolution, transformed for Winograd's minimal filtering.",
    .params = {{"weight", "in the layout OIHW, its windows square"}},
    .fusion = Fusion::kInjective,
    .tolerance = {.kind = Tolerance::Kind::kReduction,
                  .length = [](std::span<const Type>, const Attrs&) -> int64_t { return 4 * kMostProducts; },
                  .terms = weight_terms},
    .not_differentiable = "it is made from nn.conv2d when a program is compiled",
    .relate = relate_weight_transform,
    .evaluate = evaluate_weight_transform,
    .lower = lower_weight_transform,
});

const OpDef kContribConv2dWinogradWithoutWeightTransform = define<WinogradAttrs>({
    .name = "nn.contrib_conv2d_winograd_without_weight_transform",
    .doc = "Convolution by Winograd's minimal filtering, with a weight that was transformed for it.",
    .params = {{"data", "a batch of images, in data_layout"}, {"weight", "transformed, in kernel_layout"}},
    .fusion = Fusion::kOutputFusable,
    .tolerance = {.kind = Tolerance::Kind::kReduction, .length = length, .terms = terms},
    .not_differentiable = "it is made from nn.conv2d when a program is compiled",
    .relate = relate,
    .evaluate = evaluate,
    .lower = lower,
});

}  // namespace relay::op
