// Networks: layer after layer over images and rows, with constant weights. What passes look for is
// here, and seldom in programs that are generated type by type: convolutions, pooling,
// normalisation, softmax, attention, products that share an input, and recurrences.
//
// Every layer is continuous and keeps numbers small, so that the results of two runs may be
// compared within a bound.
#include "tests/property/generate.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/cat.h"
#include "op/apply.h"
#include "op/ops.h"
#include "op/registry.h"
#include "op/relation.h"
#include "op/tensor/attributes.h"
#include "tests/property/networks.h"

namespace relay::property {
namespace {

constexpr uint32_t kMostLayers = 9;
constexpr int64_t kMostElements = 4096;  // of a value: the interpreter computes them one by one
constexpr int64_t kUnits = 32;           // of a state: pairs of steps are made of blocks of it

using Attributes = std::vector<AttrArg>;

class Network {
 public:
  Network(ByteSource& in, Recursion recursion)
      : in_(in), recursion_(recursion), context_(program_.module.context()), b_(context_) {}

  Program run() {
    images_ = in_.below(3) != 2;
    const std::vector<int64_t> channels{1, 3, 4, 8, 16}, extents{8, 1, 5, 6, 7, 12};
    Shape shape{1 + in_.once_in(4), in_.choose(channels), in_.choose(extents), in_.choose(extents)};
    if (!images_) shape = {in_.below(3) == 2 ? 1 + in_.below(3) : 1, in_.below(3) == 2 ? 5 : kUnits};
    const TensorType* type = context_.tensor_type(std::vector<Dim>(shape.begin(), shape.end()), kFloat32);
    const Var* x = b_.var("x", type);
    values_.push_back({x, type});
    for (uint32_t n = 1 + in_.below(kMostLayers); n-- > 0 && values_.size() < 40;) layer();
    Expr body = values_.back().e;
    if (in_.once_in(3)) body = b_.tuple({body, any().e});
    program_.module.set_function("main", b_.fn(std::span(&x, 1), body));
    program_.args.push_back(Value(numbers(shape)));
    program_.smooth = true;
    return std::move(program_);
  }

 private:
  struct Node {
    Expr e;
    const TensorType* type;
    int64_t extent(size_t axis) const { return type->dims[axis].value(); }
    size_t rank() const { return type->rank(); }
  };

  // Mostly the last one, so that networks become deep.
  const Node& any() {
    const auto count = static_cast<uint32_t>(values_.size());
    return values_[in_.below(3) == 2 ? in_.below(count) : count - 1];
  }

  // Quarters between -0.5 and 0.75, none of them 0.
  Tensor numbers(const Shape& shape) {
    Tensor out(kFloat32, shape);
    uint32_t state = 17 + in_.below(256);
    for (int64_t i = 0; i < out.size(); ++i) {
      state = state * 1664525 + 1013904223;
      const auto v = static_cast<int64_t>((state >> 20) % 5) - 2;
      out.set(i, static_cast<double>(v >= 0 ? v + 1 : v) / 4);
    }
    return out;
  }
  // Now and then an element is denormal: a compiler may take it for 0.
  Node constant(const Shape& shape) {
    Tensor values = numbers(shape);
    if (values.size() > 0 && in_.once_in(8)) values.set(values.size() / 2, 0x1p-130);
    const Expr e = b_.constant(std::move(values));
    return {e, context_.tensor_type(std::vector<Dim>(shape.begin(), shape.end()), kFloat32)};
  }

  // The call; nothing if the operator does not take such operands, or its result is large.
  std::optional<Node> call(std::string_view name, const std::vector<Node>& args,
                           const Attributes& attributes = {}, std::optional<uint32_t> field = {}) {
    const op::OpDef& def = *op::find(name);
    const Attrs attrs = context_.attrs(attributes);
    std::vector<Type> types;
    std::vector<Expr> operands;
    for (const Node& n : args) {
      types.push_back(n.type);
      operands.push_back(n.e);
    }
    try {
      Type type = op::infer(context_, def, types, attrs);
      Expr e = b_.call(b_.op(def), operands, attrs);
      if (field) {
        type = type->as<TupleType>()->fields[*field];
        e = b_.proj(e, *field);
      }
      const auto* tensor = type->as<TensorType>();
      const auto shape = tensor ? tensor->static_shape() : std::nullopt;
      if (!shape || element_count(*shape).value_or(kMostElements) >= kMostElements) return std::nullopt;
      return Node{e, tensor};
    } catch (const op::RelationError&) {
      return std::nullopt;
    }
  }
  Node power_of_two() {
    const auto exponent = static_cast<int>(1 + in_.below(3));
    return {b_.scalar(kFloat32, std::ldexp(in_.below(2) == 0 ? 1 : -1, exponent)),
            context_.scalar_type(kFloat32)};
  }
  // The images with more elements of one value around them.
  std::optional<Node> padded(const Node& x, int64_t around, double value) {
    const Node fill{b_.scalar(kFloat32, value), context_.scalar_type(kFloat32)};
    const std::vector<std::pair<Dim, Dim>> widths{{0, 0}, {0, 0}, {around, around}, {around, around}};
    return call("nn.pad", {x, fill}, {{"pad_width", op::pad_width(context_, widths)}});
  }
  // Of what exists.
  Node must(const std::optional<Node>& n) { return n ? *n : values_.back(); }

  void keep(const std::optional<Node>& n) {
    if (n) values_.push_back(*n);
  }

  void layer() {
    const Node x = any();
    if (x.rank() == 4 && in_.below(5) != 4) return keep(image_layer(x));
    if (x.rank() == 4 && in_.below(3) == 2) return keep(call("nn.batch_flatten", {x}));
    if (x.rank() == 2 && in_.below(4) != 3) return keep(row_layer(x));
    keep(pointwise(x));
  }

  // ---- any rank ----

  std::optional<Node> pointwise(const Node& x) {
    static const std::vector<std::string> kFunctions{"nn.relu", "sigmoid", "tanh", "negative", "abs", "erf"};
    switch (in_.below(8)) {
      case 0: {
        const std::optional<Node> clipped = call("clip", {x}, {{"a_min", -2.0}, {"a_max", 1.5}});
        return clipped ? call("exp", {*clipped}) : clipped;
      }
      case 1: return call("add", {x, same(x)});
      case 2:
        return call("multiply", {call("sigmoid", {x}).value_or(x), call("tanh", {same(x)}).value_or(x)});
      case 3: return call("maximum", {x, same(x)});
      case 4: return call("nn.leaky_relu", {x}, {{"alpha", 0.25}});
      case 5: {
        Shape one(x.rank(), 1);
        if (x.rank() > 1) one[1] = x.extent(1);
        return call(in_.below(2) == 0 ? "add" : "multiply", {x, constant(one)});
      }
      case 6: {
        if (in_.below(3) != 2) return divided(x);
        const std::optional<Node> wide = call("cast", {x}, {{"dtype", kFloat64}});
        return wide ? call("cast", {*wide}, {{"dtype", kFloat32}}) : wide;
      }
      default: return call(in_.choose(kFunctions), {x});
    }
  }

  std::optional<Node> divided(const Node& x) { return call("divide", {x, power_of_two()}); }

  // A value of the same type, if there is another.
  Node same(const Node& x) {
    std::vector<Node> found;
    for (const Node& n : values_) {
      if (n.type == x.type && n.e != x.e) found.push_back(n);
    }
    return found.empty() ? x : in_.choose(found);
  }

  // ---- images ----

  std::optional<Node> image_layer(const Node& x) {
    switch (in_.below(14)) {
      case 3: return in_.below(2) == 0 ? branches(x) : in_blocks(x);
      case 4: return pooling(x);
      case 5: return normalised(x);
      case 6: return transposed_convolution(x);
      case 7: return reduced(x);
      case 8: {
        const Node other = same(x);
        return concatenated({x, other}, 1);
      }
      case 9: return call("nn.softmax", {x}, {{"axis", int64_t{1 + in_.below(3)}}});
      case 10: return call("nn.upsampling", {x}, {{"scale_h", 2.0}, {"scale_w", 1.0 + in_.below(2)}});
      case 11: return pointwise(x);
      case 12: return branches(x);
      case 13: return in_blocks(x);
      default: return convolution(x);
    }
  }

  // A mean of all pixels; or reductions of one tensor along two axes, which share no kernel. No
  // kernel before makes that tensor on its way: it follows from the input.
  std::optional<Node> reduced(const Node& x) {
    const uint32_t kind = in_.below(3);
    if (kind < 2) return call("mean", {x}, {{"axis", std::vector<int64_t>{2, 3}}, {"keepdims", kind == 0}});
    const Node shared = must(call("negative", {values_.front()}));
    const auto along = [&](std::string_view name, int64_t axis) {
      return call(name, {shared}, {{"axis", std::vector<int64_t>{axis}}, {"keepdims", true}});
    };
    const std::optional<Node> rows = along("mean", 2), columns = along("max", 3);
    return rows && columns ? call("add", {*rows, *columns}) : std::nullopt;
  }

  // Convolutions of one input, side by side.
  std::optional<Node> branches(const Node& x) {
    const int64_t width = in_.below(2) == 0 ? 1 : 3;
    std::vector<Node> parts;
    for (uint32_t n = 2 + in_.below(3); n-- > 0;) {
      const std::optional<Node> y =
          call("nn.conv2d", {x, constant({1 + in_.below(4), x.extent(1), width, width})},
               {{"padding", std::vector<int64_t>{width / 2, width / 2}}});
      if (!y) return y;
      parts.push_back(*y);
    }
    return concatenated(parts, 1);
  }

  // Dilation, as it is written where convolutions have none.
  std::optional<Node> in_blocks(const Node& x) {
    const std::vector<std::pair<Dim, Dim>> around{{2, 2 + x.extent(2) % 2}, {2, 2 + x.extent(3) % 2}},
        cut{{0, x.extent(2) % 2}, {0, x.extent(3) % 2}};
    const std::vector<int64_t> block{2, 2};
    std::optional<Node> y = call("transpose", {x}, {{"axes", std::vector<int64_t>{0, 2, 3, 1}}});
    if (y) {
      y = call("nn.space_to_batch_nd", {*y},
               {{"block_shape", block}, {"paddings", op::pad_width(context_, around)}});
    }
    if (y) {
      y = call("nn.conv2d", {*y, constant({3, x.extent(1), 3, 3})}, {{"data_layout", std::string("NHWC")}});
    }
    if (y) {
      y = call("nn.batch_to_space_nd", {*y},
               {{"block_shape", block}, {"crops", op::pad_width(context_, cut)}});
    }
    return y ? call("transpose", {*y}, {{"axes", std::vector<int64_t>{0, 3, 1, 2}}}) : y;
  }

  std::optional<Node> convolution(const Node& x) {
    const int64_t from = x.extent(1);
    const std::vector<int64_t> widths{3, 3, 1, 5, 3, 2}, channels{8, 4, 16, 3, 8, 1};
    const int64_t width = in_.choose(widths), stride = in_.below(5) == 4 ? 2 : 1,
                  dilation = in_.below(8) == 7 ? 2 : 1;
    const uint32_t kind = in_.below(6);
    const int64_t groups = kind == 5 ? from : kind == 4 && from % 2 == 0 ? 2 : 1;
    const int64_t to = kind == 5 ? from : in_.choose(channels) * (groups == 2 ? 2 : 1);
    const int64_t around = in_.below(3) == 2 ? 0 : width / 2;
    const bool before = around > 0 && in_.once_in(4);  // an operator of its own pads
    const Node from_x = before ? padded(x, 1, 0).value_or(x) : x;
    const std::optional<Node> y = call("nn.conv2d", {from_x, constant({to, from / groups, width, width})},
                                       {{"strides", std::vector<int64_t>{stride, stride}},
                                        {"padding", std::vector<int64_t>{around, around}},
                                        {"dilation", std::vector<int64_t>{dilation, dilation}},
                                        {"groups", groups}});
    if (!y || in_.below(3) == 0) return y;
    const std::optional<Node> changed = after_convolution(*y, to);
    return changed && in_.below(2) == 0 ? call("nn.relu", {*changed}) : changed;
  }

  std::optional<Node> after_convolution(const Node& y, int64_t channels) {
    switch (in_.below(3)) {
      case 1: return call("nn.bias_add", {y, constant({channels})});
      case 2: return scaled(y, {channels, 1, 1});
      default: return normalised(y);
    }
  }
  // Multiplied by positive factors of this shape, behind what such factors may cross.
  std::optional<Node> scaled(const Node& y, const Shape& shape) {
    Tensor factors(kFloat32, shape);
    for (int64_t i = 0; i < factors.size(); ++i) factors.set(i, std::ldexp(1, static_cast<int>(i % 3) - 1));
    const Node by{b_.constant(std::move(factors)),
                  context_.tensor_type(std::vector<Dim>(shape.begin(), shape.end()), kFloat32)};
    return call("multiply", {must(call("nn.leaky_relu", {y}, {{"alpha", 0.25}})), by});
  }

  std::optional<Node> transposed_convolution(const Node& x) {
    const int64_t width = 2 + in_.below(3), stride = 1 + in_.below(2);
    return call("nn.conv2d_transpose", {x, constant({x.extent(1), 1 + in_.below(8), width, width})},
                {{"strides", std::vector<int64_t>{stride, stride}},
                 {"padding", std::vector<int64_t>{in_.below(2), in_.below(2)}}});
  }

  std::optional<Node> pooling(const Node& x) {
    const int64_t size = 1 + in_.below(3), stride = 1 + in_.below(2);
    if (in_.below(4) == 3)
      return call(in_.below(2) == 0 ? "nn.global_avg_pool2d" : "nn.global_max_pool2d", {x});
    Attributes attributes{{"pool_size", std::vector<int64_t>{size, size}},
                          {"strides", std::vector<int64_t>{stride, stride}},
                          {"padding", std::vector<int64_t>{size / 2, size / 2}},
                          {"ceil_mode", in_.below(3) == 2}};
    if (in_.below(2) == 0) return call("nn.max_pool2d", {x}, attributes);
    attributes.push_back({"count_include_pad", in_.below(2) == 1});
    return call("nn.avg_pool2d", {x}, attributes);
  }

  std::optional<Node> normalised(const Node& x) {
    const Node gamma = constant({x.extent(1)}), beta = constant({x.extent(1)});
    switch (in_.below(4)) {
      case 1: return call("nn.instance_norm", {x, gamma, beta}, {{"epsilon", 0.25}});
      case 2: return call("nn.lrn", {x}, {{"size", int64_t{3}}});
      default: {
        Tensor variance(kFloat32, {x.extent(1)});
        for (int64_t i = 0; i < variance.size(); ++i) variance.set(i, 0.5 + static_cast<double>(i % 3));
        const Node spread{b_.constant(std::move(variance)), gamma.type};
        return call("nn.batch_norm", {x, gamma, beta, constant({x.extent(1)}), spread}, {}, 0);
      }
    }
  }

  std::optional<Node> concatenated(const std::vector<Node>& parts, int64_t axis) {
    return of_tuple("concatenate", parts, {{"axis", axis}});
  }

  // The call of an operator whose operands are one tuple.
  std::optional<Node> of_tuple(std::string_view name, const std::vector<Node>& parts,
                               const Attributes& attributes) {
    std::vector<Type> types;
    std::vector<Expr> fields;
    for (const Node& n : parts) {
      types.push_back(n.type);
      fields.push_back(n.e);
    }
    const op::OpDef& def = *op::find(name);
    const Attrs attrs = context_.attrs(attributes);
    const std::vector<Type> args{context_.tuple_type(types)};
    const auto* type = op::infer(context_, def, args, attrs)->as<TensorType>();
    if (element_count(*type->static_shape()).value_or(kMostElements) >= kMostElements) return std::nullopt;
    return Node{b_.call(b_.op(def), {b_.tuple(fields)}, attrs), type};
  }

  // ---- rows ----

  std::optional<Node> row_layer(const Node& x) {
    switch (in_.below(9)) {
      case 1: return call("nn.softmax", {x}, {{"axis", int64_t{-1}}});
      case 2: return call("nn.log_softmax", {x}, {{"axis", int64_t{-1}}});
      case 3:
        return call("nn.layer_norm", {x, constant({x.extent(1)}), constant({x.extent(1)})},
                    {{"epsilon", 0.25}});
      case 4: return gates(x);
      case 5: return recurrence(x);
      case 6: return recursion_ == Recursion::kMay ? recursion(x) : recurrence(x);
      case 7: return attention(x);
      case 8: return batches(x);
      default: return dense(x, in_.below(2) == 0 ? kUnits : 1 + in_.below(9));
    }
  }

  std::optional<Node> dense(const Node& x, int64_t units) {
    const std::optional<Node> y = in_.below(3) == 2 ? call("nn.matmul", {x, constant({x.extent(1), units})})
                                                    : call("nn.dense", {x, constant({units, x.extent(1)})});
    if (!y) return y;
    switch (in_.below(3)) {
      case 1: return y;
      case 2: return scaled(*y, {units});
      default: return call("nn.bias_add", {*y, constant({units})});
    }
  }

  // Products of one input: sigmoid(x a) * (tanh(x b) + tanh(x c) + ...).
  std::optional<Node> gates(const Node& x) {
    const int64_t units = in_.below(2) == 0 ? kUnits : 8;
    const auto product = [&] { return call("nn.dense", {x, constant({units, x.extent(1)})}); };
    const std::optional<Node> open = product();
    std::optional<Node> sum;
    for (uint32_t n = 1 + in_.below(3); n-- > 0;) {
      const std::optional<Node> y = product();
      if (!open || !y) return std::nullopt;
      const Node now = must(call("tanh", {*y}));
      sum = sum ? call("add", {*sum, now}) : now;
    }
    return call("multiply", {must(call("sigmoid", {*open})), must(sum)});
  }

  // Steps that multiply the state by one weight.
  std::optional<Node> recurrence(const Node& x) {
    const int64_t units = x.extent(1), gates = 1 + in_.below(2);
    const Node weight = constant({gates * units, units});
    std::optional<Node> state = x;
    for (uint32_t n = 2 + in_.below(5); n-- > 0 && state;) {
      std::optional<Node> product = call("nn.dense", {*state, weight});
      if (!product) return product;
      if (gates == 1) {
        const Node sum = must(call("add", {*product, *state}));
        state = call("tanh", {sum});
        continue;
      }
      const Node open = must(call("sigmoid", {must(columns(*product, 0, units))})),
                 now = must(call("tanh", {must(columns(*product, units, 2 * units))}));
      state = call("add", {must(call("multiply", {open, now})), must(call("multiply", {open, *state}))});
    }
    return state;
  }

  // The same as a function that calls itself. Each turn multiplies the input, too, which is the
  // same in all turns:
  //   def @turns(%n: int32, %s, %x) { if (%n <= 0) { %s } else { @turns(%n - 1, f(%s, %x), %x) } }
  std::optional<Node> recursion(const Node& x) {
    const std::string name = cat("turns", program_.module.functions().size());
    const Type count = context_.scalar_type(kInt32);
    const Var *n = b_.var("n", count), *s = b_.var("s", x.type), *same = b_.var("x", x.type);
    const std::optional<Node> of_state = dense_of_units({s, x.type}),
                              of_input = dense_of_units({same, x.type});
    if (!of_state || !of_input) return std::nullopt;
    const Node next = must(call("tanh", {must(call("add", {*of_state, *of_input}))}));
    const Expr less = b_.call(b_.op(op::kSubtract), {n, b_.scalar(kInt32, 1)}),
               over = b_.call(b_.op(op::kLessEqual), {n, b_.scalar(kInt32, 0)});
    const Expr again = b_.call(b_.global(name), {less, next.e, same});
    program_.module.set_function(name,
                                 b_.fn(std::vector<const Var*>{n, s, same}, b_.if_(over, s, again), x.type));
    return Node{b_.call(b_.global(name), {b_.scalar(kInt32, 1 + in_.below(3)), x.e, x.e}), x.type};
  }
  std::optional<Node> dense_of_units(const Node& x) {
    return call("nn.dense", {x, constant({x.extent(1), x.extent(1)})});
  }

  std::optional<Node> columns(const Node& x, int64_t begin, int64_t end) {
    return call("strided_slice", {x},
                {{"begin", std::vector<int64_t>{begin}},
                 {"end", std::vector<int64_t>{end}},
                 {"axes", std::vector<int64_t>{1}}});
  }

  // Products of one batch of matrices with several.
  std::optional<Node> batches(const Node& x) {
    const std::optional<Node> left = call("expand_dims", {x}, {{"axis", int64_t{0}}});
    std::optional<Node> sum;
    for (int i = 0; i < 3 && left; ++i) {
      const Node right = must(call("expand_dims", {constant({4, x.extent(1)})}, {{"axis", int64_t{0}}}));
      const std::optional<Node> y = call("nn.batch_matmul", {*left, right}, {{"transpose_b", true}});
      sum = sum && y ? call("add", {*sum, *y}) : y;
    }
    return sum ? call("squeeze", {*sum}, {{"axis", std::vector<int64_t>{0}}}) : sum;
  }

  // softmax(q kT) v, of one head.
  std::optional<Node> attention(const Node& x) {
    const int64_t width = 4 + in_.below(5);
    std::vector<Node> parts;
    for (int i = 0; i < 3; ++i) {
      const std::optional<Node> part = call("nn.dense", {x, constant({width, x.extent(1)})});
      const std::optional<Node> head =
          part ? call("expand_dims", {*part}, {{"axis", int64_t{0}}}) : std::nullopt;
      if (!head) return std::nullopt;
      parts.push_back(*head);
    }
    std::optional<Node> scores;
    if (in_.below(4) == 3) {
      scores = of_tuple("einsum", {parts[0], parts[1]}, {{"equation", std::string("abc,adc->abd")}});
    } else {
      scores = call("nn.batch_matmul", {parts[0], parts[1]}, {{"transpose_b", true}});
    }
    if (scores && in_.below(2) == 1) scores = divided(*scores);
    const std::optional<Node> shares =
        scores ? call("nn.softmax", {*scores}, {{"axis", int64_t{-1}}}) : std::nullopt;
    const std::optional<Node> out =
        shares ? call("nn.batch_matmul", {*shares, parts[2]}, {{"transpose_b", false}}) : std::nullopt;
    return out ? call("squeeze", {*out}, {{"axis", std::vector<int64_t>{0}}}) : out;
  }

  ByteSource& in_;
  const Recursion recursion_;
  Program program_;
  Context& context_;
  Builder b_;
  bool images_ = true;
  std::vector<Node> values_;
};

}  // namespace

Program generate_network(ByteSource& in, Recursion recursion) { return Network(in, recursion).run(); }

}  // namespace relay::property
