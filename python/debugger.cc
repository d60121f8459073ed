// relay.debug and relay.DebugSession: tools/debug/session.h, which the command `relay debug` stands
// on, too.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/cat.h"
#include "interp/machine.h"
#include "python/arguments.h"
#include "python/bindings.h"
#include "python/errors.h"
#include "python/model.h"
#include "python/places.h"
#include "python/values.h"
#include "python/work.h"
#include "tools/debug/session.h"

namespace relay::python {
namespace {

using tools::debug::Breakpoint;
using tools::debug::Execution;
using tools::debug::Session;
using Standing = Execution::Place;
using State = Execution::State;

constexpr size_t kMostFrames = 1000;

std::string_view name(State state) {
  switch (state) {
    case State::kStart: return "start";
    case State::kBefore: return "before";
    case State::kValue: return "value";
    case State::kEnded: return "ended";
    case State::kTrapped: return "trapped";
    case State::kExhausted: return "exhausted";
  }
  return "";
}

// What a breakpoint was when it was asked for.
struct Stop {
  uint64_t number, hits;
  std::string text;
};

Stop stop_of(const Breakpoint& b) { return {b.number, b.hits, b.text()}; }

// A session and what it runs on. One thread at a time has it: who has the lock.
class Debugger : public std::enable_shared_from_this<Debugger> {
 public:
  Debugger(Program program, std::vector<Value> args, interp::Limits limits) : program_(std::move(program)) {
    const driver::Model& model = program_.model;
    interp::Options options;
    static_cast<interp::Limits&>(options) = limits;
    session_ = std::make_unique<Session>(model.module, model.is_listed, model.function, std::move(args),
                                         std::move(options), &interrupt_);
  }

  // Calls body(session) without the GIL. Ctrl-C stops the program at its next expression.
  template <class Body>
  auto with(const Body& body) {
    bool interrupted = false;
    const auto out = [&] {
      const auto lock = lock_interruptibly(*program_.context);
      const Unlocked without;
      interrupt_.store(false);
      const StopOnInterrupt::Stop stop{[](void* flag) { static_cast<std::atomic<bool>*>(flag)->store(true); },
                                       &interrupt_};
      StopOnInterrupt guard(stop);
      auto result = body(*session_);
      guard.end();
      interrupted = guard.was_called();
      return result;
    }();
    if (interrupted) raise_pending_signals();
    return out;
  }

  // Does what the line says, and returns what there is to say about it. Raises the class of
  // exception if it could not be done. `look` sees the session before another thread has it.
  std::string execute(const std::string& line, PyObject* otherwise,
                      const std::function<void(const Session&)>& look = nullptr) {
    const auto [said, refusal] = with([&](Session& s) {
      const std::string out = s.execute(line);
      if (look) look(s);
      return std::pair(out, s.refusal());
    });
    if (refusal.empty()) return said;
    PyErr_SetString(otherwise, refusal.c_str());
    throw py::error_already_set();
  }

  const SourceMap& sources() const { return program_.sources(); }
  const Module& module() const { return program_.model.module; }

 private:
  Program program_;
  std::atomic<bool> interrupt_{false};
  std::unique_ptr<Session> session_;
};

// The frame of an activation of a function, as long as the session stands where it was asked for.
struct Frame {
  std::shared_ptr<Debugger> debugger;
  Standing place;
  std::string text;
};

// --- values --------------------------------------------------------------------------------------

// Has the data type the constructors of a list? As `list_type` wants them: Nil, and Cons of two.
bool is_list(const Module& module, const Constructor& of) {
  const DataTypeDef* def = module.data_type(of.data_type.text());
  if (!def || def->ctors.size() != 2) return false;
  const auto has = [&](std::string_view name, size_t fields) {
    return std::any_of(def->ctors.begin(), def->ctors.end(), [&](const Constructor* c) {
      if (c->name != name || c->fields.size() != fields) return false;
      const auto* rest = fields == 2 ? c->fields[1]->as<DataType>() : nullptr;
      return fields == 0 || (rest && rest->name == def->name);
    });
  };
  return has("Nil", 0) && has("Cons", 2);
}

// A value as Python's. No types are known here, so any data type but a list is relay.Data, an
// Option, too. A function or a reference is the text that `relay debug` shows.
py::object python_value(const Session& session, const Value& value) {
  struct Step {
    const Value* value;
    size_t fields = 0;  // with `joins`: that are taken from the end of `made`
    bool joins = false, is_list = false;
  };
  const auto constructor = [](const Value& v) { return static_cast<const Constructor*>(v.code()); };
  const Module& module = session.program().module();
  const py::object data = py::module_::import("relay.data").attr("Data");
  std::vector<py::object> made;
  std::vector<Step> pending{{&value}};
  while (!pending.empty()) {
    const Step step = pending.back();
    pending.pop_back();
    const Value& v = *step.value;
    if (step.joins) {
      std::vector<py::object> fields = take_last(made, step.fields);
      py::list list(fields.size());
      for (size_t i = 0; i < fields.size(); ++i) list[i] = std::move(fields[i]);
      if (step.is_list) {
        made.push_back(std::move(list));
      } else if (v.kind() == ValueKind::kTuple) {
        made.push_back(py::tuple(list));
      } else {
        made.push_back(data(constructor(v)->name.str(), py::tuple(list)));
      }
      continue;
    }
    if (!v) {
      made.push_back(py::none());
    } else if (v.is_tensor()) {
      made.push_back(array_of(v.tensor()));
    } else if (v.kind() != ValueKind::kTuple && v.kind() != ValueKind::kData) {
      made.push_back(py::str(session.program().short_value(v)));
    } else if (v.kind() == ValueKind::kData && is_list(module, *constructor(v))) {
      std::vector<const Value*> elements;
      for (const Value* rest = &v; rest->fields().size() == 2; rest = &rest->fields()[1])
        elements.push_back(&rest->fields()[0]);
      pending.push_back({&v, elements.size(), true, true});
      for (size_t i = elements.size(); i-- > 0;) pending.push_back({elements[i]});
    } else {
      pending.push_back({&v, v.fields().size(), true});
      for (size_t i = v.fields().size(); i-- > 0;) pending.push_back({&v.fields()[i]});
    }
  }
  return std::move(made.back());
}

py::dict locals_at(Debugger& debugger, const Standing& place) {
  const auto [session, names] = debugger.with([&](Session& s) { return std::pair(&s, s.names(place)); });
  py::dict out;
  for (const Session::Named& n : names)
    out[py::str(tools::bare_name(n.name))] = python_value(*session, n.value);
  return out;
}

py::object value_of_session(Debugger& debugger) {
  const auto [session, value] =
      debugger.with([](Session& s) { return std::pair(&s, s.execution().value()); });
  return value ? python_value(*session, value) : py::none();
}

// --- frames --------------------------------------------------------------------------------------

std::vector<Frame> frames_of(Debugger& debugger) {
  return debugger.with([&](Session& s) {
    size_t count = 0;
    const std::vector<Standing> places = s.execution().frames(kMostFrames, count);
    std::vector<Frame> out;
    for (size_t i = 0; i < places.size(); ++i)
      out.push_back({debugger.shared_from_this(), places[i], s.place(i, places[i])});
    return out;
  });
}

std::optional<Frame> frame_of(Debugger& debugger) {
  return debugger.with([&](Session& s) -> std::optional<Frame> {
    size_t count = 0;
    const std::vector<Standing> places = s.execution().frames(1, count);
    if (places.empty()) return std::nullopt;
    return Frame{debugger.shared_from_this(), places[0], s.place(0, places[0])};
  });
}

std::string function_of(const Frame& frame) {
  return frame.debugger->with([&](Session& s) { return s.program().name_of(frame.place.fn()); });
}

// --- the session ---------------------------------------------------------------------------------

std::vector<std::string> places_of(const py::object& breakpoints) {
  if (breakpoints.is_none()) return {};
  try {
    return py::cast<std::vector<std::string>>(breakpoints);
  } catch (const py::cast_error&) {
    throw py::type_error("argument `breakpoints` is no list of texts, as [\"nn.relu\", \"12\"]");
  }
}

std::shared_ptr<Debugger> debug(const Program& given, const py::args& args, const py::kwargs& named) {
  interp::Limits limits = take_limits(named);
  const std::vector<std::string> places = places_of(take(named, "breakpoints"));
  Program program = copy_to_run(given);
  const Signature signature = signature_of(program.model);
  const std::vector<py::object> arguments = ordered(signature, args, named, limit_names({"breakpoints"}));
  std::vector<Value> values;
  for (size_t i = 0; i < arguments.size(); ++i)
    values.push_back(value_of(signature, signature.parameters[i], arguments[i], signature.inputs[i]));
  auto out = std::make_shared<Debugger>(std::move(program), std::move(values), limits);
  for (const std::string& where : places) out->execute(cat("break ", where), PyExc_ValueError);
  return out;
}

// A method that goes on by the command of that name, and returns the session.
auto goes_on(const char* command) {
  return [command](const py::object& self) {
    py::cast<Debugger&>(self).execute(command, PyExc_RuntimeError);
    return self;
  };
}

std::string where(Debugger& debugger) { return debugger.execute("where", PyExc_RuntimeError); }

std::vector<Stop> breakpoints_of(Debugger& debugger) {
  return debugger.with([](Session& s) {
    std::vector<Stop> out;
    for (const Breakpoint& b : s.breakpoints().all()) out.push_back(stop_of(b));
    return out;
  });
}

Stop break_at(Debugger& debugger, const std::string& where) {
  // At once: another thread may take breakpoints away.
  std::optional<Stop> made;
  debugger.execute(cat("break ", where), PyExc_ValueError, [&](const Session& s) {
    if (!s.refused()) made = stop_of(s.breakpoints().all().back());
  });
  return *made;
}

void bind_parts(py::module_& m) {
  py::class_<Stop>(m, "Breakpoint", "Where a program stops under the debugger.")
      .def_readonly("number", &Stop::number)
      .def_readonly("text", &Stop::text)
      .def_readonly("hits", &Stop::hits, "how often it had stopped the program when it was asked for")
      .def("__repr__", [](const Stop& s) { return cat("<relay.Breakpoint ", s.number, ": ", s.text, ">"); });
  py::class_<Frame>(m, "Frame", "An activation of a function, where the session stood.")
      .def_property_readonly("function", &function_of, "\"@main\", \"%loop\" or \"fn\"")
      .def_property_readonly(
          "span", [](const Frame& f) { return place_of(f.place.e->span, f.debugger->sources()); },
          "of the expression that is evaluated")
      .def_property_readonly(
          "locals", [](const Frame& f) { return locals_at(*f.debugger, f.place); }, "values by name")
      .def_readonly("text", &Frame::text)
      .def("__repr__", [](const Frame& f) { return f.text; });
}

}  // namespace

void bind_debugger(py::module_& m) {
  bind_parts(m);
  py::class_<Debugger, std::shared_ptr<Debugger>>(
      m, "DebugSession",
      "A model that runs on the reference interpreter, one step at a time. `print(session)` shows where.")
      .def("step", goes_on("step"), "To the next expression, or to its value.")
      .def("next", goes_on("next"), "Over the expression at hand, to its value.")
      .def("finish", goes_on("finish"), "Until the function returns.")
      .def("go", goes_on("continue"), "Until a breakpoint, a failure or the end.")
      .def("restart", goes_on("restart"), "From the beginning, with the same inputs and breakpoints.")
      .def("break_at", &break_at, py::arg("where"),
           "Adds a breakpoint: a line, FILE:LINE, an operator, @function, the name of a value, or `*`,\n"
           "perhaps with a condition: \"nn.dense if nan|inf\".")
      .def(
          "delete", [](Debugger& d, uint64_t n) { d.execute(cat("delete ", n), PyExc_ValueError); },
          py::arg("number"), "Takes the breakpoint of this number away.")
      .def_property_readonly("breakpoints", &breakpoints_of)
      .def_property_readonly(
          "stopped_by",
          [](Debugger& d) {
            return d.with([](Session& s) {
              const Breakpoint* b = s.execution().breakpoint();
              return b ? std::optional(stop_of(*b)) : std::nullopt;
            });
          },
          "the breakpoint that stopped the program; None if none did")
      .def_property_readonly(
          "state",
          [](Debugger& d) {
            return std::string(name(d.with([](Session& s) { return s.execution().state(); })));
          },
          "\"start\", \"before\", \"value\", \"ended\", \"trapped\" or \"exhausted\"")
      .def_property_readonly("where", &where, "where the program stands, with its line of the text")
      .def_property_readonly("value", &value_of_session,
                             "of the expression at hand, or of the program; None if there is none yet")
      .def_property_readonly(
          "locals",
          [](Debugger& d) {
            const std::optional<Frame> frame = frame_of(d);
            return frame ? locals_at(d, frame->place) : py::dict();
          },
          "the values that have a name here, by name")
      .def_property_readonly("frames", &frames_of, "the innermost 1000, innermost first")
      .def_property_readonly(
          "message",
          [](Debugger& d) {
            return with_arguments(d.with([](Session& s) { return s.execution().message(); }));
          },
          "of a trap, or the limit; empty if the program has not failed")
      .def(
          "execute", [](Debugger& d, const std::string& line) { return d.execute(line, PyExc_ValueError); },
          py::arg("line"), "Any command of `relay debug`, as \"histogram x\". Returns what it says.")
      .def("__repr__", &where);
  m.def("debug", &debug,
        "debug(module, *inputs, breakpoints=None, fuel=None, max_depth=None, max_time=None, max_memory=None, "
        "**inputs)\n\n"
        "A session that stands before the module's first expression.");
}

}  // namespace relay::python
