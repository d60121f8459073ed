// Constants: numbers, tensors, constants by name, metadata.
#include "base/cat.h"
#include "ir/text/parser_impl.h"

namespace relay::text {
namespace {

constexpr size_t kMostBrackets = 64;

}  // namespace

const Constant* Parser::constant(Tensor value, std::string_view name, Span span) {
  Constant n{};
  n.span = span;
  n.type = module_.context().tensor_type(value.shape(), value.dtype());
  n.name = module_.context().symbol(name);
  n.value = module_.context().keep(std::move(value));
  return module_.context().node(n);
}

// The number that `token` is, as a tensor of rank 0.
std::optional<Tensor> Parser::scalar(const Token& token, bool negative, uint32_t begin) {
  const Span span = here_from(begin);
  const std::optional<Number> n = split_number(token.text, negative);
  if (!n || n->hex) {
    error(span, "malformed-number", cat("`", token.text, "` is not a number"));
    return std::nullopt;
  }
  const std::optional<DType> d = natural_dtype(*n);
  if (!d && !n->suffix.empty()) {
    error(span, "unknown-suffix", cat("`", n->suffix, "` is not the suffix of a number"))
        .note("suffixes are i8 i16 i32 i64, u8 u16 u32 u64, f16 f (float32) f64, bf16");
    return std::nullopt;
  }
  if (!d) {
    error(span, "missing-suffix",
          cat("`", token.text, "` needs a suffix that says which floating dtype it has"))
        .note(cat("`", token.text, "f` is a float32, `", token.text, "f64` a float64"));
    return std::nullopt;
  }
  Tensor t(*d, {});
  if (const auto wrong = store_number(*n, t, 0)) {
    error(span, wrong->slug, wrong->message);
    return std::nullopt;
  }
  return t;
}

Parser::State Parser::number_operand() {
  const uint32_t begin = peek().span.begin;
  bool negative = false;
  while (take("-")) negative = !negative;
  const Token t = peek();
  if (t.kind != TokenKind::kNumber && t.kind != TokenKind::kName) {
    expected("a number after `-`", "unary-minus",
             "expressions have no unary minus; `negative(...)` negates one");
    return State::kFailed;
  }
  if (t.kind == TokenKind::kName) {
    const std::optional<Number> n = t.quoted ? std::nullopt : split_number(t.text, negative);
    if (!n || !dtype_of_suffix(n->suffix)) {
      expected("a number after `-`", "unary-minus",
               "expressions have no unary minus; `negative(...)` negates one");
      return State::kFailed;
    }
  }
  next();
  std::optional<Tensor> v = scalar(t, negative, begin);
  if (!v) return value(poison_, begin);
  return value(constant(std::move(*v), {}, here_from(begin)), begin);
}

struct Parser::Elements {
  std::vector<std::pair<Token, bool>> all;  // and whether it is negative
  std::vector<int64_t> dims;                // of each level of brackets; -1 until its first list is closed
  bool ragged = false;
};

bool Parser::element_of_list(Elements& elements) {
  bool negative = false;
  while (take("-")) negative = !negative;
  if (peek().kind != TokenKind::kNumber && peek().kind != TokenKind::kName) {
    return expected("an element of the tensor", "expected-element");
  }
  elements.all.emplace_back(next(), negative);
  return true;
}

// tensor([[1, 2], [3, 4]], float32), or tensor([1, 2, 3, 4], float32, (2, 2)), or tensor(1, int8).
std::optional<Tensor> Parser::tensor_literal() {
  const Span word = next().span;
  if (!need("(", "after `tensor`")) return std::nullopt;
  Elements elements;
  if (!element_lists(elements, word)) return std::nullopt;
  if (!need(",", "between the elements and the dtype")) return std::nullopt;
  const std::optional<DType> d = dtype();
  if (!d) return std::nullopt;
  Shape shape = elements.dims;
  const bool flat = take(",") && !peek().is(")");
  if (flat && !shape_of_list(shape)) return std::nullopt;
  if (!need(")", "after `tensor(...`")) return std::nullopt;
  const Span span = here_from(word.begin);
  if (elements.ragged) {
    error(span, "ragged-tensor", "the lists of a tensor literal must all have the same lengths")
        .note("the elements may be listed flat, with the shape after the dtype");
    return std::nullopt;
  }
  const std::optional<int64_t> count = element_count(shape);
  if (!count || static_cast<uint64_t>(*count) != elements.all.size()) {
    error(span, "wrong-shape",
          cat("a tensor of shape ", show(shape), " does not have ", elements.all.size(), " elements"))
        .note(flat ? "the elements are listed row by row before the dtype" : "");
    return std::nullopt;
  }
  return tensor_of_elements(elements, *d, shape);
}

// The elements, in brackets or one alone. `word` is where the literal begins.
bool Parser::element_lists(Elements& elements, Span word) {
  std::vector<int64_t>& dims = elements.dims;
  std::vector<int64_t> counts;  // of the lists that are open
  size_t leaf = SIZE_MAX;       // how many brackets stand around an element
  bool after_element = false;
  do {
    if (!after_element && take("[")) {
      if (counts.size() == kMostBrackets) {
        error(word, "nesting-too-deep",
              cat("a tensor literal has at most ", kMostBrackets, " levels of brackets"))
            .note("the elements may be listed flat, with the shape after the dtype");
        return false;
      }
      counts.push_back(0);
      if (dims.size() < counts.size()) dims.push_back(-1);
      if (leaf != SIZE_MAX && counts.size() > leaf) elements.ragged = true;
      continue;
    }
    if (!counts.empty() && take("]")) {
      const size_t level = counts.size() - 1;
      if (counts.back() == 0) {
        if (leaf == SIZE_MAX) leaf = counts.size();
        elements.ragged |= leaf != counts.size();
      }
      if (dims[level] == -1) dims[level] = counts.back();
      elements.ragged |= dims[level] != counts.back();
      counts.pop_back();
    } else {
      if (after_element) return expected("`,` or `]`");
      if (!element_of_list(elements)) return false;
      if (leaf == SIZE_MAX) leaf = counts.size();
      elements.ragged |= leaf != counts.size();
    }
    after_element = true;
    if (!counts.empty()) {
      ++counts.back();
      if (take(",")) after_element = false;
    }
  } while (!counts.empty());
  return true;
}

// The shape of a flat list, from its `(` on.
bool Parser::shape_of_list(Shape& shape) {
  if (!need("(", "before the shape")) return false;
  shape.clear();
  return list(")", [&] {
    const std::optional<Number> n = split_number(peek().text, false);
    const std::optional<int64_t> extent =
        n && peek().kind == TokenKind::kNumber ? to_int64(*n) : std::nullopt;
    if (!extent) return expected("an extent");
    next();
    shape.push_back(*extent);
    return true;
  });
}

std::optional<Tensor> Parser::tensor_of_elements(const Elements& elements, DType d, const Shape& shape) {
  Tensor t(d, shape);
  for (size_t i = 0; i < elements.all.size(); ++i) {
    const auto& [token, negative] = elements.all[i];
    const Span at = {token.span};
    if (d.is_bool() && (token.is_word("True") || token.is_word("False")) && !negative) {
      t.set_int(static_cast<int64_t>(i), token.text == "True");
      continue;
    }
    const std::optional<Number> n = split_number(token.text, negative);
    if (!n || token.quoted) {
      error(at, "malformed-number", cat("`", token.text, "` is no element of a tensor of `", d.name(), "`"));
      return std::nullopt;
    }
    if (!n->suffix.empty() && dtype_of_suffix(n->suffix) != d) {
      error(at, "wrong-suffix", cat("the suffix of `", token.text, "` does not agree with `", d.name(), "`"))
          .note("elements need no suffix: the dtype stands behind them");
      return std::nullopt;
    }
    if (const auto wrong = store_number(*n, t, static_cast<int64_t>(i))) {
      error(at, wrong->slug, wrong->message);
      return std::nullopt;
    }
  }
  return t;
}

Parser::State Parser::tensor_operand() {
  const uint32_t begin = peek().span.begin;
  std::optional<Tensor> t = tensor_literal();
  if (!t) return State::kFailed;
  return value(constant(std::move(*t), {}, here_from(begin)), begin);
}

// const("name"), or const("name", literal) where the tensor stands in the text.
Parser::State Parser::constant_operand() {
  const uint32_t begin = next().span.begin;
  if (!need("(", "after `const`")) return State::kFailed;
  if (peek().kind != TokenKind::kString) {
    expected("the name of the constant, as a string", "expected-name");
    return State::kFailed;
  }
  const Token name = next();
  std::optional<Tensor> tensor;
  if (take(",")) {
    if (peek().is_word("tensor")) {
      tensor = tensor_literal();
      if (!tensor) return State::kFailed;
    } else if (peek().is_word("True") || peek().is_word("False")) {
      tensor = Tensor(kBool, {});
      tensor->set_int(0, next().text == "True");
    } else {
      const uint32_t start = peek().span.begin;
      bool negative = false;
      while (take("-")) negative = !negative;
      if (peek().kind != TokenKind::kNumber && peek().kind != TokenKind::kName) {
        expected("the value of the constant", "expected-expression");
        return State::kFailed;
      }
      const Token number = next();
      tensor = scalar(number, negative, start);
    }
    if (!need(")", "after the value of the constant")) return State::kFailed;
    if (!tensor) return value(poison_, begin);
  } else {
    if (!need(")", "after the name of the constant")) return State::kFailed;
    if (options_.constants) tensor = options_.constants(name.name());
    if (!tensor || !tensor->defined()) {
      error(name.span, "unknown-constant",
            cat("there is no tensor `", name.name(), "`",
                options_.constants ? "" : "; no file of constants was given"));
      return value(poison_, begin);
    }
  }
  return value(constant(std::move(*tensor), name.name(), here_from(begin)), begin);
}

Parser::State Parser::metadata_operand() {
  const Token token = next();
  const uint32_t begin = token.span.begin;
  const auto key = meta_key(token);
  if (!key) return State::kFailed;
  const auto found = metadata_.find(key->first, key->second);
  if (const auto* wrong = std::get_if<MetaError>(&found)) {
    report_metadata(token.span, *wrong);
    return value(poison_, begin);
  }
  const auto* tensor = std::get_if<Tensor>(&std::get<MetaValue>(found));
  if (!tensor) {
    error(token.span, "wrong-metadata-kind", cat("`", token.text, "` is not an expression"))
        .note("of metadata only `relay.Constant` is an expression; other objects are attributes or dims");
    return value(poison_, begin);
  }
  return value(constant(*tensor, {}, token.span), begin);
}

}  // namespace relay::text
