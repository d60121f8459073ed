// Mutations of programs that stay programs: extents, dtypes, attributes, operands and operators
// become others, so that most of what comes out is read, and much of it is well typed.
#include <algorithm>
#include <array>
#include <optional>

#include "base/cat.h"
#include "op/registry.h"
#include "tests/fuzz/mutate.h"
#include "tests/fuzz/tokens.h"

namespace relay::fuzz {
namespace {

using Kind = Token::Kind;

constexpr std::string_view kDTypes[] = {
    "bool",   "int4",   "int8",    "int16",   "int32",   "int64",    "uint4",       "uint8",      "uint16",
    "uint32", "uint64", "float16", "float32", "float64", "bfloat16", "float8_e4m3", "float8_e5m2"};
constexpr std::string_view kEdges[] = {"0",
                                       "1",
                                       "-1",
                                       "-2",
                                       "7919",
                                       "65537",
                                       "2147483647",
                                       "2147483648",
                                       "-2147483648",
                                       "4294967296",
                                       "4294967311",
                                       "9007199254740993",
                                       "4611686018427387905",
                                       "9223372036854775807",
                                       "-9223372036854775807",
                                       "-9223372036854775808"};
constexpr std::string_view kReals[] = {
    "0.0",    "-0.0", "1e-300", "1e300", "-1e300", "3.4e38", "1e39", "-1e19",  "1.8e19",
    "5e-324", "0.5",  "-1.5",   "1e9",   "inff",   "-inff",  "nanf", "nanf64", "1.7976931348623157e308"};
constexpr std::string_view kStrings[] = {"NCHW",
                                         "NHWC",
                                         "NCHW16c",
                                         "NCHW4c",
                                         "OIHW",
                                         "HWIO",
                                         "OIHW16i16o",
                                         "NCW",
                                         "",
                                         "N",
                                         "CHWN",
                                         "NCHW0c",
                                         "NCHW99999999999999999999c",
                                         "NC1c",
                                         "edge",
                                         "constant",
                                         "reflect",
                                         "linear",
                                         "cubic",
                                         "nearest_neighbor",
                                         "half_pixel",
                                         "align_corners",
                                         "asymmetric",
                                         "float32",
                                         "int4",
                                         "bool",
                                         "uint64",
                                         "update",
                                         "add",
                                         "mul",
                                         "min",
                                         "clip",
                                         "wrap",
                                         "fast",
                                         "size",
                                         "end",
                                         "tanh",
                                         "none",
                                         "round_half_even"};

std::string whole_number(Random& random) {
  if (random.one_in(2)) return cat(static_cast<int64_t>(random.below(9)) - 1);
  if (random.one_in(8)) return cat(static_cast<int64_t>(interesting_integer(random)));
  return std::string(random.of(kEdges));
}
// What a dimension of a type may be: seldom more than a few.
std::string extent(Random& random) {
  if (random.one_in(12))
    return std::string(random.of(std::array{"?", "n", "2 * n", "n + 1", "min(n, 2)", "m"}));
  return random.one_in(3) ? whole_number(random) : cat(random.below(6));
}
std::string a_string(Random& random) { return cat('"', random.of(kStrings), '"'); }
std::string a_list(Random& random, size_t most, std::string (*item)(Random&)) {
  std::vector<std::string> items(random.below(most + 1));
  for (std::string& i : items) i = item(random);
  return cat("[", join(items, ", "), "]");
}
std::string a_real(Random& random) {
  return random.one_in(3) ? whole_number(random) : std::string(random.of(kReals));
}
std::string a_dtype(Random& random) { return cat('"', random.of(kDTypes), '"'); }

// A value of the type of an attribute, as `op::describe_attr` names it; now and
// then of another one.
std::string attribute_value(std::string_view type, Random& random) {
  if (random.one_in(16))
    return std::string(random.of(std::array{"None", "True", "[]", "1", "\"\"", "n", "?", "[[1]]"}));
  if (type.ends_with('?')) type.remove_suffix(1);
  if (type == "bool") return random.one_in(2) ? "True" : "False";
  if (type == "int" || type == "dim") return whole_number(random);
  if (type == "float") return a_real(random);
  if (type == "string") return a_string(random);
  if (type == "dtype") return a_dtype(random);
  if (type == "floats") return a_list(random, 5, a_real);
  if (type == "strings") return a_list(random, 3, a_string);
  return a_list(random, 5, whole_number);
}

bool is(const Tokens& tokens, size_t at, std::string_view text) {
  return at < tokens.size() && tokens[at].text == text;
}
size_t skip_space(const Tokens& tokens, size_t at) {
  while (at < tokens.size() && tokens[at].kind == Kind::kSpace) ++at;
  return at;
}

// Places that a condition picks.
template <class Condition>
std::vector<size_t> places(const Tokens& tokens, const Condition& condition) {
  std::vector<size_t> out;
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (condition(i)) out.push_back(i);
  }
  return out;
}

bool is_dtype(const Token& t) {
  return std::find(std::begin(kDTypes), std::end(kDTypes), t.text) != std::end(kDTypes);
}

// The brackets around the dims of tensor types.
std::vector<size_t> dims_of_types(const Tokens& tokens) {
  std::vector<size_t> out;
  for (size_t i = 0; i + 2 < tokens.size(); ++i) {
    if (is(tokens, i, "Tensor") && is(tokens, i + 1, "[") && is(tokens, i + 2, "(")) out.push_back(i + 2);
  }
  return out;
}

// Everywhere, or only here: types that belong together keep fitting where all of them change.
void replace(Tokens& tokens, size_t at, const std::vector<size_t>& alike, const std::string& by,
             Random& random) {
  const std::string old = tokens[at].text;
  const bool everywhere = !random.one_in(4);
  for (size_t i : alike) {
    if (i == at || (everywhere && tokens[i].text == old)) tokens[i].text = by;
  }
}

void change_extent(Tokens& tokens, Random& random) {
  std::vector<size_t> extents;
  for (size_t open : dims_of_types(tokens)) {
    for (size_t i = open + 1, end = end_of_group(tokens, open); i + 1 < end; ++i) {
      if (tokens[i].kind == Kind::kNumber) extents.push_back(i);
    }
  }
  if (!extents.empty()) replace(tokens, random.of(extents), extents, extent(random), random);
}

void change_rank(Tokens& tokens, Random& random) {
  const std::vector<size_t> all = dims_of_types(tokens);
  if (all.empty()) return;
  const size_t open = random.of(all), end = end_of_group(tokens, open);
  if (end == 0) return;
  const std::string old = text_of(part_of(tokens, open, end));
  std::string by = old;
  const size_t comma = old.find(", ");
  switch (random.below(4)) {
    case 0: by = comma == std::string::npos ? "()" : cat("(", old.substr(comma + 2)); break;
    case 1:
      by = old == "()" ? cat("(", extent(random), ")") : cat("(", extent(random), ", ", old.substr(1));
      break;
    case 2:
      by = cat("(", join(std::vector<std::string>(random.below(9), cat(random.below(4))), ", "), ")");
      break;
    default: by = "()";
  }
  const bool everywhere = random.one_in(2);
  for (size_t n = all.size(); n-- > 0;) {  // from behind, as places move
    const size_t last = end_of_group(tokens, all[n]);
    if (last == 0 || (all[n] != open && !everywhere) || text_of(part_of(tokens, all[n], last)) != old)
      continue;
    erase(tokens, all[n], last);
    insert(tokens, all[n], tokens_of(by));
  }
}

void change_dtype(Tokens& tokens, Random& random) {
  const std::vector<size_t> all = places(tokens, [&](size_t i) { return is_dtype(tokens[i]); });
  if (!all.empty()) replace(tokens, random.of(all), all, std::string(random.of(kDTypes)), random);
}

// A call of an operator: its name, the bracket behind it, and the place behind its end.
struct Site {
  const op::OpDef* op;
  size_t name, open, end;
};
std::optional<Site> call_of(const Tokens& tokens, Random& random) {
  const std::vector<size_t> all = places(tokens, [&](size_t i) {
    return tokens[i].kind == Kind::kWord && is(tokens, i + 1, "(") && op::find(tokens[i].text) != nullptr;
  });
  if (all.empty()) return std::nullopt;
  const size_t at = random.of(all), end = end_of_group(tokens, at + 1);
  if (end == 0) return std::nullopt;
  return Site{op::find(tokens[at].text), at, at + 1, end};
}

// The parts of a list in brackets, between its commas: [begin, end) of each.
std::vector<std::pair<size_t, size_t>> parts_of(const Tokens& tokens, size_t open, size_t end) {
  std::vector<std::pair<size_t, size_t>> out;
  size_t begin = skip_space(tokens, open + 1);
  size_t depth = 0;
  for (size_t i = begin; i < end; ++i) {
    const std::string& t = tokens[i].text;
    if (i + 1 == end || (depth == 0 && t == ",")) {
      if (i > begin) out.emplace_back(begin, i);
      begin = skip_space(tokens, i + 1);
    } else if (t == "(" || t == "[" || t == "{") {
      ++depth;
    } else if (t == ")" || t == "]" || t == "}") {
      --depth;
    }
  }
  return out;
}
// Is this part `name=value`?
bool is_attribute(const Tokens& tokens, std::pair<size_t, size_t> part) {
  return tokens[part.first].kind == Kind::kWord && is(tokens, part.first + 1, "=");
}

// Numbers of a list become others, or there are more or fewer of them.
void change_list(Tokens& tokens, size_t open, size_t end, Random& random) {
  const auto items = parts_of(tokens, open, end);
  const Token number{Kind::kNumber, whole_number(random)};
  const size_t how = items.empty() ? 3 : random.below(6);
  if (how == 0) {
    erase(tokens, open + 1, end - 1);
  } else if (how == 1) {
    const auto [begin, last] = random.of(items);
    erase(tokens, begin, is(tokens, last, ",") ? last + 1 : last);
  } else if (how == 2) {
    const auto [begin, last] = random.of(items);
    insert(tokens, items[0].first,
           {{Kind::kWord, text_of(part_of(tokens, begin, last))}, {Kind::kMark, ", "}});
  } else if (how == 3) {
    insert(tokens, open + 1, {number, {Kind::kMark, items.empty() ? "" : ", "}});
  } else {
    const auto [begin, last] = random.of(items);
    erase(tokens, begin, last);
    insert(tokens, begin, {number});
  }
}

void change_attribute(Tokens& tokens, Random& random) {
  const std::vector<size_t> all = places(tokens, [&](size_t i) {
    return tokens[i].kind == Kind::kWord && is(tokens, i + 1, "=") && tokens[i].text[0] != '%';
  });
  if (all.empty()) return;
  const size_t at = random.of(all) + 2;
  if (at >= tokens.size()) return;
  if (is(tokens, at, "[")) {
    if (const size_t end = end_of_group(tokens, at)) change_list(tokens, at, end, random);
    return;
  }
  if (is(tokens, at, "-")) erase(tokens, at, at + 1);
  if (at >= tokens.size()) return;
  Token& t = tokens[at];
  if (t.kind == Kind::kString) {
    t.text =
        is_dtype({Kind::kWord, t.text.substr(1, t.text.size() - 2)}) ? a_dtype(random) : a_string(random);
  } else if (t.kind == Kind::kNumber) {
    t.text = t.text.find('.') == std::string::npos ? whole_number(random) : a_real(random);
  } else if (t.text == "True" || t.text == "False") {
    t.text = t.text == "True" ? "False" : "True";
  } else {
    t.text = a_list(random, 4, whole_number);
  }
}

void add_attribute(Tokens& tokens, Random& random) {
  const std::optional<Site> site = call_of(tokens, random);
  if (!site || site->op->attrs.empty()) return;
  const op::AttrField& field = random.of(site->op->attrs);
  // The last one counts.
  insert(tokens, site->end - 1, tokens_of(cat(", ", field.name, "=", attribute_value(field.type, random))));
}

// Another operator with as many operands; attributes that it has not got are left out.
void change_operator(Tokens& tokens, Random& random) {
  const std::optional<Site> site = call_of(tokens, random);
  if (!site) return;
  const op::OpDef* by = nullptr;
  for (int tries = 0; tries < 40 && !by; ++tries) {
    const op::OpDef* other = random.of(op::all_ops());
    if (other->params.size() == site->op->params.size()) by = other;
  }
  if (!by) return;
  const auto has = [&](const std::string& name) {
    return std::any_of(by->attrs.begin(), by->attrs.end(),
                       [&](const op::AttrField& f) { return f.name == name; });
  };
  std::vector<std::string> kept;
  for (const auto& part : parts_of(tokens, site->open, site->end)) {
    if (!is_attribute(tokens, part) || has(tokens[part.first].text))
      kept.push_back(text_of(part_of(tokens, part.first, part.second)));
  }
  for (const op::AttrField& f : by->attrs) {
    if (f.default_text.empty() || random.one_in(6))
      kept.push_back(cat(f.name, "=", attribute_value(f.type, random)));
  }
  erase(tokens, site->name, site->end);
  insert(tokens, site->name, tokens_of(cat(by->name, "(", join(kept, ", "), ")")));
}

void change_operands(Tokens& tokens, Random& random) {
  const std::vector<size_t> all = places(tokens, [&](size_t i) {
    return is(tokens, i, "(") && i > 0 && tokens[i - 1].kind != Kind::kSpace && !is(tokens, i - 1, "[");
  });
  if (all.empty()) return;
  const size_t open = random.of(all), end = end_of_group(tokens, open);
  if (end == 0) return;
  std::vector<std::string> parts;
  for (const auto& [begin, last] : parts_of(tokens, open, end))
    parts.push_back(text_of(part_of(tokens, begin, last)));
  if (parts.empty()) return;
  const size_t i = random.below(parts.size()), j = random.below(parts.size());
  switch (random.below(5)) {
    case 0: parts.erase(parts.begin() + static_cast<ptrdiff_t>(i)); break;
    case 1: parts.insert(parts.begin() + static_cast<ptrdiff_t>(i), parts[j]); break;
    case 2: parts[i] = parts[j]; break;
    default: std::swap(parts[i], parts[j]);
  }
  erase(tokens, open + 1, end - 1);
  insert(tokens, open + 1, tokens_of(join(parts, ", ")));
}

// An operand becomes an operator of it, and so is itself of another shape or dtype.
void wrap_operand(Tokens& tokens, Random& random) {
  const std::optional<Site> site = call_of(tokens, random);
  if (!site) return;
  const auto parts = parts_of(tokens, site->open, site->end);
  if (parts.empty() || is_attribute(tokens, parts[0])) return;
  const op::OpDef* by = random.of(op::all_ops());
  const auto part = random.of(parts);
  if (is_attribute(tokens, part)) return;
  const std::string operand = text_of(part_of(tokens, part.first, part.second));
  std::string text = operand;
  for (size_t i = 1; i < by->params.size(); ++i) text += cat(", ", random.one_in(2) ? operand : "2f");
  for (const op::AttrField& f : by->attrs) {
    if (f.default_text.empty() || random.one_in(6))
      text += cat(", ", f.name, "=", attribute_value(f.type, random));
  }
  erase(tokens, part.first, part.second);
  insert(tokens, part.first, tokens_of(cat(by->name, "(", text, ")")));
}

// A number that is neither an extent nor an attribute keeps its suffix.
void change_constant(Tokens& tokens, Random& random) {
  const std::vector<size_t> all = places(tokens, [&](size_t i) { return tokens[i].kind == Kind::kNumber; });
  if (all.empty()) return;
  std::string& text = tokens[random.of(all)].text;
  const size_t suffix = text.find_first_not_of("0123456789.");
  text = (random.one_in(3) ? a_real(random) : whole_number(random)) +
         (suffix == std::string::npos ? std::string() : text.substr(suffix));
}

std::string some_type(Random& random, const std::string& dims, std::string_view dtype) {
  const std::string type = cat("Tensor[", random.one_in(4) ? a_list(random, 4, extent) : dims, ", ",
                               random.one_in(8) ? random.of(kDTypes) : dtype, "]");
  std::string out = type;
  std::replace(out.begin(), out.end(), '[', '(');  // of a_list
  std::replace(out.begin(), out.end(), ']', ')');
  out[6] = '[';
  out.back() = ']';
  return out;
}

}  // namespace

std::string program_of_one_call(Random& random) {
  const op::OpDef& op = *random.of(op::all_ops());
  const std::string dims = a_list(random, 5, extent);
  const std::string_view dtype = random.one_in(2) ? "float32" : random.of(kDTypes);
  std::vector<std::string> params, args;
  for (size_t i = 0; i < op.params.size(); ++i) {
    std::string type = some_type(random, dims, dtype);
    if (random.one_in(12)) type = cat("(", type, ", ", some_type(random, dims, dtype), ")");
    params.push_back(cat("%x", i, ": ", type));
    args.push_back(cat("%x", i));
  }
  for (const op::AttrField& f : op.attrs) {
    if (f.default_text.empty() || random.one_in(3))
      args.push_back(cat(f.name, "=", attribute_value(f.type, random)));
  }
  return cat("#[version = \"0.0.5\"]\ndef @main(", join(params, ", "), ") { ", op.name, "(", join(args, ", "),
             ") }\n");
}

std::string mutate_program(const std::string& text, const Seeds& seeds, Random& random) {
  if (random.one_in(6)) return program_of_one_call(random);
  if (random.one_in(16)) return mutate_text(text, seeds, random);
  Tokens tokens = tokens_of(text);
  using Change = void (*)(Tokens&, Random&);
  static constexpr Change kChanges[] = {change_extent,    change_extent,    change_rank,    change_dtype,
                                        change_attribute, change_attribute, add_attribute,  change_operator,
                                        change_operands,  wrap_operand,     change_constant};
  for (size_t n = 1 + random.below(2) * random.below(4); n > 0; --n) {
    random.of(kChanges)(tokens, random);
    tokens = tokens_of(text_of(tokens));
  }
  std::string out = text_of(tokens);
  if (out.size() > text.size() + kMostGrowth) out.resize(text.size() + kMostGrowth);
  return out;
}

}  // namespace relay::fuzz
