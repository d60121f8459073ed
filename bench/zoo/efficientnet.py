"""EfficientNet-B0 (Tan and Le, 2019): inverted residuals with squeeze-and-excitation and SiLU."""

from . import layers as nn
from .graph import Graph, Value

# Expansion, kernel, stride of the first, output channels, repeats.
STAGES = (
    (1, 3, 1, 16, 1), (6, 3, 2, 24, 2), (6, 5, 2, 40, 2), (6, 3, 2, 80, 3),
    (6, 5, 1, 112, 3), (6, 5, 2, 192, 4), (6, 3, 1, 320, 1),
)  # fmt: skip


def efficientnet_b0(g: Graph) -> None:
    """Stem, seven stages, 1280 channels, classifier."""
    x = g.input("input", (1, 3, 224, 224))
    with g.scope("stem"):
        x = nn.silu(g, nn.batch_norm(g, nn.conv(g, x, 32, 3, stride=2, padding=1)))
    for stage, (expansion, kernel, first_stride, channels, repeats) in enumerate(STAGES):
        for block in range(repeats):
            with g.scope(f"stage{stage + 1}.{block}"):
                x = mbconv(g, x, expansion, kernel, first_stride if block == 0 else 1, channels)
    with g.scope("head"):
        x = nn.silu(g, nn.batch_norm(g, nn.conv(g, x, 1280, 1)))
        g.output("output", nn.linear(g, nn.flatten(g, nn.global_average_pool(g, x)), 1000))


def mbconv(g: Graph, x: Value, expansion: int, kernel: int, stride: int, channels: int) -> Value:
    """Widen, filter each channel, gate, narrow."""
    y = x
    if expansion != 1:
        y = nn.silu(g, nn.batch_norm(g, nn.conv(g, y, expansion * x.channels, 1)))
    depthwise = nn.conv(g, y, y.channels, kernel, stride=stride, padding=kernel // 2, groups=y.channels)
    y = nn.silu(g, nn.batch_norm(g, depthwise))
    y = excite(g, y, x.channels // 4)
    y = nn.batch_norm(g, nn.conv(g, y, channels, 1))
    return nn.add(g, x, y) if y.shape == x.shape else y


def excite(g: Graph, x: Value, squeezed: int) -> Value:
    """Each channel times a gate computed from the means of all."""
    with g.scope("excite"):
        gate = nn.silu(g, nn.conv(g, nn.global_average_pool(g, x), squeezed, 1, bias=True))
        gate = nn.sigmoid(g, nn.conv(g, gate, x.channels, 1, bias=True))
        return nn.scale(g, x, gate)
