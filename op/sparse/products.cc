// Sums and products of which one operand is a sparse matrix S, given by the tensors `data`,
// `indices` and `pointers` (op/sparse/matrix.h).
#include "base/cat.h"
#include "op/nn/fit.h"
#include "op/nn/window.h"
#include "op/sparse/matrix.h"
#include "op/tensor/common.h"

namespace relay::op {
namespace {

struct SparseDenseAttrs {
  bool sparse_lhs = false;
  static constexpr auto kFields =
      fields(field("sparse_lhs", &SparseDenseAttrs::sparse_lhs, "the left operand is the sparse one"));
};

struct SparseConv2dAttrs {
  std::string layout = "NHWC";
  std::vector<int64_t> kernel_size = {1, 1};
  static constexpr auto kFields =
      fields(field("layout", &SparseConv2dAttrs::layout, "of the images: NHWC or NCHW"),
             field("kernel_size", &SparseConv2dAttrs::kernel_size, "the window: (1, 1) or (3, 3)"));
};

// --- nn.sparse_dense -----------------------------------------------------------------------------

// nn.sparse_dense(x, data, indices, pointers) = nn.dense(x, S), or nn.dense(S, x) if sparse_lhs
// nn.internal.sparse_dense_padded(x, data, indices, pointers) = nn.dense(x, S), or nn.dense(S, x) if
//     sparse_lhs
//
//   (Tensor[(m, k), d], Tensor[t, d], Tensor[(e), i], Tensor[(p), j]) -> Tensor[(m, n), d]
//   C1: x is a matrix.   C2: data has the dtype of x, a number's, and rank 1, or rank 3 of blocks.
//   C3: indices and pointers are vectors of integers, one index for each element or block.
//   C4: there is a pointer.   C5: the shape of S is known, and blocks fill it.
//
// S has n rows and k columns. With sparse_lhs the result is (n, m). Element e of S is in row r if
// pointers[r] <= e < pointers[r + 1], and in column indices[e]; of blocks, rows and columns
// are counted in blocks. A program traps if an element is in no row or no column. Elements in
// one place add up.
Type relate_dense(Relation& r, const SparseDenseAttrs& a) {
  r.require_rank(0, 2);  // C1
  const TensorType& x = r.tensor(0);
  r.require_same_dtype(1, 0);                                             // C2
  const Dim rows = require_sparse_matrix(r, 1, x.dims[1], Blocks::kMay);  // C2, C3, C4, C5
  r.require_fits(rows, 3, "rows of the sparse matrix");
  return r.tensor_of(a.sparse_lhs ? std::vector<Dim>{rows, x.dims[0]} : std::vector<Dim>{x.dims[0], rows},
                     x.dtype);
}

Expr expand_dense(Builder& b, const SparseDenseAttrs& a, const Site& c) {
  const Expr x = c.args[0], s = dense_matrix(b, c.args.subspan(1), c.tensor(0).dims[1]);
  return call(b, kDense, {a.sparse_lhs ? s : x, a.sparse_lhs ? x : s});
}

int64_t length_of_dense(std::span<const Type> args, const Attrs&) {
  const Dim k = args[0]->as<TensorType>()->dims[1];
  return k.is_const() ? k.value() : 1;
}

// --- nn.sparse_add -------------------------------------------------------------------------------

// nn.sparse_add(x, data, indices, pointers) = x + S
//
//   (Tensor[(n, k), d], Tensor[(e), d], Tensor[(e), i], Tensor[(n + 1), j]) -> Tensor[(n, k), d]
//   C1: x is a matrix.   C2: data is a vector of the dtype of x, a number's.
//   C3: indices and pointers are vectors of integers, one index for each element.
//   C4: there is a pointer.   C5: the shape of S is known.   C6: S has as many rows as x.
//
// S is given as for nn.sparse_dense.
Type relate_add(Relation& r, const NoAttrs&) {
  r.require_rank(0, 2);  // C1
  const TensorType& x = r.tensor(0);
  r.require_same_dtype(1, 0);                                               // C2
  const Dim rows = require_sparse_matrix(r, 1, x.dims[1], Blocks::kNever);  // C2, C3, C4, C5
  r.same(rows, x.dims[0], 3, "number of rows", 0);                          // C6
  return &x;
}

Expr expand_add(Builder& b, const NoAttrs&, const Site& c) {
  const std::span<const Expr> matrix = c.args.subspan(1);
  const std::vector<Dim> shape{sparse_rows(matrix), c.tensor(0).dims[1]};
  // Where only a run tells whether the rows are as many, this comes before a trap of an index.
  const bool same = prove_equal(shape[0], c.tensor(0).dims[0]) == kernel::Proof::kProved;
  const Expr x =
      same ? c.args[0] : call(b, kReshape, {c.args[0]}, {{"newshape", shape}, {"allowzero", true}});
  const Expr sum = call(b, kScatterNd, {x, places_of(b, matrix), c.args[1]}, {{"mode", std::string("add")}});
  return same ? sum : in_shape_of(b, sum, c.args[0]);
}

// --- nn.sparse_conv2d ----------------------------------------------------------------------------

// nn.sparse_conv2d(x, data, indices, pointers) = nn.conv2d(x, S)
//
//   (Tensor[(n, h, w, c), d], Tensor[t, d], Tensor[(e), i], Tensor[(p), j]) -> Tensor[(n, h, w, o), d]
//   C1: x has rank 4.   C2: layout is NHWC or NCHW.   C3: kernel_size is (1, 1) or (3, 3).
//   C4: data has the dtype of x, a number's, and rank 1, or rank 3 of blocks.
//   C5: indices and pointers are vectors of integers, one index for each element or block.
//   C6: there is a pointer.   C7: the shape of S is known, and blocks fill it.
//   C8: the window fits into the padded image, so that h and w are at least 1.
//
// S is given as for nn.sparse_dense. A row of it has the window of an output channel: in NHWC its
// elements are in the order (y, x, channel), in NCHW (channel, y, x). The image is padded with
// zeros, so that it keeps its extents.
struct SparseConvolution {
  bool last;      // the channels are the last axis
  int64_t width;  // of the window
  Dim columns;
};

SparseConvolution read(const SparseConv2dAttrs& a, const TensorType& x) {
  const std::vector<int64_t> size = read_sizes("kernel_size", a.kernel_size);
  const bool last = a.layout == "NHWC";
  return {last, size[0], x.dims[last ? 3 : 1] * Dim(size[0] * size[1])};
}

std::vector<int64_t> padding_of(const SparseConvolution& s) { return {s.width / 2, s.width / 2}; }

Type relate_conv2d(Relation& r, const SparseConv2dAttrs& a) {
  r.require_rank(0, 4);  // C1
  const TensorType& x = r.tensor(0);
  r.require(a.layout == "NHWC" || a.layout == "NCHW", kAttributes,
            cat("layout must be NHWC or NCHW, not ", a.layout));  // C2
  const std::vector<int64_t> size = read_sizes("kernel_size", a.kernel_size);
  r.require(size[0] == size[1] && (size[0] == 1 || size[0] == 3), kAttributes,
            "kernel_size must be (1, 1) or (3, 3)");  // C3
  r.require_same_dtype(1, 0);                         // C4
  const SparseConvolution s = read(a, x);
  const Dim rows = require_sparse_matrix(r, 1, s.columns, Blocks::kMay);  // C4, C5, C6, C7
  r.require_fits(rows, 3, "rows of the sparse matrix");
  std::vector<Dim> out = dims_of(x);
  out[s.last ? 3 : 1] = rows;
  const std::vector<int64_t> ones{1};
  const Window window = read_window(ones, ones, padding_of(s), 2);
  for (size_t axis = 0; axis < 2; ++axis) {
    Dim& extent = out[(s.last ? 1 : 2) + axis];
    extent = fitting_windows(r, window, axis, extent, s.width);  // C8
  }
  return r.tensor_of(out, x.dtype);
}

Expr expand_conv2d(Builder& b, const SparseConv2dAttrs& a, const Site& c) {
  const SparseConvolution s = read(a, c.tensor(0));
  const Dim channels = c.tensor(0).dims[s.last ? 3 : 1], width(s.width);
  const Expr matrix = dense_matrix(b, c.args.subspan(1), s.columns);
  const Dim rows = tensor_type_of(matrix).dims[0];
  const std::vector<Dim> shape = s.last ? std::vector<Dim>{rows, width, width, channels}
                                        : std::vector<Dim>{rows, channels, width, width};
  const Expr weight = call(b, kReshape, {matrix}, {{"newshape", shape}, {"allowzero", true}});
  return call(b, kConv2d, {c.args[0], weight},
              {{"padding", padding_of(s)},
               {"data_layout", a.layout},
               {"kernel_layout", std::string(s.last ? "OHWI" : "OIHW")}});
}

int64_t length_of_conv2d(std::span<const Type> args, const Attrs& attrs) {
  const Dim k = read(read_attrs<SparseConv2dAttrs>(attrs), *args[0]->as<TensorType>()).columns;
  return k.is_const() ? k.value() : 1;
}

std::vector<Param> params(std::string_view x, std::string_view data) {
  return {{"dense_data", x},
          {"sparse_data", data},
          {"sparse_indices", "the column of each"},
          {"sparse_indptr", "where each row begins, and the last one ends"}};
}

constexpr auto kElementsOrBlocks = "the elements of a matrix, row by row; or its blocks";

}  // namespace

const OpDef kSparseDense = define<SparseDenseAttrs>({
    .name = "nn.sparse_dense",
    .doc = "The product of a matrix and a transposed one, one of them sparse.",
    .params = params("a matrix", kElementsOrBlocks),
    .effects = Effects::kTraps,
    .tolerance = {.kind = Tolerance::Kind::kReduction, .length = length_of_dense},
    .relate = relate_dense,
    .expand = expand_dense,
});

const OpDef kInternalSparseDensePadded = define<SparseDenseAttrs>({
    .name = "nn.internal.sparse_dense_padded",
    .doc = "nn.sparse_dense of a matrix that may hold zeros, so that all rows have as many elements.",
    .params = {{"data", "a matrix"},
               {"weight_data", kElementsOrBlocks},
               {"weight_indices", "the column of each"},
               {"weight_indptr", "where each row begins, and the last one ends"}},
    .effects = Effects::kTraps,
    .tolerance = {.kind = Tolerance::Kind::kReduction, .length = length_of_dense},
    .relate = relate_dense,
    .expand = expand_dense,
});

const OpDef kSparseAdd = define<NoAttrs>({
    .name = "nn.sparse_add",
    .doc = "The sum of a matrix and a sparse one.",
    .params = params("a matrix", "the elements of a matrix, row by row"),
    .effects = Effects::kTraps,
    .relate = relate_add,
    .expand = expand_add,
});

const OpDef kSparseConv2d = define<SparseConv2dAttrs>({
    .name = "nn.sparse_conv2d",
    .doc = "Convolution of images with windows that are the rows of a sparse matrix.",
    .params = params("a batch of images", kElementsOrBlocks),
    .effects = Effects::kTraps,
    .tolerance = {.kind = Tolerance::Kind::kReduction, .length = length_of_conv2d},
    .relate = relate_conv2d,
    .expand = expand_conv2d,
});

}  // namespace relay::op
