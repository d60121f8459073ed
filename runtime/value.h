// Value: what an expression evaluates to.
//
// Reference counted and immutable but for the contents of reference cells. Released
// iteratively, so a list of a million cells does not overflow the stack. Cycles through
// reference cells are not collected.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>
#include <vector>

#include "runtime/tensor.h"

namespace relay {

enum class ValueKind : uint8_t {
  kTensor,    // a tensor
  kTuple,     // fields
  kData,      // a constructor of an algebraic data type applied to fields; `code` is the constructor
  kClosure,   // `code` is the function, fields are the values of its free variables
  kCallable,  // an operator, a global function or an unapplied constructor; `code` says which
  kCell,      // a mutable reference; field 0 is its contents
};

class Value {
 public:
  Value() = default;
  Value(Tensor tensor);
  static Value tuple(std::vector<Value> fields);
  static Value data(const void* constructor, std::vector<Value> fields);
  static Value closure(const void* function, std::vector<Value> captured);
  static Value callable(const void* code);
  static Value cell(Value contents);

  Value(const Value& other) : node_(other.node_) { retain(); }
  Value(Value&& other) noexcept : node_(std::exchange(other.node_, nullptr)) {}
  Value& operator=(Value other) noexcept {
    std::swap(node_, other.node_);
    return *this;
  }
  ~Value() { release(node_); }

  explicit operator bool() const { return node_ != nullptr; }
  ValueKind kind() const { return node_->kind; }
  bool is_tensor() const { return node_ && node_->kind == ValueKind::kTensor; }
  const Tensor& tensor() const { return node_->tensor; }
  const std::vector<Value>& fields() const { return node_->fields; }
  const void* code() const { return node_->code; }

  // Identity: the same cell, the same closure.
  bool same(const Value& other) const { return node_ == other.node_; }

  const Value& contents() const { return node_->fields[0]; }  // of a cell
  void write(Value contents) const;                           // into a cell

 private:
  struct Node {
    std::atomic<uint32_t> references{1};
    ValueKind kind;
    const void* code = nullptr;
    Tensor tensor;
    std::vector<Value> fields;
  };
  explicit Value(Node* node) : node_(node) {}
  static Value make(ValueKind kind, const void* code, std::vector<Value> fields);
  void retain() const {
    if (node_) node_->references.fetch_add(1, std::memory_order_relaxed);
  }
  static void release(Node* node) noexcept;

  Node* node_ = nullptr;
};

}  // namespace relay
