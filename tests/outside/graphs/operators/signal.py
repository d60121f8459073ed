"""Fourier transforms."""

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


ROWS = {
    "DFT": (dft, 17, 21),
}
