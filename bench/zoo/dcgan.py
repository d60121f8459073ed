"""The generator of DCGAN (Radford et al., 2015): 100 numbers to a 64x64 picture."""

from . import layers as nn
from .graph import Graph


def dcgan(g: Graph) -> None:
    """Five transposed convolutions, each but the first doubling the side."""
    x = g.input("z", (1, 100, 1, 1))
    for index, channels in enumerate((1024, 512, 256, 128)):
        with g.scope(f"up{index}"):
            stride, padding = (1, 0) if index == 0 else (2, 1)
            x = nn.conv_transpose(g, x, channels, 4, stride=stride, padding=padding)
            x = nn.relu(g, nn.batch_norm(g, x))
    with g.scope("picture"):
        g.output("image", nn.tanh(g, nn.conv_transpose(g, x, 3, 4, stride=2, padding=1)))
