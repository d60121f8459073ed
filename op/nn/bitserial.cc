// Products of integers of few bits, and how bits are packed.
//
//   nn.bitserial_dense(x, y) = nn.dense(low(x), w)
//   nn.bitserial_conv2d(x, y) = nn.conv2d(low(x), w)
//
//   (Tensor[s, d], Tensor[t, e]) -> Tensor[r, out_dtype]
//   C1: d and e are integers.   C2: the numbers of bits are in [1, 8].
//   C3: out_dtype is int16 or int32.
//   C4: data, weight and attributes are as the operator without `bitserial_` wants them.
//
// low(x) is x modulo 2^b, with b the bits of the data. w is low(y) with those of the weight, or
// 2 * low(y) + 1 - 2^b if unipolar: then each bit of the weight counts as 1 or -1. Sums wrap in
// out_dtype. The weight is not packed.
#include "base/cat.h"
#include "op/domain.h"
#include "op/nn/convolution.h"
#include "op/tensor/common.h"
#include "op/term.h"

namespace relay::op {
namespace {

struct BinaryDenseAttrs {
  std::optional<Dim> units = {};
  int64_t data_bits = 1, weight_bits = 1;
  MaybeDType pack_dtype = {}, out_dtype = {kInt16};
  bool unipolar = true;
  static constexpr auto kFields =
      fields(field("units", &BinaryDenseAttrs::units, "outputs; None: as the weight says"),
             field("data_bits", &BinaryDenseAttrs::data_bits, "bits of the data that count"),
             field("weight_bits", &BinaryDenseAttrs::weight_bits, "bits of the weight that count"),
             field("pack_dtype", &BinaryDenseAttrs::pack_dtype, "accepted, but it changes nothing"),
             field("out_dtype", &BinaryDenseAttrs::out_dtype, "of the result: int16 or int32"),
             field("unipolar", &BinaryDenseAttrs::unipolar, "bits of the weight count as 1 and -1"));
};

struct BinaryConv2dAttrs {
  std::vector<int64_t> strides = {1, 1}, padding = {0, 0};
  std::optional<std::vector<Dim>> kernel_size = std::vector<Dim>{Dim(3), Dim(3)};
  std::optional<Dim> channels = {};
  int64_t activation_bits = 1, weight_bits = 1;
  std::string data_layout = "NCHW", kernel_layout = "OIHW";
  MaybeDType pack_dtype = {}, out_dtype = {kInt16};
  bool unipolar = true;
  static constexpr auto kFields =
      fields(field("strides", &BinaryConv2dAttrs::strides,
                   "how far the window moves: one number, or height and width"),
             field("padding", &BinaryConv2dAttrs::padding,
                   "zeros around the image: one number, (height, width) or (top, left, bottom, right)"),
             field("kernel_size", &BinaryConv2dAttrs::kernel_size,
                   "height and width of the window; None: as the weight says"),
             field("channels", &BinaryConv2dAttrs::channels, "output channels; None: as the weight says"),
             field("activation_bits", &BinaryConv2dAttrs::activation_bits, "bits of the data that count"),
             field("weight_bits", &BinaryConv2dAttrs::weight_bits, "bits of the weight that count"),
             field("data_layout", &BinaryConv2dAttrs::data_layout, "an order of the letters NCHW"),
             field("kernel_layout", &BinaryConv2dAttrs::kernel_layout, "an order of the letters OIHW"),
             field("pack_dtype", &BinaryConv2dAttrs::pack_dtype, "accepted, but it changes nothing"),
             field("out_dtype", &BinaryConv2dAttrs::out_dtype, "of the result: int16 or int32"),
             field("unipolar", &BinaryConv2dAttrs::unipolar, "bits of the weight count as 1 and -1"));
};

constexpr int64_t kMostBits = 8;

// --- nn.bitserial_dense, nn.bitserial_conv2d -----------------------------------------------------

int64_t data_bits(const BinaryDenseAttrs& a) { return a.data_bits; }
int64_t data_bits(const BinaryConv2dAttrs& a) { return a.activation_bits; }

const OpDef& plain(const BinaryDenseAttrs&) { return kDense; }
const OpDef& plain(const BinaryConv2dAttrs&) { return kConv2d; }

template <class A>
DType sums_of(const A& a) {
  return a.out_dtype.value_or(kInt16);
}

std::vector<AttrArg> plain_attrs(const BinaryDenseAttrs& a) {
  std::vector<AttrArg> out{{"out_dtype", sums_of(a)}};
  if (a.units) out.push_back({"units", *a.units});
  return out;
}
std::vector<AttrArg> plain_attrs(const BinaryConv2dAttrs& a) {
  std::vector<AttrArg> out{{"strides", a.strides},
                           {"padding", a.padding},
                           {"data_layout", a.data_layout},
                           {"kernel_layout", a.kernel_layout},
                           {"out_dtype", sums_of(a)}};
  if (a.kernel_size) out.push_back({"kernel_size", *a.kernel_size});
  if (a.channels) out.push_back({"channels", *a.channels});
  return out;
}

template <class A>
Type relate(Relation& r, const A& a) {
  for (const int arg : {0, 1}) require(r, arg, Domain::kInteger);  // C1
  for (const int64_t bits : {data_bits(a), a.weight_bits}) {
    r.require(bits >= 1 && bits <= kMostBits, kAttributes,
              cat("the number of bits must be in [1, ", kMostBits, "], not ", bits));  // C2
  }
  const DType sums = sums_of(a);
  r.require(sums == kInt16 || sums == kInt32, kAttributes, "out_dtype must be int16 or int32");  // C3
  return plain(a).relate(r, r.context().attrs(plain_attrs(a)));                                  // C4
}

template <class A>
Expr expand(Builder& b, const A& a, const Site& c) {
  const auto most = [](int64_t bits) { return static_cast<double>((int64_t{1} << bits) - 1); };
  const auto low = [&](size_t arg, int64_t bits) {
    const Term x(b, call(b, kCast, {c.args[arg]}, {{"dtype", sums_of(a)}}));
    return x.apply(kBitwiseAnd, {x, x.number(most(bits))});
  };
  const Term x = low(0, data_bits(a)), y = low(1, a.weight_bits);
  return call(b, plain(a), {x, a.unipolar ? y + y - most(a.weight_bits) : y}, plain_attrs(a));
}

// --- nn.bitpack ----------------------------------------------------------------------------------

struct BitPackAttrs {
  int64_t bits = 1, pack_axis = 1, bit_axis = -1;
  MaybeDType pack_type = {kUInt32};
  std::string name = "BitPack";
  static constexpr auto kFields = fields(
      field("bits", &BitPackAttrs::bits, "so many bits of each element are kept, the lowest"),
      field("pack_axis", &BitPackAttrs::pack_axis, "whose elements are packed, from the end if negative"),
      field("bit_axis", &BitPackAttrs::bit_axis, "where the new axis of bits stands in the result"),
      field("pack_type", &BitPackAttrs::pack_type, "of the result: uint8, uint16, uint32 or uint64"),
      field("name", &BitPackAttrs::name, "accepted, but it changes nothing"));
};

DType packed_in(const BitPackAttrs& a) { return a.pack_type.value_or(kUInt32); }

// nn.bitpack(x)[i.., p, j..] = sum over k < w of bit(x[i.., w * p + k, j..]) * 2^(w - 1 - k)
//
//   (Tensor[(i.., w * p, j..), d]) -> Tensor[(i.., p, j..) with `bits` at bit_axis, pack_type]
//   C1: d is an integer.   C2: bits is in [1, 8].   C3: pack_axis is in [-rank, rank).
//   C4: bit_axis is in [-rank - 1, rank].   C5: pack_type is uint8, uint16, uint32 or uint64.
//   C6: the extent of pack_axis is a multiple of w, the bits of pack_type.
//
// At index b of the new axis, bit(x) is bit b of x. The first elements have the highest bits.
Type relate_pack(Relation& r, const BitPackAttrs& a) {
  require(r, 0, Domain::kInteger);  // C1
  const TensorType& x = r.tensor(0);
  r.require(a.bits >= 1 && a.bits <= kMostBits, kAttributes,
            cat("bits must be in [1, ", kMostBits, "], not ", a.bits));  // C2
  const size_t pack = r.axis(a.pack_axis, x.rank());                     // C3
  const size_t bit = r.axis(a.bit_axis, x.rank() + 1);                   // C4
  const DType type = packed_in(a);
  r.require(type.is_unsigned_int() && type.bits >= 8, kAttributes,
            "pack_type must be uint8, uint16, uint32 or uint64");  // C5
  std::vector<Dim> out = dims_of(x);
  const Dim width(type.bits);
  const Dim words = floor_div(out[pack], width);
  r.same(words * width, out[pack], 0, "extent of pack_axis, in whole words");  // C6
  out[pack] = words;
  out.insert(out.begin() + static_cast<std::ptrdiff_t>(bit), Dim(a.bits));
  return r.tensor_of(out, type);
}

// Where the result's index has the word and the bit.
struct Packing {
  size_t bit, pack;  // axes of the result and of the data

  Packing(const BitPackAttrs& a, size_t rank)
      : bit(from_front(a.bit_axis, rank + 1)), pack(from_front(a.pack_axis, rank)) {}
  // The index into the data, with the word in the place of the element.
  template <class T>
  std::vector<T> word(std::span<const T> i) const {
    std::vector<T> out(i.begin(), i.end());
    out.erase(out.begin() + static_cast<std::ptrdiff_t>(bit));
    return out;
  }
};

void evaluate_pack(const BitPackAttrs& a, Args in, Results out) {
  const Packing packing(a, in[0].rank());
  const int64_t width = packed_in(a).bits;
  int64_t n = 0;
  for_each_index(out[0].shape(), [&](const std::vector<int64_t>& i) {
    std::vector<int64_t> at = packing.word<int64_t>(i);
    const int64_t begin = at[packing.pack] * width;
    uint64_t word = 0;
    for (int64_t k = 0; k < width; ++k) {
      at[packing.pack] = begin + k;
      const int64_t x = in[0].get_int(offset_of(in[0].shape(), at));
      word = word << 1 | (static_cast<uint64_t>(x) >> i[packing.bit] & 1);
    }
    out[0].set_int(n++, static_cast<int64_t>(word));
  });
}

std::vector<kernel::Tensor> lower_pack(kernel::Builder& k, const BitPackAttrs& a, const Lowering& c) {
  const Packing packing(a, c.in[0].rank());
  const DType d = c.dtype();
  const int64_t width = d.bits;
  return {k.reduce("bitpack", d, c.shape(), {k.index(width)}, k.sum(d),
                   [&](kernel::Indices i, kernel::Indices r) {
                     std::vector<kernel::Expr> at = packing.word<kernel::Expr>(i);
                     at[packing.pack] = at[packing.pack] * width + r[0];
                     const kernel::Expr x = cast(kInt64, c.in[0].at(at));
                     const kernel::Expr bit = bit_and(shift_right(x, i[packing.bit]), k.index(1));
                     return shift_left(cast(d, bit), cast(d, k.index(width - 1) - r[0]));
                   })};
}

}  // namespace

const OpDef kBitserialDense = define<BinaryDenseAttrs>({
    .name = "nn.bitserial_dense",
    .doc = "nn.dense of integers of which a few bits count.",
    .params = {{"data", "vectors of integers along the last axis"}, {"weight", "(units, inputs), integers"}},
    .relate = relate<BinaryDenseAttrs>,
    .expand = expand<BinaryDenseAttrs>,
});

const OpDef kBitserialConv2d = define<BinaryConv2dAttrs>({
    .name = "nn.bitserial_conv2d",
    .doc = "nn.conv2d of integers of which a few bits count.",
    .params = {{"data", "a batch of images of integers"}, {"weight", "the windows' weights, integers"}},
    .relate = relate<BinaryConv2dAttrs>,
    .expand = expand<BinaryConv2dAttrs>,
});

const OpDef kBitpack = define<BitPackAttrs>({
    .name = "nn.bitpack",
    .doc = "The bits of integers packed along an axis: a word for each bit of so many elements.",
    .params = {{"data", "integers"}},
    .fusion = Fusion::kReduction,
    .not_differentiable = "defined on integers",
    .relate = relate_pack,
    .evaluate = evaluate_pack,
    .lower = lower_pack,
});

}  // namespace relay::op
