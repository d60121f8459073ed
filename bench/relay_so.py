"""Runs a compiled model from Python: the C interface of runtime/relay.h through ctypes, tensors as NumPy arrays.

    with Model("model.so", threads=1) as model, model.context() as context:
        print(model.describe())
        results = context.run([x, y])              # the model's own memory, copied out
        call = context.bind([x, y], results)       # arrays in place, no copies
        call()                                     # as often as you like; `results` is overwritten

Only the library's own functions are used, each found through its relay_get_api().
"""

import ctypes
import json
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np

ABI_VERSION = 2
ERROR_SIZE = 1024
STATUS = ("ok", "trap", "usage", "bad model", "unsupported", "limit", "internal", "cancelled", "busy", "timed out")

CPU = 1  # kDLCPU
TYPE_CODES = {"i": 0, "u": 1, "f": 2, "b": 6}  # NumPy's kinds to DLPack's codes
KINDS = {code: kind for kind, code in TYPE_CODES.items()}


class RelayError(Exception):
    """A call that did not end well: the kind of failure and the model's own words."""


class Device(ctypes.Structure):
    """DLDevice."""

    _fields_ = [("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32)]


class DataType(ctypes.Structure):
    """DLDataType."""

    _fields_ = [("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16)]


class DLTensor(ctypes.Structure):
    """DLTensor."""

    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device", Device),
        ("ndim", ctypes.c_int32),
        ("dtype", DataType),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


class OpenOptions(ctypes.Structure):
    """relay_open_options; allocator, parallel and log stay NULL here."""

    _fields_ = [
        ("struct_size", ctypes.c_uint32),
        ("threads", ctypes.c_uint32),
        ("weights_path", ctypes.c_char_p),
        ("allocator", ctypes.c_void_p),
        ("parallel", ctypes.c_void_p),
        ("log", ctypes.c_void_p),
        ("log_self", ctypes.c_void_p),
        ("error", ctypes.c_void_p),
        ("error_size", ctypes.c_size_t),
    ]


class ValueView(ctypes.Structure):
    """relay_value_view: what a value is."""

    _fields_ = [
        ("struct_size", ctypes.c_uint32),
        ("kind", ctypes.c_uint32),
        ("type", ctypes.c_uint32),
        ("constructor", ctypes.c_uint32),
        ("field_count", ctypes.c_size_t),
        ("tensor", DLTensor),
    ]


Handle = ctypes.c_void_p
Out = ctypes.POINTER(Handle)
Tensors = ctypes.POINTER(ctypes.POINTER(DLTensor))


class Api(ctypes.Structure):
    """relay_api, as of version 2."""

    _fields_ = [
        ("struct_size", ctypes.c_uint32),
        ("abi_version", ctypes.c_uint32),
        ("model_open", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(OpenOptions), ctypes.POINTER(Handle))),
        ("model_describe", ctypes.CFUNCTYPE(ctypes.c_char_p, Handle)),
        ("model_close", ctypes.CFUNCTYPE(ctypes.c_int, Handle)),
        ("context_create", ctypes.CFUNCTYPE(ctypes.c_int, Handle, ctypes.POINTER(Handle))),
        ("context_free", ctypes.CFUNCTYPE(None, Handle)),
        ("run", ctypes.CFUNCTYPE(ctypes.c_int, Handle, Tensors, ctypes.c_size_t, Tensors, ctypes.c_size_t)),
        ("cancel", ctypes.CFUNCTYPE(None, Handle)),
        ("error", ctypes.CFUNCTYPE(ctypes.c_char_p, Handle)),
        ("value_tensor", ctypes.CFUNCTYPE(ctypes.c_int, Handle, ctypes.c_uint32, ctypes.POINTER(DLTensor), Out)),
        (
            "value_node",
            ctypes.CFUNCTYPE(
                ctypes.c_int, Handle, ctypes.c_uint32, ctypes.c_uint32, ctypes.POINTER(Handle), ctypes.c_size_t, Out
            ),
        ),
        ("value_look", ctypes.CFUNCTYPE(ctypes.c_int, Handle, Handle, ctypes.POINTER(ValueView))),
        ("value_field", ctypes.CFUNCTYPE(ctypes.c_int, Handle, Handle, ctypes.c_size_t, Out)),
        ("value_free", ctypes.CFUNCTYPE(None, Handle, Handle)),
        ("call", ctypes.CFUNCTYPE(ctypes.c_int, Handle, ctypes.POINTER(Handle), ctypes.c_size_t, Out)),
        ("set_timeout", ctypes.CFUNCTYPE(ctypes.c_int, Handle, ctypes.c_int64)),
    ]


class Call:
    """A context with its inputs and outputs tied to it: call it to run. It keeps alive all that it points to."""

    def __init__(
        self, context: "Context", inputs: Sequence[DLTensor], outputs: Sequence[DLTensor], memory: Sequence[np.ndarray]
    ) -> None:
        self._context = context
        self._alive = [*inputs, *outputs, *memory]
        self._arguments = (context.handle, *pointers(inputs), *pointers(outputs))
        self._run = context.api.run

    def __call__(self) -> None:
        status = self._run(*self._arguments)
        if status:
            raise RelayError(explain(status, self._context.error()))


class Context:
    """The workspace of one run at a time."""

    def __init__(self, model: "Model") -> None:
        self._model = model
        self.api = model.api
        self.handle = Handle()
        status = self.api.context_create(model.handle, ctypes.byref(self.handle))
        if status:
            raise RelayError(explain(status, "no context could be made"))

    def run(self, inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Runs once and copies the results; works whatever their shapes turn out to be."""
        outputs = [DLTensor() for _ in self._model.describe()["outputs"]]
        Call(self, [tensor_of(x) for x in inputs], outputs, inputs)()
        return [array_of(output) for output in outputs]

    def bind(self, inputs: Sequence[np.ndarray], outputs: Sequence[np.ndarray]) -> Call:
        """Ties arrays to this context, to be read and overwritten in place."""
        arrays = [*inputs, *outputs]
        return Call(self, [tensor_of(x) for x in inputs], [tensor_of(y) for y in outputs], arrays)

    def error(self) -> str:
        """The words of the last failure."""
        return (self.api.error(self.handle) or b"").decode(errors="replace")

    def close(self) -> None:
        """Frees it; once is enough, twice is allowed."""
        self.api.context_free(self.handle)
        self.handle = Handle()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class Model:
    """A library that `relay compile` made. `threads` 0 means what `relay compile --threads` said."""

    def __init__(self, path: Path | str, threads: int = 0) -> None:
        self.api = load(Path(path))
        self.handle = Handle()
        text = ctypes.create_string_buffer(ERROR_SIZE)
        options = OpenOptions(threads=threads, error=ctypes.addressof(text), error_size=ERROR_SIZE)
        options.struct_size = ctypes.sizeof(OpenOptions)
        status = self.api.model_open(ctypes.byref(options), ctypes.byref(self.handle))
        if status:
            raise RelayError(explain(status, text.value.decode(errors="replace")))

    def describe(self) -> dict[str, Any]:
        """What the model says of itself."""
        text: bytes = self.api.model_describe(self.handle)
        description: dict[str, Any] = json.loads(text)
        return description

    def names(self, side: str) -> list[str]:
        """The names of the `inputs` or `outputs`, in order."""
        return [tensor["name"] for tensor in self.describe()[side]]

    def context(self) -> Context:
        """A workspace; a model may have several."""
        return Context(self)

    def close(self) -> None:
        """Frees it; every context must be closed before."""
        status = self.api.model_close(self.handle)
        if status:
            raise RelayError(explain(status, "the model could not be closed"))
        self.handle = Handle()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def load(path: Path) -> Api:
    """The table of functions of a library."""
    try:
        library = ctypes.CDLL(str(path.absolute()), mode=ctypes.RTLD_LOCAL)
        library.relay_get_api.restype = ctypes.POINTER(Api)
        api: Api = library.relay_get_api().contents
    except (OSError, AttributeError) as error:
        raise RelayError(f"{path.name} is no compiled model: {error}") from error
    if api.abi_version != ABI_VERSION:
        raise RelayError(f"{path.name} has ABI version {api.abi_version}, and this program knows {ABI_VERSION}")
    return api


def explain(status: int, text: str) -> str:
    """A status with its text in one line."""
    kind = STATUS[status] if 0 <= status < len(STATUS) else f"status {status}"
    return f"{kind}: {' '.join(text.split())}"


def tensor_of(array: np.ndarray) -> DLTensor:
    """The array as DLPack has it; the array must outlive the result."""
    if not array.flags.c_contiguous or array.dtype.kind not in TYPE_CODES:
        raise RelayError(f"an array of dtype {array.dtype} with strides {array.strides} cannot be passed on")
    tensor = DLTensor(data=array.ctypes.data, device=Device(CPU, 0), ndim=array.ndim)
    tensor.dtype = DataType(TYPE_CODES[array.dtype.kind], 8 * array.dtype.itemsize, 1)
    tensor.shape = (ctypes.c_int64 * array.ndim)(*array.shape)
    return tensor


def array_of(tensor: DLTensor) -> np.ndarray:
    """A copy of a dense tensor that the model owns."""
    if tensor.dtype.code not in KINDS:
        raise RelayError(f"an output has DLPack's type code {tensor.dtype.code}, which NumPy does not know")
    dtype = np.dtype(f"{KINDS[tensor.dtype.code]}{tensor.dtype.bits // 8}")
    result = np.empty(tuple(tensor.shape[: tensor.ndim]), dtype)
    if result.size:
        ctypes.memmove(result.ctypes.data, tensor.data + tensor.byte_offset, result.nbytes)
    return result


def pointers(tensors: Sequence[DLTensor]) -> tuple[Any, int]:
    """An array of pointers to the structures, and its length; the structures must outlive it."""
    return (ctypes.POINTER(DLTensor) * len(tensors))(*map(ctypes.pointer, tensors)), len(tensors)
