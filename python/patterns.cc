// relay.pattern and relay.Pattern: pattern/text.h, pattern/match.h, pattern/rewrite.h. Module's
// iterator over expressions is here, too.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/cat.h"
#include "base/failure.h"
#include "ir/analysis.h"
#include "ir/text/printer.h"
#include "ir/traverse.h"
#include "passes/expand_grad.h"
#include "pattern/replacement.h"
#include "pattern/rewrite.h"
#include "pattern/text.h"
#include "python/bindings.h"
#include "python/errors.h"
#include "python/expr.h"
#include "python/make.h"
#include "python/model.h"
#include "python/tensors.h"
#include "python/work.h"

namespace relay::python {
namespace {

HomeRef home_of(const Program& p) {
  auto home = std::make_shared<Home>();
  home->module = p.model.module;
  home->mutex = p.context;
  home->files = p.files;
  return home;
}

std::vector<Expr> roots_of(const Module& m) {
  std::vector<Expr> out;
  for (const auto& [name, fn] : m.functions()) out.push_back(fn);
  return out;
}

std::vector<ExprHandle> expressions(const Program& p, const std::optional<std::string>& function) {
  std::vector<Expr> roots;
  if (function) {
    const Fn* fn = p.model.module.function(*function);
    if (!fn) throw py::key_error(cat("there is no function @", *function));
    roots.push_back(fn);
  } else {
    roots = roots_of(p.model.module);
  }
  const HomeRef home = home_of(p);
  std::vector<ExprHandle> out;
  for (Expr e : post_order(roots)) out.push_back({home, e});
  return out;
}

// What an expression says of itself, beside its form, type and place.

// The name of a variable, a function, an operator or a constructor, or of the operator that a call
// calls. Nullopt for others.
std::optional<std::string> name_in(const ExprHandle& e) {
  const auto* call = e.node->as<Call>();
  const Expr named = call ? call->callee : e.node;
  if (const auto* n = named->as<OpRef>()) return std::string(op::name(*n->op));
  if (const auto* n = named->as<Global>()) return n->name.str();
  if (const auto* n = named->as<CtorRef>()) return n->ctor->name.str();
  if (const auto* n = named->as<Var>()) return n->name.str();
  return std::nullopt;
}

// Attributes of a call or a function, as a text has them.
std::map<std::string, std::string> attributes(const ExprHandle& e) {
  const auto lock = hold(*e.home);
  const auto* call = e.node->as<Call>();
  const auto* fn = e.node->as<Fn>();
  std::map<std::string, std::string> out;
  if (!call && !fn) return out;
  for (const Attr& a : call ? call->attrs : fn->attrs) out.emplace(a.name.str(), show(a.value));
  return out;
}

py::object value_of_constant(const ExprHandle& e) {
  const auto* constant = e.node->as<Constant>();
  return constant ? py::object(array_of(*constant->value)) : py::none();
}

// --- patterns ------------------------------------------------------------------------------------

struct Pattern {
  pattern::Pattern pattern;
  std::string text;
  std::vector<std::string> names;
};

// One way in which a pattern matches.
struct Match {
  HomeRef home;
  pattern::Match match;
  std::vector<std::string> names;

  std::vector<ExprHandle> handles(const std::vector<Expr>& all) const {
    std::vector<ExprHandle> out;
    for (Expr e : all) out.push_back({home, e});
    return out;
  }
  void check_name(const std::string& name) const {
    if (std::find(names.begin(), names.end(), name) == names.end())
      throw py::key_error(cat("the pattern has no part %", name));
  }
  std::optional<ExprHandle> at(const std::string& name) const {
    check_name(name);
    const Expr e = match.at(name);
    return e ? std::optional(ExprHandle{home, e}) : std::nullopt;
  }
  std::vector<ExprHandle> all(const std::string& name) const {
    check_name(name);
    return handles(match.all(name));
  }
};

Pattern parse(const std::string& text, const Program* module) {
  ParseOptions options;
  std::unique_lock<ContextMutex> lock;
  if (module) {
    options.into = module->model.module;
    lock = lock_interruptibly(*module->context);
  }
  Diagnostics diagnostics;
  const Result<pattern::Pattern> parsed = pattern::parse("<pattern>", text, diagnostics, options);
  if (!parsed) raise_diagnostics(diagnostics, options.into.context().sources());
  return {*parsed, pattern::print(*parsed), pattern::names_of(*parsed)};
}

// What asks too much of the matcher is a limit.
template <class Body>
auto limited(const Body& body) {
  try {
    return body();
  } catch (const Exhausted& limit) {
    raise_limit(limit.what());
  }
}

std::optional<Match> match(const Pattern& p, const ExprHandle& e) {
  const auto lock = hold(*e.home);
  return limited([&]() -> std::optional<Match> {
    std::optional<pattern::Match> found = pattern::match(p.pattern, e.node);
    if (!found) return std::nullopt;
    return Match{e.home, std::move(*found), p.names};
  });
}

std::vector<Match> matches(const Pattern& p, const Program& program) {
  const auto lock = lock_interruptibly(*program.context);
  return limited([&] {
    std::vector<Match> out;
    const HomeRef home = home_of(program);
    const std::vector<Expr> roots = roots_of(program.model.module);
    const pattern::Graph graph{std::span<const Expr>(roots)};
    pattern::Matcher matcher(p.pattern, graph);
    for (Expr e : graph.order()) {
      if (std::optional<pattern::Match> found = matcher.match(e))
        out.push_back({home, std::move(*found), p.names});
    }
    return out;
  });
}

// --- rewriting -----------------------------------------------------------------------------------

// A rewriting under way: makes replacements of a text, or by a function of Python's, which is
// called without the lock.
class Rewriting {
 public:
  Rewriting(const Pattern& p, const Program& program, const py::object& replacement)
      : pattern_(p), program_(program), home_(home_of(program)) {
    if (py::isinstance<py::str>(replacement)) {
      const auto lock = lock_interruptibly(*program_.context);
      text_ = read(py::str(replacement));
    } else if (PyCallable_Check(replacement.ptr())) {
      function_ = replacement;
    } else {
      throw py::type_error("argument `replacement` is no text and no function from a match to an expression");
    }
  }

  static Program run(const std::shared_ptr<Rewriting>& r, bool once) {
    limited([&] {
      if (r->text_) {
        run_interruptibly(
            [r, once] {
              const std::lock_guard guard(*r->program_.context);
              r->rewrite(once);
            },
            nullptr, r->abandoned_);
      } else {
        const Busy busy(Busy::With::kFunctions);
        r->lock_ = lock_interruptibly(*r->program_.context);
        r->rewrite(once);
        r->lock_.unlock();  // who is warned may look at the module
      }
    });
    if (!r->is_typed_) raise_diagnostics(r->diagnostics_, r->program_.sources());
    warn(r->diagnostics_, r->program_.sources());
    Program out = r->program_;
    out.model.module = r->now_;
    return out;
  }

 private:
  static constexpr size_t kMostRounds = pattern::RewriteOptions{}.most_rounds;
  // A module may become so many times as large; one of a few expressions counts as one of kSmall.
  static constexpr size_t kMostGrowth = 64, kSmall = 1024;

  static size_t size_of(const Module& m) {
    const std::vector<Expr> roots = roots_of(m);
    return pattern::Graph{std::span<const Expr>(roots)}.order().size();
  }

  // With the lock. With the GIL only if there is a function to call.
  void rewrite(bool once) {
    const std::vector<pattern::Rule> rules{
        {pattern_.text, pattern_.pattern,
         [this](Builder& b, const pattern::Match& m) { return checked(b, m, replace(m)); }}};
    const size_t most = kMostGrowth * (size_of(now_) + kSmall);
    for (size_t rounds = 0; rounds == 0 || !once; ++rounds) {
      const Module next = pattern::rewrite(now_, rules, {.once = true});
      if (next.same(now_)) return;
      std::optional<Unlocked> without;
      if (function_) without.emplace();
      if (rounds == kMostRounds) {
        throw Exhausted(
            cat("rewriting did not end after ", kMostRounds, " rounds: `", pattern_.text, "` still matches"));
      }
      // A replacement that the pattern matches twice doubles in each round.
      if (const size_t size = size_of(next); size > most) {
        throw Exhausted(cat("rewriting made ", size, " expressions in ", rounds + 1,
                            " rounds: what replaces `", pattern_.text, "` matches again"));
      }
      // The next round looks at types.
      diagnostics_.clear();
      is_typed_ = check(next);
      if (!is_typed_) return;
    }
  }

  bool check(const Module& next) {
    // An expression of another place in the module may mention what is bound there.
    if (const std::vector<std::string> wrong = well_formed(next); !wrong.empty())
      throw py::value_error(
          cat("the replacement of `", pattern_.text, "` does not fit where it stands: ", wrong[0]));
    Result<Module> checked = passes::checked(next, diagnostics_);
    if (!checked) return false;
    check_types(now_, *checked);
    now_ = std::move(*checked);
    return true;
  }

  pattern::Replacement read(const std::string& text) const {
    Diagnostics diagnostics;
    Result<pattern::Replacement> parsed = pattern::Replacement::parse("<replacement>", text, pattern_.pattern,
                                                                      program_.model.module, diagnostics);
    if (!parsed) raise_diagnostics(diagnostics, program_.sources());
    return std::move(*parsed);
  }

  Expr replace(const pattern::Match& m) {
    if (text_) {
      if (*abandoned_) throw Exhausted(std::string(kAbandoned));
      return text_->make(m);
    }
    lock_.unlock();
    py::object given;
    {
      const CurrentHome current(home_);  // what it makes without operands is made there
      given = function_(Match{home_, m, pattern_.names});
    }
    lock_ = lock_interruptibly(*program_.context);
    if (given.is_none()) return nullptr;
    if (py::isinstance<py::str>(given)) return read(py::str(given)).make(m);
    if (!py::isinstance<ExprHandle>(given))
      throw py::type_error(cat("the replacement of `", pattern_.text, "` is a ", class_name(given),
                               ": return a relay.Expr, a text, or None to leave the match as it is"));
    const auto& e = py::cast<const ExprHandle&>(given);
    if (&e.home->context() != &program_.model.module.context())
      throw py::value_error("the replacement is an expression of another module");
    return e.node;
  }

  // It has the type of what it replaces already, because a match around it may ask for it.
  Expr checked(Builder& b, const pattern::Match& m, Expr replacement) {
    if (!replacement) return nullptr;
    if (m.root()->kind == ExprKind::kFn && replacement->kind != ExprKind::kFn)
      throw py::value_error("a function may only be replaced by a function");
    if (replacement->type || replacement->kind == ExprKind::kVar) return replacement;
    Expr& typed = typed_[replacement];  // one for all matches that it replaces
    if (!typed) typed = b.with_type(replacement, m.root()->type);
    return typed;
  }

  // A replacement has the type of what it replaces. What breaks that within a function breaks the
  // type check, or shows in the function's type.
  static void check_types(const Module& before, const Module& after) {
    for (const auto& [name, fn] : before.functions()) {
      const std::string was = relay::print(fn->type), is = relay::print(after.function(name.text())->type);
      if (was != is)
        throw py::value_error(cat("the replacement changes the type of @", name.text(), " from ", was, " to ",
                                  is, ": it must have the type of what it replaces"));
    }
  }

  static constexpr std::string_view kAbandoned = "nobody waits for the rewriting";

  // Copies: who is interrupted leaves the rewriting behind.
  const Pattern pattern_;
  const Program program_;
  HomeRef home_;
  py::object function_;
  std::optional<pattern::Replacement> text_;
  const std::shared_ptr<std::atomic<bool>> abandoned_ = std::make_shared<std::atomic<bool>>(false);
  Module now_ = program_.model.module;
  Diagnostics diagnostics_;
  bool is_typed_ = true;
  std::unordered_map<Expr, Expr> typed_;
  std::unique_lock<ContextMutex> lock_;
};

Program rewrite(const Pattern& p, const Program& program, const py::object& replacement, bool once) {
  return Rewriting::run(std::make_shared<Rewriting>(p, program, replacement), once);
}

}  // namespace

void bind_patterns(py::module_& m) {
  py::class_<ExprHandle>(m.attr("Expr"))
      .def_property_readonly(
          "name", &name_in,
          "of a variable, a function, an operator or a constructor, or of the one that a call\n"
          "calls; None for others")
      .def_property_readonly("attributes", &attributes, "of a call or a function, as a text has them")
      .def_property_readonly("value", &value_of_constant, "of a constant, as an array; None for others");
  py::class_<Match>(m, "Match", "One way in which a pattern matches: `match[\"x\"]` is what %x matched.")
      .def_property_readonly("root", [](const Match& x) { return ExprHandle{x.home, x.match.root()}; })
      .def_readonly("names", &Match::names, "of the pattern's parts")
      .def_property_readonly(
          "region", [](const Match& x) { return x.handles(x.match.region()); },
          "the expressions that the pattern describes, the root first")
      .def("all", &Match::all, py::arg("name"), "What a part of a path matched, which may be several.")
      .def("__getitem__", &Match::at, py::arg("name"),
           "None if the part is in an alternative that was not taken.")
      .def("__repr__",
           [](const Match& x) { return cat("<relay.Match of ", name_of(x.match.root()->kind), ">"); });
  py::class_<Pattern>(m, "Pattern", "A region of programs by its structure (docs/patterns.md).")
      .def_readonly("names", &Pattern::names, "of its parts")
      .def("match", &match, py::arg("expr"),
           "How the pattern matches the expression as a whole program; None if it does not.")
      .def("matches", &matches, py::arg("module"), "All matches in the module, in the order of evaluation.")
      .def(
          "rewrite", &rewrite, py::arg("module"), py::arg("replacement"), py::kw_only(),
          py::arg("once") = false,
          "The module with every match replaced, again and again until none is left.\n\n"
          "`replacement` is a text over the pattern's parts, as \"nn.relu(%x)\", or a function from a match\n"
          "to such a text, an Expr of the module, or None, which leaves the match as it is. `once`: one "
          "round.")
      .def("__str__", [](const Pattern& p) { return p.text; })
      .def("__repr__", [](const Pattern& p) { return cat("<relay.Pattern ", p.text, ">"); });
  m.def("pattern", &parse, py::arg("text"), py::kw_only(), py::arg("module") = nullptr,
        "Reads a pattern: \"nn.relu(nn.dense(%x, %w))\". Its types and functions are those of `module`.\n"
        "Raises DiagnosticError.");
  py::class_<Program>(m.attr("Module"))
      .def("expressions", &expressions, py::arg("function") = py::none(),
           "The expressions of all functions, or of one, each once and in the order of evaluation.");
}

}  // namespace relay::python
