"""What a training loop needs around a compiled step: the compiler, the step's buffers, and checkpoints.

A step is a function (parameters..., state..., batch...) -> (parameters..., state..., loss). What it gives but for the loss is
what the next step takes: its `carried` tensors, the first inputs.
"""

import json
import os
import re
import subprocess
import sys
from ctypes import POINTER, c_int64, cast, pointer

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(HERE, "..", "deploy"))
import deploy  # noqa: E402  the C interface of artifacts, by ctypes

CODES = {"i": 0, "u": 1, "f": 2, "b": 6}  # DLDataTypeCode of NumPy's kinds


class Failed(Exception):
    """What the user is told."""


class Compiler:
    """Runs the `relay` command. What it writes goes into one folder."""

    def __init__(self, command, folder):
        self.command, self.folder = command, folder

    def _relay(self, *words):
        try:
            done = subprocess.run([self.command, *words], capture_output=True, text=True)
        except OSError as error:
            raise Failed(f"{self.command}: {error.strerror}; --relay names the command") from error
        if done.returncode != 0:
            raise Failed(f"relay {words[0]}: {done.stderr}")

    def compile(self, source, function, name, threads):
        """An artifact of one function of a text, as a path."""
        library = os.path.join(self.folder, name + ".so")
        self._relay("compile", source, "--function", function, "--threads", str(threads), "-o", library)
        return library

    def step(self, network, threads):
        """The artifact of @step of NETWORK_step.relay, which calls the value and the gradients of @loss of NETWORK.relay."""
        gradients = os.path.join(self.folder, network + "_gradients.relay")
        self._relay("opt", os.path.join(HERE, network + ".relay"), "--function", "loss",
                    "--passes", "inline,gradient{wrt=1},inline-lets,dead-code", "-o", gradients)
        text = os.path.join(self.folder, network + "_whole_step.relay")
        with open(gradients) as made, open(os.path.join(HERE, network + "_step.relay")) as step, open(text, "w") as whole:
            whole.write(re.sub(r"@main\b", "@loss_and_gradients", made.read()) + "\n" + step.read())
        return self.compile(text, "step", network + "_step", threads)


class Function(deploy.Model):
    """A compiled function on NumPy arrays, whose outputs are written where the caller wants them."""

    def run(self, inputs, outputs):
        pointers = [self._pointers(ports, arrays) for ports, arrays in
                    ((self.description["inputs"], inputs), (self.description["outputs"], outputs))]
        if self.api.run(self.context, pointers[0], len(inputs), pointers[1], len(outputs)) != 0:
            raise Failed(self.api.error(self.context).decode())

    @classmethod
    def _pointers(cls, ports, arrays):
        if len(ports) != len(arrays):
            raise Failed(f"there are {len(ports)} tensors, and {len(arrays)} arrays were given")
        return (POINTER(deploy.Tensor) * len(arrays))(*(pointer(cls._view(p, a)) for p, a in zip(ports, arrays)))

    @staticmethod
    def _view(port, array):
        if array.dtype.name != port["dtype"] or not array.flags.c_contiguous:
            raise Failed(f"`{port['name']}` is {port['dtype']} without gaps, and {array.dtype.name} was given")
        shape = (c_int64 * array.ndim)(*array.shape)
        return deploy.Tensor(array.ctypes.data, deploy.CPU, 0, array.ndim, CODES[array.dtype.kind],
                             8 * array.dtype.itemsize, 1, cast(shape, POINTER(c_int64)))


class Step:
    """A compiled step and its carried tensors, by name.

    There are two buffers for each: a run reads one and writes the other, and then they change places. So nothing is copied.
    The C interface does not let an output lie on an input, so one buffer is not enough.
    """

    def __init__(self, library, threads):
        self.function = Function(library, threads)
        inputs, outputs = (self.function.description[key] for key in ("inputs", "outputs"))
        self.ports = inputs[:len(outputs) - 1]
        for taken, given in zip(self.ports, outputs):
            if (taken["dtype"], taken["dims"]) != (given["dtype"], given["dims"]):
                raise Failed(f"the step takes another type as `{taken['name']}` than it gives")
        self.now, self.next = ([np.zeros(p["dims"], p["dtype"]) for p in self.ports] for _ in range(2))
        self.loss = np.zeros(outputs[-1]["dims"], outputs[-1]["dtype"])

    def run(self, *batch):
        """The loss before the step."""
        self.function.run([*self.now, *batch], [*self.next, self.loss])
        self.now, self.next = self.next, self.now
        return self.loss[()]

    def tensors(self):
        return {port["name"]: array for port, array in zip(self.ports, self.now)}


def save(path, tensors, metadata):
    """A safetensors file, there whole or not at all: a kill leaves the file before it."""
    header, at = {"__metadata__": metadata}, 0
    for name, array in tensors.items():
        dtype = {"f": "F", "i": "I"}[array.dtype.kind] + str(8 * array.dtype.itemsize)
        header[name] = {"dtype": dtype, "shape": list(array.shape), "data_offsets": [at, at + array.nbytes]}
        at += array.nbytes
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path + ".part", "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for array in tensors.values():
            file.write(np.ascontiguousarray(array).tobytes())
        file.flush()
        os.fsync(file.fileno())
    os.replace(path + ".part", path)


def load(path):
    """The tensors and the metadata of a safetensors file that `save` wrote."""
    with open(path, "rb") as file:
        data = file.read()
    try:
        size = 8 + int.from_bytes(data[:8], "little")
        header = json.loads(data[8:size])
        metadata, tensors = header.pop("__metadata__"), {}
        for name, entry in header.items():
            begin, end = entry["data_offsets"]
            dtype = np.dtype(entry["dtype"].lower().replace("f", "float").replace("i", "int"))
            tensors[name] = np.frombuffer(data[size + begin:size + end], dtype).reshape(entry["shape"])
    except (ValueError, KeyError, TypeError) as error:
        raise Failed(f"{path} is no whole checkpoint: {error}") from error
    return tensors, metadata


def restore(step, tensors, path):
    for port, array in zip(step.ports, step.now):
        given = tensors.get(port["name"])
        if given is None or given.shape != array.shape or given.dtype != array.dtype:
            raise Failed(f"{path} is a checkpoint of another network: `{port['name']}` is not in it, or of another type")
        array[...] = given
