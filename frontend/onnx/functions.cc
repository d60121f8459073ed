#include "frontend/onnx/functions.h"

#include <google/protobuf/unknown_field_set.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "base/cat.h"
#include "frontend/data/onnx_tensor.h"
#include "frontend/onnx/names.h"

namespace relay::frontend {
namespace {

// Fields that are newer than the installed headers of ONNX.
constexpr int kNodeOverload = 8, kFunctionAttributes = 11, kFunctionOverload = 13;

std::string own_domain(const std::string& domain) { return domain == "ai.onnx" ? "" : domain; }

template <class F>
void for_each_unknown(const google::protobuf::Message& message, int number, F&& f) {
  const google::protobuf::UnknownFieldSet& fields = message.GetReflection()->GetUnknownFields(message);
  for (int i = 0; i < fields.field_count(); ++i) {
    const google::protobuf::UnknownField& field = fields.field(i);
    if (field.number() == number && field.type() == google::protobuf::UnknownField::TYPE_LENGTH_DELIMITED)
      f(field.length_delimited());
  }
}

// Returns the last such field, as a text; nothing of it is an empty text.
std::string unknown_text(const google::protobuf::Message& message, int number) {
  std::string out;
  for_each_unknown(message, number, [&](const std::string& bytes) { out = bytes; });
  return out;
}

// Lengths come first, so that no two triples of names have one key.
std::string key_of(const std::string& domain, const std::string& name, const std::string& overload) {
  const std::string own = own_domain(domain);
  return cat(own.size(), ":", own, name.size(), ":", name, overload);
}

std::string key_of(const ::onnx::FunctionProto& f) {
  return key_of(f.domain(), f.name(), unknown_text(f, kFunctionOverload));
}

// All nodes, also those of graphs within nodes.
template <class Nodes>
std::vector<const ::onnx::NodeProto*> all_nodes(const Nodes& nodes) {
  std::vector<const ::onnx::NodeProto*> out, pending;
  const auto add = [&](const auto& more) {
    for (const ::onnx::NodeProto& n : more) pending.push_back(&n);
  };
  add(nodes);
  while (!pending.empty()) {
    const ::onnx::NodeProto* n = pending.back();
    pending.pop_back();
    out.push_back(n);
    for (const ::onnx::AttributeProto& a : n->attribute()) {
      if (a.has_g()) add(a.g().node());
      for (const ::onnx::GraphProto& g : a.graphs()) add(g.node());
    }
  }
  return out;
}

}  // namespace

Opsets opsets_of(const google::protobuf::RepeatedPtrField<::onnx::OperatorSetIdProto>& imports) {
  Opsets out;
  for (const ::onnx::OperatorSetIdProto& set : imports) {
    const auto [it, fresh] = out.emplace(own_domain(set.domain()), set.version());
    if (!fresh) it->second = std::max(it->second, set.version());
  }
  return out;
}

int64_t opset_in(const Opsets& opsets, const ::onnx::NodeProto& node) {
  const auto it = opsets.find(own_domain(node.domain()));
  return it == opsets.end() ? 0 : it->second;
}

std::string show_name(const ::onnx::FunctionProto& f) {
  const std::string overload = unknown_text(f, kFunctionOverload);
  return printable(
      cat(f.domain(), f.domain().empty() ? "" : ".", f.name(), overload.empty() ? "" : ":", overload));
}

const ModelFunction* ModelFunctions::find(const ::onnx::NodeProto& node) const {
  if (functions_.empty()) return nullptr;
  const auto it = functions_.find(key_of(node.domain(), node.op_type(), unknown_text(node, kNodeOverload)));
  return it == functions_.end() ? nullptr : &it->second;
}

bool ModelFunctions::read(const ::onnx::ModelProto& model, const Opsets& opsets, const std::string& name,
                          Diagnostics& diagnostics) {
  bool ok = true;
  const auto refuse = [&](Slug slug, std::string why) -> Diagnostic& {
    ok = false;
    return diagnostics.error(Span::none(), slug, cat("`", name, "`: ", why));
  };
  for (const ::onnx::FunctionProto& f : model.functions()) {
    ModelFunction made{.proto = &f};
    made.opsets = opsets_of(f.opset_import());
    *made.body.mutable_node() = f.node();
    for (const std::string& o : f.output()) made.body.add_output()->set_name(o);
    // Only those that its nodes need: functions times sets may be very many.
    for (const ::onnx::NodeProto* node : all_nodes(f.node())) {
      const auto it = opsets.find(own_domain(node->domain()));
      if (it != opsets.end()) made.opsets.insert(*it);
    }
    for_each_unknown(f, kFunctionAttributes, [&](const std::string& bytes) {
      ::onnx::AttributeProto a;
      if (std::string wrong = data::parse_message(bytes, a); !wrong.empty()) {
        refuse("onnx-malformed", cat("an attribute of its function `", show_name(f), "`: ", wrong));
      }
      made.defaults.push_back(std::move(a));
    });
    if (f.name().empty()) refuse("onnx-invalid", "one of its functions has no name");
    if (!functions_.emplace(key_of(f), std::move(made)).second)
      refuse("onnx-redefined-value", cat("there are two functions called `", show_name(f), "`"));
  }
  return ok && check_calls(model, name, diagnostics);
}

bool ModelFunctions::check_calls(const ::onnx::ModelProto& model, const std::string& name,
                                 Diagnostics& diagnostics) {
  if (functions_.empty()) return true;
  const auto callees = [&](const auto& nodes) {
    std::vector<const ModelFunction*> out;
    std::unordered_set<const ModelFunction*> seen;
    for (const ::onnx::NodeProto* n : all_nodes(nodes)) {
      const ModelFunction* f = find(*n);
      if (f && seen.insert(f).second) out.push_back(f);
    }
    return out;
  };
  // A walk in depth: a function that is reached again while its own calls are
  // followed calls itself.
  struct Open {
    const ModelFunction* function;
    std::vector<const ModelFunction*> callees;
  };
  enum class State { kOpen, kDone };
  std::unordered_map<const ModelFunction*, State> states;
  std::vector<Open> open{{nullptr, callees(model.graph().node())}};
  while (!open.empty()) {
    if (open.back().callees.empty()) {
      if (open.back().function) states[open.back().function] = State::kDone;
      open.pop_back();
      continue;
    }
    const ModelFunction* next = open.back().callees.back();
    open.back().callees.pop_back();
    const auto [it, fresh] = states.emplace(next, State::kOpen);
    if (!fresh && it->second == State::kDone) continue;
    if (!fresh) {
      diagnostics
          .error(Span::none(), "onnx-invalid",
                 cat("`", name, "`: its function `", show_name(*next->proto), "` calls itself",
                     open.back().function == next
                         ? ""
                         : cat(", through `", show_name(*open.back().function->proto), "`")))
          .note("a function of a model stands for its body: write what repeats as a `Loop`");
      return false;
    }
    open.push_back({next, callees(next->body.node())});
  }
  for (const ::onnx::FunctionProto& f : model.functions()) {
    const ModelFunction* function = &functions_.at(key_of(f));
    if (states.contains(function)) called_.push_back(function);
  }
  return true;
}

const ::onnx::AttributeProto* FunctionCall::attribute(std::string_view name) const {
  for (const ::onnx::AttributeProto& a : node->attribute()) {
    if (a.name() == name) return &a;
  }
  for (const ::onnx::AttributeProto& a : function->defaults) {
    if (a.name() == name) return &a;
  }
  return nullptr;
}

bool refers_to_attributes(const ::onnx::NodeProto& node) {
  return std::any_of(node.attribute().begin(), node.attribute().end(),
                     [](const ::onnx::AttributeProto& a) { return !a.ref_attr_name().empty(); });
}

::onnx::NodeProto with_attributes(const ::onnx::NodeProto& node, const FunctionCall& call) {
  ::onnx::NodeProto out = node;
  out.clear_attribute();
  for (const ::onnx::AttributeProto& a : node.attribute()) {
    const bool refers = !a.ref_attr_name().empty();
    const ::onnx::AttributeProto* value = refers ? call.attribute(a.ref_attr_name()) : &a;
    if (!value) continue;
    ::onnx::AttributeProto& made = *out.add_attribute();
    made = *value;
    made.set_name(a.name());
  }
  return out;
}

}  // namespace relay::frontend
