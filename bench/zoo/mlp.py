"""A multi-layer perceptron for digits, 784-512-256-10, with a dynamic batch."""

from . import layers as nn
from .graph import Graph, unit_variance


def mlp(g: Graph) -> None:
    """Three fully connected layers and a softmax."""
    x = g.input("input", ("batch", 784), sample=unit_variance((1, 784)))
    x = nn.relu(g, nn.linear(g, x, 512))
    x = nn.relu(g, nn.linear(g, x, 256))
    g.output("output", nn.softmax(g, nn.linear(g, x, 10)))
