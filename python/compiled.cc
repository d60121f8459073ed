// relay.compile, relay.open and relay.Compiled: runtime/relay.h, and driver::build, which makes
// what has that interface.
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <pybind11/stl/filesystem.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "base/cat.h"
#include "base/failure_names.h"
#include "base/file.h"
#include "base/parallel.h"
#include "driver/driver.h"
#include "python/arguments.h"
#include "python/artifact.h"
#include "python/bindings.h"
#include "python/cancellation.h"
#include "python/closable.h"
#include "python/errors.h"
#include "python/model.h"
#include "python/values.h"
#include "python/work.h"

namespace relay::python {
namespace {

// Raises what a failed call came to. Needs the GIL.
[[noreturn]] void raise_status(relay_status status, const std::string& error) {
  switch (status) {
    case RELAY_TRAP: raise_trap(error);
    case RELAY_USAGE: throw py::value_error(error);
    case RELAY_CANCELLED: raise_limit(cat(kCancelled, " by a signal"));
    case RELAY_LIMIT:
    case RELAY_TIMED_OUT: raise_limit(error);
    default: throw std::runtime_error(error.empty() ? "the model does not run" : error);
  }
}

// How the library's messages about tensors of `out` begin (aot/support/tensors.cc).
constexpr std::string_view kOfAnOutput = "output `";

// Raises OSError with the text, if there is one.
void raise_if(const std::string& wrong) {
  if (wrong.empty()) return;
  PyErr_SetString(PyExc_OSError, wrong.c_str());
  throw py::error_already_set();
}

py::array array_of(const DLTensor& t, DType dtype) {
  const std::vector<int64_t> shape(t.shape, t.shape + t.ndim);
  py::array out = new_array(numpy_dtype(dtype), shape);
  size_t bytes = dtype.bytes();
  for (const int64_t d : shape) bytes *= static_cast<size_t>(d);
  if (bytes > 0) std::memcpy(out.mutable_data(), static_cast<const char*>(t.data) + t.byte_offset, bytes);
  return out;
}

// How an artifact is opened.
struct Opening {
  int threads = 0;  // 0: as many as it was compiled for
  std::optional<Denormals> denormals = {};
};

class Compiled {
 public:
  Compiled(std::shared_ptr<const Artifact> artifact, Opening opening)
      : artifact_(std::move(artifact)), opening_(opening) {
    for (const uint32_t t : signature().results) {
      const TypeEntry& type = signature().types[t];
      Result result{type, std::nullopt, std::nullopt};
      if (std::find(type.dims.begin(), type.dims.end(), kOpen) == type.dims.end()) result.shape = type.dims;
      results_.push_back(std::move(result));
    }
    const auto description = nlohmann::json::parse(artifact_->description());
    for (const auto& p : description.value("aliased", nlohmann::json::array()))
      in_place_.emplace(p.at("output").get<size_t>(), p.at("input").get<size_t>());
  }

  py::object call(const py::args& args, const py::kwargs& named, Cancellation* cancellation = nullptr) {
    const py::object out = PyDict_GET_SIZE(named.ptr()) > 0 ? take(named, "out") : py::none();
    const std::vector<py::object> given = ordered(signature(), args, named, {"out"});
    if (!signature().has_data()) return run(given, out, cancellation);
    if (!out.is_none())
      throw py::type_error(
          "argument `out`: the program gives values of data types, which are written to no array");
    return call_with_values(given, cancellation);
  }

  // The bytes of the library that was opened, and of the weights if they are beside it.
  py::tuple pickled() const {
    std::string weights, library = read(artifact_->library());
    if (artifact_->weights().is_open()) weights = read(artifact_->weights());
    return py::make_tuple(
        py::bytes(library), artifact_->weights_name(), py::bytes(weights), opening_.threads,
        opening_.denormals ? py::cast(*opening_.denormals == Denormals::kKeep) : py::none());
  }

  // Other processes and models may have a library of this path open, so it is replaced and never
  // written into.
  void save(const std::filesystem::path& path) const {
    std::vector<FileContents> files{{path.string(), Contents::of_file(artifact_->library().path())}};
    if (artifact_->weights().is_open()) {
      const std::filesystem::path to =
          std::filesystem::path(path).replace_filename(artifact_->weights_name());
      files.push_back({to.string(), Contents::of_file(artifact_->weights().path())});
    }
    std::string wrong;
    {
      const Unlocked without;
      wrong = write_files_atomically(files);
    }
    raise_if(wrong);
  }

  const Signature& signature() const { return artifact_->signature(); }
  py::object described() const { return py::module_::import("json").attr("loads")(artifact_->description()); }

 private:
  // A tensor of the result: where it may be placed before the run.
  struct Result {
    TypeEntry type;
    std::optional<std::vector<int64_t>> shape;
    std::optional<py::dtype> dtype;  // when it was asked for first
  };

  const relay_api& api() const { return artifact_->api(); }

  static std::string read(const HeldFile& file) {
    std::string bytes, wrong;
    {
      const Unlocked without;
      wrong = read_file(file.path(), UINT64_MAX, bytes);
    }
    raise_if(wrong);
    return bytes;
  }

  // Calls `body` with the context, without the GIL. Ctrl-C stops it, and so does the cancellation.
  // Raises what it came to: `out_name` is said of outputs, if they were given.
  template <class Body>
  void run_in(Artifact::Borrowed& borrowed, Cancellation* cancellation, const Body& body,
              const char* out_name = "") const {
    struct Target {
      const relay_api* api;
      relay_context* context;
    } target{&api(), borrowed.get()};
    relay_status status;
    std::string error;
    bool interrupted = false;
    {
      const Unlocked without;
      const StopOnInterrupt::Stop stop{[](void* self) {
                                         const auto* t = static_cast<Target*>(self);
                                         t->api->cancel(t->context);
                                       },
                                       &target};
      const Cancellation::Scope cancelled(cancellation, stop);
      StopOnInterrupt guard(stop);
      status = body(borrowed.get());
      guard.end();
      interrupted = guard.was_called();
      if (status != RELAY_OK) error = api().error(borrowed.get());
    }
    const bool is_cancelled = cancellation && cancellation->requested();
    if (interrupted || is_cancelled) borrowed.spoil();
    if (interrupted) raise_pending_signals();
    if (is_cancelled) cancellation->check();
    if (status == RELAY_OK) return;
    const bool is_of_output = status == RELAY_USAGE && error.starts_with(kOfAnOutput);
    raise_status(status, is_of_output ? cat(out_name, error) : error);
  }

  py::object run(const std::vector<py::object>& given, const py::object& out, Cancellation* cancellation) {
    const Signature& s = signature();
    std::vector<Lent> inputs, places;
    for (size_t i = 0; i < given.size(); ++i)
      inputs.push_back(lend(given[i], s.types[s.parameters[i]], s.inputs[i]));
    if (!out.is_none()) {
      places = lend_outputs(out, s, s.results);
      for (size_t o = 0; o < places.size(); ++o) {
        for (size_t i = 0; i < inputs.size(); ++i) {
          const bool replaces = places[o].data == inputs[i].data && in_place_.contains({o, i});
          if (!replaces) check_apart(places[o], o, inputs[i], s.inputs[i]);
        }
      }
    }
    std::vector<py::object> made(results_.size());
    std::vector<DLTensor> tensors;
    for (Lent& l : inputs) tensors.push_back(l.dlpack());
    for (size_t i = 0; i < results_.size(); ++i)
      tensors.push_back(places.empty() ? place_of(results_[i], made[i]) : places[i].dlpack());
    std::vector<DLTensor*> list;
    for (DLTensor& t : tensors) list.push_back(&t);

    Artifact::Borrowed borrowed(*artifact_);
    if (!borrowed.get()) raise_limit("there is no memory for the model's workspace");
    const auto body = [&](relay_context* context) {
      return api().run(context, list.data(), inputs.size(), list.data() + inputs.size(), results_.size());
    };
    run_in(borrowed, cancellation, body, out.is_none() ? "" : "argument `out`: ");
    if (!out.is_none()) return out;
    // What the context holds is copied before somebody else gets the context.
    for (size_t i = 0; i < results_.size(); ++i) {
      if (!results_[i].shape) made[i] = array_of(tensors[inputs.size() + i], results_[i].type.dtype);
    }
    if (!s.tuple_result && made.size() == 1) return std::move(made[0]);
    py::tuple tuple(made.size());
    for (size_t i = 0; i < made.size(); ++i) tuple[i] = std::move(made[i]);
    return tuple;
  }

  // A new array for the output. Without memory if only the run knows its shape.
  static DLTensor place_of(Result& result, py::object& made) {
    DLTensor t = {};
    if (!result.dtype) result.dtype = numpy_dtype(result.type.dtype);
    if (!result.shape) return t;
    py::array array = new_array(*result.dtype, *result.shape);
    made = array;
    t.data = array.mutable_data();
    t.device = {kDLCPU, 0};
    t.ndim = static_cast<int32_t>(result.shape->size());
    t.dtype = dlpack_dtype(result.type.dtype);
    t.shape = result.shape->data();
    return t;
  }

  py::object call_with_values(const std::vector<py::object>& given, Cancellation* cancellation) const {
    Artifact::Borrowed borrowed(*artifact_);
    relay_context* context = borrowed.get();
    if (!context) raise_limit("there is no memory for the model's workspace");
    const auto drop = [&](relay_value* v) { api().value_free(context, v); };
    const auto check = [&](relay_status status) {
      if (status != RELAY_OK) raise_status(status, api().error(context));
    };
    const Maker<relay_value*> maker{
        .tensor =
            [&](uint32_t type, Lent lent) {
              relay_value* value = nullptr;
              const DLTensor t = lent.dlpack();
              check(api().value_tensor(context, type, &t, &value));
              return value;
            },
        .node =
            [&](uint32_t type, uint32_t constructor, std::vector<relay_value*> fields) {
              relay_value* value = nullptr;
              const relay_status status =
                  api().value_node(context, type, constructor, fields.data(), fields.size(), &value);
              for (relay_value* field : fields) drop(field);
              check(status);
              return value;
            },
        .drop = drop};
    const Reader<relay_value*> reader{.tensor = [&](uint32_t type, relay_value* value) -> py::object {
                                        relay_value_view view = {.struct_size = sizeof view};
                                        const relay_status status = api().value_look(context, value, &view);
                                        py::object out = py::none();
                                        if (status == RELAY_OK)
                                          out = array_of(view.tensor, signature().types[type].dtype);
                                        drop(value);
                                        check(status);
                                        return out;
                                      },
                                      .node =
                                          [&](uint32_t, relay_value* value) {
                                            relay_value_view view = {.struct_size = sizeof view};
                                            relay_status status = api().value_look(context, value, &view);
                                            Reader<relay_value*>::Node node{view.constructor, {}};
                                            for (size_t i = 0; status == RELAY_OK && i < view.field_count;
                                                 ++i) {
                                              relay_value* field = nullptr;
                                              status = api().value_field(context, value, i, &field);
                                              if (status == RELAY_OK) node.fields.push_back(field);
                                            }
                                            drop(value);
                                            check(status);
                                            return node;
                                          }};
    std::vector<relay_value*> values;
    relay_value* result = nullptr;
    try {
      const Signature& s = signature();
      for (size_t i = 0; i < given.size(); ++i)
        values.push_back(make_value<relay_value*>(s, s.parameters[i], given[i], s.inputs[i], maker));
      run_in(borrowed, cancellation,
             [&](relay_context* c) { return api().call(c, values.data(), values.size(), &result); });
    } catch (...) {
      for (relay_value* v : values) drop(v);
      throw;
    }
    for (relay_value* v : values) drop(v);
    try {
      return read_value<relay_value*>(signature(), signature().result, result, reader);
    } catch (...) {
      borrowed.spoil();  // values that were not read end with it
      throw;
    }
  }

  std::shared_ptr<const Artifact> artifact_;
  Opening opening_;
  std::vector<Result> results_;
  std::set<std::pair<size_t, size_t>> in_place_;  // outputs that may be arrays of inputs
};

// What long work gives.
struct Made {
  Diagnostics diagnostics;
  std::shared_ptr<Artifact> artifact;
};

void open_into(Made& made, const std::string& path, Opening opening) {
  auto artifact = std::make_shared<Artifact>();
  if (std::string wrong = artifact->open(path, static_cast<unsigned>(opening.threads), opening.denormals);
      !wrong.empty()) {
    made.diagnostics.error(Span::none(), "cannot-load", wrong);
    return;
  }
  made.artifact = std::move(artifact);
}

using Held = Closable<Compiled>;

Held compiled(const std::shared_ptr<Made>& made, const SourceMap& sources, Opening opening) {
  if (!made->artifact) raise_diagnostics(made->diagnostics, sources);
  warn(made->diagnostics, sources);
  return Held(std::make_shared<Compiled>(std::move(made->artifact), opening));
}

Held open(const std::filesystem::path& path, int threads) {
  check_threads(threads);
  if (path.empty()) throw py::value_error("argument `path` is empty");
  const Opening opening{threads};
  const auto made = std::make_shared<Made>();
  // With a folder in it: a bare name would be looked for where the system keeps libraries.
  const std::string absolute = std::filesystem::absolute(path).string();
  run_interruptibly([made, absolute, opening] { open_into(*made, absolute, opening); });
  for (const char* form : {".onnx", ".relay", ".json"}) {
    if (!made->artifact && path.extension() == form)
      throw py::value_error(cat("argument `path`: ", path.string(), " is not compiled: relay.load loads it"));
  }
  return compiled(made, {}, opening);
}

// The model that `pickled` wrote.
Held unpickled(const py::tuple& state) {
  const auto library = py::cast<std::string>(state[0]), name = py::cast<std::string>(state[1]),
             weights = py::cast<std::string>(state[2]);
  Opening opening{py::cast<int>(state[3])};
  if (!state[4].is_none())
    opening.denormals = py::cast<bool>(state[4]) ? Denormals::kKeep : Denormals::kFlush;
  const auto made = std::make_shared<Made>();
  run_interruptibly([made, library, name, weights, opening] {
    auto folder = std::make_unique<TemporaryFolder>();
    std::string wrong = folder->make();
    const std::string path = folder->path() + "/model.so";
    std::vector<FileContents> files{{path, library}};
    // A name alone: what is pickled writes nothing elsewhere.
    const std::string beside = std::filesystem::path(name).filename().string();
    if (!beside.empty()) files.push_back({cat(folder->path(), "/", beside), weights});
    if (wrong.empty()) wrong = write_files_atomically(files);
    if (!wrong.empty()) {
      made->diagnostics.error(Span::none(), "file-unwritable", wrong);
      return;
    }
    open_into(*made, path, opening);
    if (made->artifact) made->artifact->keep(std::move(folder));
  });
  return compiled(made, {}, opening);
}

Held compile(const Program& given, const std::string& target, int threads, int level,
             const std::string& denormals, const std::string& name, const py::object& progress) {
  const driver::Options options = engine_options(level, threads, target, denormals);
  if (std::string wrong = target::cannot_run(options.target); !wrong.empty())
    throw py::value_error(cat("argument `target`: ", wrong));
  const Program program = copy_to_run(given);
  aot::EmitOptions emit;
  emit.model_name = name;
  emit.opt_level = level;
  emit.threads = threads;
  emit.denormals = options.denormals;
  emit.kernel_files = 2 * usable_cores();
  const Opening opening{threads, emit.denormals};
  const auto made = std::make_shared<Made>();
  const Progress told(progress);
  const auto work = [made, program, options, emit, opening, say = told.say()] {
    const auto begins = [&](size_t stage, const char* what) {
      if (say) say(stage, 3, what);
    };
    auto folder = std::make_unique<TemporaryFolder>();
    if (std::string wrong = folder->make(); !wrong.empty()) {
      made->diagnostics.error(Span::none(), "file-unwritable", wrong);
      return;
    }
    const std::string path = folder->path() + "/model.so";
    begins(0, "passes and kernels");
    const Result<aot::Sources> sources =
        driver::emit(program.model, {&options.target, 1}, emit, made->diagnostics);
    if (!sources) return;
    begins(1, "C++ compiler");
    if (!driver::build(*sources, emit, options.target.cpu.isa, path, made->diagnostics)) return;
    begins(2, "opening");
    open_into(*made, path, opening);
    if (made->artifact) made->artifact->keep(std::move(folder));
    begins(3, "done");
  };
  run_interruptibly(work, &told);
  return compiled(made, program.sources(), opening);
}

}  // namespace

void bind_artifact(py::module_& m) {
  bind_closable<Compiled>(
      m, "Compiled",
      "A compiled model. Call it with arrays, by position or name, from any number of threads.")
      .def(
          "save", [](const Held& h, const std::filesystem::path& path) { h.get()->save(path); },
          py::arg("path"), "Copies the library to a file, which relay.open reads.")
      .def_property_readonly(
          "description", [](const Held& h) { return h.get()->described(); },
          "what docs/artifacts.md says of the description, as a dict")
      .def(py::pickle([](const Held& h) { return h.get()->pickled(); }, &unpickled))
      .def("__repr__",
           [](const Held& h) { return h.closed() ? "<relay.Compiled, closed>" : "<relay.Compiled>"; });
  m.def("compile", &compile, py::arg("module"), py::kw_only(), py::arg("target") = "native",
        py::arg("threads") = 1, py::arg("level") = 2, py::arg("denormals") = "flush",
        py::arg("name") = "model", py::arg("progress") = py::none(),
        "The module compiled to a library, which is opened. Needs a C++ compiler: without one, use "
        "relay.jit.\n\n"
        "`threads` is how many a run uses; 0: one for each core. `progress(done, total, what)` is called\n"
        "for each stage. Raises DiagnosticError.");
  m.def("open", &open, py::arg("path"), py::kw_only(), py::arg("threads") = 0,
        "Opens a library that `save` or `relay compile` wrote. It is code: open only what you would run.\n\n"
        "`threads` 0 means what was said when it was compiled.");
}

}  // namespace relay::python
