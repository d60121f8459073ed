// Interning: one pointer for equal types and equal attributes of a context.
//
// Hashes are made of ids and texts, never of addresses, so that nothing can come to depend on
// where memory lies.
#include "ir/context.h"

#include <algorithm>
#include <bit>

#include "base/cat.h"

namespace relay {
namespace {

uint64_t mix(uint64_t h, uint64_t v) { return (h ^ v) * 0x9e3779b97f4a7c15ull + (h << 6) + (h >> 2); }

uint64_t hash_of(std::string_view text) {
  uint64_t h = 0xcbf29ce484222325ull;
  for (char c : text) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3ull;
  return h;
}

uint64_t hash_of(Dim d) {
  if (d.is_symbolic()) return mix(1, d.symbolic()->id);
  return d.is_const() ? mix(2, static_cast<uint64_t>(d.value())) : 3;
}

uint64_t hash_of(TypeKind kind, std::span<const Type> parts) {
  uint64_t h = mix(static_cast<uint64_t>(kind), parts.size());
  for (Type t : parts) h = mix(h, t->id);
  return h;
}

bool equal(std::span<const Type> a, std::span<const Type> b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end());
}

uint64_t hash_of_head(const AttrValue& v) {
  const uint64_t h = static_cast<uint64_t>(v.kind);
  switch (v.kind) {
    case AttrKind::kNone: return h;
    case AttrKind::kBool: return mix(h, v.boolean);
    case AttrKind::kInt: return mix(h, static_cast<uint64_t>(v.integer));
    case AttrKind::kFloat: return mix(h, std::bit_cast<uint64_t>(v.real));
    case AttrKind::kString: return mix(h, hash_of(v.string.text()));
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

void inherit(TypeNode& t, Type part) {
  CHECK(part != nullptr, "a type is made of parts that are not null");
  t.has_hole |= part->has_hole;
  t.has_type_var |= part->has_type_var;
  t.has_symbolic_dim |= part->has_symbolic_dim;
}

}  // namespace

template <class T, class Same, class Keep>
const T* Context::intern_type(uint64_t hash, T proto, Same&& same, Keep&& keep) {
  for (auto [it, end] = types_.equal_range(hash); it != end; ++it) {
    const T* known = it->second->template as<T>();
    if (known && same(*known)) return known;
  }
  keep(proto);
  proto.kind = T::kKind;
  proto.id = next_type_++;
  const T* made = arena_.make<T>(proto);
  types_.emplace(hash, made);
  return made;
}

const TensorType* Context::tensor_type(std::span<const Dim> dims, DType dtype) {
  uint64_t h = mix(static_cast<uint64_t>(TypeKind::kTensor),
                   (uint64_t{static_cast<uint8_t>(dtype.code)} << 8) | dtype.bits);
  TensorType proto{};
  proto.dtype = dtype;
  for (Dim d : dims) {
    h = mix(h, hash_of(d));
    proto.has_symbolic_dim |= d.is_symbolic();
  }
  return intern_type(
      h, proto,
      [&](const TensorType& t) {
        return t.dtype == dtype && std::equal(t.dims.begin(), t.dims.end(), dims.begin(), dims.end());
      },
      [&](TensorType& t) { t.dims = arena_.list(dims); });
}

const TensorType* Context::tensor_type(const Shape& shape, DType dtype) {
  const std::vector<Dim> dims(shape.begin(), shape.end());
  return tensor_type(std::span<const Dim>(dims), dtype);
}

const TupleType* Context::tuple_type(std::span<const Type> fields) {
  TupleType proto{};
  for (Type t : fields) inherit(proto, t);
  return intern_type(
      hash_of(TypeKind::kTuple, fields), proto, [&](const TupleType& t) { return equal(t.fields, fields); },
      [&](TupleType& t) { t.fields = arena_.list(fields); });
}

const FnType* Context::fn_type(std::span<const TypeVar* const> type_params, std::span<const Type> args,
                               Type result, std::span<const Type> where) {
  FnType proto{};
  proto.result = result;
  for (const TypeVar* v : type_params) inherit(proto, v);
  for (Type t : where) inherit(proto, t);
  for (Type t : args) inherit(proto, t);
  inherit(proto, result);
  uint64_t h = mix(hash_of(TypeKind::kFn, args), result->id);
  for (const TypeVar* v : type_params) h = mix(h, v->id);
  for (Type t : where) h = mix(h, t->id);
  return intern_type(
      h, proto,
      [&](const FnType& t) {
        return t.result == result && equal(t.args, args) && equal(t.where, where) &&
               std::equal(t.type_params.begin(), t.type_params.end(), type_params.begin(), type_params.end());
      },
      [&](FnType& t) {
        t.type_params = arena_.list(std::span<const TypeVar* const>(type_params));
        t.where = arena_.list(where);
        t.args = arena_.list(args);
      });
}

const RefType* Context::ref_type(Type contents) {
  RefType proto{};
  proto.contents = contents;
  inherit(proto, contents);
  return intern_type(
      hash_of(TypeKind::kRef, {&contents, 1}), proto,
      [&](const RefType& t) { return t.contents == contents; }, [](RefType&) {});
}

const TypeVar* Context::type_var(std::string_view name) {
  TypeVar proto{};
  proto.name = symbol(name);
  proto.has_type_var = true;
  return intern_type(
      mix(static_cast<uint64_t>(TypeKind::kVar), hash_of(name)), proto,
      [&](const TypeVar& t) { return t.name == name; }, [](TypeVar&) {});
}

const DataType* Context::data_type(std::string_view name, std::span<const Type> args) {
  DataType proto{};
  proto.name = symbol(name);
  for (Type t : args) inherit(proto, t);
  return intern_type(
      mix(hash_of(TypeKind::kData, args), hash_of(name)), proto,
      [&](const DataType& t) { return t.name == name && equal(t.args, args); },
      [&](DataType& t) { t.args = arena_.list(args); });
}

const RelationType* Context::relation_type(std::string_view name, std::span<const Type> parts,
                                           const Attrs& attrs) {
  RelationType proto{};
  proto.name = symbol(name);
  proto.attrs = attrs;
  for (Type t : parts) inherit(proto, t);
  return intern_type(
      mix(hash_of(TypeKind::kRelation, parts), hash_of(name)), proto,
      [&](const RelationType& t) { return t.name == name && t.attrs == attrs && equal(t.parts, parts); },
      [&](RelationType& t) { t.parts = arena_.list(parts); });
}

Type Context::with_parts(Type t, std::span<const Type> parts) {
  switch (t->kind) {
    case TypeKind::kTuple: return tuple_type(parts);
    case TypeKind::kFn: {
      const auto* fn = t->as<FnType>();
      return fn_type(fn->type_params, parts.subspan(fn->where.size(), fn->args.size()), parts.back(),
                     parts.first(fn->where.size()));
    }
    case TypeKind::kRelation:
      return relation_type(t->as<RelationType>()->name.text(), parts, t->as<RelationType>()->attrs);
    case TypeKind::kRef: return ref_type(parts[0]);
    case TypeKind::kData: return data_type(t->as<DataType>()->name.text(), parts);
    case TypeKind::kTensor:
    case TypeKind::kVar:
    case TypeKind::kHole: break;
  }
  return t;
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
  uint64_t h = sorted.size();
  for (const Attr& a : sorted) h = mix(mix(h, hash_of(a.name.text())), hash_of(a.value));
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
