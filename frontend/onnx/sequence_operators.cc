// Operators on sequences and optional values (sequences.h).
#include <algorithm>

#include "base/cat.h"
#include "frontend/onnx/sequences.h"

namespace relay::frontend {
namespace {

using namespace op;
using Form = Operand::Form;
using Operands = std::vector<Operand>;
using Found = std::optional<Operands>;

constexpr size_t kMostElements = 4096;  // of a sequence that is known; a longer one is a list

Operand value(Expr e) {
  Operand out;
  out.expr = e;
  return out;
}

Found one(Operand o) {
  Operands out;
  out.push_back(std::move(o));
  return out;
}

void spend(Node& n, size_t elements) {
  if (n.importer().spend(elements / 64 + 1)) return;
  throw too_many("what is imported again and again has more parts", n.importer().options().nodes);
}

// The input as a sequence.
Operand& sequence(Node& n, size_t i) {
  Operand& o = n.operand(i);
  const bool is_list = o.expr && o.expr->type && o.expr->type->as<DataType>() &&
                       o.expr->type->as<DataType>()->name.text() == "List";
  if (o.form != Form::kSequence && !is_list) n.invalid(cat("its input ", i, " is not a sequence"));
  if (o.elements) spend(n, o.elements->size());
  return o;
}

// A tensor that becomes an element.
Operand element(Node& n, size_t i) {
  if (is_composite(n.operand(i))) n.unsupported(cat("its input ", i, " is not a tensor"));
  n.importer().carrier(n.operand(i));
  return n.operand(i);
}

// The type of a list's elements; null for an empty sequence.
Type element_type(Node& n, Operand& o) {
  const Type type = value_type(n.importer(), o);
  return type ? type->as<DataType>()->args[0] : nullptr;
}

Type list_of(Node& n, Type element) { return n.importer().library_type("List", element); }

// A place in a sequence: a number if it is known.
std::optional<int64_t> known_place(Node& n, size_t i) {
  const std::optional<IndexTensor> t = n.index(i);
  if (!t || !t->constant() || t->elements.size() != 1) return std::nullopt;
  return t->elements[0].value();
}

Expr place(Node& n, size_t i) {
  if (!n.has(i)) return n.builder().constant(Tensor::scalar_int(kInt64, -1));
  n.require(n.dtype(i).is_int(), "its position must be an integer");
  return n.cast(n.reshape(n.input(i), {}), kInt64);
}

// The place counted from the front, in a sequence of known length.
size_t from_front(Node& n, int64_t at, size_t places, size_t length) {
  const auto count = static_cast<int64_t>(length);
  const int64_t from = at < 0 ? at + count : at;
  if (from < 0 || from >= static_cast<int64_t>(places))
    n.invalid(cat("its position ", at, " is outside of the ", length, " elements of the sequence"));
  return static_cast<size_t>(from);
}

Found construct(Node& n) {
  Operands elements;
  for (size_t i = 0; i < n.inputs(); ++i) elements.push_back(element(n, i));
  spend(n, elements.size());
  return one(sequence_of(std::move(elements)));
}

Found empty(Node& n) {
  n.attribute("dtype");  // what is inserted has it, or is refused where a list needs one
  return one(sequence_of({}));
}

Found length(Node& n) {
  Operand& s = sequence(n, 0);
  if (s.elements) {
    return one(
        n.importer().operand(IndexTensor{kInt64, {}, {Dim(static_cast<int64_t>(s.elements->size()))}}));
  }
  return one(value(n.importer().library_call("sequence_length", {s.expr}, n.context().scalar_type(kInt64))));
}

Found at(Node& n) {
  Operand& s = sequence(n, 0);
  const std::optional<int64_t> known = known_place(n, 1);
  if (s.elements && known)
    return one((*s.elements)[from_front(n, *known, s.elements->size(), s.elements->size())]);
  const Type type = value_type(n.importer(), s);
  if (!type) n.invalid("it takes an element of an empty sequence");
  const Expr list = as_value(n.importer(), s, type);
  return one(value(n.importer().library_call("sequence_at", {list, place(n, 1)}, element_type(n, s))));
}

Found insert(Node& n) {
  Operand& s = sequence(n, 0);
  Operand added = element(n, 1);
  const std::optional<int64_t> known = n.has(2) ? known_place(n, 2) : std::nullopt;
  if (s.elements && (known || !n.has(2)) && s.elements->size() < kMostElements) {
    Operands elements = *s.elements;
    const size_t before =
        known ? from_front(n, *known, elements.size() + 1, elements.size()) : elements.size();
    elements.insert(elements.begin() + static_cast<ptrdiff_t>(before), std::move(added));
    return one(sequence_of(std::move(elements)));
  }
  const Type given = value_type(n.importer(), s), own = list_of(n, added.expr->type);
  const Type type = given ? joined_type(n.context(), given, own) : own;
  if (!type)
    n.unsupported(cat("it inserts ", show(added.expr->type, 80), " into ", show(given, 80)),
                  "the elements of a sequence must have one dtype and one number of dimensions, unless "
                  "constants say how many there are");
  const Expr list = as_value(n.importer(), s, type);
  const Expr last = widened(n.builder(), added.expr, type->as<DataType>()->args[0]);
  if (!n.has(2)) return one(value(n.importer().library_call("sequence_append", {list, last}, type)));
  return one(value(n.importer().library_call("sequence_insert", {list, place(n, 2), last}, type)));
}

Found erase(Node& n) {
  Operand& s = sequence(n, 0);
  const std::optional<int64_t> known = n.has(1) ? known_place(n, 1) : -1;
  if (s.elements && known) {
    Operands elements = *s.elements;
    const size_t which = from_front(n, *known, elements.size(), elements.size());
    elements.erase(elements.begin() + static_cast<ptrdiff_t>(which));
    return one(sequence_of(std::move(elements)));
  }
  const Type type = value_type(n.importer(), s);
  if (!type) n.invalid("it takes an element away from an empty sequence");
  const Expr list = as_value(n.importer(), s, type);
  return one(value(n.importer().library_call("sequence_erase", {list, place(n, 1)}, type)));
}

Found concat_from_sequence(Node& n) {
  Operand& s = sequence(n, 0);
  const int64_t given = n.integer("axis");
  const bool stacks = n.integer("new_axis", 0) != 0;
  std::vector<Expr> parts;  // of a known length: they need no type in common
  for (Operand e : s.elements ? *s.elements : Operands()) parts.push_back(n.importer().materialise(e));
  const Type type = !s.elements ? element_type(n, s) : parts.empty() ? nullptr : parts[0]->type;
  if (!type) n.invalid("it concatenates the elements of an empty sequence");
  const size_t rank = type->as<TensorType>()->rank() + (stacks ? 1 : 0);
  const auto axis = static_cast<int64_t>(n.axis(given, rank));
  const auto part = [&](Expr e) { return stacks ? n.expand_dims(e, axis) : e; };
  if (s.elements) {
    for (Expr& e : parts) e = part(e);
    return one(value(n.concatenate(parts, axis)));
  }
  // Neighbours are joined, then what came of them: each has any extent along the axis.
  Builder& b = n.builder();
  Expr list = s.expr;
  const Var* x = b.var("x", type);
  const Expr made = part(x);
  std::vector<Dim> dims = dims_of(made);
  dims[static_cast<size_t>(axis)] = Dim::unknown();
  const Type joined = n.context().tensor_type(dims, type_of(made).dtype);
  if (made->type != joined || stacks) {
    const Expr each =
        b.with_type(b.fn(std::vector{x}, made, joined), n.context().fn_type({}, std::vector{type}, joined));
    list = n.importer().library_call("map", {each, list}, list_of(n, joined));
  }
  const Var *left = b.var("a", joined), *right = b.var("b", joined);
  const Expr both = n.concatenate({left, right}, axis);
  const Expr join = b.with_type(b.fn(std::vector{left, right}, both, joined),
                                n.context().fn_type({}, std::vector<Type>{joined, joined}, joined));
  return one(value(n.importer().library_call("tensor_array_join", {join, list}, joined)));
}

// --- SplitToSequence -----------------------------------------------------------------------------

// Pieces of known sizes.
Operands pieces(Node& n, Expr x, size_t axis, const std::vector<int64_t>& sizes, bool keeps) {
  spend(n, sizes.size());
  Operands out;
  int64_t begin = 0;
  for (int64_t size : sizes) {
    n.require(size >= 0 && size <= INT64_MAX - begin, "its sizes are out of range");
    Expr piece = n.slice(x, axis, begin, begin + size);
    begin += size;
    if (!keeps) piece = n.squeeze(piece, {static_cast<int64_t>(axis)});
    out.push_back(value(piece));
  }
  return out;
}

Expr integer(Node& n, int64_t v) { return n.builder().constant(Tensor::scalar_int(kInt64, v)); }

// The elements from `begin` to `end` along an axis. Traps where there are none.
Expr between(Node& n, Expr x, size_t axis, Expr begin, Expr end) {
  const Expr where = n.call(kArange, {begin, end, integer(n, 1)}, {{"dtype", kInt64}});
  return n.call(kTake, {x, where}, {{"axis", static_cast<int64_t>(axis)}, {"mode", "fast"}});
}

// As many pieces of one size as the run finds along an axis; the last one may be smaller. A
// negative size traps as 0 does.
Expr pieces_of_run(Node& n, Expr x, size_t axis, Expr size, bool keeps) {
  Builder& b = n.builder();
  const auto along = static_cast<int64_t>(axis);
  const auto* known = size->as<Constant>();
  const bool single = known && known->value->get_int(0) == 1;
  const Expr extent =
      n.call(kTake, {n.call(kShapeOf, {x}, {{"dtype", kInt64}}), integer(n, along)}, {{"axis", int64_t{0}}});
  const Expr rounded = single ? extent : n.call(kSubtract, {n.call(kAdd, {extent, size}), integer(n, 1)});
  const Expr count =
      single ? extent
             : n.call(kFloorDivide, {rounded, known ? size : n.call(kMaximum, {size, integer(n, 0)})});
  const Var* i = b.var("i", n.context().scalar_type(kInt64));
  Expr piece = nullptr;
  if (single) {
    piece = n.call(kTake, {x, i}, {{"axis", along}});
    if (keeps) piece = n.expand_dims(piece, along);
  } else {
    const Expr begin = n.call(kMultiply, {i, size});
    piece = between(n, x, axis, begin, n.call(kMinimum, {n.call(kAdd, {begin, size}), extent}));
  }
  const Expr make = b.with_type(b.fn(std::vector{i}, piece, piece->type),
                                n.context().fn_type({}, std::vector<Type>{i->type}, piece->type));
  return n.importer().library_call("sequence_tabulate", {make, count}, list_of(n, piece->type));
}

// Pieces of sizes that only a run knows. Traps for negative ones, and for another sum
// than the extent.
Operands pieces_of_sizes(Node& n, Expr x, size_t axis, Dim extent) {
  const std::vector<Dim> count = dims_of(n.input(1));
  if (!count[0].is_const() || !extent.is_const())
    n.unsupported("how many pieces there are, or what they are cut from, is not known",
                  "fix the dynamic axes with --input-shapes");
  n.require(count[0].value() <= static_cast<int64_t>(kMostElements), "it has too many sizes");
  spend(n, static_cast<size_t>(count[0].value()));
  const Expr given = n.cast(n.input(1), kInt64), sizes = n.call(kMaximum, {given, integer(n, 0)});
  std::vector<Expr> ends{integer(n, 0)};
  for (int64_t k = 0; k < count[0].value(); ++k)
    ends.push_back(
        n.call(kAdd, {ends.back(), n.call(kTake, {sizes, integer(n, k)}, {{"axis", int64_t{0}}})}));
  // The reshape traps if the sizes do not add up to the extent, the take if one is negative.
  const Expr sum = n.call(kSum, {given}, {{"axis", std::vector<int64_t>{0}}});
  const Expr all = n.call(kArange, {n.call(kSubtract, {ends.back(), sum}), ends.back(), integer(n, 1)},
                          {{"dtype", kInt64}});
  const Expr places = n.call(kReshape, {all}, {{"newshape", std::vector<int64_t>{extent.value()}}});
  const Expr whole = n.call(kTake, {x, places}, {{"axis", static_cast<int64_t>(axis)}, {"mode", "fast"}});
  Operands out;
  for (size_t k = 0; k + 1 < ends.size(); ++k)
    out.push_back(value(between(n, whole, axis, ends[k], ends[k + 1])));
  return out;
}

Found split_to_sequence(Node& n) {
  const Expr x = n.input(0);
  const TensorType& t = type_of(x);
  const size_t axis = n.axis(n.integer("axis", 0), t.rank());
  const bool keeps = n.integer("keepdims", 1) != 0 || n.has(1);
  const Dim extent = t.dims[axis];
  std::vector<int64_t> sizes;
  if (n.has(1)) n.require(n.dtype(1).is_int() && n.rank(1) <= 1, "its sizes must be integers");
  if (n.has(1) && !n.known(1)) {
    if (n.rank(1) == 1) return one(sequence_of(pieces_of_sizes(n, x, axis, extent)));
    return one(value(pieces_of_run(n, x, axis, n.cast(n.input(1), kInt64), keeps)));
  }
  if (n.has(1) && n.rank(1) == 1) {
    sizes = n.constant_ints(1, "sizes");
    int64_t sum = 0;
    for (int64_t s : sizes) {
      n.require(s >= 0 && s <= INT64_MAX - sum, "its sizes are out of range");
      sum += s;
    }
    if (!extent.is_const())
      n.unsupported("its sizes must add up to an extent that is not known",
                    "fix the dynamic axis with --input-shapes");
    n.require(sum == extent.value(), "its sizes do not add up to the extent of the axis");
  } else {
    const int64_t each = n.has(1) ? n.constant_int(1, "size") : 1;
    n.require(each > 0, "its size must be positive");
    if (!extent.is_const() || extent.value() / each >= static_cast<int64_t>(kMostElements))
      return one(value(pieces_of_run(n, x, axis, integer(n, each), keeps)));
    for (int64_t rest = extent.value(); rest > 0; rest -= std::min(each, rest))
      sizes.push_back(std::min(each, rest));
  }
  n.require(sizes.size() <= kMostElements, "it has too many sizes");
  return one(sequence_of(pieces(n, x, axis, sizes, keeps)));
}

// --- SequenceMap ---------------------------------------------------------------------------------

// The body once for the elements at one place.
Found mapped(Node& n, const ::onnx::GraphProto& body, Operands elements) {
  NameScope scope{{}, &n.importer().scope()};
  for (size_t i = 0; i < elements.size(); ++i)
    scope.names.emplace(body.input(static_cast<int>(i)).name(), std::move(elements[i]));
  return n.importer().import_subgraph(body, scope);
}

// By `@map` over one list, of tuples if several sequences go along.
Found map_lists(Node& n, const ::onnx::GraphProto& body, const std::vector<Operand*>& inputs) {
  Importer& importer = n.importer();
  Builder& b = n.builder();
  Expr list = nullptr;
  std::vector<size_t> along;  // inputs that are sequences
  for (size_t i = inputs.size(); i-- > 0;) {
    if (!is_composite(*inputs[i])) continue;
    const Type type = value_type(importer, *inputs[i]);
    if (!type) n.unsupported("it maps an empty sequence and one whose length only a run knows");
    const Expr own = as_value(importer, *inputs[i], type);
    if (list) {
      const Type pair = n.context().tuple_type(
          std::vector<Type>{type->as<DataType>()->args[0], list->type->as<DataType>()->args[0]});
      list = importer.library_call("zip", {own, list}, list_of(n, pair));
    } else {
      list = own;
    }
    along.insert(along.begin(), i);
  }
  const Var* x = b.var("x", list->type->as<DataType>()->args[0]);
  Bindings own;  // extents that only the function knows
  const Importer::Inside inside(importer, importer.scope(), own);
  Operands elements;
  Expr rest = x;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!is_composite(*inputs[i])) {
      elements.push_back(*inputs[i]);
    } else if (i == along.back()) {
      elements.push_back(value(importer.name_extents(rest, "e")));
    } else {
      elements.push_back(value(importer.name_extents(b.proj(rest, 0), "e")));
      rest = b.proj(rest, 1);
    }
  }
  std::vector<Expr> parts;
  Found results = mapped(n, body, std::move(elements));
  if (!results) return std::nullopt;
  for (Operand& r : *results) {
    if (is_composite(r)) n.unsupported("its body gives what is no tensor");
    parts.push_back(importer.materialise(r));
  }
  const Expr whole = own.enclose(b, parts.size() == 1 ? parts[0] : b.tuple(parts));
  const auto map_of = [&](const Var* param, Expr result, Expr over) {
    const Expr fn = b.with_type(b.fn(std::vector{param}, result, result->type),
                                n.context().fn_type({}, std::vector<Type>{param->type}, result->type));
    return importer.library_call("map", {fn, over}, list_of(n, result->type));
  };
  const Expr all = map_of(x, whole, list);
  Operands out;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (parts.size() == 1) return one(value(all));
    const Var* t = b.var("t", whole->type);
    out.push_back(value(map_of(t, b.proj(t, static_cast<uint32_t>(i)), all)));
  }
  return out;
}

Found sequence_map(Node& n) {
  const ::onnx::GraphProto& body = n.graph("body");
  n.require(n.inputs() > 0 && static_cast<size_t>(body.input_size()) == n.inputs(),
            "the inputs of its body are not those that it gives it");
  n.require(body.output_size() > 0 && n.outputs() <= static_cast<size_t>(body.output_size()),
            "it has more outputs than its body");
  std::vector<Operand*> inputs;
  bool known = true;
  for (size_t i = 0; i < n.inputs(); ++i) {
    Operand& o = i == 0 || is_composite(n.operand(i)) ? sequence(n, i) : n.operand(i);
    inputs.push_back(&o);
    known = known && (o.elements || !is_composite(o));
  }
  if (!known) return map_lists(n, body, inputs);
  const size_t count = inputs[0]->elements->size();
  std::vector<Operands> collected(static_cast<size_t>(body.output_size()));
  for (size_t k = 0; k < count; ++k) {
    spend(n, 64 * static_cast<size_t>(body.node_size()));
    Operands elements;
    for (Operand* o : inputs) {
      n.require(!o->elements || o->elements->size() == count, "its sequences differ in length");
      elements.push_back(o->elements ? (*o->elements)[k] : *o);
    }
    Found results = mapped(n, body, std::move(elements));
    if (!results) return std::nullopt;
    for (size_t i = 0; i < results->size(); ++i) collected[i].push_back(std::move((*results)[i]));
  }
  Operands out;
  for (Operands& elements : collected) out.push_back(sequence_of(std::move(elements)));
  return out;
}

// --- Optional values -----------------------------------------------------------------------------

bool is_option(const Operand& o) {
  if (o.form == Form::kOptional) return true;
  const auto* data = o.expr && o.expr->type ? o.expr->type->as<DataType>() : nullptr;
  return data && data->name.text() == "Option";
}

Found optional(Node& n) {
  n.attribute("type");  // its input has it; without one nothing says what is not there
  Operands present;
  if (n.has(0)) {
    if (is_option(n.operand(0))) n.invalid("its input is an optional value already");
    present.push_back(n.operand(0));
  }
  return one(optional_of(std::move(present)));
}

Found has_element(Node& n) {
  const bool there = n.has(0);
  if (there && is_option(n.operand(0)) && !n.operand(0).elements) {
    return one(value(
        n.importer().library_call("optional_has", {n.operand(0).expr}, n.context().scalar_type(kBool))));
  }
  const bool has = there && (!is_option(n.operand(0)) || !n.operand(0).elements->empty());
  return one(n.importer().constant(Tensor::scalar_int(kBool, has ? 1 : 0)));
}

Found get_element(Node& n) {
  Operand& o = n.operand(0);
  if (!is_option(o)) return one(o);  // from version 18 on
  if (!o.elements) {
    return one(
        value(n.importer().library_call("optional_get", {o.expr}, o.expr->type->as<DataType>()->args[0])));
  }
  if (o.elements->empty()) n.invalid("its input has no element");
  return one(o.elements->front());
}

Found identity(Node& n) { return one(n.operand(0)); }

struct OperandRow {
  std::string_view name;
  int64_t since;
  Found (*convert)(Node& node);
};
constexpr OperandRow kRows[] = {
    {"ConcatFromSequence", 11, concat_from_sequence},
    {"Optional", 15, optional},
    {"OptionalGetElement", 15, get_element},
    {"OptionalHasElement", 15, has_element},
    {"SequenceAt", 11, at},
    {"SequenceConstruct", 11, construct},
    {"SequenceEmpty", 11, empty},
    {"SequenceErase", 11, erase},
    {"SequenceInsert", 11, insert},
    {"SequenceLength", 11, length},
    {"SequenceMap", 17, sequence_map},
    {"SplitToSequence", 11, split_to_sequence},
};

const OperandRow* find_operand_row(std::string_view name, int64_t opset) {
  const auto* row = std::find_if(std::begin(kRows), std::end(kRows),
                                 [&](const OperandRow& r) { return r.name == name && r.since <= opset; });
  return row == std::end(kRows) ? nullptr : row;
}

}  // namespace

bool is_composite_operator(std::string_view full_name, int64_t opset) {
  return find_operand_row(full_name, opset) != nullptr;
}

std::vector<std::pair<std::string_view, int64_t>> composite_operators() {
  std::vector<std::pair<std::string_view, int64_t>> out;
  for (const OperandRow& r : kRows) out.emplace_back(r.name, r.since);
  return out;
}

bool takes_composites(Node& n) {
  const std::string name = full_name(n.proto());
  return is_composite_operator(name, n.opset()) ||
         (name == "Identity" && n.has(0) && is_composite(n.operand(0)));
}

std::optional<std::vector<Operand>> convert_composites(Node& n) {
  const OperandRow* row = find_operand_row(full_name(n.proto()), n.opset());
  std::optional<std::vector<Operand>> out = row ? row->convert(n) : identity(n);
  for (size_t i = 0; out && row && i < out->size() && i < n.outputs(); ++i) {
    Operand& o = (*out)[i];
    if (o.expr && !o.closed)
      o.expr = n.importer().name_extents(o.expr, n.proto().output(static_cast<int>(i)));
  }
  return out;
}

}  // namespace relay::frontend
