#include "passes/gradient/types.h"

#include <algorithm>

#include "ir/type_parts.h"

namespace relay::passes::gradient {

std::string_view suffix(Carried carried) { return carried == Carried::kAdjoint ? "_augmented" : "_forward"; }

CarriedTypes::CarriedTypes(const Program& program, Carried carried, Module& out)
    : context_(out.context()), carried_(carried) {
  const Module& m = program.module();
  // A data type changes if one that it is made of does.
  for (bool more = true; more;) {
    more = false;
    for (const auto& [name, def] : m.data_types()) {
      if (data_types_.contains(name) || !changes(*def)) continue;
      data_types_[name] = program.new_name(name.text(), suffix(carried));
      known_.clear();
      more = true;
    }
  }
  for (const auto& [name, changed] : data_types_) {
    DataTypeDef def = *m.data_type(name.text());
    def.name = context_.symbol(changed);
    std::vector<const Constructor*> ctors;
    for (const Constructor* c : def.ctors) {
      Constructor copy = *c;
      copy.name = context_.symbol(program.new_name(c->name.text(), suffix(carried)));
      copy.data_type = def.name;
      std::vector<Type> fields;
      for (Type t : c->fields) fields.push_back(of(t));
      copy.fields = context_.arena().list(fields);
      ctors.push_back(context_.arena().make<Constructor>(copy));
      ctors_[c] = ctors.back();
    }
    def.ctors = context_.arena().list(ctors);
    out.set_data_type(context_.arena().make<DataTypeDef>(def));
  }
}

bool CarriedTypes::changes(const DataTypeDef& def) {
  return std::any_of(def.ctors.begin(), def.ctors.end(), [&](const Constructor* c) {
    return std::any_of(c->fields.begin(), c->fields.end(), [&](Type t) { return of(t) != t; });
  });
}

const Constructor* CarriedTypes::ctor(const Constructor* c) const {
  const auto found = ctors_.find(c);
  return found == ctors_.end() ? c : found->second;
}

Type CarriedTypes::of(Type root) {
  return made_of_parts(root, known_, [&](Type t) { return of_parts(t); });
}

Type CarriedTypes::of_parts(Type t) {
  std::vector<Type> parts;
  for_each_part(t, [&](Type part) { parts.push_back(part ? known_.at(part) : part); });
  return match(
      t,
      [&](const TensorType& tensor) -> Type {
        if (!tensor.dtype.is_float()) return t;
        const std::vector<Type> fields{t, carried_ == Carried::kAdjoint ? context_.ref_type(t) : t};
        return context_.tuple_type(fields);
      },
      [&](const DataType& data) -> Type {
        const auto found = data_types_.find(data.name);
        return context_.data_type(found == data_types_.end() ? data.name.text() : found->second, parts);
      },
      [&](const OneOf<TypeVar, HoleType, RelationType> auto&) -> Type { return t; },
      [&](const OneOf<TupleType, FnType, RefType> auto&) -> Type { return context_.with_parts(t, parts); });
}

}  // namespace relay::passes::gradient
