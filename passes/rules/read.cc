// The reader of `.rules` texts. A rule begins with a line `rule ...`; lines that are indented go
// on with it. `#` begins a comment.
#include <charconv>
#include <cstdlib>
#include <map>

#include "base/cat.h"
#include "ir/text/literal.h"
#include "ir/text/parser.h"
#include "op/registry.h"
#include "passes/rules/conditions.h"
#include "passes/rules/rule.h"
#include "passes/rules/values.h"
#include "pattern/text.h"
#include "pattern/tokens.h"

namespace relay::passes::rules {
namespace {

using text::Token;
using text::TokenKind;

std::string_view trim(std::string_view s) {
  while (!s.empty() && s.front() == ' ') s.remove_prefix(1);
  while (!s.empty() && (s.back() == ' ' || s.back() == '\r')) s.remove_suffix(1);
  return s;
}

// The first word, which is taken off.
std::string take_word(std::string_view& s) {
  s = trim(s);
  const size_t end = std::min(s.find(' '), s.size());
  const std::string word(s.substr(0, end));
  s = trim(s.substr(end));
  return word;
}

// --- the right side and the conditions -----------------------------------------------------------

// Reads what stands behind `=>`. It recurses as deep as brackets are nested in a rule, of ours.
class RightReader : pattern::PatternTokens {
 public:
  RightReader(uint32_t file, Diagnostics& diagnostics, const ParseOptions& options,
              const pattern::Pattern& left)
      : PatternTokens(file, options.into.context().sources().text(file), diagnostics),
        options_(options),
        left_(left) {}

  bool whole(Rule& rule) {
    if (!expression(rule.right)) return false;
    if (peek().is_word("when")) {
      do {
        next();
        Use use;
        if (!read_use(use)) return false;
        if (!find_condition(use.name)) {
          return error(cat("there is no condition `", use.name, "`"));
        }
        rule.conditions.push_back(std::move(use));
      } while (peek().is(","));
    }
    return peek().kind == TokenKind::kEnd || error("expected the end of the rule");
  }

 private:
  bool need(std::string_view punctuation) {
    return take(punctuation) || error(cat("expected `", punctuation, "`"));
  }
  bool error(std::string message) {
    diagnostics_.error(peek().span, "expected-pattern", cat(message, ", found ", peek().show()));
    return false;
  }

  bool part(std::string& name) {
    if (peek().kind != TokenKind::kLocal) return error("expected a part of the pattern, like `%x`");
    name = peek().name();
    std::vector<const pattern::Node*> pending{left_.get()};
    while (!pending.empty()) {
      const pattern::Node* n = pending.back();
      pending.pop_back();
      if (n->name == name) {
        next();
        return true;
      }
      for (const pattern::Pattern& child : n->children) pending.push_back(child.get());
    }
    return error(cat("the pattern has no part `%", name, "`"));
  }

  bool number(double& out) {
    const bool negative = take("-");
    if (peek().kind != TokenKind::kNumber) return error("expected a number");
    const auto split = text::split_number(next().text, negative);
    const auto value = split ? text::to_double(*split) : std::nullopt;
    if (!value) return error("expected a number");
    out = *value;
    return true;
  }

  std::string dotted() {
    std::string name = next().name();
    while (peek().is(".") && lexer_.peek_second().kind == TokenKind::kName) {
      next();
      name += cat(".", next().name());
    }
    return name;
  }

  bool read_use(Use& use) {
    if (peek().kind != TokenKind::kName) return error("expected a name");
    use.name = next().name();
    if (!need("(")) return false;
    while (!take(")")) {
      Operand operand;
      if (peek().kind == TokenKind::kLocal) {
        if (!part(operand.part)) return false;
      } else if (peek().kind == TokenKind::kName) {
        operand.word = next().name();
      } else if (!number(operand.number)) {
        return false;
      }
      use.operands.push_back(std::move(operand));
      if (!take(",") && !peek().is(")")) return need(")");
    }
    return true;
  }

  bool expression(Template& out) {
    if (!primary(out)) return false;
    while (peek().is(".")) {
      next();
      Token digits;
      if (!lexer_.digits(digits)) return error("expected the number of a field");
      Template field;
      field.kind = Template::Kind::kField;
      field.index = static_cast<uint32_t>(std::strtoul(std::string(digits.text).c_str(), nullptr, 10));
      field.children.push_back(std::move(out));
      out = std::move(field);
    }
    return true;
  }

  bool primary(Template& out) {
    if (peek().kind == TokenKind::kLocal) return part(out.part);
    if (take("(")) {
      out.kind = Template::Kind::kTuple;
      while (!take(")")) {
        if (!expression(out.children.emplace_back())) return false;
        if (!take(",") && !peek().is(")")) return need(")");
      }
      return true;
    }
    if (peek().kind != TokenKind::kName) return error("expected an expression");
    if (peek().is_word("scalar")) {
      next();
      out.kind = Template::Kind::kScalar;
      return need("(") && number(out.number) && need(",") && part(out.part) && need(")");
    }
    out.kind = Template::Kind::kCall;
    const std::string name = dotted();
    out.op = op::find(name);
    if (!out.op) return error(cat("there is no operator `", name, "`"));
    if (!need("(")) return false;
    while (!take(")")) {
      const bool named = peek().kind == TokenKind::kName && lexer_.peek_second().is("=");
      if (!(named ? attribute(out) : expression(out.children.emplace_back()))) return false;
      if (!take(",") && !peek().is(")")) return need(")");
    }
    return true;
  }

  // `like=%a` stands for all attributes of a part.
  bool attribute(Template& out) {
    NewAttribute attr;
    attr.name = next().name();
    next();
    if (attr.name == "like") return part(out.attrs_of);
    if (peek().kind == TokenKind::kName && lexer_.peek_second().is("(")) {
      Use use;
      if (!read_use(use)) return false;
      if (!find_value(use.name)) return error(cat("there is no value `", use.name, "`"));
      attr.value = std::move(use);
    } else {
      const Result<AttrValue> value =
          language([&](TextPlace& at) { return read_attr_value(at, diagnostics_, options_); });
      if (!value || !store(*value, attr)) return false;
    }
    out.attrs.push_back(std::move(attr));
    return true;
  }

  // Attributes of a text belong to its context, and those of a rule to none.
  bool store(const AttrValue& v, NewAttribute& attr) {
    decltype(AttrArg::value) value;
    switch (v.kind) {
      case AttrKind::kNone: break;
      case AttrKind::kBool: value = v.boolean; break;
      case AttrKind::kInt: value = v.integer; break;
      case AttrKind::kFloat: value = v.real; break;
      case AttrKind::kString: value = std::string(v.string.text()); break;
      case AttrKind::kDim: return error("a rule has no symbolic extent");
      case AttrKind::kList: {
        std::vector<int64_t> ints;
        for (const AttrValue& item : v.list) {
          if (item.kind != AttrKind::kInt) return error("a rule has no list but of integers");
          ints.push_back(item.integer);
        }
        value = std::move(ints);
      }
    }
    attr.value = std::move(value);
    return true;
  }

  const ParseOptions& options_;
  const pattern::Pattern& left_;
};

// --- lines ---------------------------------------------------------------------------------------

// The operator whose call every match of the pattern is; null for a field of a tuple.
std::optional<const op::OpDef*> root_of(const pattern::Pattern& p) {
  const pattern::Node* n = p.get();
  while (n->kind == pattern::Kind::kAttr || n->kind == pattern::Kind::kType ||
         n->kind == pattern::Kind::kDataType || n->kind == pattern::Kind::kShape)
    n = n->children[0].get();
  if (n->kind == pattern::Kind::kTupleGetItem) return nullptr;
  if (n->kind != pattern::Kind::kCall) return std::nullopt;
  const op::OpDef* op = n->children[0]->op;
  return op ? std::optional(op) : std::nullopt;
}

class FileReader {
 public:
  FileReader(std::string_view name, Diagnostics& diagnostics) : name_(name), diagnostics_(diagnostics) {}

  Result<std::vector<Rule>> run(std::string_view text) {
    const size_t errors = diagnostics_.errors();
    size_t line = 0;
    while (!text.empty()) {
      const size_t end = std::min(text.find('\n'), text.size());
      add_line(text.substr(0, end), ++line);
      text.remove_prefix(std::min(end + 1, text.size()));
    }
    finish();
    if (diagnostics_.errors() != errors) return kReported;
    return std::move(rules_);
  }

 private:
  void add_line(std::string_view line, size_t number) {
    const std::string_view words = trim(line);
    if (words.empty() || words.front() == '#') return;
    if (line.front() != ' ') {
      finish();
      line_ = number;
    }
    std::string_view rest = words;
    const std::string first = take_word(rest);
    if (first == "yes" || first == "no") {
      Example example;
      if (first == "no") example.broken = take_word(rest);
      example.dtypes = take_word(rest);
      if (example.dtypes.ends_with(":")) example.dtypes.pop_back();
      example.program = std::string(rest);
      examples_.push_back(std::move(example));
    } else if (examples_.empty()) {
      head_ += cat(head_.empty() ? "" : " ", words);
    } else {
      examples_.back().program += cat(" ", words);
    }
  }

  void error(std::string message) {
    diagnostics_.error({}, "expected-pattern", cat(name_, ":", line_, ": ", message));
  }

  // The rule whose lines were read.
  void finish() {
    const std::string head = std::exchange(head_, {});
    std::vector<Example> examples = std::exchange(examples_, {});
    if (head.empty()) return;
    const size_t colon = head.find(": "), arrow = head.find(" => ");
    if (!head.starts_with("rule ") || colon == std::string::npos || arrow == std::string::npos ||
        arrow < colon)
      return error("expected `rule NAME CLASS: PATTERN => EXPRESSION`");
    std::string_view before = std::string_view(head).substr(5, colon - 5);
    const std::string name = take_word(before), kind = take_word(before);
    ParseOptions options;
    Diagnostics own;  // whose places are in the sources of `options`
    const std::string place = cat(name_, ":", line_);
    const auto left = pattern::parse(place, head.substr(colon + 2, arrow - colon - 2), own, options);
    if (!left) return error(own.render(options.into.context().sources()));
    const auto root = root_of(*left);
    if (!root) return error("a rule is of calls of one operator, or of a field of a tuple");
    if (!pattern::is_local(*left)) return error("the pattern needs the whole program");
    Rule rule{name, Class::kProved, 0, pattern::LocalMatcher(*left), {}, {}, std::move(examples), *root,
              head};
    if (kind == "exact") {
      rule.kind = Class::kExact;
    } else if (kind == "bounded") {
      rule.kind = Class::kBounded;
      const std::string_view digits = before;
      if (std::from_chars(digits.data(), digits.data() + digits.size(), rule.bound).ec != std::errc())
        return error("expected the bound after `bounded`");
    } else if (kind != "proved") {
      return error("expected `proved`, `exact` or `bounded N` after the name of the rule");
    }
    const uint32_t file = options.into.context().sources().add(place, head.substr(arrow + 4));
    if (!RightReader(file, own, options, *left).whole(rule) || own.has_errors())
      return error(own.render(options.into.context().sources()));
    rules_.push_back(std::move(rule));
  }

  std::string name_;
  Diagnostics& diagnostics_;
  std::vector<Rule> rules_;
  std::string head_;
  std::vector<Example> examples_;
  size_t line_ = 0;
};

}  // namespace

Result<std::vector<Rule>> read_rules(std::string_view name, std::string_view text, Diagnostics& diagnostics) {
  return FileReader(name, diagnostics).run(text);
}

}  // namespace relay::passes::rules
