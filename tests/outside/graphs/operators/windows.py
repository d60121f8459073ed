"""Convolutions and pooling: what looks through a window."""

import numpy as np

from ..draw import FLOATS, Draw, NoFit, Value


def image(d: Draw, dtypes=FLOATS, low: float = -4, high: float = 4) -> Value:
    """[batch, channels, ...] with one to three spatial axes."""

    def shape():
        axes = d.choose((1, 2, 2, 2, 2, 2, 2, 3))
        if axes == 3:
            return (d.choose((1, 2)), d.choose((1, 2, 3, 4)), *(d.choose((1, 2, 3, 5)) for _ in range(axes)))
        space = [d.choose((1, 2, 3, 5, 7, 8, 11, 13)) for _ in range(axes)]
        if axes == 1 and d.chance(0.2):
            space = [d.choose((257, 509))]
        return (d.choose((1, 1, 2, 3)) if not d.chance(0.02) else 0, d.choose((1, 2, 3, 4, 6, 8, 16, 17)), *space)

    return d.value(dtypes, rank=(3, 5), low=low, high=high, shape=shape, fits=lambda v: min(v.shape[1:]) > 0)


def window(d: Draw, x: Value, most_pad: bool = True) -> dict:
    """Attributes of a window that fits into the image with its padding."""
    axes = x.rank - 2
    kernel = [d.choose((1, 2, 3, 3, 5)) for _ in range(axes)]
    out = {"kernel_shape": kernel}
    if d.chance(0.5):
        out["strides"] = [d.choose((1, 1, 2, 3)) for _ in range(axes)]
    dilations = [1] * axes
    if d.chance(0.25):
        dilations = out["dilations"] = [d.choose((1, 2, 3)) for _ in range(axes)]
    if d.chance(0.25):
        out["auto_pad"] = d.choose(("SAME_UPPER", "SAME_LOWER", "VALID"))
        if out["auto_pad"] != "VALID":
            out.pop("dilations", None)  # ONNX Runtime refuses them together
    elif d.chance(0.6):
        out["pads"] = [d.integer(0, kernel[i % axes] - 1 if most_pad else 2) for i in range(2 * axes)]
    pads = out.get("pads", [0] * 2 * axes)
    for i in range(axes):
        reach = (kernel[i] - 1) * (dilations[i] if "dilations" in out else 1) + 1
        if "SAME" not in out.get("auto_pad", "") and x.shape[2 + i] + pads[i] + pads[i + axes] < reach:
            raise NoFit
    return out


def convolution(d: Draw, name: str) -> None:
    x = image(d)
    attributes = window(d, x)
    group = d.choose([g for g in (1, 1, 1, 2, 3, x.shape[1]) if x.shape[1] % g == 0])
    outputs = group * d.choose((1, 2, 3, 5))
    kernel = attributes["kernel_shape"]
    if d.chance(0.3):
        del attributes["kernel_shape"]  # it follows from the weight
    weight = d.weight(x.dtype, (outputs, x.shape[1] // group, *kernel))
    bias = d.weight(x.dtype, (outputs,)) if d.chance(0.5) else None
    d.add(name, [x, weight, bias], group=group if group > 1 or d.chance(0.3) else None, **attributes)


def convolution_of_integers(d: Draw, name: str) -> None:
    x = image(d, ("uint8", "int8"), 0 if d.chance(0.5) else -4, 100)
    attributes = window(d, x)
    outputs = d.choose((1, 2, 3))
    weight_dtype = d.choose(("uint8", "int8"))
    weight = d.weight(weight_dtype, (outputs, x.shape[1], *attributes["kernel_shape"]), -9, 9)
    zero = d.constant([d.integer(0, 9)], x.dtype) if d.chance(0.6) else None
    if zero:
        zero.array = zero.array.reshape(())
    weight_zero = d.constant([d.integer(0, 9)], weight_dtype) if zero and d.chance(0.5) else None
    if weight_zero:
        weight_zero.array = weight_zero.array.reshape(())
    d.add(name, [x, weight, zero, weight_zero], **attributes)


def quantised_convolution(d: Draw, name: str) -> None:
    """Scales are powers of two, as in quantisation.py; the peer takes int8 weights with int8 images."""
    x = image(d, ("uint8", "int8"), 0 if d.chance(0.5) else -4, 100)
    attributes = window(d, x)
    group = d.choose([g for g in (1, 1, 1, 2, x.shape[1]) if x.shape[1] % g == 0])
    outputs = group * d.choose((1, 2, 3))
    dtype = "int8" if x.dtype == "int8" else d.choose(("uint8", "int8"))
    weight = d.weight(dtype, (outputs, x.shape[1] // group, *attributes["kernel_shape"]), -9, 9)
    count = (outputs,) if d.chance(0.3) else ()

    def scale(shape: tuple[int, ...]) -> Value:
        return d.constant(np.array(d.choose((0.25, 0.5, 1.0)) * np.ones(shape), "float32"))

    def zero(of: str, shape: tuple[int, ...]) -> Value:
        return d.constant(np.full(shape, d.integer(0, 5), of))

    bias = d.weight("int32", (outputs,), -100, 100) if d.chance(0.5) else None
    x_parameters = [scale(()), zero(x.dtype, ())]
    inputs = [x, *x_parameters, weight, scale(count), zero(dtype, count), scale(()), zero(x.dtype, ()), bias]
    d.add(name, inputs, group=group if group > 1 else None, **attributes)


def transposed_convolution(d: Draw, name: str) -> None:
    x = image(d)
    axes = x.rank - 2
    group = d.choose([g for g in (1, 1, 2, x.shape[1]) if x.shape[1] % g == 0])
    outputs = d.choose((1, 2, 3))
    kernel = [d.choose((1, 2, 3, 4)) for _ in range(axes)]
    attributes = {"kernel_shape": kernel if d.chance(0.7) else None}
    strides = [1] * axes
    if d.chance(0.6):
        strides = attributes["strides"] = [d.choose((1, 2, 3)) for _ in range(axes)]
    if d.chance(0.2):
        attributes["dilations"] = [d.choose((1, 2)) for _ in range(axes)]
    roll = d.rng.random()
    if roll < 0.2:
        attributes["auto_pad"] = d.choose(("SAME_UPPER", "SAME_LOWER", "VALID"))
    elif roll < 0.6:
        attributes["pads"] = [d.integer(0, 1) for _ in range(2 * axes)]
    if d.chance(0.3):
        attributes["output_padding"] = [d.integer(0, strides[i] - 1) for i in range(axes)]
    weight = d.weight(x.dtype, (x.shape[1], outputs, *kernel))
    bias = d.weight(x.dtype, (outputs * group,)) if d.chance(0.5) else None
    d.add(name, [x, weight, bias], group=group if group > 1 else None, **attributes)


def pool(d: Draw, name: str) -> None:
    x = image(d, (*FLOATS, "uint8", "int8") if name == "MaxPool" and d.opset >= 12 else FLOATS)
    attributes = window(d, x)
    if (
        name == "MaxPool"
        and d.opset < 10
        or name == "AveragePool"
        and d.opset < 19
        or name == "LpPool"
        and d.opset < 18
    ):
        if "dilations" in attributes:
            raise NoFit
    if d.chance(0.25) and "auto_pad" not in attributes and d.opset >= 10 and name != "LpPool":
        attributes["ceil_mode"] = 1
    if name == "LpPool" and "SAME" in attributes.get("auto_pad", "") and "strides" in attributes:
        if any(s > k for s, k in zip(attributes["strides"], attributes["kernel_shape"], strict=True)):
            raise NoFit  # the peer pads by a negative number, and looks through the wrong windows
    if name == "AveragePool":
        attributes["count_include_pad"] = d.choose((0, 1, None))
    if name == "LpPool":
        attributes["p"] = d.choose((1, 2, 3, None))
    d.add(name, [x], **attributes)


def global_pool(d: Draw, name: str) -> None:
    d.add(name, [image(d)])


def deformable_convolution(d: Draw, name: str) -> None:
    """The offsets are new ones: they say how far each element of each window moves."""
    x = image(d)
    if x.rank != 4:
        raise NoFit
    attributes = window(d, x)
    kernel, pads = attributes["kernel_shape"], attributes.get("pads", [0] * 4)
    if "auto_pad" in attributes or x.shape[0] == 0:
        raise NoFit
    strides, dilations = attributes.get("strides", [1, 1]), attributes.get("dilations", [1, 1])
    group = d.choose([g for g in (1, 1, 2, x.shape[1]) if x.shape[1] % g == 0])
    moved = d.choose([g for g in (1, 1, 2) if x.shape[1] % g == 0])
    space = [
        (x.shape[2 + i] + pads[i] + pads[2 + i] - (kernel[i] - 1) * dilations[i] - 1) // strides[i] + 1 for i in (0, 1)
    ]
    offset = d.new(x.dtype, (x.shape[0], 2 * moved * kernel[0] * kernel[1], *space), -2, 2)
    outputs = group * d.choose((1, 2, 3))
    weight = d.weight(x.dtype, (outputs, x.shape[1] // group, *kernel))
    bias = d.weight(x.dtype, (outputs,)) if d.chance(0.5) else None
    d.add(name, [x, weight, offset, bias], group=group, offset_group=moved, **attributes)


def max_unpool(d: Draw, name: str) -> None:
    """Each element goes to a place of its own: that where its window begins, in what was pooled."""
    x = image(d)
    axes = x.rank - 2
    kernel = [d.choose((1, 2, 3)) for _ in range(axes)]
    whole = (*x.shape[:2], *((e - 1) * k + k for e, k in zip(x.shape[2:], kernel, strict=True)))
    places = np.arange(np.prod(whole, dtype=np.int64)).reshape(whole)
    places = places[(slice(None), slice(None), *(slice(None, None, k) for k in kernel))]
    index = d.input(places) if d.chance(0.5) else d.constant(places)
    d.add(name, [x, index], kernel_shape=kernel, strides=kernel)


def global_lp_pool(d: Draw, name: str) -> None:
    d.add(name, [image(d, ("float32",))], p=d.choose((1, 2, 3, None)))


ROWS = {
    "AveragePool": (pool,),
    "Conv": (convolution, 7, 21, True),
    "ConvInteger": (convolution_of_integers, 10, 21, True),
    "ConvTranspose": (transposed_convolution, 7, 21, True),
    "DeformConv": (deformable_convolution, 19),
    "GlobalAveragePool": (global_pool,),
    "GlobalLpPool": (global_lp_pool,),
    "GlobalMaxPool": (global_pool, 7, 21, True),
    "LpPool": (pool,),
    "MaxPool": (pool, 8, 21, True),
    "MaxUnpool": (max_unpool, 9, 21, True),
    "QLinearConv": (quantised_convolution, 10, 21, True),
}
