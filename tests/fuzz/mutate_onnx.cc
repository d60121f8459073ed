// Mutations of ONNX models that stay models: what nodes, types and tensors say
// becomes something else.
#include <onnx/onnx_pb.h>

#include <algorithm>

#include "tests/fuzz/mutate.h"

namespace relay::fuzz {
namespace {

using ::onnx::AttributeProto;
using ::onnx::GraphProto;
using ::onnx::ModelProto;
using ::onnx::NodeProto;
using ::onnx::TensorProto;
using ::onnx::TypeProto;

int64_t whole_number(Random& random) {
  return random.one_in(2) ? static_cast<int64_t>(random.below(9)) - 2
                          : static_cast<int64_t>(interesting_integer(random));
}
int64_t extent(Random& random) {
  return random.one_in(3) ? whole_number(random) : static_cast<int64_t>(random.below(6));
}
float real(Random& random) {
  constexpr float kReals[] = {0.0f, -0.0f, 1.0f, -1.5f, 1e-40f, 3e38f, 1e9f, -2147483648.0f};
  if (random.one_in(6)) return random.one_in(2) ? 1.0f / 0.0f : -(0.0f / 0.0f);
  return random.of(kReals);
}
int element_type(Random& random) { return static_cast<int>(random.below(20)); }

template <class Repeated>
int some(const Repeated& items, Random& random) {
  return static_cast<int>(random.below(static_cast<size_t>(items.size())));
}

// Items of a list become others, or there are more or fewer of them.
template <class Repeated, class Make>
void change_list(Repeated& list, const Make& make, Random& random) {
  switch (list.empty() ? 3 : random.below(6)) {
    case 0: list.Clear(); break;
    case 1: list.RemoveLast(); break;
    case 2: *list.Add() = list.Get(0); break;
    case 3: *list.Add() = make(random); break;
    default: *list.Mutable(some(list, random)) = make(random);
  }
}

std::string a_string(Random& random) {
  constexpr std::string_view kStrings[] = {"SAME_UPPER",
                                           "SAME_LOWER",
                                           "VALID",
                                           "NOTSET",
                                           "linear",
                                           "cubic",
                                           "nearest",
                                           "constant",
                                           "reflect",
                                           "edge",
                                           "wrap",
                                           "bilinear",
                                           "forward",
                                           "reverse",
                                           "bidirectional",
                                           "Tanh",
                                           "Relu",
                                           "floor",
                                           "asymmetric",
                                           "half_pixel",
                                           "align_corners",
                                           "tf_crop_and_resize",
                                           "",
                                           "ij,jk->ik",
                                           "ii->i",
                                           "...i,...i->...",
                                           "DCR",
                                           "CRD",
                                           "add",
                                           "mul"};
  return std::string(random.of(kStrings));
}

void change_tensor(TensorProto& t, Random& random) {
  switch (random.below(6)) {
    case 0: t.set_data_type(element_type(random)); break;
    case 1: change_list(*t.mutable_dims(), extent, random); break;
    case 2:
      if (!t.int64_data().empty()) change_list(*t.mutable_int64_data(), whole_number, random);
      break;
    case 3:
      if (!t.float_data().empty()) change_list(*t.mutable_float_data(), real, random);
      break;
    default:
      if (std::string& raw = *t.mutable_raw_data(); raw.size() >= 8) {
        const size_t width = random.one_in(2) ? 8 : 4, at = random.below(raw.size() / width) * width;
        const auto value = static_cast<uint64_t>(whole_number(random));
        for (size_t i = 0; i < width; ++i) raw[at + i] = static_cast<char>(value >> (8 * i));
      }
  }
}

void change_attribute(AttributeProto& a, Random& random) {
  const auto text = [](Random& r) { return a_string(r); };
  switch (a.type()) {
    case AttributeProto::INT: a.set_i(whole_number(random)); break;
    case AttributeProto::FLOAT: a.set_f(real(random)); break;
    case AttributeProto::STRING: a.set_s(a_string(random)); break;
    case AttributeProto::INTS: change_list(*a.mutable_ints(), whole_number, random); break;
    case AttributeProto::FLOATS: change_list(*a.mutable_floats(), real, random); break;
    case AttributeProto::STRINGS: change_list(*a.mutable_strings(), text, random); break;
    case AttributeProto::TENSOR: change_tensor(*a.mutable_t(), random); break;
    default: break;
  }
}

// Integers that many operators know; on others they are unknown attributes.
void add_attribute(NodeProto& n, Random& random) {
  constexpr const char* kLists[] = {"axes",           "pads",         "strides", "dilations",
                                    "kernel_shape",   "output_shape", "perm",    "split",
                                    "output_padding", "starts",       "ends",    "shape"};
  constexpr const char* kNumbers[] = {"axis",
                                      "group",
                                      "keepdims",
                                      "ceil_mode",
                                      "count_include_pad",
                                      "to",
                                      "exclusive",
                                      "reverse",
                                      "batch_dims",
                                      "blocksize",
                                      "k",
                                      "largest",
                                      "upper",
                                      "hidden_size",
                                      "allowzero",
                                      "p",
                                      "select_last_index",
                                      "num_outputs",
                                      "size",
                                      "start",
                                      "end"};
  AttributeProto& a = *n.add_attribute();
  if (random.one_in(2)) {
    a.set_name(random.of(kNumbers));
    a.set_type(AttributeProto::INT);
    a.set_i(whole_number(random));
    return;
  }
  a.set_name(random.of(kLists));
  a.set_type(AttributeProto::INTS);
  for (size_t i = random.below(5); i > 0; --i) a.add_ints(whole_number(random));
}

void change_type(TypeProto& type, Random& random) {
  TypeProto::Tensor& t = *type.mutable_tensor_type();
  if (random.one_in(3)) {
    t.set_elem_type(element_type(random));
    return;
  }
  auto& dims = *t.mutable_shape()->mutable_dim();
  if (dims.empty() || random.one_in(6)) {
    dims.Add()->set_dim_value(extent(random));
  } else if (random.one_in(6)) {
    dims.RemoveLast();
  } else if (random.one_in(6)) {
    dims.Mutable(some(dims, random))->set_dim_param("n");
  } else {
    dims.Mutable(some(dims, random))->set_dim_value(extent(random));
  }
}

// The same extent everywhere: types that belong together keep fitting.
void change_extent(GraphProto& g, Random& random) {
  if (g.input().empty()) return;
  const auto& shape = g.input(some(g.input(), random)).type().tensor_type().shape();
  if (shape.dim().empty()) return;
  const int64_t from = shape.dim(some(shape.dim(), random)).dim_value(), to = extent(random);
  for (auto& input : *g.mutable_input()) {
    for (auto& d : *input.mutable_type()->mutable_tensor_type()->mutable_shape()->mutable_dim()) {
      if (d.has_dim_value() && d.dim_value() == from) d.set_dim_value(to);
    }
  }
}

void change_node(NodeProto& n, const GraphProto& g, Random& random) {
  switch (random.below(8)) {
    case 0:
      if (!n.input().empty()) n.mutable_input()->RemoveLast();
      break;
    case 1:
      if (!n.input().empty()) *n.add_input() = n.input(some(n.input(), random));
      break;
    case 2:
      if (n.input_size() > 1)
        n.mutable_input()->SwapElements(some(n.input(), random), some(n.input(), random));
      break;
    case 3:
      if (!n.input().empty() && !g.input().empty())
        n.set_input(some(n.input(), random), g.input(some(g.input(), random)).name());
      break;
    case 4: add_attribute(n, random); break;
    default:
      if (n.attribute().empty()) {
        add_attribute(n, random);
      } else {
        change_attribute(*n.mutable_attribute(some(n.attribute(), random)), random);
      }
  }
}

void injure(ModelProto& model, const Seeds& seeds, Random& random) {
  GraphProto& g = *model.mutable_graph();
  switch (random.below(9)) {
    case 0:
    case 1:
      if (!g.input().empty()) change_type(*g.mutable_input(some(g.input(), random))->mutable_type(), random);
      break;
    case 2: change_extent(g, random); break;
    case 3:
      if (!g.initializer().empty())
        change_tensor(*g.mutable_initializer(some(g.initializer(), random)), random);
      break;
    case 4:
      // What was an input becomes known: shapes and axes are then worked out by the importer.
      if (!g.input().empty() && !g.node().empty()) {
        TensorProto& t = *g.add_initializer();
        t.set_name(g.input(some(g.input(), random)).name());
        t.set_data_type(TensorProto::INT64);
        const size_t count = random.below(5);
        t.add_dims(static_cast<int64_t>(count));
        for (size_t i = 0; i < count; ++i) t.add_int64_data(whole_number(random));
      }
      break;
    case 5: {  // the operator of another model
      ModelProto other;
      if (g.node().empty() || !other.ParseFromString(random.of(seeds)) || other.graph().node().empty()) break;
      const NodeProto& from = other.graph().node(some(other.graph().node(), random));
      NodeProto& n = *g.mutable_node(some(g.node(), random));
      n.set_op_type(from.op_type());
      if (random.one_in(2)) *n.mutable_attribute() = from.attribute();
      break;
    }
    default:
      if (!g.node().empty()) change_node(*g.mutable_node(some(g.node(), random)), g, random);
  }
}

}  // namespace

std::string mutate_onnx(const std::string& model, const Seeds& seeds, Random& random) {
  ModelProto m;
  if (!m.ParseFromString(model)) return mutate_bytes(model, seeds, random);
  for (size_t n = 1 + random.below(2) * random.below(4); n > 0; --n) injure(m, seeds, random);
  return m.SerializeAsString();
}

}  // namespace relay::fuzz
