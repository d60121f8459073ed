// Values of the types that a function takes.
#include <limits>
#include <unordered_map>

#include "kernel/expr.h"
#include "tests/fuzz/run_program.h"

namespace relay::fuzz {
namespace {

constexpr int64_t kMostElements = 4096;
constexpr int kDeepest = 6;  // of values of data types that may nest without end

class Maker {
 public:
  Maker(const Module& m, Random& random) : module_(m), random_(random) {}

  std::optional<Value> value(Type t, int depth) {
    if (!t || depth > 2 * kDeepest) return std::nullopt;
    if (const auto* tensor = t->as<TensorType>()) return this->tensor(*tensor);
    if (const auto* tuple = t->as<TupleType>()) {
      std::optional<std::vector<Value>> fields = values(tuple->fields, depth);
      return fields ? std::optional(Value::tuple(std::move(*fields))) : std::nullopt;
    }
    if (const auto* ref = t->as<RefType>()) {
      std::optional<Value> contents = value(ref->contents, depth + 1);
      return contents ? std::optional(Value::cell(std::move(*contents))) : std::nullopt;
    }
    if (const auto* data = t->as<DataType>()) return this->data(*data, depth);
    return std::nullopt;
  }

 private:
  std::optional<std::vector<Value>> values(const List<Type>& types, int depth) {
    std::vector<Value> out;
    for (Type t : types) {
      std::optional<Value> v = value(t, depth + 1);
      if (!v) return std::nullopt;
      out.push_back(std::move(*v));
    }
    return out;
  }

  std::optional<Value> data(const DataType& t, int depth) {
    const DataTypeDef* def = module_.data_type(t.name.text());
    if (!def || def->ctors.empty() || def->params.size() != t.args.size()) return std::nullopt;
    const Constructor* ctor = def->ctors[random_.below(def->ctors.size())];
    if (depth >= kDeepest) {  // whichever ends soonest
      for (const Constructor* other : def->ctors) {
        if (other->fields.size() < ctor->fields.size()) ctor = other;
      }
    }
    std::vector<Type> fields;
    for (Type field : ctor->fields) {
      for (size_t i = 0; i < def->params.size(); ++i) {
        if (field == def->params[i]) field = t.args[i];
      }
      if (field->has_type_var && !field->as<DataType>()) return std::nullopt;
      // `List[A]` within `List[A]`: its arguments are those of the whole.
      if (const auto* same = field->as<DataType>(); same && same->name == t.name && field->has_type_var)
        field = &t;
      if (field->has_type_var) return std::nullopt;
      fields.push_back(field);
    }
    std::vector<Value> made;
    for (Type field : fields) {
      std::optional<Value> v = value(field, depth + 1);
      if (!v) return std::nullopt;
      made.push_back(std::move(*v));
    }
    return Value::data(ctor, std::move(made));
  }

  std::optional<Value> tensor(const TensorType& t) {
    Shape shape;
    for (Dim d : t.dims) shape.push_back(extent(d));
    const std::optional<int64_t> count = element_count(shape);
    if (!count || *count > kMostElements) return std::nullopt;
    Tensor out(t.dtype, shape);
    fill(out);
    return Value(std::move(out));
  }

  int64_t extent(Dim d) {
    if (d.is_const()) return d.value();
    if (d.is_unknown()) return static_cast<int64_t>(random_.below(4));
    const kernel::Expr e = d.symbolic();
    if (e->kind == kernel::ExprKind::kVar) {
      return extents_.emplace(e.get(), static_cast<int64_t>(random_.below(5))).first->second;
    }
    const std::optional<int64_t> known = kernel::evaluate(e, extents_);
    return known ? *known : static_cast<int64_t>(random_.below(4));
  }

  // All small numbers, all of one kind that is hard, or a mixture.
  void fill(Tensor& t) {
    constexpr double kReals[] = {0.0,
                                 -0.0,
                                 1,
                                 -1,
                                 0.5,
                                 2.5,
                                 1e30,
                                 -1e30,
                                 1e-40,
                                 3e38,
                                 1e308,
                                 65504,
                                 449,
                                 57345,
                                 0x1p31,
                                 0x1p63,
                                 -0x1p63,
                                 0x1p64,
                                 std::numeric_limits<double>::infinity(),
                                 -std::numeric_limits<double>::infinity(),
                                 std::numeric_limits<double>::quiet_NaN()};
    const size_t how = random_.below(4);
    const double one = random_.of(kReals);
    const auto one_integer = static_cast<int64_t>(interesting_integer(random_));
    for (int64_t i = 0; i < t.size(); ++i) {
      if (how == 0) {
        t.set_int(i, static_cast<int64_t>(random_.below(4)));
      } else if (how == 1) {
        t.set_int(i, static_cast<int64_t>(random_.below(9)) - 4);
      } else if (t.dtype().is_float()) {
        t.set(i, how == 2 ? one : random_.of(kReals));
      } else {
        t.set_int(i, how == 2 ? one_integer : static_cast<int64_t>(interesting_integer(random_)));
      }
    }
  }

  const Module& module_;
  Random& random_;
  std::unordered_map<const kernel::ExprNode*, int64_t> extents_;
};

}  // namespace

std::optional<std::vector<Value>> arguments_of(const Module& m, const Fn& fn, Random& random) {
  Maker maker(m, random);
  std::vector<Value> out;
  for (const Var* x : fn.params) {
    std::optional<Value> v = maker.value(x->type, 0);
    if (!v) return std::nullopt;
    out.push_back(std::move(*v));
  }
  return out;
}

}  // namespace relay::fuzz
