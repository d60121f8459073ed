"""VGG-16 (Simonyan and Zisserman, 2014), configuration D without batch normalisation."""

from . import layers as nn
from .graph import Graph

# Channels and number of 3x3 convolutions before each pooling.
STAGES = ((64, 2), (128, 2), (256, 3), (512, 3), (512, 3))


def vgg16(g: Graph) -> None:
    """Thirteen convolutions and three fully connected layers."""
    x = g.input("input", (1, 3, 224, 224))
    for stage, (channels, depth) in enumerate(STAGES):
        with g.scope(f"stage{stage + 1}"):
            for _ in range(depth):
                x = nn.relu(g, nn.conv(g, x, channels, 3, padding=1, bias=True))
            x = nn.max_pool(g, x, 2, 2)
    with g.scope("classifier"):
        x = nn.flatten(g, x)
        x = nn.relu(g, nn.linear(g, x, 4096))
        x = nn.relu(g, nn.linear(g, x, 4096))
        g.output("output", nn.linear(g, x, 1000))
