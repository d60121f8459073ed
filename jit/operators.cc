#include "jit/operators.h"

#include <algorithm>
#include <set>

#include "analysis/user_kernels.h"
#include "base/cat.h"
#include "base/failure.h"
#include "ir/analysis.h"
#include "kernel/builder.h"
#include "kernel/execute.h"
#include "kernel/limits.h"
#include "kernel/schedule/cpu/schedule.h"
#include "op/apply.h"
#include "op/registry.h"
#include "passes/runner.h"

namespace relay::jit {
namespace {

// A loop whose shapes grow meets new ones at each turn: what was not used for longest makes room.
constexpr size_t kMostOperators = 1024;

using TensorKind = std::pair<DType, Shape>;

std::vector<TensorKind> kinds_of(std::span<const Tensor> tensors) {
  std::vector<TensorKind> out;
  for (const Tensor& t : tensors) out.emplace_back(t.dtype(), t.shape());
  return out;
}

// A program that gave a kernel of static shapes other tensors has made values of other extents than
// their types say (analysis/typed_extents.h).
void require_shapes(const kernel::Kernel& k, const std::vector<Shape>& taken,
                    std::span<const Tensor> inputs) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].shape() == taken[i]) continue;
    throw Trap(cat(kWrongShape, "input `", k.inputs[i]->name.text(), "` of kernel ", k.name.text(), " is ",
                   show(inputs[i].shape()), ", and ", show(taken[i]), " was expected"));
  }
}

// What a kernel of static shapes makes: results, then temporaries.
std::vector<TensorKind> made_by(const kernel::Kernel& k) {
  std::vector<TensorKind> out;
  for (const auto* list : {&k.outputs, &k.temporaries}) {
    for (const kernel::Buffer* b : *list) {
      out.emplace_back(b->dtype, kernel::shape_at(kernel::memory_shape(*b), {}));
    }
  }
  return out;
}

std::vector<Tensor> call_static(const kernel::native::CompiledKernels& code, size_t i,
                                const std::vector<TensorKind>& made_kinds, size_t results,
                                std::span<const Tensor> inputs, const relay_parallel* parallel) {
  std::vector<void*> buffers;
  for (const Tensor& t : inputs) buffers.push_back(const_cast<void*>(t.data()));  // kernels only read it
  std::vector<Tensor> made;
  for (const auto& [dtype, shape] : made_kinds) {
    made.emplace_back(dtype, shape);
    buffers.push_back(made.back().data());
  }
  if (const int32_t status = code.call(i, parallel, buffers.data())) throw Trap(code.message(i, status));
  made.resize(results);
  return made;
}

bool is_data(const Value& v) {
  if (v.is_tensor()) return true;
  if (v.kind() != ValueKind::kTuple) return false;
  return std::all_of(v.fields().begin(), v.fields().end(), [](const Value& f) { return f.is_tensor(); });
}

}  // namespace

Prepared prepare(const Module& checked, const Options& options) {
  passes::RunnerOptions run;
  run.target = options.compile.target;
  run.schedule.opt_level = options.compile.opt_level;
  run.schedule.worth_threads = options.worth_threads;
  run.observers = options.observers;
  const auto after = [&](const passes::Pipeline& pipeline, Diagnostics& refused) {
    Result<Module> done = passes::run_pipeline(checked, pipeline, run, refused);
    for (const Diagnostic& d : refused.all()) CHECK(d.slug().fault() != Fault::kBug, d.message());
    return done;
  };
  Prepared out;
  if (const Result<Module> lowered = after(
          passes::default_pipeline(options.compile.opt_level, options.compile.target, options.denormals),
          out.refusal))
    return {*lowered};
  // `lower` would have made the checks of kernels explicit.
  const Result<Module> expanded =
      after({passes::step(passes::kSimplifyInference), passes::step(passes::kExpandOperators)}, out.refusal);
  out.module = analysis::with_explicit_checks(expanded ? *expanded : checked);
  return out;
}

struct CompiledOperators::Operator {
  uint64_t hash;
  // The call that it is for.
  const op::OpDef* def;
  Attrs attrs;
  std::vector<TensorKind> args;
  std::vector<size_t> fields;  // how many tensors each argument is made of
  // Null if the call is left to the operator's definition.
  std::unique_ptr<kernel::native::CompiledKernels> code;
  std::vector<TensorKind> made;  // results, then temporaries
  size_t results = 0;
  bool tuple = false;
};

CompiledOperators::CompiledOperators(Module module, const Options& options)
    : module_(std::move(module)), options_(options), threads_(options.threads) {}

CompiledOperators::~CompiledOperators() = default;

Result<std::unique_ptr<CompiledOperators>> CompiledOperators::create(const Module& prepared,
                                                                     const Options& options,
                                                                     Diagnostics& diagnostics) {
  std::unique_ptr<CompiledOperators> made(new CompiledOperators(prepared, options));
  std::vector<const kernel::Kernel*> kernels;
  std::set<Symbol> called;
  for (const auto& [name, fn] : prepared.functions()) {
    for (Symbol global : mentioned_globals(fn)) called.insert(global);
  }
  for (const auto& [name, k] : prepared.kernels()) {
    if (!called.contains(name)) continue;
    Known known{.index = kernels.size(), .is_static = kernel::shape_parameters(*k).empty()};
    const auto elsewhere = made->options_.elsewhere.find(name);
    if (elsewhere != made->options_.elsewhere.end()) known.elsewhere = &elsewhere->second;
    if (known.is_static) {
      known.made = made_by(*k);
      for (const kernel::Buffer* b : k->inputs) known.taken.push_back(kernel::shape_at(b->shape, {}));
    }
    const bool is_compiled = known.elsewhere == nullptr;
    if (made->known_.emplace(k, std::move(known)).second && is_compiled) kernels.push_back(k);
  }
  if (std::string wrong = options.code_generator(kernels, options.compile, made->kernels_); !wrong.empty()) {
    diagnostics.error(Span::none(), "cannot-compile", std::move(wrong))
        .note("the engine `interp` runs any program");
    return kReported;
  }
  return made;
}

void CompiledOperators::use_in(interp::Options& machine) {
  machine.run_kernel = [this](const kernel::Kernel& k, std::span<const Tensor> inputs) {
    return run(k, inputs);
  };
  machine.run_operator = [this](const op::OpDef& def, std::span<const Value> args, const Attrs& attrs) {
    return call(def, args, attrs);
  };
}

std::vector<Tensor> CompiledOperators::run(const kernel::Kernel& k, std::span<const Tensor> inputs) {
  const Known& known = known_.at(&k);
  if (known.is_static) require_shapes(k, known.taken, inputs);
  if (known.elsewhere) return (*known.elsewhere)(inputs);
  const DenormalsScope scope(options_.denormals);
  if (!known.is_static) return kernels_.run(known.index, k, inputs, threads_.parallel());
  return call_static(kernels_, known.index, known.made, k.outputs.size(), inputs, threads_.parallel());
}

std::optional<Value> CompiledOperators::call(const op::OpDef& def, std::span<const Value> args,
                                             const Attrs& attrs) {
  if (def.view) {
    ++view_calls_;
    return std::nullopt;
  }
  const bool lowered = def.lower && def.effects != op::Effects::kEffect;
  if (!lowered || !std::all_of(args.begin(), args.end(), is_data)) {
    ++interpreted_calls_;
    return std::nullopt;
  }
  const Operator& o = find(def, args, attrs);
  if (!o.code) {
    ++interpreted_calls_;
    return std::nullopt;
  }
  ++compiled_calls_;
  const DenormalsScope scope(options_.denormals);
  std::vector<Tensor> made =
      call_static(*o.code, 0, o.made, o.results, op::flatten(args), threads_.parallel());
  if (!o.tuple) return Value(std::move(made[0]));
  std::vector<Value> fields;
  for (Tensor& t : made) fields.push_back(Value(std::move(t)));
  return Value::tuple(std::move(fields));
}

const CompiledOperators::Operator& CompiledOperators::find(const op::OpDef& def, std::span<const Value> args,
                                                           const Attrs& attrs) {
  Operator wanted{.hash = 0, .def = &def, .attrs = attrs, .args = kinds_of(op::flatten(args)), .fields = {}};
  for (const Value& v : args) wanted.fields.push_back(v.is_tensor() ? 1 : v.fields().size());
  const auto mix = [&](uint64_t v) { wanted.hash = (wanted.hash ^ v) * 0x9e3779b97f4a7c15u; };
  for (const char c : def.name) mix(static_cast<uint64_t>(c));
  for (const auto& [dtype, shape] : wanted.args) {
    mix(static_cast<uint64_t>(dtype.code) * 256 + dtype.bits);
    for (const int64_t extent : shape) mix(static_cast<uint64_t>(extent) + 1);
  }
  for (auto [it, end] = found_.equal_range(wanted.hash); it != end; ++it) {
    const Operator& o = *it->second;
    if (o.def == &def && o.attrs == attrs && o.args == wanted.args && o.fields == wanted.fields) {
      operators_.splice(operators_.begin(), operators_, it->second);
      return o;
    }
  }
  if (operators_.size() >= kMostOperators) {
    for (auto [it, end] = found_.equal_range(operators_.back().hash); it != end; ++it) {
      if (it->second == std::prev(operators_.end())) {
        found_.erase(it);
        break;
      }
    }
    operators_.pop_back();
  }
  operators_.push_front(std::move(wanted));
  found_.emplace(operators_.front().hash, operators_.begin());
  compile(operators_.front(), args, attrs);
  return operators_.front();
}

// In a context that is thrown away: a loop that meets new shapes for ever leaves nothing behind.
void CompiledOperators::compile(Operator& into, std::span<const Value> args, const Attrs& attrs) {
  Context scratch;
  std::vector<Type> types;
  for (const Value& v : args) types.push_back(op::type_of(scratch, v));
  try {
    const Type result = op::infer(scratch, *into.def, types, attrs);
    const auto* tuple = result->as<TupleType>();
    const auto is_tensor = [](Type t) { return t->as<TensorType>() && t->as<TensorType>()->static_shape(); };
    if (tuple ? !std::all_of(tuple->fields.begin(), tuple->fields.end(), is_tensor) : !is_tensor(result))
      return;
    const std::vector<const TensorType*> in_types = op::flatten(types),
                                         out_types = op::flatten(std::vector<Type>{result});
    kernel::Builder k(scratch.pool());
    std::vector<kernel::Tensor> in;
    for (const TensorType* t : in_types) {
      std::vector<kernel::Expr> shape;
      for (Dim d : t->dims) shape.push_back(d.expr(scratch.pool()));
      in.push_back(k.input(cat("x", in.size()), t->dtype, shape));
    }
    k.set_operator(into.def->name);
    const auto out = into.def->lower(k, attrs, {in, in_types, out_types, scratch.pool()});
    const kernel::Kernel plain = k.finish(into.def->name, into.def->name, out);
    if (!kernel::too_deep(plain).empty()) return;  // no code can be made of it
    const kernel::Kernel kernel = kernel::schedule::cpu::schedule_for_cpu(
        plain, options_.compile.target.cpu,
        {.opt_level = options_.compile.opt_level, .worth_threads = options_.worth_threads});
    if (!kernel::shape_parameters(kernel).empty()) return;  // it depends on what is in its arguments
    auto code = std::make_unique<kernel::native::CompiledKernels>();
    const kernel::Kernel* const only[] = {&kernel};
    const std::string wrong = options_.code_generator(only, options_.compile, *code);
    if (!wrong.empty()) throw Exhausted(cat("`", into.def->name, "` cannot be compiled: ", wrong));
    into.made = made_by(kernel);
    into.results = kernel.outputs.size();
    into.tuple = tuple != nullptr;
    into.code = std::move(code);
  } catch (const op::RelationError&) {
    // Its definition says what is wrong with the call, if anything is.
  }
}

}  // namespace relay::jit
