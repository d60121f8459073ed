#include "frontend/onnx/node.h"

#include <algorithm>
#include <utility>

#include "base/cat.h"
#include "base/check.h"
#include "frontend/onnx/computed.h"
#include "frontend/onnx/importer.h"
#include "frontend/onnx/names.h"
#include "frontend/onnx/schema.h"
#include "frontend/onnx/stored.h"

namespace relay::frontend {

using ::onnx::AttributeProto;

const TensorType& type_of(Expr e) { return *e->type->as<TensorType>(); }

std::vector<Dim> dims_of(Expr e) {
  const TensorType& t = type_of(e);
  return {t.dims.begin(), t.dims.end()};
}

Node::Node(Importer& importer, const ::onnx::NodeProto& proto, int64_t opset, std::vector<Operand*> inputs)
    : importer_(importer), proto_(proto), opset_(opset), inputs_(std::move(inputs)) {}

Builder& Node::builder() { return importer_.builder(); }
Context& Node::context() { return importer_.context(); }

bool Node::wants(size_t i) const { return i < outputs() && !proto_.output(static_cast<int>(i)).empty(); }

// --- Inputs --------------------------------------------------------------------------------------

Operand& Node::operand(size_t i) {
  if (!has(i)) invalid(cat("its input ", i, " is missing"), "onnx-missing-input");
  return *inputs_[i];
}

Expr Node::input(size_t i) {
  if (!carriers_ && storage(i)) throw no_arithmetic(*storage(i));
  return carrier(i);
}

void Node::store(size_t i, const data::Storage* storage) {
  stored_.resize(std::max(stored_.size(), i + 1));
  stored_[i] = storage;
}

Expr Node::carrier(size_t i) {
  const Expr e = importer_.carrier(operand(i));
  if (!e->type || !e->type->as<TensorType>()) unsupported(cat("its input ", i, " is not a tensor"));
  return e;
}

std::vector<Expr> Node::all_inputs() {
  std::vector<Expr> out;
  for (size_t i = 0; i < inputs(); ++i) out.push_back(input(i));
  return out;
}

const TensorType& Node::tensor(size_t i) { return type_of(input(i)); }

std::optional<Tensor> Node::known(size_t i) {
  if (!has(i)) return std::nullopt;
  if (!carriers_ && storage(i)) throw no_arithmetic(*storage(i));
  return importer_.known(*inputs_[i]);
}

std::optional<IndexTensor> Node::index(size_t i) {
  return has(i) ? importer_.index(*inputs_[i]) : std::nullopt;
}

Tensor Node::constant(size_t i, std::string_view what) {
  operand(i);
  if (std::optional<Tensor> t = known(i)) return *t;
  throw Refusal{"unsupported-computed-input",
                cat("its ", what, " (input ", i, ") are computed when the model runs"),
                "they must follow from constants and shapes; fixing dynamic axes with --input-shapes, or "
                "inputs with --fix-input, may help"};
}

std::vector<int64_t> Node::constant_ints(size_t i, std::string_view what) {
  const Tensor t = constant(i, what);
  if (!t.dtype().is_int() || t.rank() > 1)
    invalid(cat("its ", what, " (input ", i, ") must be a list of integers"));
  if (t.size() > kMaxIndexElements) invalid(cat("its ", what, " (input ", i, ") are too many"));
  return t.ints();
}

int64_t Node::constant_int(size_t i, std::string_view what) {
  const std::vector<int64_t> all = constant_ints(i, what);
  if (all.size() != 1) invalid(cat("its ", what, " (input ", i, ") must be one integer"));
  return all[0];
}

std::optional<std::vector<Dim>> Node::known_dims(size_t i, std::string_view what) {
  operand(i);
  const std::optional<IndexTensor> t = index(i);
  if (!t) return std::nullopt;
  if (t->shape.size() > 1 || !t->dtype.is_int())
    invalid(cat("its ", what, " (input ", i, ") must be a list of integers"));
  if (!t->complete()) return std::nullopt;
  return t->elements;
}

std::vector<Dim> Node::dims(size_t i, std::string_view what) {
  if (const std::optional<std::vector<Dim>> known = known_dims(i, what)) return *known;
  return named_numbers(*this, i, what);
}

// --- Attributes ----------------------------------------------------------------------------------

const AttributeProto* Node::attribute(std::string_view name) {
  for (const AttributeProto& a : proto_.attribute()) {
    if (a.name() != name) continue;
    asked_.insert(a.name());
    if (!a.ref_attr_name().empty())
      invalid(cat("its attribute `", name, "` refers to one of a function, and it is in none"));
    return &a;
  }
  return nullptr;
}

void Node::without_effect(std::initializer_list<std::string_view> names) {
  for (std::string_view name : names) attribute(name);
}

void Node::require_all_asked() {
  const Schema* schema = find_schema(full_name(proto_), opset_);
  for (const AttributeProto& a : proto_.attribute()) {
    const bool graph = a.type() == AttributeProto::GRAPH || a.type() == AttributeProto::GRAPHS;
    // An old hint which inputs may be overwritten.
    if (graph || asked_.contains(a.name()) || a.name() == "consumed_inputs") continue;
    const SchemaAttribute* known = schema ? schema->find(a.name()) : nullptr;
    if (known && known->is_default(a)) continue;
    unsupported(cat("its attribute `", printable(a.name(), 80), "` is not supported with this value"),
                known && known->has_default ? cat("the default, ", known->otherwise, ", is supported")
                                            : std::string("export the model without it"));
  }
}

namespace {

void expect(Node& node, const AttributeProto& a, int type, bool present) {
  // Old writers leave the type out.
  if (a.type() == type || (a.type() == AttributeProto::UNDEFINED && present)) return;
  node.invalid(cat("its attribute `", a.name(), "` has a value of another kind than it should"),
               "onnx-wrong-attribute-kind");
}

}  // namespace

int64_t Node::integer(std::string_view name, int64_t otherwise) {
  const AttributeProto* a = attribute(name);
  if (!a) return otherwise;
  expect(*this, *a, AttributeProto::INT, a->has_i());
  return a->i();
}

int64_t Node::integer(std::string_view name) {
  if (!attribute(name)) invalid(cat("its attribute `", name, "` is missing"), "onnx-missing-attribute");
  return integer(name, 0);
}

double Node::real(std::string_view name, double otherwise) {
  const AttributeProto* a = attribute(name);
  if (!a) return otherwise;
  expect(*this, *a, AttributeProto::FLOAT, a->has_f());
  return static_cast<double>(a->f());
}

std::string Node::text(std::string_view name, std::string_view otherwise) {
  const AttributeProto* a = attribute(name);
  if (!a) return std::string(otherwise);
  expect(*this, *a, AttributeProto::STRING, a->has_s());
  return a->s();
}

std::vector<int64_t> Node::integers(std::string_view name, std::vector<int64_t> otherwise) {
  const AttributeProto* a = attribute(name);
  if (!a) return otherwise;
  expect(*this, *a, AttributeProto::INTS, a->ints_size() > 0);
  if (a->ints_size() > kMaxIndexElements) invalid(cat("its attribute `", name, "` is too long"));
  return {a->ints().begin(), a->ints().end()};
}

std::vector<std::string> Node::texts(std::string_view name) {
  const AttributeProto* a = attribute(name);
  if (!a) return {};
  expect(*this, *a, AttributeProto::STRINGS, a->strings_size() > 0);
  return {a->strings().begin(), a->strings().end()};
}

const ::onnx::GraphProto& Node::graph(std::string_view name) {
  const AttributeProto* a = attribute(name);
  if (!a || !a->has_g()) invalid(cat("its attribute `", name, "` is missing"), "onnx-missing-attribute");
  return a->g();
}

size_t Node::axis(int64_t axis, size_t rank) {
  const auto r = static_cast<int64_t>(rank);
  if (axis < -r || axis >= r)
    invalid(cat("axis ", axis, " does not exist in a tensor of ", rank, " dimensions"), "axis-out-of-range");
  return static_cast<size_t>(axis < 0 ? axis + r : axis);
}

std::vector<Expr> Node::convert_as(std::string_view name, int64_t opset) {
  const Row* row = find_row(name, opset);
  CHECK(row, cat("no row for ", name));
  const int64_t own = std::exchange(opset_, opset);
  std::vector<Expr> out = row->convert(*this);
  opset_ = own;
  return out;
}

// --- Refusing ------------------------------------------------------------------------------------

void Node::unsupported(std::string reason, std::string remedy) {
  throw Refusal{"unsupported-operator-form", std::move(reason), std::move(remedy)};
}

void Node::invalid(std::string reason, Slug slug) { throw Refusal{slug, std::move(reason), {}}; }

// --- Making expressions --------------------------------------------------------------------------

Expr Node::call(const op::OpDef& op, std::initializer_list<Expr> args, const std::vector<AttrArg>& attrs) {
  return call(op, std::span<const Expr>(args.begin(), args.size()), attrs);
}
Expr Node::call(const op::OpDef& op, std::span<const Expr> args, const std::vector<AttrArg>& attrs) {
  return op::call(builder(), op, args, attrs);
}

Refusal too_many(std::string_view what, size_t limit) {
  return {"limit-nodes", cat(what, " than the limit of ", limit), "divide the model into several"};
}

Expr Node::places(const std::vector<Dim>& shape, int64_t axis, DType dtype) {
  return call(op::kIota, std::span<const Expr>(), {{"shape", shape}, {"axis", axis}, {"dtype", dtype}});
}

Expr Node::ints(const std::vector<int64_t>& values, DType dtype) {
  Tensor t(dtype, {static_cast<int64_t>(values.size())});
  for (size_t i = 0; i < values.size(); ++i) t.set_int(static_cast<int64_t>(i), values[i]);
  return builder().constant(std::move(t));
}

Expr Node::cast(Expr e, DType dtype) {
  return type_of(e).dtype == dtype ? e : call(op::kCast, {e}, {{"dtype", dtype}});
}

Expr Node::reshape(Expr e, const std::vector<Dim>& dims) {
  const std::vector<Dim> from = dims_of(e);
  if (from == dims && std::none_of(dims.begin(), dims.end(), [](Dim d) { return d.is_unknown(); })) return e;
  const auto plain = [&](std::vector<Dim> shape) {
    return call(op::kReshape, {e}, {{"newshape", std::move(shape)}});
  };
  const auto symbolic = [](Dim d) { return !d.is_const(); };
  const bool empty = std::find(dims.begin(), dims.end(), Dim(0)) != dims.end();
  if (empty) return call(op::kReshape, {e}, {{"newshape", dims}, {"allowzero", true}});
  if (std::none_of(dims.begin(), dims.end(), symbolic)) return plain(dims);

  // Dims that both shapes share at either end are copied with the code 0; between them
  // one dim may be -1.
  size_t front = 0, back = 0;
  while (front < from.size() && front < dims.size() && from[front] == dims[front]) ++front;
  while (back + front < from.size() && back + front < dims.size() &&
         from[from.size() - 1 - back] == dims[dims.size() - 1 - back])
    ++back;
  const std::vector<Dim> middle(dims.begin() + static_cast<ptrdiff_t>(front),
                                dims.end() - static_cast<ptrdiff_t>(back));
  const auto symbols = std::count_if(middle.begin(), middle.end(), symbolic);
  const bool tail = std::any_of(dims.end() - static_cast<ptrdiff_t>(back), dims.end(), symbolic);
  const size_t replaced = from.size() - front - back;
  std::vector<Dim> shape(front, Dim(0));
  const auto finish = [&]() {
    if (tail) shape.emplace_back(-2);
    if (!tail) shape.insert(shape.end(), dims.end() - static_cast<ptrdiff_t>(back), dims.end());
    return plain(std::move(shape));
  };
  if (symbols <= 1 && (!tail || replaced == middle.size())) {
    for (Dim d : middle) shape.push_back(symbolic(d) ? Dim(-1) : d);
    return finish();
  }
  if (middle.size() == 1 && replaced == 2) {  // two dims become one
    shape.emplace_back(-3);
    return finish();
  }
  if (middle.size() == 2 && replaced == 1 && symbols <= 1) {  // one dim becomes two
    shape.emplace_back(-4);
    for (Dim d : middle) shape.push_back(symbolic(d) ? Dim(-1) : d);
    return finish();
  }
  return plain(dims);
}

Expr Node::expand_dims(Expr e, int64_t axis, int64_t count) {
  return call(op::kExpandDims, {e}, {{"axis", axis}, {"num_newaxis", count}});
}

Expr Node::squeeze(Expr e, std::vector<int64_t> axes) {
  return call(op::kSqueeze, {e}, {{"axis", std::move(axes)}});
}

Expr Node::transpose(Expr e, std::vector<int64_t> axes) {
  return call(op::kTranspose, {e}, {{"axes", std::move(axes)}});
}

Expr Node::concatenate(const std::vector<Expr>& parts, int64_t axis) {
  if (parts.size() == 1) return parts[0];
  return call(op::kConcatenate, {builder().tuple(parts)}, {{"axis", axis}});
}

Expr Node::slice(Expr e, size_t axis, int64_t begin, int64_t end) {
  return call(op::kStridedSlice, {e},
              {{"begin", std::vector<int64_t>{begin}},
               {"end", std::vector<int64_t>{end}},
               {"strides", std::vector<int64_t>{1}},
               {"axes", std::vector<int64_t>{static_cast<int64_t>(axis)}}});
}

}  // namespace relay::frontend
