// relay.load, relay.parse and relay.Module: driver/model.h.
#include "python/model.h"

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <pybind11/stl/filesystem.h>

#include <filesystem>
#include <map>
#include <optional>
#include <variant>
#include <vector>

#include "base/cat.h"
#include "driver/driver.h"
#include "frontend/onnx/import.h"
#include "op/operators.h"
#include "passes/expand_grad.h"
#include "python/bindings.h"
#include "python/errors.h"
#include "python/make.h"
#include "python/types.h"
#include "python/work.h"
#include "typecheck/read.h"

namespace relay::python {
namespace {

// What long work gives: all that is needed to go on, owned.
struct Loaded {
  Diagnostics diagnostics;
  std::optional<driver::Model> model;
  Module into;  // its context has the sources
};

Program program_of(const std::shared_ptr<Loaded>& loaded) {
  const SourceMap& sources = loaded->into.context().sources();
  if (!loaded->model) raise_diagnostics(loaded->diagnostics, sources);
  warn(loaded->diagnostics, sources);
  return {std::move(*loaded->model)};
}

using Shapes = std::map<std::string, std::vector<std::variant<int64_t, std::string>>>;

driver::InputShapes input_shapes(const Shapes& shapes) {
  driver::InputShapes out;
  for (const auto& [name, dims] : shapes) {
    for (const auto& dim : dims) {
      frontend::InputDim d{};
      if (const auto* extent = std::get_if<int64_t>(&dim)) {
        if (*extent < 0)
          throw py::value_error(cat("argument `shapes`: input `", name, "` has the extent ", *extent));
        d.extent = *extent;
      } else {
        d.extent = -1;
        d.name = std::get<std::string>(dim);
      }
      out[name].push_back(std::move(d));
    }
  }
  return out;
}

Program load(const std::filesystem::path& path, const std::optional<std::string>& function,
             const Shapes& shapes, const std::vector<std::filesystem::path>& libraries,
             const py::object& progress) {
  if (driver::is_artifact(path.string()))
    throw py::value_error(
        cat("argument `path`: ", path.string(), " is compiled already: relay.open opens it"));
  driver::LoadOptions options;
  options.function = function.value_or("main");
  options.may_lack_function = !function;
  options.known.shapes = input_shapes(shapes);
  options.runs = !libraries.empty();
  for (const std::filesystem::path& library : libraries) options.libraries.push_back(library.string());
  const auto loaded = std::make_shared<Loaded>();
  loaded->into = options.into;
  const Progress told(progress);
  constexpr size_t kStages = 3;
  run_interruptibly(
      [loaded, options, path = path.string(), say = told.say()]() mutable {
        if (say) options.on_stage = [&](size_t stage, std::string_view what) { say(stage, kStages, what); };
        Result<driver::Model> model = driver::load(path, options, loaded->diagnostics);
        if (!model) return;
        loaded->model = std::move(*model);
        if (say) say(kStages, kStages, "done");
      },
      &told);
  return program_of(loaded);
}

// The module, checked, as a model; nothing if something is wrong, which is reported.
std::optional<driver::Model> model_of(const Module& read, const std::string& name,
                                      const std::optional<std::string>& function, Diagnostics& diagnostics) {
  const Result<Module> checked = passes::checked(read, diagnostics);
  if (!checked) return std::nullopt;
  driver::LoadOptions options;
  options.function = function.value_or("main");
  options.may_lack_function = !function;
  options.into = read;
  Result<driver::Model> model = driver::model_of(*checked, name, options, {}, diagnostics);
  return model ? std::optional(std::move(*model)) : std::nullopt;
}

Program parse(const std::string& text, const std::string& name, const std::optional<std::string>& function) {
  const auto loaded = std::make_shared<Loaded>();
  run_interruptibly([loaded, text, name, function] {
    ParseOptions options;
    options.into = loaded->into;
    const Result<Module> read = typecheck::read(name, text, loaded->diagnostics, op::operators(), options);
    if (read) loaded->model = model_of(*read, name, function, loaded->diagnostics);
  });
  return program_of(loaded);
}

// The bytes of an ONNX model, or of what has protobuf's `SerializeToString`, as onnx.ModelProto.
std::string bytes_of(const py::object& model) {
  const bool is_message = py::hasattr(model, "SerializeToString");
  const py::object given = is_message ? model.attr("SerializeToString")() : model;
  if (!PyObject_CheckBuffer(given.ptr())) {
    throw py::type_error(
        cat("argument `model` is of the type ", class_name(given),
            ", and relay.from_onnx takes bytes or an onnx.ModelProto; relay.load takes a path"));
  }
  const auto bytes = py::reinterpret_steal<py::bytes>(PyBytes_FromObject(given.ptr()));
  if (!bytes) throw py::error_already_set();
  return bytes;
}

Program from_onnx(const py::object& model, const Shapes& shapes) {
  constexpr const char* kName = "model.onnx";  // in messages
  frontend::ImportOptions options;
  options.input_shapes = input_shapes(shapes);
  const auto loaded = std::make_shared<Loaded>();
  run_interruptibly([loaded, options, bytes = bytes_of(model)] {
    // Tensors in files of their own lie beside a model's file, and this has none.
    const Result<Module> read =
        frontend::import_onnx(bytes, kName, /*folder=*/nullptr, loaded->into, options, loaded->diagnostics);
    if (read) loaded->model = model_of(*read, kName, std::nullopt, loaded->diagnostics);
  });
  return program_of(loaded);
}

// --- Module --------------------------------------------------------------------------------------

std::string text_of(const Program& p, bool elide) {
  const auto lock = lock_interruptibly(*p.context);
  return op::text_of(p.model.module, {.elide = elide});
}

struct Function {
  Program program;
  std::string name;

  const Fn& fn() const { return *program.model.module.function(name); }
  std::string type() const {
    const auto lock = lock_interruptibly(*program.context);
    return print(fn().type);
  }
  std::string text() const {
    const auto lock = lock_interruptibly(*program.context);
    const Operators operators = op::operators();
    return print(static_cast<Expr>(program.model.module.function(name)),
                 {.operators = &operators, .elide = true});
  }
  std::vector<std::string> parameters() const {
    std::vector<std::string> out;
    for (const Var* x : fn().params) out.push_back(x->name.str());
    return out;
  }
  std::vector<TypeHandle> parameter_types() const {
    const auto lock = lock_interruptibly(*program.context);
    std::vector<TypeHandle> out;
    for (const Var* x : fn().params) out.push_back(own_type(x->type));
    return out;
  }
  TypeHandle result_type() const {
    const auto lock = lock_interruptibly(*program.context);
    return own_type(fn().type->as<FnType>()->result);
  }
};

struct DataType {
  std::string name;
  std::vector<std::string> parameters;
  std::map<std::string, std::vector<std::string>> constructors;  // types of the fields
};

std::map<std::string, Function> functions_of(const Program& p) {
  std::map<std::string, Function> out;
  for (const auto& [name, fn] : p.model.module.functions()) out.emplace(name.str(), Function{p, name.str()});
  return out;
}

std::map<std::string, DataType> types_of(const Program& p) {
  const auto lock = lock_interruptibly(*p.context);
  std::map<std::string, DataType> out;
  for (const auto& [name, def] : p.model.module.data_types()) {
    DataType type{name.str(), {}, {}};
    for (const TypeVar* v : def->params) type.parameters.push_back(v->name.str());
    for (const Constructor* c : def->ctors) {
      std::vector<std::string>& fields = type.constructors[c->name.str()];
      for (const Type t : c->fields) fields.push_back(print(t));
    }
    out.emplace(type.name, std::move(type));
  }
  return out;
}

// Types by name, of what is run; nothing if that is nothing.
py::dict input_types(const Program& p) {
  py::dict out;
  if (p.model.function.empty()) return out;
  const std::vector<TypeHandle> types = Function{p, p.model.function}.parameter_types();
  for (size_t i = 0; i < types.size(); ++i) out[py::str(p.model.input_names[i])] = py::cast(types[i]);
  return out;
}

// Outputs are the tensors of the result, however tuples are nested. If types share so many parts
// that nobody names them, there are no names.
py::dict output_types(const Program& p) {
  py::dict out;
  if (p.model.function.empty()) return out;
  const TypeHandle result = Function{p, p.model.function}.result_type();
  const std::vector<std::string>& names = p.model.output_names;
  std::vector<Type> pending{result.type};
  for (size_t count = 0; count < names.size() && !pending.empty();) {
    const Type type = pending.back();
    pending.pop_back();
    if (const auto* tuple = type->as<TupleType>()) {
      for (size_t i = tuple->fields.size(); i-- > 0;) pending.push_back(tuple->fields[i]);
      continue;
    }
    if (type->as<TensorType>()) out[py::str(names[count++])] = py::cast(TypeHandle{result.context, type});
  }
  return out;
}

std::string described(const Program& p) {
  std::string out = "<relay.Module with";
  for (const auto& [name, fn] : p.model.module.functions()) {
    if (out.size() > 200) return out + " ...>";
    out += cat(" @", name.text());
  }
  return out + ">";
}

void bind_parts(py::module_& m) {
  py::class_<Function>(m, "Function", "A function of a module.")
      .def_readonly("name", &Function::name)
      .def_property_readonly("type", &Function::type, "its type, as the language writes it")
      .def_property_readonly("parameters", &Function::parameters, "their names, in order")
      .def_property_readonly("parameter_types", &Function::parameter_types, "relay.Type of each, in order")
      .def_property_readonly("result_type", &Function::result_type, "its relay.Type")
      .def("__str__", &Function::text)
      .def("__repr__",
           [](const Function& f) { return cat("<relay.Function @", f.name, ": ", f.type(), ">"); });
  py::class_<DataType>(m, "DataType", "A data type of a module.")
      .def_readonly("name", &DataType::name)
      .def_readonly("parameters", &DataType::parameters)
      .def_readonly("constructors", &DataType::constructors,
                    "the types of the fields, by the constructor's name")
      .def("__repr__", [](const DataType& t) { return cat("<relay.DataType ", t.name, ">"); });
}

}  // namespace

Program copy_to_run(const Program& program) {
  if (program.model.function.empty()) {
    Diagnostics diagnostics;
    diagnostics.error(Span::none(), "no-such-function", "the module has no function @main")
        .note("name another one by `function=`, where the module is loaded or parsed");
    raise_diagnostics(diagnostics, {});
  }
  const auto lock = lock_interruptibly(*program.context);
  const Unlocked without;
  Program out{program.model};
  out.model.module = compact(program.model.module);
  return out;
}

Program checked_program(const Module& read, const std::string& name,
                        const std::optional<std::string>& function) {
  const auto loaded = std::make_shared<Loaded>();
  loaded->into = read;
  run_interruptibly([loaded, name, function] {
    loaded->model = model_of(loaded->into, name, function, loaded->diagnostics);
  });
  return program_of(loaded);
}

void check_threads(int threads) {
  constexpr int kMost = 1024;  // as for the command
  if (threads < 0 || threads > kMost)
    throw py::value_error(cat("argument `threads` is ", threads, ", and it goes from 0 to ", kMost));
}

void check_level(std::string_view argument, int level) {
  if (level < 0 || level > 3)
    throw py::value_error(
        cat("argument `", argument, "`: there is no level ", level, ", they go from 0 to 3"));
}

driver::Options engine_options(int level, int threads, const std::string& target,
                               const std::string& denormals) {
  check_level("level", level);
  check_threads(threads);
  if (std::string wrong = target::wrong_target(target); !wrong.empty())
    throw py::value_error(cat("argument `target`: ", wrong));
  if (denormals != "flush" && denormals != "keep")
    throw py::value_error(
        cat("argument `denormals` is \"", denormals, "\", and it is \"flush\" or \"keep\""));
  driver::Options out;
  out.opt_level = level;
  out.threads = threads;
  out.target = target::target_of(target);
  out.denormals = denormals == "keep" ? Denormals::kKeep : Denormals::kFlush;
  return out;
}

void bind_model(py::module_& m) {
  bind_parts(m);
  py::class_<Program>(m, "Module", "A model: a module that was read and type checked.")
      .def("__str__", [](const Program& p) { return text_of(p, true); })
      .def("__repr__", &described)
      .def("text", &text_of, py::arg("elide") = false,
           "The module as a text. With `elide`, large constants are only named, as in `print(module)`.")
      .def_property_readonly("functions", &functions_of, "functions by name")
      .def_property_readonly("types", &types_of, "data types by name")
      .def_property_readonly(
          "function", [](const Program& p) { return p.model.function; },
          "the function that is run; empty if there is none")
      .def_property_readonly(
          "inputs", [](const Program& p) { return p.model.input_names; }, "names, in the order of a call")
      .def_property_readonly(
          "outputs", [](const Program& p) { return p.model.output_names; }, "names, in order")
      .def_property_readonly("input_types", &input_types,
                             "relay.Type of each input by its name, as {\"x\": relay.Tensor((2, 3))}")
      .def_property_readonly(
          "output_types", &output_types,
          "relay.Type of each output by its name. `module[name].result_type` has data types, too")
      .def_property_readonly(
          "files",
          [](const Program& p) {
            py::list out;
            for (const std::string& file : p.model.files) out.append(path_text(file));
            return out;
          },
          "that it was read from")
      .def(
          "__getitem__",
          [](const Program& p, const std::string& name) {
            if (!p.model.module.function(name)) throw py::key_error(cat("there is no function @", name));
            return Function{p, name};
          },
          py::arg("name"))
      .def(
          "__contains__",
          [](const Program& p, const std::string& name) { return p.model.module.function(name) != nullptr; },
          py::arg("name"))
      .def(py::pickle([](const Program& p) { return py::make_tuple(text_of(p, false), p.model.function); },
                      [](const py::tuple& state) {
                        const auto function = py::cast<std::string>(state[1]);
                        return parse(py::cast<std::string>(state[0]), "<pickle>",
                                     function.empty() ? std::nullopt : std::optional(function));
                      }))
      .def("__len__", [](const Program& p) { return p.model.module.functions().size(); })
      .def("__iter__", [](const Program& p) { return py::iter(py::cast(functions_of(p))); });
  m.def("load", &load, py::arg("path"), py::arg("function") = py::none(), py::kw_only(),
        py::arg("shapes") = Shapes(), py::arg("libraries") = std::vector<std::filesystem::path>(),
        py::arg("progress") = py::none(),
        "Reads a model: a .onnx or .relay file, or a graph's folder or .json.\n\n"
        "`shapes` gives extents to inputs: {\"x\": [1, 3, 224, 224]}. `libraries` have the C functions of\n"
        "external kernels. `progress(done, total, what)` is called for each stage. Raises DiagnosticError.");
  m.def("from_onnx", &from_onnx, py::arg("model"), py::kw_only(), py::arg("shapes") = Shapes(),
        "Reads an ONNX model in memory: its bytes, or an onnx.ModelProto. Tensors in files beside it are "
        "refused.\n\n"
        "`shapes` gives extents to inputs, as for relay.load. Raises DiagnosticError.");
  m.def("parse", &parse, py::arg("text"), py::arg("name") = "<text>", py::arg("function") = py::none(),
        "Reads a module from a text of the language. `name` stands in messages. Raises DiagnosticError.");
}

}  // namespace relay::python
