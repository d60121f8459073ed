// Types and patterns.
#include <re2/re2.h>

#include <charconv>

#include "base/cat.h"
#include "ir/text/library.h"
#include "ir/text/names.h"
#include "ir/text/parser_impl.h"

namespace relay::text {
namespace {

bool looks_like_dtype(std::string_view name) {
  static const RE2 kDType("(?:u?int|float|bool|bfloat)(?:[0-9]+(?:x[0-9]+)?)?(?:_e[0-9]m[0-9])?",
                          RE2::Latin1);
  return RE2::FullMatch(re2::StringPiece(name.data(), name.size()), kDType);
}

// "float16" and 4 of "float16x4"; nothing if this is not the dtype of vectors.
struct VectorDType {
  std::string_view element;
  int lanes;
};
std::optional<VectorDType> vector_dtype(std::string_view name) {
  constexpr int kMostLanes = 65535;  // of DLPack
  const size_t x = name.rfind('x');
  if (x == std::string_view::npos) return {};
  VectorDType out{name.substr(0, x), 0};
  const auto [end, error] = std::from_chars(name.data() + x + 1, name.data() + name.size(), out.lanes);
  const bool read = error == std::errc() && end == name.data() + name.size();
  const bool element = out.element == "uint1" || DType::parse(out.element);
  return read && element && out.lanes >= 1 && out.lanes <= kMostLanes ? std::optional(out) : std::nullopt;
}

DType element_of(const VectorDType& vectors) {
  return vectors.element == "uint1" ? kBool : *DType::parse(vectors.element);
}

}  // namespace

// A dtype by its name.
std::optional<DType> Parser::dtype() {
  if (peek().kind != TokenKind::kName) {
    expected("a dtype, like `float32`", "expected-type");
    return std::nullopt;
  }
  const Token name = next();
  if (name.text == "uint1") return kBool;
  if (const std::optional<DType> d = DType::parse(name.text)) return d;
  if (const auto vectors = vector_dtype(name.text)) {
    if (vectors->lanes > 1) {
      error(name.span, "unknown-dtype",
            cat("`", name.text, "` is a dtype of vectors, and an element here is one number"))
          .note(cat("the numbers of a vector are a last axis of ", vectors->lanes, " ", vectors->element));
    }
    return element_of(*vectors);  // to find later mistakes
  }
  Diagnostic& d = error(name.span, "unknown-dtype", cat("there is no dtype `", name.text, "`"));
  suggest(d, name.text, "", [] {
    return std::vector<std::string>{"bool",    "int8",    "int16",    "int32",  "int64",
                                    "uint8",   "uint16",  "uint32",   "uint64", "float16",
                                    "float32", "float64", "bfloat16", "int4",   "uint4"};
  });
  return std::nullopt;
}

// The tensor of these dims whose dtype is next. One of vectors is an opaque type over the tensor of
// one lane, `float16x4`[Tensor[(2), float16]]: it can be passed on, and no operator takes it.
Type Parser::tensor_of(std::span<const Dim> dims) {
  Context& context = module_.context();
  const Token name = peek();
  const std::optional<VectorDType> vectors =
      name.kind == TokenKind::kName ? vector_dtype(name.text) : std::nullopt;
  if (!vectors || vectors->lanes == 1) {
    const std::optional<DType> d = dtype();
    return d ? context.tensor_type(dims, *d) : nullptr;
  }
  next();
  if (!module_.data_type(name.text)) {
    DataTypeDef def;
    def.name = context.symbol(name.text);
    def.span = name.span;
    def.is_extern = true;
    def.params = context.arena().list(std::vector<const TypeVar*>{context.type_var("A")});
    module_.set_data_type(context.arena().make<DataTypeDef>(def));
  }
  const Type lane = context.tensor_type(dims, element_of(*vectors));
  return context.data_type(name.text, {&lane, 1});
}

// Tensor[(dims), dtype], after the word.
Type Parser::tensor_type() {
  if (!need("[", "after `Tensor`")) return nullptr;
  if (!peek().is("(")) {
    expected("`(` before the dims of a tensor type", "dims-without-parentheses",
             "the dims stand in parentheses: `Tensor[(2, n), float32]`");
    return nullptr;
  }
  next();
  std::vector<Dim> dims;
  lexer_.set_arithmetic(true);
  const bool ok = list(")", [&] {
    const Span at = peek().span;
    const std::optional<Dim> d = dim();
    if (!d) return false;
    if (d->is_const() && d->value() < 0) {
      error(cover(at, here_from(at.begin)), "negative-dim",
            cat("a dim cannot be negative, and this is ", d->value()))
          .note("an extent that is not known is written `?`, or as a shape variable");
    }
    dims.push_back(*d);
    return true;
  });
  lexer_.set_arithmetic(false);
  if (ok && !peek().is(",")) {
    expected("`,` and a dtype after the dims of a tensor type", "missing-dtype",
             "the dtype is part of a tensor's type: `Tensor[(2, n), float32]`");
    return nullptr;
  }
  if (!ok || !take(",")) return nullptr;
  const Type out = tensor_of(dims);
  take(",");
  return out && need("]", "after the dtype of a tensor type") ? out : nullptr;
}

Type Parser::type() {
  OpenTypes open_types;
  for (;;) {
    Type done = nullptr;
    Reading now = begin_type(open_types, done);
    if (now == Reading::kEnded) now = end_types(open_types, done);
    if (now == Reading::kEnded) return done;
    if (now == Reading::kFailed) return nullptr;
  }
}

// A type begins: it is `done`, or it has parts, the first of which is read next.
Parser::Reading Parser::begin_type(OpenTypes& open_types, Type& done) {
  Context& context = module_.context();
  const size_t parts = open_types.parts.size();
  const auto ended = [&](Type t) {
    done = t;
    return t ? Reading::kEnded : Reading::kFailed;
  };
  const Token t = peek();
  if (t.is("(")) {
    next();
    if (!open(t.span)) return Reading::kFailed;
    if (!take(")")) {
      open_types.open.push_back({OpenType::kTuple, parts});
      return Reading::kPart;
    }
    close();
    return ended(context.tuple_type({}));
  }
  const bool is_word = t.kind == TokenKind::kName;
  if (is_word && t.is_word("Tensor")) {
    next();
    return ended(tensor_type());
  }
  if (is_word && t.is_word("fn")) return begin_fn_type(open_types);
  if (is_word && t.is_word("ref")) {
    next();
    if (!open(t.span) || !need("(", "after `ref`")) return Reading::kFailed;
    open_types.open.push_back({OpenType::kRef, parts});
    return Reading::kPart;
  }
  if (is_word && t.is_word("_")) {
    next();
    return ended(context.hole_type());
  }
  if (is_word && !t.quoted && looks_like_dtype(t.text)) return ended(tensor_of({}));
  if (!is_word || (!t.quoted && keyword(t.text))) {
    expected_at(Place::kType, "a type", "expected-type");
    return Reading::kFailed;
  }
  return begin_named_type(open_types, done);
}

Parser::Reading Parser::begin_fn_type(OpenTypes& open_types) {
  const Token word = next();
  OpenType fn{OpenType::kFnArgs, open_types.parts.size()};
  fn.types = types_.mark();
  if (!open(word.span) || !type_params(fn.type_params, &fn.where)) return Reading::kFailed;
  if (!need("(", "before the argument types of a function type")) return Reading::kFailed;
  if (take(")")) {
    if (!need("->", "before the result type of a function type")) return Reading::kFailed;
    fn.kind = OpenType::kFnResult;
  }
  open_types.open.push_back(std::move(fn));
  return Reading::kPart;
}

// A type variable, or a data type with its arguments.
Parser::Reading Parser::begin_named_type(OpenTypes& open_types, Type& done) {
  Context& context = module_.context();
  const Token t = next();
  const Symbol name = context.symbol(t.name());
  const TypeVar* var = types_.variable(name);
  const Type read = var ? nullptr : types_.read_as(name);
  if (!read && !var) used_types_.emplace_back(name, t.span);
  if (peek().is("[")) {
    const Span at = next().span;
    if (var) used_types_.emplace_back(name, t.span);
    if (!open(at)) return Reading::kFailed;
    if (!take("]")) {
      if (read) used_types_.emplace_back(name, t.span);  // it has no parameters
      OpenType data{OpenType::kData, open_types.parts.size()};
      data.name = name;
      open_types.open.push_back(std::move(data));
      return Reading::kPart;
    }
    close();
  } else if (var) {
    done = var;
    return Reading::kEnded;
  }
  done = read ? read : Type(context.data_type(name.text(), {}));
  return Reading::kEnded;
}

// A type ended: it may end those around it. Then `done` is the outermost of them.
Parser::Reading Parser::end_types(OpenTypes& open_types, Type& done) {
  Context& context = module_.context();
  std::vector<Type>& parts = open_types.parts;
  while (!open_types.open.empty()) {
    OpenType& o = open_types.open.back();
    parts.push_back(done);
    const std::span<const Type> mine(parts.data() + o.parts, parts.size() - o.parts);
    if (o.kind == OpenType::kFnResult) {
      done = context.fn_type(o.type_params, mine.first(mine.size() - 1), mine.back(), o.where);
      types_.leave(o.types);
    } else if (o.kind == OpenType::kRef) {
      take(",");
      if (!need(")", "after the type of a reference's contents")) return Reading::kFailed;
      done = context.ref_type(parts.back());
    } else {
      const std::string_view closer = o.kind == OpenType::kData ? "]" : ")";
      failed_ = false;
      bool more = comma_or(closer, mine.size());
      if (failed_) return Reading::kFailed;
      if (more && take(closer)) more = false;
      if (more) return Reading::kPart;
      if (o.kind == OpenType::kFnArgs) {
        if (!need("->", "before the result type of a function type")) return Reading::kFailed;
        o.kind = OpenType::kFnResult;
        return Reading::kPart;
      }
      done = o.kind == OpenType::kData ? Type(context.data_type(o.name.text(), mine))
                                       : Type(context.tuple_type(mine));
    }
    parts.resize(o.parts);
    close();
    open_types.open.pop_back();
  }
  return Reading::kEnded;
}

// A type after `:` or `->`. A hole alone says no more than nothing at all, which is
// what it becomes.
bool Parser::read_annotation(Type& out) {
  out = type();
  if (!out) return false;
  if (out->kind == TypeKind::kHole) out = nullptr;
  return true;
}

const Constructor* Parser::find_ctor(std::string_view name) const { return module_.constructor(name); }

std::vector<std::string> Parser::ctor_names() const {
  std::vector<std::string> names;
  for (const auto& [name, def] : module_.data_types()) {
    for (const Constructor* c : def->ctors) names.push_back(c->name.str());
  }
  return names;
}

// _  %x  %x: T  Ctor  Ctor(p, ...)  (p, ...). The variables are in scope afterwards.
Pattern Parser::pattern() {
  struct OpenPattern {
    const Constructor* ctor;  // null for a tuple
    size_t parts;
    uint32_t begin;
  };
  std::vector<OpenPattern> open_patterns;
  std::vector<Pattern> parts;
  for (;;) {
    Pattern done = nullptr;
    const Token t = peek();
    if (t.is_word("_")) {
      next();
      SpanScope span(builder_, t.span);
      done = builder_.wildcard();
    } else if (t.kind == TokenKind::kLocal) {
      next();
      Type annotation = nullptr;
      if (take(":") && !read_annotation(annotation)) return nullptr;
      SpanScope span(builder_, t.span);
      const Var* var = builder_.var(t.name(), annotation);
      bind(var);
      done = builder_.bind(var);
    } else if (t.is("(") || (t.kind == TokenKind::kName && (t.quoted || !keyword(t.text)))) {
      next();
      const Constructor* ctor = nullptr;
      bool fields = t.is("(");
      if (!fields) {
        ctor = find_ctor(t.name());
        if (!ctor && broken_types_) return nullptr;  // most likely of a type that could not be read
        if (!ctor) {
          Diagnostic& d =
              error(t.span, "unknown-constructor", cat("there is no constructor `", t.name(), "`"));
          if (!explain_import(d, t.name())) suggest(d, t.name(), "", [&] { return ctor_names(); });
          return nullptr;
        }
        fields = take("(");
      }
      if (fields && !take(")")) {
        if (!open(t.span)) return nullptr;
        open_patterns.push_back({ctor, parts.size(), t.span.begin});
        continue;
      }
      SpanScope span(builder_, here_from(t.span.begin));
      done = ctor ? builder_.ctor_pattern(*ctor, {}) : builder_.tuple_pattern({});
    } else {
      expected_at(Place::kPattern, "a pattern", "expected-pattern");
      return nullptr;
    }

    for (;;) {
      if (open_patterns.empty()) return done;
      const OpenPattern o = open_patterns.back();
      parts.push_back(done);
      failed_ = false;
      if (comma_or(")", parts.size() - o.parts) && !take(")")) break;
      if (failed_) return nullptr;
      const std::span<const Pattern> fields(parts.data() + o.parts, parts.size() - o.parts);
      SpanScope span(builder_, here_from(o.begin));
      done = o.ctor ? builder_.ctor_pattern(*o.ctor, fields) : builder_.tuple_pattern(fields);
      parts.resize(o.parts);
      open_patterns.pop_back();
      close();
    }
  }
}

}  // namespace relay::text
