// Interning: one pointer for equal types and equal attributes of a context.
//
// Hashes are made of ids and texts, never of addresses, so that nothing can come to depend on
// where memory lies.
#include "ir/context.h"

#include <algorithm>
#include <bit>

#include "base/cat.h"
#include "base/hash.h"

namespace relay {
namespace {

uint64_t hash_of(Symbol s) { return hash_text(s.text()); }

uint64_t hash_of(Dim d) {
  if (d.is_symbolic()) return mix(1, d.symbolic()->id);
  return d.is_const() ? mix(2, static_cast<uint64_t>(d.value())) : 3;
}

uint64_t hash_of_head(const AttrValue& v) {
  const uint64_t h = static_cast<uint64_t>(v.kind);
  switch (v.kind) {
    case AttrKind::kNone: return h;
    case AttrKind::kBool: return mix(h, v.boolean);
    case AttrKind::kInt: return mix(h, static_cast<uint64_t>(v.integer));
    case AttrKind::kFloat: return mix(h, std::bit_cast<uint64_t>(v.real));
    case AttrKind::kString: return mix(h, hash_of(v.string));
    case AttrKind::kDim: return mix(h, hash_of(v.dim));
    case AttrKind::kList: return mix(h, v.list.size());
  }
  return h;
}

// With all that is in its lists: the attributes of a thousand slices differ in nothing else.
uint64_t hash_of(const AttrValue& root) {
  uint64_t h = hash_of_head(root);
  if (root.list.empty()) return h;
  std::vector<const AttrValue*> pending{&root};
  while (!pending.empty()) {
    const AttrValue& v = *pending.back();
    pending.pop_back();
    for (const AttrValue& item : v.list) {
      h = mix(h, hash_of_head(item));
      if (!item.list.empty()) pending.push_back(&item);
    }
  }
  return h;
}

uint64_t hash_of(std::span<const Attr> attrs) {
  uint64_t h = attrs.size();
  for (const Attr& a : attrs) h = mix(mix(h, hash_of(a.name)), hash_of(a.value));
  return h;
}

// The fields of a type, by theirs: parts have numbers of their own.
uint64_t hash_of(DType d) { return (uint64_t{static_cast<uint8_t>(d.code)} << 8) | d.bits; }
uint64_t hash_of(Type part) { return part->id; }
uint64_t hash_of(const Attrs& attrs) { return hash_of(std::span(attrs.begin(), attrs.size())); }
template <class T>
uint64_t hash_of(const List<T>& list) {
  uint64_t h = list.size();
  for (const T& item : list) h = mix(h, hash_of(item));
  return h;
}

// What a type says of its parts.
void inherit(TypeNode& t, Type part) {
  CHECK(part != nullptr, "a type is made of parts that are not null");
  t.has_hole |= part->has_hole;
  t.has_type_var |= part->has_type_var;
  t.has_symbolic_dim |= part->has_symbolic_dim;
}
void inherit(TypeNode& t, Dim part) { t.has_symbolic_dim |= part.is_symbolic(); }
template <class T>
void inherit(TypeNode& t, const List<T>& parts) {
  for (const T& part : parts) inherit(t, part);
}
template <OneOf<DType, Symbol, Attrs> Field>
void inherit(TypeNode&, const Field&) {}

template <class T>
void own(Arena& arena, List<T>& list) {
  list = arena.list(std::span<const T>(list));
}
template <OneOf<Type, DType, Symbol, Attrs> Field>
void own(Arena&, Field&) {}

// A list that lives as long as the span.
template <class T>
List<T> list_of(std::span<const T> items) {
  return {items.data(), items.size()};
}

}  // namespace

template <class T>
const T* Context::type(T fields) {
  static_assert(is_among<T>(AllTypes{}), "a kind of type has to be in AllTypes");
  static_assert(!std::is_same_v<T, HoleType>, "each hole is a type of its own");
  fields.has_hole = fields.has_symbolic_dim = false;
  fields.has_type_var = std::is_same_v<T, TypeVar>;
  for_each_field(fields, [&](const auto& field) { inherit(fields, field); });
  uint64_t hash = static_cast<uint64_t>(T::kKind);
  for_each_field(fields, [&](const auto& field) { hash = mix(hash, hash_of(field)); });
  for (auto [it, end] = types_.equal_range(hash); it != end; ++it) {
    const T* known = it->second->template as<T>();
    const auto same = [&](auto... field) { return ((known->*field == fields.*field) && ...); };
    if (known && T::kFields(same)) return known;
  }
  for_each_field(fields, [&](auto& field) { own(arena_, field); });
  fields.kind = T::kKind;
  fields.id = next_type_++;
  const T* made = arena_.make<T>(fields);
  types_.emplace(hash, made);
  return made;
}
template const TensorType* Context::type(TensorType);
template const TupleType* Context::type(TupleType);
template const FnType* Context::type(FnType);
template const RefType* Context::type(RefType);
template const TypeVar* Context::type(TypeVar);
template const DataType* Context::type(DataType);
template const RelationType* Context::type(RelationType);

const TensorType* Context::tensor_type(std::span<const Dim> dims, DType dtype) {
  TensorType t{};
  t.dims = list_of(dims);
  t.dtype = dtype;
  return type(t);
}

const TensorType* Context::tensor_type(const Shape& shape, DType dtype) {
  const std::vector<Dim> dims(shape.begin(), shape.end());
  return tensor_type(std::span<const Dim>(dims), dtype);
}

const TupleType* Context::tuple_type(std::span<const Type> fields) {
  TupleType t{};
  t.fields = list_of(fields);
  return type(t);
}

const FnType* Context::fn_type(std::span<const TypeVar* const> type_params, std::span<const Type> args,
                               Type result, std::span<const Type> where) {
  FnType t{};
  t.type_params = list_of(type_params);
  t.where = list_of(where);
  t.args = list_of(args);
  t.result = result;
  return type(t);
}

const RefType* Context::ref_type(Type contents) {
  RefType t{};
  t.contents = contents;
  return type(t);
}

const TypeVar* Context::type_var(std::string_view name) {
  TypeVar t{};
  t.name = symbol(name);
  return type(t);
}

const DataType* Context::data_type(std::string_view name, std::span<const Type> args) {
  DataType t{};
  t.name = symbol(name);
  t.args = list_of(args);
  return type(t);
}

const RelationType* Context::relation_type(std::string_view name, std::span<const Type> parts,
                                           const Attrs& attrs) {
  RelationType t{};
  t.name = symbol(name);
  t.parts = list_of(parts);
  t.attrs = attrs;
  return type(t);
}

Type Context::with_parts(Type t, std::span<const Type> parts) {
  size_t next = 0;
  const Overload replace{
      [&](Type& field) { field = parts[next++]; },
      [&](List<Type>& field) {
        field = list_of(parts.subspan(next, field.size()));
        next += field.size();
      },
      []<OneOf<List<Dim>, DType, Symbol, List<const TypeVar*>, Attrs> Kept>(Kept&) {},
  };
  return match(
      t, [](const HoleType& hole) -> Type { return &hole; },
      [&](auto fields) -> Type {
        for_each_field(fields, replace);
        return type(fields);
      });
}

const HoleType* Context::hole_type() {
  HoleType proto{};
  proto.kind = TypeKind::kHole;
  proto.id = next_type_++;
  proto.has_hole = true;
  return arena_.make<HoleType>(proto);
}

Attrs Context::attrs(const std::vector<AttrArg>& args) {
  std::vector<Attr> items;
  for (const AttrArg& a : args) items.push_back({symbol(a.name), attr_value(a.value)});
  return intern_attrs(std::move(items));
}

Attrs Context::intern_attrs(std::vector<Attr> items) {
  std::stable_sort(items.begin(), items.end(), [](const Attr& a, const Attr& b) { return a.name < b.name; });
  // Of equal names the last one given stays.
  std::vector<Attr> sorted;
  for (const Attr& a : items) {
    if (!sorted.empty() && sorted.back().name == a.name) sorted.pop_back();
    sorted.push_back(a);
  }
  if (sorted.empty()) return {};
  const uint64_t h = hash_of(sorted);
  for (auto [it, end] = attrs_.equal_range(h); it != end; ++it) {
    if (std::equal(it->second->begin(), it->second->end(), sorted.begin(), sorted.end()))
      return Attrs(it->second);
  }
  const auto* list = arena_.make<List<Attr>>(arena_.list(sorted));
  attrs_.emplace(h, list);
  return Attrs(list);
}

AttrValue Context::attr_value(const decltype(AttrArg::value)& value) {
  const auto list = [&](const auto& items) {
    std::vector<AttrValue> values;
    for (const auto& item : items) values.push_back(attr_value(item));
    return attr_list(values);
  };
  return std::visit(
      [&](const auto& v) -> AttrValue {
        using V = std::decay_t<decltype(v)>;
        AttrValue out;
        if constexpr (std::is_same_v<V, bool>) {
          out.kind = AttrKind::kBool;
          out.boolean = v;
        } else if constexpr (std::is_same_v<V, int64_t>) {
          out.kind = AttrKind::kInt;
          out.integer = v;
        } else if constexpr (std::is_same_v<V, double>) {
          out.kind = AttrKind::kFloat;
          out.real = v;
        } else if constexpr (std::is_same_v<V, std::string>) {
          out.kind = AttrKind::kString;
          out.string = symbol(v);
        } else if constexpr (std::is_same_v<V, Dim>) {
          out.kind = v.is_const() ? AttrKind::kInt : AttrKind::kDim;
          if (v.is_const()) {
            out.integer = v.value();
          } else {
            out.dim = v;
          }
        } else if constexpr (std::is_same_v<V, DType>) {
          out.kind = AttrKind::kString;
          out.string = symbol(v.name());
        } else if constexpr (std::is_same_v<V, AttrValue>) {
          out = v;
        } else if constexpr (!std::is_same_v<V, NoAttr>) {
          out = list(v);
        }
        return out;
      },
      value);
}

AttrValue Context::attr_list(std::span<const AttrValue> items) {
  AttrValue out;
  out.kind = AttrKind::kList;
  out.list = arena_.list(items);
  return out;
}

const Tensor* Context::keep(Tensor tensor) { return &tensors_.emplace_back(std::move(tensor)); }

}  // namespace relay
