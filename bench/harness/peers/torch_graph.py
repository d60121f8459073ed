"""An ONNX graph as a torch.fx graph: the operators of the zoo whose shapes are known, each as PyTorch spells it.

Integer tensors that say shapes, axes and bounds become Python numbers, so that what torch.compile sees is what it would
see of a model that was written in PyTorch. What is not here is refused by name; the harness skips the peer then.
"""

import operator
from collections.abc import Callable
from typing import Any

import onnx
import torch
from onnx import numpy_helper
from torch import fx
from torch.nn import functional

Made = Any  # a node of the graph, or a tuple of them


def convert(model: onnx.ModelProto) -> tuple[torch.nn.Module, list[str]]:
    """The module, which takes the inputs in order and gives a tuple, and the names of its outputs."""
    return Converter(model.graph).run()


class Converter:
    """Walks the nodes, which ONNX keeps in an order in which they can run."""

    def __init__(self, source: onnx.GraphProto) -> None:
        self.source = source
        self.root = torch.nn.Module()
        self.graph = fx.Graph()
        self.stored = {tensor.name: numpy_helper.to_array(tensor) for tensor in source.initializer}
        self.values: dict[str, Made] = {}

    def run(self) -> tuple[torch.nn.Module, list[str]]:
        for port in self.source.input:
            if port.name not in self.stored:
                self.values[port.name] = self.graph.placeholder(f"input_{len(self.values)}")
        for node in self.source.node:
            self.add(node)
        names = [port.name for port in self.source.output]
        self.graph.output(tuple(self.tensor(name) for name in names))
        return fx.GraphModule(self.root, self.graph), names

    def add(self, node: onnx.NodeProto) -> None:
        """One node by its rule."""
        if node.op_type not in RULES:
            raise NotImplementedError(f"no rule for {node.op_type}")
        attributes = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
        made = RULES[node.op_type](self, list(node.input), attributes)
        for name, value in zip(node.output, made if isinstance(made, tuple) else (made,)):
            self.values[name] = value

    def call(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> fx.Node:
        """A call of a torch function."""
        return self.graph.call_function(function, args, kwargs)

    def tensor(self, name: str) -> Made:
        """A value as a tensor; a stored one becomes a buffer of the module."""
        if name not in self.values:
            key = f"stored_{len(self.values)}"
            self.root.register_buffer(key, torch.from_numpy(self.stored[name].copy()))
            self.values[name] = self.graph.get_attr(key)
        return self.values[name]

    def numbers(self, name: str) -> list[Any]:
        """A stored tensor as Python numbers: a shape, axes, bounds."""
        if name not in self.stored:
            raise NotImplementedError(f"`{name}` is known only when the model runs")
        return self.stored[name].reshape(-1).tolist()

    def operand(self, name: str) -> Any:
        """A tensor, or the number that a stored scalar is."""
        stored = self.stored.get(name)
        return stored.item() if stored is not None and stored.ndim == 0 else self.tensor(name)


Rule = Callable[[Converter, list[str], dict[str, Any]], Made]


def pointwise(function: Callable[..., Any]) -> Rule:
    """Operands as they come."""
    return lambda c, names, _: c.call(function, *map(c.operand, names))


def padding(attributes: dict[str, Any]) -> list[int]:
    """The same before and after each axis, or refused."""
    pads = list(attributes.get("pads", [0, 0, 0, 0]))
    half = len(pads) // 2
    if pads[:half] != pads[half:]:
        raise NotImplementedError("padding that differs before and after")
    return pads[:half]


def conv(c: Converter, names: list[str], a: dict[str, Any]) -> Made:
    return c.call(
        torch.conv2d, *map(c.tensor, names[:2]), c.tensor(names[2]) if len(names) > 2 else None,
        list(a["strides"]), padding(a), list(a["dilations"]), a["group"],
    )  # fmt: skip


def conv_transpose(c: Converter, names: list[str], a: dict[str, Any]) -> Made:
    return c.call(
        torch.conv_transpose2d, *map(c.tensor, names[:2]), c.tensor(names[2]) if len(names) > 2 else None,
        list(a["strides"]), padding(a), [0, 0], a["group"], list(a["dilations"]),
    )  # fmt: skip


def gemm(c: Converter, names: list[str], a: dict[str, Any]) -> Made:
    if (a.get("alpha", 1.0), a.get("beta", 1.0), a.get("transA", 0), a.get("transB", 0)) != (1.0, 1.0, 0, 1):
        raise NotImplementedError("Gemm other than x w^T + b")
    return c.call(functional.linear, *map(c.tensor, names))


def batch_norm(c: Converter, names: list[str], a: dict[str, Any]) -> Made:
    x, weight, bias, mean, variance = map(c.tensor, names)
    return c.call(functional.batch_norm, x, mean, variance, weight, bias, False, 0.0, a.get("epsilon", 1e-5))


def max_pool(c: Converter, names: list[str], a: dict[str, Any]) -> Made:
    return c.call(
        functional.max_pool2d, c.tensor(names[0]), list(a["kernel_shape"]), list(a["strides"]), padding(a), 1,
        bool(a.get("ceil_mode", 0)),
    )  # fmt: skip


def average_pool(c: Converter, names: list[str], a: dict[str, Any]) -> Made:
    if any(padding(a)):
        raise NotImplementedError("average pooling with padding")
    return c.call(functional.avg_pool2d, c.tensor(names[0]), list(a["kernel_shape"]), list(a["strides"]))


def clip(c: Converter, names: list[str], _: dict[str, Any]) -> Made:
    low, high = (c.numbers(name)[0] if name else None for name in (names[1:] + ["", ""])[:2])
    return c.call(torch.clamp, c.tensor(names[0]), low, high)


def power(c: Converter, names: list[str], _: dict[str, Any]) -> Made:
    return c.call(torch.pow, c.tensor(names[0]), c.operand(names[1]))


def reshape(c: Converter, names: list[str], _: dict[str, Any]) -> Made:
    shape = c.numbers(names[1])
    if 0 in shape:
        raise NotImplementedError("Reshape that copies an extent")
    return c.call(torch.reshape, c.tensor(names[0]), shape)


def flatten(c: Converter, names: list[str], a: dict[str, Any]) -> Made:
    if a.get("axis", 1) != 1:
        raise NotImplementedError("Flatten at another axis than 1")
    return c.call(torch.flatten, c.tensor(names[0]), 1)


def transpose(c: Converter, names: list[str], a: dict[str, Any]) -> Made:
    return c.call(torch.permute, c.tensor(names[0]), list(a["perm"]))


def concat(c: Converter, names: list[str], a: dict[str, Any]) -> Made:
    return c.call(torch.cat, [c.tensor(name) for name in names], a["axis"])


def split(c: Converter, names: list[str], a: dict[str, Any]) -> Made:
    parts = c.numbers(names[1])
    whole = c.call(torch.split, c.tensor(names[0]), parts, a.get("axis", 0))
    return tuple(c.call(operator.getitem, whole, i) for i in range(len(parts)))


def slice_(c: Converter, names: list[str], _: dict[str, Any]) -> Made:
    x = c.tensor(names[0])
    begins, ends, axes = (c.numbers(name) for name in names[1:4])
    steps = c.numbers(names[4]) if len(names) > 4 else [1] * len(axes)
    if any(axis < 0 or step < 1 for axis, step in zip(axes, steps)):
        raise NotImplementedError("Slice from the end or backwards")
    for begin, end, axis, step in zip(begins, ends, axes, steps):
        x = c.call(operator.getitem, x, (slice(None),) * axis + (slice(begin, end, step),))
    return x


def gather(c: Converter, names: list[str], a: dict[str, Any]) -> Made:
    axis, index = a.get("axis", 0), c.stored.get(names[1])
    if index is not None and index.ndim == 0:
        return c.call(torch.select, c.tensor(names[0]), axis, int(index))
    if axis != 0:
        raise NotImplementedError("Gather of several along another axis than 0")
    return c.call(functional.embedding, c.tensor(names[1]), c.tensor(names[0]))


def squeeze(c: Converter, names: list[str], _: dict[str, Any]) -> Made:
    return c.call(torch.squeeze, c.tensor(names[0]), c.numbers(names[1]))


def unsqueeze(c: Converter, names: list[str], _: dict[str, Any]) -> Made:
    x = c.tensor(names[0])
    for axis in sorted(c.numbers(names[1])):
        x = c.call(torch.unsqueeze, x, axis)
    return x


def reduce_mean(c: Converter, names: list[str], a: dict[str, Any]) -> Made:
    return c.call(torch.mean, c.tensor(names[0]), list(a["axes"]), bool(a.get("keepdims", 1)))


def reduce_sum(c: Converter, names: list[str], a: dict[str, Any]) -> Made:
    return c.call(torch.sum, c.tensor(names[0]), c.numbers(names[1]), bool(a.get("keepdims", 1)))


def along(function: Callable[..., Any]) -> Rule:
    """Softmax and its logarithm."""
    return lambda c, names, a: c.call(function, c.tensor(names[0]), a.get("axis", -1))


def cast(c: Converter, names: list[str], a: dict[str, Any]) -> Made:
    if a["to"] != onnx.TensorProto.FLOAT:
        raise NotImplementedError("Cast to another dtype than float32")
    return c.call(torch.Tensor.to, c.tensor(names[0]), torch.float32)


RULES: dict[str, Rule] = {
    "Add": pointwise(operator.add),
    "AveragePool": average_pool,
    "BatchNormalization": batch_norm,
    "Cast": cast,
    "Clip": clip,
    "Concat": concat,
    "Conv": conv,
    "ConvTranspose": conv_transpose,
    "Div": pointwise(operator.truediv),
    "Erf": pointwise(torch.erf),
    "Flatten": flatten,
    "Gather": gather,
    "Gemm": gemm,
    "GlobalAveragePool": lambda c, names, _: c.call(torch.mean, c.tensor(names[0]), [2, 3], True),
    "Identity": lambda c, names, _: c.tensor(names[0]),
    "LogSoftmax": along(torch.log_softmax),
    "MatMul": pointwise(torch.matmul),
    "MaxPool": max_pool,
    "Mul": pointwise(operator.mul),
    "Pow": power,
    "ReduceMean": reduce_mean,
    "ReduceSum": reduce_sum,
    "Relu": pointwise(torch.relu),
    "Reshape": reshape,
    "Sigmoid": pointwise(torch.sigmoid),
    "Slice": slice_,
    "Softmax": along(torch.softmax),
    "Split": split,
    "Sqrt": pointwise(torch.sqrt),
    "Squeeze": squeeze,
    "Sub": pointwise(operator.sub),
    "Tanh": pointwise(torch.tanh),
    "Transpose": transpose,
    "Unsqueeze": unsqueeze,
}
