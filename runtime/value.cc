#include "runtime/value.h"

namespace relay {

Value::Value(Tensor tensor)
    : node_(new Node{.kind = ValueKind::kTensor, .tensor = std::move(tensor), .fields = {}}) {}

Value Value::make(ValueKind kind, const void* code, std::vector<Value> fields) {
  return Value(new Node{.kind = kind, .code = code, .tensor = {}, .fields = std::move(fields)});
}

Value Value::tuple(std::vector<Value> fields) { return make(ValueKind::kTuple, nullptr, std::move(fields)); }
Value Value::data(const void* constructor, std::vector<Value> fields) {
  return make(ValueKind::kData, constructor, std::move(fields));
}
Value Value::closure(const void* function, std::vector<Value> captured) {
  return make(ValueKind::kClosure, function, std::move(captured));
}
Value Value::callable(const void* code) { return make(ValueKind::kCallable, code, {}); }
Value Value::cell(Value contents) {
  std::vector<Value> fields;
  fields.push_back(std::move(contents));
  return make(ValueKind::kCell, nullptr, std::move(fields));
}

void Value::write(Value contents) const { node_->fields[0] = std::move(contents); }

// Dead nodes form a chain through `code`, which nobody asks them for any more: values may nest as
// deep as memory allows, and there may be no memory left.
void Value::release(Node* node) noexcept {
  const auto drop = [](Node* n) { return n && n->references.fetch_sub(1, std::memory_order_acq_rel) == 1; };
  if (!drop(node)) return;
  node->code = nullptr;
  for (Node* dead = node; dead != nullptr;) {
    Node* n = dead;
    dead = static_cast<Node*>(const_cast<void*>(n->code));
    for (Value& field : n->fields) {
      Node* child = std::exchange(field.node_, nullptr);
      if (!drop(child)) continue;
      child->code = dead;
      dead = child;
    }
    delete n;
  }
}

}  // namespace relay
