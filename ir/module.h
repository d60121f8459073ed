// Module: functions, kernels and data types that belong together.
//
// A value: copying is cheap (the contents are shared until one of the copies changes), and every
// pass returns a new one. Order of everything is by name, so that output is deterministic.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "base/fields.h"
#include "ir/context.h"
#include "ir/expr.h"
#include "kernel/kernel.h"

namespace relay {

// One constructor of a data type.
struct Constructor {
  Symbol name;
  Symbol data_type;   // the data type it belongs to
  uint32_t tag;       // its place among the constructors
  List<Type> fields;  // over the data type's parameters
  Span span;
  static constexpr auto kFields = FieldList<&Constructor::name, &Constructor::data_type, &Constructor::tag,
                                            &Constructor::fields, &Constructor::span>{};
};

// type Name[params] { Ctor(fields), ... }. An extern type has no constructors and says so.
struct DataTypeDef {
  Symbol name;
  List<const TypeVar*> params;
  List<const Constructor*> ctors;
  bool is_extern = false;
  Span span = {};
  static constexpr auto kFields = FieldList<&DataTypeDef::name, &DataTypeDef::params, &DataTypeDef::ctors,
                                            &DataTypeDef::is_extern, &DataTypeDef::span>{};
};
static_assert(lists_all_fields<Constructor> && lists_all_fields<DataTypeDef>);

class Module {
 public:
  Module() : context_(std::make_shared<Context>()), contents_(std::make_shared<Contents>()) {}

  Context& context() const { return *context_; }
  const std::shared_ptr<Context>& shared_context() const { return context_; }

  // Alphabetical; a text finds an entry without becoming a symbol, so that looking writes nothing.
  struct ByName {
    using is_transparent = void;
    bool operator()(Symbol a, Symbol b) const { return a.text() < b.text(); }
    bool operator()(Symbol a, std::string_view b) const { return a.text() < b; }
    bool operator()(std::string_view a, Symbol b) const { return a < b.text(); }
  };
  using Functions = std::map<Symbol, const Fn*, ByName>;
  using Kernels = std::map<Symbol, const kernel::Kernel*, ByName>;
  using DataTypes = std::map<Symbol, const DataTypeDef*, ByName>;
  const Functions& functions() const { return contents_->functions; }
  const Kernels& kernels() const { return contents_->kernels; }
  const DataTypes& data_types() const { return contents_->data_types; }

  const Fn* function(std::string_view name) const;  // null if there is none
  const kernel::Kernel* kernel(std::string_view name) const;
  const DataTypeDef* data_type(std::string_view name) const;
  const Constructor* constructor(std::string_view name) const;  // constructors share one flat name space

  // Add or replace. A function and a kernel cannot have the same name: the later one
  // replaces the other.
  void set_function(std::string_view name, const Fn* fn);
  void set_kernel(std::string_view name, const kernel::Kernel* kernel);
  void set_data_type(const DataTypeDef* def);
  void remove_function(std::string_view name);

  // True if both hold the same pointers: what a pass that did nothing must return.
  bool same(const Module& other) const;

 private:
  struct Contents {
    Functions functions;
    Kernels kernels;
    DataTypes data_types;
    std::map<Symbol, const Constructor*, ByName> ctors;
  };
  Contents& own();  // for writing: copies what others share

  std::shared_ptr<Context> context_;
  std::shared_ptr<Contents> contents_;
};

// A copy of what is live, in a new context, without the garbage of earlier passes.
Module compact(const Module& m);

}  // namespace relay
