"""Single operators at sizes where networks spend their time."""

from collections.abc import Callable

from . import layers as nn
from .attention import attend
from .graph import Graph, Shape, Value


def op_matmul_1024(g: Graph) -> None:
    """A square product."""
    product(g, 1024, 1024)


def op_matvec_4096(g: Graph) -> None:
    """One row times a matrix: the speed of memory."""
    product(g, 1, 4096)


def product(g: Graph, rows: int, size: int) -> None:
    """(rows, size) times a stored (size, size)."""
    x = g.input("a", (rows, size))
    weight = g.scaled_weight("weight", (size, size), 1 / size)
    g.output("y", g.node("MatMul", [x, weight], (rows, size)))


def convolution(inner: int, outer: int, side: int, kernel: int, groups: int = 1) -> Callable[[Graph], None]:
    """One convolution that keeps the side."""

    def build(g: Graph) -> None:
        x = g.input("a", (1, inner, side, side))
        g.output("y", nn.conv(g, x, outer, kernel, padding=kernel // 2, groups=groups))

    return build


def op_softmax_12x128x128(g: Graph) -> None:
    """The softmax of one BERT-base layer at sequence length 128."""
    g.output("y", nn.softmax(g, g.input("a", (1, 12, 128, 128))))


def op_attention_12x512(g: Graph) -> None:
    """Twelve heads of 64 features that attend to a sequence of 512: the scores are larger than the caches."""
    q, k, v = (g.input(name, (1, 12, 512, 64)) for name in "qkv")
    g.output("y", attend(g, q, k, v, None))


def op_elemwise_chain_1m(g: Graph) -> None:
    """Five elementwise operators on a million elements: one pass over memory if fused."""
    shape: Shape = (1024, 1024)
    a, b = g.input("a", shape), g.input("b", shape)

    def step(op: str, *operands: Value) -> Value:
        return g.node(op, operands, shape)

    x = step("Sigmoid", step("Mul", step("Add", a, b), a))
    g.output("y", step("Tanh", step("Sub", x, b)))


def op_reduce_transpose(g: Graph) -> None:
    """A transposition that only moves the summed axis: nothing needs to be moved if it is fused."""
    x = nn.transpose(g, g.input("a", (1, 256, 56, 56)), 0, 2, 3, 1)
    g.output("y", g.node("ReduceSum", [x, g.indices(3)], (1, 56, 56), keepdims=0))
