// tests/exec for Python: reads the files and judges results, as tests/exec/exec.cc does. The engine
// is a function of Python.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/failure.h"
#include "driver/driver.h"
#include "python/signature.h"
#include "python/values.h"
#include "tools/test_files/test_file.h"
#include "tools/verify/exec_program.h"

namespace relay::tests {
namespace {

namespace py = pybind11;

python::Signature signature_of(const Module& m, const std::string& function) {
  driver::LoadOptions options;
  options.function = function;
  Diagnostics diagnostics;
  const Result<driver::Model> model = driver::model_of(m, "exec", options, {}, diagnostics);
  if (!model) throw std::runtime_error("no model");
  return python::signature_of(*model);
}

// NumPy has no dtype for it without the package ml_dtypes, which Debian has not.
bool numpy_lacks(const python::TypeEntry& type) {
  static const bool has_ml_dtypes =
      !py::module_::import("importlib.util").attr("find_spec")("ml_dtypes").is_none();
  return !has_ml_dtypes && type.kind == python::TypeEntry::Kind::kTensor &&
         type.dtype.code >= DTypeCode::kBFloat;
}

bool is_of(const py::error_already_set& error, const char* name) {
  return error.matches(py::module_::import("relay").attr(name));
}

class ExecFile {
 public:
  // `make(function, denormals)` gives what is called with the arguments.
  ExecFile(const std::string& path, py::object make)
      : program_(path), text_(*tools::read_test_file(path).find("input")), make_(std::move(make)) {
    program_.prepare_by([this](const driver::EngineAt&, const std::string& function,
                               const driver::Options& options) { return prepare(function, options); });
  }

  const std::string& text() const { return text_; }
  const std::vector<std::string>& calls() const { return program_.calls(); }
  bool is_rejected() const { return !program_.problem().empty(); }

  // What is wrong with the call's result; empty if nothing is. None if NumPy has no
  // such tensors.
  py::object run(const std::string& line) {
    const tools::CallLine call = tools::parse_call(line);
    if (!is_rejected()) {
      const python::Signature s = signature_of(program_.module(), call.function);
      if (std::any_of(s.types.begin(), s.types.end(), numpy_lacks)) return py::none();
    }
    std::string wrong;
    try {
      for (const driver::VerifyRow& row : program_.run(call, {.engines = {"jit"}, .levels = {2}})) {
        if (!row.ok || !row.skipped.empty()) wrong += row.label() + ": " + row.trouble() + "\n";
      }
    } catch (const py::error_already_set& error) {
      // An empty tensor may have extents whose product no array of NumPy has.
      if (std::string(error.what()).find("array is too big") == std::string::npos) throw;
      return py::none();
    }
    return py::str(wrong);
  }

 private:
  driver::Prepared prepare(const std::string& function, const driver::Options& options) {
    const py::object callable = make_(function, options.denormals == Denormals::kKeep ? "keep" : "flush");
    const auto signature = std::make_shared<python::Signature>(signature_of(program_.module(), function));
    driver::Prepared out;
    out.run = [callable, signature](const std::vector<Value>& args) {
      return call(callable, *signature, args);
    };
    return out;
  }

  static driver::Outcome call(const py::object& callable, const python::Signature& s,
                              const std::vector<Value>& args) {
    py::tuple given(args.size());
    for (size_t i = 0; i < args.size(); ++i) given[i] = python::python_value(s, s.parameters[i], args[i]);
    driver::Outcome out;
    try {
      // Whether a result is of its type is for the run to say: what a data type in it
      // holds need not be.
      python::Signature open = s;
      for (python::TypeEntry& t : open.types) std::fill(t.dims.begin(), t.dims.end(), python::kOpen);
      out.value = python::value_of(open, open.result, callable(*given), "result");
    } catch (py::error_already_set& error) {
      // Python's users are told of a wrong shape by the name of the argument.
      const std::string text = py::str(error.value());
      if (error.matches(PyExc_ValueError) && text.find(kWrongShape) != std::string::npos) {
        out.kind = driver::Outcome::Kind::kTrap;
        out.message = std::string(kWrongShape) + text;
        return out;
      }
      if (!is_of(error, "TrapError") && !is_of(error, "LimitError")) throw;
      out.kind = is_of(error, "TrapError") ? driver::Outcome::Kind::kTrap : driver::Outcome::Kind::kExhausted;
      out.message = py::str(error.value().attr("message"));
    }
    return out;
  }

  tools::ExecProgram program_;
  std::string text_;
  py::object make_;
};

}  // namespace
}  // namespace relay::tests

PYBIND11_MODULE(exec_files, m) {
  using relay::tests::ExecFile;
  m.def("files_beneath", &relay::tools::test_files_beneath);
  pybind11::class_<ExecFile>(m, "ExecFile")
      .def(pybind11::init<const std::string&, pybind11::object>())
      .def_property_readonly("text", &ExecFile::text)
      .def_property_readonly("calls", &ExecFile::calls)
      .def_property_readonly("is_rejected", &ExecFile::is_rejected)
      .def("run", &ExecFile::run);
}
