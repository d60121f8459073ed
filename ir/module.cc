#include "ir/module.h"

namespace relay {
namespace {

template <class Map>
typename Map::mapped_type find(const Map& map, std::string_view name) {
  auto it = map.find(name);
  return it == map.end() ? nullptr : it->second;
}

// False if the entry was there already: a module that did not change stays the same one.
template <class Map>
bool holds(const Map& map, std::string_view name, typename Map::mapped_type item) {
  return item && find(map, name) == item;
}

}  // namespace

const Fn* Module::function(std::string_view name) const { return find(contents_->functions, name); }
const kernel::Kernel* Module::kernel(std::string_view name) const { return find(contents_->kernels, name); }
const DataTypeDef* Module::data_type(std::string_view name) const {
  return find(contents_->data_types, name);
}
const Constructor* Module::constructor(std::string_view name) const { return find(contents_->ctors, name); }

Module::Contents& Module::own() {
  if (contents_.use_count() > 1) contents_ = std::make_shared<Contents>(*contents_);
  return *contents_;
}

void Module::set_function(std::string_view name, const Fn* fn) {
  if (holds(contents_->functions, name, fn)) return;
  const Symbol symbol = context_->symbol(name);
  Contents& c = own();
  c.kernels.erase(symbol);
  c.functions[symbol] = fn;
}

void Module::set_kernel(std::string_view name, const kernel::Kernel* kernel) {
  if (holds(contents_->kernels, name, kernel)) return;
  const Symbol symbol = context_->symbol(name);
  Contents& c = own();
  c.functions.erase(symbol);
  c.kernels[symbol] = kernel;
}

void Module::set_data_type(const DataTypeDef* def) {
  if (holds(contents_->data_types, def->name.text(), def)) return;
  Contents& c = own();
  const DataTypeDef*& entry = c.data_types[def->name];
  if (entry) {
    for (const Constructor* ctor : entry->ctors) {
      auto it = c.ctors.find(ctor->name);
      if (it != c.ctors.end() && it->second == ctor) c.ctors.erase(it);
    }
  }
  entry = def;
  for (const Constructor* ctor : def->ctors) c.ctors[ctor->name] = ctor;
}

void Module::remove_function(std::string_view name) {
  if (!function(name)) return;
  Contents& c = own();
  c.functions.erase(c.functions.find(name));
}

bool Module::same(const Module& other) const {
  if (context_ != other.context_) return false;
  if (contents_ == other.contents_) return true;
  return contents_->functions == other.contents_->functions &&
         contents_->kernels == other.contents_->kernels &&
         contents_->data_types == other.contents_->data_types;
}

}  // namespace relay
