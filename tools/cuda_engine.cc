#include "tools/cuda_engine.h"

#include <memory>

#include "aot/cuda/build.h"
#include "aot/cuda/emit.h"
#include "base/cat.h"
#include "base/check.h"
#include "base/failure.h"
#include "base/file.h"
#include "passes/plan_memory.h"
#include "passes/runner.h"
#include "runtime/relay.h"

namespace relay::tools {
namespace {

namespace native = kernel::native;

void add_tensors(const Value& v, std::vector<Tensor>& out) {
  if (v.is_tensor()) return out.push_back(v.tensor());
  if (v.kind() != ValueKind::kTuple) throw Trap("a compiled program takes tensors and tuples of them only");
  for (const Value& field : v.fields()) add_tensors(field, out);
}

// The tensors from `next` on as a value of the type.
Value value_of(Type t, const std::vector<Tensor>& tensors, size_t& next) {
  const auto* tuple = t->as<TupleType>();
  if (!tuple) return Value(tensors[next++]);
  std::vector<Value> fields;
  for (Type field : tuple->fields) fields.push_back(value_of(field, tensors, next));
  return Value::tuple(std::move(fields));
}

DLTensor borrow(const Tensor& t) {
  static constexpr uint8_t kCodes[] = {kDLBool,   kDLInt,           kDLUInt,       kDLFloat,
                                       kDLBfloat, kDLFloat8_e4m3fn, kDLFloat8_e5m2};
  DLTensor d = {};
  d.data = const_cast<void*>(t.data());
  d.device = {kDLCPU, 0};
  d.ndim = static_cast<int32_t>(t.rank());
  d.dtype = {kCodes[static_cast<size_t>(t.dtype().code)], t.dtype().bits, 1};
  d.shape = const_cast<int64_t*>(t.shape().data());
  return d;
}

// The artifact and the module that its plan is of.
class Loaded {
 public:
  Loaded(Module lowered, passes::Plan plan) : module_(std::move(lowered)), plan_(std::move(plan)) {}
  ~Loaded() {
    if (context_) api_->context_free(context_);
    if (model_) api_->model_close(model_);
  }
  Loaded(const Loaded&) = delete;
  Loaded& operator=(const Loaded&) = delete;

  const passes::Plan& plan() const { return plan_; }

  std::string open(const std::string& path) {
    if (std::string wrong = library_.open(path); !wrong.empty()) return wrong;
    auto get = reinterpret_cast<const relay_api* (*)()>(library_.find("relay_get_api"));
    if (!get) return path + " is no artifact of Relay's: it lacks relay_get_api";
    api_ = get();
    char error[512] = "";
    relay_open_options options = {};
    options.struct_size = sizeof options;
    options.error = error;
    options.error_size = sizeof error;
    if (api_->model_open(&options, &model_) != RELAY_OK) return error;
    return api_->context_create(model_, &context_) == RELAY_OK ? ""
                                                               : "the device has no memory for the workspace";
  }

  Value run(const std::vector<Value>& args) {
    std::vector<Tensor> inputs, outputs;
    for (const Value& v : args) add_tensors(v, inputs);
    for (const passes::PlanPort& p : plan_.outputs)
      outputs.emplace_back(p.type->dtype, *p.type->static_shape());
    std::vector<DLTensor> in, out;
    for (const Tensor& t : inputs) in.push_back(borrow(t));
    for (const Tensor& t : outputs) out.push_back(borrow(t));
    std::vector<const DLTensor*> in_list;
    std::vector<DLTensor*> out_list;
    for (const DLTensor& t : in) in_list.push_back(&t);
    for (DLTensor& t : out) out_list.push_back(&t);
    const relay_status status =
        api_->run(context_, in_list.data(), in_list.size(), out_list.data(), out_list.size());
    if (status == RELAY_LIMIT) throw Exhausted(api_->error(context_));
    // What the emulation finds is a bug of ours, and no failure of the program.
    CHECK(status != RELAY_INTERNAL, api_->error(context_));
    if (status != RELAY_OK) throw Trap(api_->error(context_));
    size_t next = 0;
    return value_of(module_.function("main")->body->type, outputs, next);
  }

 private:
  Module module_;
  passes::Plan plan_;
  native::Library library_;
  const relay_api* api_ = nullptr;
  relay_model* model_ = nullptr;
  relay_context* context_ = nullptr;
};

std::string reason(const Diagnostics& diagnostics) {
  for (const Diagnostic& d : diagnostics.all()) CHECK(!d.slug().starts_with("pass-"), d.message());
  return diagnostics.all().empty() ? "no reason was given" : diagnostics.all().front().message();
}

}  // namespace

Prepared prepare_aot_cuda(const Module& m, std::string_view function, const EngineOptions& options) {
  aot::cuda::Target target;
  const bool emulated = !aot::cuda::is_target(options.target);
  if (!emulated) {
    if (std::string wrong = aot::cuda::parse_target(options.target, target); !wrong.empty())
      return {{}, wrong};
  }
  passes::RunnerOptions run;
  aot::cuda::aim_at_gpu(options.opt_level, run);
  Diagnostics refused;
  Result<Module> lowered = passes::run_pipeline(with_entry(m, function),
                                                aot::cuda::default_pipeline(options.opt_level), run, refused);
  if (!lowered) return {{}, reason(refused)};
  Result<passes::Plan> plan = passes::plan_memory(*lowered, "main", refused);
  if (!plan)
    return {{}, cat(reason(refused), "; `aot-cpp` and `jit` run on the CPU what is no static dataflow")};
  auto loaded = std::make_shared<Loaded>(*lowered, std::move(*plan));
  aot::cuda::EmitOptions emit;
  emit.opt_level = options.opt_level;
  emit.kernel_files = emulated ? 1 : native::usable_cores();
  Result<aot::Sources> sources = aot::cuda::emit(loaded->plan(), target, emit, refused);
  if (!sources) return {{}, reason(refused)};

  Diagnostics diagnostics;
  const auto refuse = [&](std::string_view slug, const std::string& why) {
    diagnostics.error(Span::none(), slug, why);
    throw CannotPrepare(diagnostics);
  };
  TemporaryFolder folder;
  if (std::string wrong = folder.make(); !wrong.empty()) refuse("cannot-compile", wrong);
  const std::string path = folder.path() + "/model.so";
  if (emulated) {
    if (std::string wrong = aot::cuda::build_emulated(*sources, folder.path(), path); !wrong.empty())
      refuse("cannot-compile", wrong);
  } else if (!aot::cuda::build(*sources, target, options.opt_level, path, diagnostics)) {
    throw CannotPrepare(diagnostics);
  }
  if (std::string wrong = loaded->open(path); !wrong.empty()) refuse("cannot-load", wrong);
  return {[loaded](const std::vector<Value>& args) { return outcome_of([&] { return loaded->run(args); }); }};
}

}  // namespace relay::tools
