// Patterns as texts. Bottom-up, each node once: a node that occurs twice is written
// once, under a number.
#include <unordered_map>

#include "base/cat.h"
#include "ir/text/literal.h"
#include "ir/text/names.h"
#include "ir/text/print_type.h"
#include "ir/text/printer.h"
#include "op/operators.h"
#include "pattern/graph.h"
#include "pattern/text.h"

namespace relay::pattern {
namespace {

// Deeper than this a text is hard to read, and the reader has a limit.
constexpr size_t kHighest = 40;

enum Level { kLet, kAlt, kTyped, kTight };  // from what reaches furthest to the right

struct Written {
  std::string text;
  Level level = kTight;
  size_t height = 0;
  bool numbered = false;
};

// Words that mean something else in a pattern than an operator.
bool reserved(std::string_view name) {
  return name == "_" || name == "var" || name == "expr" || name == "as" || name == "once" ||
         name == "dominates";
}

std::string quoted_operator(std::string_view name) {
  return reserved(name) ? cat("`", name, "`") : text::quoted_dotted_name(name);
}

std::string show_name(std::string_view name) { return cat("%", text::quoted_name(name)); }

bool plain_number(const Tensor& t, const std::string& text) {
  if (t.rank() != 0 || t.dtype().is_bool()) return false;
  const size_t sign = text.starts_with("-") ? 1 : 0;
  return text.size() > sign && text[sign] >= '0' && text[sign] <= '9';
}

class Writer {
 public:
  std::string operator()(const Pattern& root) {
    const std::vector<const Node*> order = children_first(root.get());
    for (const Node* n : order) {
      for (const Pattern& child : n->children) ++uses_[child.get()];
    }
    std::string out;
    for (const Node* n : order) {
      Written w = write(*n);
      const bool shared = uses_[n] > 1 && !same_by_itself(*n);
      if (n != root.get() && (shared || w.height >= kHighest)) {
        const std::string number = cat("%", next_++);
        out += cat(number, " = ", w.text, ";\n");
        w = {.text = number, .numbered = true};
      }
      written_[n] = std::move(w);
    }
    return out + written_.at(root.get()).text;
  }

 private:
  static std::vector<const Node*> children_first(const Node* root) {
    std::vector<const Node*> out;
    std::unordered_map<const Node*, bool> opened;
    std::vector<std::pair<const Node*, bool>> stack{{root, false}};
    while (!stack.empty()) {
      const auto [n, closing] = stack.back();
      stack.pop_back();
      if (closing) {
        out.push_back(n);
        continue;
      }
      if (std::exchange(opened[n], true)) continue;
      stack.emplace_back(n, true);
      for (size_t i = n->children.size(); i-- > 0;) stack.emplace_back(n->children[i].get(), false);
    }
    return out;
  }

  // Written twice it means what it means when it is shared.
  static bool same_by_itself(const Node& n) {
    return n.kind == Kind::kWildcard ? !n.name.empty() : same_everywhere(n);
  }

  const Written& child(const Node& n, size_t i) const { return written_.at(n.children[i].get()); }
  std::string at_least(const Node& n, size_t i, Level level) const {
    const Written& w = child(n, i);
    return w.level < level ? cat("(", w.text, ")") : w.text;
  }
  // What a field is taken of. `2.0` would be a number.
  std::string indexed(const Node& n) const {
    const std::string of = at_least(n, 0, kTight);
    const bool number = of.front() == '-' || (of.front() >= '0' && of.front() <= '9');
    return number ? cat("(", of, ")") : of;
  }
  std::string children(const Node& n, size_t begin, size_t end) const {
    std::string out;
    for (size_t i = begin; i < end; ++i) out += (i > begin ? ", " : "") + child(n, i).text;
    return out;
  }

  Written write(const Node& n) const {
    Written w{.text = form(n)};
    if (n.kind == Kind::kAlt) w.level = kAlt;
    if (n.kind == Kind::kLet) w.level = kLet;
    if (n.kind == Kind::kType || n.kind == Kind::kDataType || n.kind == Kind::kShape || n.kind == Kind::kOnce)
      w.level = kTyped;
    for (size_t i = 0; i < n.children.size(); ++i) w.height = std::max(w.height, child(n, i).height + 1);
    if (!n.name.empty()) {
      if (n.kind == Kind::kWildcard) {
        w.text = show_name(n.name);
      } else {
        w.text = cat(w.level < kTyped ? cat("(", w.text, ")") : w.text, " as ", show_name(n.name));
        w.level = kTyped;
      }
    }
    return w;
  }

  std::string form(const Node& n) const {
    switch (n.kind) {
      case Kind::kExpr: return exact(n);
      case Kind::kVar: return n.var ? cat("var(", text::quoted_string(*n.var), ")") : "var";
      case Kind::kConstant: return "const";
      case Kind::kCall: return described(n, "");
      case Kind::kFunction: return described(n, "");
      case Kind::kIf:
        return cat("if (", child(n, 0).text, ") { ", child(n, 1).text, " } else { ", child(n, 2).text, " }");
      case Kind::kLet:
        return cat("let ", at_least(n, 0, kTyped), " = ", at_least(n, 1, kAlt), "; ", child(n, 2).text);
      case Kind::kTuple:
        if (n.any) return "(...)";
        return cat("(", children(n, 0, n.children.size()), n.children.size() == 1 ? ",)" : ")");
      case Kind::kTupleGetItem: return cat(indexed(n), ".", n.any ? "_" : cat(n.index));
      case Kind::kAlt: return cat(at_least(n, 0, kAlt), " | ", at_least(n, 1, kTyped));
      case Kind::kWildcard: return "_";
      case Kind::kType: return cat(at_least(n, 0, kTyped), " : ", print(n.type));
      case Kind::kDataType: return cat(at_least(n, 0, kTyped), " : Tensor[_, ", n.dtype.name(), "]");
      case Kind::kShape: return cat(at_least(n, 0, kTyped), " : Tensor[(", dims(n), "), _]");
      case Kind::kAttr: return attributes(n);
      case Kind::kOnce: return cat(at_least(n, 0, kTyped), " once");
      case Kind::kDominator: return cat("dominates(", children(n, 0, 3), ")");
    }
    return "";
  }

  static std::string dims(const Node& n) {
    return join(n.dims, ", ", [](const std::optional<Dim>& d) {
      return d ? text::print_dim(*d, text::DimPlace::kType) : std::string("_");
    });
  }

  static std::string exact(const Node& n) {
    if (n.op) return quoted_operator(n.op->name);
    if (const auto* g = n.expr->as<Global>()) return cat("@", text::quoted_name(g->name.text()));
    if (const auto* c = n.expr->as<Constant>()) {
      std::string number = text::show_tensor(*c->value);
      if (plain_number(*c->value, number)) return number;
      if (c->value->rank() == 0 && c->value->dtype().is_bool()) return number;
    }
    const Operators operators = op::operators();
    return cat("expr { ", print(n.expr, {.operators = &operators, .header = false}), " }");
  }

  // A call or a function, with `more` after the arguments or parameters.
  std::string described(const Node& n, std::string_view more) const {
    const bool is_call = n.kind == Kind::kCall;
    std::string inside = n.any     ? "..."
                         : is_call ? children(n, 1, n.children.size())
                                   : children(n, 0, n.children.size() - 1);
    if (!more.empty()) inside += cat(inside.empty() ? "" : ", ", more);
    if (is_call) return cat(at_least(n, 0, kTight), "(", inside, ")");
    return cat("fn (", inside, ") { ", child(n, n.children.size() - 1).text, " }");
  }

  std::string attributes(const Node& n) const {
    const std::string list = join(
        n.attrs, ", ", [](const auto& a) { return cat(text::quoted_dotted_name(a.first), "=", a.second); });
    const Node& inner = *n.children[0];
    const bool inside = inner.kind == Kind::kCall || inner.kind == Kind::kFunction;
    if (inside && inner.name.empty() && !child(n, 0).numbered && !list.empty()) return described(inner, list);
    return cat(at_least(n, 0, kTight), "[", list, "]");
  }

  std::unordered_map<const Node*, uint32_t> uses_;
  std::unordered_map<const Node*, Written> written_;
  size_t next_ = 0;
};

}  // namespace

std::string print(const Pattern& p) { return Writer()(p); }

}  // namespace relay::pattern
