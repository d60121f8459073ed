#include "tests/sweep/propose.h"

#include <algorithm>

#include "base/cat.h"
#include "op/apply.h"
#include "op/relation.h"

namespace relay::sweep {
namespace {

using property::ByteSource;

constexpr int kMostTries = 24;
constexpr int64_t kMostElements = 2048;  // of an argument or a result
constexpr size_t kMostRank = 5;

template <class T>
const T& pick(ByteSource& in, const std::vector<T>& from) {
  return from[in.below(static_cast<uint32_t>(std::min<size_t>(from.size(), 256)))];
}

DType draw_dtype(ByteSource& in) {
  static const std::vector<DType> kAll{kFloat32, kFloat64, kInt32, kInt64,   kFloat16,    kBFloat16,
                                       kInt8,    kUInt8,   kBool,  kInt16,   kUInt16,     kUInt32,
                                       kUInt64,  kInt4,    kUInt4, kFloat32, kFloat8E4M3, kFloat8E5M2};
  return pick(in, kAll);
}

// One draft and the changes that can be made to it.
class Changes {
 public:
  Changes(Context& context, const std::vector<Seed>& seeds, Draft& draft, ByteSource& in)
      : context_(context), seeds_(seeds), draft_(draft), in_(in) {}

  void one() {
    const uint32_t what = in_.below(12);
    if (draft_.args.empty() || what < 4) return attribute();
    switch (what) {
      case 4:
      case 5: return extent();
      case 6:
      case 7: return dtype();
      case 8: return rank();
      case 9: return one_extent();
      case 10: return exchange();
      default: return tuple();
    }
  }

 private:
  std::vector<Operand*> operands() {
    std::vector<Operand*> out;
    for (Argument& a : draft_.args) {
      for (Operand& o : a.operands) out.push_back(&o);
    }
    return out;
  }
  Operand* some_operand() {
    const std::vector<Operand*> all = operands();
    return all.empty() ? nullptr : pick(in_, all);
  }

  // An extent, wherever it stands: in attributes too, which often repeat it.
  void extent() {
    Operand* o = some_operand();
    if (!o || o->shape.empty()) return;
    const int64_t from = pick(in_, o->shape), to = draw_extent(in_);
    const bool in_attributes = in_.below(2) == 1;
    for (Operand* other : operands()) std::replace(other->shape.begin(), other->shape.end(), from, to);
    if (!in_attributes) return;
    for (Attr& a : draft_.attrs) {
      if (a.value.kind == AttrKind::kInt && a.value.integer == from) a.value = integer(to);
      if (a.value.kind == AttrKind::kList) {
        std::vector<AttrValue> items(a.value.list.begin(), a.value.list.end());
        for (AttrValue& item : items) {
          if (item.kind == AttrKind::kInt && item.integer == from) item = integer(to);
        }
        a.value = context_.attr_list(items);
      }
    }
  }

  // One extent of one operand; mostly 1, which broadcasts.
  void one_extent() {
    Operand* o = some_operand();
    if (!o || o->shape.empty()) return;
    o->shape[in_.below(static_cast<uint32_t>(o->shape.size()))] = in_.below(2) == 0 ? 1 : draw_extent(in_);
  }

  void dtype() {
    Operand* o = some_operand();
    if (!o) return;
    const DType from = o->dtype, to = draw_dtype(in_);
    if (in_.below(4) == 3) {
      o->dtype = to;
      return;
    }
    for (Operand* other : operands()) {
      if (other->dtype == from) other->dtype = to;
    }
    for (Attr& a : draft_.attrs) {
      if (a.value.kind == AttrKind::kString && a.value.string.text() == from.name())
        a.value = string(to.name());
    }
  }

  // An axis more or less, of one operand or of all.
  void rank() {
    const bool more = in_.below(2) == 0, all = in_.below(2) == 0, front = in_.below(2) == 0;
    const int64_t extent = draw_extent(in_);
    Operand* chosen = some_operand();
    for (Operand* o : operands()) {
      if (!all && o != chosen) continue;
      const size_t at =
          front || o->shape.empty() ? 0 : in_.below(static_cast<uint32_t>(o->shape.size() + (more ? 1 : 0)));
      if (more && o->shape.size() < kMostRank)
        o->shape.insert(o->shape.begin() + static_cast<ptrdiff_t>(at), extent);
      if (!more && !o->shape.empty()) o->shape.erase(o->shape.begin() + static_cast<ptrdiff_t>(at));
    }
  }

  void exchange() {
    Operand* o = some_operand();
    if (!o || o->shape.size() < 2) return;
    const auto n = static_cast<uint32_t>(o->shape.size());
    const uint32_t i = in_.below(n), j = in_.below(n);
    for (Operand* other : operands()) {
      if (other->shape.size() == n) std::swap(other->shape[i], other->shape[j]);
    }
  }

  // A field of a tuple more or less.
  void tuple() {
    for (Argument& a : draft_.args) {
      if (!a.is_tuple || a.operands.empty()) continue;
      if (in_.below(2) == 0) {
        a.operands.push_back(pick(in_, a.operands));
      } else if (a.operands.size() > 1) {
        a.operands.pop_back();
      }
      return;
    }
    return one_extent();
  }

  // ---- attributes, by what the operator says of them ----

  void attribute() {
    const std::vector<op::AttrField>& fields = draft_.op->attrs;
    if (fields.empty()) return draft_.args.empty() ? void() : extent();
    const op::AttrField& field = pick(in_, fields);
    const auto at = std::find_if(draft_.attrs.begin(), draft_.attrs.end(),
                                 [&](const Attr& a) { return a.name.text() == field.name; });
    const AttrValue* now = at == draft_.attrs.end() ? nullptr : &at->value;
    if (now && in_.below(8) == 7) {  // its default
      draft_.attrs.erase(at);
      return;
    }
    const AttrValue fresh = value(field, now);
    if (now) {
      at->value = fresh;
    } else {
      draft_.attrs.push_back({context_.symbol(field.name), fresh});
    }
  }

  AttrValue value(const op::AttrField& field, const AttrValue* now) {
    std::string_view type = field.type;
    if (type.ends_with("?")) {
      type.remove_suffix(1);
      if (in_.below(6) == 5) return {};
    }
    if (in_.below(3) == 2) {
      if (const AttrValue* other = of_a_seed(field.name)) return copied(*other);
    }
    if (type == "bool") return boolean(in_.below(2) == 1);
    if (type == "int" || type == "dim")
      return integer(number(now && now->kind == AttrKind::kInt ? now->integer : 0));
    if (type == "float") return real();
    if (type == "dtype") return string(draw_dtype(in_).name());
    if (type == "ints" || type == "dims") return list(now);
    if (type == "floats") {
      std::vector<AttrValue> items;
      for (uint32_t n = now && now->kind == AttrKind::kList ? static_cast<uint32_t>(now->list.size())
                                                            : 1 + in_.below(3);
           n > 0; --n)
        items.push_back(real());
      return context_.attr_list(items);
    }
    // Words have no description: those of the seeds.
    if (const AttrValue* other = of_a_seed(field.name)) return copied(*other);
    return now ? *now : string(default_word(field));
  }

  // A list of as many integers, one of them changed; sometimes longer or shorter.
  AttrValue list(const AttrValue* now) {
    std::vector<AttrValue> items;
    if (now && now->kind == AttrKind::kList) items.assign(now->list.begin(), now->list.end());
    if (now && now->kind == AttrKind::kInt) items.push_back(*now);
    const uint32_t how = in_.below(6);
    if (items.empty() || how == 5) items.push_back(integer(number(0)));
    if (how == 4) items.pop_back();
    if (how < 4 && !items.empty()) {
      AttrValue& item = items[in_.below(static_cast<uint32_t>(std::min<size_t>(items.size(), 256)))];
      if (item.kind == AttrKind::kInt) item = integer(number(item.integer));
    }
    return context_.attr_list(items);
  }

  int64_t number(int64_t now) {
    static const std::vector<int64_t> kSome{0, 1, -1, 2, 3, -2, 4, 5, 8, 16};
    switch (in_.below(5)) {
      case 0: return now + 1;
      case 1: return now - 1;
      case 2:
        if (const Operand* o = some_operand(); o && !o->shape.empty()) return pick(in_, o->shape);
        [[fallthrough]];
      default: return pick(in_, kSome);
    }
  }

  // The value that some seed of the operator has there; null if none has one.
  const AttrValue* of_a_seed(std::string_view name) {
    std::vector<const AttrValue*> all;
    for (const Seed& s : seeds_) {
      for (const Attr& a : s.draft.attrs) {
        if (a.name.text() == name) all.push_back(&a.value);
      }
    }
    return all.empty() ? nullptr : pick(in_, all);
  }
  AttrValue copied(const AttrValue& v) { return attrs_in(context_, {{context_.symbol("v"), v}})[0].value; }

  AttrValue integer(int64_t v) { return context_.attr_value(v); }
  AttrValue boolean(bool v) { return context_.attr_value(v); }
  AttrValue string(const std::string& v) { return context_.attr_value(v); }
  AttrValue real() {
    static const std::vector<double> kSome{1, 0.5, 0, 2, -1, 1e-5, 0.1, -0.25, 3};
    return context_.attr_value(pick(in_, kSome));
  }
  static std::string default_word(const op::AttrField& field) {
    const std::string& text = field.default_text;
    return text.size() >= 2 && text.front() == '"' ? text.substr(1, text.size() - 2) : "";
  }

  Context& context_;
  const std::vector<Seed>& seeds_;
  Draft& draft_;
  ByteSource& in_;
};

bool is_small(std::span<const Type> types) {
  for (const TensorType* t : op::flatten(types)) {
    const std::optional<Shape> shape = t->static_shape();
    if (!shape) continue;  // the data tell: a run has a limit
    const std::optional<int64_t> elements = element_count(*shape);
    if (!elements || *elements > kMostElements) return false;
  }
  return true;
}

bool is_data(Type t) {
  if (t->as<TensorType>()) return true;
  const auto* tuple = t->as<TupleType>();
  return tuple && std::all_of(tuple->fields.begin(), tuple->fields.end(),
                              [](Type f) { return f->as<TensorType>() != nullptr; });
}

}  // namespace

bool is_well_typed(Context& context, const Draft& d) {
  const std::vector<Type> types = types_of(context, d);
  if (!is_small(types)) return false;
  try {
    const Attrs attrs = context.intern_attrs(d.attrs);
    if (!d.op->check_attrs(attrs).empty()) return false;
    const Type result = op::infer(context, *d.op, types, attrs);
    return is_data(result) && is_small({&result, 1});
  } catch (const op::RelationError&) {
    return false;
  }
}

int64_t draw_extent(ByteSource& in) {
  static const std::vector<int64_t> kSome{2, 3, 1, 4, 5, 7, 8, 16, 0, 17, 6, 9, 3, 2, 12, 33};
  return pick(in, kSome);
}

std::vector<Type> types_of(Context& context, const Draft& d) {
  std::vector<Type> out;
  for (const Argument& a : d.args) {
    std::vector<Type> fields;
    for (const Operand& o : a.operands) fields.push_back(context.tensor_type(o.shape, o.dtype));
    out.push_back(a.is_tuple ? Type(context.tuple_type(fields)) : fields[0]);
  }
  return out;
}

Draft propose(Context& context, const std::vector<Seed>& seeds, ByteSource& in) {
  Draft kept = pick(in, seeds).draft;
  kept.attrs = attrs_in(context, kept.attrs);
  // Each round goes on from what was kept, so that a call may end far from its seed.
  const uint32_t rounds = in.below(6);
  int tries = 0;
  for (uint32_t round = 0; round < rounds; ++round) {
    for (; tries < kMostTries; ++tries) {
      Draft draft = kept;
      Changes changes(context, seeds, draft, in);
      for (uint32_t n = 1 + in.below(3); n > 0; --n) changes.one();
      if (!is_well_typed(context, draft)) continue;
      kept = std::move(draft);
      break;
    }
  }
  return kept;
}

}  // namespace relay::sweep
