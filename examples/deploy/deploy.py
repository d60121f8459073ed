"""Runs a model that `relay compile` made from Python, with ctypes and nothing else.

    relay compile examples/models/mnist_8/model.onnx -o mnist.so
    python3 examples/deploy/deploy.py ./mnist.so examples/models/mnist_8/digits/images.npy 7

The last argument is the number of the image: ten are zeros, the next ten are ones, and so on. The program prints the digit
that the model sees.
"""

import ctypes
import json
import math
import os
import struct
import sys
from ctypes import POINTER, byref, c_char_p, c_int, c_int32, c_int64, c_size_t, c_uint8, c_uint16, c_uint32, c_uint64, c_void_p

ABI_VERSION = 2
CPU, FLOAT = 1, 2  # DLDeviceType, DLDataTypeCode


class Tensor(ctypes.Structure):  # DLTensor
    _fields_ = [
        ("data", c_void_p), ("device_type", c_int32), ("device_id", c_int32), ("ndim", c_int32), ("code", c_uint8),
        ("bits", c_uint8), ("lanes", c_uint16), ("shape", POINTER(c_int64)), ("strides", POINTER(c_int64)),
        ("byte_offset", c_uint64),
    ]


class OpenOptions(ctypes.Structure):  # relay_open_options
    _fields_ = [
        ("struct_size", c_uint32), ("threads", c_uint32), ("weights_path", c_char_p), ("allocator", c_void_p),
        ("parallel", c_void_p), ("log", c_void_p), ("log_self", c_void_p), ("error", c_char_p),
        ("error_size", c_size_t),
    ]


def function(result, *arguments):
    return ctypes.CFUNCTYPE(result, *arguments)


class Api(ctypes.Structure):  # the beginning of relay_api
    _fields_ = [
        ("struct_size", c_uint32),
        ("abi_version", c_uint32),
        ("model_open", function(c_int, POINTER(OpenOptions), POINTER(c_void_p))),
        ("model_describe", function(c_char_p, c_void_p)),
        ("model_close", function(c_int, c_void_p)),
        ("context_create", function(c_int, c_void_p, POINTER(c_void_p))),
        ("context_free", function(None, c_void_p)),
        ("run", function(c_int, c_void_p, POINTER(POINTER(Tensor)), c_size_t, POINTER(POINTER(Tensor)), c_size_t)),
        ("cancel", function(None, c_void_p)),
        ("error", function(c_char_p, c_void_p)),
    ]


class Model:
    """An opened model and one context: for one thread at a time. Tensors of float32, with constant shapes."""

    def __init__(self, path, threads=1):
        self.model, self.context = c_void_p(), c_void_p()
        # A path without a slash would be looked for among the system's libraries.
        self.library = ctypes.CDLL(os.path.abspath(path))  # RTLD_LOCAL: several models may be in one process
        self.library.relay_get_api.restype = POINTER(Api)
        self.api = self.library.relay_get_api().contents
        if self.api.abi_version != ABI_VERSION:
            raise RuntimeError(f"{path} has ABI version {self.api.abi_version}")
        error = ctypes.create_string_buffer(256)
        options = OpenOptions(struct_size=ctypes.sizeof(OpenOptions), threads=threads)
        options.error, options.error_size = ctypes.cast(error, c_char_p), len(error)
        if self.api.model_open(byref(options), byref(self.model)) != 0:
            raise RuntimeError(error.value.decode())
        if self.api.context_create(self.model, byref(self.context)) != 0:
            self.close()
            raise MemoryError("there is not enough memory for the model")
        self.description = json.loads(self.api.model_describe(self.model))

    def close(self):
        self.api.context_free(self.context)
        self.api.model_close(self.model)
        self.model, self.context = c_void_p(), c_void_p()

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.close()

    def run(self, *inputs):
        """Takes and gives a flat sequence of floats for each tensor."""
        given = [self._tensor(port, values) for port, values in zip(self.description["inputs"], inputs)]
        made = [self._tensor(port, None) for port in self.description["outputs"]]
        pointers = [(POINTER(Tensor) * len(l))(*(ctypes.pointer(t) for t, _, _ in l)) for l in (given, made)]
        if self.api.run(self.context, pointers[0], len(given), pointers[1], len(made)) != 0:
            raise RuntimeError(self.api.error(self.context).decode())
        return [list(elements) for _, elements, _ in made]

    @staticmethod
    def _tensor(port, values):
        """The tensor, and what must live as long as it does: its elements and its shape."""
        dims = port["dims"]
        if port["dtype"] != "float32" or not all(isinstance(d, int) for d in dims):
            raise TypeError(f"`{port['name']}` is {port['dtype']} {dims}")
        size = math.prod(dims) if values is None else len(values)
        if size != math.prod(dims):
            raise ValueError(f"`{port['name']}` has {math.prod(dims)} elements, {size} were given")
        elements = (ctypes.c_float * size)(*(values or ()))
        shape = (c_int64 * len(dims))(*dims)
        data = ctypes.cast(elements, c_void_p)
        return Tensor(data, CPU, 0, len(dims), FLOAT, 32, 1, ctypes.cast(shape, POINTER(c_int64))), elements, shape


def read_image(path, number):
    """The 28 x 28 bytes of one image of a .npy file, version 1 of the format."""
    with open(path, "rb") as file:
        data = file.read()
    if data[:7] != b"\x93NUMPY\x01":
        raise ValueError(f"{path} is no .npy file")
    start = 10 + struct.unpack_from("<H", data, 8)[0] + number * 784
    if number < 0 or start + 784 > len(data):
        raise ValueError(f"{path} has no image {number}")
    return list(data[start:start + 784])


def main():
    if len(sys.argv) != 4:
        sys.exit(f"usage: {sys.argv[0]} mnist.so images.npy NUMBER")
    try:
        with Model(sys.argv[1]) as model:
            scores = model.run(read_image(sys.argv[2], int(sys.argv[3])))[0]
    except (MemoryError, OSError, RuntimeError, TypeError, ValueError) as error:
        sys.exit(f"{sys.argv[0]}: {error}")
    print(scores.index(max(scores)))


if __name__ == "__main__":
    main()
