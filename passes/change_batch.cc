// change-batch: @main takes another number of examples at once.
//
//   change-batch{to=8}
//   def @main(%x: Tensor[(1, 3, 224, 224), float32]) { ... }       becomes
//   def @main(%x: Tensor[(8, 3, 224, 224), float32]) { ... }
//
// The batch is the leading extent of @main's first tensor, or what `from` says. Each parameter
// whose leading extent it is gets the new one, and all types follow anew. A weight may have that
// extent, too, as Tensor[(1, 64), float32]: with `inputs=2` only the first two parameters change.
// What the program writes of them goes: types of lets and of results. In a reshape of what has
// the batch in front, a number in front that is the batch becomes the new one. Calls of functions
// are inlined first.
//
// The pass is refused, with the place, where an extent would be made of the batch and of others, as
// where a reshape folds them: what is one example is not known there. It is refused, too, where a
// result had the old number in front and does not get the new one, as where the first example is
// taken out, and if the program does not type check for the new batch, as where a constant is as
// long as the old one.
//
// A batch that a shape variable stands for needs no pass: `--input-shapes` says what it is.
//
// Before: the batch is a constant. After: @main takes and gives the new one. No answer is compared
// with one before, as it is of another shape.
#include <algorithm>
#include <optional>
#include <set>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/cat.h"
#include "ir/rewrite.h"
#include "ir/traverse.h"
#include "ir/type_parts.h"
#include "op/ops.h"
#include "op/registry.h"
#include "op/tensor/reshape.h"
#include "passes/inner_pass.h"
#include "passes/map_types.h"
#include "passes/pass.h"
#include "typecheck/check.h"

namespace relay::passes {
namespace {

// The leading extent; nothing if it is no constant.
std::optional<int64_t> leading(Type type) {
  const auto* tensor = type ? type->as<TensorType>() : nullptr;
  if (!tensor || tensor->rank() == 0 || !tensor->dims[0].is_const()) return std::nullopt;
  return tensor->dims[0].value();
}

class BatchChanger {
 public:
  BatchChanger(const Module& m, int64_t from, size_t inputs)
      : out_(m),
        context_(m.context()),
        from_(from),
        inputs_(inputs),
        batch_(context_.shape_variable(fresh_variable(m))) {}

  // The module in which the batch has a name; nothing if no parameter has one.
  std::optional<Module> named() {
    const Fn& main = *out_.function("main");
    for (size_t i = 0; i < main.params.size(); ++i) {
      if (i < inputs_ && leading(main.params[i]->type) == from_) {
        replace(main.params[i]);
      } else {
        others_.insert(main.params[i]);
      }
    }
    if (by_.empty()) return std::nullopt;
    const Expr body = rewrite(context_, main.body, [&](relay::Builder& b, Expr e) { return node(b, e); });
    std::vector<const Var*> params;
    for (const Var* p : main.params) params.push_back(by_.contains(p) ? by_.at(p) : p);
    relay::Builder b(context_);
    const SpanScope at(b, main.span);
    out_.set_function("main", b.fn(params, body, nullptr, main.attrs));
    return out_;
  }

  std::string name() const { return show(batch_); }

  // Is there a result whose leading extent was the batch's, and is another one in the module that
  // was type checked?
  bool loses_batch(Type result, Type now) const {
    std::vector<std::pair<Type, Type>> pending{{result, now}};
    std::set<std::pair<Type, Type>> seen;  // types share parts
    while (!pending.empty()) {
      const auto [before, after] = pending.back();
      pending.pop_back();
      if (!seen.emplace(before, after).second) continue;
      const auto *tuple = before->as<TupleType>(), *fields = after->as<TupleType>();
      for (size_t i = 0; tuple && fields && i < tuple->fields.size(); ++i)
        pending.emplace_back(tuple->fields[i], fields->fields[i]);
      const auto* tensor = after->as<TensorType>();
      if (leading(before) == from_ && tensor && tensor->dims[0] != batch_) return true;
    }
    return false;
  }

  // What has an extent that is made of the batch and of others, in a module that was type checked.
  // Null if nothing has.
  Expr folding(const Module& checked) const {
    std::unordered_set<Type> seen;
    for (Expr e : post_order(checked.function("main")->body)) {
      bool folds = false;
      if (e->type && seen.insert(e->type).second && !e->as<OpRef>()) {
        for_each_type_in(e->type, [&](Type t) {
          if (const auto* tensor = t ? t->as<TensorType>() : nullptr) {
            for (Dim d : tensor->dims) folds |= mentions_batch(d) && d != batch_;
          }
          return !folds;
        });
      }
      if (folds) return e;
    }
    return nullptr;
  }

 private:
  static std::string fresh_variable(const Module& m) {
    std::set<std::string> taken;
    for (kernel::Expr v : shape_variables(m.context(), m.function("main"))) taken.insert(v->name.str());
    std::string name = "batch";
    while (taken.contains(name)) name += "_";
    return name;
  }

  bool mentions_batch(Dim d) const {
    if (!d.is_symbolic()) return false;
    const auto found = kernel::variables(d.symbolic());
    return std::any_of(found.begin(), found.end(),
                       [&](kernel::Expr v) { return v.get() == batch_.symbolic().get(); });
  }

  void replace(const Var* p) {
    const auto& type = *p->type->as<TensorType>();
    std::vector<Dim> dims(type.dims.begin(), type.dims.end());
    dims[0] = batch_;
    const Type now = context_.tensor_type(dims, type.dtype);
    relay::Builder b(context_);
    const SpanScope at(b, p->span);
    by_[p] = b.with_type(b.var(p->name.text(), now), now)->as<Var>();
    types_[by_.at(p)] = p->type;
  }

  // What stands for the expression. Variables that follow from the batch say no types.
  Expr node(relay::Builder& b, Expr e) {
    const auto* v = e->as<Var>();
    if (v && by_.contains(v)) return by_.at(v);
    const auto* tensor = v && v->annotation ? v->annotation->as<TensorType>() : nullptr;
    if (others_.contains(v)) return e;
    if (tensor && leading(tensor) == from_) {
      const Var* open = b.var(v->name.text());
      types_[open] = v->type;
      return open;
    }
    const auto* call = e->as<Call>();
    if (!call || op::callee(*call) != &op::kReshape) return e;
    const auto a = op::read_attrs<op::ReshapeAttrs>(call->attrs);
    const auto was = types_.find(call->args[0]);
    const Type of = was == types_.end() ? call->args[0]->type : was->second;
    if (leading(of) != from_ || a.newshape.empty() || a.newshape[0] != Dim(from_)) return e;
    std::vector<Dim> shape = a.newshape;
    shape[0] = batch_;
    std::vector<AttrArg> attrs{{"newshape", shape}};
    for (const Attr& other : call->attrs) {
      if (other.name != "newshape") attrs.push_back({other.name.str(), other.value});
    }
    return b.call(call->callee, call->args, context_.attrs(attrs));
  }

  Module out_;
  Context& context_;
  const int64_t from_;
  const size_t inputs_;  // parameters of @main that may have the batch
  const Dim batch_;
  std::unordered_map<const Var*, const Var*> by_;
  std::unordered_set<const Var*> others_;  // parameters that stay
  std::unordered_map<Expr, Type> types_;   // that new variables had
};

// Says why the batch stays as it is.
Module refused(const Module& m, const PassContext& pass, Span at, std::string_view why) {
  pass.diagnostics.error(at, "bad-pipeline", cat("pass `change-batch` is refused: ", why));
  return m;
}

std::string first_message(const Diagnostics& wrong) { return wrong.all().front().message(); }

Module changed(const Module& m, const PassContext& pass, int64_t from, int64_t to) {
  const Span at = m.function("main")->span;
  const int64_t inputs = pass.value("inputs");
  BatchChanger changer(m, from, inputs == 0 ? SIZE_MAX : static_cast<size_t>(inputs));
  const std::optional<Module> named = changer.named();
  if (!named) {
    const std::string first = inputs == 0 ? "" : cat(" up to number ", inputs);
    return refused(m, pass, at, cat("no parameter of @main", first, " has the leading extent ", from));
  }
  Diagnostics wrong;
  const Result<Module> open = typecheck::check(*named, wrong);
  if (!open)
    return refused(m, pass, at, cat("the program is made for a batch of ", from, ": ", first_message(wrong)));
  if (const Expr e = changer.folding(*open)) {
    const op::OpDef* def = op::callee(e);
    return refused(m, pass, e->span,
                   cat(def ? cat("`", def->name, "`") : "an expression",
                       " has an extent that is made of the batch and of others: ", show(e->type, 200)));
  }
  if (changer.loses_batch(m.function("main")->body->type, open->function("main")->body->type))
    return refused(m, pass, at, cat("a result has the extent ", from, " in front, whatever the batch is"));
  const Module out = bind_shape_variables(*open, "main", {{changer.name(), to}});
  if (typecheck::check(out, wrong)) return out;
  return refused(m, pass, at,
                 cat("for a batch of ", to, " the program does not type check: ", first_message(wrong)));
}

Module run(const Module& m, const PassContext& pass) {
  const Fn* main = m.function("main");
  const int64_t to = pass.value("to");
  if (!main || to == 0) return m;
  int64_t from = pass.value("from");
  for (const Var* p : main->params) {
    if (from == 0) from = leading(p->type).value_or(0);
  }
  if (from == 0)
    return refused(
        m, pass, main->span,
        "no parameter of @main has a constant leading extent; `--input-shapes` gives an open one its number");
  if (from == to) return m;
  const std::optional<Module> one = after_inner_pass(m, kInline, pass);
  return one ? changed(*one, pass, from, to) : m;
}

}  // namespace

const Pass kChangeBatch = {
    .name = "change-batch",
    .doc = "let @main take another number of examples at once",
    .parameters = {{"from", 0,
                    "the leading extent that changes; 0: that of the first tensor that @main takes"},
                   {"to", 0, "what it becomes; 0: it stays"},
                   {"inputs", 0, "how many parameters of @main may have it, from the first; 0: each"}},
    .approximates = true,  // the results are of another shape: they are compared with none before
    .run = run,
};

}  // namespace relay::passes
