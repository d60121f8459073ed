#include "tools/test_files/literal.h"

#include <cctype>
#include <cmath>
#include <cstdlib>
#include <limits>

namespace relay::tools {
namespace {

// Lists in lists: reading them is recursive.
constexpr int kDeepest = 500;

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  [[noreturn]] void fail(const std::string& what) const {
    throw Malformed("in `" + std::string(text_) + "` at " + std::to_string(at_) + ": " + what);
  }
  void skip() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_]))) ++at_;
  }
  bool done() {
    skip();
    return at_ >= text_.size();
  }
  bool take(std::string_view token) {
    skip();
    if (!text_.substr(at_).starts_with(token)) return false;
    at_ += token.size();
    return true;
  }
  void need(std::string_view token) {
    if (!take(token)) fail("expected `" + std::string(token) + "`");
  }
  std::string word() {
    skip();
    const size_t begin = at_;
    while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) || text_[at_] == '_' ||
                                  text_[at_] == '.' || text_[at_] == '+' || text_[at_] == '-')) {
      ++at_;
    }
    if (begin == at_) fail("expected a value");
    return std::string(text_.substr(begin, at_ - begin));
  }
  std::string quoted() {
    need("\"");
    const size_t end = text_.find('"', at_);
    if (end == std::string_view::npos) fail("expected a closing quote");
    std::string out(text_.substr(at_, end - at_));
    at_ = end + 1;
    return out;
  }

  std::vector<Literal> items(std::string_view close) {
    if (++depth_ > kDeepest) fail("values are nested more than " + std::to_string(kDeepest) + " deep");
    std::vector<Literal> out;
    while (!take(close)) {
      out.push_back(value());
      if (!take(",")) {
        need(close);
        break;
      }
    }
    --depth_;
    return out;
  }

  Literal value() {
    Literal v;
    if (take("[")) {
      v.kind = Literal::Kind::kList;
      v.items = items("]");
      return v;
    }
    if (take("(")) {
      v.kind = Literal::Kind::kTuple;
      v.items = items(")");
      return v;
    }
    v.text = word();
    const bool name = std::isalpha(static_cast<unsigned char>(v.text[0])) && v.text != "True" &&
                      v.text != "False" && v.text != "nan" && v.text != "inf";
    if (v.text == "random") {
      v.kind = Literal::Kind::kRandom;
      need("(");
      need("seed");
      need("=");
      v.seed = std::strtoull(word().c_str(), nullptr, 10);
      if (take(",")) {
        need("n");
        need("=");
        v.repeats = std::strtoull(word().c_str(), nullptr, 10);
      }
      need(")");
    } else if (name) {
      v.kind = Literal::Kind::kName;
      if (take("(")) v.items = items(")");
    }
    return v;
  }

 private:
  std::string_view text_;
  size_t at_ = 0;
  int depth_ = 0;
};

[[noreturn]] void misfit(const std::string& what, Type type) {
  throw Malformed("the value does not fit " + show(type) + ": " + what);
}

// Collects the elements of nested lists and their shape.
void gather(const Literal& v, size_t depth, Shape& shape, std::vector<const Literal*>& out, Type type) {
  if (v.kind != Literal::Kind::kList) {
    if (v.kind != Literal::Kind::kNumber) misfit("expected numbers", type);
    if (depth < shape.size()) misfit("lists are nested unevenly", type);
    out.push_back(&v);
    return;
  }
  const auto extent = static_cast<int64_t>(v.items.size());
  if (depth == shape.size()) {
    if (!out.empty()) misfit("lists are nested unevenly", type);
    shape.push_back(extent);
  } else if (shape[depth] != extent) {
    misfit("lists have different lengths", type);
  }
  for (const Literal& item : v.items) gather(item, depth + 1, shape, out, type);
}

double number(const std::string& text, Type type) {
  if (text == "True") return 1;
  if (text == "False") return 0;
  char* end = nullptr;
  const double v = std::strtod(text.c_str(), &end);
  if (end != text.c_str() + text.size()) misfit("`" + text + "` is not a number", type);
  return v;
}

// Small whole numbers and halves: most sums and products of them are exact.
Tensor random_tensor(uint64_t seed, const TensorType& type) {
  const auto shape = type.static_shape();
  if (!shape) misfit("random() needs a constant shape", &type);
  Tensor t(type.dtype, *shape);
  uint64_t state = seed * 0x9e3779b97f4a7c15ull + 0x632be59bd9b4e019ull;
  for (int64_t i = 0; i < t.size(); ++i) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    const auto low = static_cast<int64_t>(state >> 33) % 17 - 8;
    if (t.dtype().is_float()) {
      t.set(i, static_cast<double>(low) / 2);
    } else if (t.dtype().is_bool()) {
      t.set_int(i, low > 0);
    } else {
      t.set_int(i, t.dtype().is_unsigned_int() ? low + 8 : low);
    }
  }
  return t;
}

Value tensor_of(const Literal& literal, const TensorType& type) {
  if (literal.kind == Literal::Kind::kRandom) return Value(random_tensor(literal.seed, type));
  Shape shape;
  std::vector<const Literal*> elements;
  gather(literal, 0, shape, elements, &type);
  // [] of a type such as (0, 3): the literal cannot say the inner extents, the type does.
  if (elements.empty() && shape.size() < type.rank()) {
    for (size_t i = shape.size(); i < type.rank(); ++i)
      shape.push_back(type.dims[i].is_const() ? type.dims[i].value() : 0);
  }
  Tensor t(type.dtype, shape);
  for (size_t i = 0; i < elements.size(); ++i) {
    const std::string& text = elements[i]->text;
    const auto at = static_cast<int64_t>(i);
    const bool whole = text.find_first_not_of("-0123456789") == std::string::npos;
    if (type.dtype.is_int() && whole) {
      t.set_int(at, text[0] == '-' ? std::strtoll(text.c_str(), nullptr, 10)
                                   : static_cast<int64_t>(std::strtoull(text.c_str(), nullptr, 10)));
    } else {
      t.set(at, number(text, &type));
    }
  }
  return Value(t);
}

// The type of a constructor's field, with the arguments of the data type for its parameters.
Type applied(Type field, const DataTypeDef& def, const DataType& data, Context& context) {
  if (!field->has_type_var) return field;
  for (size_t p = 0; p < def.params.size(); ++p) {
    if (field == def.params[p]) return data.args[p];
  }
  std::vector<Type> parts;
  for_each_part(field, [&](Type part) { parts.push_back(applied(part, def, data, context)); });
  if (const auto* inner = field->as<DataType>()) return context.data_type(inner->name.text(), parts);
  if (field->as<TupleType>()) return context.tuple_type(parts);
  misfit("tests have no literals for a field of this type", field);
}

}  // namespace

CallLine parse_call(std::string_view line) {
  Reader r(line);
  CallLine call;
  r.need("@");
  call.function = r.word();
  r.need("(");
  call.args = r.items(")");
  for (const char* word : {"==", "~", "agrees", "traps", "rejected", "exhausts"}) {
    if (!r.take(word)) continue;
    call.assertion = word;
    break;
  }
  if (call.assertion.empty()) r.fail("expected ==, ~, agrees, traps, rejected or exhausts");
  if (call.assertion == "==" || call.assertion == "~") {
    call.expected = r.value();
    if (r.take("within")) {
      const std::string bound = r.word();
      char* end = nullptr;
      call.tolerance = std::strtod(bound.c_str(), &end);
      if (bound.empty() || *end != '\0') r.fail("expected a number after `within`");
    }
  } else if (call.assertion != "agrees") {
    call.message = r.quoted();
  }
  if (!r.done()) r.fail("unexpected text after the call");
  return call;
}

Value value_of(const Literal& literal, Type type, const Module& m) {
  if (const auto* tensor = type->as<TensorType>()) return tensor_of(literal, *tensor);
  if (const auto* tuple = type->as<TupleType>()) {
    if (literal.kind != Literal::Kind::kTuple || literal.items.size() != tuple->fields.size()) {
      misfit("expected a tuple of " + std::to_string(tuple->fields.size()), type);
    }
    std::vector<Value> fields;
    for (size_t i = 0; i < tuple->fields.size(); ++i)
      fields.push_back(value_of(literal.items[i], tuple->fields[i], m));
    return Value::tuple(std::move(fields));
  }
  const auto* data = type->as<DataType>();
  if (!data || literal.kind != Literal::Kind::kName) misfit("expected a constructor", type);
  const Constructor* ctor = m.constructor(literal.text);
  if (!ctor || !(ctor->data_type == data->name))
    misfit("`" + literal.text + "` is not one of its constructors", type);
  if (ctor->fields.size() != literal.items.size()) misfit("wrong number of fields", type);
  const DataTypeDef* def = m.data_type(data->name.text());
  std::vector<Value> fields;
  for (size_t i = 0; i < ctor->fields.size(); ++i) {
    fields.push_back(value_of(literal.items[i], applied(ctor->fields[i], *def, *data, m.context()), m));
  }
  return Value::data(ctor, std::move(fields));
}

}  // namespace relay::tools
