// Sequences and optional values.
//
// Where the length of a sequence is known while the model is imported, it is a list of operands,
// and nothing is left of it in the program. Where only a run knows the length, it is a value of the
// library's type `List`, whose elements have `?` for extents in which they differ. Optional values
// are likewise known, or of the type `Option`. Elements of sequences are tensors, and the value of
// an optional is a tensor or a sequence, so nothing here recurses deeper than that.
#pragma once

#include <deque>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "frontend/onnx/importer.h"

namespace relay::frontend {

// Is it no tensor?
bool is_composite(const Operand& o);
Operand sequence_of(std::vector<Operand> elements);
Operand optional_of(std::vector<Operand> value);  // of one, or of none

// A type that values of both types have, with `?` for extents in which they differ; null if there
// is none.
Type joined_type(Context& context, Type a, Type b);

// The type that the operand has as a value. Null for an empty sequence, whose elements could be
// anything, and for an optional without a value. Refuses elements that no type has in common.
Type value_type(Importer& importer, Operand& o);
// The expression with a type that has `?` where its own has extents. So what follows is typed by
// the wider one: an extent that the narrower has must not be checked against others.
Expr widened(Builder& b, Expr e, Type type);
// The operand as a value of exactly this type, which `value_type` gave for it, or `joined_type` of
// that and another one.
Expr as_value(Importer& importer, Operand& o, Type type);

// The results of two branches of which a run takes one, taken apart into tensors and values of data
// types. Sequences of one length are joined element by element.
class JoinedBranches {
 public:
  explicit JoinedBranches(Importer& importer) : importer_(importer) {}

  // Adds a value's parts. Returns false if those of the two branches have no type in common.
  bool add(const JoinedValue& value);
  const std::vector<JoinedValue>& values() const { return values_; }
  // Puts together what the node gives, of the joined parts in the same order.
  std::vector<Operand> rebuilt(std::vector<Operand> parts) const;

 private:
  struct Part {
    Operand::Form form;  // kTensor: the next of the parts
    size_t count;        // of the elements, which follow
  };
  bool take_apart(std::string_view name, Operand yes, Operand no);

  Importer& importer_;
  std::vector<Part> layout_;
  std::deque<Operand> operands_;  // `values_` points to them
  std::vector<JoinedValue> values_;
};

// Operators on sequences and optional values; and others, where an input is one.
bool is_composite_operator(std::string_view full_name, int64_t opset);
bool takes_composites(Node& n);
std::optional<std::vector<Operand>> convert_composites(Node& n);
// A `Loop` whose state is one.
std::optional<std::vector<Operand>> convert_loop_of_composites(Node& n);

// "SequenceAt", 11, and so on.
std::vector<std::pair<std::string_view, int64_t>> composite_operators();

}  // namespace relay::frontend
