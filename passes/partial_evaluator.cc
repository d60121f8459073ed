#include "passes/partial_evaluator.h"

#include <algorithm>
#include <utility>

#include "analysis/effects.h"
#include "base/cat.h"
#include "base/failure.h"
#include "ir/rewrite.h"
#include "op/apply.h"
#include "op/registry.h"
#include "passes/call_instance.h"
#include "passes/normal_forms.h"
#include "passes/type_choices.h"

namespace relay::passes {
namespace {

constexpr int64_t kMostFolded = 1024;  // bytes of a result; larger ones are for `fold-constants`
// A function may make itself anew in each of its calls, and so without end in its own body.
constexpr size_t kMostBodies = 8;

Type type_of(Partial p) { return p.name->type; }

}  // namespace

PartialEvaluator::PartialEvaluator(const Module& m, PartialBudget budget)
    : module_(m), context_(m.context()), budget_(budget), out_(context_), kernels_(m) {}

const Fn* PartialEvaluator::run(const Fn* fn) {
  if (is_primitive(fn)) return fn;
  scopes_.push_back(scopes(fn));
  Frame* top = frame(&scopes_.back(), nullptr);
  for (const Var* p : fn->params) top->values[p] = {p};
  active_.push_back({fn, 0, {}});
  out_.open();
  pending_.push_back({Work::kScope, nullptr, top, scopes_.back().opens.get(fn)});
  run_to_end();
  if (unsupported_) return fn;
  const size_t block = out_.close(pop().name);
  memo_.forget_deeper(out_.depth());
  out_.find_needed(block, [&](size_t entry) { make_body(entry); });
  if (unsupported_ || decisions_ == 0) return fn;
  Builder& b = out_.builder();
  const SpanScope at(b, fn->span);
  const Fn* now =
      b.fn({fn->params.begin(), fn->params.end()}, out_.expression(block), fn->result, fn->attrs,
           {fn->type_params.begin(), fn->type_params.end()}, {fn->where.begin(), fn->where.end()});
  return alpha_equal(fn, now) ? fn : now;
}

void PartialEvaluator::run_to_end() {
  const size_t bottom = pending_.size() - 1;
  while (pending_.size() > bottom && !unsupported_) {
    const Work w = pending_.back();
    pending_.pop_back();
    ++steps_;
    step(w);
    end_attempts();
  }
}

void PartialEvaluator::step(const Work& w) {
  switch (w.what) {
    case Work::kEvaluate: return evaluate(w);
    case Work::kScope: return scope(w);
    case Work::kKeep: w.frame->values[w.e] = pop(); return;
    case Work::kBind: return bind(w);
    case Work::kForm: return form(w);
    case Work::kDecide: return decide(w);
    case Work::kOpen: return open(w);
    case Work::kClose: return close();
    case Work::kJoin: return join(w);
    case Work::kCoerce: values_.push_back(coerce(pop(), w.e->type)); return;
    case Work::kReturn: return end_call(*w.e->as<Call>());
  }
}

// --- Expressions ---------------------------------------------------------------------------------

void PartialEvaluator::evaluate(const Work& w) {
  const Expr e = w.e;
  if (e->kind == ExprKind::kVar || (!is_leaf(e) && w.frame->scopes->uses.get(e) > 1)) {
    if (const Partial* found = w.frame->find(e)) {
      values_.push_back(*found);
      return;
    }
  }
  if (e->kind == ExprKind::kVar) {
    unsupported_ = true;
    return;
  }
  if (is_leaf(e)) {
    values_.push_back(leaf(e));
    return;
  }
  if (const auto* fn = e->as<Fn>()) {
    values_.push_back(function(*fn, w.frame, w.name));
    return;
  }
  if (const auto* let = e->as<Let>()) {
    pending_.push_back({Work::kScope, nullptr, w.frame, w.frame->scopes->opens.get(e), w.name});
    pending_.push_back({Work::kBind, e, w.frame});
    pending_.push_back({Work::kEvaluate, let->value, w.frame, 0, let->x});
    return;
  }
  const bool decides = e->kind == ExprKind::kIf || e->kind == ExprKind::kMatch;
  pending_.push_back({decides ? Work::kDecide : Work::kForm, e, w.frame, 0, w.name});
  const size_t before = pending_.size();
  size_t position = 0;
  for_each_child(e, [&](Expr child) {
    if (!opens_scope(e, position++)) pending_.push_back({Work::kEvaluate, child, w.frame});
  });
  std::reverse(pending_.begin() + static_cast<std::ptrdiff_t>(before), pending_.end());
}

void PartialEvaluator::scope(const Work& w) {
  const Scopes::Scope& s = w.frame->scopes->all[w.index];
  pending_.push_back({Work::kEvaluate, s.body, w.frame, 0, w.name});
  for (size_t i = s.shared.size(); i-- > 0;) {
    // An enclosing function's node has its value already.
    if (w.frame->find(s.shared[i])) continue;
    pending_.push_back({Work::kKeep, s.shared[i], w.frame});
    pending_.push_back({Work::kEvaluate, s.shared[i], w.frame});
  }
}

Partial PartialEvaluator::leaf(Expr e) {
  const auto* ctor = e->as<CtorRef>();
  if (!ctor || !ctor->ctor->fields.empty()) return {e};
  const Known* value = known({.kind = Known::Kind::kData, .ctor = ctor->ctor});
  const auto* type = e->type ? e->type->as<DataType>() : nullptr;
  if (!type || type->args.empty()) return {e, value};
  return {out_.emit(e, e->type, {}), value};
}

Partial PartialEvaluator::function(const Fn& fn, Frame* frame, const Var* name) {
  if (is_primitive(&fn)) {
    if (!free_vars(&fn).empty()) unsupported_ = true;
    return {refresh(context_, &fn)};
  }
  const Var* x = out_.emit(&fn, fn.type, name ? name->name.text() : std::string_view());
  closures_.insert_or_assign(*out_.entry_of(x), Closure{&fn, frame});
  return {x, known({.kind = Known::Kind::kClosure, .fn = &fn, .frame = frame})};
}

void PartialEvaluator::bind(const Work& w) {
  const auto& let = *w.e->as<Let>();
  Partial value = coerce(pop(), let.x->type);
  const bool is_callable = value.name->kind == ExprKind::kOpRef || value.name->kind == ExprKind::kGlobal ||
                           value.name->kind == ExprKind::kCtorRef;
  if (is_callable && let.x->annotation) {
    // The annotation says at which types it is a value.
    const Known* callable = known({.kind = Known::Kind::kCallable, .callable = value.name});
    value = {out_.emit(value.name, let.x->type, let.x->name.text()), callable};
  }
  w.frame->values[let.x] = value;
}

void PartialEvaluator::form(const Work& w) {
  Builder& b = out_.builder();
  const Expr e = w.e;
  size_t children = 0;
  for_each_child(e, [&](Expr) { ++children; });
  std::vector<Partial> parts = take(children);
  std::vector<Expr> names;
  for (Partial p : parts) names.push_back(p.name);
  const auto made = [&](Known k) {
    k.fields = std::move(parts);
    for (Partial p : k.fields) k.weight += p.known ? std::min(p.known->weight, SIZE_MAX / 1024) : 0;
    return known(std::move(k));
  };
  const SpanScope at(b, e->span);
  if (const auto* call = e->as<Call>()) {
    const Partial callee = parts.front();
    parts.erase(parts.begin());
    names.erase(names.begin());
    const auto* ctor = callee.name->as<CtorRef>();
    if (!ctor) return this->call(w, *call, callee, std::move(parts));
    Partial out = unknown(b.call(callee.name, names, {}, e->type), e->type, w.name);
    out.known = made({.kind = Known::Kind::kData, .ctor = ctor->ctor});
    values_.push_back(out);
  } else if (e->kind == ExprKind::kTuple) {
    Partial out = unknown(b.tuple(names), e->type, w.name);
    out.known = made({.kind = Known::Kind::kTuple});
    values_.push_back(out);
  } else if (const auto* proj = e->as<Proj>()) {
    const Known* tuple = parts[0].known;
    decisions_ += tuple != nullptr;
    values_.push_back(tuple ? coerce(tuple->fields[proj->index], e->type)
                            : unknown(b.proj(names[0], proj->index), e->type, w.name));
  } else if (e->kind == ExprKind::kRefNew) {
    Partial out = unknown(b.ref_new(names[0]), e->type, w.name);
    out.known = known({.kind = Known::Kind::kCell, .cell = store_.add(parts[0])});
    values_.push_back(out);
  } else if (e->kind == ExprKind::kRefRead) {
    const Known* cell = parts[0].known;
    const std::optional<Partial> contents = cell ? store_.read(cell->cell) : std::nullopt;
    decisions_ += contents.has_value();
    values_.push_back(contents ? coerce(*contents, e->type) : unknown(b.ref_read(names[0]), e->type, w.name));
  } else {
    const Known* cell = parts[0].known;
    const auto* own = cell ? parts[0].name->as<Var>() : nullptr;
    out_.emit(b.ref_write(names[0], names[1]), e->type, {}, own ? Noticed::kThroughCell : Noticed::kAlways,
              own);
    if (cell) {
      store_.set(cell->cell, parts[1]);
    } else {
      store_.forget_all();
    }
    values_.push_back(unknown(b.tuple({}), e->type, w.name));
  }
}

Partial PartialEvaluator::coerce(Partial value, Type type) {
  if (!type || !type_of(value) || type_of(value) == type || type->kind == TypeKind::kFn) return value;
  const Var* x = out_.builder().var(cat("v", out_.size()), type);
  return {out_.emit_as(x, value.name, type)};
}

Partial PartialEvaluator::unknown(Residual::Form form, Type type, const Var* name, Noticed noticed) {
  return {out_.emit(std::move(form), type, name ? name->name.text() : std::string_view(), noticed)};
}

// --- Branches ------------------------------------------------------------------------------------

void PartialEvaluator::decide(const Work& w) {
  const Partial value = pop();
  const uint32_t first = w.frame->scopes->opens.get(w.e);
  std::optional<uint32_t> taken;
  uint32_t ways = 2;
  if (const auto* match = w.e->as<Match>()) {
    ways = static_cast<uint32_t>(match->arms.size());
    for (uint32_t i = 0; i < ways; ++i) {
      const Fit fits = fit(match->arms[i].pattern, value);
      if (fits == Fit::kNo) continue;
      if (fits == Fit::kYes) taken = i;
      break;
    }
    if (taken) bind_pattern(match->arms[*taken].pattern, value, w.frame);
  } else if (const auto* c = value.name->as<Constant>()) {
    taken = c->value->get_int(0) != 0 ? 0 : 1;
  }
  if (taken) {
    ++decisions_;
    taken_ += ways > 1;
    pending_.push_back({Work::kCoerce, w.e, w.frame});
    pending_.push_back({Work::kScope, nullptr, w.frame, first + *taken, w.name});
    return;
  }
  joining_.push_back({w.e, value, store_.mark()});
  pending_.push_back({Work::kJoin, w.e, w.frame, 0, w.name});
  for (uint32_t i = ways; i-- > 0;) {
    pending_.push_back({Work::kClose, w.e, w.frame});
    pending_.push_back({Work::kScope, nullptr, w.frame, first + i});
    pending_.push_back({Work::kOpen, w.e, w.frame, i});
  }
}

void PartialEvaluator::open(const Work& w) {
  out_.open();
  ++depth_;
  if (const auto* match = w.e->as<Match>())
    joining_.back().patterns.push_back(fresh_pattern(match->arms[w.index].pattern, w.frame));
}

// What the branch wrote to cells is taken back for the next one.
void PartialEvaluator::close() {
  Joining& j = joining_.back();
  j.blocks.push_back(out_.close(pop().name));
  memo_.forget_deeper(out_.depth());
  --depth_;
  const std::vector<size_t> changed = store_.go_back(j.store_mark);
  j.changed.insert(j.changed.end(), changed.begin(), changed.end());
}

void PartialEvaluator::join(const Work& w) {
  const Joining j = std::move(joining_.back());
  joining_.pop_back();
  for (size_t cell : j.changed) store_.set(cell, std::nullopt);
  Residual::Form form(j.e, j.value.name);
  form.patterns = j.patterns;
  form.blocks = j.blocks;
  const auto* match = j.e->as<Match>();
  const bool noticed = (match && !match->total) || out_.noticed(j.blocks);
  values_.push_back(
      unknown(std::move(form), j.e->type, w.name, noticed ? Noticed::kAlways : Noticed::kNothing));
}

void PartialEvaluator::bind_pattern(Pattern pattern, Partial value, Frame* frame) {
  Builder& b = out_.builder();
  std::vector<std::pair<Pattern, Partial>> pending{{pattern, value}};
  while (!pending.empty()) {
    const auto [p, v] = pending.back();
    pending.pop_back();
    if (p->kind == PatternKind::kVar) frame->values[p->var] = coerce(v, p->var->type);
    for (uint32_t i = static_cast<uint32_t>(p->fields.size()); i-- > 0;) {
      if (v.known) {
        pending.emplace_back(p->fields[i], v.known->fields[i]);
      } else {
        const Expr field = b.proj(v.name, i);
        pending.emplace_back(p->fields[i], unknown(field, field->type, p->fields[i]->var));
      }
    }
  }
}

// The pattern with variables of its own, of which nothing is known.
Pattern PartialEvaluator::fresh_pattern(Pattern root, Frame* frame) {
  Builder& b = out_.builder();
  std::vector<Pattern> order;
  for_each_pattern(root, [&](Pattern p) { order.push_back(p); });
  std::unordered_map<Pattern, Pattern> now;
  for (size_t i = order.size(); i-- > 0;) {
    const Pattern p = order[i];
    std::vector<Pattern> fields;
    for (Pattern field : p->fields) fields.push_back(now.at(field));
    switch (p->kind) {
      case PatternKind::kWildcard: now[p] = b.wildcard(); break;
      case PatternKind::kCtor: now[p] = b.ctor_pattern(*p->ctor, fields); break;
      case PatternKind::kTuple: now[p] = b.tuple_pattern(fields); break;
      case PatternKind::kVar: {
        const Expr x = b.with_type(b.var(p->var->name.text(), p->var->annotation), p->var->type);
        frame->values[p->var] = {x};
        now[p] = b.bind(x->as<Var>());
        break;
      }
    }
  }
  return now.at(root);
}

// --- Functions in the residual program -----------------------------------------------------------

// A function with variables of the residual program in the place of its captures.
Expr PartialEvaluator::verbatim(const Fn& fn, Frame* frame) {
  const Expr now = rewrite(context_, &fn, [&](Builder&, Expr e) -> Expr {
    const Partial* found = frame->find(e);
    return found ? found->name : e;
  });
  return refresh(context_, now);
}

void PartialEvaluator::make_body(size_t entry) {
  const Closure closure = closures_.at(entry);
  const Fn& fn = *closure.fn;
  const auto* type = fn.type ? fn.type->as<FnType>() : nullptr;
  const bool is_generic = !type || !type->type_params.empty();
  if (is_generic || ++bodies_[&fn] > kMostBodies || steps_ > budget_.steps) {
    out_.entry(entry).form = Residual::Form(verbatim(fn, closure.frame));
    return;
  }
  Builder& b = out_.builder();
  Frame* inside = frame(closure.frame->scopes, closure.frame);
  std::vector<const Var*> params;
  for (const Var* p : fn.params) {
    const Type written = p->annotation ? p->annotation : p->type;
    params.push_back(b.with_type(b.var(p->name.text(), written), p->type)->as<Var>());
    inside->values[p] = {params.back()};
  }
  store_.forget_all();  // it may be called at any time
  active_.push_back({&fn, depth_, {}});
  out_.open();
  pending_.push_back({Work::kScope, nullptr, inside, inside->scopes->opens.get(&fn)});
  run_to_end();
  if (unsupported_) return;
  active_.pop_back();
  const size_t block = out_.close(pop().name);
  memo_.forget_deeper(out_.depth());
  out_.entry(entry).form.params = params;
  out_.entry(entry).form.blocks = {block};
}

// --- Small things --------------------------------------------------------------------------------

std::vector<Partial> PartialEvaluator::take(size_t n) {
  std::vector<Partial> out(values_.end() - static_cast<std::ptrdiff_t>(n), values_.end());
  values_.resize(values_.size() - n);
  return out;
}

Partial PartialEvaluator::pop() { return take(1)[0]; }

const Known* PartialEvaluator::known(Known k) {
  known_.push_back(std::move(k));
  return &known_.back();
}

Frame* PartialEvaluator::frame(const Scopes* scopes, Frame* around) {
  frames_.push_back({scopes, around});
  return &frames_.back();
}

// The value of a call of constants.
std::optional<Expr> PartialEvaluator::folded(const Call& n, const std::vector<Partial>& args) {
  const op::OpDef* def = op::callee(n);
  if (!def || def->effects == op::Effects::kEffect) return std::nullopt;
  const auto value_of = [](Partial p) -> std::optional<Value> {
    const auto* c = p.name->as<Constant>();
    return c ? std::optional<Value>(*c->value) : std::nullopt;
  };
  std::vector<Value> values;
  for (Partial p : args) {
    if (p.known && p.known->kind == Known::Kind::kTuple) {
      std::vector<Value> fields;
      for (Partial field : p.known->fields) {
        const std::optional<Value> v = value_of(field);
        if (!v) return std::nullopt;
        fields.push_back(*v);
      }
      values.push_back(Value::tuple(std::move(fields)));
    } else if (const std::optional<Value> v = value_of(p)) {
      values.push_back(*v);
    } else {
      return std::nullopt;
    }
  }
  const auto* tensor = n.type ? n.type->as<TensorType>() : nullptr;
  const auto shape = tensor ? tensor->static_shape() : std::nullopt;
  const auto count = shape ? element_count(*shape) : std::nullopt;
  if (!count || *count > kMostFolded / std::max<int64_t>(1, static_cast<int64_t>(tensor->dtype.bytes())))
    return std::nullopt;
  try {
    const Value value = op::evaluate(context_, *def, values, n.attrs);
    if (!value.is_tensor()) return std::nullopt;
    return out_.builder().constant(value.tensor());
  } catch (const Trap&) {
    return std::nullopt;  // it fails when it runs, not before
  }
}

}  // namespace relay::passes
