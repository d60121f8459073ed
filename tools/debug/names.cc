#include "tools/debug/names.h"

#include "base/cat.h"
#include "ir/traverse.h"

namespace relay::tools {
namespace {

std::string_view without_end(std::string_view text, std::string_view blank) {
  const size_t last = text.find_last_not_of(blank);
  return last == std::string_view::npos ? std::string_view() : text.substr(0, last + 1);
}

// Returns the name before `=` where a text binds the expression that begins at `begin`: `%3 = ...`.
// Empty if it binds none.
std::string_view bound_before(std::string_view text, size_t begin) {
  std::string_view before = without_end(text.substr(0, begin), " \t\r\n");
  if (!before.ends_with('=')) return {};
  before = without_end(before.substr(0, before.size() - 1), " \t\r\n");
  const std::string_view rest = without_end(before, "0123456789");
  if (rest.size() == before.size() || !rest.ends_with('%')) return {};
  return before.substr(rest.size() - 1);
}

// A line of a listing: Conv "conv1" opset 8 (data, weight) -> (out)
struct Line {
  std::string_view node;     // empty: it has no name
  std::string_view outputs;  // "out", or "low, high"; empty in the listing of a graph
};

Line line_of(std::string_view text) {
  Line out;
  const size_t open = text.find('"');
  const size_t close = open == std::string_view::npos ? open : text.find('"', open + 1);
  if (close != std::string_view::npos) out.node = text.substr(open + 1, close - open - 1);
  const size_t arrow = text.rfind(" -> (");
  if (arrow != std::string_view::npos && text.ends_with(')'))
    out.outputs = text.substr(arrow + 5, text.size() - arrow - 6);
  return out;
}

std::string_view name_of(const Line& line) {
  const size_t comma = line.outputs.find(", ");
  if (!line.outputs.empty() && comma == std::string_view::npos) return line.outputs;
  return line.node.empty() ? line.outputs.substr(0, comma) : line.node;
}

// 003_conv1_out without its number; the text itself if it has none.
std::string_view without_number(std::string_view text) {
  const size_t end = text.find_first_not_of("0123456789");
  return end >= 3 && end < text.size() && text[end] == '_' ? text.substr(end + 1) : text;
}

}  // namespace

Names::Names(const Module& m, bool is_listed) {
  std::vector<Expr> roots;
  for (const auto& [name, fn] : m.functions()) roots.push_back(fn);
  const SourceMap& sources = m.context().sources();
  // Of all that begins at a place, the widest is bound there; of equal ones, the outermost.
  std::map<Place, Expr> widest;
  for (Expr e : post_order(roots)) {
    const auto* let = is_listed ? nullptr : e->as<Let>();
    if (let && let->value->span.known() && let->value->kind != ExprKind::kVar)
      add(cat("%", let->x->name.text()), let->value);
    if (!e->span.known() || e->kind == ExprKind::kVar) continue;
    Expr& known = widest[{e->span.file, e->span.begin}];
    if (!known || e->span.end >= known->span.end) known = e;
  }
  for (const auto& [place, e] : widest) {
    const std::string_view text = sources.text(e->span.file);
    if (!is_listed) {
      if (const std::string_view name = bound_before(text, e->span.begin); !name.empty()) {
        add(name, e);
        given_.emplace(e, name);
      }
      continue;
    }
    const Line line = line_of(text.substr(e->span.begin, e->span.end - e->span.begin));
    const std::string_view name = name_of(line);
    if (name.empty()) continue;
    add(name, e);
    given_.emplace(e, name);
    if (!line.node.empty()) aliases_.emplace(line.node, name);
  }
}

void Names::add(std::string_view name, Expr e) {
  by_place_.emplace(place_of(e->span), name);
  givers_[std::string(name)].push_back(e);
}

std::string Names::of(Span at) const {
  const auto it = at.known() ? by_place_.find(place_of(at)) : by_place_.end();
  return it == by_place_.end() ? std::string() : it->second;
}

const std::string* Names::given_by(Expr e) const {
  const auto it = given_.find(e);
  return it == given_.end() ? nullptr : &it->second;
}

std::string Names::meant(std::string_view wanted) const {
  for (const std::string_view text : {wanted, without_number(wanted)}) {
    const std::string bare = bare_name(text);
    for (const std::string& name : {std::string(text), bare, cat("%", bare)}) {
      if (givers_.contains(name)) return name;
    }
    for (const std::string& node : {std::string(text), bare}) {
      if (const auto it = aliases_.find(node); it != aliases_.end()) return it->second;
    }
  }
  return {};
}

const std::vector<Expr>& Names::givers(const std::string& name) const {
  static const std::vector<Expr> kNone;
  const auto it = givers_.find(name);
  return it == givers_.end() ? kNone : it->second;
}

std::vector<std::string> Names::all() const {
  std::vector<std::string> out;
  for (const auto& [name, exprs] : givers_) out.push_back(bare_name(name));
  for (const auto& [node, name] : aliases_) out.push_back(node);
  return out;
}

std::string bare_name(std::string_view name) {
  return std::string(name.starts_with('%') ? name.substr(1) : name);
}

}  // namespace relay::tools
