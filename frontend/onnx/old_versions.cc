// Forms that operators had before version 7 of ONNX's set, where they differ from today's: shapes
// as attributes, and broadcasting that an attribute allows.
#include <algorithm>

#include "base/cat.h"
#include "frontend/data/onnx_tensor.h"
#include "frontend/onnx/node.h"

namespace relay::frontend {
namespace {

using namespace op;

bool differ(Dim a, Dim b) { return prove_equal(a, b) == kernel::Proof::kRefuted; }

// The second operand has the shape of the first, unless `broadcast` lets it be one element or a run
// of the first one's dims: those from `axis` on, or the last ones.
Expr second_operand(Node& n) {
  const Expr b = n.input(1);
  const std::vector<Dim> to = dims_of(n.input(0)), from = dims_of(b);
  if (n.integer("broadcast", 0) == 0) {
    n.without_effect({"axis"});
    n.require(to.size() == from.size() && std::equal(to.begin(), to.end(), from.begin(), std::not_fn(differ)),
              "its inputs have different shapes, and its attribute `broadcast` is not 1");
    return b;
  }
  if (product(from) == Dim(1)) {
    n.without_effect({"axis"});
    return n.reshape(b, {});
  }
  n.require(from.size() <= to.size(), "its second input has more dimensions than its first one");
  size_t first = to.size() - from.size();
  if (n.attribute("axis")) first = n.axis(n.integer("axis"), to.size());
  n.require(first + from.size() <= to.size(),
            "its second input reaches beyond the dimensions of its first one");
  for (size_t i = 0; i < from.size(); ++i) {
    if (from[i] != Dim(1) && differ(to[first + i], from[i])) {
      n.invalid(cat("its inputs have the extents ", show(to[first + i]), " and ", show(from[i]),
                    " where they must be the same"));
    }
  }
  const auto behind = static_cast<int64_t>(to.size() - first - from.size());
  return behind == 0 ? b : n.expand_dims(b, static_cast<int64_t>(from.size()), behind);
}

template <const OpDef& op>
Results binary(Node& n) {
  return {n.call(op, {n.input(0), second_operand(n)})};
}

// The dtype by its name in ONNX: "FLOAT".
Results cast(Node& n) {
  const std::string name = n.text("to", "");
  auto code = ::onnx::TensorProto::UNDEFINED;
  if (!::onnx::TensorProto::DataType_Parse(name, &code)) n.invalid("its attribute `to` names no dtype");
  const std::optional<DType> to = data::dtype_of_onnx(code);
  if (!to) n.unsupported(cat("a cast to ", name, " is not supported"));
  return {n.cast(n.input(0), *to)};
}

Results reshape(Node& n) {
  if (!n.attribute("shape")) n.invalid("its attribute `shape` is missing", "onnx-missing-attribute");
  std::vector<Dim> shape;
  for (int64_t extent : n.integers("shape")) {
    n.require(extent >= -1, "its shape has a negative extent");
    shape.emplace_back(extent);
  }
  return {n.call(kReshape, {n.input(0)}, {{"newshape", shape}})};
}

// So many copies along one axis.
Results tile(Node& n) {
  const auto number = [&](size_t i, std::string_view what) {
    const Tensor t = n.constant(i, what);
    n.require(t.size() == 1, "its number of copies and its axis must be single numbers");
    const double value = t.get(0);
    n.require(value >= -64 && value < 0x1p40, "its number of copies or its axis is out of range");
    return static_cast<int64_t>(value);
  };
  const int64_t copies = number(1, "number of copies");
  n.require(copies >= 0, "its number of copies is negative");
  std::vector<Dim> repeats(n.rank(0), Dim(1));
  repeats[n.axis(number(2, "axis"), n.rank(0))] = Dim(copies);
  return {n.call(kTile, {n.input(0)}, {{"reps", repeats}})};
}

// One slope, or one for each channel.
Results prelu(Node& n) {
  const Expr x = n.input(0);
  Expr slope = n.input(1);
  const std::vector<Dim> dims = dims_of(slope);
  const size_t rank = type_of(x).rank();
  if (product(dims) == Dim(1)) {
    slope = n.reshape(slope, {});
  } else {
    n.require(dims.size() == 1 && rank >= 2, "its slope must be one number, or one for each channel");
    if (rank > 2) slope = n.expand_dims(slope, 1, static_cast<int64_t>(rank) - 2);
  }
  const Expr zero = n.scalar(type_of(x).dtype, 0);
  return {n.call(kWhere, {n.call(kLess, {x, zero}), n.call(kMultiply, {x, slope}), x})};
}

constexpr Row kRows[] = {
    {"Add", 1, binary<kAdd>},
    {"And", 1, binary<kLogicalAnd>},
    {"Cast", 1, cast},
    {"Div", 1, binary<kDivide>},
    {"Equal", 1, binary<kEqual>},
    {"Greater", 1, binary<kGreater>},
    {"Less", 1, binary<kLess>},
    {"Mul", 1, binary<kMultiply>},
    {"Or", 1, binary<kLogicalOr>},
    {"PRelu", 1, prelu},
    {"Pow", 1, binary<kPower>},
    {"Reshape", 1, reshape},
    {"Sub", 1, binary<kSubtract>},
    {"Tile", 1, tile},
    {"Xor", 1, binary<kLogicalXor>},
};

}  // namespace

std::span<const Row> old_version_rows() { return kRows; }

}  // namespace relay::frontend
