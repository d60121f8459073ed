"""The layers that networks share. Each adds its operators to the graph and gives back the result.

Shapes are computed here by hand, and `--check` compares them with ONNX's own inference. Weights have mean 0 and the
variance that gives the result a power near one. Graphs look as trained models do when they arrive: batch
normalisation unfused, a layer normalisation or GELU spelled out in primitive operators (opset 13 has no others).
"""

import math
from collections.abc import Sequence

import numpy as np

from .graph import Graph, Shape, Value, static

# -- products ---------------------------------------------------------------------------------------------------


def conv(
    g: Graph,
    x: Value,
    channels: int,
    kernel: int,
    *,
    stride: int = 1,
    padding: int = 0,
    groups: int = 1,
    bias: bool = False,
) -> Value:
    """A two-dimensional convolution with a square kernel."""
    name = g.fresh("conv")
    fan_in = x.channels // groups * kernel * kernel
    shape = (channels, x.channels // groups, kernel, kernel)
    operands = [x, g.scaled_weight(f"{name}.weight", shape, 1 / (fan_in * x.power))]
    if bias:
        operands.append(g.weight(f"{name}.bias", (channels,), -0.1, 0.1))
    sides = [(static(side) + 2 * padding - kernel) // stride + 1 for side in x.shape[2:]]
    return g.node(
        "Conv",
        operands,
        (x.shape[0], channels, *sides),
        kernel_shape=[kernel, kernel],
        strides=[stride, stride],
        pads=[padding] * 4,
        dilations=[1, 1],
        group=groups,
    )


def conv_transpose(g: Graph, x: Value, channels: int, kernel: int, *, stride: int, padding: int) -> Value:
    """A transposed convolution without bias; one result sums (kernel / stride)^2 products a channel."""
    name = g.fresh("conv_transpose")
    fan_in = x.channels * (kernel / stride) ** 2 if static(x.shape[2]) > 1 else x.channels
    weight = g.scaled_weight(f"{name}.weight", (x.channels, channels, kernel, kernel), 1 / (fan_in * x.power))
    sides = [(static(side) - 1) * stride - 2 * padding + kernel for side in x.shape[2:]]
    return g.node(
        "ConvTranspose",
        [x, weight],
        (x.shape[0], channels, *sides),
        kernel_shape=[kernel, kernel],
        strides=[stride, stride],
        pads=[padding] * 4,
        dilations=[1, 1],
        group=1,
    )


def linear(g: Graph, x: Value, features: int) -> Value:
    """A fully connected layer on rows: Gemm, the weight kept as (out, in)."""
    name = g.fresh("linear")
    weight = g.scaled_weight(f"{name}.weight", (features, x.features), 1 / (x.features * x.power))
    bias = g.weight(f"{name}.bias", (features,), -0.1, 0.1)
    return g.node("Gemm", [x, weight, bias], (x.shape[0], features), alpha=1.0, beta=1.0, transB=1)


def projection(g: Graph, x: Value, features: int) -> Value:
    """A fully connected layer on a tensor of any rank: MatMul and Add, the weight kept as (in, out)."""
    name = g.fresh("projection")
    weight = g.scaled_weight(f"{name}.weight", (x.features, features), 1 / (x.features * x.power))
    bias = g.weight(f"{name}.bias", (features,), -0.1, 0.1)
    product = g.node("MatMul", [x, weight], (*x.shape[:-1], features))
    return g.node("Add", [product, bias], product.shape)


def matmul(g: Graph, x: Value, y: Value) -> Value:
    """A batched product of two computed values."""
    return g.node("MatMul", [x, y], (*x.shape[:-1], y.shape[-1]))


# -- normalisation ----------------------------------------------------------------------------------------------


def batch_norm(g: Graph, x: Value) -> Value:
    """Inference-time batch normalisation whose statistics fit what is expected to come in."""
    name = g.fresh("batch_norm")
    shape, deviation = (x.channels,), math.sqrt(x.power)
    operands = [
        x,
        g.weight(f"{name}.weight", shape, 0.8, 1.2),
        g.weight(f"{name}.bias", shape, -0.1, 0.1),
        g.statistic(f"{name}.running_mean", shape, -0.1 * deviation, 0.1 * deviation),
        g.statistic(f"{name}.running_var", shape, 0.7 * x.power, 1.3 * x.power),
    ]
    return g.node("BatchNormalization", operands, x.shape, power=1.05, epsilon=1e-5, momentum=0.9)


def layer_norm(g: Graph, x: Value, epsilon: float) -> Value:
    """Layer normalisation over the last dimension, in primitive operators."""
    with g.scope("layer_norm"):
        rows = (*x.shape[:-1], 1)
        mean = g.node("ReduceMean", [x], rows, axes=[-1], keepdims=1)
        centred = g.node("Sub", [x, mean], x.shape)
        squared = g.node("Pow", [centred, g.scalar(2.0)], x.shape)
        variance = g.node("ReduceMean", [squared], rows, axes=[-1], keepdims=1)
        stable = g.node("Add", [variance, g.scalar(epsilon)], rows)
        deviation = g.node("Sqrt", [stable], rows)
        unit = g.node("Div", [centred, deviation], x.shape)
        scaled = g.node("Mul", [unit, g.weight("weight", (x.features,), 0.8, 1.2)], x.shape)
        return g.node("Add", [scaled, g.weight("bias", (x.features,), -0.1, 0.1)], x.shape)


# -- activations ------------------------------------------------------------------------------------------------


def relu(g: Graph, x: Value, passes: float = 0.5) -> Value:
    """Half of the power passes, or more of what leans to the positive."""
    return g.node("Relu", [x], x.shape, power=passes * x.power)


def relu6(g: Graph, x: Value) -> Value:
    """ReLU cut off at 6."""
    return g.node("Clip", [x, g.scalar(0.0), g.scalar(6.0)], x.shape, power=x.power / 2)


def sigmoid(g: Graph, x: Value) -> Value:
    """Near 1/2 for what comes in."""
    return g.node("Sigmoid", [x], x.shape, power=0.29)


def silu(g: Graph, x: Value) -> Value:
    """x sigmoid(x); about 0.4 of the power passes."""
    return g.node("Mul", [x, sigmoid(g, x)], x.shape, power=0.4 * x.power)


def tanh(g: Graph, x: Value) -> Value:
    """Hyperbolic tangent."""
    return g.node("Tanh", [x], x.shape, power=0.4)


def gelu(g: Graph, x: Value) -> Value:
    """GELU by the error function: x (1 + erf(x / sqrt 2)) / 2."""
    with g.scope("gelu"):
        scaled = g.node("Div", [x, g.scalar(math.sqrt(2.0))], x.shape)
        error = g.node("Erf", [scaled], x.shape)
        shifted = g.node("Add", [error, g.scalar(1.0)], x.shape)
        doubled = g.node("Mul", [x, shifted], x.shape)
        return g.node("Mul", [doubled, g.scalar(0.5)], x.shape, power=0.42 * x.power)


def gelu_tanh(g: Graph, x: Value) -> Value:
    """GELU by its approximation: x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2."""
    with g.scope("gelu"):
        squared = g.node("Mul", [x, x], x.shape)
        cubed = g.node("Mul", [squared, x], x.shape)
        weighted = g.node("Mul", [cubed, g.scalar(0.044715)], x.shape)
        inner = g.node("Add", [x, weighted], x.shape)
        scaled = g.node("Mul", [inner, g.scalar(math.sqrt(2.0 / math.pi))], x.shape)
        shifted = g.node("Add", [tanh(g, scaled), g.scalar(1.0)], x.shape)
        halved = g.node("Mul", [x, g.scalar(0.5)], x.shape)
        return g.node("Mul", [halved, shifted], x.shape, power=0.42 * x.power)


def softmax(g: Graph, x: Value) -> Value:
    """Softmax over the last dimension."""
    return g.node("Softmax", [x], x.shape, axis=-1)


# -- pooling ----------------------------------------------------------------------------------------------------


def max_pool(g: Graph, x: Value, kernel: int, stride: int, padding: int = 0, *, ceil_mode: int = 0) -> Value:
    """The maximum of a window; the power grows, because the largest of several is large."""
    spans = [static(side) + 2 * padding - kernel for side in x.shape[2:]]
    sides = [(span + (stride - 1 if ceil_mode else 0)) // stride + 1 for span in spans]
    return g.node(
        "MaxPool",
        [x],
        (*x.shape[:2], *sides),
        power=kernel**1.5 * x.power,
        kernel_shape=[kernel, kernel],
        strides=[stride, stride],
        pads=[padding] * 4,
        ceil_mode=ceil_mode,
    )


def average_pool(g: Graph, x: Value, kernel: int, stride: int) -> Value:
    """The mean of a window."""
    sides = [(static(side) - kernel) // stride + 1 for side in x.shape[2:]]
    return g.node(
        "AveragePool",
        [x],
        (*x.shape[:2], *sides),
        power=x.power / 2,
        kernel_shape=[kernel, kernel],
        strides=[stride, stride],
    )


def global_average_pool(g: Graph, x: Value) -> Value:
    """The mean of each channel: what a rectified one has left is about a third of its power."""
    return g.node("GlobalAveragePool", [x], (*x.shape[:2], 1, 1), power=x.power / 3)


# -- joins and moves --------------------------------------------------------------------------------------------


def add(g: Graph, x: Value, y: Value) -> Value:
    """The sum of two values of one shape."""
    return g.node("Add", [x, y], x.shape, power=x.power + y.power)


def scale(g: Graph, x: Value, gate: Value) -> Value:
    """`x` times a gate that broadcasts over it."""
    return g.node("Mul", [x, gate], x.shape, power=x.power * gate.power)


def concat(g: Graph, parts: Sequence[Value], axis: int) -> Value:
    """The parts side by side."""
    sizes = [static(part.shape[axis]) for part in parts]
    shape = list(parts[0].shape)
    shape[axis] = sum(sizes)
    power = sum(size * part.power for size, part in zip(sizes, parts)) / sum(sizes)
    return g.node("Concat", parts, tuple(shape), power=power, axis=axis)


def flatten(g: Graph, x: Value) -> Value:
    """One row a batch entry."""
    return g.node("Flatten", [x], (x.shape[0], math.prod(map(static, x.shape[1:]))), power=x.power, axis=1)


def transpose(g: Graph, x: Value, *order: int) -> Value:
    """The dimensions of `x` in a new order."""
    return g.node("Transpose", [x], tuple(x.shape[i] for i in order), power=x.power, perm=list(order))


def reshape(g: Graph, x: Value, shape: Shape, target: Value) -> Value:
    """`x` with the shape that the int64 vector `target` says, known to the builder as `shape`."""
    return g.node("Reshape", [x, target], shape, power=x.power)


def rows(g: Graph, table: Value, index: Value) -> Value:
    """An embedding: the rows of `table` that `index` names."""
    return g.node("Gather", [table, index], (*index.shape, table.features), axis=0)


def slice_axis(g: Graph, x: Value, axis: int, begin: int, end: int, shape: Shape) -> Value:
    """The part [begin, end) of one axis."""
    bounds = [g.indices(begin), g.indices(end), g.indices(axis), g.indices(1)]
    return g.node("Slice", [x, *bounds], shape, power=x.power)


def to_float(g: Graph, x: Value) -> Value:
    """Integers as float32."""
    return g.node("Cast", [x], x.shape, to=1)


def shape_vector(g: Graph, *parts: Value | int) -> Value:
    """A shape made at run time from int64 vectors of length 1 and numbers."""
    vectors = [g.indices(part) if isinstance(part, int) else part for part in parts]
    return g.node("Concat", vectors, (len(vectors),), dtype="int64", axis=0)


def dim_of(g: Graph, x: Value, axis: int) -> Value:
    """One dimension of `x` as an int64 vector of length 1, read at run time."""
    shape = g.node("Shape", [x], (len(x.shape),), dtype="int64")
    picked = g.node("Gather", [shape, g.constant("axis", np.array(axis, np.int64))], (), dtype="int64", axis=0)
    return g.node("Unsqueeze", [picked, g.indices(0)], (1,), dtype="int64")
