#include "op/readings.h"

#include <algorithm>

#include "base/cat.h"
#include "base/counted.h"
#include "op/apply.h"
#include "op/define.h"
#include "op/ops.h"

namespace relay::op {
namespace {

constexpr std::string_view kHint = "It marks a place for passes of another compiler.";
constexpr std::string_view kMemory = "Memory is planned by the compiler, and counted by the interpreter.";

Expr first(Builder&, std::span<const Expr> args, const Attrs&) { return args[0]; }

// let %name: type = value; body
Expr let(Builder& b, std::string_view name, Type type, Expr value, Expr body) {
  return b.let(b.var(name, type), value, body);
}

Expr kill(Builder& b, std::span<const Expr> args, const Attrs&) {
  return let(b, "_", nullptr, args[0], b.tuple({}));
}

Expr alloc_storage(Builder& b, std::span<const Expr> args, const Attrs&) {
  const Type number = b.context().scalar_type(kInt64);
  const Expr aligned = let(b, "alignment", number, args[2], b.tuple({}));
  return let(b, "size", number, args[0], let(b, "shape", nullptr, args[1], aligned));
}

// The numbers of a constant vector; nothing if it is none.
std::optional<std::vector<Dim>> constant_shape(Expr e) {
  const auto* constant = e->as<Constant>();
  if (!constant || constant->value->rank() != 1 || !constant->value->dtype().is_int()) return std::nullopt;
  std::vector<Dim> out;
  for (int64_t i = 0; i < constant->value->size(); ++i) out.emplace_back(constant->value->get_int(i));
  return out;
}

struct AllocTensorAttrs {
  DType dtype = kFloat32;
  std::optional<std::vector<Dim>> assert_shape = {};
  static constexpr auto kFields = fields(field("dtype", &AllocTensorAttrs::dtype, ""),
                                         field("assert_shape", &AllocTensorAttrs::assert_shape, ""));
};

Expr alloc_tensor(Builder& b, std::span<const Expr> args, const Attrs& attrs) {
  Context& context = b.context();
  std::vector<AttrArg> known;
  for (const Attr& a : attrs) {
    if (a.name.text() != "const_shape") known.push_back({a.name.str(), a.value});  // the argument has it
  }
  const auto a = read_attrs<AllocTensorAttrs>(context.attrs(known));
  const std::vector<Dim> asserted = a.assert_shape.value_or(std::vector<Dim>());
  Expr zeros;
  if (const auto shape = constant_shape(args[2])) {
    zeros = b.call(b.op(kZeros), {}, context.attrs({{"shape", *shape}, {"dtype", a.dtype}}));
  } else {
    zeros = b.call(b.op(kDynZeros), {args[2]}, context.attrs({{"dtype", a.dtype}}));
  }
  if (!asserted.empty()) {
    const Var* tensor = b.var("tensor", context.tensor_type(asserted, a.dtype));
    zeros = b.let(tensor, zeros, tensor);
  }
  const Expr placed = let(b, "offset", context.scalar_type(kInt64), args[1], zeros);
  return let(b, "storage", context.tuple_type({}), args[0], placed);
}

// func(fields of call_args...)
Expr call_lowered(Builder& b, std::span<const Expr> args, const Attrs&) {
  std::vector<Expr> fields;
  const auto* var = args[1]->as<Var>();
  const auto* type = var && var->annotation ? var->annotation->as<TupleType>() : nullptr;
  if (const auto* tuple = args[1]->as<Tuple>()) {
    fields.assign(tuple->fields.begin(), tuple->fields.end());
  } else if (type) {
    for (uint32_t i = 0; i < type->fields.size(); ++i) fields.push_back(b.proj(args[1], i));
  } else {
    throw RelationError{1, "must be a tuple that is written out: `call_lowered(@f, (%x, %y))`"};
  }
  return b.call(args[0], fields);
}

Expr shape_of(Builder& b, std::span<const Expr> args, const Attrs& attrs) {
  std::vector<AttrArg> all = attr_args(attrs);
  if (all.empty()) all.push_back({"dtype", kInt64});
  return b.call(b.op(kShapeOf), args, b.context().attrs(all));
}

struct ReshapeTensorAttrs {
  std::vector<Dim> newshape = {};
  static constexpr auto kFields = fields(field("newshape", &ReshapeTensorAttrs::newshape, ""));
};

// The attribute is what is known of the shape when the program is compiled.
Expr reshape_tensor(Builder& b, std::span<const Expr> args, const Attrs& attrs) {
  const std::vector<Dim> known = read_attrs<ReshapeTensorAttrs>(attrs).newshape;
  const auto given = constant_shape(args[1]);
  const auto is_known = [](Dim d) { return !d.is_unknown() && !(d.is_const() && d.value() < 0); };
  if (given || (!known.empty() && std::all_of(known.begin(), known.end(), is_known))) {
    const Attrs shape = b.context().attrs({{"newshape", given ? *given : known}, {"allowzero", true}});
    const Expr call = b.call(b.op(kReshape), {args[0]}, shape);
    return given ? call : let(b, "shape", nullptr, args[1], call);
  }
  return b.call(b.op(kDynReshape), args, b.context().attrs({{"allowzero", true}}));
}

struct DynTopkAttrs {
  std::optional<int64_t> k = {};
  int64_t axis = -1;
  std::string ret_type = "both";
  bool is_ascend = false;
  DType dtype = kInt32;
  static constexpr auto kFields =
      fields(field("k", &DynTopkAttrs::k, ""), field("axis", &DynTopkAttrs::axis, ""),
             field("ret_type", &DynTopkAttrs::ret_type, ""), field("is_ascend", &DynTopkAttrs::is_ascend, ""),
             field("dtype", &DynTopkAttrs::dtype, ""));
};

// The first k of what sort and argsort give; less than 1: all, as for topk.
Expr topk(Builder& b, std::span<const Expr> args, const Attrs& attrs) {
  const auto a = read_attrs<DynTopkAttrs>(attrs);
  if (a.k) throw RelationError{kAttributes, "k must be None: the argument of that name stands for it"};
  if (a.ret_type != "both" && a.ret_type != "values" && a.ret_type != "indices") {
    throw RelationError{
        kAttributes, cat("ret_type must be \"both\", \"values\" or \"indices\", not \"", a.ret_type, "\"")};
  }
  Context& context = b.context();
  const auto vector = [&](int64_t v) {
    Tensor t(kInt64, {1});
    t.set_int(0, v);
    return b.constant(std::move(t));
  };
  const auto call = [&](const OpDef& op, std::initializer_list<Expr> of, const std::vector<AttrArg>& with) {
    return b.call(b.op(op), of, context.attrs(with));
  };
  const Expr wide = call(kCast, {args[1]}, {{"dtype", DType(kInt64)}});
  const Expr count = call(kReshape, {wide}, {{"newshape", std::vector<Dim>{1}}});
  const Expr end = call(kWhere, {call(kLess, {count, vector(1)}, {}), vector(INT64_MAX), count}, {});
  const auto taken = [&](Expr e) {
    return call(kDynStridedSlice, {e, vector(0), end, vector(1)}, {{"axes", std::vector<int64_t>{a.axis}}});
  };
  const std::vector<AttrArg> order{{"axis", a.axis}, {"is_ascend", a.is_ascend}};
  const auto values = [&] { return taken(call(kSort, {args[0]}, order)); };
  const auto indices = [&] {
    std::vector<AttrArg> all = order;
    all.push_back({"dtype", a.dtype});
    return taken(call(kArgsort, {args[0]}, all));
  };
  if (a.ret_type == "values") return values();
  if (a.ret_type == "indices") return indices();
  return b.tuple({values(), indices()});
}

const std::vector<Reading>& table() {
  static const std::vector<Reading> kReadings = {
      {"annotation.bitpack_end", "annotation.bitpack_end(data) = data", kHint, {"data"}, {}, first},
      {"annotation.bitpack_start", "annotation.bitpack_start(data) = data", kHint, {"data"}, {}, first},
      {"annotation.cast_hint", "annotation.cast_hint(data) = data", kHint, {"data"}, {}, first},
      {"annotation.compiler_begin",
       "annotation.compiler_begin(data) = data",
       kHint,
       {"data"},
       {"compiler"},
       first},
      {"annotation.compiler_end",
       "annotation.compiler_end(data) = data",
       kHint,
       {"data"},
       {"compiler"},
       first},
      {"annotation.stop_fusion", "annotation.stop_fusion(data) = data", kHint, {"data"}, {}, first},
      {"annotation.with_funcid", "annotation.with_funcid(func) = func", kHint, {"func"}, {"funcid"}, first},
      {"call_lowered",
       "call_lowered(func, (a, b)) = func(a, b)",
       "A function that was lowered is called as any other.",
       {"func", "call_args"},
       {"metadata"},
       call_lowered},
      {"debug",
       "debug(program) = program",
       "`relay debug` stops at any place of a program.",
       {"program"},
       {"debug_func"},
       first},
      {"dyn.topk",
       "dyn.topk(data, k) = (sort(data)[:k], argsort(data)[:k])",
       "How many may be known only when the program runs: less than 1 is all, as are more than there are.",
       {"data", "k"},
       {"k", "axis", "ret_type", "is_ascend", "dtype"},
       topk},
      {"memory.alloc_storage",
       "memory.alloc_storage(size, shape, alignment) = ()",
       kMemory,
       {"size", "shape", "alignment"},
       {"dtype", "virtual_device"},
       alloc_storage},
      {"memory.alloc_tensor",
       "memory.alloc_tensor(storage, offset, shape) = zeros(shape)",
       kMemory,
       {"storage", "offset", "shape"},
       {"dtype", "const_shape", "assert_shape"},
       alloc_tensor},
      {"memory.kill", "memory.kill(to_free) = ()", kMemory, {"to_free"}, {}, kill},
      {"vm.reshape_tensor",
       "vm.reshape_tensor(data, shape) = reshape(data, newshape=shape)",
       "The shape may be known only when the program runs: dyn.reshape.",
       {"data", "shape"},
       {"newshape"},
       reshape_tensor},
      {"vm.shape_of",
       "vm.shape_of(tensor) = shape_of(tensor, dtype=\"int64\")",
       "Another name.",
       {"tensor"},
       {"dtype"},
       shape_of},
  };
  return kReadings;
}

}  // namespace

std::span<const Reading> readings() { return table(); }

const Reading* find_reading(std::string_view name) {
  const auto at = std::lower_bound(table().begin(), table().end(), name,
                                   [](const Reading& r, std::string_view wanted) { return r.name < wanted; });
  return at != table().end() && at->name == name ? &*at : nullptr;
}

Expr read(const Reading& r, Builder& b, std::span<const Expr> args, const Attrs& attrs) {
  if (args.size() != r.params.size()) {
    throw RelationError{kAttributes,
                        cat("takes ", counted(r.params.size(), "argument"), ", the call has ", args.size()),
                        kNoOther, Slug("wrong-argument-count")};
  }
  for (const Attr& a : attrs) {
    if (std::find(r.attrs.begin(), r.attrs.end(), a.name.text()) == r.attrs.end()) {
      throw RelationError{kAttributes,
                          cat("has an attribute `", a.name.text(), "`, which ", unknown_attr(r.attrs)),
                          kNoOther, Slug("unknown-attribute")};
    }
  }
  return r.read(b, args, attrs);
}

Type read_type(Context& context, std::string_view name) {
  return name == "Storage" ? context.tuple_type({}) : nullptr;
}

}  // namespace relay::op
