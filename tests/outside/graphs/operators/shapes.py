"""Shapes and constants: what a tensor looks like, and tensors made of nothing."""

import numpy as np
from onnx import numpy_helper

from ..draw import ANY, MOST_ELEMENTS, Draw, NoFit, Value
from .elementwise import CASTS


def factors(d: Draw, count: int) -> list[int]:
    """Extents whose product is `count`."""
    out = [count]
    for _ in range(d.integer(0, 3)):
        at = d.integer(0, len(out) - 1)
        divisors = [k for k in (1, 2, 3, 5, 7, out[at]) if k and out[at] % k == 0]
        k = d.choose(divisors or [1])
        out[at : at + 1] = [k, out[at] // k]
    return out


def reshape(d: Draw, name: str) -> None:
    x = d.value(ANY)
    shape = factors(d, x.array.size) if x.array.size else list(x.shape)
    if x.array.size:
        d.rng.shuffle(shape)
    kept = [i for i, e in enumerate(shape) if i < x.rank and e == x.shape[i]]
    if kept and d.chance(0.3):
        shape[d.choose(kept)] = 0  # as in the input
    if x.array.size and 0 < len(shape) and d.chance(0.4):
        shape[d.integer(0, len(shape) - 1)] = -1
    allow = 1 if d.opset >= 14 and 0 not in shape and d.chance(0.2) else None
    d.add(name, [x, d.constant(shape)], allowzero=allow)


def flatten(d: Draw, name: str) -> None:
    x = d.value(ANY, rank=(1, 4))
    low = -x.rank if d.opset >= 11 else 0
    d.add(name, [x], axis=d.integer(low, x.rank) if d.chance(0.7) else None)


def squeeze(d: Draw, name: str) -> None:
    def shape():
        return tuple(1 if d.chance(0.5) else d.extent() for _ in range(d.integer(1, 4)))

    x = d.value(ANY, rank=(1, 4), fits=lambda v: 1 in v.shape, shape=shape)
    ones = [i for i, e in enumerate(x.shape) if e == 1]
    axes = d.rng.sample(ones, d.integer(1, len(ones))) if d.chance(0.7) else None
    if axes and d.opset >= 11:
        axes = [a - x.rank if d.chance(0.3) else a for a in axes]
    if d.opset < 13:
        d.add(name, [x], axes=axes)
    else:
        d.add(name, [x, d.constant(axes) if axes else None])


def unsqueeze(d: Draw, name: str) -> None:
    x = d.value(ANY, rank=(0, 3))
    more = d.integer(1, 2)
    axes = d.rng.sample(range(x.rank + more), more)
    if d.opset < 13:
        d.add(name, [x], axes=axes)
        return
    d.add(name, [x, d.constant([a - x.rank - more if d.chance(0.3) else a for a in axes])])


def shape_of(d: Draw, name: str) -> None:
    x = d.value(ANY)
    if d.opset < 15 or d.chance(0.5):
        d.add(name, [x])
    else:
        start, end = (d.choose((None, d.integer(-5, 5))) for _ in range(2))
        d.add(name, [x], start=start, end=end)


def plain(d: Draw, name: str) -> None:
    d.add(name, [d.value(ANY)])


def constant(d: Draw, name: str) -> None:
    roll = d.rng.random() if d.opset >= 12 else 0
    if roll < 0.5:
        dtype = d.choose(("float32", "float64", "int32", "int64", "bool", "uint8"))
        d.add(name, [], value=numpy_helper.from_array(d.elements(dtype, d.shape(0, 3))))
    elif roll < 0.6:
        d.add(name, [], value_float=d.real(-4, 4))
    elif roll < 0.7:
        d.add(name, [], value_int=d.integer(-4, 4))
    elif roll < 0.85:
        d.add(name, [], value_floats=[d.real(-4, 4) for _ in range(d.integer(1, 5))])
    else:
        d.add(name, [], value_ints=[d.integer(-4, 4) for _ in range(d.integer(1, 5))])


def shape_value(d: Draw, shape: list[int]) -> Value:
    """A constant; or the shape of an earlier value, which is then computed in the graph."""
    found = d.earlier(lambda v: v.dtype == "int64" and v.rank == 1 and v.array.tolist() == shape)
    return found or d.constant(shape)


def constant_of_shape(d: Draw, name: str) -> None:
    found = d.earlier(lambda v: v.dtype == "int64" and v.rank == 1 and v.shape[0] < 5 and bool((v.array >= 0).all()))
    if found and np.prod(found.array) <= MOST_ELEMENTS and d.chance(0.7):
        shape = found
    else:
        shape = d.constant(list(d.shape(0, 3)))
    dtype = d.choose(("float32", "int32", "int64", "bool", "float64", "uint8"))
    value = numpy_helper.from_array(d.elements(dtype, (1,))) if d.chance(0.7) else None
    d.add(name, [shape], value=value)


def expand(d: Draw, name: str) -> None:
    x = d.value(ANY)
    shape = [d.choose((1, 2, 3, 5)) if e == 1 and d.chance(0.7) else 1 if d.chance(0.2) else e for e in x.shape]
    if d.chance(0.3):
        shape = [d.choose((1, 2, 3)), *shape]
    elif d.chance(0.2):
        shape = shape[1:]
    if np.prod(np.broadcast_shapes(x.shape, tuple(shape)), dtype=np.int64) > MOST_ELEMENTS:
        raise NoFit
    d.add(name, [x, shape_value(d, shape)])


def scalar(d: Draw, dtype: str, number: float) -> Value:
    array = np.array(number, dtype)
    return d.input(array) if d.chance(0.3) else d.constant(array)


def range_of(d: Draw, name: str) -> None:
    dtype = d.choose(("int32", "int64", "int64", "float32", "float64"))
    step = d.choose((1, 1, 2, 3, -1, -2))
    first = d.integer(-5, 5)
    last = first + step * d.integer(0, 12) + d.choose((0, 0, 1, -1))
    d.add(name, [scalar(d, dtype, first), scalar(d, dtype, last), scalar(d, dtype, step)])


def triangle(d: Draw, name: str) -> None:
    x = d.value(ANY, rank=(2, 4))
    k = scalar(d, "int64", d.integer(-4, 4)) if d.chance(0.6) else None
    d.add(name, [x, k], upper=d.choose((0, 1, None)))


def eye_like(d: Draw, name: str) -> None:
    x = d.value(("float32", "float64", "int32", "int64", "uint64"), rank=(2, 2))
    to = CASTS[d.choose(("float32", "float64", "int32", "int64"))] if d.chance(0.5) else None
    d.add(name, [x], k=d.integer(-3, 3) if d.chance(0.6) else None, dtype=to)


ROWS = {
    "Constant": (constant, 9, 21, True),
    "ConstantOfShape": (constant_of_shape, 9, 21, True),
    "Expand": (expand, 8, 21, True),
    "EyeLike": (eye_like, 9, 21, True),
    "Flatten": (flatten, 7, 21, True),
    "Identity": (plain, 7, 21, True),
    "Range": (range_of, 11, 21, True),
    "Reshape": (reshape, 7, 21, True),
    "Shape": (shape_of, 7, 21, True),
    "Size": (plain, 7, 21, True),
    "Squeeze": (squeeze, 7, 21, True),
    "Trilu": (triangle, 14, 21, True),
    "Unsqueeze": (unsqueeze, 7, 21, True),
}
