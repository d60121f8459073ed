"""Quantisation: real = scale * (integer - zero point)."""

import numpy as np

from ..draw import Draw, Value

SCALES = (0.5, 0.25, 1.0, 2.0)  # powers of two: the division is exact, and half-way cases are the same for everybody
SMALL = ("uint8", "int8")


def parameters(d: Draw, x: Value, dtype: str) -> tuple[Value, Value | None, dict]:
    """A scale and a zero point for the whole tensor, or for each element along an axis."""
    attributes = {}
    count: tuple[int, ...] = ()
    if d.opset >= 13 and x.rank >= 1 and d.chance(0.4):
        axis = d.axis(x.rank)
        attributes["axis"] = axis
        count = (x.shape[axis],)
    scale = d.constant(np.array([d.choose(SCALES) for _ in range(count[0] if count else 1)], "float32").reshape(count))
    zero = None
    if d.chance(0.7) or dtype != "uint8":
        zero = d.constant(d.elements(dtype, count, 0, 100))
    return scale, zero, attributes


def quantize(d: Draw, name: str) -> None:
    x = d.value(("float32",))
    dtype = d.choose((*SMALL, "uint16", "int16") if d.opset >= 21 else SMALL)
    scale, zero, attributes = parameters(d, x, dtype)
    d.add(name, [x, scale, zero], **attributes)


def dequantize(d: Draw, name: str) -> None:
    x = d.value((*SMALL, "uint16", "int16") if d.opset >= 21 else SMALL, low=-200, high=255)
    scale, zero, attributes = parameters(d, x, x.dtype)
    d.add(name, [x, scale, zero], **attributes)


def dynamic(d: Draw, name: str) -> None:
    """The elements range over 255, so that the scale is 1 and nothing lies between two steps; or all are 0."""
    array = d.elements("float32", d.shape(0, 3, least=1), -60, 60, whole=True)
    low = d.integer(-255, -60)
    ends = (low, low + 255) if low + 255 >= 60 else (0, -255)
    if d.chance(0.1):
        array = np.zeros_like(array)
    elif array.size > 1 and ends[0]:
        array.flat[0], array.flat[-1] = ends
    else:
        array = np.full_like(array, d.choose((255, -255)))
    d.add(name, [d.input(array)], 3)


ROWS = {
    "DequantizeLinear": (dequantize, 10, 21, False, True),
    "DynamicQuantizeLinear": (dynamic, 11, 21, False, True),
    "QuantizeLinear": (quantize, 10, 21, True, True),
}
