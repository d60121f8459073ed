"""Reductions along axes."""

import numpy as np

from ..draw import FLOATS, Draw, NoFit

WITH_INTEGERS = (*FLOATS, *FLOATS, "int32", "int64")
SUM_SINCE, OTHERS_SINCE = 13, 18  # from then on, axes are an input


def reduction(dtypes=WITH_INTEGERS, low=-4.0, high=4.0, most=1e9, empty=True):
    def draw(d: Draw, name: str) -> None:
        x = d.value(dtypes, low=low, high=high, least=0 if empty else 1)
        if x.array.size > most:
            raise NoFit
        keep = d.choose((0, 1, None))
        axes = d.axes(x.rank, 1) if x.rank > 0 and d.chance(0.75) else None
        if d.opset < (SUM_SINCE if name == "ReduceSum" else OTHERS_SINCE):
            d.add(name, [x], axes=axes, keepdims=keep)
            return
        given = d.constant(axes) if axes else d.constant(np.zeros(0, np.int64)) if d.chance(0.1) else None
        noop = d.choose((0, 1, None)) if d.chance(0.3) else None
        d.add(name, [x, given], keepdims=keep, noop_with_empty_axes=noop)

    return draw


def position(d: Draw, name: str) -> None:
    x = d.value((*FLOATS, "int32", "int8", "uint8", "int64"), rank=(1, 4), least=1)
    last = d.choose((0, 1, None)) if d.opset >= 12 else None
    d.add(
        name,
        [x],
        axis=d.axis(x.rank) if d.chance(0.8) else None,
        keepdims=d.choose((0, 1, None)),
        select_last_index=last,
    )


def cumulative(d: Draw, name: str) -> None:
    x = d.value(WITH_INTEGERS, rank=(1, 4))
    axis = d.constant([d.axis(x.rank)], d.choose(("int32", "int64")))
    axis.array = axis.array.reshape(())
    d.add(name, [x, axis], exclusive=d.choose((0, 1, None)), reverse=d.choose((0, 1, None)))


ROWS = {
    "ArgMax": (position, 7, 21, True, True),
    "ArgMin": (position, 7, 21, True, True),
    "CumSum": (cumulative, 11, 21, True),
    "ReduceL1": (reduction(), 7, 21, True),
    "ReduceL2": (reduction(FLOATS),),
    "ReduceLogSum": (reduction(FLOATS, 0.1, 1e4, empty=False),),
    "ReduceLogSumExp": (reduction(FLOATS, -30, 30, empty=False),),
    "ReduceMax": (reduction((*WITH_INTEGERS, "uint8", "int8")), 7, 21, True),
    "ReduceMean": (reduction(FLOATS, empty=False),),
    "ReduceMin": (reduction((*WITH_INTEGERS, "uint8", "int8")), 7, 21, True),
    "ReduceProd": (reduction(WITH_INTEGERS, -2, 2, 40),),
    "ReduceSum": (reduction(), 7, 21, True),
    "ReduceSumSquare": (reduction(), 7, 21, True),
}
