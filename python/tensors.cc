#include "python/tensors.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iterator>
#include <optional>

#include "base/cat.h"
#include "python/make.h"
#include "python/masked.h"

namespace relay::python {
namespace {

std::string shape_text(const std::vector<int64_t>& dims) {
  std::string out;
  for (const int64_t d : dims) out += cat(out.empty() ? "" : ", ", d == kOpen ? "?" : cat(d));
  return dims.size() == 1 ? cat("(", out, ",)") : cat("(", out, ")");
}

// --- dtypes --------------------------------------------------------------------------------------

// NumPy's numbers of dtypes, up to its `double`: facts of its binary interface.
constexpr std::optional<DType> kByNumber[] = {kBool,
                                              kInt8,
                                              kUInt8,
                                              kInt16,
                                              kUInt16,
                                              kInt32,
                                              kUInt32,
                                              DType{DTypeCode::kInt, 8 * sizeof(long)},
                                              DType{DTypeCode::kUInt, 8 * sizeof(long)},
                                              kInt64,
                                              kUInt64,
                                              kFloat32,
                                              kFloat64};
constexpr int kNumberOfHalf = 23;

// Nullopt for a dtype that the language has not. Asks for the number alone: where the size of an
// element stands differs between NumPy 1 and 2.
std::optional<DType> dtype_of(const py::dtype& dtype) {
  const int number = dtype.num();
  if (number >= 0 && static_cast<size_t>(number) < std::size(kByNumber)) return kByNumber[number];
  if (number == kNumberOfHalf) return kFloat16;
  const std::string name = py::str(dtype.attr("name"));  // those of ml_dtypes have numbers of the moment
  if (name == "bfloat16") return kBFloat16;
  if (name == "float8_e4m3fn") return kFloat8E4M3;
  if (name == "float8_e5m2") return kFloat8E5M2;
  return std::nullopt;
}

std::optional<DType> dtype_of(DLDataType t) {
  if (t.lanes != 1) return std::nullopt;
  switch (t.code) {
    case kDLBool: return kBool;
    case kDLInt: return DType{DTypeCode::kInt, t.bits};
    case kDLUInt: return DType{DTypeCode::kUInt, t.bits};
    case kDLFloat: return DType{DTypeCode::kFloat, t.bits};
    case kDLBfloat: return kBFloat16;
    case kDLFloat8_e4m3fn: return kFloat8E4M3;
    case kDLFloat8_e5m2: return kFloat8E5M2;
    default: return std::nullopt;
  }
}

// 4-bit integers lie in bytes.
DType stored(DType dtype) { return dtype.bits < 8 ? DType{dtype.code, 8} : dtype; }

std::string numpy_name(DType dtype) {
  if (dtype == kFloat8E4M3) return "float8_e4m3fn";
  return stored(dtype).name();
}

void check_dtype(std::optional<DType> given, const std::string& shown, const TypeEntry& type,
                 const std::string& name) {
  if (given == stored(type.dtype)) return;
  throw py::type_error(cat("argument `", name, "` has the dtype ", shown, ", and the program takes ",
                           type.dtype.name(), ": convert it, as by ", name, ".astype(\"",
                           numpy_name(type.dtype), "\")"));
}

void check_shape(const std::vector<int64_t>& shape, const TypeEntry& type, const std::string& name) {
  bool fits = shape.size() == type.dims.size();
  for (size_t i = 0; fits && i < shape.size(); ++i) fits = type.dims[i] == kOpen || type.dims[i] == shape[i];
  if (fits) return;
  throw py::value_error(cat("argument `", name, "` has the shape ", shape_text(shape),
                            ", and the program takes ", shape_text(type.dims)));
}

// Elements of which an array of bytes may say more: of 4 bits, and truth values that are neither
// 0 nor 1, as in a view of other bytes.
void check_range(const Lent& lent, DType dtype, const std::string& name) {
  if (dtype.bits >= 8 && !dtype.is_bool()) return;
  const bool is_signed = dtype.is_signed_int();
  const int least = is_signed ? -8 : 0, most = is_signed ? 7 : dtype.is_bool() ? 1 : 15;
  const auto* bytes = static_cast<const uint8_t*>(lent.data);
  for (size_t i = 0; i < lent.bytes(); ++i) {
    const int element = is_signed ? static_cast<int8_t>(bytes[i]) : bytes[i];
    if (element >= least && element <= most) continue;
    throw py::value_error(cat("argument `", name, "` has the element ", element, ", and ", dtype.name(),
                              " goes from ", least, " to ", most));
  }
}

// --- arrays of NumPy -----------------------------------------------------------------------------

Lent lend_array(const py::array& array, const TypeEntry& type, const std::string& name) {
  const py::dtype dtype = array.dtype();
  const std::optional<DType> given = dtype_of(dtype);
  if (given != stored(type.dtype)) check_dtype(given, py::str(py::handle(dtype)), type, name);
  if (dtype.byteorder() == '>') {
    throw py::type_error(cat("argument `", name, "` has the byte order of other machines: convert it, as by ",
                             name, ".astype(\"", numpy_name(type.dtype), "\")"));
  }
  Lent out{.dtype = type.dtype,
           .shape = {array.shape(), array.shape() + array.ndim()},
           .writable = array.writeable(),
           .owner = array};
  check_shape(out.shape, type, name);
  if (!(array.flags() & py::array::c_style)) {
    throw py::value_error(cat("argument `", name, "` is not contiguous in row-major order: copy it, as by ",
                              "numpy.ascontiguousarray(", name, ")"));
  }
  if (!(array.flags() & py::detail::npy_api::NPY_ARRAY_ALIGNED_)) {
    throw py::value_error(
        cat("argument `", name, "` is not aligned for its dtype: copy it, as by ", name, ".copy()"));
  }
  out.data = const_cast<void*>(array.data());
  return out;
}

// --- DLPack --------------------------------------------------------------------------------------

// The capsule of a tensor with its owner. It says by its name whether somebody has taken it.
py::object dlpack_capsule(py::handle value, const std::string& name) {
  const py::tuple device = value.attr("__dlpack_device__")();
  const int kind = py::int_(device[0]);
  if (kind != kDLCPU && kind != kDLCUDAHost && kind != kDLCUDAManaged) {
    throw py::value_error(cat("argument `", name, "` is in the memory of a device (DLPack's number ", kind,
                              "), and the program runs on the CPU: copy it, as by ", name,
                              ".cpu() of PyTorch's or ", name, ".get() of CuPy's"));
  }
  const py::object export_to = value.attr("__dlpack__");
  try {
    try {
      return export_to(py::arg("max_version") = py::make_tuple(DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION));
    } catch (py::error_already_set& error) {
      if (!error.matches(PyExc_TypeError)) throw;  // it is from before `max_version`
    }
    return export_to();
  } catch (py::error_already_set& error) {
    if (!error.matches(PyExc_BufferError)) throw;
    // A tensor that needs its gradient, or one that is read-only and has no way to say so.
    throw py::value_error(
        cat("argument `", name, "` does not give its memory: ", std::string(py::str(error.value()))));
  }
}

template <class Managed>
py::object owner_of(Managed* managed) {
  return py::capsule(managed, [](void* memory) {
    auto* taken = static_cast<Managed*>(memory);
    if (taken->deleter) taken->deleter(taken);
  });
}

bool is_row_major(const DLTensor& t) {
  int64_t expected = 1;
  bool is_empty = false;
  for (int i = 0; i < t.ndim; ++i) is_empty |= t.shape[i] == 0;
  if (!t.strides || is_empty) return true;
  for (int i = t.ndim; i-- > 0;) {
    if (t.shape[i] != 1 && t.strides[i] != expected) return false;
    expected *= t.shape[i];
  }
  return true;
}

Lent lend_dlpack(py::handle value, const TypeEntry& type, const std::string& name) {
  const py::object capsule = dlpack_capsule(value, name);
  const DLTensor* t = nullptr;
  Lent out{.dtype = type.dtype, .writable = true};
  if (PyCapsule_IsValid(capsule.ptr(), "dltensor_versioned")) {
    auto* managed =
        static_cast<DLManagedTensorVersioned*>(PyCapsule_GetPointer(capsule.ptr(), "dltensor_versioned"));
    if (managed->version.major != DLPACK_MAJOR_VERSION) {
      throw py::type_error(cat("argument `", name, "` is a tensor of DLPack ", managed->version.major,
                               ", and this is version ", DLPACK_MAJOR_VERSION));
    }
    PyCapsule_SetName(capsule.ptr(), "used_dltensor_versioned");
    t = &managed->dl_tensor;
    out.writable = !(managed->flags & DLPACK_FLAG_BITMASK_READ_ONLY);
    out.copied = managed->flags & DLPACK_FLAG_BITMASK_IS_COPIED;
    out.owner = owner_of(managed);
  } else if (PyCapsule_IsValid(capsule.ptr(), "dltensor")) {
    auto* managed = static_cast<DLManagedTensor*>(PyCapsule_GetPointer(capsule.ptr(), "dltensor"));
    PyCapsule_SetName(capsule.ptr(), "used_dltensor");
    t = &managed->dl_tensor;
    out.owner = owner_of(managed);
  } else {
    throw py::type_error(cat("argument `", name, "`: what its __dlpack__ gives is no tensor of DLPack"));
  }
  check_dtype(dtype_of(t->dtype),
              cat("of DLPack's code ", int{t->dtype.code}, " with ", int{t->dtype.bits}, " bits"), type,
              name);
  out.shape.assign(t->shape, t->shape + t->ndim);
  check_shape(out.shape, type, name);
  if (!is_row_major(*t)) {
    throw py::value_error(cat("argument `", name, "` is not contiguous in row-major order: copy it, as by ",
                              name, ".contiguous()"));
  }
  out.data = static_cast<char*>(t->data) + t->byte_offset;
  if (out.bytes() > 0 && reinterpret_cast<uintptr_t>(out.data) % out.dtype.bytes() != 0)
    throw py::value_error(cat("argument `", name, "` is not aligned for its dtype: copy it"));
  return out;
}

// --- numbers -------------------------------------------------------------------------------------

[[noreturn]] void refuse_number(const TypeEntry& type, const std::string& name) {
  throw py::value_error(cat("argument `", name, "` is beyond what ", type.dtype.name(), " holds"));
}

bool fits(py::handle value, DType dtype) {
  if (dtype.is_bool()) return PyBool_Check(value.ptr());
  if (dtype.is_int()) return PyLong_Check(value.ptr()) && !PyBool_Check(value.ptr());
  return PyFloat_Check(value.ptr()) || (PyLong_Check(value.ptr()) && !PyBool_Check(value.ptr()));
}

// Infinity is given as such: a number becomes it by no rounding.
bool is_in_range(py::handle value, DType dtype) {
  const double number = PyFloat_AsDouble(value.ptr());
  if (number == -1 && PyErr_Occurred()) {
    if (!PyErr_ExceptionMatches(PyExc_OverflowError)) throw py::error_already_set();
    PyErr_Clear();
    return false;
  }
  return !std::isfinite(number) || std::isfinite(Tensor::scalar(dtype, number).get(0));
}

// A scalar of memory of its own. NumPy refuses integers that the dtype cannot hold.
Lent lend_number(py::handle value, const TypeEntry& type, const std::string& name) {
  if (!type.dims.empty()) {
    throw py::type_error(cat("argument `", name, "` is a number, and the program takes ", type.text,
                             ": make it an array, as by numpy.full(shape, ", name, ", \"",
                             numpy_name(type.dtype), "\")"));
  }
  if (!fits(value, type.dtype)) {
    throw py::type_error(cat("argument `", name, "` is of the type ", class_name(value),
                             ", and the program takes ", type.dtype.name()));
  }
  if (type.dtype.is_int()) {
    int overflow = 0;
    const long long number = PyLong_AsLongLongAndOverflow(value.ptr(), &overflow);
    const int bits = type.dtype.bits;
    const bool is_signed = type.dtype.is_signed_int();
    bool inside = overflow == 0 && (is_signed || number >= 0);
    if (inside && is_signed)
      inside = bits == 64 || (number >= -(1LL << (bits - 1)) && number < (1LL << (bits - 1)));
    if (inside && !is_signed) inside = bits == 64 || number < (1LL << bits);
    const bool is_large =
        !is_signed && bits == 64 && overflow > 0 &&
        py::cast<bool>(py::int_(1).attr("__lshift__")(64) > py::reinterpret_borrow<py::object>(value));
    if (!inside && !is_large) refuse_number(type, name);
  }
  if (type.dtype.is_float() && !is_in_range(value, type.dtype)) refuse_number(type, name);
  const py::array array = py::module_::import("numpy").attr("array")(value, numpy_dtype(type.dtype));
  return lend_array(array, type, name);
}

[[noreturn]] void refuse(py::handle value, const TypeEntry& type, const std::string& name) {
  // A column of pandas has `__array__`, which may copy: who calls it decides that.
  const bool becomes_array = py::isinstance<py::list>(value) || py::isinstance<py::tuple>(value) ||
                             PyRange_Check(value.ptr()) || py::hasattr(value, "__array__");
  const std::string remedy =
      py::isinstance<py::dict>(value) ? "give its array; a dict of inputs is given as f(**inputs)"
      : becomes_array
          ? cat("make it an array, as by numpy.array(", name, ", \"", numpy_name(type.dtype), "\")")
          : "give an array of NumPy, or what has `__dlpack__`";
  throw py::type_error(cat("argument `", name, "` is of the type ", class_name(value),
                           ", and the program takes ", type.text, ": ", remedy));
}

// NumPy's array of the same memory, for a memoryview, an array.array or bytes.
py::array array_of_buffer(py::handle value, const TypeEntry& type, const std::string& name) {
  try {
    const py::memoryview view(py::reinterpret_borrow<py::object>(value));
    return py::reinterpret_borrow<py::array>(py::module_::import("numpy").attr("asarray")(view));
  } catch (py::error_already_set& error) {
    // Ctrl-C says nothing about the elements, and neither does a lack of memory.
    if (!error.matches(PyExc_Exception) || error.matches(PyExc_MemoryError)) throw;
    refuse(value, type, name);  // its elements are nothing that NumPy has
  }
}

bool has_dlpack(py::handle value) {
  return py::hasattr(value, "__dlpack__") && py::hasattr(value, "__dlpack_device__");
}

Lent lend_any(py::handle value, const TypeEntry& type, const std::string& name) {
  if (py::isinstance<py::array>(value))
    return lend_array(py::reinterpret_borrow<py::array>(value), type, name);
  if (PyFloat_Check(value.ptr()) || PyLong_Check(value.ptr())) return lend_number(value, type, name);
  if (has_dlpack(value)) return lend_dlpack(value, type, name);
  // NumPy's own scalars, and arrays of packages without DLPack.
  if (py::hasattr(value, "__array_interface__")) {
    const py::object array = py::module_::import("numpy").attr("asarray")(value);
    return lend_array(py::reinterpret_borrow<py::array>(array), type, name);
  }
  if (PyObject_CheckBuffer(value.ptr())) return lend_array(array_of_buffer(value, type, name), type, name);
  refuse(value, type, name);
}

}  // namespace

size_t Lent::bytes() const {
  size_t count = 1;
  for (const int64_t d : shape) count *= static_cast<size_t>(d);
  return count * dtype.bytes();
}

DLTensor Lent::dlpack() {
  DLTensor t = {};
  t.data = data;
  t.device = {kDLCPU, 0};
  t.ndim = static_cast<int32_t>(shape.size());
  t.dtype = dlpack_dtype(dtype);
  t.shape = shape.data();
  return t;
}

Lent lend(py::handle value, const TypeEntry& type, const std::string& name) {
  refuse_masked(value, cat("argument `", name, "`"),
                "say what stands for the elements that are masked, as by .filled(0)");
  Lent out = lend_any(value, type, name);
  check_range(out, type.dtype, name);
  return out;
}

Lent lend_output(py::handle value, const TypeEntry& type, const std::string& name) {
  refuse_masked(value, cat("argument `", name, "`"), "give the array of its elements, .data");
  const bool is_array = py::isinstance<py::array>(value);
  if (!is_array && !has_dlpack(value)) {
    throw py::type_error(cat("argument `", name, "` is of the type ", class_name(value),
                             ", and results are written to arrays of NumPy, or to what has `__dlpack__`"));
  }
  Lent out = is_array ? lend_array(py::reinterpret_borrow<py::array>(value), type, name)
                      : lend_dlpack(value, type, name);
  if (!out.writable)
    throw py::value_error(cat("argument `", name, "` is read-only: results cannot be written to it"));
  if (out.copied) {
    throw py::value_error(cat("argument `", name,
                              "`: its __dlpack__ gives a copy, which nobody would read results from: give an "
                              "array that lends its memory"));
  }
  return out;
}

Tensor tensor_of(Lent lent) {
  if (lent.bytes() == 0) return Tensor(lent.dtype, lent.shape);
  const std::shared_ptr<const void> owner(lent.owner.release().ptr(), [](const void* object) {
    const py::gil_scoped_acquire with;
    Py_DECREF(static_cast<PyObject*>(const_cast<void*>(object)));
  });
  return Tensor(lent.dtype, std::move(lent.shape), lent.data, owner);
}

py::array array_of(const Tensor& tensor) {
  py::array out = new_array(numpy_dtype(tensor.dtype()), tensor.shape());
  if (tensor.bytes() > 0) std::memcpy(out.mutable_data(), tensor.data(), tensor.bytes());
  return out;
}

py::array new_array(const py::dtype& dtype, const std::vector<int64_t>& shape) {
  static_assert(sizeof(py::ssize_t) == sizeof(int64_t));
  const auto& api = py::detail::npy_api::get();
  PyObject* array = api.PyArray_NewFromDescr_(
      api.PyArray_Type_, py::dtype(dtype).release().ptr(), static_cast<int>(shape.size()),
      reinterpret_cast<const Py_intptr_t*>(shape.data()), nullptr, nullptr, 0, nullptr);
  if (!array) throw py::error_already_set();
  return py::reinterpret_steal<py::array>(array);
}

void load_numpy() {
  const py::module_ warnings = py::module_::import("warnings");
  const py::object quiet = warnings.attr("catch_warnings")();
  quiet.attr("__enter__")();
  warnings.attr("simplefilter")("ignore");
  py::detail::npy_api::get();
  quiet.attr("__exit__")(py::none(), py::none(), py::none());
}

py::dtype numpy_dtype(DType dtype) {
  if (dtype.is_bool()) return py::dtype("?");
  if (dtype.code == DTypeCode::kFloat || dtype.is_int()) return py::dtype(stored(dtype).name());
  try {
    return py::dtype::from_args(py::module_::import("ml_dtypes").attr(numpy_name(dtype).c_str()));
  } catch (py::error_already_set& error) {
    if (!error.matches(PyExc_ImportError)) throw;
  }
  throw py::type_error(cat("NumPy has no dtype ", dtype.name(),
                           ": pip install ml_dtypes, which has it, or cast the tensor in the program"));
}

void refuse_two_meanings(const std::string& dtype, const std::string& what) {
  for (const char* word : {"int", "uint", "float"}) {
    if (dtype == word)
      throw py::type_error(cat(what, ": \"", dtype,
                               "\" has 64 bits in NumPy and 32 in texts of the language: say \"", dtype,
                               "32\" or \"", dtype, "64\""));
  }
}

DType dtype_of(py::handle dtype, const std::string& what) {
  if (py::isinstance<py::str>(dtype)) {
    const std::string name = py::str(dtype);
    refuse_two_meanings(name, what);
    if (const std::optional<DType> found = DType::parse(name)) return *found;
    throw py::type_error(cat(what, ": there is no dtype \"", name, "\""));
  }
  const py::dtype of_numpy = py::dtype::from_args(py::reinterpret_borrow<py::object>(dtype));
  if (const std::optional<DType> found = dtype_of(of_numpy)) return *found;
  throw py::type_error(cat(what, ": the language has no dtype ", std::string(py::str(py::handle(of_numpy)))));
}

DLDataType dlpack_dtype(DType dtype) {
  static constexpr uint8_t kCodes[] = {kDLBool,   kDLInt,           kDLUInt,       kDLFloat,
                                       kDLBfloat, kDLFloat8_e4m3fn, kDLFloat8_e5m2};
  return {kCodes[static_cast<size_t>(dtype.code)], dtype.bits, 1};
}

}  // namespace relay::python
