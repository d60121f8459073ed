// relay.interpret, relay.jit and relay.Executable: engines that run in this process.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <optional>

#include "base/cat.h"
#include "base/failure.h"
#include "driver/driver.h"
#include "python/arguments.h"
#include "python/bindings.h"
#include "python/cancellation.h"
#include "python/closable.h"
#include "python/errors.h"
#include "python/model.h"
#include "python/pass_report.h"
#include "python/signature.h"
#include "python/values.h"
#include "python/work.h"

namespace relay::python {
namespace {

// The options of relay.jit.
struct Recipe {
  int threads = 1, level = 2;
  std::string target = "native", denormals = "flush";

  driver::Options options() const { return engine_options(level, threads, target, denormals); }
};

class Executable {
 public:
  Executable(Program program, const std::string& engine, driver::Options options,
             const Progress& progress = Progress(py::none()))
      : program_(std::move(program)), threads_(options.threads) {
    signature_ = signature_of(program_.model);
    options.limits.cancel = cancel_.get();
    struct Made {
      Diagnostics diagnostics;
      std::optional<driver::Executable> executable;
    };
    const auto made = std::make_shared<Made>();
    std::shared_ptr<PassProgress> observer;
    if (progress.is_asked()) {
      observer = std::make_shared<PassProgress>(progress.say());
      options.observers = {observer.get()};
    }
    // Abandoned work goes on with the module, the flag and the observer, so it owns them.
    const auto work = [made, program = program_, engine, options, observer, cancel = cancel_] {
      const std::lock_guard guard(*program.context);
      Result<driver::Executable> result = driver::prepare(program.model, engine, options, made->diagnostics);
      if (result) made->executable = std::move(*result);
    };
    run_interruptibly(work, &progress);
    if (!made->executable) raise_diagnostics(made->diagnostics, program_.sources());
    warn(made->diagnostics, program_.sources());
    executable_ = std::move(made->executable);
  }

  py::object call(const py::args& args, const py::kwargs& named, Cancellation* cancellation = nullptr,
                  const std::vector<std::string>& options = {"out"}) const {
    const py::object out = take(named, "out");
    return run(ordered(signature_, args, named, options), out, cancellation);
  }

  const Signature& signature() const { return signature_; }
  const Program& program() const { return program_; }

 private:
  py::object run(const std::vector<py::object>& given, const py::object& out,
                 Cancellation* cancellation) const {
    if (threads_ != 1 && forks() != forks_)
      throw std::runtime_error(
          "the process was forked, which ended the threads of the model: make it again here");
    std::vector<Lent> places;
    if (!out.is_none()) places = lend_outputs(out, signature_, result_tensors());
    std::vector<Value> values;
    for (size_t i = 0; i < given.size(); ++i)
      values.push_back(value_of(signature_, signature_.parameters[i], given[i], signature_.inputs[i]));
    driver::Outcome outcome;
    bool interrupted = false;
    {
      const auto lock = lock_for_run(*program_.context, cancellation);  // runs must not overlap
      const Unlocked without;
      cancel_->store(false);
      const StopOnInterrupt::Stop stop{[](void* flag) { static_cast<std::atomic<bool>*>(flag)->store(true); },
                                       cancel_.get()};
      const Cancellation::Scope cancelled(cancellation, stop);
      StopOnInterrupt guard(stop);
      outcome = executable_->run(values);
      guard.end();
      interrupted = guard.was_called();
    }
    if (interrupted) raise_pending_signals();
    if (cancellation) cancellation->check();
    if (outcome.kind == driver::Outcome::Kind::kTrap && outcome.message.starts_with(kWrongShape)) {
      const auto lock = lock_interruptibly(*program_.context);
      check_extents(program_.model, signature_, values);
    }
    if (outcome.kind == driver::Outcome::Kind::kTrap)
      raise_trap(outcome.message, outcome.at, program_.sources());
    if (outcome.kind == driver::Outcome::Kind::kExhausted)
      raise_limit(outcome.message, outcome.at, program_.sources());
    if (out.is_none()) return python_value(signature_, signature_.result, outcome.value);
    write(outcome.value, places);
    return out;
  }

  // The tensors that the result consists of. Raises TypeError if it is more than a tensor or a
  // tuple of tensors.
  std::vector<uint32_t> result_tensors() const {
    const auto is_tensor = [&](uint32_t t) { return signature_.types[t].kind == TypeEntry::Kind::kTensor; };
    const TypeEntry& entry = signature_.types[signature_.result];
    if (is_tensor(signature_.result)) return {signature_.result};
    std::vector<uint32_t> out;
    if (entry.kind == TypeEntry::Kind::kTuple) out = entry.constructors[0].fields;
    if (entry.kind == TypeEntry::Kind::kTuple && std::all_of(out.begin(), out.end(), is_tensor)) return out;
    throw py::type_error(cat("argument `out`: the program gives ", entry.text,
                             ", and only tensors and tuples of tensors are written to arrays"));
  }

  static void write(const Value& result, std::vector<Lent>& places) {
    std::vector<Tensor> tensors;
    for (size_t i = 0; i < places.size(); ++i) {
      const Tensor& t = result.is_tensor() ? result.tensor() : result.fields()[i].tensor();
      if (t.shape() != places[i].shape) {
        throw py::value_error(cat("argument `out` (array ", i, ") has the shape ", show(places[i].shape),
                                  ", and the result has ", show(t.shape())));
      }
      // A result may be an input, and an array of `out` may share its memory.
      const bool shares = std::any_of(places.begin(), places.end(), [&](const Lent& place) {
        return overlap(place.data, place.bytes(), t.data(), t.bytes());
      });
      tensors.push_back(shares ? t.copy() : t);
    }
    for (size_t i = 0; i < places.size(); ++i) {
      if (tensors[i].bytes() > 0) std::memcpy(places[i].data, tensors[i].data(), tensors[i].bytes());
    }
  }

  Program program_;
  int threads_;
  unsigned forks_ = forks();
  Signature signature_;
  std::shared_ptr<std::atomic<bool>> cancel_ = std::make_shared<std::atomic<bool>>(false);
  std::optional<driver::Executable> executable_;
};

// An Executable of relay.jit, which can be made again from the module.
class Jit : public Executable {
 public:
  Jit(const Program& program, const Recipe& recipe, const Progress& progress)
      : Executable(copy_to_run(program), "jit", recipe.options(), progress), recipe_(recipe) {}

  py::tuple pickled() const {
    return py::make_tuple(program(), recipe_.threads, recipe_.level, recipe_.target, recipe_.denormals);
  }

 private:
  Recipe recipe_;
};
using Held = Closable<Jit>;

Held jit(const Program& program, int threads, int level, const std::string& target,
         const std::string& denormals, const py::object& progress) {
  return Held(std::make_shared<Jit>(program, Recipe{threads, level, target, denormals}, Progress(progress)));
}

Held unpickled(const py::tuple& state) {
  return jit(state[0].cast<Program>(), state[1].cast<int>(), state[2].cast<int>(),
             state[3].cast<std::string>(), state[4].cast<std::string>(), py::none());
}

py::object interpret(const Program& program, const py::args& args, const py::kwargs& named) {
  driver::Options options;
  options.limits = take_limits(named);
  return Executable(copy_to_run(program), "interp", options).call(args, named, nullptr, limit_names({"out"}));
}

}  // namespace

void bind_engines(py::module_& m) {
  bind_closable<Jit>(m, "Executable",
                     "A model made ready to run in this process. Call it with arrays, by position or name.")
      .def(py::pickle([](const Held& h) { return h.get()->pickled(); }, &unpickled))
      .def("__repr__", [](const Held& h) {
        return h.closed() ? "<relay.Executable, closed>" : "<relay.Executable on jit>";
      });
  m.def("jit", &jit, py::arg("module"), py::kw_only(), py::arg("threads") = 1, py::arg("level") = 2,
        py::arg("target") = "native", py::arg("denormals") = "flush", py::arg("progress") = py::none(),
        "The module made ready on the engine `jit`: the whole language, without a C++ compiler.\n\n"
        "Runs of one Executable wait for each other. Results are arrays of their own.\n"
        "`progress(done, total, what)` is called for each pass.");
  m.def("interpret", &interpret,
        "interpret(module, *inputs, fuel=None, max_depth=None, max_time=None, max_memory=None, out=None, "
        "**inputs)\n\n"
        "Runs the module on the reference interpreter, which defines what programs mean. It is slow.\n"
        "`fuel` is in steps, `max_time` in seconds, `max_memory` in bytes of the process.");
}

}  // namespace relay::python
