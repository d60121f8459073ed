"""ResNet (He et al., 2015) for ImageNet, with the stride on the 3x3 convolution of a bottleneck.

ResNeXt (Xie et al., 2016) has 3x3 convolutions in 32 groups, of twice as many channels.
"""

from . import layers as nn
from .graph import Graph, Value

WIDTHS = (64, 128, 256, 512)


def resnet18(g: Graph) -> None:
    """Two basic blocks a stage."""
    resnet(g, (2, 2, 2, 2), bottleneck=False)


def resnet34(g: Graph) -> None:
    """Three, four, six and three basic blocks."""
    resnet(g, (3, 4, 6, 3), bottleneck=False)


def resnet50(g: Graph) -> None:
    """Three, four, six and three bottlenecks."""
    resnet(g, (3, 4, 6, 3), bottleneck=True)


def resnext50(g: Graph) -> None:
    """ResNet-50 with 32 groups, which have 4 channels each in the first stage."""
    resnet(g, (3, 4, 6, 3), bottleneck=True, groups=32)


def resnet(g: Graph, depths: tuple[int, ...], *, bottleneck: bool, groups: int = 1) -> None:
    """Stem, four stages, classifier."""
    x = g.input("input", (1, 3, 224, 224))
    with g.scope("stem"):
        x = nn.relu(g, nn.batch_norm(g, nn.conv(g, x, 64, 7, stride=2, padding=3)))
        x = nn.max_pool(g, x, 3, 2, 1)
    for stage, (width, depth) in enumerate(zip(WIDTHS, depths)):
        for block in range(depth):
            with g.scope(f"stage{stage + 1}.{block}"):
                stride = 2 if stage > 0 and block == 0 else 1
                x = residual(g, x, width, stride, bottleneck=bottleneck, groups=groups)
    with g.scope("head"):
        g.output("output", nn.linear(g, nn.flatten(g, nn.global_average_pool(g, x)), 1000))


def residual(g: Graph, x: Value, width: int, stride: int, *, bottleneck: bool, groups: int) -> Value:
    """The block's own path plus a short cut, which is projected where the shape changes."""
    path = bottleneck_path(g, x, width, stride, groups) if bottleneck else basic_path(g, x, width, stride)
    if path.shape == x.shape:  # x is positive, so all of its power passes
        total = nn.add(g, path, x)
        return nn.relu(g, total, (path.power / 2 + x.power) / total.power)
    with g.scope("shortcut"):
        short = nn.batch_norm(g, nn.conv(g, x, path.channels, 1, stride=stride))
    return nn.relu(g, nn.add(g, path, short))


def basic_path(g: Graph, x: Value, width: int, stride: int) -> Value:
    """Two 3x3 convolutions."""
    x = nn.relu(g, nn.batch_norm(g, nn.conv(g, x, width, 3, stride=stride, padding=1)))
    return nn.batch_norm(g, nn.conv(g, x, width, 3, padding=1))


def bottleneck_path(g: Graph, x: Value, width: int, stride: int, groups: int) -> Value:
    """1x1 down, 3x3, 1x1 up to four times the width; with groups, twice the width in between."""
    inner = width if groups == 1 else 2 * width
    x = nn.relu(g, nn.batch_norm(g, nn.conv(g, x, inner, 1)))
    x = nn.relu(g, nn.batch_norm(g, nn.conv(g, x, inner, 3, stride=stride, padding=1, groups=groups)))
    return nn.batch_norm(g, nn.conv(g, x, 4 * width, 1))
