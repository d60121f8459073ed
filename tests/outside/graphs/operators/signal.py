"""Fourier transforms, and what audio needs around them."""

import numpy as np

from ..draw import Draw, NoFit


def dft(d: Draw, name: str) -> None:
    parts = d.choose((1, 2))
    x = d.value(
        ("float32",),
        rank=(3, 4),
        shape=lambda: (*d.shape(2, 3, 1), parts),
        fits=lambda v: v.shape[-1] == parts and v.array.size < 3000,
    )
    axis = d.integer(1, x.rank - 2)
    if x.shape[axis] < 1:
        raise NoFit
    inverse = d.choose((0, 1, None)) if parts == 2 else None
    onesided = d.choose((0, 1, None)) if parts == 1 else None
    if d.opset < 20:
        d.add(name, [x], axis=axis, inverse=inverse, onesided=onesided)
        return
    at = d.constant([axis])
    at.array = at.array.reshape(())
    d.add(name, [x, None, at], inverse=inverse, onesided=onesided)


def scalar(d: Draw, number, dtype: str = "int64"):
    return d.constant(np.array(number, dtype))


def window(d: Draw, name: str) -> None:
    d.add(name, [scalar(d, d.integer(2, 40))], periodic=d.choose((0, 1, None)), output_datatype=d.choose((1, 11, None)))


def mel_filters(d: Draw, name: str) -> None:
    rate = d.choose((8000, 16000, 44100))
    edges = [scalar(d, 100 * d.integer(0, 5), "float32"), scalar(d, rate / 2 - 100 * d.integer(1, 9), "float32")]
    d.add(name, [scalar(d, d.integer(1, 20)), scalar(d, d.choose((64, 100, 256))), scalar(d, rate), *edges])


ROWS = {
    "BlackmanWindow": (window, 17),
    "DFT": (dft, 17, 21),
    "HammingWindow": (window, 17),
    "HannWindow": (window, 17),
    "MelWeightMatrix": (mel_filters, 17),
}
