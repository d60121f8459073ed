"""SqueezeNet 1.1 (Iandola et al., 2016, and the authors' later, cheaper arrangement)."""

from . import layers as nn
from .graph import Graph, Value

# Squeezed channels and channels of each expansion; None is a pooling.
PLAN = (
    None, (16, 64), (16, 64), None, (32, 128), (32, 128), None,
    (48, 192), (48, 192), (64, 256), (64, 256),
)  # fmt: skip


def squeezenet1_1(g: Graph) -> None:
    """Fire modules and a fully convolutional classifier."""
    x = g.input("input", (1, 3, 224, 224))
    with g.scope("stem"):
        x = nn.relu(g, nn.conv(g, x, 64, 3, stride=2, bias=True))
    for index, step in enumerate(PLAN):
        with g.scope(f"features{index}"):
            x = fire(g, x, *step) if step else nn.max_pool(g, x, 3, 2, ceil_mode=1)
    with g.scope("classifier"):
        x = nn.relu(g, nn.conv(g, x, 1000, 1, bias=True))
        g.output("output", nn.flatten(g, nn.global_average_pool(g, x)))


def fire(g: Graph, x: Value, squeezed: int, expanded: int) -> Value:
    """Squeeze to few channels, expand by 1x1 and 3x3 side by side."""
    x = nn.relu(g, nn.conv(g, x, squeezed, 1, bias=True))
    left = nn.relu(g, nn.conv(g, x, expanded, 1, bias=True))
    right = nn.relu(g, nn.conv(g, x, expanded, 3, padding=1, bias=True))
    return nn.concat(g, [left, right], 1)
