"""LeNet-5 (LeCun et al., 1998) in today's usual form: tanh, max pooling, log-softmax."""

from . import layers as nn
from .graph import Graph


def lenet(g: Graph) -> None:
    """Two convolutions and three fully connected layers."""
    x = g.input("input", (1, 1, 28, 28))
    x = nn.max_pool(g, nn.tanh(g, nn.conv(g, x, 6, 5, padding=2, bias=True)), 2, 2)
    x = nn.max_pool(g, nn.tanh(g, nn.conv(g, x, 16, 5, bias=True)), 2, 2)
    x = nn.flatten(g, x)
    x = nn.tanh(g, nn.linear(g, x, 120))
    x = nn.tanh(g, nn.linear(g, x, 84))
    x = nn.linear(g, x, 10)
    g.output("output", g.node("LogSoftmax", [x], x.shape, axis=-1))
