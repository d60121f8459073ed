"""Normalisation, and dropout, which at inference is nothing."""

from ..draw import FLOATS, Draw, NoFit, Value
from .windows import image


def spread(v: Value) -> bool:
    """True if there is something to normalise: equal elements leave only the rounding of their mean."""
    return v.array.size > 2 and float(v.array.std()) > 0.1


def channels_of(d: Draw) -> Value:
    return d.value(FLOATS, rank=(2, 4), low=-50, high=50, least=1)


def epsilon(d: Draw) -> float | None:
    return d.choose((1e-3, 1e-2, 0.1))


def batch(d: Draw, name: str) -> None:
    x = channels_of(d)
    c = (x.shape[1],)
    statistics = [d.weight(x.dtype, c), d.weight(x.dtype, c), d.weight(x.dtype, c), d.weight(x.dtype, c, 0.5, 3)]
    d.add(name, [x, *statistics], epsilon=epsilon(d), momentum=0.9 if d.chance(0.3) else None)


def instance(d: Draw, name: str) -> None:
    x = image(d, low=-50, high=50)
    c = (x.shape[1],)
    d.add(name, [x, d.weight(x.dtype, c), d.weight(x.dtype, c)], epsilon=epsilon(d))


def layer(d: Draw, name: str) -> None:
    x = d.value(FLOATS, rank=(1, 4), low=-50, high=50, least=1)
    axis = d.axis(x.rank)
    shape = x.shape[axis:]
    bias = d.weight(x.dtype, shape) if d.chance(0.6) else None
    outputs = d.choose((1, 1, 3))
    d.add(name, [x, d.weight(x.dtype, shape), bias], outputs, axis=axis, epsilon=epsilon(d))


def group(d: Draw, name: str) -> None:
    x = image(d, low=-50, high=50)
    groups = d.choose([g for g in (1, 2, 3, x.shape[1]) if x.shape[1] % g == 0])
    c = (x.shape[1] if d.opset >= 21 else groups,)
    d.add(name, [x, d.weight(x.dtype, c), d.weight(x.dtype, c)], num_groups=groups, epsilon=epsilon(d))


def local_response(d: Draw, name: str) -> None:
    x = image(d, ("float32",))
    if x.rank != 4:
        raise NoFit  # the peer has only images with two axes
    reals = {"alpha": (0.001, 0.1), "beta": (0.3, 0.9), "bias": (0.5, 2)}
    attributes = {k: d.real(*v) if d.chance(0.5) else None for k, v in reals.items()}
    d.add(name, [x], size=d.choose((1, 3, 5)), **attributes)


def mean_variance(d: Draw, name: str) -> None:
    x = d.value(("float32",), rank=(4, 4), low=-50, high=50, least=2, fits=spread)
    axes = None if d.chance(0.5) else sorted(d.rng.sample(range(4), d.integer(1, 4)))
    d.add(name, [x], axes=axes)


def lp(d: Draw, name: str) -> None:
    x = d.value(FLOATS, rank=(1, 4), low=-50, high=50)
    d.add(name, [x], axis=d.axis(x.rank) if d.chance(0.7) else None, p=d.choose((1, 2, None)))


def dropout(d: Draw, name: str) -> None:
    x = d.value(FLOATS)
    outputs = d.choose((1, 1, 2))
    if d.opset < 12:
        d.add(name, [x], outputs, ratio=d.choose((0.3, None)))
        return
    ratio = d.constant([0.4], "float32") if d.chance(0.4) else None
    training = d.constant([False], "bool") if ratio and d.chance(0.5) else None
    for v in (ratio, training):
        if v:
            v.array = v.array.reshape(())
    d.add(name, [x, ratio, training], outputs)


ROWS = {
    "BatchNormalization": (batch, 9),
    "Dropout": (dropout, 7, 21, True),
    "GroupNormalization": (group, 18),
    "InstanceNormalization": (instance,),
    "LRN": (local_response,),
    "LayerNormalization": (layer, 17),
    "LpNormalization": (lp,),
    "MeanVarianceNormalization": (mean_variance, 9),
}
