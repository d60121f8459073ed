// What the printer calls variables and constants, and the small parts that are written at once.
#include <algorithm>

#include "base/cat.h"
#include "ir/text/literal.h"
#include "ir/text/print_type.h"
#include "ir/text/printer_impl.h"

namespace relay::text {
namespace {

// Levels; deeper ones are not indented further, or texts would grow quadratically.
constexpr int kMostIndent = 40;

}  // namespace

// ---- Names ----

void Printer::var(const Var* v) {
  auto [it, fresh] = names_.try_emplace(v);
  if (fresh) {
    const std::string base = v->name.empty() ? "v" : v->name.str();
    std::string name = base;
    while (!taken_.insert(name).second) name = cat(base, "_", ++suffix_[base]);
    it->second = "%" + quoted_name(name);
  }
  out_ += it->second;
}

void Printer::type(Type t) {
  out_ += print_type(t, [&](Symbol name) {
    const auto it = type_params_.find(name);
    return it != type_params_.end() && it->second > 0;
  });
}

void Printer::annotated(const Var* v) {
  const auto begin = static_cast<uint32_t>(out_.size());
  var(v);
  if (options_.ranges) (*options_.ranges)[v] = {1, begin, static_cast<uint32_t>(out_.size())};
  if (v->annotation) {
    out_ += ": ";
    type(v->annotation);
  }
}

// The constant's entry in the side file.
std::string Printer::side_name(const Constant& c) {
  std::map<std::string, Tensor>& entries = options_.constants ? *options_.constants : elided_;
  const auto same = [&](const Tensor& t) {
    return t.data() == c.value->data() && t.shape() == c.value->shape();
  };
  const std::string base = c.name.str();
  std::string name = base;
  for (uint32_t i = 1;; ++i) {
    if (base.empty()) name = cat("c", next_constant_++);
    const auto [it, fresh] = entries.try_emplace(name, *c.value);
    if (fresh || (!base.empty() && same(it->second))) return name;
    if (!base.empty()) name = cat(base, "_", i);
  }
}

std::string Printer::constant(const Constant& c) {
  const bool aside = options_.constants || options_.elide;
  if (aside && (c.value->size() > options_.most_elements || !c.name.empty())) {
    return cat("const(", quoted_string(side_name(c)), ")");
  }
  if (c.name.empty()) return show_tensor(*c.value);
  return cat("const(", quoted_string(c.name.text()), ", ", show_tensor(*c.value), ")");
}

std::string Printer::callee_name(Expr e) {
  if (const auto* ref = e->as<CtorRef>()) return ctor_name(*ref->ctor);
  const auto* ref = e->as<OpRef>();
  const std::string_view name = options_.operators ? options_.operators->name(*ref->op) : "?";
  const bool hidden = module_ && module_->constructor(name);
  return cat(hidden ? "op " : "", quoted_dotted_name(name));
}

void Printer::leaf(Expr e) {
  if (const auto* c = e->as<Constant>()) {
    out_ += constant(*c);
  } else if (const auto* v = e->as<Var>()) {
    var(v);
  } else if (const auto* g = e->as<Global>()) {
    out_ += "@" + quoted_name(g->name.text());
  } else {
    const auto* ctor = e->as<CtorRef>();
    // The name alone of a constructor without fields is a call of it.
    if (ctor && ctor->ctor->fields.empty()) out_ += "ctor ";
    out_ += callee_name(e);
  }
}

// ---- Small parts ----

void Printer::line() {
  out_ += '\n';
  out_.append(static_cast<size_t>(std::min(indent_, kMostIndent)) * 2, ' ');
}

void Printer::attrs_after(bool first, const Attrs& attrs) {
  if (attrs.empty()) return;
  if (!first) out_ += ", ";
  out_ += print_attrs(attrs);
}

// [A](%x: T, attr=1) -> R
void Printer::fn_header(const Fn& fn) {
  for (const TypeVar* v : fn.type_params) ++type_params_[v->name];
  if (!fn.type_params.empty()) {
    out_ +=
        cat("[", join(fn.type_params, ", ", [](const TypeVar* v) { return quoted_word(v->name.text()); }));
    for (size_t i = 0; i < fn.where.size(); ++i) {
      out_ += i == 0 ? " where " : ", ";
      type(fn.where[i]);
    }
    out_ += "]";
  }
  out_ += "(";
  for (size_t i = 0; i < fn.params.size(); ++i) {
    if (i > 0) out_ += ", ";
    annotated(fn.params[i]);
  }
  attrs_after(fn.params.empty(), fn.attrs);
  out_ += ")";
  if (fn.result) {
    out_ += " -> ";
    type(fn.result);
  }
}

void Printer::pattern(Pattern p) {
  struct Open {
    Pattern p;
    size_t next;
  };
  std::vector<Open> open{{p, 0}};
  while (!open.empty()) {
    Open& o = open.back();
    if (o.next == 0) {
      if (o.p->kind == PatternKind::kWildcard) out_ += "_";
      if (o.p->kind == PatternKind::kVar) annotated(o.p->var);
      if (o.p->kind == PatternKind::kCtor) out_ += ctor_name(*o.p->ctor);
      const bool fields = !o.p->fields.empty() || o.p->kind == PatternKind::kTuple;
      if (!fields) {
        open.pop_back();
        continue;
      }
      out_ += "(";
    }
    if (o.next == o.p->fields.size()) {
      if (o.p->kind == PatternKind::kTuple && o.p->fields.size() == 1) out_ += ",";
      out_ += ")";
      open.pop_back();
      continue;
    }
    if (o.next > 0) out_ += ", ";
    open.push_back({o.p->fields[o.next++], 0});
  }
}

}  // namespace relay::text
