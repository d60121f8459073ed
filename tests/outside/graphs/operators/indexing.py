"""Elements found by their index."""

import numpy as np

from ..draw import FLOATS, Draw, NoFit, Value

DATA = (*FLOATS, "int32", "int64", "uint8", "bool")
MODES = (None, None, "none", "add", "mul")


def indices(
    d: Draw, shape: tuple[int, ...], extents: int | list[int], dtype: str = "int64", negative: bool = True
) -> Value:
    """Indices into axes of these extents (one for all, or one for each of the last axis), some counted from the end."""
    numpy = np.random.default_rng(d.rng.getrandbits(64))
    high = np.broadcast_to(np.array(extents), shape)
    if high.size and high.min() < 1:
        raise NoFit
    array = np.asarray(np.floor(numpy.random(shape) * high), dtype)
    if negative and d.chance(0.3):
        array = np.asarray(np.where(numpy.random(shape) < 0.5, array - high, array), dtype)
    return d.input(array) if d.chance(0.5) else d.constant(array)


def small_shape(d: Draw, low: int, high: int) -> tuple[int, ...]:
    return tuple(d.choose((1, 2, 3, 5, 0 if d.chance(0.1) else 4)) for _ in range(d.integer(low, high)))


def gather(d: Draw, name: str) -> None:
    x = d.value(DATA, rank=(1, 4), fits=lambda v: v.array.size < 3000)
    axis = d.axis(x.rank)
    index = indices(d, small_shape(d, 0, 2), x.shape[axis], d.choose(("int32", "int64")), d.opset >= 11)
    d.add(name, [x, index], axis=axis if d.chance(0.8) or axis % x.rank else None)


def gather_elements(d: Draw, name: str) -> None:
    x = d.value(DATA, rank=(1, 4), fits=lambda v: v.array.size < 3000)
    axis = d.axis(x.rank)
    shape = [d.integer(min(1, e), e) for e in x.shape]
    shape[axis] = d.choose((1, 2, 3, 7))
    index = indices(d, tuple(shape), x.shape[axis], d.choose(("int32", "int64")))
    d.add(name, [x, index], axis=axis)


def gather_nd(d: Draw, name: str) -> None:
    x = d.value(DATA, rank=(1, 4), fits=lambda v: v.array.size < 3000)
    batch = d.integer(0, min(2, x.rank - 1)) if d.opset >= 12 and d.chance(0.3) else 0
    parts = d.integer(1, x.rank - batch)
    shape = (*x.shape[:batch], *small_shape(d, 0, 2), parts)
    d.add(name, [x, indices(d, shape, list(x.shape[batch : batch + parts]))], batch_dims=batch or None)


def modes(d: Draw, x: Value) -> str | None:
    if d.opset < 16 or x.dtype == "bool":  # ONNX does not say what the sum of two booleans is
        return None
    return d.choose((*MODES, "min", "max") if d.opset >= 18 else MODES)


def scatter_elements(d: Draw, name: str) -> None:
    x = d.value(DATA, rank=(1, 4), fits=lambda v: 0 < v.array.size < 3000)
    axis = d.axis(x.rank)
    mode = modes(d, x) if name == "ScatterElements" else None
    extent = x.shape[axis]
    shape = [d.integer(1, e) for e in x.shape]
    shape[axis] = d.integer(1, min(extent, 6))
    numpy = np.random.default_rng(d.rng.getrandbits(64))
    # Without a reduction, ONNX leaves open which of several updates of one element counts.
    rows = [numpy.permutation(extent)[: shape[axis]] for _ in range(int(np.prod(shape)) // shape[axis])]
    moved = np.array(rows, "int64").reshape(*[e for i, e in enumerate(shape) if i != axis % x.rank], shape[axis])
    array = np.ascontiguousarray(np.moveaxis(moved, -1, axis))
    if d.chance(0.3):
        array = np.where(numpy.random(array.shape) < 0.5, array - extent, array)
    array = array.astype(d.choose(("int32", "int64")))
    index = d.input(array) if d.chance(0.5) else d.constant(array)
    d.add(name, [x, index, d.like(x, tuple(shape))], axis=axis, reduction=mode)


def scatter_nd(d: Draw, name: str) -> None:
    x = d.value(DATA, rank=(1, 4), fits=lambda v: 0 < v.array.size < 3000)
    parts = d.integer(1, x.rank)
    cells = int(np.prod(x.shape[:parts]))
    count = d.integer(1, min(cells, 5))
    numpy = np.random.default_rng(d.rng.getrandbits(64))
    chosen = numpy.permutation(cells)[:count]  # different ones, as above
    array = np.stack(np.unravel_index(chosen, x.shape[:parts]), -1).astype("int64")
    index = d.input(array) if d.chance(0.5) else d.constant(array)
    d.add(name, [x, index, d.like(x, (count, *x.shape[parts:]))], reduction=modes(d, x))


def one_hot(d: Draw, name: str) -> None:
    depth = d.integer(1, 6)
    low = -depth if d.opset >= 11 else 0
    index = d.value(("int64", "int32", "float32"), rank=(1, 3), low=low, high=depth - 1)
    if index.dtype.startswith("float") and not index.exact:
        raise NoFit
    dtype = d.choose(("float32", "int64", "int32", "float32"))
    array = np.array([depth], d.choose(("int64", "int64", "int32", "float32")))
    depth_value = d.constant(array.reshape(()) if d.chance(0.7) else array)
    values = d.weight(dtype, (2,))
    d.add(name, [index, depth_value, values], axis=d.integer(-index.rank - 1, index.rank) if d.chance(0.7) else None)


ROWS = {
    "Gather": (gather, 7, 21, True),
    "GatherElements": (gather_elements, 11, 21, True),
    "GatherND": (gather_nd, 11, 21, True),
    "OneHot": (one_hot, 9, 21, True, True),
    "Scatter": (scatter_elements, 9, 10, True),
    "ScatterElements": (scatter_elements, 11, 21, True),
    "ScatterND": (scatter_nd, 11, 21, True),
}
