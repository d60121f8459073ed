#include "tests/fuzz/run_program.h"

#include <algorithm>
#include <chrono>
#include <new>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/cat.h"
#include "base/failure.h"
#include "base/hash.h"
#include "frontend/graph/import.h"
#include "frontend/onnx/import.h"
#include "interp/machine.h"
#include "ir/text/parser.h"
#include "ir/traverse.h"
#include "op/operators.h"
#include "passes/expand_grad.h"

namespace relay::fuzz {

using Kind = Outcome::Kind;

Outcome judge(bool accepted, const Diagnostics& diagnostics, const SourceMap& sources) {
  std::string rendered = diagnostics.render(sources);
  if (accepted && diagnostics.has_errors()) return {Kind::kWrong, "it has a result and errors:\n" + rendered};
  if (!accepted && !diagnostics.has_errors()) return {Kind::kWrong, "it has neither a result nor an error"};
  for (char c : rendered) {
    if ((static_cast<unsigned char>(c) < 0x20 && c != '\n') || c == 0x7f)
      return {Kind::kWrong, "a message has a control character, which a terminal would obey"};
  }
  for (const Diagnostic& d : diagnostics.all()) {
    if (d.severity() != Severity::kError) continue;
    if (d.message().empty()) return {Kind::kWrong, "an error has no text"};
    // All inputs are small, so whoever finds no memory has asked for more than they are worth.
    if (d.slug() == "limit-memory") return {Kind::kWrong, "it asked for too much memory:\n" + rendered};
  }
  const bool limit = diagnostics.fault() == Fault::kLimit;
  return {accepted ? Kind::kAccepted : limit ? Kind::kExhausted : Kind::kRefused, std::move(rendered)};
}

namespace {

// What is larger takes time and memory, as it should, up to what exceeds the limit on memory: that
// must be refused at once.
constexpr int64_t kMostElements = int64_t{1} << 15;
constexpr int64_t kTooMany = int64_t{1} << 30;
constexpr size_t kMostFunctions = 4;
constexpr uint64_t kFuel = 20'000;

bool is_of_size_to_run(const TensorType& t) {
  const std::optional<Shape> shape = t.static_shape();
  if (!shape) return true;
  const std::optional<int64_t> count = element_count(*shape);
  return !count || *count <= kMostElements || *count >= kTooMany;
}

// Types share parts, so each is looked at once.
bool is_of_size_to_run(const Fn& fn) {
  std::unordered_set<Type> seen;
  std::vector<Type> pending;
  for (Expr e : post_order(&fn)) pending.push_back(e->type);
  while (!pending.empty()) {
    const Type t = pending.back();
    pending.pop_back();
    if (!t || !seen.insert(t).second) continue;
    if (const auto* tensor = t->as<TensorType>(); tensor && !is_of_size_to_run(*tensor)) return false;
    for_each_part(t, [&](Type part) { pending.push_back(part); });
  }
  return true;
}

Kind run(const Module& m, std::string_view name, std::vector<Value> args) {
  try {
    const Value result = interp::Machine(m, run_limits()).call(name, std::move(args));
    interp::show(result);
    return Kind::kAccepted;
  } catch (const Trap&) {
    return Kind::kTrapped;
  } catch (const Exhausted&) {
    return Kind::kExhausted;
  } catch (const std::bad_alloc&) {
    return Kind::kExhausted;  // `relay run` says that memory is short
  }
}

// Imported models are checked like programs.
Outcome run_imported(const Result<Module>& m, std::string_view bytes, Diagnostics& diagnostics,
                     const SourceMap& sources) {
  if (Outcome imported = judge(m.ok(), diagnostics, sources); imported.kind != Kind::kAccepted)
    return imported;
  return check_and_run(*m, hash_text(bytes), diagnostics);
}

}  // namespace

interp::Options run_limits() {
  interp::Options out;
  out.fuel = kFuel;
  out.max_depth = 10'000;
  // Of the whole process, which has read its seeds by then. Time is looked at between operators, so
  // what bounds the work of one is the size of what it gives. `is_of_size_to_run` looks at what
  // types say; this bounds what only the run tells.
  out.max_bytes = interp::resident_bytes() + (uint64_t{32} << 20);
  out.max_time = std::chrono::seconds(1);
  return out;
}

std::vector<RunnableCall> runnable_calls(const Module& checked, uint64_t seed) {
  std::vector<RunnableCall> out;
  Random random(seed);
  for (const auto& [name, fn] : checked.functions()) {
    if (!fn->type_params.empty() || out.size() == kMostFunctions) continue;
    std::optional<std::vector<Value>> args = arguments_of(checked, *fn, random);
    if (args && is_of_size_to_run(*fn)) out.push_back({name.str(), std::move(*args)});
  }
  return out;
}

Outcome check_and_run(const Module& m, uint64_t seed, Diagnostics& diagnostics) {
  const Result<Module> checked = passes::checked(m, diagnostics);
  Outcome out = judge(checked.ok(), diagnostics, m.context().sources());
  if (out.kind != Kind::kAccepted) return out;
  out.kind = Kind::kNotRun;
  for (RunnableCall& call : runnable_calls(*checked, seed)) {
    const Kind kind = run(*checked, call.function, std::move(call.args));
    // A value is the most that a program can come to, a trap the next.
    if (out.kind == Kind::kNotRun || kind == Kind::kAccepted ||
        (kind == Kind::kTrapped && out.kind == Kind::kExhausted))
      out.kind = kind;
  }
  return out;
}

Outcome run_text(std::string_view bytes) {
  Diagnostics diagnostics;
  ParseOptions options;
  const Result<Module> m = parse("fuzz.relay", std::string(bytes), diagnostics, op::operators(), options);
  if (!m) return judge(false, diagnostics, options.into.context().sources());
  return check_and_run(*m, hash_text(bytes), diagnostics);
}

Outcome run_model(std::string_view bytes) {
  Diagnostics diagnostics;
  const Module empty;
  const Result<Module> m = frontend::import_onnx(bytes, "fuzz.onnx", nullptr, empty, {}, diagnostics);
  return run_imported(m, bytes, diagnostics, empty.context().sources());
}

Outcome run_graph(std::string_view bytes) {
  Diagnostics diagnostics;
  const Module empty;
  const SourceMap& sources = empty.context().sources();
  const Result<frontend::Graph> graph = frontend::parse_graph(bytes, "fuzz.json", {}, diagnostics);
  if (!graph) return judge(false, diagnostics, sources);
  const Result<Module> m = frontend::import_graph({*graph, {}}, "fuzz.json", empty, {}, diagnostics);
  return run_imported(m, bytes, diagnostics, sources);
}

}  // namespace relay::fuzz
