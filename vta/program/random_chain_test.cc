// Random chains of integer operators: whatever becomes a layer gives what the interpreter gives.
#include <random>

#include "op/apply.h"
#include "op/ops.h"
#include "vta/program/testing.h"

namespace relay::vta {
namespace {

using namespace testing;

class Chains {
 public:
  explicit Chains(uint64_t seed) : random_(seed), b_(m_.context()) {}

  Module operator()() {
    begin();
    const int64_t steps = below(7);
    for (int64_t k = 0; k < steps; k++) step();
    end();
    m_.set_function("main", b_.fn(params_, e_));
    return m_;
  }

 private:
  int64_t below(int64_t n) { return static_cast<int64_t>(random_() % static_cast<uint64_t>(n)); }
  int64_t between(int64_t low, int64_t high) { return low + below(high - low + 1); }
  bool once_in(int64_t n) { return below(n) == 0; }

  const TensorType& type() const { return *e_->type->as<TensorType>(); }
  Shape shape() const {
    Shape out;
    for (const Dim d : type().dims) out.push_back(d.value());
    return out;
  }
  Expr param(const Shape& shape) {
    const std::vector<Dim> dims(shape.begin(), shape.end());
    const Type type = m_.context().tensor_type(dims, kInt8);
    params_.push_back(b_.with_type(b_.var(cat("p", params_.size()), type), type)->as<Var>());
    return params_.back();
  }
  Expr constant(DType d, const Shape& shape, int64_t low, int64_t high) {
    Tensor t(d, shape);
    for (int64_t i = 0; i < t.size(); i++) t.set_int(i, between(low, high));
    return b_.constant(t);
  }
  void then(const op::OpDef& def, std::initializer_list<Expr> args, const std::vector<AttrArg>& attrs = {}) {
    e_ = op::call(b_, def, args, attrs);
  }
  DType integers() { return once_in(4) ? kInt16 : kInt32; }

  void begin() {
    const Shape images{between(1, 2), between(1, 20), between(3, 7), between(3, 7)};
    const DType out = once_in(8) ? kInt8 : integers();
    const auto pair = [&](int64_t most) { return std::vector<int64_t>{between(0, most), between(0, most)}; };
    switch (below(6)) {
      case 0: {
        const int64_t ins = between(1, 70), outs = between(1, 40);
        then(op::kDense, {param({between(1, 5), ins}), constant(kInt8, {outs, ins}, -128, 127)},
             {{"out_dtype", out}});
        channels_ = Shape{outs};
        return;
      }
      case 1: {
        const int64_t groups = once_in(2) ? images[1] : 1, outs = groups * between(1, 3);
        then(op::kConv2d,
             {param(images), constant(kInt8, {outs, images[1] / groups, between(1, 3), 2}, -128, 127)},
             {{"groups", groups}, {"strides", std::vector<int64_t>{between(1, 2), 1}}, {"out_dtype", out}});
        break;
      }
      case 2: {
        const Expr zero = b_.scalar(kInt32, 0), scale = b_.scalar(kFloat32, 0.5);
        then(op::kQnnConv2d,
             {param(images), constant(kInt8, {between(1, 20), images[1], 3, 3}, -9, 9), zero, zero, scale,
              scale},
             {{"padding", pair(1)}});
        break;
      }
      case 3:
        then(op::kMaxPool2d, {param(images)},
             {{"pool_size", std::vector<int64_t>{2, 3}},
              {"padding", pair(1)},
              {"ceil_mode", once_in(2)},
              {"strides", std::vector<int64_t>{2, 2}}});
        break;
      case 4:
        then(op::kCast, {param(images)}, {{"dtype", integers()}});
        then(op::kSum, {e_}, {{"axis", std::vector<int64_t>{2, 3}}, {"keepdims", true}});
        break;
      default: then(op::kCast, {param(images)}, {{"dtype", integers()}}); break;
    }
    channels_ = Shape{shape()[1], 1, 1};
  }

  // A constant for all, or one for each channel.
  Expr operand(int64_t low, int64_t high) {
    const int64_t bits = type().dtype.bits, most = (int64_t{1} << (bits - 1)) - 1;
    return constant(type().dtype, once_in(2) ? channels_ : Shape{}, std::max(low, -most - 1),
                    std::min(high, most));
  }
  Expr tensor() {
    const Expr p = param(shape());
    return type().dtype == kInt8 ? p : op::call(b_, op::kCast, {p}, {{"dtype", type().dtype}});
  }

  void step() {
    const int64_t size = int64_t{1} << between(2, 31);
    const op::OpDef* const binary[] = {&op::kAdd, &op::kSubtract, &op::kMultiply, &op::kMaximum,
                                       &op::kMinimum};
    const op::OpDef& def = *binary[below(5)];
    switch (below(9)) {
      case 0: then(op::kRelu, {e_}); break;
      case 1:
        then(op::kClip, {e_},
             {{"a_min", static_cast<double>(-below(size))},
              {"a_max", static_cast<double>(below(size)) + 0.5}});
        break;
      case 2:
        then(once_in(2) ? op::kLeftShift : op::kRightShift, {e_, operand(0, type().dtype.bits - 1)});
        break;
      case 3: then(op::kCast, {e_}, {{"dtype", once_in(3) ? kInt8 : integers()}}); break;
      case 4: rescale(once_in(2) ? kInt8 : integers()); break;
      case 5: then(def, {e_, tensor()}); break;
      case 6: then(def, {operand(-size, size), e_}); break;
      default: then(def, {e_, operand(-size, size)}); break;
    }
  }

  void rescale(DType to) {
    const std::string roundings[] = {"UPWARD", "UPWARD", "DOWNWARD", "TONEAREST", "TOEVEN"};
    const int64_t shift = between(0, once_in(4) ? 40 : 12);
    then(op::kQnnRescale, {e_},
         {{"multiplier", once_in(2) ? int64_t{1} << below(8) : between(1, 300)},
          {"shift", shift},
          {"zero_point", once_in(2) ? int64_t{0} : between(-100, 100)},
          {"rounding", roundings[below(5)]},
          {"out_dtype", to}});
  }

  void end() {
    if (type().dtype == kInt8 && !once_in(3)) return;
    if (once_in(2)) return rescale(kInt8);
    then(op::kCast, {e_}, {{"dtype", kInt8}});
  }

  std::mt19937_64 random_;
  Module m_;
  Builder b_;
  std::vector<const Var*> params_;
  Expr e_ = nullptr;
  Shape channels_;
};

TEST(RandomChains, LayersGiveWhatTheInterpreterGives) {
  constexpr uint64_t kChains = 400;
  const Params whole, batches{.log_batch = 1},
      small{.log_block = 3, .log_inp_buff_size = 13, .log_wgt_buff_size = 15, .log_acc_buff_size = 15};
  const Layout layouts[] = {layout_of(whole), layout_of(batches), layout_of(small)};
  size_t whole_chains = 0, layers = 0;
  for (uint64_t seed = 0; seed < kChains; seed++) {
    SCOPED_TRACE(cat("seed ", seed));
    const Module m = typed(Chains(seed)());
    const Partitioned p = expect_same(m, layouts[seed % 3], seed);
    layers += p.layers.size();
    whole_chains += p.module.function("main")->body->as<Call>() != nullptr &&
                    device_function(p.module.function("main")->body) && p.layers.size() == 1;
    if (::testing::Test::HasFailure()) {
      ADD_FAILURE() << show(m);
      return;
    }
  }
  EXPECT_GT(layers, kChains / 2);
  EXPECT_GT(whole_chains, kChains / 3);
}

}  // namespace
}  // namespace relay::vta
