#include "driver/artifact.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <memory>
#include <mutex>
#include <stop_token>
#include <thread>

#include "aot/build.h"
#include "base/cat.h"
#include "base/check.h"
#include "base/failure.h"
#include "base/file.h"
#include "base/reasons.h"
#include "driver/open_options.h"
#include "vta/c_driver.h"
#include "vta/simulator_driver.h"

namespace relay::driver {
namespace {

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

Tensor copy_of(const DLTensor& t, DType dtype) {
  Tensor out(dtype, Shape(t.shape, t.shape + t.ndim));
  if (out.bytes() > 0)
    std::memcpy(out.data(), static_cast<const unsigned char*>(t.data) + t.byte_offset, out.bytes());
  return out;
}

void add_tensors(const Value& root, std::vector<Tensor>& out) {
  std::vector<Value> pending{root};
  while (!pending.empty()) {
    const Value v = std::move(pending.back());
    pending.pop_back();
    if (v.is_tensor()) {
      out.push_back(v.tensor());
      continue;
    }
    if (v.kind() != ValueKind::kTuple) throw Trap("a compiled program takes tensors and tuples of them only");
    for (size_t i = v.fields().size(); i-- > 0;) pending.push_back(v.fields()[i]);
  }
}

}  // namespace

std::vector<Tensor> tensors_of_args(const std::vector<Value>& args) {
  std::vector<Tensor> out;
  for (const Value& v : args) add_tensors(v, out);
  return out;
}

// The tensors, from the first on, as a value of the type.
Value result_of(Type type, const std::vector<Tensor>& tensors) {
  struct Open {
    const TupleType* tuple;
    std::vector<Value> fields;
  };
  std::vector<Open> around;
  size_t next = 0;
  for (Type t = type;;) {
    if (const auto* tuple = t->as<TupleType>()) {
      around.push_back({tuple, {}});
    } else {
      Value v(tensors[next++]);
      if (around.empty()) return v;
      around.back().fields.push_back(std::move(v));
    }
    while (around.back().fields.size() == around.back().tuple->fields.size()) {
      Value v = Value::tuple(std::move(around.back().fields));
      around.pop_back();
      if (around.empty()) return v;
      around.back().fields.push_back(std::move(v));
    }
    t = around.back().tuple->fields[around.back().fields.size()];
  }
}

namespace {

// While it lives, a thread looks whether the runs of the artifact are to end.
class Canceller {
 public:
  // Without a flag there is no thread.
  Canceller(std::shared_ptr<const Artifact> artifact, const std::atomic<bool>* cancel) {
    if (!cancel) return;
    thread_ = std::jthread([artifact = std::move(artifact), cancel](const std::stop_token& ends) {
      constexpr std::chrono::milliseconds kLookEvery{20};
      std::mutex mutex;
      std::condition_variable_any changed;
      std::unique_lock lock(mutex);
      while (!ends.stop_requested()) {
        if (cancel->load()) artifact->cancel();  // again: the request may have met no run
        changed.wait_for(lock, ends, kLookEvery, [] { return false; });
      }
    });
  }

 private:
  std::jthread thread_;
};

}  // namespace

Prepared prepare_artifact(aot::Program program, int threads, const BuildLibrary& build,
                          const std::string& kept, const Options& options) {
  Diagnostics diagnostics;
  const auto refuse = [&](Slug slug, const std::string& why) {
    diagnostics.error(Span::none(), slug, why);
    throw CannotPrepare(diagnostics);
  };
  TemporaryFolder folder;
  if (std::string wrong = folder.make(); !wrong.empty()) refuse("file-unwritable", wrong);
  const std::string library = folder.path() + "/model.so";
  const auto copy = [&](const std::string& from, const std::string& to) {
    const FileContents file{to, Contents::of_file(from)};
    if (std::string wrong = write_files_atomically({&file, 1}); !wrong.empty())
      refuse("file-unwritable", wrong);
  };
  if (std::error_code none; !kept.empty() && std::filesystem::exists(kept, none)) {
    copy(kept, library);
  } else {
    if (!build(library, diagnostics)) throw CannotPrepare(diagnostics);
    if (!kept.empty()) copy(library, kept);
  }
  const auto artifact = std::make_shared<Artifact>();
  if (std::string wrong = artifact->open(library, static_cast<unsigned>(threads)); !wrong.empty())
    refuse("cannot-load", wrong);
  const auto shared = std::make_shared<aot::Program>(std::move(program));
  const auto canceller = std::make_shared<Canceller>(artifact, options.limits.cancel);
  return {[artifact, shared, canceller](const std::vector<Value>& args) {
    return outcome_of([&] { return artifact->run(*shared, args); });
  }};
}

// The driver of an artifact's model.
struct Artifact::SimulatedVta {
  vta::SimulatorDriver driver;
  vta::CDriver functions;
  explicit SimulatedVta(const vta::Layout& layout) : driver(layout), functions(driver) {}
};

Artifact::Artifact() = default;

Artifact::~Artifact() {
  if (context_) api_->context_free(context_);
  if (model_) api_->model_close(model_);
}

std::string Artifact::simulate_vta() {
  constexpr size_t kEnd = offsetof(relay_api, needed_vta) + sizeof(api_->needed_vta);
  const relay_vta_params* needed = api_->struct_size >= kEnd ? api_->needed_vta() : nullptr;
  if (!needed) return {};
  Diagnostics wrong;
  const Result<vta::Layout> layout = vta::Layout::make(vta::params_of(*needed), wrong);
  if (!layout) return wrong.all().front().message();
  vta_ = std::make_unique<SimulatedVta>(*layout);
  return {};
}

std::string Artifact::open(const std::string& path, unsigned threads, const std::string& entry,
                           std::optional<Denormals> denormals) {
  if (std::string wrong = library_.open(path); !wrong.empty()) return wrong;
  auto get = reinterpret_cast<const relay_api* (*)()>(library_.find(entry));
  if (!get) return cat(path, " is no artifact of Relay's: it lacks ", entry);
  api_ = get();
  if (!api_) return cat(path, " is no artifact of Relay's: ", entry, " gives nothing");
  if (api_->abi_version != RELAY_ABI_VERSION) {
    return cat(path, " has ABI version ", api_->abi_version, ", this program needs ", RELAY_ABI_VERSION,
               ": compile the model again");
  }
  char error[512] = "";
  relay_open_options options = open_options(threads, denormals, error);
  if (std::string wrong = simulate_vta(); !wrong.empty()) return cat(path, " needs a VTA: ", wrong);
  if (vta_) options.vta = &vta_->functions.table();
  opened_ = api_->model_open(&options, &model_);
  if (opened_ == RELAY_LIMIT) throw Exhausted(error);
  if (opened_ != RELAY_OK) return error;
  opened_ = api_->context_create(model_, &context_);
  if (opened_ == RELAY_LIMIT) throw Exhausted(cat(kThereIsNoMemory, "for the model's workspace"));
  if (opened_ != RELAY_OK) return "the model's workspace cannot be made";
  return {};
}

void Artifact::check(relay_status status) const {
  if (status == RELAY_LIMIT || status == RELAY_CANCELLED) throw Exhausted(api_->error(context_));
  // What the emulation of a GPU finds is a bug of ours, and no failure of the program.
  CHECK(status != RELAY_INTERNAL, api_->error(context_));
  // Arguments have the dtypes and ranks that the program takes, so that it is a shape
  // that is refused.
  if (status == RELAY_USAGE) throw Trap(cat(kWrongShape, api_->error(context_)));
  if (status != RELAY_OK) throw Trap(api_->error(context_));
}

Value Artifact::run(const aot::Program& program, const std::vector<Value>& args) {
  if (!program.interface.tensors_only) return call(program.interface, args);
  std::vector<Output> outputs;
  for (const passes::PlanPort& p : program.plan.outputs)
    outputs.push_back({p.type->dtype, p.type->static_shape()});
  return result_of(program.module.function("main")->body->type, run(tensors_of_args(args), outputs));
}

std::vector<Tensor> Artifact::run(std::span<const Tensor> inputs, std::span<const Output> outputs) {
  std::vector<Tensor> results;
  std::vector<DLTensor> in, out;
  for (const Tensor& t : inputs) in.push_back(borrow(t));
  for (const Output& o : outputs) {
    results.push_back(o.shape ? Tensor(o.dtype, *o.shape) : Tensor());
    out.push_back(o.shape ? borrow(results.back()) : DLTensor{});
  }
  std::vector<const DLTensor*> in_list;
  std::vector<DLTensor*> out_list;
  for (const DLTensor& t : in) in_list.push_back(&t);
  for (DLTensor& t : out) out_list.push_back(&t);
  check(api_->run(context_, in_list.data(), in_list.size(), out_list.data(), out_list.size()));
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (!outputs[i].shape) results[i] = copy_of(out[i], outputs[i].dtype);
  }
  return results;
}

Value Artifact::call(const aot::Interface& interface, const std::vector<Value>& args) {
  std::vector<relay_value*> given;
  const auto free_all = [&] {
    for (relay_value* v : given) api_->value_free(context_, v);
  };
  relay_value* result = nullptr;
  try {
    for (size_t i = 0; i < args.size(); ++i)
      given.push_back(make(interface, interface.parameters[i], args[i]));
    check(api_->call(context_, given.data(), given.size(), &result));
  } catch (...) {
    free_all();
    throw;
  }
  free_all();
  return look(interface, result);
}

// Fields first, without recursion: a list may be long.
relay_value* Artifact::make(const aot::Interface& interface, uint32_t type, const Value& value) {
  struct Step {
    const Value* value;
    uint32_t type;
    bool fields_made;
  };
  const auto constructor_of = [](const Value& v) {
    return v.kind() == ValueKind::kData ? static_cast<const Constructor*>(v.code())->tag : 0;
  };
  std::vector<Step> pending{{&value, type, false}};
  std::vector<relay_value*> made;
  try {
    while (!pending.empty()) {
      const Step step = pending.back();
      pending.pop_back();
      const Value& v = *step.value;
      relay_value* one = nullptr;
      if (v.is_tensor()) {
        const DLTensor tensor = borrow(v.tensor());
        check(api_->value_tensor(context_, step.type, &tensor, &one));
        made.push_back(one);
        continue;
      }
      const aot::Interface::Entry& entry = interface.types[step.type];
      const uint32_t constructor = constructor_of(v);
      const size_t count = v.fields().size();
      if (constructor >= entry.fields.size() || entry.fields[constructor].size() != count)
        throw Trap(cat("the program takes ", show(entry.type), ", and is given something else"));
      if (!step.fields_made) {
        pending.push_back({step.value, step.type, true});
        for (size_t i = count; i-- > 0;)
          pending.push_back({&v.fields()[i], entry.fields[constructor][i], false});
        continue;
      }
      relay_value** fields = made.data() + (made.size() - count);
      check(api_->value_node(context_, step.type, constructor, fields, count, &one));
      for (size_t i = 0; i < count; ++i) api_->value_free(context_, fields[i]);
      made.resize(made.size() - count);
      made.push_back(one);
    }
  } catch (...) {
    for (relay_value* v : made) api_->value_free(context_, v);
    throw;
  }
  return made.back();
}

Value Artifact::look(const aot::Interface& interface, relay_value* value) {
  struct Step {
    relay_value* value;  // null: the fields are there
    relay_value_view view;
  };
  std::vector<Step> pending{{value, {}}};
  std::vector<Value> made;
  while (!pending.empty()) {
    Step step = pending.back();
    pending.pop_back();
    if (step.value == nullptr) {
      const auto first = made.end() - static_cast<ptrdiff_t>(step.view.field_count);
      std::vector<Value> fields(first, made.end());
      made.erase(first, made.end());
      const DataTypeDef* data = interface.types[step.view.type].data;
      made.push_back(data ? Value::data(data->ctors[step.view.constructor], std::move(fields))
                          : Value::tuple(std::move(fields)));
      continue;
    }
    step.view.struct_size = sizeof step.view;
    check(api_->value_look(context_, step.value, &step.view));
    if (step.view.kind == RELAY_VALUE_TENSOR) {
      const auto* type = interface.types[step.view.type].type->as<TensorType>();
      made.push_back(Value(copy_of(step.view.tensor, type->dtype)));
    } else {
      pending.push_back({nullptr, step.view});
      for (size_t i = step.view.field_count; i-- > 0;) {
        relay_value* field = nullptr;
        check(api_->value_field(context_, step.value, i, &field));
        pending.push_back({field, {}});
      }
    }
    api_->value_free(context_, step.value);
  }
  return made.back();
}

}  // namespace relay::driver
