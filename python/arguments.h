// How a program is called from Python: `f(x, y)`, `f(x, y=y)` or `f(**{"input.1": x})`.
#pragma once

#include <pybind11/pybind11.h>

#include <span>
#include <string>
#include <vector>

#include "interp/limits.h"
#include "python/signature.h"
#include "python/tensors.h"
#include "runtime/value.h"

namespace relay::python {

namespace py = pybind11;

// The arguments in the program's order. Raises TypeError that names what is missing, unknown or
// given twice. The caller has taken the options out of `named`, so that an input of such a name is
// given by its place. `options` are their names, for that message.
std::vector<py::object> ordered(const Signature& signature, const py::args& args, const py::kwargs& named,
                                const std::vector<std::string>& options);
// From a dict by name, a sequence by place, or a single array.
std::vector<py::object> ordered(const Signature& signature, py::handle inputs);

// Raises ValueError for the first argument whose extents contradict its type or an earlier
// argument. Nobody else may use the module's context.
void check_extents(const driver::Model& model, const Signature& signature, std::span<const Value> values);

// Takes a keyword argument out: None if it is not there.
py::object take(const py::kwargs& named, const char* option);

// The names of the options that `take_limits` takes, and these.
std::vector<std::string> limit_names(const std::vector<std::string>& more);
// Takes the options `fuel`, `max_depth`, `max_time` (seconds) and `max_memory` (bytes) out.
interp::Limits take_limits(const py::kwargs& named);

// The arrays of `out=`, one for each of these tensors of the result: an array, or a tuple or list.
std::vector<Lent> lend_outputs(py::handle out, const Signature& signature,
                               const std::vector<uint32_t>& types);
bool overlap(const void* a, size_t a_bytes, const void* b, size_t b_bytes);
// Raises ValueError if the output shares memory with the input.
void check_apart(const Lent& output, size_t index, const Lent& input, const std::string& name);

}  // namespace relay::python
