"""The Atari network of deep Q-learning (Mnih et al., Nature 2015), 18 actions."""

from . import layers as nn
from . import seeded
from .graph import Graph, Sample

FRAMES = (1, 4, 84, 84)


def dqn(g: Graph) -> None:
    """Three convolutions over four frames, two fully connected layers."""
    x = g.input("input", FRAMES, sample=Sample(FRAMES, lambda key: seeded.uniform(key, FRAMES, 0.0, 1.0)))
    x = nn.relu(g, nn.conv(g, x, 32, 8, stride=4, bias=True))
    x = nn.relu(g, nn.conv(g, x, 64, 4, stride=2, bias=True))
    x = nn.relu(g, nn.conv(g, x, 64, 3, bias=True))
    x = nn.relu(g, nn.linear(g, nn.flatten(g, x), 512))
    g.output("output", nn.linear(g, x, 18))
