"""DenseNet-121 (Huang et al., 2016): every layer of a block sees all earlier ones."""

from . import layers as nn
from .graph import Graph, Value

GROWTH = 32
BOTTLENECK = 4 * GROWTH
BLOCKS = (6, 12, 24, 16)


def densenet121(g: Graph) -> None:
    """Four dense blocks with a halving transition between them."""
    x = g.input("input", (1, 3, 224, 224))
    with g.scope("stem"):
        x = nn.relu(g, nn.batch_norm(g, nn.conv(g, x, 64, 7, stride=2, padding=3)))
        x = nn.max_pool(g, x, 3, 2, 1)
    for block, depth in enumerate(BLOCKS):
        for layer in range(depth):
            with g.scope(f"block{block + 1}.{layer}"):
                x = nn.concat(g, [x, new_features(g, x)], 1)
        if block + 1 < len(BLOCKS):
            with g.scope(f"transition{block + 1}"):
                x = transition(g, x)
    with g.scope("head"):
        x = nn.relu(g, nn.batch_norm(g, x))
        g.output("output", nn.linear(g, nn.flatten(g, nn.global_average_pool(g, x)), 1000))


def new_features(g: Graph, x: Value) -> Value:
    """Normalise, activate, convolve: 1x1 to the bottleneck, 3x3 to the growth."""
    x = nn.conv(g, nn.relu(g, nn.batch_norm(g, x)), BOTTLENECK, 1)
    return nn.conv(g, nn.relu(g, nn.batch_norm(g, x)), GROWTH, 3, padding=1)


def transition(g: Graph, x: Value) -> Value:
    """Half the channels, half the side."""
    x = nn.conv(g, nn.relu(g, nn.batch_norm(g, x)), x.channels // 2, 1)
    return nn.average_pool(g, x, 2, 2)
