"""MobileNet v1 (Howard et al., 2017) and v2 (Sandler et al., 2018), width 1.0, and MobileNet-G.

MobileNet-G is v1 for the accelerator VTA (Moreau et al., "A Hardware-Software Blueprint for Flexible Deep Learning
Specialization", 2019): groups of 16 channels, its block, take the place of single ones. The shapes are those of the
workloads D1 to D9 in the benchmark of grouped convolutions that Apache TVM has for VTA.
"""

from . import layers as nn
from .graph import Graph, Value

# v1: output channels and stride of each depthwise-separable layer.
SEPARABLE = (
    (64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2),
    (512, 1), (512, 1), (512, 1), (512, 1), (512, 1), (1024, 2), (1024, 1),
)  # fmt: skip

# v2: expansion, output channels, repeats, stride of the first.
INVERTED = (
    (1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2),
    (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1),
)  # fmt: skip


GROUP = 16  # channels of a group in MobileNet-G


def mobilenet_v1(g: Graph) -> None:
    """Depthwise 3x3 and pointwise 1x1 convolutions in turn."""
    separable(g, 1)


def mobilenet_g(g: Graph) -> None:
    """The same with groups of channels."""
    separable(g, GROUP)


def separable(g: Graph, group: int) -> None:
    """3x3 convolutions of `group` channels each, and 1x1 convolutions of all, in turn."""
    x = g.input("input", (1, 3, 224, 224))
    with g.scope("stem"):
        x = nn.relu(g, nn.batch_norm(g, nn.conv(g, x, 32, 3, stride=2, padding=1)))
    for index, (channels, stride) in enumerate(SEPARABLE):
        with g.scope(f"separable{index}"):
            grouped = nn.conv(g, x, x.channels, 3, stride=stride, padding=1, groups=x.channels // group)
            x = nn.relu(g, nn.batch_norm(g, grouped))
            x = nn.relu(g, nn.batch_norm(g, nn.conv(g, x, channels, 1)))
    classify(g, x)


def mobilenet_v2(g: Graph) -> None:
    """Inverted residuals with linear bottlenecks."""
    x = g.input("input", (1, 3, 224, 224))
    with g.scope("stem"):
        x = nn.relu6(g, nn.batch_norm(g, nn.conv(g, x, 32, 3, stride=2, padding=1)))
    for stage, (expansion, channels, repeats, first_stride) in enumerate(INVERTED):
        for block in range(repeats):
            with g.scope(f"stage{stage + 1}.{block}"):
                x = inverted_residual(g, x, expansion, channels, first_stride if block == 0 else 1)
    with g.scope("last"):
        x = nn.relu6(g, nn.batch_norm(g, nn.conv(g, x, 1280, 1)))
    classify(g, x)


def inverted_residual(g: Graph, x: Value, expansion: int, channels: int, stride: int) -> Value:
    """Widen, filter each channel, narrow without an activation."""
    y = x
    if expansion != 1:
        y = nn.relu6(g, nn.batch_norm(g, nn.conv(g, y, expansion * x.channels, 1)))
    depthwise = nn.conv(g, y, y.channels, 3, stride=stride, padding=1, groups=y.channels)
    y = nn.relu6(g, nn.batch_norm(g, depthwise))
    y = nn.batch_norm(g, nn.conv(g, y, channels, 1))
    return nn.add(g, x, y) if y.shape == x.shape else y


def classify(g: Graph, x: Value) -> None:
    """The mean of each channel, then 1000 classes."""
    with g.scope("head"):
        g.output("output", nn.linear(g, nn.flatten(g, nn.global_average_pool(g, x)), 1000))
