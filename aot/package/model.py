"""A model that `relay compile --emit python` made, on NumPy arrays. It needs NumPy, and @LIBRARY@ beside it.

    import @NAME@
    outputs = @NAME@.run(x)           # inputs in order, or by name: run(x=...)
"""

import ctypes
import json
import os
import threading
from ctypes import POINTER, byref, c_char_p, c_int, c_int32, c_int64, c_size_t, c_uint8, c_uint16, c_uint32, c_uint64, c_void_p

import numpy as np

_ABI_VERSION = @ABI@
_CPU = 1  # DLDeviceType
_DENORMALS = {None: 0, "flush": 1, "keep": 2}  # relay_denormals
_CODES = {"i": 0, "u": 1, "f": 2, "c": 5, "b": 6}  # DLDataTypeCode of NumPy's kinds
_KINDS = {code: kind for kind, code in _CODES.items()}


class _Tensor(ctypes.Structure):  # DLTensor
    _fields_ = [
        ("data", c_void_p), ("device_type", c_int32), ("device_id", c_int32), ("ndim", c_int32), ("code", c_uint8),
        ("bits", c_uint8), ("lanes", c_uint16), ("shape", POINTER(c_int64)), ("strides", POINTER(c_int64)),
        ("byte_offset", c_uint64),
    ]


class _OpenOptions(ctypes.Structure):  # relay_open_options
    _fields_ = [
        ("struct_size", c_uint32), ("threads", c_uint32), ("weights_path", c_char_p), ("allocator", c_void_p),
        ("parallel", c_void_p), ("log", c_void_p), ("log_self", c_void_p), ("error", c_char_p), ("error_size", c_size_t),
        ("vta", c_void_p), ("denormals", c_uint32),
    ]


def _function(result, *arguments):
    return ctypes.CFUNCTYPE(result, *arguments)


class _Api(ctypes.Structure):  # the beginning of relay_api
    _fields_ = [
        ("struct_size", c_uint32),
        ("abi_version", c_uint32),
        ("model_open", _function(c_int, POINTER(_OpenOptions), POINTER(c_void_p))),
        ("model_describe", _function(c_char_p, c_void_p)),
        ("model_close", _function(c_int, c_void_p)),
        ("context_create", _function(c_int, c_void_p, POINTER(c_void_p))),
        ("context_free", _function(None, c_void_p)),
        ("run", _function(c_int, c_void_p, POINTER(POINTER(_Tensor)), c_size_t, POINTER(POINTER(_Tensor)), c_size_t)),
        ("cancel", _function(None, c_void_p)),
        ("error", _function(c_char_p, c_void_p)),
    ]


class Model:
    """The model, opened. Threads may share one: their runs wait for each other.

    Tiny numbers, the denormals, are taken for 0 ("flush") or computed with ("keep"); None: as it was compiled.
    """

    def __init__(self, path=None, threads=0, denormals=None):
        path = path or os.path.join(os.path.dirname(os.path.abspath(__file__)), "@LIBRARY@")
        self._model, self._context, self._lock = c_void_p(), c_void_p(), threading.Lock()
        self._library = ctypes.CDLL(os.path.abspath(path))
        self._library.relay_get_api.restype = POINTER(_Api)
        self._api = self._library.relay_get_api().contents
        if self._api.abi_version != _ABI_VERSION:
            raise RuntimeError(f"{path} has version {self._api.abi_version} of the interface, and this module {_ABI_VERSION}")
        error = ctypes.create_string_buffer(256)
        if denormals not in _DENORMALS:
            raise ValueError(f"denormals={denormals!r} is none of None, 'flush' and 'keep'")
        if not 0 <= threads <= 1024:
            raise ValueError(f"threads={threads} is not from 0 to 1024")
        options = _OpenOptions(struct_size=ctypes.sizeof(_OpenOptions), threads=threads, denormals=_DENORMALS[denormals])
        options.error, options.error_size = ctypes.cast(error, c_char_p), len(error)
        if self._api.model_open(byref(options), byref(self._model)) != 0:
            raise RuntimeError(error.value.decode())
        if self._api.context_create(self._model, byref(self._context)) != 0:
            raise MemoryError("there is not enough memory for the model")
        self.description = json.loads(self._api.model_describe(self._model))
        self.inputs = [port["name"] for port in self.description["inputs"]]
        self.outputs = [port["name"] for port in self.description["outputs"]]

    def __del__(self):
        if getattr(self, "_api", None) is not None:
            self._api.context_free(self._context)
            self._api.model_close(self._model)

    def run(self, /, *arrays, **named):
        """Arrays for the inputs, in order or by name. Gives the output, or a dict of the outputs if there are several."""
        given = dict(zip(self.inputs, arrays), **named)
        if len(arrays) > len(self.inputs) or len(given) != len(arrays) + len(named) or set(given) != set(self.inputs):
            raise TypeError(f"the inputs are {', '.join(self.inputs)}")
        arrays = [self._array(port, given[port["name"]]) for port in self.description["inputs"]]
        tensors = [self._tensor(array) for array in arrays]
        made = [_Tensor(device_type=_CPU) for _ in self.outputs]  # without memory: the model gives its own
        pointers = [(POINTER(_Tensor) * len(list_))(*map(ctypes.pointer, list_)) for list_ in (tensors, made)]
        with self._lock:
            if self._api.run(self._context, pointers[0], len(tensors), pointers[1], len(made)) != 0:
                raise RuntimeError(self._api.error(self._context).decode())
            results = {name: self._copy(t) for name, t in zip(self.outputs, made)}
        return results if len(results) != 1 else results[self.outputs[0]]

    @staticmethod
    def _array(port, array):
        array = np.require(array, requirements=["C", "ALIGNED"])  # copies what does not lie so; keeps rank 0
        if array.dtype.name != port["dtype"]:
            raise TypeError(f"`{port['name']}` is {port['dtype']}, and {array.dtype.name} was given")
        if not array.dtype.isnative:
            raise TypeError(f"`{port['name']}` has the byte order of other machines: give x.astype('{port['dtype']}')")
        return array

    @staticmethod
    def _tensor(array):
        shape = (c_int64 * array.ndim)(*array.shape)
        bits = 8 * array.dtype.itemsize
        return _Tensor(array.ctypes.data, _CPU, 0, array.ndim, _CODES[array.dtype.kind], bits, 1, shape)

    @staticmethod
    def _copy(tensor):
        kind = _KINDS.get(tensor.code)
        if kind is None:
            raise TypeError(f"NumPy has no dtype for DLPack's code {tensor.code} of {tensor.bits} bits: cast it in the model")
        dtype = np.dtype("?" if kind == "b" else f"{kind}{tensor.bits // 8}")
        shape = tuple(tensor.shape[i] for i in range(tensor.ndim))
        size = dtype.itemsize * int(np.prod(shape, dtype=np.int64))
        data = ctypes.string_at(tensor.data, size) if size else b""
        return np.frombuffer(data, dtype).reshape(shape).copy()


_opened = None
_opening = threading.Lock()


def run(*arrays, **named):
    """Model().run, of a model that is opened once."""
    global _opened
    with _opening:
        _opened = _opened or Model()
    return _opened.run(*arrays, **named)
