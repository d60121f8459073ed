"""A small builder of ONNX graphs.

Nothing is computed while a graph is built: a weight is a name, a shape and a recipe, made only when the model is
written, so that counting the parameters of VGG-16 costs nothing.

Each value carries its *power*, the mean square that is expected of its elements. Layers scale their weights by the
power of what comes in (for a layer after ReLU this is exactly He's rule), and so activations neither vanish nor
overflow in the deepest network.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper

from . import seeded

OPSET = 13
IR_VERSION = 7

Dim = int | str  # a string names a dimension that is known only when the model runs
Shape = tuple[Dim, ...]
Maker = Callable[[str], np.ndarray]  # from a random key to the elements

DTYPES: dict[str, int] = {
    "float32": TensorProto.FLOAT,
    "int64": TensorProto.INT64,
    "bool": TensorProto.BOOL,
}


@dataclass(frozen=True)
class Value:
    """A tensor of the graph."""

    name: str
    shape: Shape
    dtype: str = "float32"
    power: float = 1.0

    @property
    def channels(self) -> int:
        """The second dimension, where convolutions keep their channels."""
        return static(self.shape[1])

    @property
    def features(self) -> int:
        """The last dimension."""
        return static(self.shape[-1])


@dataclass(frozen=True)
class Initializer:
    """A tensor stored in the model."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    make: Maker
    trained: bool  # counts as a parameter


@dataclass(frozen=True)
class Sample:
    """What to feed to one input: every dimension known."""

    shape: tuple[int, ...]
    make: Maker


def static(dim: Dim) -> int:
    """The dimension as a number; a layer that needs a number cannot be built on a dynamic dimension."""
    if isinstance(dim, str):
        raise ValueError(f"dimension `{dim}` is dynamic and must be known here")
    return dim


class Graph:
    """A graph under construction. Names are unique; a scope puts a prefix before the names made inside it."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.inputs: list[Value] = []
        self.outputs: list[Value] = []
        self.initializers: list[Initializer] = []
        self.samples: dict[str, Sample] = {}
        self.nodes: list[onnx.NodeProto] = []
        self._flops: list[int] = []
        self._output_names: dict[str, str] = {}
        self._scopes: list[str] = []
        self._used: dict[str, int] = {}

    # -- names ---------------------------------------------------------------------------------------------------

    @contextmanager
    def scope(self, name: str) -> Iterator[None]:
        """Names made inside begin with `name/`."""
        self._scopes.append(name)
        try:
            yield
        finally:
            self._scopes.pop()

    def fresh(self, name: str) -> str:
        """A name that this graph has not used."""
        full = "/".join([*self._scopes, name])
        count = self._used.get(full, 0)
        self._used[full] = count + 1
        return f"{full}_{count}" if count else full

    # -- what goes in --------------------------------------------------------------------------------------------

    def input(self, name: str, shape: Shape, dtype: str = "float32", *, sample: Sample | None = None) -> Value:
        """An input of the model. Without `sample` it is fed numbers of mean 0 and variance 1."""
        value = Value(name, shape, dtype)
        self.inputs.append(value)
        self.samples[name] = sample or unit_variance(tuple(static(dim) for dim in shape))
        return value

    def weight(self, name: str, shape: tuple[int, ...], low: float, high: float) -> Value:
        """A trained parameter, uniform in [low, high)."""
        return self._store(name, shape, "float32", lambda key: seeded.uniform(key, shape, low, high), trained=True)

    def scaled_weight(self, name: str, shape: tuple[int, ...], variance: float) -> Value:
        """A trained parameter of mean 0."""
        bound = math.sqrt(3.0 * variance)
        return self.weight(name, shape, -bound, bound)

    def statistic(self, name: str, shape: tuple[int, ...], low: float, high: float) -> Value:
        """A number gathered in training that is not itself trained, as the mean and variance of normalisation."""
        return self._store(name, shape, "float32", lambda key: seeded.uniform(key, shape, low, high), trained=False)

    def constant(self, name: str, elements: np.ndarray) -> Value:
        """A given array."""
        return self._store(name, elements.shape, elements.dtype.name, lambda key: elements, trained=False)

    def scalar(self, number: float) -> Value:
        """A float32 constant of rank 0."""
        return self.constant("scalar", np.array(number, np.float32))

    def indices(self, *numbers: int) -> Value:
        """An int64 constant of rank 1: axes, shapes, bounds."""
        return self.constant("indices", np.array(numbers, np.int64))

    def _store(self, name: str, shape: tuple[int, ...], dtype: str, make: Maker, *, trained: bool) -> Value:
        stored = Initializer(self.fresh(name), shape, dtype, make, trained)
        self.initializers.append(stored)
        return Value(stored.name, shape, dtype)

    # -- what is computed ----------------------------------------------------------------------------------------

    def node(
        self,
        op: str,
        operands: Sequence[Value],
        shape: Shape,
        *,
        power: float = 1.0,
        dtype: str = "float32",
        **attributes: Any,
    ) -> Value:
        """One operator with one result."""
        self._count(op, operands, shape)
        result = Value(self.fresh(op.lower()), shape, dtype, power)
        self.add_node(op, operands, [result], **attributes)
        return result

    def add_node(self, op: str, operands: Sequence[Value], results: Sequence[Value], **attributes: Any) -> None:
        """One operator with results that the caller has named."""
        self.nodes.append(
            helper.make_node(
                op, [v.name for v in operands], [v.name for v in results], name=f"{results[0].name}.{op}", **attributes
            )
        )

    def output(self, name: str, value: Value) -> None:
        """Gives `value` to the caller of the model under this name."""
        self.outputs.append(value)
        self._output_names[value.name] = name

    # -- what it costs ---------------------------------------------------------------------------------------------

    def flops(self) -> float:
        """Multiplications and additions of convolutions and products, computed directly; 0 without such nodes."""
        return float(sum(self._flops))

    def traffic_bytes(self) -> float:
        """Bytes that any way of computing it reads and writes: inputs, stored tensors, outputs."""
        ends = [self.samples[value.name].shape for value in self.inputs]
        ends += [tuple(dim if isinstance(dim, int) else 0 for dim in value.shape) for value in self.outputs]
        dtypes = [value.dtype for value in (*self.inputs, *self.outputs)]
        moved = sum(math.prod(shape) * np.dtype(dtype).itemsize for shape, dtype in zip(ends, dtypes))
        return float(moved + self.stored_bytes())

    def _count(self, op: str, operands: Sequence[Value], shape: Shape) -> None:
        """Adds the arithmetic of a node whose shapes are known."""
        shapes = [operand.shape for operand in operands[:2]] + [shape]
        if op not in ("Conv", "ConvTranspose", "Gemm", "MatMul") or any(isinstance(d, str) for s in shapes for d in s):
            return
        x, weight, result = (tuple(map(static, s)) for s in shapes)
        if op == "Conv":
            self._flops.append(2 * math.prod(result) * math.prod(weight[1:]))
        elif op == "ConvTranspose":
            self._flops.append(2 * math.prod(x) * math.prod(weight[1:]))
        else:
            self._flops.append(2 * math.prod(result) * x[-1])

    # -- the finished graph --------------------------------------------------------------------------------------

    def parameters(self) -> int:
        """How many numbers training would find."""
        return sum(math.prod(stored.shape) for stored in self.initializers if stored.trained)

    def stored_bytes(self) -> int:
        """Bytes of all stored tensors, close to the size of the file."""
        return sum(math.prod(stored.shape) * np.dtype(stored.dtype).itemsize for stored in self.initializers)

    def sample_inputs(self) -> dict[str, np.ndarray]:
        """Arrays to run the model on, the same ones every time."""
        return {name: sample.make(f"{self.name}:input:{name}") for name, sample in self.samples.items()}

    def model(self) -> onnx.ModelProto:
        """The whole model, with every stored tensor made."""
        model = onnx.ModelProto(ir_version=IR_VERSION, producer_name="relay-zoo")
        model.opset_import.add(domain="", version=OPSET)
        self.fill(model.graph)
        return model

    def fill(self, graph: onnx.GraphProto) -> None:
        """Writes the graph into an empty message: of a model, or of a node that has a body."""
        graph.name = self.name
        for node in self.nodes:
            self._write_node(node, graph.node.add())
        graph.input.extend(value_info(value, value.name) for value in self.inputs)
        graph.output.extend(value_info(value, self._output_names[value.name]) for value in self.outputs)
        for stored in self.initializers:
            self._write_initializer(stored, graph.initializer.add())

    def _write_node(self, node: onnx.NodeProto, copy: onnx.NodeProto) -> None:
        """Copies a node; the values that are outputs of the model take their outer names."""
        copy.CopyFrom(node)
        copy.input[:] = [self._output_names.get(name, name) for name in node.input]
        copy.output[:] = [self._output_names.get(name, name) for name in node.output]

    def _write_initializer(self, stored: Initializer, tensor: onnx.TensorProto) -> None:
        elements = stored.make(f"{self.name}:{stored.name}")
        assert elements.shape == stored.shape and elements.dtype.name == stored.dtype
        tensor.name = stored.name
        tensor.dims.extend(stored.shape)
        tensor.data_type = DTYPES[stored.dtype]
        tensor.raw_data = elements.astype(elements.dtype.newbyteorder("<"), copy=False).tobytes()


def unit_variance(shape: tuple[int, ...]) -> Sample:
    """Numbers of mean 0 and variance 1."""
    return Sample(shape, lambda key: seeded.uniform(key, shape, -math.sqrt(3.0), math.sqrt(3.0)))


def value_info(value: Value, name: str) -> onnx.ValueInfoProto:
    """The declaration of an input or output."""
    return helper.make_tensor_value_info(name, DTYPES[value.dtype], list(value.shape))
