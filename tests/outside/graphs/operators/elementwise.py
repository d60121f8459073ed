"""Arithmetic, comparison, logic: one element of the result needs one element of each input."""

import numpy as np
from onnx import TensorProto

from ..draw import ANY, FLOATS, INTEGERS, NUMBERS, SIGNED, UNSIGNED, Draw, NoFit, Value

CASTS = {
    "float32": TensorProto.FLOAT, "float64": TensorProto.DOUBLE, "int8": TensorProto.INT8, "int16": TensorProto.INT16,
    "int32": TensorProto.INT32, "int64": TensorProto.INT64, "uint8": TensorProto.UINT8, "uint16": TensorProto.UINT16,
    "uint32": TensorProto.UINT32, "uint64": TensorProto.UINT64, "bool": TensorProto.BOOL,
    "float16": TensorProto.FLOAT16,
}  # fmt: skip


def unary(dtypes=FLOATS, low=-4.0, high=4.0, margin=0.0):
    """`margin`: how far from the ends of the interval an inexact value is, if the function is steep there."""

    def away(v: Value) -> bool:
        return v.exact or v.array.size == 0 or bool(v.array.min() >= low + margin and v.array.max() <= high - margin)

    def draw(d: Draw, name: str) -> None:
        d.add(name, [d.value(dtypes, low=low, high=high, fits=away if margin else lambda v: True)])

    return draw


def binary(dtypes=NUMBERS):
    def draw(d: Draw, name: str) -> None:
        x = d.value(dtypes)
        pair = [x, d.broadcastable(x)]
        d.rng.shuffle(pair)
        d.add(name, pair)

    return draw


def non_zero(v: Value) -> bool:
    return bool((v.array != 0).all())


def divide(d: Draw, name: str) -> None:
    y = d.value(NUMBERS, low=1, high=9) if d.chance(0.5) else d.value(NUMBERS, fits=non_zero)
    d.add(name, [d.broadcastable(y), y])


def modulo(d: Draw, name: str) -> None:
    y = d.value(NUMBERS if d.chance(0.5) else INTEGERS, fits=non_zero)
    fmod = 1 if y.dtype.startswith("float") else d.choose((0, 1, None))
    d.add(name, [d.broadcastable(y), y], fmod=fmod)


def power(d: Draw, name: str) -> None:
    x = d.value(NUMBERS, low=0, high=6)
    if d.chance(0.6) or d.opset < 12:
        d.add(name, [x, d.broadcastable(x, 0, 4)])
    else:  # the dtypes may differ
        d.add(name, [x, d.new(d.choose(("float32", "int32", "int64")), d.choose(((), (1,), x.shape)), 0, 3)])


def variadic(dtypes=NUMBERS):
    def draw(d: Draw, name: str) -> None:
        x = d.value(dtypes)
        values = [x]
        for _ in range(d.choose((0, 1, 1, 1, 2, 3))):
            values.append(d.broadcastable(x, also=values))
        d.rng.shuffle(values)
        d.add(name, values)

    return draw


def bit_shift(d: Draw, name: str) -> None:
    x = d.value(UNSIGNED)
    d.add(name, [x, d.broadcastable(x, 0, 7)], direction=d.choose(("LEFT", "RIGHT")))


def is_inf(d: Draw, name: str) -> None:
    maybe = (0, 1, None)
    d.add(name, [d.value(FLOATS)], detect_negative=d.choose(maybe), detect_positive=d.choose(maybe))


def where(d: Draw, name: str) -> None:
    x = d.value(ANY)
    y = d.broadcastable(x)
    bigger = x if x.rank >= y.rank else y
    condition = d.earlier(lambda v: v.dtype == "bool" and v.shape in (x.shape, y.shape))
    d.add(name, [condition or d.new("bool", d.choose((bigger.shape, bigger.shape[-1:], ()))), x, y])


def cast(d: Draw, name: str) -> None:
    x = d.value((*ANY, *INTEGERS))
    to = d.choose(list(CASTS))
    if to.startswith("u") and x.dtype.startswith("float") and not (x.array >= 0).all():
        raise NoFit  # ONNX leaves open what a number out of range becomes
    if to.endswith("int8") and x.dtype.startswith("float") and not (abs(x.array) < 100).all():
        raise NoFit
    d.add(name, [x], to=CASTS[to])


def cast_like(d: Draw, name: str) -> None:
    x = d.value(ANY)
    d.add(name, [x, d.value(("float32", "float64", "int32", "int64", "bool"), rank=(0, 2))])


def clip(d: Draw, name: str) -> None:
    x = d.value(NUMBERS if d.opset >= 12 else FLOATS)
    low, high = sorted((d.integer(-3, 3), d.integer(-3, 3)))
    if x.dtype.startswith("uint"):
        low, high = abs(low), abs(low) + abs(high)
    if d.opset < 11:
        d.add(name, [x], min=float(low) if d.chance(0.8) else None, max=float(high) if d.chance(0.8) else None)
        return
    bounds = []
    for bound in (low, high):
        value = np.array(bound, x.dtype)
        bounds.append(None if d.chance(0.2) else d.input(value) if d.chance(0.3) else d.constant(value))
    d.add(name, [x, *bounds])


BITS = (*SIGNED, *UNSIGNED)
LOGIC = ("bool",)
ORDERED = (*NUMBERS, "int16", "uint16", "uint32", "uint64")

ROWS = {
    "Abs": (unary(NUMBERS), 7, 21, True),
    "Acos": (unary(low=-1, high=1, margin=0.01),),
    "Acosh": (unary(low=1, high=50, margin=0.01), 9),
    "Add": (binary(ORDERED), 7, 21, True),
    "And": (binary(LOGIC), 7, 21, True),
    "Asin": (unary(low=-1, high=1, margin=0.01),),
    "Asinh": (unary(), 9),
    "Atan": (unary(),),
    "Atanh": (unary(low=-0.99, high=0.99), 9),
    "BitShift": (bit_shift, 11, 21, True),
    "BitwiseAnd": (binary(BITS), 18, 21, True),
    "BitwiseNot": (unary(BITS), 18, 21, True),
    "BitwiseOr": (binary(BITS), 18, 21, True),
    "BitwiseXor": (binary(BITS), 18, 21, True),
    "Cast": (cast, 9, 21, True, True),
    "CastLike": (cast_like, 15, 21, True, True),
    "Ceil": (unary(), 7, 21, True, True),
    "Clip": (clip, 7, 21, True),
    "Cos": (unary(),),
    "Cosh": (unary(low=-8, high=8), 9),
    "Div": (divide, 7, 21),
    "Equal": (binary((*ANY, *INTEGERS)), 7, 21, True, True),
    "Erf": (unary(), 9),
    "Exp": (unary(low=-20, high=8),),
    "Floor": (unary(), 7, 21, True, True),
    "Greater": (binary(ORDERED), 9, 21, True, True),
    "GreaterOrEqual": (binary(ORDERED), 12, 21, True, True),
    "IsInf": (is_inf, 10, 21, True, True),
    "IsNaN": (unary(), 9, 21, True, True),
    "Less": (binary(ORDERED), 9, 21, True, True),
    "LessOrEqual": (binary(ORDERED), 12, 21, True, True),
    "Log": (unary(low=0.01, high=1e4),),
    "Max": (variadic(), 8, 21, True),
    "Mean": (variadic(FLOATS), 8),
    "Min": (variadic(), 8, 21, True),
    "Mod": (modulo, 10, 21, True, True),
    "Mul": (binary(ORDERED), 7, 21, True),
    "Neg": (unary((*FLOATS, *SIGNED)), 7, 21, True),
    "Not": (unary(LOGIC), 7, 21, True),
    "Or": (binary(LOGIC), 7, 21, True),
    "Pow": (power,),
    "Reciprocal": (unary(low=0.1, high=1e4),),
    "Round": (unary(), 11, 21, True, True),
    "Sign": (unary(NUMBERS), 9, 21, True, True),
    "Sin": (unary(),),
    "Sinh": (unary(low=-8, high=8), 9),
    "Sqrt": (unary(low=0, high=1e4, margin=0.01),),
    "Sub": (binary(ORDERED), 7, 21, True),
    "Sum": (variadic(FLOATS), 8, 21, True),
    "Tan": (unary(low=-1.4, high=1.4),),
    "Where": (where, 9, 21, True),
    "Xor": (binary(LOGIC), 7, 21, True),
}
