// Where ways meet: values of both become one, and a way that was refused becomes a trap.
//
// A node may be wrong on one way only: an `LSTM` whose input has four dimensions if a branch was
// taken that no run takes. So a refusal on a way is kept until the ways meet. If both were refused,
// the refusals are errors of the model. Otherwise they are warnings, and on the way that was
// refused stands a kernel that fails.
#include <algorithm>

#include "base/cat.h"
#include "frontend/onnx/importer.h"
#include "frontend/onnx/names.h"
#include "frontend/onnx/sequences.h"
#include "kernel/builder.h"

namespace relay::frontend {
namespace {

// A type that values of both types have; null if there is none.
Type common_type(Context& context, Type a, Type b) { return a && b ? joined_type(context, a, b) : nullptr; }

// Null for a sequence or an optional value that is known.
Type type_of(Context& context, const Operand& o) {
  if (!o.expr && o.elements) return nullptr;
  return o.expr ? o.expr->type : context.tensor_type(o.index->shape, o.index->dtype);
}

// What is known of elements on both ways and outside of them.
std::optional<IndexTensor> common_index(const Operand& yes, const Bindings& in_yes, const Operand& no) {
  if (!yes.index || !no.index || yes.index->shape != no.index->shape || yes.index->dtype != no.index->dtype)
    return std::nullopt;
  IndexTensor out = *yes.index;
  for (size_t i = 0; i < out.elements.size(); ++i) {
    const Dim d = in_yes.outside(out.elements[i]);
    out.elements[i] = d == no.index->elements[i] ? d : Dim::unknown();
  }
  return out;
}

}  // namespace

std::optional<std::vector<Operand>> Importer::join_ways(Fork& fork, const std::vector<JoinedValue>& given) {
  uint32_t yes_refused = fork.yes.refusal, no_refused = fork.no.refusal;
  for (const JoinedValue& v : given) {
    if (v.yes && yes_refused == 0) yes_refused = v.yes->refusal;
    if (v.no && no_refused == 0) no_refused = v.no->refusal;
  }
  // A value that failed for another reason than a refusal on the way: the model is refused anyway.
  const bool failed = std::any_of(given.begin(), given.end(), [&](const JoinedValue& v) {
    return !v.yes || !v.no || (v.yes->failed && yes_refused == 0) || (v.no->failed && no_refused == 0);
  });
  if (fork.refused || failed || (yes_refused != 0 && no_refused != 0)) {
    sink_->add(fork.refusals);
    return std::vector<Operand>(given.size(), failed_operand(std::max(yes_refused, no_refused)));
  }
  // On a way that fails each value is whatever it is on the other.
  std::vector<JoinedValue> values;
  for (const JoinedValue& v : given)
    values.push_back({v.name, yes_refused != 0 ? v.no : v.yes, no_refused != 0 ? v.yes : v.no});
  try {
    std::optional<std::vector<Operand>> out = join_values(fork, values, yes_refused, no_refused);
    if (out) warn_of(fork.refusals);
    return out;
  } catch (const Refusal& refusal) {
    sink_->add(fork.refusals);
    const uint32_t number = refuse(*fork.node, refusal);
    return std::vector<Operand>(given.size(), failed_operand(number));
  }
}

std::optional<std::vector<Operand>> Importer::join_values(Fork& fork, const std::vector<JoinedValue>& given,
                                                          uint32_t yes_refused, uint32_t no_refused) {
  // What is no tensor is taken apart, and put together again afterwards.
  JoinedBranches parts(*this);
  for (const JoinedValue& v : given) {
    if (!parts.add(v)) return std::nullopt;
  }
  const std::vector<JoinedValue>& values = parts.values();
  if (values.empty()) return parts.rebuilt({});
  const Bindings& in_yes = yes_refused != 0 ? *fork.no.bindings : *fork.yes.bindings;
  const Bindings& in_no = no_refused != 0 ? *fork.yes.bindings : *fork.no.bindings;
  std::vector<Type> types;
  for (const JoinedValue& v : values) {
    const Type yes = in_yes.outside(context(), type_of(context(), *v.yes)),
               no = in_no.outside(context(), type_of(context(), *v.no));
    types.push_back(common_type(context(), yes, no));
    if (!types.back() || v.yes->storage != v.no->storage) return std::nullopt;
  }
  const SpanScope span(builder_, span_of(*fork.node));
  const Type type = types.size() == 1 ? types[0] : context().tuple_type(types);
  const auto way = [&](const Path& path, uint32_t refused, Operand* JoinedValue::* side) {
    if (refused != 0) return trap(refused, type);
    std::vector<Expr> fields;
    // Two extents that differ for certain have to be hidden: else the type checker
    // refuses the `if`.
    for (size_t i = 0; i < values.size(); ++i)
      fields.push_back(widened(builder_, carrier(*(values[i].*side)), types[i]));
    return path.bindings->enclose(builder_, fields.size() == 1 ? fields[0] : builder_.tuple(fields));
  };
  const Expr yes = way(fork.yes, yes_refused, &JoinedValue::yes);
  const Expr no = way(fork.no, no_refused, &JoinedValue::no);
  const Expr whole = builder_.with_type(builder_.if_(fork.test, yes, no), type);
  std::vector<Operand> out(values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    const Expr part = values.size() == 1 ? whole : builder_.proj(whole, static_cast<uint32_t>(i));
    out[i].expr = name_extents(part, values[i].name);
    out[i].index = common_index(*values[i].yes, in_yes, *values[i].no);
    out[i].storage = values[i].yes->storage;
  }
  return parts.rebuilt(std::move(out));
}

// A `match` without arms has any type. What it looks at is computed first, and that fails.
Expr Importer::trap(uint32_t refusal, Type type) {
  const std::string name = cat("refused_", refusal);
  if (!module_.kernel(name)) {
    kernel::Builder k(context().pool());
    const kernel::Tensor never = k.compute("never", kBool, {}, [&](kernel::Indices) {
      k.require(k.constant(kBool, 0), refused_[refusal - 1]);
      return k.constant(kBool, 0);
    });
    module_.set_kernel(name, context().arena().make<kernel::Kernel>(k.finish(name, "", {never})));
  }
  const Type truth = context().scalar_type(kBool);
  const Expr failing = builder_.call(builder_.global(name, context().fn_type({}, {}, truth)), {}, {}, truth);
  return builder_.with_type(builder_.match(failing, {}, false), type);
}

uint32_t Importer::refuse(const ::onnx::NodeProto& proto, const Refusal& refusal) {
  // Limits count what all ways cost.
  if (refusal.slug.fault() == Fault::kLimit) {
    report(proto, refusal);
    return 0;
  }
  refused_.push_back(describe(proto, refusal, *sink_).message());
  return static_cast<uint32_t>(refused_.size());
}

void Importer::warn_of(const Diagnostics& refusals) {
  for (const Diagnostic& d : refusals.all()) {
    if (!warned_.insert({d.span().begin, d.message()}).second) continue;
    Diagnostic& w = diagnostics_.warning(d.span(), d.slug(), d.message());
    for (const std::string& note : d.notes()) w.note(note);
    w.note("the model is imported: a run that needs the result fails with this message");
  }
}

void Importer::publish(const Path& path) {
  if (!path.fork) return;
  sink_->add(path.fork->refusals);
  for (const Path* way : {&path.fork->yes, &path.fork->no}) publish(*way);
}

void Importer::report_apart(const Fork& fork) {
  const Fork* inner = &fork;
  while (inner->yes.fork || inner->no.fork) inner = (inner->yes.fork ? inner->yes : inner->no).fork.get();
  for (const std::string& name : inner->apart) {
    const Operand &on_yes = *inner->yes.scope->find(name), &on_no = *inner->no.scope->find(name);
    if (on_yes.failed || on_no.failed) continue;
    const Type yes = type_of(context(), on_yes), no = type_of(context(), on_no);
    if (common_type(context(), yes, no) && on_yes.storage == on_no.storage) continue;
    const auto shown = [](Type type, const Operand& o) {
      return cat(show(type, 80), o.storage ? cat(" of ", o.storage->name) : "");
    };
    const std::string remedy = remedy_of(inner->condition);
    const auto& results = inner->node->output();
    const bool own = std::find(results.begin(), results.end(), name) != results.end();
    refuse(*inner->node, {"unsupported-operator-form",
                          cat("its branches give ", own ? "" : cat("`", printable(name), "` the types "),
                              shown(yes, on_yes), " and ", shown(no, on_no), ", and which one is not known"),
                          remedy});
    return;
  }
}

}  // namespace relay::frontend
