#include "passes/new_constructors.h"

#include <algorithm>
#include <vector>

namespace relay::passes {

void NewConstructors::declare(Module& out, DataTypeDef def, const std::function<Type(Type)>& type) {
  bool changed = false;
  std::vector<const Constructor*> ctors;
  for (const Constructor* c : def.ctors) {
    std::vector<Type> fields;
    for (Type t : c->fields) fields.push_back(type(t));
    changed |= !std::equal(fields.begin(), fields.end(), c->fields.begin());
    Constructor copy = *c;
    copy.fields = context_.arena().list(fields);
    ctors.push_back(context_.arena().make<Constructor>(copy));
  }
  if (!changed) return;
  for (size_t i = 0; i < ctors.size(); ++i) now_[def.ctors[i]] = ctors[i];
  def.ctors = context_.arena().list(ctors);
  out.set_data_type(context_.arena().make<DataTypeDef>(def));
}

const Constructor* NewConstructors::of(const Constructor* c) const {
  const auto found = now_.find(c);
  return found == now_.end() ? c : found->second;
}

}  // namespace relay::passes
