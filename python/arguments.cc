#include "python/arguments.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <unordered_map>

#include "base/cat.h"
#include "base/failure.h"
#include "base/nearest.h"
#include "interp/machine.h"
#include "python/make.h"

namespace relay::python {
namespace {

std::string names_of_inputs(const Signature& signature) {
  std::string out;
  for (const std::string& name : signature.inputs) out += cat(out.empty() ? "`" : ", `", name, "`");
  return out.empty() ? "it takes no inputs" : cat("its inputs are ", out);
}

// Where inputs are missing because one argument holds all of them, as other runtimes take them.
std::string how_to_unpack(const Signature& signature, const std::vector<py::object>& given) {
  if (given.empty() || !given[0]) return {};
  if (py::isinstance<py::dict>(given[0])) {
    const auto named = py::reinterpret_borrow<py::dict>(given[0]);
    const bool has_all = std::all_of(signature.inputs.begin(), signature.inputs.end(),
                                     [&](const std::string& name) { return named.contains(name.c_str()); });
    return has_all ? "; a dict of inputs is given as f(**inputs)" : "";
  }
  const bool is_sequence = py::isinstance<py::list>(given[0]) || py::isinstance<py::tuple>(given[0]);
  const bool is_all = is_sequence && py::len(given[0]) == given.size();
  return is_all ? cat("; a ", class_name(given[0]), " of inputs is given as f(*inputs)") : "";
}

std::string output_name(const Signature& signature, size_t i) {
  return i < signature.outputs.size() ? signature.outputs[i] : cat("output ", i);
}

void place_named(const Signature& signature, const py::dict& named, const std::vector<std::string>& options,
                 std::vector<py::object>& out) {
  for (const auto& [key, value] : named) {
    if (!py::isinstance<py::str>(key)) throw py::type_error("the names of inputs are texts");
    const std::string name = py::str(key);
    const auto at = std::find(signature.inputs.begin(), signature.inputs.end(), name);
    if (at == signature.inputs.end()) {
      std::vector<std::string> known = signature.inputs;
      known.insert(known.end(), options.begin(), options.end());
      const std::string meant = did_you_mean(name, known);
      throw py::type_error(
          cat("there is no input `", name, "`", meant.empty() ? "" : cat("; ", meant),
              meant.empty() ? ": " : " ", names_of_inputs(signature),
              options.empty() ? "" : cat(", and its options `", join(options, "`, `"), "`")));
    }
    py::object& place = out[static_cast<size_t>(at - signature.inputs.begin())];
    if (place) throw py::type_error(cat("argument `", name, "` is given by its place and by its name"));
    place = py::reinterpret_borrow<py::object>(value);
  }
}

void check_all_given(const Signature& signature, const std::vector<py::object>& given) {
  if (std::all_of(given.begin(), given.end(), [](const py::object& g) { return bool(g); })) return;
  const std::string how = how_to_unpack(signature, given);
  for (size_t i = 0; i < given.size(); ++i) {
    if (!given[i])
      throw py::type_error(
          cat("argument `", signature.inputs[i], "` is missing: ", names_of_inputs(signature), how));
  }
}

void place_in_order(const Signature& signature, const py::sequence& args, std::vector<py::object>& out) {
  const size_t count = args.size();
  if (count > out.size()) {
    throw py::type_error(cat(count, " arguments are given and the program takes ", out.size(), ": ",
                             names_of_inputs(signature)));
  }
  for (size_t i = 0; i < count; ++i) out[i] = args[i];
}

// The option as a number from `least`.
template <class T>
std::optional<T> limit(const py::kwargs& named, const char* option, T least) {
  const py::object given = take(named, option);
  if (given.is_none()) return std::nullopt;
  try {
    const T value = py::cast<T>(given);
    if (value >= least) return value;
    if (value != value) throw py::value_error(cat("argument `", option, "` is no number"));
  } catch (const py::cast_error&) {
    throw py::type_error(cat("argument `", option, "` is no number that it can have"));
  }
  throw py::value_error(cat("argument `", option, "` is below ", least));
}

}  // namespace

std::vector<py::object> ordered(const Signature& signature, const py::args& args, const py::kwargs& named,
                                const std::vector<std::string>& options) {
  std::vector<py::object> out(signature.inputs.size());
  place_in_order(signature, args, out);
  if (PyDict_GET_SIZE(named.ptr()) > 0) place_named(signature, named, options, out);
  check_all_given(signature, out);
  return out;
}

std::vector<py::object> ordered(const Signature& signature, py::handle inputs) {
  std::vector<py::object> out(signature.inputs.size());
  if (py::isinstance<py::dict>(inputs)) {
    place_named(signature, py::reinterpret_borrow<py::dict>(inputs), {}, out);
  } else if (py::isinstance<py::list>(inputs) || py::isinstance<py::tuple>(inputs)) {
    place_in_order(signature, py::reinterpret_borrow<py::sequence>(inputs), out);
  } else {
    place_in_order(signature, py::make_tuple(py::reinterpret_borrow<py::object>(inputs)), out);
  }
  check_all_given(signature, out);
  return out;
}

void check_extents(const driver::Model& model, const Signature& signature, std::span<const Value> values) {
  std::vector<Type> types;
  for (const Var* x : model.entry().params) types.push_back(x->type);
  for (size_t count = 1; count <= values.size(); ++count) {
    std::unordered_map<const kernel::ExprNode*, int64_t> variables;
    try {
      interp::check_shapes(values.first(count), std::span(types).first(count), variables, Span::none());
    } catch (const Trap& trap) {
      throw py::value_error(cat("argument `", signature.inputs[count - 1], "` has a ", trap.what()));
    }
  }
}

py::object take(const py::kwargs& named, const char* option) {
  PyObject* found = PyDict_GetItemString(named.ptr(), option);
  if (!found) return py::none();
  py::object value = py::reinterpret_borrow<py::object>(found);
  PyDict_DelItemString(named.ptr(), option);
  return value;
}

std::vector<std::string> limit_names(const std::vector<std::string>& more) {
  std::vector<std::string> out{"fuel", "max_depth", "max_time", "max_memory"};
  out.insert(out.end(), more.begin(), more.end());
  return out;
}

interp::Limits take_limits(const py::kwargs& named) {
  interp::Limits limits;
  if (const auto n = limit<uint64_t>(named, "fuel", 1)) limits.fuel = *n;
  if (const auto n = limit<size_t>(named, "max_depth", 1)) limits.max_depth = *n;
  if (const auto n = limit<uint64_t>(named, "max_memory", 1)) limits.max_bytes = *n;
  if (const auto seconds = limit<double>(named, "max_time", 0)) {
    if (!(*seconds <= 3e8)) throw py::value_error("argument `max_time` is in seconds, at most 3e8");
    limits.max_time = std::chrono::nanoseconds(static_cast<int64_t>(*seconds * 1e9));
  }
  return limits;
}

std::vector<Lent> lend_outputs(py::handle out, const Signature& signature,
                               const std::vector<uint32_t>& types) {
  std::vector<py::object> given;
  if (py::isinstance<py::list>(out) || py::isinstance<py::tuple>(out)) {
    for (const py::object item : py::reinterpret_borrow<py::sequence>(out)) given.push_back(item);
  } else {
    given.push_back(py::reinterpret_borrow<py::object>(out));
  }
  if (given.size() != types.size()) {
    throw py::value_error(cat("argument `out` has ", given.size(), " arrays, and the program gives ",
                              types.size(), " tensors"));
  }
  std::vector<Lent> lent;
  for (size_t i = 0; i < given.size(); ++i) {
    const std::string name = given.size() == 1 ? "out" : cat("out[", i, "]");
    lent.push_back(lend_output(given[i], signature.types[types[i]], name));
    for (size_t k = 0; k < i; ++k) check_apart(lent[i], i, lent[k], output_name(signature, k));
  }
  return lent;
}

bool overlap(const void* a, size_t a_bytes, const void* b, size_t b_bytes) {
  const auto a_begin = reinterpret_cast<uintptr_t>(a), b_begin = reinterpret_cast<uintptr_t>(b);
  return a_begin < b_begin + b_bytes && b_begin < a_begin + a_bytes;
}

void check_apart(const Lent& output, size_t index, const Lent& input, const std::string& name) {
  if (!overlap(output.data, output.bytes(), input.data, input.bytes())) return;
  throw py::value_error(
      cat("argument `out` (array ", index, ") shares memory with `", name, "`: give another array"));
}

}  // namespace relay::python
