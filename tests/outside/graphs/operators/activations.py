"""Activation functions, and those that normalise along an axis."""

from ..draw import FLOATS, Draw


def plain(d: Draw, name: str) -> None:
    d.add(name, [d.value(FLOATS)])


def relu(d: Draw, name: str) -> None:
    d.add(name, [d.value((*FLOATS, "int32", "int8", "int64") if d.opset >= 14 else FLOATS)])


def with_reals(**ranges):
    """Attributes that are drawn from these intervals, or absent."""

    def draw(d: Draw, name: str) -> None:
        attributes = {k: d.real(*v) if d.chance(0.6) else None for k, v in ranges.items()}
        d.add(name, [d.value(FLOATS, low=-50, high=50)], **attributes)

    return draw


def prelu(d: Draw, name: str) -> None:
    x = d.value(FLOATS, rank=(1, 4))
    shape = d.choose((x.shape, x.shape[-1:], (1,), (x.shape[1], *(1,) * (x.rank - 2)) if x.rank > 1 else x.shape))
    d.add(name, [x, d.weight(x.dtype, shape)])


def gelu(d: Draw, name: str) -> None:
    d.add(name, [d.value(FLOATS, low=-50, high=50)], approximate=d.choose(("none", "tanh", None)))


def along_axis(d: Draw, name: str) -> None:
    x = d.value(FLOATS, rank=(1, 4), low=-50, high=50)
    d.add(name, [x], axis=d.axis(x.rank) if d.chance(0.7) or (d.opset < 13 and x.rank == 1) else None)


ROWS = {
    "Celu": (with_reals(alpha=(0.2, 3)), 12),
    "Elu": (with_reals(alpha=(0.1, 3)),),
    "Gelu": (gelu, 20),
    "HardSigmoid": (with_reals(alpha=(0, 1), beta=(0, 1)),),
    "HardSwish": (plain, 14),
    "Hardmax": (along_axis, 7, 21, True, True),
    "LeakyRelu": (with_reals(alpha=(-1, 2)),),
    "LogSoftmax": (along_axis,),
    "Mish": (with_reals(), 18),
    "PRelu": (prelu, 9),
    "Relu": (relu, 7, 21, True),
    "Selu": (with_reals(alpha=(0.5, 2), gamma=(0.5, 2)),),
    "Shrink": (with_reals(bias=(0, 1), lambd=(0, 1)), 9, 21, False, True),
    "Sigmoid": (plain,),
    "Softmax": (along_axis,),
    "Softplus": (with_reals(),),
    "Softsign": (plain,),
    "Tanh": (plain,),
    "ThresholdedRelu": (with_reals(alpha=(-1, 2)), 10, 21, False, True),
}
